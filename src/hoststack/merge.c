// One stack out of two: Python frames in the place of the interpreter's C functions that run them.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "hoststack/hoststack.h"
#include "hoststack/native_priv.h"

// A name and what compilers hang on it: ".cold", ".constprop.0", ".llvm.123".
static bool is_named(const struct ct_host_frame *f, const char *name)
{
	size_t n = strlen(name);
	return f->function && strncmp(f->function, name, n) == 0 && (f->function[n] == '\0' || f->function[n] == '.');
}

// The one C function that runs Python code, in every version from 3.6 on.
static bool is_eval(const struct ct_host_frame *f)
{
	return f->kind == CT_FRAME_NATIVE && is_named(f, "_PyEval_EvalFrameDefault");
}

static bool is_python_file(const char *module)
{
	const char *base = ct_basename(module);
	const char *rest = ct_starts_with(base, "libpython") ? base + 9 : ct_starts_with(base, "python") ? base + 6 : NULL;
	return rest && (*rest == '\0' || *rest == '.' || (*rest >= '0' && *rest <= '9') || ct_starts_with(rest, " (deleted)"));
}

// An interpreter linked into another program (blender, uwsgi) is told from that program's own code by its names.
static bool is_python_name(const char *function)
{
	static const char *const prefixes[] = {
		"_Py", "Py", "py", "cfunction_", "method_", "_TAIL_CALL_", "slot_", "type_call", "object_vacall", "vectorcall_",
		"function_code_fastcall", "call_function", "run_mod", "run_eval_code_obj", "builtin_", "gen_send_ex", "gen_iternext",
		"partial_", "wrap_", "wrapper_call", "classmethod_", "property_", "tuple_", "list_", "dict_", "set_", "thread_run", "t_bootstrap",
		"context_run", "do_call", "fast_function", "object_init", "_call_with", "cfunction", "bound_method",
	};
	for (size_t i = 0; i < CT_COUNT(prefixes); i++)
		if (ct_starts_with(function, prefixes[i]))
			return true;
	return false;
}

static bool is_plumbing(const struct ct_host_frame *f, const char *eval_module)
{
	if (is_eval(f) || (f->module && is_python_file(f->module)))
		return true;
	return f->module && eval_module && strcmp(f->module, eval_module) == 0 && f->function && is_python_name(f->function);
}

// How every program and every thread begins; __libc_start_call_main has no symbol in a stripped libc.
static bool is_beginning(const struct ct_host_frame *f)
{
	static const char *const names[] = {"__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "_start", "start_thread", "clone",
					    "__clone", "clone3", "__clone3"};
	if (f->kind != CT_FRAME_NATIVE)
		return false;
	for (size_t i = 0; i < CT_COUNT(names); i++)
		if (is_named(f, names[i]))
			return true;
	return !f->function && f->module && ct_starts_with(ct_basename(f->module), "libc.so");
}

static struct ct_host_frame python_frame(struct ct_arena *arena, const struct ct_python_frame *f)
{
	return (struct ct_host_frame){
		.kind = CT_FRAME_PYTHON,
		.function = ct_arena_strdup(arena, f->function),
		.file = ct_arena_strdup(arena, f->file),
		.line = f->line,
		.source = ct_arena_strdup(arena, f->source),
	};
}

static struct ct_host_frame *python_frames(struct ct_arena *arena, const struct ct_python_thread *p)
{
	struct ct_host_frame *frames = ct_arena_array(arena, p->n_frames, sizeof *frames);
	for (size_t i = 0; i < p->n_frames; i++)
		frames[i] = python_frame(arena, &p->frames[i]);
	return frames;
}

// Where each C activation's Python frames end. An outermost group without its entry frame counts, too.
struct groups {
	bool known;
	size_t count;
};

static struct groups count_groups(const struct ct_python_thread *p, size_t n_evals)
{
	bool flags = p->n_frames > 0;
	size_t entries = 0;
	for (size_t i = 0; i < p->n_frames; i++) {
		flags = flags && p->frames[i].has_entry;
		entries += p->frames[i].is_entry;
	}
	if (flags)
		return (struct groups){true, entries + !p->frames[p->n_frames - 1].is_entry};
	// Without flags two cases leave no choice: one activation has them all, or each has one.
	return (struct groups){p->n_frames && (n_evals == 1 || n_evals == p->n_frames), n_evals};
}

// Takes the next activation's frames from *at on.
static size_t take_group(struct ct_arena *arena, const struct ct_python_thread *p, size_t n_evals, size_t *at, struct ct_host_frame *out)
{
	size_t n = 0;
	while (*at < p->n_frames) {
		const struct ct_python_frame *f = &p->frames[(*at)++];
		out[n++] = python_frame(arena, f);
		if (f->has_entry ? f->is_entry : n_evals != 1)
			break;
	}
	return n;
}

// NULL: they fit. Both lists begin at the innermost frame, so that one which was cut still fits as far as it goes.
static const char *why_not(struct ct_arena *arena, const struct ct_host_thread *t, const struct ct_python_thread *p, size_t n_evals)
{
	struct groups g = count_groups(p, n_evals);
	bool native_cut = t->n_frames >= CT_NATIVE_MAX_FRAMES;
	if (p->n_frames && g.known && (g.count == n_evals || (p->cut && g.count < n_evals) || (native_cut && g.count > n_evals)))
		return NULL;
	if (!p->n_frames)
		return ct_arena_printf(arena, "%zu interpreter frames on the native stack, but no Python frames could be read", n_evals);
	if (!g.known)
		return ct_arena_printf(arena, "%zu Python frames for %zu interpreter frames on the native stack: which belong to which is not known",
				       p->n_frames, n_evals);
	return ct_arena_printf(arena, "%zu Python frames in %zu calls of the interpreter, but %zu such calls on the native stack", p->n_frames, g.count,
			       n_evals);
}

static void merge_frames(struct ct_arena *arena, struct ct_host_thread *t, const struct ct_python_thread *p, size_t n_evals)
{
	struct ct_host_frame *out = ct_arena_array(arena, t->n_frames + p->n_frames, sizeof *out);
	const char *eval_module = NULL;
	size_t n = 0, at = 0, evals_left = n_evals, after_python = 0;
	for (size_t i = 0; i < t->n_frames && !eval_module; i++)
		eval_module = is_eval(&t->frames[i]) ? t->frames[i].module : NULL;
	for (size_t i = 0; i < t->n_frames; i++) {
		const struct ct_host_frame *f = &t->frames[i];
		if (is_eval(f)) {
			n += take_group(arena, p, n_evals, &at, out + n);
			after_python = --evals_left ? SIZE_MAX : n;
		} else if (!is_plumbing(f, eval_module)) {
			out[n++] = *f;
		}
	}
	while (n > after_python && is_beginning(&out[n - 1]))
		n--;
	bool more_python = at < p->n_frames;
	while (at < p->n_frames)
		n += take_group(arena, p, n_evals, &at, out + n);
	t->frames = out;
	t->n_frames = n;
	t->merged = true;
	t->merge_note = more_python ? "the native stack was cut: native frames among the outermost Python frames are missing" :
			p->cut      ? "the outermost Python frames are missing" :
				      NULL;
}

static void merge_thread(struct ct_incident *incident, struct ct_host_thread *t, const struct ct_python_thread *p)
{
	size_t n_evals = 0;
	for (size_t i = 0; i < t->n_frames; i++)
		n_evals += is_eval(&t->frames[i]);
	if (p->name)
		t->name = ct_arena_strdup(&incident->arena, p->name);
	// A thread that is not in Python now, such as one that only holds an interpreter state.
	if (!n_evals && !p->n_frames)
		return;
	const char *note = why_not(&incident->arena, t, p, n_evals);
	if (!note) {
		merge_frames(&incident->arena, t, p, n_evals);
		return;
	}
	t->merge_note = note;
	t->python = python_frames(&incident->arena, p);
	t->n_python = p->n_frames;
}

static void add_python_only(struct ct_incident *incident, const struct ct_python_thread *p)
{
	struct ct_host_thread *t = ct_incident_add_thread(incident, p->tid, p->name);
	t->frames = python_frames(&incident->arena, p);
	t->n_frames = p->n_frames;
	t->merge_note = "no native stack of this thread";
}

static bool has_eval(const struct ct_host_thread *t)
{
	for (size_t i = 0; i < t->n_frames; i++)
		if (is_eval(&t->frames[i]))
			return true;
	return false;
}

// Index of the native thread; n_native: none. A Python thread without an id belongs to the only native thread that runs Python, if it is
// the only Python thread.
static size_t partner(const struct ct_incident *incident, size_t n_native, const struct ct_python_stacks *stacks, const struct ct_python_thread *p)
{
	size_t found = n_native, n_found = 0;
	for (size_t i = 0; i < n_native; i++) {
		const struct ct_host_thread *t = &incident->threads[i];
		if (p->tid && t->tid == p->tid && !t->merged)
			return i;
		if (!p->tid && stacks->n_threads == 1 && has_eval(t)) {
			found = i;
			n_found++;
		}
	}
	return n_found == 1 ? found : n_native;
}

void ct_hoststack_merge(struct ct_incident *incident, const struct ct_python_stacks *stacks)
{
	size_t n_native = incident->n_threads;
	for (size_t i = 0; i < stacks->n_threads; i++) {
		const struct ct_python_thread *p = &stacks->threads[i];
		size_t at = partner(incident, n_native, stacks, p);
		if (at < n_native)
			merge_thread(incident, &incident->threads[at], p);
		else if (p->n_frames)
			add_python_only(incident, p);
	}
}
