// What was read inside functors and in the tensors of the launching frames, as values of the assert: see catalog.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/catalog.h"
#include "diagnose/checks.h"

enum { MAX_SHOWN = 4, MAX_RANK_SHOWN = 8 };

// ---- Functors ------------------------------------------------------------------------------------------------

static const char *name_of_array(const struct ct_incident *in, const struct ct_device_memory *m)
{
	const struct ct_tensor *t = ct_explain_tensor_at(in, m->address);
	return t && t->data_ptr == m->address ? t->name : m->name;
}

static bool seen_before(const struct ct_device_memory *m, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (m->elements[k].index == m->elements[i].index)
			return true;
	return false;
}

// One element for each place: threads may read the same.
static void add_elements(struct ct_incident *in, const struct ct_device_memory *m, const char *array)
{
	size_t shown = 0;
	for (size_t i = 0; i < m->n_elements_of_threads && shown < MAX_SHOWN; i++) {
		if (seen_before(m, i))
			continue;
		const char *how = ct_arena_printf(&in->arena, "%s[%" PRIu64 "], read from device memory", array, m->elements[i].index);
		ct_incident_add_value(in, m->value_name ? m->value_name : array, m->elements[i].value, how);
		shown++;
	}
}

static bool add_functor(struct ct_incident *in, struct ct_failed_value *failed)
{
	bool any = false;
	for (size_t i = 0; i < in->gpu.n_memory; i++) {
		const struct ct_device_memory *m = &in->gpu.memory[i];
		if (!m->name || !m->bound || m->n_elements_of_threads == 0)
			continue;
		const char *array = name_of_array(in, m);
		add_elements(in, m, array);
		ct_incident_add_value(in, m->bound_name ? m->bound_name : "bound", m->bound, ct_arena_printf(&in->arena, "in argument %" PRIu32, m->argument));
		if (m->exempt)
			ct_incident_add_value(in, "ignore_index", m->exempt, "argument");
		if (!any)
			*failed = (struct ct_failed_value){.known = true, .text = m->elements[0].value, .bound_name = m->bound_name, .bound = m->bound,
							   .exempt_name = m->exempt ? "ignore_index" : NULL, .exempt = m->exempt, .array = array, .least = m->min,
							   .most = m->max, .whole = m->whole, .n_elements = m->n_elements};
		any = true;
	}
	return any;
}

// ---- Tensors -------------------------------------------------------------------------------------------------

const struct ct_tensor_memory *ct_evidence_of(const struct ct_incident *in, const struct ct_tensor *t)
{
	for (size_t i = 0; t && t->has_data_ptr && i < in->gpu.n_tensors; i++) {
		const struct ct_tensor_memory *m = &in->gpu.tensors[i];
		if (m->address == t->data_ptr && m->n_elements && m->type && t->dtype && strcmp(m->type, t->dtype) == 0)
			return m;
	}
	return NULL;
}

const struct ct_special *ct_evidence_special(const struct ct_tensor_memory *m, const char *what, uint64_t bound)
{
	for (size_t i = 0; m && i < m->n_special; i++)
		if (strcmp(m->special[i].what, what) == 0 && m->special[i].bound == bound)
			return &m->special[i];
	return NULL;
}

// "y[2, 0]" of the element with that number; the number alone where the shape does not say.
static const char *place_text(struct ct_incident *in, const struct ct_tensor *t, const struct ct_tensor_memory *m, uint64_t index)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	int64_t at[MAX_RANK_SHOWN];
	if (!m->in_order || !t->has_shape || t->n_shape < 2 || t->n_shape > MAX_RANK_SHOWN)
		return ct_arena_printf(&in->arena, "%s[%" PRIu64 "]", m->name, index);
	for (size_t i = t->n_shape; i-- > 0;) {
		uint64_t n = t->shape[i] > 0 ? (uint64_t)t->shape[i] : 1;
		at[i] = (int64_t)(index % n);
		index /= n;
	}
	ct_str_addf(&s, "%s[", m->name);
	for (size_t i = 0; i < t->n_shape; i++)
		ct_str_addf(&s, "%s%" PRId64, i ? ", " : "", at[i]);
	return ct_arena_printf(&in->arena, "%s]", ct_str_text(&s));
}

static const struct ct_special *first_outside(const struct ct_tensor_memory *m, int64_t bound)
{
	const struct ct_special *s = ct_evidence_special(m, "not below", (uint64_t)bound);
	return s ? s : ct_evidence_special(m, "negative", 0);
}

// The index tensor of the launching call against the size that bounds it.
static bool add_index_tensor(struct ct_incident *in, const struct ct_call *call, struct ct_failed_value *failed)
{
	int64_t bound = 0;
	const struct ct_tensor_memory *m = ct_evidence_of(in, call->index);
	const struct ct_special *s = m && ct_checks_bound(call, &bound) && bound > 0 ? first_outside(m, bound) : NULL;
	if (!s || call->rule->dtype == CT_DTYPE_FLOAT)
		return false;
	const char *how = ct_arena_printf(&in->arena, "read from device memory; %" PRIu64 " of %" PRIu64 " are not in 0 .. %" PRId64, s->n_found, m->n_elements, bound - 1);
	ct_incident_add_value(in, place_text(in, call->index, m, s->index), s->value, how)->candidate = s->n_found > 1;
	*failed = (struct ct_failed_value){.known = true, .text = s->value, .bound_name = call->rule->bound, .bound = ct_arena_printf(&in->arena, "%" PRId64, bound),
					   .array = m->name, .least = m->min, .most = m->max, .whole = m->whole, .n_elements = m->n_elements,
					   .n_outside = s->n_found};
	return true;
}

// ---- Probabilities -------------------------------------------------------------------------------------------

struct unlikely {
	const char *what;   // of ct_special
	const char *words;  // in a sentence: "holds 3 ..."
	bool bce_only;      // multinomial takes weights of any size
};

// NaN first: it is what the others come from.
static const struct unlikely unlikely[] = {
	{"NaN", "NaN, which fails every comparison", false},
	{"infinite", "Inf", false},
	{"negative", "below 0", false},
	{"above 1", "above 1", true},
};

static bool add_probability(struct ct_incident *in, const struct ct_tensor *t, bool bce, const char *name, struct ct_failed_value *failed)
{
	const struct ct_tensor_memory *m = ct_evidence_of(in, t);
	for (size_t i = 0; m && i < CT_COUNT(unlikely); i++) {
		const struct unlikely *u = &unlikely[i];
		const struct ct_special *s = ct_evidence_special(m, u->what, strcmp(u->what, "above 1") == 0 ? 1 : 0);
		if (!s || (u->bce_only && !bce))
			continue;
		const char *place = place_text(in, t, m, s->index);
		struct ct_value *v = ct_incident_add_value(in, name ? name : place, s->value, ct_arena_printf(&in->arena, "%s, read from device memory", place));
		v->candidate = s->n_found > 1 && i >= 2;  // one NaN is like the other
		failed->what = u->what;
		failed->text = s->value;
		failed->detail = ct_arena_printf(&in->arena, "%" PRIu64 " of %" PRIu64 " element%s of %s %s %s, where %s wanted; the first is %s = %s", s->n_found,
						 m->n_elements, m->n_elements == 1 ? "" : "s", m->name, s->n_found == 1 ? "is" : "are", u->words,
						 bce ? "0 .. 1 is" : "finite probabilities or weights of 0 or more are", place, s->value);
		return true;
	}
	return false;
}

static bool says(const struct ct_incident *in, const char *word)
{
	return in->assertion.present && in->assertion.expression && strstr(in->assertion.expression, word);
}

static bool add_bce(struct ct_incident *in, const struct ct_call *call, struct ct_failed_value *failed)
{
	if (!says(in, "target_val") && add_probability(in, call->values, true, "input_val", failed))
		return true;
	return !says(in, "input_val") && add_probability(in, call->index, true, "target_val", failed);
}

// Those that the reader's own line names.
static bool add_weights(struct ct_incident *in, int64_t tid, struct ct_failed_value *failed)
{
	const struct ct_tensor *first = NULL;
	for (size_t i = 0; i < in->n_tensors; i++) {
		const struct ct_tensor *t = &in->tensors[i];
		const char *source = t->tid == tid && t->has_depth && ct_checks_is_user(t) ? ct_checks_source(in, t) : NULL;
		if (!source || (first && first->depth != t->depth))
			continue;
		first = t;
		if (ct_checks_has_name(source, t->name) && add_probability(in, t, false, NULL, failed))
			return true;
	}
	return false;
}

// _assert_async has one condition: its only element is not true.
static bool add_async(struct ct_incident *in, struct ct_failed_value *failed)
{
	bool has_message = in->assertion.present && in->assertion.expression && *in->assertion.expression;
	if (!ct_explain_kernel_has(in, "_assert_async_cuda_kernel"))
		return false;
	const struct ct_argument *a = in->gpu.n_arguments ? &in->gpu.arguments[0] : NULL;
	const char *name = a && a->tensor ? a->tensor : "input";
	const char *text = a && a->type && ct_starts_with(a->type, "bool") ? "false" : "0";
	ct_incident_add_value(in, ct_arena_printf(&in->arena, "%s[0]", name), text, "the kernel has no other condition than that it is true");
	if (has_message)
		return true;  // that says what it means
	failed->what = "false";
	failed->text = text;
	failed->detail = ct_arena_printf(&in->arena, "torch._assert_async was given %s, which is %s and not true", name, text);
	return true;
}

// A kernel whose parameters have no types, as Triton's: a tensor that exceeds one of its numbers.
static bool is_number(const struct ct_argument *a, uint64_t bound)
{
	uint64_t number = 0;
	if (a->kind != CT_ARGUMENT_BYTES || a->type)
		return false;
	return (ct_explain_number(a, sizeof(uint32_t), &number) || ct_explain_number(a, sizeof number, &number)) && number == bound;
}

static void add_untyped(struct ct_incident *in)
{
	for (size_t i = 0; i < in->gpu.n_tensors; i++) {
		const struct ct_tensor_memory *m = &in->gpu.tensors[i];
		for (size_t k = 0; k < m->n_special; k++) {
			const struct ct_special *s = &m->special[k];
			for (size_t a = 0; strcmp(s->what, "not below") == 0 && a < in->gpu.n_arguments; a++) {
				if (!is_number(&in->gpu.arguments[a], s->bound))
					continue;
				const char *how = ct_arena_printf(&in->arena, "read from device memory; the first of %" PRIu64 " of %" PRIu64 " that are not below %" PRIu64
								  ", argument %" PRIu32, s->n_found, m->n_elements, s->bound, in->gpu.arguments[a].index);
				ct_incident_add_value(in, ct_arena_printf(&in->arena, "%s[%" PRIu64 "]", m->name, s->index), s->value, how)->candidate = true;
				return;
			}
		}
	}
}

void ct_explain_evidence(struct ct_incident *in, struct ct_failed_value *failed)
{
	struct ct_call call;
	const struct ct_host_thread *launching = ct_incident_launching(in);
	int64_t tid = launching ? launching->tid : 0;
	if (in->kind != CT_FAULT_ASSERT && in->kind != CT_FAULT_EXCEPTION)
		return;
	if (failed->known || add_functor(in, failed))
		return;
	bool has_call = tid && ct_checks_find_call(in, tid, &call);
	bool bce = ct_explain_kernel_has(in, "binary_cross_entropy");
	if (bce && has_call && call.rule->dtype == CT_DTYPE_FLOAT && add_bce(in, &call, failed))
		return;
	if (!bce && (ct_explain_kernel_has(in, "_assert_async") || ct_explain_kernel_has(in, "ultinomial")) && tid && add_weights(in, tid, failed))
		return;
	if (in->kind == CT_FAULT_ASSERT && add_async(in, failed))
		return;
	if (has_call && add_index_tensor(in, &call, failed))
		return;
	if (in->kind == CT_FAULT_ASSERT)
		add_untyped(in);
}
