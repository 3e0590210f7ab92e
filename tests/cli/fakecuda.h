// A stand-in for the CUDA driver at the moment of a device assert, for tests on machines without a GPU.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_TEST_FAKECUDA_H
#define CT_TEST_FAKECUDA_H

#define FAKE_ERROR_ASSERT 710  // cudaErrorAssert, driver_types.h 13.0

// Launches a kernel in which n_lines threads fail their assert; 0: none does. Prints and waits as the driver does on
// the next synchronisation (driver 580): with CUDA_DEVICE_WAITS_ON_EXCEPTION=1 the waiting line, then sleep until a
// debugger has been there (here: for ever, or until SIGUSR2, which stands for the detach), then the assert lines.
// With CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 it writes the file FAKE_DUMP to CUDA_COREDUMP_FILE, then aborts.
// Returns 0 or FAKE_ERROR_ASSERT.
int fake_launch(long n_lines);

// The way that libcudart takes to the driver: "cuLaunchKernel" (function is the number of assert lines) and "cuCtxSynchronize".
int cuGetProcAddress_v2(const char *name, void **ret_function, int version, unsigned long flags, int *ret_status);

#endif
