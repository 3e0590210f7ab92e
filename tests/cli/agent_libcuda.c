// A driver library for tests of the agent: its name is what counts, one call that blocks, and launches that do nothing but check what
// they were given.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

typedef struct {
	unsigned grid[3], block[3], shared;
	void *stream;
	void *attributes;
	unsigned n_attributes;
} config_t;

int cuInit(unsigned flags);
int agent_wait(int fd);
int cuGetProcAddress(const char *name, void **ret, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *name, void **ret, int version, uint64_t flags, int *status);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, void **parameters,
		   void **extra);
int cuLaunchKernel_ptsz(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
			void **parameters, void **extra);
int cuLaunchKernelEx(const config_t *config, void *f, void **parameters, void **extra);
int cuGraphLaunch(void *exec, void *stream);
int cuMemAlloc_v2(uint64_t *ret, size_t bytes);
int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total);
int cuFuncGetName(const char **ret, void *f);
int cuFuncGetParamInfo(void *f, size_t index, size_t *ret_offset, size_t *ret_bytes);
int cuFuncGetAttribute(int *ret, int attribute, void *f);
int cuCtxGetDevice(int *ret);
int cuDeviceGetAttribute(int *ret, int attribute, int device);

int cuInit(unsigned flags)
{
	return (int)flags;
}

// Until somebody writes to fd or closes its other end.
int agent_wait(int fd)
{
	char c;
	return (int)read(fd, &c, 1);
}

static int check(void *f, unsigned threads, void *stream, int rc)
{
	if (stream == (void *)719)  // a stream on which a fault has happened
		return 719;
	return !f ? 400 : threads > 1024 ? 1 : rc;
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, void **parameters,
		   void **extra)
{
	(void)gx, (void)gy, (void)gz, (void)shared, (void)parameters, (void)extra;
	return check(f, bx * by * bz, stream, 0);
}

// Its own result, so that one can see who was called.
int cuLaunchKernel_ptsz(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
			void **parameters, void **extra)
{
	(void)gx, (void)gy, (void)gz, (void)shared, (void)parameters, (void)extra;
	return check(f, bx * by * bz, stream, 801);
}

int cuLaunchKernelEx(const config_t *config, void *f, void **parameters, void **extra)
{
	(void)parameters, (void)extra;
	return check(f, config->block[0] * config->block[1] * config->block[2], config->stream, 0);
}

int cuGraphLaunch(void *exec, void *stream)
{
	return check(exec, 1, stream, 0);
}

int cuMemAlloc_v2(uint64_t *ret, size_t bytes)
{
	*ret = 0x7f0000000000;
	return bytes > 1000000 ? 2 : 0;
}

int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
	*ret_free = 1000000;
	*ret_total = 2000000;
	return 0;
}

// Handles are small numbers: 1 first_kernel(int, long), 2 second_kernel(); others have no name.
int cuFuncGetName(const char **ret, void *f)
{
	static const char *const names[] = {"_Z12first_kernelil", "second_kernel"};
	if ((uintptr_t)f - 1 >= 2)
		return 400;
	*ret = names[(uintptr_t)f - 1];
	return 0;
}

int cuFuncGetParamInfo(void *f, size_t index, size_t *ret_offset, size_t *ret_bytes)
{
	if ((uintptr_t)f != 1 || index >= 2)
		return 1;
	*ret_offset = index * 8;
	*ret_bytes = index ? 8 : 4;
	return 0;
}

int cuFuncGetAttribute(int *ret, int attribute, void *f)
{
	(void)f;
	*ret = 1000 + attribute;
	return 0;
}

int cuCtxGetDevice(int *ret)
{
	*ret = 0;
	return 0;
}

int cuDeviceGetAttribute(int *ret, int attribute, int device)
{
	(void)device;
	*ret = 2000 + attribute;
	return 0;
}

// Stream 5 captures after a begin, as capture 55, into graph 500.
static int captures;

static int begin_capture(void *stream, int mode)
{
	(void)stream, (void)mode;
	captures = 1;
	return 0;
}

// The first form, another function of the driver, which libcudart asks for as well.
static int begin_capture_v1(void *stream)
{
	return begin_capture(stream, 0);
}

static int end_capture(void *stream, void **ret)
{
	(void)stream;
	captures = 0;
	*ret = (void *)500;
	return 0;
}

static int instantiate_v1(void **ret, void *graph, void *node, char *log, size_t size)
{
	(void)graph, (void)node, (void)log, (void)size;
	*ret = (void *)9;
	return 1;
}

static int instantiate(void **ret, void *graph, uint64_t flags)
{
	(void)graph, (void)flags;
	*ret = (void *)9;
	return 0;
}

int cuStreamGetCaptureInfo(void *stream, int *ret_status, uint64_t *ret_id);
int cuStreamGetCaptureInfo(void *stream, int *ret_status, uint64_t *ret_id)
{
	*ret_status = captures && stream == (void *)5;
	*ret_id = *ret_status ? 55 : 0;
	return 0;
}

static int find(const char *name, void **ret, int version, uint64_t flags)
{
#define ROW(name, function) {name, (void *)(uintptr_t)(function)}
	const struct {
		const char *name;
		void *function;
	} rows[] = {
		ROW("cuInit", cuInit), ROW("cuLaunchKernelEx", cuLaunchKernelEx), ROW("cuGraphLaunch", cuGraphLaunch), ROW("cuMemAlloc", cuMemAlloc_v2),
		ROW("cuLaunchKernel", flags & 2 ? cuLaunchKernel_ptsz : cuLaunchKernel), ROW("cuGetProcAddress", cuGetProcAddress_v2),
		ROW("cuStreamBeginCapture", version < 10010 ? (void *)(uintptr_t)begin_capture_v1 : (void *)(uintptr_t)begin_capture),
		ROW("cuStreamEndCapture", end_capture),
		ROW("cuGraphInstantiate", version < 12000 ? (void *)(uintptr_t)instantiate_v1 : (void *)(uintptr_t)instantiate),
		ROW("cuGraphInstantiateWithFlags", instantiate),
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(rows[i].name, name) == 0) {
			*ret = rows[i].function;
			return 0;
		}
	*ret = NULL;
	return 500;
}

int cuGetProcAddress(const char *name, void **ret, int version, uint64_t flags)
{
	return find(name, ret, version, flags);
}

int cuGetProcAddress_v2(const char *name, void **ret, int version, uint64_t flags, int *status)
{
	if (status)
		*status = 0;
	return find(name, ret, version, flags);
}
