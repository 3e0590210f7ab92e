// The host's side: the stack that launched the kernel, frame by frame, and Python's.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "shell/shell_priv.h"

static bool need_host(const struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_host_thread *t = call->shell->host;
	if (t && (t->n_frames || t->n_python))
		return true;
	ct_fail(err, CT_UNAVAILABLE, call->shell->core ? "a GPU core dump holds no host stack" : "no host stack was read");
	return call->shell->core ? ct_hint(err, "run the program under cudatrap: its report has it") : ct_hint(err, "'collectors' says why");
}

// Merged frames; Python's alone when nothing else could be read.
static const struct ct_host_frame *frames_of(const struct ct_host_thread *t, size_t *ret_count)
{
	*ret_count = t->n_frames ? t->n_frames : t->n_python;
	return t->n_frames ? t->frames : t->python;
}

static void print_frame(struct ct_shell_call *call, size_t number, const struct ct_host_frame *f)
{
	fprintf(call->out, "#%-3zu", number);
	if (f->function)
		fprintf(call->out, " %s", ct_shell_flat(&call->arena, f->function));
	else if (f->has_pc)
		fprintf(call->out, " 0x%" PRIx64, f->pc);
	else
		fputs(" ?", call->out);
	if (f->has_offset && !f->line)
		fprintf(call->out, "+0x%" PRIx64, f->offset);
	if (f->file && f->line)
		fprintf(call->out, "  %s:%" PRIu32, ct_shell_flat(&call->arena, f->file), f->line);
	else if (f->file || f->module)
		fprintf(call->out, "  %s", ct_shell_flat(&call->arena, f->file ? f->file : f->module));
	fputc('\n', call->out);
}

static void print_source(struct ct_shell_call *call, const struct ct_host_frame *f)
{
	size_t own = 0;
	bool around = ct_frame_has_excerpt(f, &own);
	for (size_t i = 0; around && i < f->n_excerpt; i++)
		fprintf(call->out, "  %c %5" PRIu32 "  %s\n", i == own ? '>' : ' ', f->excerpt_line + (uint32_t)i, ct_shell_flat(&call->arena, f->excerpt[i]));
	if (around)
		return;
	if (f->source && *f->source)
		fprintf(call->out, "        %s\n", ct_shell_flat(&call->arena, f->source));
}

bool ct_shell_run_host(struct ct_shell_call *call, struct ct_error *err)
{
	const char *how = call->n_args ? call->args[0] : "";
	size_t n;
	if (*how && strcmp(how, "all") != 0 && strcmp(how, "full") != 0)
		return ct_fail(err, CT_USAGE, "usage: host [all | full]");
	if (!need_host(call, err))
		return false;
	if (strcmp(how, "full") != 0) {
		struct ct_render_options options = call->shell->render;
		options.all_threads |= *how != '\0';
		return ct_render_sections(call->shell->incident, &options, CT_SECTION_STACKS, call->out, err);
	}
	const struct ct_host_frame *frames = frames_of(call->shell->host, &n);
	for (size_t i = 0; i < n; i++)
		print_frame(call, i, &frames[i]);
	return true;
}

static bool show_current(struct ct_shell_call *call)
{
	size_t n;
	const struct ct_host_frame *frames = frames_of(call->shell->host, &n);
	print_frame(call, call->shell->host_frame, &frames[call->shell->host_frame]);
	print_source(call, &frames[call->shell->host_frame]);
	return true;
}

bool ct_shell_run_frame(struct ct_shell_call *call, struct ct_error *err)
{
	uint64_t wanted;
	size_t n;
	if (!need_host(call, err))
		return false;
	frames_of(call->shell->host, &n);
	if (call->n_args) {
		if (!ct_shell_parse_u64(call->args[0], &wanted) || wanted >= n)
			return ct_fail(err, CT_USAGE, "there is no host frame '%.60s': they are 0 to %zu", call->args[0], n - 1);
		call->shell->host_frame = (size_t)wanted;
	}
	return show_current(call);
}

bool ct_shell_run_up(struct ct_shell_call *call, struct ct_error *err)
{
	size_t n;
	if (!need_host(call, err))
		return false;
	frames_of(call->shell->host, &n);
	if (call->shell->host_frame + 1 >= n)
		return ct_fail(err, CT_USAGE, "this is the outermost host frame");
	call->shell->host_frame++;
	return show_current(call);
}

bool ct_shell_run_down(struct ct_shell_call *call, struct ct_error *err)
{
	if (!need_host(call, err))
		return false;
	if (call->shell->host_frame == 0)
		return ct_fail(err, CT_USAGE, "this is the innermost host frame");
	call->shell->host_frame--;
	return show_current(call);
}

// Outermost first, as Python's own tracebacks are.
static size_t print_python(struct ct_shell_call *call, const struct ct_host_thread *t, const struct ct_host_frame *frames, size_t n)
{
	size_t shown = 0;
	for (size_t i = n; i-- > 0;) {
		const struct ct_host_frame *f = &frames[i];
		if (f->kind != CT_FRAME_PYTHON)
			continue;
		if (shown++ == 0)
			fprintf(call->out, "Thread %" PRId64 "%s%s%s, most recent call last\n", t->tid, t->name ? " " : "", ct_shell_flat(&call->arena, t->name),
				t->launching ? ", the launching one" : "");
		fprintf(call->out, "  File \"%s\", line %" PRIu32 ", in %s\n", ct_shell_flat(&call->arena, f->file), f->line, ct_shell_flat(&call->arena, f->function));
		if (f->source && *f->source)
			fprintf(call->out, "    %s\n", ct_shell_flat(&call->arena, f->source));
	}
	return shown;
}

bool ct_shell_run_python(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_incident *in = call->shell->incident;
	size_t shown = 0;
	if (call->n_args && strcmp(call->args[0], "locals") != 0)
		return ct_fail(err, CT_USAGE, "usage: python [locals]");
	if (call->n_args)
		return ct_shell_python_locals(call, err);
	if (!need_host(call, err))
		return false;
	for (size_t i = 0; i < in->n_threads; i++) {
		const struct ct_host_thread *t = &in->threads[i];
		shown += t->n_python ? print_python(call, t, t->python, t->n_python) : print_python(call, t, t->frames, t->n_frames);
	}
	if (shown)
		return true;
	ct_fail(err, CT_UNAVAILABLE, "no Python frame was read");
	return ct_hint(err, "'collectors' says why, when the program has any");
}
