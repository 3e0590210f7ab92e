// The driver's functions that describe kernels and devices.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/agent_priv.h"
#include "agent/record.h"

// From the library itself where it can be had, else from whatever defines it for the program.
static void find(void *library, const char *name, void *ret_function)
{
	void *found = library ? ct_agent_lookup_in(library, name) : NULL;
	if (!found)
		found = ct_agent_lookup(name);
	// Through a gate like the program's own calls: after a fault the driver holds whoever asks (cuKernelGetParamInfo loads the kernel; seen
	// on an H200), and has to be left again.
	found = ct_agent_gate(name, found);
	memcpy(ret_function, &found, sizeof found);
}

const struct ct_record_driver *ct_record_driver(void)
{
	static struct ct_record_driver driver;
	static atomic_int state;  // 1: being filled, 2: filled
	int none = 0;
	if (atomic_load_explicit(&state, memory_order_acquire) == 2)
		return &driver;
	static const struct ct_record_driver nothing;
	if (!atomic_compare_exchange_strong(&state, &none, 1))
		return &nothing;
	void *(*open_library)(const char *, int) = NULL;
	void *found = ct_agent_lookup("dlopen");
	memcpy(&open_library, &found, sizeof found);
	void *library = open_library ? open_library("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
	find(library, "cuFuncGetName", &driver.function_name);
	find(library, "cuKernelGetName", &driver.kernel_name);
	find(library, "cuFuncGetParamInfo", &driver.function_parameter);
	find(library, "cuKernelGetParamInfo", &driver.kernel_parameter);
	find(library, "cuFuncGetAttribute", &driver.function_attribute);
	find(library, "cuCtxGetDevice", &driver.current_device);
	find(library, "cuDeviceGetAttribute", &driver.device_attribute);
	find(library, "cuMemGetInfo_v2", &driver.memory_info);
	find(library, "cuDriverGetVersion", &driver.driver_version);
	find(library, "cuStreamGetCaptureInfo", &driver.capture_info);
	find(library, "cuStreamGetCaptureInfo_ptsz", &driver.capture_info_ptsz);
	atomic_store_explicit(&state, 2, memory_order_release);
	return &driver;
}
