// What the files of shell/ share: the open file, the index of its threads, the focus, a command's call.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_SHELL_PRIV_H
#define CT_SHELL_PRIV_H

#include <stdint.h>
#include <sys/types.h>

#include "gpucore/gpucore.h"
#include "incident/incident.h"
#include "shell/shell.h"

// All threads that one can go to, by device, grid, block, thread. Built once: every look-up is a binary search.
struct ct_shell_block {
	size_t first, count;  // of lanes
};
struct ct_shell_index {
	struct ct_gpucore_lane *lanes;
	size_t n_lanes;
	struct ct_shell_block *blocks;  // in the order of lanes
	size_t n_blocks;
	size_t *failing;  // indices of lanes
	size_t n_failing;
	bool cut;  // more threads than CT_SHELL_MAX_LANES: the rest is left out
};
// About thirty full GPUs of 132 SMs with 2048 threads each (H200).
enum { CT_SHELL_MAX_LANES = 8 * 1024 * 1024 };

struct ct_shell {
	const char *path;  // in the incident's arena
	struct ct_incident *incident;
	struct ct_gpucore *core;  // NULL: a stored incident
	struct ct_shell_index index;
	struct ct_render_options render;
	bool has_focus;
	size_t focus;  // index of lanes
	const struct ct_host_thread *host;  // the incident's; NULL: no host stacks
	size_t host_frame;
};

// lanes.c
void ct_shell_index_build(struct ct_shell *shell);
void ct_shell_index_done(struct ct_shell_index *index);
// The block of that grid; false: not there.
bool ct_shell_find_block(const struct ct_shell_index *index, size_t device, uint64_t grid_id, struct ct_dim3 block, struct ct_shell_block *ret_block);
bool ct_shell_find_thread(const struct ct_shell_index *index, const struct ct_shell_block *block, struct ct_dim3 thread, size_t *ret_lane);
bool ct_shell_is_failing(const struct ct_shell *shell, const struct ct_gpucore_lane *lane);

// A command being run.
struct ct_shell_call {
	struct ct_shell *shell;
	FILE *out;
	struct ct_arena arena;  // ends with the command
	char **args;            // without the command's name
	size_t n_args;
	bool quit;
};
typedef bool ct_shell_run(struct ct_shell_call *call, struct ct_error *err);

// The commands, by what they look at. report.c: the text report and its parts.
ct_shell_run ct_shell_run_report, ct_shell_run_why, ct_shell_run_threads, ct_shell_run_log, ct_shell_run_environment, ct_shell_run_collectors,
	ct_shell_run_exceptions;
// thread.c: the focus. code.c: what can be seen from it.
ct_shell_run ct_shell_run_thread, ct_shell_run_kernel, ct_shell_run_stack;
ct_shell_run ct_shell_run_regs, ct_shell_run_source, ct_shell_run_asm;
// values.c
ct_shell_run ct_shell_run_args, ct_shell_run_mem;
// tensors.c
ct_shell_run ct_shell_run_values, ct_shell_run_tensors, ct_shell_run_tensor, ct_shell_run_find;
bool ct_shell_python_locals(struct ct_shell_call *call, struct ct_error *err);
const char *ct_shell_tensor_name(const struct ct_shell *shell, size_t index);  // for completion; NULL: past the end
// memory.c: an element of an array that was read, out of a dump that holds it: as text. False: the dump does not, or has no such element.
bool ct_shell_memory_element(struct ct_shell_call *call, const struct ct_device_memory *memory, uint64_t index, const char **ret_text);
// How many of the elements that were read are value (decimal), and the first of them; 0 without a dump that holds them.
uint64_t ct_shell_memory_find(struct ct_shell_call *call, const struct ct_device_memory *memory, const char *value, uint64_t *ret_first);
// host.c
ct_shell_run ct_shell_run_host, ct_shell_run_frame, ct_shell_run_up, ct_shell_run_down, ct_shell_run_python;
// machine.c
ct_shell_run ct_shell_run_kernels, ct_shell_run_devices, ct_shell_run_sms, ct_shell_run_modules, ct_shell_run_raw;
// live.c
ct_shell_run ct_shell_run_live;
// table.c
ct_shell_run ct_shell_run_help, ct_shell_run_quit;

// The focus; NULL with the reason when there is none.
const struct ct_gpucore_lane *ct_shell_focus(struct ct_shell_call *call, struct ct_error *err);
// The call stack at the focus; needs one.
void ct_shell_frames(struct ct_shell_call *call, const struct ct_gpucore_lane *lane, const struct ct_device_frame **ret_frames, size_t *ret_count);
// "x,y,z", "x,y", "x", each also in parentheses.
bool ct_shell_parse_dim3(const char *text, struct ct_dim3 *ret_dim);
bool ct_shell_parse_u64(const char *text, uint64_t *ret_value);  // decimal or 0x hexadecimal, all of it
const char *ct_shell_dim3(struct ct_arena *arena, struct ct_dim3 d);  // "(0,0,0)"
// One line: newlines and tabs become spaces. "" for NULL.
const char *ct_shell_flat(struct ct_arena *arena, const char *text);
// The kernel of a grid, as named by dump or incident. NULL: not known.
const char *ct_shell_kernel_name(struct ct_shell_call *call, size_t device, uint64_t grid_id);
bool ct_shell_grid_of(const struct ct_shell *shell, const struct ct_gpucore_lane *lane, size_t *ret_grid_index);
// "illegal address" or "exception 99".
const char *ct_shell_exception(struct ct_arena *arena, uint32_t code);
// Fails with what only a dump has, and how to get one.
bool ct_shell_dump_only(struct ct_error *err, const char *what);

// values.c: the types of `mem`, for completion. NULL: past the end.
const char *ct_shell_mem_type(size_t index);

// output.c: what a command writes, to the terminal: through the pager when it is long, else itself until a signal comes.
struct ct_shell_output {
	struct ct_str held;
	int signal_fd;  // a signalfd, not blocking, with SIGINT, SIGWINCH, SIGTERM and SIGHUP
	int pager_fd;   // -1: no pager
	pid_t pager;
	bool began;    // to be shown
	bool stopped;  // by the person: writing fails from then on
	bool ended;    // the session is to end, too
};
FILE *ct_shell_output_open(struct ct_shell_output *output, int signal_fd);
void ct_shell_output_close(struct ct_shell_output *output, FILE *file);
unsigned ct_shell_terminal_width(void);  // 0: not known

// history.c. All harmless when it cannot be had.
void ct_shell_history_load(struct ct_arena *arena);
void ct_shell_history_save(struct ct_arena *arena, size_t n_new);  // the lines added since

#endif
