// The launch record: who launched which kernel, written by the agent inside the target, read here after the target stopped or died.
//
// Environment: with CUDATRAP_RECORD set to a number of launches (the depth) and CUDATRAP_RECORD_DIR to an absolute 0700 folder, a process
// that launches on a GPU writes DIR/launches.PID. Without them nothing is hooked. The file has its full size from the start
// (ct_record_lay_out(); 76 MiB at the default depth), so a folder in memory (/dev/shm) is the better place: a disk would be written to
// all the time. Whoever made the folder removes the file.
//
// The file is a mapping that threads of the target write to without locks: rings of launches, one a thread, and tables that the launches
// refer to by number. All is native byte order, and nothing in it is a pointer to follow. A row is valid when its own number says so:
// a writer takes the number away before it changes a row and puts the new one there when it is done, so that a process killed in
// mid-write costs one row. Handles, thread ids and times are the target's, texts are not clean: the functions below return clean ones.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RECORDER_H
#define CT_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// ---- The layout. The agent includes this for the structures alone and calls no function of this header.

#define CT_RECORD_MAGIC "CTLAUNCH"
enum {
	CT_RECORD_VERSION = 1,
	CT_RECORD_MIN_DEPTH = 4096,
	CT_RECORD_MAX_DEPTH = 1024 * 1024,
	CT_RECORD_FRAMES = 32,            // Python frames of a launch, innermost first; of a deeper stack the last 8 are the program's own
	CT_RECORD_NATIVE = 8,             // return addresses of a launch, innermost first; the agent writes none yet
	CT_RECORD_ARGUMENTS = 304,        // bytes of arguments; a kernel may have 32 KiB of them, PyTorch's have 20 to 900
	CT_RECORD_PARAMETERS = 62,        // of a function whose places are kept
	CT_RECORD_RINGS = 34,             // ring 0: half of the depth, ring 1: a quarter, 32 rings share the rest
	CT_RECORD_CAPTURE_RING = CT_RECORD_RINGS,  // one more: launches into graphs, of all threads; a quarter of the depth besides
	CT_RECORD_FUNCTIONS = 8192,
	CT_RECORD_CODES = 16384,
	CT_RECORD_FAILURES = 64,
	CT_RECORD_GRAPHS = 1024,          // the agent fills no rows yet: a graph's launches are found by their capture
	CT_RECORD_GRAPH_FUNCTIONS = 116,
	CT_RECORD_PLACES = 256,           // mapped libraries, for the return addresses
	CT_RECORD_FUNCTION_TEXT = 4 * 1024 * 1024,  // bytes: kernel names
	CT_RECORD_CODE_TEXT = 8 * 1024 * 1024,      // names, files and line tables of Python code
};

// Why launches have no Python frames.
#define CT_RECORD_PYTHON(X) \
	X(0, UNKNOWN, "no launch has asked yet") \
	X(1, FRAMES, "frames are recorded") \
	X(2, NONE, "no Python in the process") \
	X(3, VERSION, "a Python whose structures are not known here (3.8 to 3.14 are)") \
	X(4, DIFFERENT, "its structures are not where its version has them")
enum ct_record_python {
#define CT_RECORD_ROW(number, name, text) CT_RECORD_PYTHON_##name = number,
	CT_RECORD_PYTHON(CT_RECORD_ROW)
#undef CT_RECORD_ROW
};

// Bits of ct_record_launch.flags.
enum {
	CT_RECORD_GRAPH = 1 << 0,        // cuGraphLaunch: handle is the executable graph, capture the capture it came from
	CT_RECORD_COOPERATIVE = 1 << 1,
	CT_RECORD_PER_THREAD = 1 << 2,   // through a _ptsz entry: stream 0 is the thread's own default stream
	CT_RECORD_CAPTURED = 1 << 3,     // into a graph: it ran then, if at all, as part of launches of that graph
	CT_RECORD_CUT_FRAMES = 1 << 4,   // more Python frames exist, in between or behind
	CT_RECORD_BUFFER = 1 << 5,       // the arguments came as one buffer (CU_LAUNCH_PARAM_BUFFER_POINTER)
	CT_RECORD_SEQUENCE = 1 << 6,     // torch_sequence is there
	CT_RECORD_NODE = 1 << 7,         // node_sequence is there: a launch of a backward pass
};

// Results that are not about the call that returns them: the context, or the process, is of no more use, and what follows fails because of it.
// By cuda.h 13.0: LEFT "leaves the process in an inconsistent state", ENDED "the process must be terminated and relaunched", CONTEXT "the
// context cannot be used anymore", DURING "detected during execution", of work that was launched before. Not CONTEXT_IS_DESTROYED (709): there
// the call itself is refused, for want of a context.
#define CT_RECORD_LOSSES(X) \
	X(214, ECC_UNCORRECTABLE, DURING) X(220, NVLINK_UNCORRECTABLE, DURING) X(226, CONTAINED, LEFT) X(700, ILLEGAL_ADDRESS, LEFT) \
	X(702, LAUNCH_TIMEOUT, LEFT) X(710, ASSERT, CONTEXT) X(714, HARDWARE_STACK_ERROR, LEFT) X(715, ILLEGAL_INSTRUCTION, LEFT) \
	X(716, MISALIGNED_ADDRESS, LEFT) X(717, INVALID_ADDRESS_SPACE, LEFT) X(718, INVALID_PC, LEFT) X(719, LAUNCH_FAILED, LEFT) \
	X(721, TENSOR_MEMORY_LEAK, LEFT) X(810, MPS_CLIENT_TERMINATED, ENDED) X(911, EXTERNAL_DEVICE, LEFT)
static inline bool ct_record_loses_context(int32_t result)
{
	switch (result) {
#define CT_RECORD_ROW(number, name, reason) case number:
		CT_RECORD_LOSSES(CT_RECORD_ROW)
#undef CT_RECORD_ROW
		return true;
	}
	return false;
}

#define CT_RECORD_PENDING INT32_MAX  // a result: the call has not returned

// One Python frame. code is a number in the table of code objects; instruction is in the units of the code's line table.
struct ct_record_frame {
	uint32_t code;
	int32_t instruction;  // -1: the frame has not begun
};

struct ct_record_launch {
	uint64_t state;      // number * 2 of this launch in its ring (the first is 1); odd while it is written; 0 never used
	uint64_t result;     // low half: what the call returned (CUresult, CT_RECORD_PENDING), high half: low half of state
	int64_t time_ns;     // CLOCK_MONOTONIC, before the call
	uint64_t handle;     // CUfunction, CUkernel or CUgraphExec
	uint64_t stream;     // as the caller gave it: 0 and 1 legacy default, 2 per-thread default
	uint64_t capture;    // id of the capture (cuStreamGetCaptureInfo) that it went into, or that the graph came from; 0 none known
	uint64_t torch_sequence;  // at::sequence_number::peek(): a forward launch's own autograd node has this number minus 1
	uint64_t node_sequence;   // of the autograd node that is being evaluated: a backward launch of that forward
	uint64_t node_thread;     // of torch's numbering: the sequence numbers are per thread; 0 unknown
	uint32_t function;   // number in the table of functions; 0 unknown
	uint32_t flags;
	int32_t tid;
	uint32_t grid[3], block[3], cluster[3];  // cluster 0: none asked for
	uint32_t shared_bytes;     // dynamic
	uint32_t arguments_bytes;  // of the kernel; more than arguments_kept when cut
	uint16_t arguments_kept;   // laid out as the kernel sees them
	uint8_t n_frames, n_native;
	uint32_t graph;            // of a graph launch: number in the table of graphs; 0 unknown
	uint32_t unused[2];
	uint64_t native[CT_RECORD_NATIVE];
	struct ct_record_frame frames[CT_RECORD_FRAMES];
	uint8_t arguments[CT_RECORD_ARGUMENTS];
};

struct ct_record_ring {
	uint64_t first;     // its first row among all launches
	uint64_t capacity;
	uint64_t begun;     // launches begun so far: the number of the newest
	int32_t tid;        // whose it is now; a thread that ended leaves its ring, and its launches, to the next one
	uint32_t owners;    // threads so far
	uint64_t unused[4];
};

// A ring of bytes: position p (never reused) is at byte p % bytes of it, and is still there while head - p <= bytes. No text wraps around.
struct ct_record_heap {
	uint64_t at;     // in the file
	uint64_t bytes;
	uint64_t head;   // position of the next byte
};

// Number n of a table is in row (n - 1) % rows; the row holds it while its number is n.
struct ct_record_function {
	uint64_t number;
	uint64_t handle;
	uint64_t name_at;        // position in the heap of function texts
	uint32_t name_length;    // 0: the driver could not tell
	uint32_t arguments_bytes;
	uint32_t n_parameters;   // kept here
	uint32_t unused;
	struct ct_record_parameter {
		uint16_t offset, bytes;
	} parameters[CT_RECORD_PARAMETERS];
};

struct ct_record_code {
	uint64_t number;
	uint64_t text_at;        // position in the heap of code texts: function, file, line table, one behind the other
	uint32_t function_length, file_length, table_length;  // bytes; texts are UTF-8
	uint32_t first_line;
	uint32_t table_kind;     // enum ct_py_table
	uint32_t is_library;     // its file is in a site-packages or dist-packages folder
};

struct ct_record_graph {
	uint64_t number;
	uint64_t exec, graph;    // handles
	uint64_t capture;        // that made it; 0: built otherwise, or not seen
	uint32_t n_nodes;        // kernel nodes
	uint32_t n_functions;    // different functions among them, as far as kept
	uint32_t functions[CT_RECORD_GRAPH_FUNCTIONS];
	uint32_t unused[2];
};

// A mapped library, as far as the return addresses need one.
struct ct_record_place {
	uint64_t number;
	uint64_t begin, end, bias;  // addresses; bias is what was added to the file's own
	char path[224];             // the end of it when longer
};

// A call of the driver that failed.
struct ct_record_failure {
	uint64_t number;
	int64_t time_ns;
	int32_t tid;
	int32_t result;          // CUresult
	uint64_t bytes;          // asked for: an allocation
	uint64_t free_bytes, total_bytes;  // of the device, at an allocation that failed; 0 unknown
	uint64_t launch;         // of a launch: its number in ring `ring`; else that of the last launch of this thread before it, 0 none
	uint32_t ring;
	uint32_t function;       // 0 unknown
	uint32_t grid[3], block[3], cluster[3];
	uint32_t shared_bytes;
	// The kernel's and the device's limits, -1 unknown.
	int32_t max_threads, registers, static_shared, local_bytes, constant_bytes, max_dynamic_shared, binary_version, ptx_version;
	int32_t max_block[3], max_grid[3], max_block_threads, max_shared_optin, max_shared_block, registers_block, sm_major, sm_minor;
	uint32_t n_frames;
	uint32_t is_sticky;      // the context is lost: what follows of the same thread or another fails because of it
	char call[48];           // "cuMemAlloc_v2"
	struct ct_record_frame frames[CT_RECORD_FRAMES];
};

struct ct_record_head {
	char magic[8];
	uint32_t version;
	uint32_t head_bytes, launch_bytes;  // sizes of the structures: another build's file is refused
	uint32_t n_rings;                   // the last one is the capture ring
	uint64_t file_bytes;
	int64_t pid;
	int64_t started_ns, started_wall_us;
	uint64_t depth;
	uint64_t n_launches;                // rows of all rings
	uint64_t rings_at, launches_at, functions_at, codes_at, graphs_at, places_at, failures_at;
	uint32_t n_functions, n_codes, n_graphs, n_places, n_failures, unused;  // rows of the tables
	struct ct_record_heap function_text, code_text;
	// Numbers given so far.
	uint64_t functions_used, codes_used, graphs_used, places_used, failures_used;
	uint64_t no_ring;                   // launches that were not recorded: more threads than rings
	uint64_t failures_lost;             // failing calls beyond the rows: the first ones are kept
	uint32_t python_state;              // enum ct_record_python
	uint32_t python_version;            // PY_VERSION_HEX, as far as known
	uint32_t driver_version;            // 13000: CUDA 13.0; 0 unknown
	uint32_t unused_too[2];
	uint32_t sticky;                    // the first CUresult after which the context is lost; 0 none seen
	uint64_t sticky_failure;            // its number among the failures
};

// Rows of a ring of a file of this depth, and where they begin; ring <= CT_RECORD_CAPTURE_RING.
static inline uint64_t ct_record_ring_rows(uint64_t depth, unsigned ring)
{
	return ring == 0 ? depth / 2 : ring == 1 || ring == CT_RECORD_CAPTURE_RING ? depth / 4 : depth / 128;
}

// The depth of a file that holds so many launches: a power of two within the bounds.
static inline uint64_t ct_record_round_depth(uint64_t launches)
{
	uint64_t depth = CT_RECORD_MIN_DEPTH;
	while (depth < launches && depth < CT_RECORD_MAX_DEPTH)
		depth *= 2;
	return depth;
}

// Fills what follows from the depth, a power of two from CT_RECORD_MIN_DEPTH to CT_RECORD_MAX_DEPTH: sizes, rows and places. Writer and
// reader both have it from here, so that a reader need not believe what a file says of itself.
static inline void ct_record_lay_out(uint64_t depth, struct ct_record_head *head)
{
	uint64_t at = 4096;
	head->version = CT_RECORD_VERSION;
	head->head_bytes = sizeof(struct ct_record_head);
	head->launch_bytes = sizeof(struct ct_record_launch);
	head->n_rings = CT_RECORD_RINGS + 1;
	head->depth = depth;
	head->n_launches = depth + depth / 4;
	head->n_functions = CT_RECORD_FUNCTIONS;
	head->n_codes = CT_RECORD_CODES;
	head->n_graphs = CT_RECORD_GRAPHS;
	head->n_places = CT_RECORD_PLACES;
	head->n_failures = CT_RECORD_FAILURES;
#define CT_RECORD_PUT(member, size) \
	head->member = at; \
	at = (at + (size) + 4095) & ~UINT64_C(4095)
	CT_RECORD_PUT(rings_at, head->n_rings * sizeof(struct ct_record_ring));
	CT_RECORD_PUT(functions_at, CT_RECORD_FUNCTIONS * sizeof(struct ct_record_function));
	CT_RECORD_PUT(codes_at, CT_RECORD_CODES * sizeof(struct ct_record_code));
	CT_RECORD_PUT(graphs_at, CT_RECORD_GRAPHS * sizeof(struct ct_record_graph));
	CT_RECORD_PUT(places_at, CT_RECORD_PLACES * sizeof(struct ct_record_place));
	CT_RECORD_PUT(failures_at, CT_RECORD_FAILURES * sizeof(struct ct_record_failure));
	CT_RECORD_PUT(function_text.at, CT_RECORD_FUNCTION_TEXT);
	CT_RECORD_PUT(code_text.at, CT_RECORD_CODE_TEXT);
	CT_RECORD_PUT(launches_at, head->n_launches * sizeof(struct ct_record_launch));
#undef CT_RECORD_PUT
	head->function_text.bytes = CT_RECORD_FUNCTION_TEXT;
	head->code_text.bytes = CT_RECORD_CODE_TEXT;
	head->file_bytes = at;
}

_Static_assert(sizeof(struct ct_record_launch) == 768 && sizeof(struct ct_record_ring) == 64 && sizeof(struct ct_record_head) <= 4096,
	       "the layout is the same on every machine");

// ---- Reading.

struct ct_launches;  // opaque; what is returned from it lives as long as it does

// Reads the whole file. It may be hostile, cut, or still written to: launches that change meanwhile are left out.
// CT_NOT_FOUND: no such file, nothing was launched. CT_FORMAT: not a record, or of another version.
bool ct_launches_open(const char *path, struct ct_launches **ret_launches, struct ct_error *err);
bool ct_launches_open_fd(int fd, struct ct_launches **ret_launches, struct ct_error *err);  // the same of an open file
// The same of DIR/launches.PID.
bool ct_launches_open_at(const char *dir, int64_t pid, struct ct_launches **ret_launches, struct ct_error *err);
void ct_launches_free(struct ct_launches *launches);  // NULL is fine

struct ct_launches_about {
	int64_t pid;
	uint64_t depth;           // launches that the file has room for
	uint64_t n_seen;          // launches in all, graphs' included
	uint64_t n_kept;          // of these in the file
	uint64_t n_not_recorded;  // launches of threads for which there was no ring
	uint64_t n_failures, n_failures_lost;
	int64_t oldest_ns, newest_ns;  // CLOCK_MONOTONIC, of those kept; 0 none
	const char *python;       // "3.12.3"; NULL unknown
	const char *no_frames;    // why there are no Python frames, in words; NULL when there are
	int32_t sticky;           // the CUresult with which the context was lost, 0 none seen
	const struct ct_record_failure *sticky_failure;  // the call that returned it first; NULL
};
void ct_launches_about(const struct ct_launches *launches, struct ct_launches_about *ret_about);

// One launch and whose ring it is in; a launch into a graph is in ring CT_RECORD_CAPTURE_RING.
struct ct_launches_row {
	const struct ct_record_launch *launch;  // counts and lengths in it are within bounds
	uint32_t ring;
	uint64_t number;    // in its ring
	bool has_result;    // false: the call had not returned
	int32_t result;
};

// All launches, of all threads, newest first by time.
const struct ct_launches_row *ct_launches_rows(const struct ct_launches *launches, size_t *ret_n);
// The first launch of thread tid (0: of any) at or after rows[*at]; *at is then one behind it. NULL: no more. Start with *at = 0: the
// newest comes first.
const struct ct_launches_row *ct_launches_next(const struct ct_launches *launches, int64_t tid, size_t *at);

// The mangled name of a function; NULL: not known, or no longer in the file.
const char *ct_launches_function(const struct ct_launches *launches, uint32_t function);
// The row of a function, with the places of its parameters; NULL as above.
const struct ct_record_function *ct_launches_function_row(const struct ct_launches *launches, uint32_t function);

struct ct_launches_frame {
	const char *function;  // qualified where the version has it
	const char *file;
	uint32_t line;         // 0 unknown
};
// False: the code object is no longer in the file.
bool ct_launches_frame(const struct ct_launches *launches, const struct ct_record_frame *frame, struct ct_launches_frame *ret_frame);

struct ct_launches_address {
	const char *library;   // path as the target mapped it; NULL unknown
	uint64_t offset;       // of the address in the library's own numbering
};
void ct_launches_address(const struct ct_launches *launches, uint64_t address, struct ct_launches_address *ret_address);

// The graph of a graph launch; NULL: not seen when it was made.
const struct ct_record_graph *ct_launches_graph(const struct ct_launches *launches, uint32_t graph);

// The failing calls in the order in which they failed. `call` ends with a NUL.
const struct ct_record_failure *const *ct_launches_failures(const struct ct_launches *launches, size_t *ret_n);
// The launch that a failure is about, or that came before it; NULL when it is no longer there.
const struct ct_launches_row *ct_launches_of_failure(const struct ct_launches *launches, const struct ct_record_failure *failure);

// Of a launch in a backward pass: the newest launch before it whose autograd node is the one evaluated there, the forward's. NULL: none.
const struct ct_launches_row *ct_launches_forward_of(const struct ct_launches *launches, const struct ct_launches_row *backward);

#endif
