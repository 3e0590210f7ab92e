// The incident: everything known about one GPU fault. Collectors fill it, JSON carries it,
// diagnosis and renderers need nothing else: no process, no GPU, no debugger, no clock.
// The JSON form is described by doc/incident.schema.json.
//
// Absent is not zero: text that is not known is NULL, numbers have a has_ flag beside them, lists are empty.
// All strings are clean UTF-8 (ct_arena_clean) and live, like every array, in the incident's arena.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_INCIDENT_H
#define CT_INCIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/base.h"
#include "incident/coordinates.h"
#include "incident/frame.h"
#include "incident/launch.h"

// Raised by one when a reader of the old form would misread the new one.
#define CT_INCIDENT_VERSION 1

// The reader's bounds; more is CT_LIMIT. Far above what a fault of a large job gives (a thousand threads of a hundred frames: 30 MB).
enum {
	CT_INCIDENT_MAX_BYTES = 64 * 1024 * 1024,  // of JSON
	CT_INCIDENT_MAX_ROWS = 65536,              // in a list; lanes and runs have their own limits below
	CT_INCIDENT_MAX_TEXT = 1024 * 1024,        // bytes in one text
};

// enum suffix, JSON word, headline words
#define CT_FAULT_KINDS(X)                                      \
	X(UNKNOWN, "unknown", "GPU fault")                     \
	X(ASSERT, "assert", "device-side assert")              \
	X(EXCEPTION, "exception", "GPU exception")             \
	X(TRAP, "trap", "device trap")                         \
	X(API_ERROR, "api-error", "failing CUDA call")         \
	X(HANG, "hang", "hang")

enum ct_fault_kind {
#define X(name, word, headline) CT_FAULT_##name,
	CT_FAULT_KINDS(X)
#undef X
};
// The word functions return "unknown" for a value outside the enum, never NULL; the parsers false for a word that is not in the table,
// and leave *ret alone then.
const char *ct_fault_kind_word(enum ct_fault_kind kind);      // "assert"
const char *ct_fault_kind_headline(enum ct_fault_kind kind);  // "device-side assert"
bool ct_fault_kind_parse(const char *word, enum ct_fault_kind *ret_kind);

// CUDBGException_t of cudadebugger.h, CUDA 13.0 (and 23.. of later ones). The debugger's *signal* numbers swap 17
// and 18; these are the enum's, as the driver and the dumps write them. code, JSON word, words, scope
#define CT_EXCEPTIONS(X)                                                                    \
	X(1, "lane-illegal-address", "illegal address", "lane")                             \
	X(2, "lane-user-stack-overflow", "stack overflow", "lane")                          \
	X(3, "device-hardware-stack-overflow", "hardware stack overflow", "device")         \
	X(4, "warp-illegal-instruction", "illegal instruction", "warp")                     \
	X(5, "warp-out-of-range-address", "address out of range", "warp")                   \
	X(6, "warp-misaligned-address", "misaligned address", "warp")                       \
	X(7, "warp-invalid-address-space", "invalid address space", "warp")                 \
	X(8, "warp-invalid-pc", "invalid program counter", "warp")                          \
	X(9, "warp-hardware-stack-overflow", "hardware stack overflow", "warp")             \
	X(10, "device-illegal-address", "illegal address", "device")                        \
	X(11, "lane-misaligned-address", "misaligned address", "lane")                      \
	X(12, "warp-assert", "device-side assert", "warp")                                  \
	X(13, "lane-syscall-error", "device system call error", "lane")                     \
	X(14, "warp-illegal-address", "illegal address", "warp")                            \
	X(15, "invalid-managed-access", "invalid managed memory access", "device")          \
	X(16, "non-migratable-atomic", "non-migratable system-scoped atomic access", "lane") \
	X(17, "cluster-out-of-range-address", "cluster address out of range", "cluster")    \
	X(18, "cluster-block-not-present", "cluster target block not present", "cluster")   \
	X(19, "warp-stack-canary", "stack canary overwritten", "warp")                      \
	X(20, "warp-tmem-access-check", "tensor memory access check", "warp")               \
	X(21, "warp-tmem-leak", "tensor memory leak", "warp")                               \
	X(22, "warp-call-requires-newer-driver", "call requires a newer driver", "warp")

// NULL for a number that is not in the table: show the number then.
const char *ct_exception_word(uint32_t code);
const char *ct_exception_text(uint32_t code);

struct ct_lane {
	struct ct_gridpos at;
	struct ct_hwpos hw;
	uint64_t pc;
	bool has_exception;
	uint32_t exception;  // CUDBGException_t
	bool has_address;
	uint64_t address;  // that the instruction at the group's error PC goes to, from the thread's registers
};

// A place in device code.
struct ct_device_frame {
	uint64_t pc;
	const char *function;  // demangled; NULL when no function covers the PC
	const char *file;      // NULL without line information
	uint32_t line;         // 0 without line information
	bool has_offset;
	uint64_t offset;  // from the function's start
	bool inlined;     // this function was inlined into the next frame
};

// Threads that failed at one place for one reason.
#define CT_GROUP_REASONS(X)                                                        \
	X(EXCEPTION, "exception") /* the driver flags these lanes */               \
	X(ASSERT_PC, "assert-pc") /* stand where flagged lanes of the assert stand */ \
	X(TRAP_PC, "trap-pc")     /* stand at a trap instruction, nothing flagged */ \
	X(RUNNING, "running")     /* a hang: threads that stand here */

enum ct_group_reason {
#define X(name, word) CT_GROUP_##name,
	CT_GROUP_REASONS(X)
#undef X
};
const char *ct_group_reason_word(enum ct_group_reason reason);
bool ct_group_reason_parse(const char *word, enum ct_group_reason *ret_reason);

struct ct_exception_count {
	uint32_t exception;
	uint64_t n_warps;
};

struct ct_group {
	enum ct_group_reason reason;
	bool has_exception;
	uint32_t exception;  // of the majority of the warps; others in other_exceptions
	uint64_t pc;
	bool has_error_pc;
	uint64_t error_pc;
	uint64_t n_threads, n_warps, n_blocks;
	uint64_t n_flagged;  // threads whose lane carries the exception; <= n_threads
	bool whole_warps;    // the hardware flags warps: which of their lanes did it is not known
	struct ct_dim3_run *block_runs;
	size_t n_block_runs;
	bool block_runs_cut;  // more runs exist than are listed
	struct ct_dim3_run *thread_runs;  // thread coordinates within their blocks, over all blocks of the group
	size_t n_thread_runs;
	bool thread_runs_cut;
	struct ct_lane *lanes;  // the first ones in (block, thread) order; at most CT_MAX_LANES
	size_t n_lanes;
	struct ct_device_frame *frames;  // innermost first; of the first lane
	size_t n_frames;
	struct ct_exception_count *other_exceptions;
	size_t n_other_exceptions;
	const char *access;  // what the instruction at the error PC does to device memory, "load" or "store"; NULL: not known
	uint32_t access_bytes;
};

enum { CT_MAX_LANES = 64, CT_MAX_RUNS = 64 };

struct ct_kernel {
	const char *name;    // demangled, with template arguments and parameter types as the tool gave them
	const char *symbol;  // mangled, when known
	bool has_grid_id;
	uint64_t grid_id;
	bool has_dims;
	struct ct_dim3 grid_dim, block_dim;
	bool has_cluster;
	struct ct_dim3 cluster_dim;
	bool has_launch_tid;
	int64_t launch_tid;  // host thread that launched it (attrHostTid)
	bool has_params_offset;
	uint32_t params_offset;  // of parameter 0 in constant bank 0
};

struct ct_device {
	bool has_index;
	uint32_t index;
	const char *name;     // "NVIDIA H200"
	const char *sm_type;  // "sm_90"
	bool has_n_sms;
	uint32_t n_sms;
	const char *pci;  // "0000:65:00.0"
};

// What a kernel argument is. "bytes": its type is not known, or not one of the others.
#define CT_ARGUMENT_KINDS(X) \
	X(BYTES, "bytes") X(POINTER, "pointer") X(INTEGER, "integer") X(FLOAT, "float") X(BOOL, "bool") X(STRUCT, "struct")

enum ct_argument_kind {
#define X(name, word) CT_ARGUMENT_##name,
	CT_ARGUMENT_KINDS(X)
#undef X
};
const char *ct_argument_kind_word(enum ct_argument_kind kind);
bool ct_argument_kind_parse(const char *word, enum ct_argument_kind *ret_kind);

// An argument of the failing kernel: its place from the image, its bytes from the GPU, its type from the signature.
struct ct_argument {
	uint32_t index;   // from 0, as in the signature
	uint32_t offset;  // from argument 0, in bytes
	uint32_t size_bytes;
	const char *type;  // "long const*"; NULL when the signature does not tell
	const char *name;  // from debug information or the table of known kernels; NULL: not known
	enum ct_argument_kind kind;
	const char *value;  // "0x7f2134000000", "3", "-100", "0.5", "true", of a struct that is known its parts; NULL: not had, or only bytes
	const char *bytes;  // hexadecimal, in memory order, at most CT_MAX_ARGUMENT_BYTES of them; NULL: not had
	bool bytes_cut;     // there are more
	const char *tensor;  // a pointer: name of the tensor in whose storage it points; NULL: none, or not known
	bool has_tensor_offset;
	uint64_t tensor_offset;  // bytes from the start of that tensor's data
};

enum { CT_MAX_ARGUMENTS = 256, CT_MAX_ARGUMENT_BYTES = 64 };

// One element of an array in device memory.
struct ct_element {
	uint64_t index;
	const char *value;
	bool has_at;
	struct ct_gridpos at;  // the failing thread that reads it
};

// Elements outside [0, the value of the integer argument `argument`).
struct ct_outside {
	uint32_t argument;
	uint64_t n_outside;
	uint64_t index;     // the first one
	const char *value;  // of it
};

// What was read of an array of integers that an argument points to. Read, not concluded: which of it broke the assert is diagnosis.
struct ct_device_memory {
	uint32_t argument;
	// Of an array inside a functor; NULL for others.
	const char *name;        // "index"
	const char *value_name;  // of an element in the assert's expression: "idx_dim"
	const char *bound_name, *bound;  // "index_size", "5": elements are to be less
	const char *exempt;      // this value is allowed too; NULL: none
	uint64_t address;
	const char *type;     // "int64", "int32", "uint8" ...
	uint64_t n_elements;  // that were read, from the first on
	bool whole;           // the array has no more; false: its length is not known or more than is read
	const char *min, *max;
	uint64_t min_index, max_index;  // the first of each
	struct ct_outside *outside;     // only bounds that are exceeded
	size_t n_outside;
	const char *rule;  // id of the row of assert-values.tsv that says which thread reads which element; NULL: none
	struct ct_element *elements;  // that the failing threads read first and that the rule does not allow; at most CT_MAX_LANES
	size_t n_elements_of_threads;
	const char *failed;  // why nothing was read; NULL: it was
};

// Elements of a tensor that are worth a look.
struct ct_special {
	const char *what;   // "NaN", "infinite", "negative", "above 1", "not below" (the bound)
	uint64_t bound;     // with "not below" and "above 1"; else 0
	uint64_t n_found;
	uint64_t index;     // the first one
	const char *value;  // of it
};

// What was read of a tensor that the launching thread's frames name.
struct ct_tensor_memory {
	const char *name;
	uint64_t address;
	const char *type;     // "int64", "float32"
	uint64_t n_elements;  // that were read
	bool whole;           // all of them; false: a sample, or time was up
	bool in_order;        // indices are those of the flattened tensor
	const char *min, *max;  // NaN left aside
	uint64_t min_index, max_index;
	struct ct_special *special;
	size_t n_special;
	const char *failed;  // why it was not read whole; NULL: it was
};

enum { CT_MAX_TENSORS_READ = 64 };

struct ct_gpu {
	bool present;        // false: nothing was read from the GPU; see the collectors for why
	const char *source;  // "cuda-gdb 13.0 (gdb.cuda)", "cuda-gdb 12.4 (MI)", "core dump"
	struct ct_device device;
	bool has_kernel;
	struct ct_kernel kernel;  // the one that failed
	struct ct_kernel *other_kernels;  // on the device at the same time
	size_t n_other_kernels;
	struct ct_group *groups;  // the most telling first
	size_t n_groups;
	struct ct_exception_count *sm_exceptions;  // seen on SMs with no lane to show for it (warp has exited)
	size_t n_sm_exceptions;
	struct ct_argument *arguments;  // of the failing kernel, by index
	size_t n_arguments;
	struct ct_device_memory *memory;
	size_t n_memory;
	struct ct_tensor_memory *tensors;
	size_t n_tensors;
};

// A value that the fault is about.
struct ct_value {
	const char *name;     // as in the expression: "t", "n_classes"
	const char *text;     // "3"; NULL: not had
	const char *how;      // how it was got: "target[2], read from device memory", "argument 8", "local of load_label"
	const char *why_not;  // why it was not, in words
	bool candidate;       // fits, but is not known to be the one
};

// What the fault may come from: a conclusion, not a fact.
struct ct_cause {
	const char *id;        // of the kind of cause: "label-range"; NULL: it has none
	const char *text;      // "label 3 for a model with 3 outputs"
	const char *evidence;  // what speaks for it, where text does not say that
	const char **checks;   // what to look at first, in this order
	size_t n_checks;
};

// Causes that are shown side by side: more would be a list of guesses.
enum { CT_MAX_CAUSES = 3 };

// What the tables of data/ say of the check or the call that failed, whatever the cause.
struct ct_meaning {
	bool present;
	const char *text;     // NULL: nothing besides the checks
	const char **checks;  // what to look at, behind those of the causes
	size_t n_checks;
	const char *row;      // id in assert-catalog.tsv or call-causes.tsv
};

// How both were told before there could be several: read, never written.
struct ct_old_cause {
	bool present;
	const char *id, *text, *meaning, *row;
	const char **checks;
	size_t n_checks;
};

// Where the address of a failed access lies: computed from registers, the hardware reports none.
struct ct_fault_address {
	bool present;
	uint64_t address;
	struct ct_gridpos at;  // the thread whose address it is
	const char *access;    // "load" or "store"; NULL: not known
	uint32_t access_bytes;
	uint64_t n_threads;  // listed threads whose address is known
	uint64_t n_outside;  // of them, those whose access lies in no known storage
	const char *where;   // "inside", "before", "beyond" the storage of `tensor`; "from argument": behind where one points; NULL: nothing is near
	const char *tensor;
	bool has_argument;
	uint32_t argument;
	uint64_t bytes;    // from the storage's start or end, or from the argument
	const char *text;  // the same in words; NULL with where
};

// A device assert, as text (the driver's line) or as read from the image.
struct ct_assert {
	bool present;
	const char *source;      // "log", "image", "debugger"
	const char *file;        // as compiled in: "/pytorch/aten/src/ATen/native/cuda/Loss.cu"; NULL when the line was damaged
	uint32_t line;
	const char *function;    // of the assert; NULL when absent (Windows)
	const char *expression;  // may be "" or a message
	uint64_t n_lines;        // lines of this very assert in the log: one a failing thread
	struct ct_dim3_run *block_runs;
	size_t n_block_runs;
	bool block_runs_cut;
	struct ct_dim3_run *thread_runs;
	size_t n_thread_runs;
	bool thread_runs_cut;
	bool has_first;
	struct ct_gridpos first;  // of the first line
};

// Lines of the target's output that matter, equal ones counted.
#define CT_LOG_KINDS(X)                                                         \
	X(ASSERT, "assert")           /* device assert line */                  \
	X(ASSERT_PRINTF, "assert-printf") /* [CUDA_KERNEL_ASSERT] line with values */ \
	X(WAITING, "waiting")         /* the driver waits for a debugger */     \
	X(CUDA_ERROR, "cuda-error")   /* host-side error text */                \
	X(DUMP, "dump")               /* core dump progress */                  \
	X(FOLLOWER, "follower")       /* NCCL, watchdog: somebody else's fault */ \
	X(OTHER, "other")

enum ct_log_kind {
#define X(name, word) CT_LOG_##name,
	CT_LOG_KINDS(X)
#undef X
};
const char *ct_log_kind_word(enum ct_log_kind kind);
bool ct_log_kind_parse(const char *word, enum ct_log_kind *ret_kind);

struct ct_log_entry {
	enum ct_log_kind kind;
	const char *text;    // the first such line, cleaned, without newline
	const char *prefix;  // rank or logger prefix in front of it, when recognised ("[rank0]:")
	uint64_t count;
};

struct ct_host_thread {
	int64_t tid;
	const char *name;
	bool launching;                // this thread launched the failing kernel (or waits for it)
	const char *why_launching;     // how that is known: "host thread id of the grid", "blocked in cuLaunchKernel", "only thread in libcuda"
	struct ct_host_frame *frames;  // innermost first; merged when `merged`
	size_t n_frames;
	bool merged;              // Python frames stand in place of the interpreter's own
	const char *merge_note;   // why not, when not
	struct ct_host_frame *python;  // unmerged Python frames, innermost first; only when they could not be merged
	size_t n_python;
};

#define CT_COLLECTOR_STATUSES(X) \
	X(OK, "ok") X(PARTIAL, "partial") X(FAILED, "failed") X(TIMED_OUT, "timed-out") X(SKIPPED, "skipped")

enum ct_collector_status {
#define X(name, word) CT_COLLECTOR_##name,
	CT_COLLECTOR_STATUSES(X)
#undef X
};
const char *ct_collector_status_word(enum ct_collector_status status);
bool ct_collector_status_parse(const char *word, enum ct_collector_status *ret_status);

struct ct_collector {
	const char *name;  // "gpu", "native-stacks", "python-agent", "python-walk", "tensors", "launches", "anomaly", "log", "environment"
	enum ct_collector_status status;
	double milliseconds;
	const char *detail;  // one line; why it failed, what to do. NULL when all is said by "ok"
};

struct ct_pair {
	const char *name, *value;
};

struct ct_process {
	int64_t pid;
	const char *executable;
	const char *const *argv;  // the failing process's own
	size_t n_argv;
	const char *cwd;
	const char *python;  // "3.12.3"
	bool is_descendant;  // not the command itself but a process that it started
};

// How the run ended, truthfully.
#define CT_ENDINGS(X)                                                             \
	X(UNKNOWN, "unknown")                                                     \
	X(EXITED, "exited")         /* by itself, with `status` */                \
	X(SIGNALED, "signaled")     /* by itself, by signal `status` */           \
	X(ENDED_BY_US, "ended-by-us") /* after the report; `status` is the last signal sent */ \
	X(RUNNING, "running")       /* still running when the report was written */ \
	X(TIMED_OUT, "timed-out")   /* --timeout */

enum ct_ending_kind {
#define X(name, word) CT_ENDING_##name,
	CT_ENDINGS(X)
#undef X
};
const char *ct_ending_word(enum ct_ending_kind kind);
bool ct_ending_parse(const char *word, enum ct_ending_kind *ret_kind);

struct ct_ending {
	enum ct_ending_kind kind;
	int status;
	const char *detail;
};

// A later fault, or another process's.
struct ct_consequence {
	int64_t pid;
	double seconds_after;  // the first fault
	const char *text;
};

// Which process of which parallel job the failing one was, as its launcher told it in its environment.
struct ct_rank {
	bool has_rank, has_local_rank, has_world_size;
	uint32_t rank;         // in the whole job
	uint32_t local_rank;   // on its machine
	uint32_t world_size;   // how many ranks there are
	const char *job;       // the launcher's or scheduler's name of the job; NULL when it has none
	const char *launcher;  // whose variables these are: "torchrun", "slurm", ...
};

// ---- Tensors and what they say about each other ----------------------------------------------------------------

// What an array is to the frame that holds it.
#define CT_TENSOR_ROLES(X)             \
	X(LOCAL, "local")              \
	X(ARGUMENT, "argument")        \
	X(ATTRIBUTE, "attribute")      \
	X(ITEM, "item")                \
	X(PARAMETER, "parameter") /* of a torch.nn.Module */ \
	X(BUFFER, "buffer")       /* of a torch.nn.Module */

enum ct_tensor_role {
#define X(name, word) CT_TENSOR_##name,
	CT_TENSOR_ROLES(X)
#undef X
};
const char *ct_tensor_role_word(enum ct_tensor_role role);
bool ct_tensor_role_parse(const char *word, enum ct_tensor_role *ret_role);

// NumPy and PyTorch have at most 64 dimensions (NPY_MAXDIMS of NumPy 2, kMaxDims).
enum { CT_MAX_RANK = 64, CT_MAX_TENSORS = 4096 };

// An array that a Python frame knows by name: metadata alone, read without touching its memory. One array has as many rows as names.
struct ct_tensor {
	const char *name;     // as the frame would write it: "y", "self.fc.weight", "batch['ids']"
	const char *library;  // "torch", "numpy", "cupy", "jax", "numba"
	const char *kind;     // what is special about it: "FakeTensor", "meta", "sparse_coo", "local shard of a DTensor"; NULL: nothing
	enum ct_tensor_role role;
	int64_t tid;  // Linux thread id; 0 unknown
	bool has_depth;
	uint32_t depth;  // of the frame: 0 is the thread's innermost Python frame
	const char *function, *file;  // of the frame
	uint32_t line;                // 0 unknown
	bool has_shape;  // no rows and has_shape: a scalar
	int64_t *shape;
	size_t n_shape;
	bool has_stride;
	int64_t *stride;  // in elements
	size_t n_stride;
	const char *dtype;   // "float32"
	const char *device;  // "cuda:0"
	bool has_data_ptr;
	uint64_t data_ptr;  // of the first element
	bool has_storage_ptr;
	uint64_t storage_ptr;  // of the memory that it is a view of
	bool has_storage_bytes;
	uint64_t storage_bytes;
	bool requires_grad;
};

// A plain value (number, text, tuple of numbers) among the locals of one of the program's own Python frames, as Python writes it.
struct ct_python_local {
	const char *name, *value;
	enum ct_tensor_role role;  // argument or local
	int64_t tid;               // Linux thread id; 0 unknown
	bool has_depth;
	uint32_t depth;  // of the frame: 0 is the thread's innermost Python frame
	const char *function, *file;
	uint32_t line;  // 0 unknown
};

enum { CT_MAX_PYTHON_LOCALS = 1024 };

#define CT_CHECK_KINDS(X) \
	X(SHAPE, "shape") X(DTYPE, "dtype") X(RANGE, "value range") X(DEVICE, "device")

enum ct_check_kind {
#define X(name, word) CT_CHECK_##name,
	CT_CHECK_KINDS(X)
#undef X
};
const char *ct_check_kind_word(enum ct_check_kind kind);
bool ct_check_kind_parse(const char *word, enum ct_check_kind *ret_kind);

#define CT_CHECK_STATUSES(X)                                                  \
	X(UNKNOWN, "unknown") /* could not be told */                         \
	X(OK, "ok")                                                           \
	X(SUSPECT, "suspect") /* the call's arguments disagree */

enum ct_check_status {
#define X(name, word) CT_CHECK_IS_##name,
	CT_CHECK_STATUSES(X)
#undef X
};
const char *ct_check_status_word(enum ct_check_status status);
bool ct_check_status_parse(const char *word, enum ct_check_status *ret_status);

// One of the four questions to the tensors of the launching call, and its answer.
struct ct_check {
	enum ct_check_kind kind;
	enum ct_check_status status;
	const char *id;           // which rule answered: "labels-are-integers"
	const char *call;         // the call whose arguments they are: "cross_entropy"; NULL not recognised
	const char **tensors;     // their names
	size_t n_tensors;
	const char *seen;         // in words
};

struct ct_incident {
	struct ct_arena arena;

	const char *id;            // folder name, unique
	const char *tool_version;  // "cudatrap 0.1.0"
	int64_t time_us;           // wall clock of the trigger, since the epoch
	int64_t monotonic_us;      // the same moment on the machine's monotonic clock: orders the faults of one machine; 0: not known
	const char *boot_id;       // of the machine's run since it booted: monotonic clocks can be compared when this is equal
	const char *host;
	struct ct_rank rank;
	enum ct_fault_kind kind;

	const char *const *command;  // as given to cudatrap
	size_t n_command;
	const char *cwd;
	const char *engine;      // "wait", "live", "core"
	const char *engine_why;  // why this one
	bool launch_blocking;    // CUDA_LAUNCH_BLOCKING=1 was in force: host stacks are those of the launch
	double seconds_to_report;  // from trigger to the end of collection
	bool has_seconds_to_report;

	struct ct_process process;
	struct ct_gpu gpu;
	struct ct_launched launch;  // who launched the kernel, or made the call that failed; from the record of launches
	struct ct_assert assertion;
	struct ct_value *values;  // locals that the debugger read, then what diagnosis established
	size_t n_values;
	struct ct_fault_address fault_address;
	struct ct_cause *causes;  // the most likely first; none: nothing that was read speaks for one
	size_t n_causes;
	struct ct_meaning meaning;
	struct ct_old_cause old_cause;  // while reading
	struct ct_host_thread *threads;  // the launching thread first
	size_t n_threads;
	struct ct_log_entry *log;
	size_t n_log;
	struct ct_pair *environment;  // selected: ranks, CUDA_*, versions
	size_t n_environment;
	struct ct_pair *progress;  // where the program was, in its own words: test, epoch, step, batch
	size_t n_progress;
	struct ct_collector *collectors;
	size_t n_collectors;
	struct ct_consequence *consequences;
	size_t n_consequences;
	struct ct_ending ending;
	const char **notes;  // what the reader must know: what was not established, and why
	size_t n_notes;
	struct ct_tensor *tensors;  // of the Python frames, innermost frame first within a thread
	size_t n_tensors;
	struct ct_python_local *python_locals;  // in the same order
	size_t n_python_locals;
	struct ct_check *checks;
	size_t n_checks;
};

struct ct_incident *ct_incident_new(void);
void ct_incident_free(struct ct_incident *incident);  // NULL is fine
void ct_incident_auto(struct ct_incident **incident);  // for CT_AUTO

// Adding rows; texts are cleaned and copied. Returned rows are borrowed until the next add to the same list.
// The list must be empty or grown by ct_arena_grow(), which knows the room left from the count alone.
struct ct_collector *ct_incident_add_collector(struct ct_incident *incident, const char *name, enum ct_collector_status status, double milliseconds,
					       const char *detail);
void ct_incident_add_note(struct ct_incident *incident, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Where the program was; a name that is there already gets the new value. More than CT_MAX_PROGRESS are left out.
enum { CT_MAX_PROGRESS = 64 };
void ct_incident_add_progress(struct ct_incident *incident, const char *name, const char *value);
void ct_incident_add_environment(struct ct_incident *incident, const char *name, const char *value);
struct ct_host_thread *ct_incident_add_thread(struct ct_incident *incident, int64_t tid, const char *name);
// The thread that is marked as the one that launched the kernel; NULL: none is.
const struct ct_host_thread *ct_incident_launching(const struct ct_incident *incident);
struct ct_value *ct_incident_add_value(struct ct_incident *incident, const char *name, const char *text, const char *how);  // each may be NULL but name
struct ct_consequence *ct_incident_add_consequence(struct ct_incident *incident, int64_t pid, double seconds_after, const char *text);

// Collects the positions of threads into runs (x fastest), in ascending order; a position that is there twice counts once.
// dim is the extent used for ordering; with a zero component, or for positions outside it, each position is its own run.
// positions is sorted in place. Result in the arena, NULL when count is 0; *ret_cut when more than CT_MAX_RUNS runs exist: then the
// first ones are returned.
struct ct_dim3_run *ct_runs_of(struct ct_arena *arena, struct ct_dim3 *positions, size_t count, struct ct_dim3 dim, size_t *ret_count, bool *ret_cut);

// The whole incident as JSON, one object, keys in a stable order, ends in a newline.
bool ct_incident_write_json(const struct ct_incident *incident, FILE *out, struct ct_error *err);
// Reads what ct_incident_write_json() or the debugger's scripts wrote. Unknown keys are ignored; duplicate keys, wrong types, words that
// are not in the tables, missing required keys and a newer version are CT_FORMAT with the path of the value ("gpu.groups[2].pc: not a
// hex string"); what is not JSON is CT_FORMAT with line and column; beyond the bounds above is CT_LIMIT. All texts are cleaned.
// *ret_incident is the caller's, and left alone on failure.
bool ct_incident_read_json(const char *text, size_t length, struct ct_incident **ret_incident, struct ct_error *err);
// The GPU part alone, as the debugger's scripts emit it ({"version":1,"kind":...,"gpu":{...},"assert":{...},"collectors":[...],
// "notes":[...]}), into an existing incident: rows are added to its lists, other values replace the ones that are there (runs and argv
// count as one value). On failure the incident is as it was. Other keys of the document are ignored.
bool ct_incident_read_gpu_json(struct ct_incident *incident, const char *text, size_t length, struct ct_error *err);
// The same for the host part ({"version":1,"process":{...},"threads":[...],"environment":[...],"tensors":[...],"collectors":[...],"notes":[...]}).
bool ct_incident_read_host_json(struct ct_incident *incident, const char *text, size_t length, struct ct_error *err);

// Raised when the same incident gets another signature: stored ones are then computed anew.
#define CT_SIGNATURE_VERSION 1
// "tensors" and "python_locals" alone, as the agent's answer has them. What a whole incident may not hold (kinds and roles not in the tables) is refused as there.
bool ct_incident_read_tensors_json(struct ct_incident *incident, const char *text, size_t length, struct ct_error *err);

// Stable over runs, addresses, ranks: 16 hex digits of a hash over kind, kernel, assert and user frames. In the arena.
// doc/signature.md says what goes in and what does not.
const char *ct_incident_signature(struct ct_incident *incident);
// A function's name as the signature normalises it: equal for one kernel whichever tool demangled its name. Appended to ret_key.
void ct_incident_function_key(const char *name, struct ct_str *ret_key);

#endif
