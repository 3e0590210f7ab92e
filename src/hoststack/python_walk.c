// The interpreter's thread and frame lists, read from outside; see python_priv.h for the bounds.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "hoststack/python_priv.h"

enum { CACHE_ROWS = 128 };

// One code object, as the walk needs it. The table is in the walk's own arena.
struct code {
	uint64_t address;  // 0: row not in use
	const char *function, *file;
	uint32_t firstlineno;
	uint64_t bytecode;
	const uint8_t *table;
	size_t table_size;
	bool readable;
};

struct walk {
	struct ct_arena *arena;        // for the result
	struct ct_arena scratch;       // for tables
	struct ct_memory source;
	uint64_t bytes_left;
	const struct ct_py_layout *layout;
	uint64_t code_type;
	struct code cache[CACHE_ROWS];  // direct-mapped: recursion and pools of equal threads read a code object once
};

// The reader with the walk's budget on top.
static bool read_counted(void *context, uint64_t address, void *ret_bytes, size_t size)
{
	struct walk *w = context;
	if (size > w->bytes_left || address < 4096 || address > UINT64_MAX - size)
		return false;
	w->bytes_left -= size;
	return w->source.read(w->source.context, address, ret_bytes, size);
}

static bool read_u64(struct walk *w, uint64_t address, uint64_t *ret_value)
{
	return read_counted(w, address, ret_value, sizeof *ret_value);
}

static void read_table(struct walk *w, uint64_t object, struct code *code)
{
	uint64_t size = 0;
	if (!read_u64(w, object + w->layout->bytes_length, &size) || size > CT_PY_MAX_TABLE || size > w->bytes_left)
		return;
	// Empty up to 3.9 when all is on the first line.
	uint8_t *table = ct_arena_alloc(&w->scratch, (size_t)size + 1);
	if (size && !read_counted(w, object + w->layout->bytes_data, table, (size_t)size))
		return;
	code->table = table;
	code->table_size = (size_t)size;
}

static void read_code(struct walk *w, uint64_t address, struct code *code)
{
	const struct ct_py_layout *l = w->layout;
	const struct ct_memory counted = {read_counted, w};
	uint64_t type = 0, filename = 0, name = 0, table = 0;
	int32_t firstlineno = 0;
	*code = (struct code){.address = address, .bytecode = address + l->code_bytecode};
	if (!read_u64(w, address + l->object_type, &type) || (w->code_type && type != w->code_type))
		return;
	if (!read_u64(w, address + l->code_filename, &filename) || !read_u64(w, address + l->code_name, &name) ||
	    !read_u64(w, address + l->code_table, &table) || !read_counted(w, address + l->code_firstlineno, &firstlineno, sizeof firstlineno))
		return;
	code->function = ct_py_string(w->arena, &counted, l, name);
	code->file = ct_py_string(w->arena, &counted, l, filename);
	code->firstlineno = firstlineno > 0 ? (uint32_t)firstlineno : 0;
	code->readable = code->function && code->file;
	if (code->readable)
		read_table(w, table, code);
}

static const struct code *code_at(struct walk *w, uint64_t address)
{
	struct code *row = &w->cache[(address >> 5) % CACHE_ROWS];
	if (row->address != address)
		read_code(w, address, row);
	return row->readable ? row : NULL;
}

// Free-threaded 3.14+: each thread may run its own copy of the bytecode; co_tlbc points to {size, pointers}.
static uint64_t bytecode_of(struct walk *w, uint64_t frame, const struct code *code)
{
	const struct ct_py_layout *l = w->layout;
	uint64_t array = 0, count = 0, bytecode = 0;
	int32_t index = 0;
	if (l->has_tlbc && read_counted(w, frame + l->frame_tlbc_index, &index, sizeof index) && index > 0 &&
	    read_u64(w, code->address + l->code_tlbc, &array) && read_u64(w, array, &count) && (uint64_t)index < count && count < 1 << 20 &&
	    read_u64(w, array + 8 + (uint64_t)index * 8, &bytecode))
		return bytecode;
	return code->bytecode;
}

static uint32_t line_of(struct walk *w, uint64_t frame, const struct code *code)
{
	const struct ct_py_layout *l = w->layout;
	int64_t instr;
	if (l->instr_is_index) {
		int32_t lasti = 0;
		if (!read_counted(w, frame + l->frame_instr, &lasti, sizeof lasti))
			return 0;
		instr = lasti < 0 ? lasti : (int64_t)lasti * l->instr_unit;
	} else {
		uint64_t pointer = 0, bytecode = bytecode_of(w, frame, code);
		if (!read_u64(w, frame + l->frame_instr, &pointer))
			return 0;
		// 3.11 and 3.12 keep the instruction before the first one in a frame that has not begun: that is the first line.
		if (pointer < bytecode)
			return code->firstlineno;
		instr = (int64_t)((pointer - bytecode) / 2);
	}
	if (!code->table)
		return 0;
	return ct_py_line(l->table, code->table, code->table_size, code->firstlineno, instr);
}

// 3.12+ inlines the call of __init__ and puts a frame of static code of that name and file in between: no frame of the program.
static bool is_init_cleanup(const struct walk *w, const struct code *code)
{
	return w->layout->has_shim && strcmp(code->function, "__init__") == 0 && strcmp(code->file, "__init__") == 0;
}

// Reads the frame at address into *ret_frame; *ret_skip when it is none of the program's. False: unreadable.
static bool read_frame(struct walk *w, uint64_t address, struct ct_python_frame *ret_frame, bool *ret_skip)
{
	const struct ct_py_layout *l = w->layout;
	uint64_t code_address = 0;
	if (!read_u64(w, address + l->frame_code, &code_address))
		return false;
	// From 3.14 a tagged reference: the low bits say how it is counted. Objects are aligned, so clearing them is right before, too.
	const struct code *code = code_at(w, code_address & ~UINT64_C(3));
	if (!code)
		return false;
	*ret_skip = is_init_cleanup(w, code);
	*ret_frame = (struct ct_python_frame){.function = code->function, .file = code->file, .line = line_of(w, address, code), .has_entry = true};
	if (l->has_is_entry) {
		uint8_t flag = 0;
		ret_frame->has_entry = read_counted(w, address + l->frame_is_entry, &flag, sizeof flag);
		ret_frame->is_entry = flag != 0;
	} else if (!l->has_shim) {
		ret_frame->is_entry = true;  // up to 3.10 every frame is an activation of the C function
	}
	return true;
}

// Steps over the shims; *ret_crossed when there was one. False: unreadable.
static bool skip_shims(struct walk *w, uint64_t *frame, bool *ret_crossed)
{
	const struct ct_py_layout *l = w->layout;
	*ret_crossed = false;
	for (unsigned i = 0; l->has_shim && *frame && i < CT_PY_MAX_FRAMES; i++) {
		uint8_t owner = 0;
		if (!read_counted(w, *frame + l->frame_owner, &owner, sizeof owner))
			return false;
		if (owner < l->shim_owner)
			return true;
		*ret_crossed = true;
		if (!read_u64(w, *frame + l->frame_back, frame))
			return false;
	}
	return !l->has_shim || !*frame;  // else as many shims as that are a ring
}

// All frames from `frame` outwards. False when it ended before the outermost one.
static bool walk_frames(struct walk *w, uint64_t frame, struct ct_python_thread *thread)
{
	bool crossed = false;
	if (!skip_shims(w, &frame, &crossed))
		return false;
	while (frame) {
		if (thread->n_frames >= CT_PY_MAX_FRAMES)
			return false;
		struct ct_python_frame f;
		bool skip = false;
		if (!read_frame(w, frame, &f, &skip))
			return false;
		uint64_t back = 0;
		if (!read_u64(w, frame + w->layout->frame_back, &back) || back == frame)
			return false;
		bool ok = skip_shims(w, &back, &crossed);
		if (w->layout->has_shim)
			f.is_entry = crossed || !back;
		if (!skip) {
			thread->frames = ct_arena_grow(w->arena, thread->frames, &thread->n_frames, sizeof *thread->frames);
			thread->frames[thread->n_frames - 1] = f;
		} else if (f.is_entry && thread->n_frames) {
			thread->frames[thread->n_frames - 1].is_entry = true;
		}
		if (!ok)
			return false;
		frame = back;
	}
	return true;
}

static bool first_frame(struct walk *w, uint64_t tstate, uint64_t *ret_frame)
{
	const struct ct_py_layout *l = w->layout;
	if (!read_u64(w, tstate + l->tstate_frame, ret_frame))
		return false;
	return !l->has_cframe || (*ret_frame && read_u64(w, *ret_frame + l->cframe_frame, ret_frame));
}

static void walk_thread(struct walk *w, uint64_t tstate, struct ct_python_thread *thread)
{
	// The process may be running: a chain that was changed under us is read again before it counts as cut.
	for (unsigned attempt = 0; attempt < 3; attempt++) {
		thread->frames = NULL;
		thread->n_frames = 0;
		uint64_t frame = 0;
		thread->cut = !first_frame(w, tstate, &frame) || !walk_frames(w, frame, thread);
		if (!thread->cut || thread->n_frames >= CT_PY_MAX_FRAMES)
			return;
		memset(w->cache, 0, sizeof w->cache);
	}
}

static int64_t tid_of(struct walk *w, uint64_t tstate, int64_t (*resolve_tid)(void *context, uint64_t pthread), void *context)
{
	const struct ct_py_layout *l = w->layout;
	uint64_t value = 0;
	if (l->has_native_tid)
		return read_u64(w, tstate + l->tstate_native_tid, &value) && value <= INT32_MAX ? (int64_t)value : 0;
	return resolve_tid && read_u64(w, tstate + l->tstate_pthread, &value) ? resolve_tid(context, value) : 0;
}

static bool walk_interpreter(struct walk *w, uint64_t interp, int64_t (*resolve_tid)(void *context, uint64_t pthread), void *context,
			     struct ct_python_stacks *stacks)
{
	uint64_t tstate = 0;
	if (!read_u64(w, interp + w->layout->interp_threads, &tstate))
		return false;
	while (tstate && stacks->n_threads < CT_PY_MAX_THREADS) {
		struct ct_python_thread thread = {.tid = tid_of(w, tstate, resolve_tid, context)};
		walk_thread(w, tstate, &thread);
		uint64_t next = 0;
		bool ok = read_u64(w, tstate + w->layout->tstate_next, &next);
		if (!ok && !thread.n_frames)
			return false;  // no thread state at all
		stacks->threads = ct_arena_grow(w->arena, stacks->threads, &stacks->n_threads, sizeof *stacks->threads);
		stacks->threads[stacks->n_threads - 1] = thread;
		if (!ok || next == tstate)
			return false;
		tstate = next;
	}
	return true;
}

bool ct_py_walk_memory(struct ct_arena *arena, const struct ct_memory *memory, const struct ct_py_place *place, const struct ct_py_layout *layout,
		       int64_t (*resolve_tid)(void *context, uint64_t pthread), void *context, struct ct_python_stacks *ret_stacks,
		       struct ct_error *err)
{
	struct walk w = {.arena = arena, .scratch = CT_ARENA_INIT, .source = *memory, .bytes_left = CT_PY_MAX_READ, .layout = layout,
			 .code_type = place->code_type};
	struct ct_python_stacks stacks = {.version = ct_py_version_text(arena, layout)};
	uint64_t interp = 0;
	bool ok = read_u64(&w, place->runtime + layout->runtime_interpreters, &interp);
	if (!ok)
		ct_fail(err, CT_FORMAT, "Python %s: its list of interpreters cannot be read at 0x%" PRIx64, stacks.version, place->runtime);
	else if (!interp)
		ok = ct_fail(err, CT_UNAVAILABLE, "Python %s: the interpreter is not initialised, or already gone", stacks.version);
	for (unsigned i = 0; ok && interp && i < CT_PY_MAX_INTERPRETERS; i++) {
		uint64_t next = 0;
		if (!walk_interpreter(&w, interp, resolve_tid, context, &stacks) || !read_u64(&w, interp + layout->interp_next, &next))
			break;
		interp = next == interp ? 0 : next;
	}
	ct_arena_done(&w.scratch);
	if (ok)
		*ret_stacks = stacks;
	return ok;
}
