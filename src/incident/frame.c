// What a host frame is to its reader, by where its code comes from; see frame.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <string.h>

#include "base/base.h"
#include "incident/incident.h"

static bool starts_with_any(const char *text, const char *const *prefixes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ct_starts_with(text, prefixes[i]))
			return true;
	return false;
}

static bool is_installed(const char *path)
{
	return strstr(path, "/site-packages/") || strstr(path, "/dist-packages/");
}

static enum ct_frame_class python_class(const struct ct_host_frame *f)
{
	if (!f->file)
		return CT_FRAME_USER;
	// importlib and runpy, frozen into the interpreter; "<stdin>" and "<ipython-input-3>" are the user's.
	if (ct_starts_with(f->file, "<frozen "))
		return CT_FRAME_PLUMBING;
	return is_installed(f->file) || strstr(f->file, "/lib/python3.") ? CT_FRAME_FRAMEWORK : CT_FRAME_USER;
}

// cudaMalloc, cuLaunchKernel; nvcc 13's launch stubs call __cudaLaunchKernel. Not cublasCreate, not cudart::f.
static bool is_api_name(const char *function)
{
	if (!function || strpbrk(function, ":(<"))
		return false;
	if (strcmp(function, "__cudaLaunchKernel") == 0 || strcmp(function, "__cudaLaunchKernel_ptsz") == 0)
		return true;
	if (ct_starts_with(function, "cuda"))
		return isupper((unsigned char)function[4]);
	return ct_starts_with(function, "cu") && isupper((unsigned char)function[2]);
}

static bool is_plumbing(const struct ct_host_frame *f)
{
	// glibc's start of a process and of a thread.
	static const char *const starts[] = {"_start", "start_thread", "clone", "clone3", "__clone", "__clone3"};
	// The same; CPython's interpreter loop; nvcc's launch stub (13.0 calls the last one).
	static const char *const prefixes[] = {"__libc_start_", "_PyEval", "PyEval_", "Py_", "PyRun_", "__device_stub_", "__cudaLaunchKernel_helper"};
	static const char *const modules[] = {"python", "libpython"};
	for (size_t i = 0; i < CT_COUNT(starts) && f->function; i++)
		if (strcmp(f->function, starts[i]) == 0)
			return true;
	if (f->function && starts_with_any(f->function, prefixes, CT_COUNT(prefixes)))
		return true;
	return f->module && starts_with_any(ct_basename(f->module), modules, CT_COUNT(modules));
}

bool ct_frame_in_cuda(const struct ct_host_frame *f)
{
	static const char *const modules[] = {"libcudatrap-agent.", "libcuda.", "libcudart", "libcudadebugger", "libnvidia-"};
	// The second prefix: names in the static runtime of CUDA 13.
	if (f->function && (ct_starts_with(f->function, "cudart::") || ct_starts_with(f->function, "libcudart_static_")))
		return true;
	return f->module && starts_with_any(ct_basename(f->module), modules, CT_COUNT(modules));
}

static bool is_library(const char *module)
{
	static const char *const folders[] = {"/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/",
					      "/usr/libexec/", "/usr/local/cuda", "["};
	// Wherever an environment keeps its own copies.
	static const char *const names[] = {
		"libc.so", "libc-", "libm.so", "libstdc++", "libgcc_s", "libpthread", "ld-linux", "linux-vdso", "libgomp", "libcublas", "libcudnn", "libnccl",
	};
	return starts_with_any(module, folders, CT_COUNT(folders)) || is_installed(module) ||
	       starts_with_any(ct_basename(module), names, CT_COUNT(names));
}

enum ct_frame_class ct_frame_class_of(const struct ct_host_frame *f)
{
	if (f->kind == CT_FRAME_PYTHON)
		return python_class(f);
	if (is_api_name(f->function))
		return CT_FRAME_API;
	if (is_plumbing(f))
		return CT_FRAME_PLUMBING;
	if (ct_frame_in_cuda(f))
		return CT_FRAME_LIBRARY;
	if (!f->module)
		return f->file ? CT_FRAME_USER : CT_FRAME_LIBRARY;
	return is_library(f->module) ? CT_FRAME_LIBRARY : CT_FRAME_USER;
}

bool ct_frame_has_excerpt(const struct ct_host_frame *f, size_t *ret_own)
{
	// A line alone is the frame's source already.
	if (f->n_excerpt < 2 || f->n_excerpt > CT_MAX_EXCERPT || !f->excerpt_line || f->excerpt_line > UINT32_MAX - CT_MAX_EXCERPT ||
	    f->line < f->excerpt_line || f->line - f->excerpt_line >= f->n_excerpt)
		return false;
	*ret_own = f->line - f->excerpt_line;
	return true;
}
