// The recorder inside the agent: the file, a ring for each thread, the tables; and Python's frames. See recorder/recorder.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_AGENT_RECORD_H
#define CT_AGENT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/recorder.h"

// What a launch is about, before its row exists.
struct ct_launch_call {
	uint64_t handle, stream, capture;
	uint32_t flags;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t shared_bytes;
	void **parameters;  // kernelParams; NULL
	void **extra;       // NULL
};

// The driver's own functions that the recorder asks; any may be NULL with an older driver.
struct ct_record_driver {
	int (*function_name)(const char **ret_name, void *function);
	int (*kernel_name)(const char **ret_name, void *kernel);
	int (*function_parameter)(void *function, size_t index, size_t *ret_offset, size_t *ret_bytes);
	int (*kernel_parameter)(void *kernel, size_t index, size_t *ret_offset, size_t *ret_bytes);
	int (*function_attribute)(int *ret_value, int attribute, void *function);
	int (*current_device)(int *ret_device);
	int (*device_attribute)(int *ret_value, int attribute, int device);
	int (*memory_info)(size_t *ret_free, size_t *ret_total);
	int (*driver_version)(int *ret_version);
	int (*capture_info)(void *stream, int *ret_status, uint64_t *ret_id);  // the first form, 10.1; and that of per-thread streams
	int (*capture_info_ptsz)(void *stream, int *ret_status, uint64_t *ret_id);
};

// record.c: reads CUDATRAP_RECORD and CUDATRAP_RECORD_DIR.
void ct_record_begin(void);
bool ct_record_is_on(void);
void ct_record_after_fork(void);  // in the child; async-signal-safe
void ct_record_forget_functions(void);  // a module was unloaded: handles may come back with another meaning

// A place for the launch in this thread's ring, filled; NULL when there is none. ct_record_end() adds what the call returned.
struct ct_record_launch *ct_record_launch(const struct ct_launch_call *call);
void ct_record_end(struct ct_record_launch *launch, const struct ct_launch_call *call, const char *name, int result);
// A call that is no launch failed.
void ct_record_failed(const char *name, int result, uint64_t bytes);

// record_driver.c: the driver's own functions, looked up once.
const struct ct_record_driver *ct_record_driver(void);

// record_table.c: numbers for functions and code objects. All under the lock of the tables, which is tried, not waited for.
uint32_t ct_record_function_number(struct ct_record_head *head, uint64_t handle, uint32_t epoch, const struct ct_record_function **ret_row);
uint32_t ct_record_code_number(struct ct_record_head *head, uint64_t key, const struct ct_record_code *code, const char *function,
			       const char *file, const uint8_t *table);
uint32_t ct_record_known(uint64_t key);  // a code object's number; 0: to be added
void ct_record_tables_reset(void);

// record_python.c: frames of the calling thread, innermost first; false in *ret_whole when there are more.
// Is the file of that code object a library's? code 0: no.
bool ct_record_is_library(struct ct_record_head *head, uint32_t code);
unsigned ct_record_python(struct ct_record_head *head, struct ct_record_frame ret_frames[CT_RECORD_FRAMES], bool *ret_whole);

// record_capture.c: which launches go into a graph, and which graph is launched. Costs nothing while no stream captures.
uint64_t ct_capture_of(void *stream, bool per_thread);  // the capture's id; 0: the stream does not capture
void ct_capture_begun(void);
void ct_capture_ended(void *graph, uint64_t capture);   // graph NULL: it failed
void ct_capture_instantiated(const void *graph, const void *exec);
uint64_t ct_capture_of_exec(const void *exec);          // the capture that it came from; 0 not seen

// record_torch.c: adds what autograd knows of the launch. False: PyTorch is not there, or has not been found yet; ct_record_find_torch() looks.
bool ct_record_torch(struct ct_record_launch *row);
void ct_record_find_torch(void);

static inline uint64_t ct_record_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);  // 2^64 / golden ratio: spreads every bit upwards
	return h ^ h >> 29;
}

#endif
