// Which lines matter: all keywords in one pass that looks at a fraction of the bytes.
// Horspool's search for a set of words: shift by what the last two bytes of the window allow.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <assert.h>
#include <string.h>

#include "diagnose/diagnose_priv.h"

#define KIND(name) (1u << CT_LOG_##name)
#define LAUNCH (KIND(CUDA_ERROR) | CT_SCAN_LAUNCH)

// In lower case; text is compared without regard to case. At least WINDOW bytes each.
// The words of CUDA errors are those of cudaGetErrorString(), CUDA 13.0.
static const struct {
	const char *text;
	unsigned bits;
} needles[] = {
	{"block: [", CT_SCAN_ANCHOR},
	{"gpu assertion failure message = ", CT_SCAN_ANCHOR},
	{"[cuda_kernel_assert]", KIND(ASSERT_PRINTF)},
	{"cuda kernel assertion:", KIND(ASSERT_PRINTF)},  // FBGEMM
	// The line of the waiting driver is counted by its PID; here it only has to reach the raw lines.
	{"cuda_device_waits_on_exception is set", KIND(WAITING)},
	{"] coredump: ", KIND(DUMP)},
	// Reports by innocent threads and launchers.
	{"nccl warn", KIND(FOLLOWER)},
	{"nccl error", KIND(FOLLOWER)},
	{"ncclunhandledcudaerror", KIND(FOLLOWER)},
	{"ncclremoteerror", KIND(FOLLOWER)},
	{"ncclsystemerror", KIND(FOLLOWER)},
	{"ncclinternalerror", KIND(FOLLOWER)},
	{"nccl operations have failed", KIND(FOLLOWER)},
	{"nccl watchdog", KIND(FOLLOWER)},
	{"watchdog thread", KIND(FOLLOWER)},
	{"watchdog caught", KIND(FOLLOWER)},
	{"detected by watchdog", KIND(FOLLOWER)},
	{"distbackenderror", KIND(FOLLOWER)},
	{"worknccl(", KIND(FOLLOWER)},
	{"root cause (first observed failure)", KIND(FOLLOWER)},
	{"childfailederror", KIND(FOLLOWER)},
	{"noticed that process rank", KIND(FOLLOWER)},
	{") received by pid ", KIND(FOLLOWER)},
	// Errors of launching and loading.
	{"invalid configuration argument", LAUNCH},
	{"cuda error: invalid argument", LAUNCH},
	{"triton error [cuda]: invalid argument", LAUNCH},
	{"too many resources requested for launch", LAUNCH},
	{"cuda_error_launch_out_of_resources", LAUNCH},
	{"no kernel image is available", LAUNCH},
	{"cuda_error_no_binary_for_gpu", LAUNCH},
	{"device kernel image is invalid", LAUNCH},
	{"cuda_error_invalid_image", LAUNCH},
	{"invalid device function", LAUNCH},
	{"named symbol not found", LAUNCH},
	{"cuda_error_not_found", LAUNCH},
	{"compiled with an unsupported toolchain", LAUNCH},
	{"not permitted when stream is capturing", LAUNCH},
	{"previous error during capture", LAUNCH},
	{"cuda error: operation not permitted", LAUNCH},
	{"cuda error: initialization error", LAUNCH},
	{"cuda initialized before forking", LAUNCH},
	{"out of resource: shared memory", LAUNCH},
	// Errors of kernels that ran, and of calls after them.
	{"device-side assert triggered", KIND(CUDA_ERROR)},
	{"illegal memory access was encountered", KIND(CUDA_ERROR)},
	{"illegal instruction was encountered", KIND(CUDA_ERROR)},
	{"misaligned address", KIND(CUDA_ERROR)},
	{"unspecified launch failure", KIND(CUDA_ERROR)},
	{"invalid program counter", KIND(CUDA_ERROR)},
	{"hardware stack error", KIND(CUDA_ERROR)},
	{"not supported on global/shared address space", KIND(CUDA_ERROR)},
	{"uncorrectable ecc error", KIND(CUDA_ERROR)},
	{"uncorrectable nvlink error", KIND(CUDA_ERROR)},
	{"launch timed out and was terminated", KIND(CUDA_ERROR)},
	{"thrown during kernel execution", KIND(CUDA_ERROR)},  // Julia
	{"kernelexception", KIND(CUDA_ERROR)},
	{"] ctaid=[", KIND(CUDA_ERROR)},  // Numba, debug=True
	{"cuda error", KIND(CUDA_ERROR)},
	{"cuda failure", KIND(CUDA_ERROR)},
	{"cuda runtime error", KIND(CUDA_ERROR)},
	{"cuda runtime (", KIND(CUDA_ERROR)},  // TensorRT
	{"cuda driver error", KIND(CUDA_ERROR)},
	{"cuda_error_", KIND(CUDA_ERROR)},
	{"unknown_cuda_error", KIND(CUDA_ERROR)},
	{"cudaerror_t ", KIND(CUDA_ERROR)},
	{"cudaapierror", KIND(CUDA_ERROR)},
	{"cudaruntimeerror", KIND(CUDA_ERROR)},
	{"cudadrivererror", KIND(CUDA_ERROR)},
	{"thcudacheck fail", KIND(CUDA_ERROR)},
	{"triton error [cuda]", KIND(CUDA_ERROR)},
	{"cublas_status_", KIND(CUDA_ERROR)},
	{"cudnn_status_", KIND(CUDA_ERROR)},
	{"cusparse_status_", KIND(CUDA_ERROR)},
	{"cusolver_status_", KIND(CUDA_ERROR)},
	{"curand_status_", KIND(CUDA_ERROR)},
	{"cutensor_status_", KIND(CUDA_ERROR)},
	{"cufft error", KIND(CUDA_ERROR)},
	{"cudnn error", KIND(CUDA_ERROR)},
	{"cublas error", KIND(CUDA_ERROR)},
	{"got cutlass error", KIND(CUDA_ERROR)},
	{"][cuda][e]", KIND(CUDA_ERROR)},  // CUDA_LOG_FILE=stderr, driver 575 and later
	// Not errors by themselves, but what a reader would look for.
	{"cuda out of memory", KIND(OTHER)},
	{"fatal: kernel `", KIND(OTHER)},  // xFormers: built for another GPU, results are wrong
	{"nvrm: xid ", KIND(OTHER)},
	{"========= invalid __", KIND(OTHER)},  // compute-sanitizer
};

enum { WINDOW = 8 };

static unsigned lower(char c)
{
	unsigned u = (unsigned char)c;
	return u >= 'A' && u <= 'Z' ? u + ('a' - 'A') : u;
}

// Folds more than letters: a false candidate costs a comparison, no more.
static unsigned slot(char a, char b)
{
	return (((unsigned char)a | 0x20u) << 5 ^ ((unsigned char)b | 0x20u)) & (CT_LOGSCAN_SLOTS - 1);
}

void ct_logscan_init(struct ct_logscan *scan)
{
	static_assert(CT_COUNT(needles) < CT_LOGSCAN_NEEDLES, "needle numbers fit");
	memset(scan, 0, sizeof *scan);
	memset(scan->shift, WINDOW - 1, sizeof scan->shift);
	for (unsigned n = 0; n < CT_COUNT(needles); n++) {
		const char *text = needles[n].text;
		for (unsigned i = 1; i < WINDOW; i++) {
			uint8_t *shift = &scan->shift[slot(text[i - 1], text[i])];
			if (WINDOW - 1 - i < *shift)
				*shift = (uint8_t)(WINDOW - 1 - i);
		}
		unsigned s = slot(text[WINDOW - 2], text[WINDOW - 1]);
		scan->next[n] = scan->first[s];
		scan->first[s] = (uint8_t)(n + 1);
	}
}

static bool stands_here(const char *needle, const char *text, size_t room)
{
	size_t i = 0;
	while (i < room && needle[i] && lower(text[i]) == (unsigned char)needle[i])
		i++;
	return needle[i] == '\0';
}

unsigned ct_logscan_line(const struct ct_logscan *scan, const char *text, size_t length)
{
	unsigned bits = 0;
	for (size_t i = WINDOW - 1; i < length;) {
		unsigned s = slot(text[i - 1], text[i]);
		if (scan->shift[s]) {
			i += scan->shift[s];
			continue;
		}
		size_t start = i - (WINDOW - 1);
		for (unsigned n = scan->first[s]; n; n = scan->next[n - 1])
			if (stands_here(needles[n - 1].text, text + start, length - start))
				bits |= needles[n - 1].bits;
		i++;
	}
	return bits;
}

bool ct_logscan_kind(unsigned bits, enum ct_log_kind *ret_kind)
{
	// A watchdog's line quotes the CUDA error of the thread that it watches: what it is itself comes first.
	static const enum ct_log_kind order[] = {
		CT_LOG_WAITING, CT_LOG_ASSERT_PRINTF, CT_LOG_DUMP, CT_LOG_FOLLOWER, CT_LOG_CUDA_ERROR, CT_LOG_OTHER,
	};
	for (size_t i = 0; i < CT_COUNT(order); i++)
		if (bits & 1u << order[i]) {
			*ret_kind = order[i];
			return true;
		}
	return false;
}
