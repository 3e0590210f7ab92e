// The values that an assert is about: from the arguments, and from what was read of the arrays that they point to.
// A value is stated as a fact only when thread and element are certain; else as a candidate, or why there is none.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/catalog.h"

enum { MAX_SHOWN_ELEMENTS = 4, MAX_CANDIDATES = 4, MAX_NAMED = 16 };

struct explaining {
	struct ct_incident *incident;
	const struct ct_known_kernel *kernel;
	struct ct_failed_value *failed;
};

static struct ct_argument *argument_at(struct ct_incident *incident, uint32_t index)
{
	for (size_t i = 0; i < incident->gpu.n_arguments; i++)
		if (incident->gpu.arguments[i].index == index)
			return &incident->gpu.arguments[i];
	return NULL;
}

// By the known kernel's own names: debug information may use others.
static struct ct_argument *argument_named(const struct explaining *x, const char *name)
{
	size_t i = ct_rules_argument(x->kernel, name);
	return i < x->kernel->n_names && i < x->incident->gpu.n_arguments ? &x->incident->gpu.arguments[i] : NULL;
}

static void name_arguments(const struct explaining *x)
{
	struct ct_gpu *gpu = &x->incident->gpu;
	for (size_t i = 0; i < gpu->n_arguments && i < x->kernel->n_names; i++)
		if (!gpu->arguments[i].name)
			gpu->arguments[i].name = ct_arena_strdup(&x->incident->arena, x->kernel->names[i]);  // the catalogue goes before the incident
}

static bool has_value(const struct ct_incident *incident, const char *name)
{
	for (size_t i = 0; i < incident->n_values; i++)
		if (strcmp(incident->values[i].name, name) == 0 && incident->values[i].text)
			return true;
	return false;
}

static void add_argument(struct ct_incident *incident, const char *name, const struct ct_argument *a)
{
	if (!a || has_value(incident, name))
		return;
	if (a->value)
		ct_incident_add_value(incident, name, a->value, ct_arena_printf(&incident->arena, "argument %" PRIu32, a->index));
	else
		ct_incident_add_value(incident, name, NULL, NULL)->why_not = "the kernel's arguments were not read";
}

static const char *array_name(const struct explaining *x, const struct ct_argument *a)
{
	if (a->tensor && a->has_tensor_offset && a->tensor_offset == 0)
		return a->tensor;
	return a->name ? a->name : ct_arena_printf(&x->incident->arena, "argument %" PRIu32, a->index);
}

static const struct ct_device_memory *memory_of(const struct ct_incident *incident, uint32_t argument)
{
	for (size_t i = 0; i < incident->gpu.n_memory; i++)
		if (incident->gpu.memory[i].argument == argument)
			return &incident->gpu.memory[i];
	return NULL;
}

// ---- Kernels that the table knows ----------------------------------------------------------------------------

static const char *element_text(const struct explaining *x, const struct ct_argument *a, uint64_t index)
{
	return ct_arena_printf(&x->incident->arena, "%s[%" PRIu64 "]", a->name, index);
}

static const char *element_how(const struct explaining *x, const struct ct_argument *a, uint64_t index)
{
	bool tensor = a->tensor && a->has_tensor_offset && a->tensor_offset == 0;
	return ct_arena_printf(&x->incident->arena, "%s, read from device memory%s%s", element_text(x, a, index), tensor ? "; tensor " : "", tensor ? a->tensor : "");
}

static void add_element(const struct explaining *x, const struct ct_argument *a, const struct ct_element *e, bool candidate)
{
	const char *name = x->kernel->value ? x->kernel->value : element_text(x, a, e->index);
	const char *how = x->kernel->value ? element_how(x, a, e->index) : "read from device memory";
	ct_incident_add_value(x->incident, name, e->value, how)->candidate = candidate;
}

static void mark_failed(const struct explaining *x, const struct ct_argument *a, const struct ct_device_memory *m, const char *text)
{
	x->failed->known = true;
	x->failed->text = text;
	x->failed->array = array_name(x, a);
	x->failed->least = m->min;
	x->failed->most = m->max;
	x->failed->whole = m->whole;
	x->failed->n_elements = m->n_elements;
}

// Elements by thread, each once.
static size_t add_elements(const struct explaining *x, const struct ct_argument *a, const struct ct_device_memory *m)
{
	size_t shown = 0;
	for (size_t i = 0; i < m->n_elements_of_threads; i++) {
		bool seen = false;
		for (size_t k = 0; k < i && !seen; k++)
			seen = m->elements[k].index == m->elements[i].index;
		if (seen || shown == MAX_SHOWN_ELEMENTS)
			continue;
		add_element(x, a, &m->elements[i], false);
		shown++;
	}
	if (shown)
		mark_failed(x, a, m, m->elements[0].value);
	return shown;
}

static const struct ct_outside *outside_of(const struct ct_device_memory *m, const struct ct_argument *bound)
{
	for (size_t i = 0; bound && i < m->n_outside; i++)
		if (m->outside[i].argument == bound->index)
			return &m->outside[i];
	return NULL;
}

// Which thread reads which element is not known: the only one that is not allowed is it all the same.
static bool add_only_one(const struct explaining *x, const struct ct_argument *a, const struct ct_device_memory *m)
{
	const struct ct_outside *o = outside_of(m, argument_named(x, x->kernel->high));
	if (!o || strcmp(x->kernel->map, "any") != 0)
		return false;
	const struct ct_element e = {.index = o->index, .value = o->value};
	add_element(x, a, &e, !m->whole || o->n_outside > 1);
	if (m->whole)  // it is one of these, whichever
		mark_failed(x, a, m, o->value);
	return true;
}

static const char *why_no_element(const struct ct_device_memory *m)
{
	if (!m)
		return "GPU memory was not read";
	if (m->failed)
		return m->failed;
	return "no element that the failing threads read, of those that could be read, is outside the bounds now";
}

static void add_known(const struct explaining *x)
{
	struct ct_argument *a = argument_named(x, x->kernel->array), *high = argument_named(x, x->kernel->high), *exempt = argument_named(x, x->kernel->exempt);
	if (!a)
		return;
	const struct ct_device_memory *m = memory_of(x->incident, a->index);
	if (!m || m->failed || (!add_elements(x, a, m) && !add_only_one(x, a, m))) {
		const char *name = x->kernel->value ? x->kernel->value : ct_arena_printf(&x->incident->arena, "element of %s", a->name);
		if (!has_value(x->incident, name))
			ct_incident_add_value(x->incident, name, NULL, NULL)->why_not = why_no_element(m);
	}
	if (high)
		add_argument(x->incident, x->kernel->high, high);
	if (exempt)
		add_argument(x->incident, x->kernel->exempt, exempt);
	const struct ct_outside *o = m ? outside_of(m, high) : NULL;
	x->failed->n_outside = o ? o->n_outside : 0;
	x->failed->bound_name = high ? x->kernel->high : NULL;
	x->failed->bound = high ? high->value : NULL;
	x->failed->exempt_name = exempt ? x->kernel->exempt : NULL;
	x->failed->exempt = exempt ? exempt->value : NULL;
}

// ---- Other kernels -------------------------------------------------------------------------------------------

// Does the expression use name as a word of its own?
static bool uses(const char *expression, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = n ? strstr(expression, name) : NULL; p; p = strstr(p + 1, name)) {
		bool starts = p == expression || (!isalnum((unsigned char)p[-1]) && p[-1] != '_');
		if (starts && !isalnum((unsigned char)p[n]) && p[n] != '_')
			return true;
	}
	return false;
}

// "p[0]" in the expression, p an argument that was read: the element, where least and greatest tell it.
static void add_indexed(struct ct_incident *incident, const char *expression, const struct ct_argument *a)
{
	const struct ct_device_memory *m = memory_of(incident, a->index);
	size_t n = strlen(a->name);
	const char *p = strstr(expression, a->name);
	if (!m || !m->min || !m->max || p[n] != '[' || !isdigit((unsigned char)p[n + 1]))
		return;
	char *end = NULL;
	uint64_t index = strtoull(p + n + 1, &end, 10);
	bool equal = strcmp(m->min, m->max) == 0 && index < m->n_elements;
	const char *text = equal || index == m->min_index ? m->min : index == m->max_index ? m->max : NULL;
	if (*end == ']' && text)
		ct_incident_add_value(incident, ct_arena_printf(&incident->arena, "%s[%" PRIu64 "]", a->name, index), text, "read from device memory");
}

static size_t add_named_arguments(struct ct_incident *incident, const char *expression)
{
	size_t n = 0;
	for (size_t i = 0; i < incident->gpu.n_arguments && n < MAX_NAMED; i++) {
		const struct ct_argument *a = &incident->gpu.arguments[i];
		bool scalar = a->kind == CT_ARGUMENT_INTEGER || a->kind == CT_ARGUMENT_FLOAT || a->kind == CT_ARGUMENT_BOOL;
		if (!a->name || !uses(expression, a->name))
			continue;
		n++;
		if (scalar)
			add_argument(incident, a->name, a);
		else if (a->kind == CT_ARGUMENT_POINTER)
			add_indexed(incident, expression, a);
	}
	return n;
}

// Elements that exceed an integer argument: of those that the expression names, where names are known.
static void add_candidates(const struct explaining *x, const char *expression, bool named)
{
	struct ct_incident *in = x->incident;
	size_t shown = 0;
	for (size_t i = 0; i < in->gpu.n_memory; i++) {
		const struct ct_device_memory *m = &in->gpu.memory[i];
		const struct ct_argument *array = argument_at(in, m->argument);
		for (size_t k = 0; array && k < m->n_outside && shown < MAX_CANDIDATES; k++) {
			const struct ct_outside *o = &m->outside[k];
			const struct ct_argument *bound = argument_at(in, o->argument);
			if (!bound || !bound->value || (named && !(bound->name && uses(expression, bound->name))))
				continue;
			const char *name = ct_arena_printf(&in->arena, "%s[%" PRIu64 "]", array_name(x, array), o->index);
			const char *how = ct_arena_printf(&in->arena, "read from device memory; the first of %" PRIu64 " of %" PRIu64 " that are not in 0 .. %s - 1 (= %s)",
							  o->n_outside, m->n_elements, bound->name ? bound->name : ct_arena_printf(&in->arena, "argument %" PRIu32, bound->index),
							  bound->value);
			ct_incident_add_value(in, name, o->value, how)->candidate = true;
			shown++;
		}
	}
}

// A local that the expression names and that the debugger could read is the value itself.
static bool local_tells(const struct ct_incident *incident, const char *expression)
{
	for (size_t i = 0; i < incident->n_values; i++)
		if (incident->values[i].text && uses(expression, incident->values[i].name))
			return true;
	return false;
}

// The reader looks for the values: when there are none, that is said.
void ct_explain_no_value(struct ct_incident *incident, bool candidates)
{
	if (incident->gpu.present && incident->gpu.has_kernel)
		ct_incident_add_note(incident, "Which value made the assert fail was not established: registers are gone at an assert, the kernel has no locals that could be "
					       "read, and which element its threads read is not known%s.", candidates ? "; the candidates above fit" : "");
}

void ct_explain_values(struct ct_incident *incident, const struct ct_catalog *catalog, const struct ct_catalog_row *row, struct ct_failed_value *ret_failed)
{
	const struct ct_gpu *gpu = &incident->gpu;
	const char *kernel = gpu->has_kernel ? gpu->kernel.name : NULL, *expression = incident->assertion.present ? incident->assertion.expression : NULL;
	*ret_failed = (struct ct_failed_value){.known = false};
	struct explaining x = {.incident = incident, .failed = ret_failed};
	x.kernel = catalog ? ct_rules_choose(&catalog->rules, kernel, gpu->arguments, gpu->n_arguments) : NULL;
	if (x.kernel)
		name_arguments(&x);
	if (!expression)
		return;
	if (x.kernel && row && ct_catalog_lists(x.kernel->catalog, row->id)) {
		add_known(&x);
		return;
	}
	bool told = local_tells(incident, expression);
	bool named = add_named_arguments(incident, expression) > 0;
	size_t n = incident->n_values;
	if (told)
		return;
	add_candidates(&x, expression, named);
	ret_failed->unexplained = true;
	ret_failed->candidates = incident->n_values > n;
}
