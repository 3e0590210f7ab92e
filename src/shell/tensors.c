// What is known of values and tensors without a process: what was read while it stood, and what a dump with memory still holds.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "shell/shell_priv.h"

#define ASK_LIVE "`cudatrap -i --engine wait COMMAND` has a session that can be asked"

// ---- values ---------------------------------------------------------------------------------------------------------

static void print_memory(struct ct_shell_call *call, const struct ct_device_memory *m)
{
	fprintf(call->out, "array of argument %" PRIu32 ": ", m->argument);
	if (m->failed) {
		fprintf(call->out, "%s\n", ct_shell_flat(&call->arena, m->failed));
		return;
	}
	fprintf(call->out, "%" PRIu64 " %s%s", m->n_elements, m->type ? ct_shell_flat(&call->arena, m->type) : "elements", m->whole ? "" : " read");
	if (m->min && m->max)
		fprintf(call->out, ", least %s at [%" PRIu64 "], greatest %s at [%" PRIu64 "]", ct_shell_flat(&call->arena, m->min), m->min_index,
			ct_shell_flat(&call->arena, m->max), m->max_index);
	fputc('\n', call->out);
}

bool ct_shell_run_values(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_incident *in = call->shell->incident;
	for (size_t i = 0; i < in->n_values; i++) {
		const struct ct_value *v = &in->values[i];
		if (v->text)
			fprintf(call->out, "%s = %s", ct_shell_flat(&call->arena, v->name), ct_shell_flat(&call->arena, v->text));
		else
			fprintf(call->out, "%s: %s", ct_shell_flat(&call->arena, v->name), v->why_not ? ct_shell_flat(&call->arena, v->why_not) : "not known");
		if (v->how)
			fprintf(call->out, "   %s", ct_shell_flat(&call->arena, v->how));
		fputs(v->candidate ? " (a candidate)\n" : "\n", call->out);
	}
	for (size_t i = 0; i < in->gpu.n_memory; i++)
		print_memory(call, &in->gpu.memory[i]);
	if (in->n_values || in->gpu.n_memory)
		return true;
	ct_fail(err, CT_UNAVAILABLE, "no values are known here");
	return ct_hint(err, "'args' shows what the kernel was given");
}

// ---- tensors --------------------------------------------------------------------------------------------------------

static bool no_tensors(const struct ct_shell_call *call, struct ct_error *err)
{
	if (call->shell->core) {
		ct_fail(err, CT_UNAVAILABLE, "a GPU core dump knows no tensors");
		return ct_hint(err, "run the program under cudatrap: its report has them");
	}
	ct_fail(err, CT_UNAVAILABLE, "no tensors were read");
	return ct_hint(err, "'collectors' says why");
}

static void print_numbers(struct ct_shell_call *call, const char *before, const int64_t *numbers, size_t n)
{
	fprintf(call->out, "%s[", before);
	for (size_t i = 0; i < n; i++)
		fprintf(call->out, "%s%" PRId64, i ? ", " : "", numbers[i]);
	fputc(']', call->out);
}

static void print_tensor(struct ct_shell_call *call, const struct ct_tensor *t, bool with_place)
{
	fprintf(call->out, "%s  %s", ct_shell_flat(&call->arena, t->name), t->dtype ? ct_shell_flat(&call->arena, t->dtype) : "?");
	if (t->has_shape)
		print_numbers(call, " ", t->shape, t->n_shape);
	else
		fputs(" [?]", call->out);
	if (t->device)
		fprintf(call->out, "  %s", ct_shell_flat(&call->arena, t->device));
	if (t->kind)
		fprintf(call->out, "  %s", ct_shell_flat(&call->arena, t->kind));
	if (t->has_data_ptr)
		fprintf(call->out, "  0x%" PRIx64, t->data_ptr);
	if (t->requires_grad)
		fputs("  requires grad", call->out);
	if (with_place && t->function)
		fprintf(call->out, "  in %s", ct_shell_flat(&call->arena, t->function));
	if (with_place && t->file && t->line)
		fprintf(call->out, "  %s:%" PRIu32, ct_shell_flat(&call->arena, t->file), t->line);
	fputc('\n', call->out);
}

// The whole name, or the end of one: `weight` is `self.fc.weight`.
static bool is_named(const struct ct_tensor *t, const char *name)
{
	size_t n = t->name ? strlen(t->name) : 0, wanted = strlen(name);
	return n && (strcmp(t->name, name) == 0 || (n > wanted && t->name[n - wanted - 1] == '.' && strcmp(t->name + n - wanted, name) == 0));
}

static bool no_such_tensor(const char *name, struct ct_error *err)
{
	ct_fail(err, CT_USAGE, "there is no tensor '%.60s'", name);
	return ct_hint(err, "'tensors' lists them");
}

bool ct_shell_run_tensors(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_incident *in = call->shell->incident;
	size_t shown = 0;
	if (!in->n_tensors)
		return no_tensors(call, err);
	for (size_t i = 0; i < in->n_tensors; i++)
		if (!call->n_args || is_named(&in->tensors[i], call->args[0])) {
			print_tensor(call, &in->tensors[i], true);
			shown++;
		}
	return shown || no_such_tensor(call->args[0], err);
}

const char *ct_shell_tensor_name(const struct ct_shell *shell, size_t index)
{
	return index < shell->incident->n_tensors ? shell->incident->tensors[index].name : NULL;
}

static void print_place(struct ct_shell_call *call, const char *function, const char *file, uint32_t line, int64_t tid)
{
	fprintf(call->out, "%s  %s:%" PRIu32 "  thread %" PRId64 "\n", function ? ct_shell_flat(&call->arena, function) : "?",
		file ? ct_shell_flat(&call->arena, file) : "?", line, tid);
}

static void print_plain_of(struct ct_shell_call *call, int64_t tid, uint32_t depth)
{
	const struct ct_incident *in = call->shell->incident;
	for (size_t i = 0; i < in->n_python_locals; i++)
		if (in->python_locals[i].tid == tid && in->python_locals[i].depth == depth)
			fprintf(call->out, "  %s = %s\n", ct_shell_flat(&call->arena, in->python_locals[i].name), ct_shell_flat(&call->arena, in->python_locals[i].value));
}

// Frames that know no tensor follow those that do.
static void print_plain_alone(struct ct_shell_call *call)
{
	const struct ct_incident *in = call->shell->incident;
	for (size_t i = 0; i < in->n_python_locals; i++) {
		const struct ct_python_local *l = &in->python_locals[i], *before = i ? l - 1 : NULL;
		bool shown = before && before->tid == l->tid && before->depth == l->depth;
		for (size_t k = 0; !shown && k < in->n_tensors; k++)
			shown = in->tensors[k].tid == l->tid && in->tensors[k].depth == l->depth;
		if (shown)
			continue;
		print_place(call, l->function, l->file, l->line, l->tid);
		print_plain_of(call, l->tid, l->depth);
	}
}

bool ct_shell_python_locals(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_incident *in = call->shell->incident;
	if (!in->n_tensors && !in->n_python_locals)
		return no_tensors(call, err);
	for (size_t i = 0; i < in->n_tensors; i++) {
		const struct ct_tensor *t = &in->tensors[i], *before = i ? t - 1 : NULL, *after = i + 1 < in->n_tensors ? t + 1 : NULL;
		if (!before || before->tid != t->tid || before->depth != t->depth)
			print_place(call, t->function, t->file, t->line, t->tid);
		fputs("  ", call->out);
		print_tensor(call, t, false);
		if (!after || after->tid != t->tid || after->depth != t->depth)
			print_plain_of(call, t->tid, t->depth);
	}
	print_plain_alone(call);
	return true;
}

// ---- elements -------------------------------------------------------------------------------------------------------

static const struct ct_argument *argument_at(const struct ct_incident *in, uint64_t index)
{
	for (size_t i = 0; i < in->gpu.n_arguments; i++)
		if (in->gpu.arguments[i].index == index)
			return &in->gpu.arguments[i];
	return NULL;
}

// One array has as many names as frames know it by, and an argument one of them.
static bool points_to(const struct ct_incident *in, const struct ct_argument *a, const char *name)
{
	uint64_t address;
	if (a->kind != CT_ARGUMENT_POINTER || !a->value || !ct_shell_parse_u64(a->value, &address))
		return false;
	for (size_t i = 0; i < in->n_tensors; i++)
		if (is_named(&in->tensors[i], name) && in->tensors[i].has_data_ptr && in->tensors[i].data_ptr == address)
			return true;
	return false;
}

// `arg3`, or the name of a tensor that an argument points to.
static const struct ct_argument *argument_named(const struct ct_incident *in, const char *word)
{
	uint64_t n;
	if (ct_starts_with(word, "arg") && ct_shell_parse_u64(word + 3, &n))
		return argument_at(in, n);
	for (size_t i = 0; i < in->gpu.n_arguments; i++) {
		const struct ct_argument *a = &in->gpu.arguments[i];
		if ((a->tensor && strcmp(a->tensor, word) == 0) || (a->name && strcmp(a->name, word) == 0) || points_to(in, a, word))
			return a;
	}
	return NULL;
}

static void print_element(struct ct_shell_call *call, const struct ct_element *e)
{
	fprintf(call->out, "[%" PRIu64 "] = %s", e->index, ct_shell_flat(&call->arena, e->value));
	if (e->has_at)
		fprintf(call->out, "   read by block %s thread %s", ct_shell_dim3(&call->arena, e->at.block), ct_shell_dim3(&call->arena, e->at.thread));
	fputc('\n', call->out);
}

// index NULL: all that is known.
static size_t print_elements(struct ct_shell_call *call, const struct ct_device_memory *m, const uint64_t *index)
{
	size_t shown = 0;
	for (size_t i = 0; i < m->n_elements_of_threads; i++)
		if (!index || m->elements[i].index == *index) {
			print_element(call, &m->elements[i]);
			shown++;
		}
	for (size_t i = 0; i < m->n_outside; i++) {
		const struct ct_outside *o = &m->outside[i];
		if (index && o->index != *index)
			continue;
		fprintf(call->out, "[%" PRIu64 "] = %s   the first of %" PRIu64 " that are not from 0 to below argument %" PRIu32 "\n", o->index,
			ct_shell_flat(&call->arena, o->value), o->n_outside, o->argument);
		shown++;
	}
	if (index && !shown && m->min && m->min_index == *index)
		shown += fprintf(call->out, "[%" PRIu64 "] = %s   the least\n", *index, ct_shell_flat(&call->arena, m->min)) > 0;
	if (index && !shown && m->max && m->max_index == *index)
		shown += fprintf(call->out, "[%" PRIu64 "] = %s   the greatest\n", *index, ct_shell_flat(&call->arena, m->max)) > 0;
	return shown;
}

static bool elements_of(struct ct_shell_call *call, const char *word, const struct ct_argument *a, const uint64_t *index, struct ct_error *err)
{
	const struct ct_gpu *gpu = &call->shell->incident->gpu;
	bool read = false;
	for (size_t i = 0; a && i < gpu->n_memory; i++) {
		if (gpu->memory[i].argument != a->index)
			continue;
		read |= !gpu->memory[i].failed;
		if (!index)
			print_memory(call, &gpu->memory[i]);
		if (print_elements(call, &gpu->memory[i], index) || !index)
			return true;
		const char *text;
		if (ct_shell_memory_element(call, &gpu->memory[i], *index, &text))
			return fprintf(call->out, "[%" PRIu64 "] = %s\n", *index, text) > 0;
	}
	if (call->shell->core && read)
		return ct_fail(err, CT_UNAVAILABLE, "%.60s has no element %" PRIu64 " in this dump", word, *index);
	if (call->shell->core) {
		ct_fail(err, CT_UNAVAILABLE, "the elements of %.60s are not known by name here", word);
		return ct_hint(err, "'mem %s TYPE COUNT' shows what a dump with memory (--dump=memory or full) holds", a ? ct_arena_printf(&call->arena, "arg%" PRIu32, a->index) : "argN");
	}
	ct_fail(err, CT_UNAVAILABLE, index ? "that element of %.60s was not kept" : "no element of %.60s was kept", word);
	return ct_hint(err, ASK_LIVE);
}

bool ct_shell_run_tensor(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_incident *in = call->shell->incident;
	const struct ct_argument *a = argument_named(in, call->args[0]);
	uint64_t index = 0;
	bool known = false;
	if (call->n_args > 1 && !ct_shell_parse_u64(call->args[1], &index))
		return ct_fail(err, CT_USAGE, "'%.60s' is not an index: one number, in the order of memory", call->args[1]);
	for (size_t i = 0; i < in->n_tensors && !known; i++)
		if (is_named(&in->tensors[i], call->args[0])) {
			print_tensor(call, &in->tensors[i], true);
			known = true;
		}
	if (!known && !a)
		return in->n_tensors || in->gpu.n_arguments ? no_such_tensor(call->args[0], err) : no_tensors(call, err);
	return elements_of(call, call->args[0], a, call->n_args > 1 ? &index : NULL, err);
}

// ---- find -----------------------------------------------------------------------------------------------------------

static size_t find_in_memory(struct ct_shell_call *call, const struct ct_device_memory *m, const char *value)
{
	const struct ct_argument *a = argument_at(call->shell->incident, m->argument);
	const char *name = a && a->tensor ? ct_arena_printf(&call->arena, "%s, array of argument %" PRIu32, ct_shell_flat(&call->arena, a->tensor), m->argument)
					  : ct_arena_printf(&call->arena, "array of argument %" PRIu32, m->argument);
	uint64_t first, found = ct_shell_memory_find(call, m, value, &first);
	if (found)
		return fprintf(call->out, "%s: [%" PRIu64 "] = %s%s\n", name, first, value,
			       found > 1 ? ct_arena_printf(&call->arena, ", the first of %" PRIu64, found) : "") > 0;
	for (size_t i = 0; i < m->n_elements_of_threads; i++)
		if (strcmp(m->elements[i].value, value) == 0)
			return fprintf(call->out, "%s: [%" PRIu64 "] = %s\n", name, m->elements[i].index, value) > 0;
	for (size_t i = 0; i < m->n_outside; i++)
		if (strcmp(m->outside[i].value, value) == 0)
			return fprintf(call->out, "%s: [%" PRIu64 "] = %s\n", name, m->outside[i].index, value) > 0;
	if (m->min && strcmp(m->min, value) == 0)
		return fprintf(call->out, "%s: [%" PRIu64 "] = %s, the least\n", name, m->min_index, value) > 0;
	if (m->max && strcmp(m->max, value) == 0)
		return fprintf(call->out, "%s: [%" PRIu64 "] = %s, the greatest\n", name, m->max_index, value) > 0;
	return 0;
}

bool ct_shell_run_find(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_gpu *gpu = &call->shell->incident->gpu;
	const char *value = call->args[0];
	uint64_t number;
	size_t shown = 0;
	if (!ct_shell_parse_u64(*value == '-' ? value + 1 : value, &number))
		return ct_fail(err, CT_USAGE, "'%.60s' is not an integer", value);
	value = ct_arena_printf(&call->arena, "%s%" PRIu64, *value == '-' ? "-" : "", number);
	for (size_t i = 0; i < gpu->n_arguments; i++)
		if (gpu->arguments[i].value && strcmp(gpu->arguments[i].value, value) == 0) {
			fprintf(call->out, "argument %" PRIu32 "%s%s = %s\n", gpu->arguments[i].index, gpu->arguments[i].name ? " " : "",
				gpu->arguments[i].name ? ct_shell_flat(&call->arena, gpu->arguments[i].name) : "", value);
			shown++;
		}
	for (size_t i = 0; i < gpu->n_memory; i++)
		shown += find_in_memory(call, &gpu->memory[i], value);
	if (shown)
		return true;
	if (call->shell->core) {
		ct_fail(err, CT_UNAVAILABLE, "%s is in no argument and in no array that was read", value);
		return ct_hint(err, "'values' says which arrays were read, and why not");
	}
	ct_fail(err, CT_UNAVAILABLE, "%s is in no argument and in nothing that was kept of the arrays", value);
	return ct_hint(err, "of an array its failing, least and greatest elements are kept; " ASK_LIVE);
}
