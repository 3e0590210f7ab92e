// "Launched from": the launching thread's stack, outermost first, the reader's own lines first to be seen; see text_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "render/names.h"
#include "render/text_priv.h"

enum {
	MAX_FRAMEWORK_RUN = 4,  // so many frames of installed packages in a row are shown
	MAX_LIBRARIES = 4,
	MAX_SHOWN_FRAMES = 60,
	MIN_SOURCE_COLUMNS = 20,
	SIGNIFICANT_API_GAP = 8,  // frames of the runtime's inside between cuLaunchKernel and cudaLaunchKernel
};

struct lines {
	struct ct_stack_line *line;
	size_t n;
};

static struct ct_stack_line *add_line(struct ct_page *page, struct lines *lines)
{
	lines->line = ct_arena_grow(&page->arena, lines->line, &lines->n, sizeof *lines->line);
	return &lines->line[lines->n - 1];
}

// Index of the CUDA function called, outermost of the ones that the innermost call consists of; n_frames: none.
static size_t api_index(const struct ct_host_thread *t)
{
	size_t found = t->n_frames;
	for (size_t i = 0; i < t->n_frames; i++) {
		const struct ct_host_frame *f = &t->frames[i];
		if (ct_frame_class_of(f) == CT_FRAME_API)
			found = i;
		else if (found < t->n_frames && (i - found > SIGNIFICANT_API_GAP || (f->function && !ct_frame_in_cuda(f))))
			break;
	}
	return found;
}

const char *ct_text_api_call(struct ct_page *page, const struct ct_host_thread *t)
{
	size_t i = api_index(t);
	return i < t->n_frames ? ct_page_flat(page, t->frames[i].function) : NULL;
}

static const char *place_text(struct ct_page *page, const struct ct_host_frame *f)
{
	const struct ct_incident *in = page->incident;
	if (f->file) {
		const char *path = ct_path_short(ct_page_flat(page, f->file), in->process.cwd ? in->process.cwd : in->cwd);
		return f->line ? ct_arena_printf(&page->arena, "%s:%" PRIu32, path, f->line) : path;
	}
	if (f->module)
		return ct_library_name(&page->arena, ct_page_flat(page, f->module));
	return "?";
}

static const char *function_text(struct ct_page *page, const struct ct_host_frame *f)
{
	if (f->kind == CT_FRAME_PYTHON)
		return f->function ? ct_page_flat(page, f->function) : "?";
	if (!f->function)
		return f->has_pc ? ct_arena_printf(&page->arena, "0x%" PRIx64, f->pc) : "?";
	if (ct_frame_class_of(f) == CT_FRAME_API && !page->options->native)
		return ct_page_flat(page, f->function);
	const char *name = ct_name_fit(&page->arena, ct_page_flat(page, f->function), page->width / 2);
	return f->has_offset && !f->line ? ct_arena_printf(&page->arena, "%s+0x%" PRIx64, name, f->offset) : name;
}

struct ct_stack_line ct_text_frame(struct ct_page *page, const struct ct_host_frame *f, enum ct_frame_class class)
{
	struct ct_stack_line l = {.class = class, .place = place_text(page, f), .function = function_text(page, f), .frame = f};
	if (class == CT_FRAME_USER && f->source && *f->source)
		l.source = ct_page_flat(page, f->source);
	return l;
}

static void add_frame(struct ct_page *page, struct lines *lines, const struct ct_host_frame *f, enum ct_frame_class class)
{
	struct ct_stack_line *l = add_line(page, lines);
	*l = ct_text_frame(page, f, class);
}

// The frames of a run, in the order of the page: outermost first.
struct run {
	const struct ct_host_frame *const *frame;
	size_t n;
};

static void add_note_of_run(struct ct_page *page, struct lines *lines, struct run run, const char *what, const char *names)
{
	// A page that can be unfolded needs no option.
	const char *hint = what[0] == 'n' && !page->said_native && !page->writer ? "; --native shows them" : "";
	page->said_native = page->said_native || *hint;
	struct ct_stack_line *l = add_line(page, lines);
	*l = (struct ct_stack_line){
		.class = CT_FRAME_LIBRARY, .note = ct_arena_printf(&page->arena, "... %s%s", names, hint), .hidden = run.frame, .n_hidden = run.n,
	};
}

static bool seen_before(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

// "18 native frames (libtorch_python, libtorch_cpu, libtorch_cuda)"
static void add_library_run(struct ct_page *page, struct lines *lines, struct run run)
{
	const char *names[MAX_LIBRARIES];
	size_t n_names = 0;
	bool more = false;
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	ct_str_add(&s, ct_text_count(&page->arena, run.n, "native frame", "native frames"));
	for (size_t i = 0; i < run.n; i++) {
		const char *module = ct_page_flat(page, run.frame[i]->module);
		const char *name = module ? ct_library_name(&page->arena, module) : "no known library";
		if (seen_before(names, n_names, name))
			continue;
		if (n_names == MAX_LIBRARIES) {
			more = true;
			break;
		}
		ct_str_addf(&s, "%s%s", n_names ? ", " : " (", name);
		names[n_names++] = name;
	}
	ct_str_add(&s, more ? ", ...)" : ")");
	add_note_of_run(page, lines, run, "native", ct_str_text(&s));
}

// A model's layers call each other through many frames of the framework: the first and the last two tell enough.
static void add_framework_run(struct ct_page *page, struct lines *lines, struct run run)
{
	for (size_t i = 0; i < run.n; i++) {
		if (run.n > MAX_FRAMEWORK_RUN && i == 1) {
			size_t hidden = run.n - 3;
			add_note_of_run(page, lines, (struct run){.frame = run.frame + i, .n = hidden}, "framework",
					ct_text_count(&page->arena, hidden, "more frame of installed packages", "more frames of installed packages"));
			i += hidden;
		}
		add_frame(page, lines, run.frame[i], CT_FRAME_FRAMEWORK);
	}
}

static bool python_follows(const struct ct_host_frame *const *frame, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (frame[i]->kind == CT_FRAME_PYTHON)
			return true;
	return false;
}

// The telling lines of a stack given outermost first.
static void add_telling(struct ct_page *page, struct lines *lines, const struct ct_host_frame *const *frame, size_t n)
{
	bool seen_python = false;
	for (size_t i = 0; i < n;) {
		enum ct_frame_class class = ct_frame_class_of(frame[i]);
		size_t end = i + 1;
		seen_python = seen_python || frame[i]->kind == CT_FRAME_PYTHON;
		while (end < n && ct_frame_class_of(frame[end]) == class)
			end++;
		struct run run = {.frame = frame + i, .n = end - i};
		// Between two Python frames native code is only how one calls the other.
		bool between = seen_python && python_follows(frame + end, n - end);
		if (class == CT_FRAME_LIBRARY && !between)
			add_library_run(page, lines, run);
		else if (class == CT_FRAME_FRAMEWORK)
			add_framework_run(page, lines, run);
		else if (class == CT_FRAME_USER || class == CT_FRAME_API)
			for (size_t k = 0; k < run.n; k++)
				add_frame(page, lines, run.frame[k], class);
		i = end;
	}
}

// nvcc's host stub of a kernel has the kernel's name: it is how the launch is written, not who launches.
bool ct_text_is_stub(const struct ct_incident *incident, const struct ct_host_frame *f)
{
	if (f->kind != CT_FRAME_NATIVE || !f->function || !incident->gpu.has_kernel || !incident->gpu.kernel.name)
		return false;
	const char *kernel = incident->gpu.kernel.name;
	size_t n = strcspn(kernel, "(");
	return n && strncmp(kernel, f->function, n) == 0 && (f->function[n] == '\0' || f->function[n] == '(');
}

// What calls main(), in glibc without a symbol.
static bool is_start(const struct ct_host_frame *frames, size_t n, size_t i)
{
	return i + 3 >= n && frames[i].kind == CT_FRAME_NATIVE && !frames[i].function && frames[i].module && ct_starts_with(ct_basename(frames[i].module), "libc.so");
}

// Outermost first, without what is inside the CUDA call and without plumbing, unless all is wanted.
static size_t telling_frames(struct ct_page *page, const struct ct_host_frame *frames, size_t n, size_t inner, const struct ct_host_frame ***ret)
{
	bool all = page->options->native;
	const struct ct_host_frame **list = ct_arena_array(&page->arena, n ? n : 1, sizeof(struct ct_host_frame *));
	size_t kept = 0;
	for (size_t i = n; i-- > (all ? 0 : inner);) {
		bool hidden = ct_frame_class_of(&frames[i]) == CT_FRAME_PLUMBING || ct_text_is_stub(page->incident, &frames[i]) || is_start(frames, n, i);
		if (all || !hidden)
			list[kept++] = &frames[i];
	}
	*ret = list;
	return kept;
}

static void add_stack(struct ct_page *page, struct lines *lines, const struct ct_host_frame *frames, size_t n, size_t inner)
{
	const struct ct_host_frame **list = NULL;
	size_t kept = telling_frames(page, frames, n, inner, &list);
	if (!page->options->native) {
		add_telling(page, lines, list, kept);
		return;
	}
	for (size_t i = 0; i < kept; i++)
		add_frame(page, lines, list[i], ct_frame_class_of(list[i]));
}

struct columns {
	size_t place, function;
};

static size_t at_most(size_t n, size_t limit)
{
	return n < limit ? n : limit;
}

// The columns follow the reader's own frames; the others take what they need.
static struct columns measure(struct ct_page *page, const struct ct_stack_line *line, size_t n)
{
	struct columns c = {.place = CT_LABEL_COLUMNS, .function = CT_LABEL_COLUMNS};
	for (size_t i = 0; i < n; i++) {
		const struct ct_stack_line *l = &line[i];
		if (l->note || l->class != CT_FRAME_USER)
			continue;
		size_t place = at_most(ct_text_columns(l->place), page->width / 3), function = at_most(ct_text_columns(l->function), page->width / 4);
		c.place = place > c.place ? place : c.place;
		c.function = function > c.function ? function : c.function;
	}
	return c;
}

// The source line beside the frame when there is room for most of it, else below.
static void print_source(struct ct_page *page, const char *source, size_t used, size_t column)
{
	size_t at = used + 2 > column ? used + 2 : column;
	size_t room = page->width > at ? page->width - at : 0;
	if (room >= MIN_SOURCE_COLUMNS || ct_text_columns(source) <= room) {
		ct_page_pad(page, at - used);
		ct_page_put(page, CT_PLAIN, ct_elide_end(&page->arena, source, room));
		ct_page_newline(page);
		return;
	}
	ct_page_newline(page);
	ct_page_line(page, 6, CT_PLAIN, source);
}

static void print_line(struct ct_page *page, const struct ct_stack_line *l, struct columns c)
{
	enum ct_style style = l->class == CT_FRAME_USER ? CT_BOLD : l->class == CT_FRAME_FRAMEWORK ? CT_PLAIN : CT_DIM;
	if (l->note) {
		ct_page_wrap(page, 2, 6, CT_DIM, 3, l->note);
		return;
	}
	if (l->class == CT_FRAME_API && !page->options->native) {
		ct_page_line(page, 2, CT_PLAIN, l->function);
		return;
	}
	size_t room = page->width - 2;
	const char *place = ct_elide_path(&page->arena, l->place, at_most(room, l->class == CT_FRAME_USER ? page->width / 2 : room));
	size_t n = ct_text_columns(place), pad = n < c.place ? c.place + 2 - n : n == c.place ? 2 : 1;
	ct_page_pad(page, 2);
	ct_page_put(page, style, place);
	if (n + pad + 8 > room) {
		ct_page_newline(page);
		ct_page_line(page, 6, style, l->function);
		return;
	}
	const char *function = ct_elide_middle(&page->arena, l->function, room - n - pad);
	ct_page_pad(page, pad);
	ct_page_put(page, style, function);
	if (l->source)
		print_source(page, l->source, 2 + n + pad + ct_text_columns(function), 2 + c.place + 2 + c.function + 2);
	else
		ct_page_newline(page);
}

void ct_text_lines(struct ct_page *page, const struct ct_stack_line *line, size_t n)
{
	struct columns c = measure(page, line, n);
	size_t limit = page->options->native ? n : MAX_SHOWN_FRAMES;
	for (size_t i = 0; i < n; i++) {
		// Of a deep recursion the two ends are told.
		if (n > limit && i == limit / 2) {
			size_t hidden = n - limit;
			ct_page_line(page, 2, CT_DIM, ct_arena_printf(&page->arena, "... %s", ct_text_count(&page->arena, hidden, "more line", "more lines")));
			i += hidden;
		}
		print_line(page, &line[i], c);
	}
}

static void print_lines(struct ct_page *page, const struct lines *lines)
{
	if (page->writer)
		page->writer->stack(page, lines->line, lines->n);
	else
		ct_text_lines(page, lines->line, lines->n);
}

static void print_thread(struct ct_page *page, const struct ct_host_thread *t)
{
	struct lines python = {NULL, 0}, lines = {NULL, 0};
	size_t inner = api_index(t);
	add_stack(page, &python, t->python, t->n_python, 0);
	add_stack(page, &lines, t->frames, t->n_frames, inner < t->n_frames ? inner : 0);
	print_lines(page, &python);
	if (python.n && lines.n)
		ct_page_line(page, 2, CT_PLAIN, "native, apart:");
	print_lines(page, &lines);
	if (python.n + lines.n == 0)
		ct_page_wrap(page, 2, 2, CT_PLAIN, 0, "no frame of this thread could be read");
	if (!t->merged && t->n_python && t->merge_note)
		ct_page_wrap(page, 2, 2, CT_DIM, 4, ct_arena_printf(&page->arena, "Python and native frames are not merged: %s", t->merge_note));
}

void ct_text_stack(struct ct_page *page, const struct ct_host_frame *frames, size_t n)
{
	struct lines lines = {NULL, 0};
	add_stack(page, &lines, frames, n, 0);
	print_lines(page, &lines);
}

static const char *thread_text(struct ct_page *page, const struct ct_host_thread *t)
{
	if (t->name && *t->name)
		return ct_arena_printf(&page->arena, "thread %" PRId64 " (%s)", t->tid, t->name);
	return ct_arena_printf(&page->arena, "thread %" PRId64, t->tid);
}

// What the stack is, when it is not simply the launch.
static void print_caveats(struct ct_page *page, const struct ct_host_thread *t)
{
	const struct ct_incident *in = page->incident;
	bool recorded = ct_text_recorded(in) != NULL;
	if (!recorded && in->launch.present && !in->launch_blocking && !in->launch.n_candidates && in->launch.why)
		ct_page_wrap(page, 2, 4, CT_PLAIN, 4, ct_arena_printf(&page->arena, "The record of launches does not tell: %s.", in->launch.why));
	if (t->launching && !recorded && !in->launch_blocking && in->kind != CT_FAULT_API_ERROR)
		ct_page_wrap(page, 2, 2, CT_PLAIN, 0,
			     "Not necessarily the launch: CUDA_LAUNCH_BLOCKING was not in force, so this is where the thread stood when the fault was noticed.");
	if (!t->launching && !recorded)
		ct_page_wrap(page, 2, 2, CT_PLAIN, 0, "Which thread launched the kernel was not established; this one is shown because it tells most.");
	if (t->launching && t->why_launching)
		ct_page_wrap(page, 2, 4, CT_DIM, 4, ct_arena_printf(&page->arena, "%s, known by: %s", thread_text(page, t), t->why_launching));
}

static size_t count_telling(const struct ct_host_thread *t)
{
	size_t n = t->n_python;
	for (size_t i = 0; i < t->n_frames; i++)
		n += ct_frame_class_of(&t->frames[i]) == CT_FRAME_USER || t->frames[i].kind == CT_FRAME_PYTHON;
	return n;
}

const struct ct_host_thread *ct_render_main_thread(const struct ct_incident *in)
{
	const struct ct_host_thread *best = NULL;
	size_t most = 0;
	for (size_t i = 0; i < in->n_threads; i++) {
		if (in->threads[i].launching)
			return &in->threads[i];
		size_t n = count_telling(&in->threads[i]);
		if (!best || n > most) {
			best = &in->threads[i];
			most = n;
		}
	}
	return best;
}

bool ct_text_is_launch(struct ct_page *page, const struct ct_host_thread *t)
{
	const struct ct_incident *in = page->incident;
	if (!t->launching || in->kind == CT_FAULT_API_ERROR)
		return t->launching;
	// A thread that waits for the device stands after its launch, even when each launch waits.
	const char *api = ct_text_api_call(page, t);
	return in->launch_blocking && (!api || strstr(api, "Launch"));
}

static const char *stack_heading(struct ct_page *page, const struct ct_host_thread *t)
{
	const struct ct_incident *in = page->incident;
	if (!t->launching)
		return ct_arena_printf(&page->arena, "Host stack of %s", thread_text(page, t));
	if (in->kind == CT_FAULT_API_ERROR)
		return "Called from";
	if (!in->launch_blocking)
		return "Host stack when the fault was noticed";
	return ct_text_is_launch(page, t) ? "Launched from" : "Host stack of the launching thread";
}

static void print_other_threads(struct ct_page *page, const struct ct_host_thread *shown)
{
	const struct ct_incident *in = page->incident;
	for (size_t i = 0; i < in->n_threads && page->options->all_threads; i++) {
		if (&in->threads[i] == shown)
			continue;
		ct_page_fold(page, ct_arena_printf(&page->arena, "Other %s", thread_text(page, &in->threads[i])));
		print_thread(page, &in->threads[i]);
	}
	if (in->n_threads > 1 && !page->options->all_threads)
		ct_page_wrap(page, 2, 4, CT_DIM, 0,
			     ct_text_count(&page->arena, in->n_threads - 1, "other host thread is in incident.json", "other host threads are in incident.json"));
}

void ct_text_stacks(struct ct_page *page)
{
	const struct ct_host_thread *t = ct_render_main_thread(page->incident);
	bool recorded = ct_text_launch(page);
	if (!t && recorded) {
		ct_text_history(page);
		return;
	}
	if (!t) {
		ct_page_heading(page, "Launched from");
		ct_page_wrap(page, 2, 2, CT_PLAIN, 0, "not known: no host stack was read");
		return;
	}
	ct_page_heading(page, stack_heading(page, t));
	print_thread(page, t);
	print_caveats(page, t);
	print_other_threads(page, t);
	ct_text_history(page);
}
