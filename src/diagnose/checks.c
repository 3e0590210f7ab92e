// The four questions to the tensors of the launching call: do shapes, types, values and devices agree? Only what is sure is called
// suspect; what cannot be told is said to be unknown.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/catalog.h"
#include "diagnose/checks.h"
#include "diagnose/diagnose_priv.h"

enum { MAX_SHOWN = 6, MAX_SHOWN_RANK = 8 };

struct answer {
	enum ct_check_status status;
	const char *id, *seen;
};

static const char *shape_text(struct ct_incident *in, const struct ct_tensor *t)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	if (!t->has_shape)
		return "[?]";
	ct_str_addc(&s, '[');
	for (size_t i = 0; i < t->n_shape && i < MAX_SHOWN_RANK; i++)
		ct_str_addf(&s, "%s%" PRId64, i ? ", " : "", t->shape[i]);
	ct_str_add(&s, t->n_shape > MAX_SHOWN_RANK ? ", ...]" : "]");
	return ct_arena_strdup(&in->arena, ct_str_text(&s));
}

// The name that the reader's own code has for it: the innermost of those for the same memory.
static const char *user_name(const struct ct_incident *in, const struct ct_tensor *t)
{
	for (size_t i = 0; t->has_data_ptr && !ct_checks_is_user(t) && i < in->n_tensors; i++) {
		const struct ct_tensor *u = &in->tensors[i];
		if (u->tid == t->tid && u->has_data_ptr && u->data_ptr == t->data_ptr && u->n_shape == t->n_shape && ct_checks_is_user(u))
			return u->name;
	}
	return t->name;
}

static bool same_shape(const struct ct_tensor *a, const struct ct_tensor *b)
{
	if (a->n_shape != b->n_shape)
		return false;
	for (size_t i = 0; i < a->n_shape; i++)
		if (a->shape[i] != b->shape[i])
			return false;
	return true;
}

// Scores [N, C, d...] go with labels [N, d...]; [C] with a scalar.
static bool fits_labels(const struct ct_tensor *scores, const struct ct_tensor *labels)
{
	if (scores->n_shape == 0 || labels->n_shape + 1 != scores->n_shape)
		return false;
	for (size_t i = 0; i < labels->n_shape; i++)
		if (labels->shape[i] != scores->shape[i == 0 ? 0 : i + 1])
			return false;
	return true;
}

static bool is_float(const char *dtype)
{
	return ct_starts_with(dtype, "float") || ct_starts_with(dtype, "bfloat") || ct_starts_with(dtype, "complex");
}

static struct answer check_shape(struct ct_incident *in, const struct ct_call *call)
{
	const struct ct_tensor *v = call->values, *x = call->index;
	if (!v || !v->has_shape || !x->has_shape)
		return (struct answer){CT_CHECK_IS_UNKNOWN, "shape-not-read", "the shapes of both arguments were not read"};
	bool ok = true;
	const char *id = "shapes", *wanted = "";
	switch (call->rule->shape) {
	case CT_SHAPE_LABELS:
		ok = fits_labels(v, x) || (call->rule->dtype == CT_DTYPE_INTEGER_OR_SAME_SHAPE && same_shape(v, x));
		id = "labels-match-scores";
		wanted = ": scores [N, C, ...] go with labels [N, ...]";
		break;
	case CT_SHAPE_SAME:
		ok = same_shape(v, x);
		id = "same-shape";
		wanted = ": they must be equal";
		break;
	case CT_SHAPE_SAME_RANK:
		ok = v->n_shape == x->n_shape || v->n_shape == 0 || x->n_shape == 0;
		id = "same-rank";
		wanted = ": they must have as many dimensions";
		break;
	case CT_SHAPE_ANY:
	case CT_SHAPE_OPEN:
		break;
	}
	const char *seen = ct_arena_printf(&in->arena, "%s %s, %s %s%s", user_name(in, v), shape_text(in, v), user_name(in, x), shape_text(in, x), ok ? "" : wanted);
	enum ct_check_status agreed = call->rule->shape == CT_SHAPE_OPEN ? CT_CHECK_IS_UNKNOWN : CT_CHECK_IS_OK;
	return (struct answer){ok ? agreed : CT_CHECK_IS_SUSPECT, id, seen};
}

static struct answer check_dtype(struct ct_incident *in, const struct ct_call *call)
{
	const struct ct_tensor *v = call->values, *x = call->index;
	if (!x->dtype)
		return (struct answer){CT_CHECK_IS_UNKNOWN, "dtype-not-read", "the type of the elements was not read"};
	bool wants_float = call->rule->dtype == CT_DTYPE_FLOAT;
	bool ok = is_float(x->dtype) == wants_float;
	if (!ok && call->rule->dtype == CT_DTYPE_INTEGER_OR_SAME_SHAPE && v)
		ok = v->has_shape && x->has_shape && same_shape(v, x);
	const char *seen = ct_arena_printf(&in->arena, "%s is %s%s", user_name(in, x), x->dtype,
					   ok ? "" : wants_float ? ": it must be floating point" : ": it must be of integers");
	return (struct answer){ok ? CT_CHECK_IS_OK : CT_CHECK_IS_SUSPECT, wants_float ? "targets-are-floats" : "labels-are-integers", seen};
}

// Asserts of PyTorch that say that an index is outside what it indexes (Loss.cu, NLLLoss2d.cu, Indexing.cu, IndexKernel.cu,
// ScatterGatherKernel.cu, vectorized_gather in 2.x).
static bool is_range_assert(const struct ct_assert *a)
{
	static const char *const pieces[] = {"n_classes", "SelectDimSize", "ind_dim_size", "index_size", "index out of bounds", "sizes[i]", "numRows", "n_tokens"};
	for (size_t i = 0; a->present && a->expression && i < CT_COUNT(pieces); i++)
		if (strstr(a->expression, pieces[i]))
			return true;
	return false;
}

static const char *bound_text(struct ct_incident *in, const struct ct_call *call)
{
	const struct ct_tensor *v = call->values;
	int axis = call->rule->bound_axis;
	if (!v || axis < 0 || v->n_shape == 0)
		return "";
	size_t at = (size_t)axis < v->n_shape ? (size_t)axis : v->n_shape - 1;  // scores [C]
	return ct_arena_printf(&in->arena, "; %s has %" PRId64 " %s", user_name(in, v), v->shape[at], call->rule->bound);
}

bool ct_checks_bound(const struct ct_call *call, int64_t *ret_bound)
{
	const struct ct_tensor *v = call->values;
	int axis = call->rule->bound_axis;
	if (!v || axis < 0 || v->n_shape == 0)
		return false;
	*ret_bound = v->shape[(size_t)axis < v->n_shape ? (size_t)axis : v->n_shape - 1];
	return true;
}

// Of an array of integers in memory: its least and greatest element. By its address: an argument may lead to it, or the tensor was read.
static bool extremes_of(const struct ct_incident *in, const struct ct_tensor *t, int64_t *ret_least, int64_t *ret_most, bool *ret_whole)
{
	const char *least = NULL, *most = NULL;
	for (size_t i = 0; t->has_data_ptr && i < in->gpu.n_memory; i++) {
		const struct ct_device_memory *m = &in->gpu.memory[i];
		if (m->address == t->data_ptr && m->whole && m->min && m->max && m->type && t->dtype && strcmp(m->type, t->dtype) == 0) {
			least = m->min;
			most = m->max;
			*ret_whole = true;
		}
	}
	const struct ct_tensor_memory *m = ct_evidence_of(in, t);
	if (!least && m && m->min && m->max && !is_float(m->type)) {
		least = m->min;
		most = m->max;
		*ret_whole = m->whole;
	}
	if (!least)
		return false;
	*ret_least = strtoll(least, NULL, 10);
	*ret_most = strtoll(most, NULL, 10);
	return true;
}

// The value that a loss leaves out: of the kernel's arguments, else PyTorch's default.
static int64_t ignored(const struct ct_incident *in)
{
	enum { DEFAULT_IGNORE_INDEX = -100 };
	for (size_t i = 0; i < in->gpu.n_arguments; i++) {
		const struct ct_argument *a = &in->gpu.arguments[i];
		if (a->name && a->value && strcmp(a->name, "ignore_index") == 0)
			return strtoll(a->value, NULL, 10);
	}
	return DEFAULT_IGNORE_INDEX;
}

// What was read of the indices, against the size that bounds them. False: nothing was read.
static bool check_read_range(struct ct_incident *in, const struct ct_call *call, const char *bound, struct answer *ret_answer)
{
	int64_t least = 0, most = 0, size = 0;
	bool whole = false, bounded = ct_checks_bound(call, &size);
	if (call->rule->dtype == CT_DTYPE_FLOAT || !extremes_of(in, call->index, &least, &most, &whole))
		return false;
	bool labels = call->rule->shape == CT_SHAPE_LABELS;
	bool below = least < 0 && !(labels && least == ignored(in)), above = most >= size && !(labels && most == ignored(in));
	bool outside = bounded && (below || above);
	enum ct_check_status status = outside ? CT_CHECK_IS_SUSPECT : bounded && whole ? CT_CHECK_IS_OK : CT_CHECK_IS_UNKNOWN;
	*ret_answer = (struct answer){status, "index-in-range",
				      ct_arena_printf(&in->arena, "%s holds %" PRId64 " .. %" PRId64 "%s%s", user_name(in, call->index), least, most,
						      whole ? "" : " in the part that was read", bound)};
	return true;
}

// Of probabilities: what is not in [0, 1].
static bool check_read_probabilities(struct ct_incident *in, const struct ct_call *call, struct answer *ret_answer)
{
	static const char *const what[] = {"NaN", "infinite", "negative", "above 1"};
	const struct ct_tensor *tensors[] = {call->values, call->index};
	for (size_t k = 0; k < CT_COUNT(tensors); k++) {
		const struct ct_tensor_memory *m = ct_evidence_of(in, tensors[k]);
		for (size_t i = 0; m && i < CT_COUNT(what); i++) {
			const struct ct_special *s = ct_evidence_special(m, what[i], i == 3);
			if (!s)
				continue;
			*ret_answer = (struct answer){CT_CHECK_IS_SUSPECT, "probabilities",
						      ct_arena_printf(&in->arena, "%s: %" PRIu64 " of %" PRIu64 " elements are %s; they must be in 0 .. 1",
								      user_name(in, tensors[k]), s->n_found, m->n_elements, what[i])};
			return true;
		}
	}
	return false;
}

static struct answer check_range(struct ct_incident *in, const struct ct_call *call)
{
	const struct ct_assert *a = &in->assertion;
	const char *bound = bound_text(in, call);
	struct answer read;
	if (check_read_range(in, call, bound, &read))
		return read;
	// Logits may be any number.
	if (call->rule->dtype == CT_DTYPE_FLOAT && strcmp(call->rule->call, "binary_cross_entropy") == 0 && check_read_probabilities(in, call, &read))
		return read;
	if (call->rule->dtype != CT_DTYPE_FLOAT && is_range_assert(a)) {
		const char *seen = ct_arena_printf(&in->arena, "a value of %s is outside: the assert `%s` says so%s", user_name(in, call->index), a->expression, bound);
		return (struct answer){CT_CHECK_IS_SUSPECT, "index-in-range", seen};
	}
	if (call->rule->dtype == CT_DTYPE_FLOAT && call->values && a->present && a->expression && strstr(a->expression, "<= one")) {
		const char *seen = ct_arena_printf(&in->arena, "a value of %s is outside [0, 1], or is NaN: the assert `%s` says so", user_name(in, call->values),
						   a->expression);
		return (struct answer){CT_CHECK_IS_SUSPECT, "probabilities", seen};
	}
	return (struct answer){CT_CHECK_IS_UNKNOWN, "values-not-read", ct_arena_printf(&in->arena, "the values of %s were not read%s", user_name(in, call->index), bound)};
}

static struct answer check_device(struct ct_incident *in, const struct ct_call *call)
{
	const struct ct_tensor *v = call->values, *x = call->index;
	if (!v || !v->device || !x->device)
		return (struct answer){CT_CHECK_IS_UNKNOWN, "device-not-read", "the devices of both arguments were not read"};
	if (strcmp(v->device, x->device) == 0)
		return (struct answer){CT_CHECK_IS_OK, "same-device", ct_arena_printf(&in->arena, "both on %s", x->device)};
	// A scalar of the host may go with arrays of any device.
	bool ok = (v->has_shape && v->n_shape == 0) || (x->has_shape && x->n_shape == 0);
	const char *seen = ct_arena_printf(&in->arena, "%s is on %s, %s on %s", user_name(in, v), v->device, user_name(in, x), x->device);
	return (struct answer){ok ? CT_CHECK_IS_UNKNOWN : CT_CHECK_IS_SUSPECT, "same-device", seen};
}

static struct ct_check *add_check(struct ct_incident *in, enum ct_check_kind kind, struct answer answer)
{
	in->checks = ct_arena_grow(&in->arena, in->checks, &in->n_checks, sizeof *in->checks);
	struct ct_check *check = &in->checks[in->n_checks - 1];
	*check = (struct ct_check){.kind = kind, .status = answer.status, .id = answer.id, .seen = answer.seen};
	return check;
}

static void add_name(struct ct_incident *in, struct ct_check *check, const char *name)
{
	check->tensors = ct_arena_grow(&in->arena, check->tensors, &check->n_tensors, sizeof *check->tensors);
	check->tensors[check->n_tensors - 1] = name;
}

static void check_call(struct ct_incident *in, const struct ct_call *call)
{
	static struct answer (*const checks[])(struct ct_incident *, const struct ct_call *) = {
		[CT_CHECK_SHAPE] = check_shape, [CT_CHECK_DTYPE] = check_dtype, [CT_CHECK_RANGE] = check_range, [CT_CHECK_DEVICE] = check_device};
	for (size_t kind = 0; kind < CT_COUNT(checks); kind++) {
		struct ct_check *check = add_check(in, (enum ct_check_kind)kind, checks[kind](in, call));
		check->call = call->rule->call;
		if (call->values)
			add_name(in, check, user_name(in, call->values));
		add_name(in, check, user_name(in, call->index));
	}
}

// ---- A call that is not in the table ---------------------------------------------------------------------------

// The arrays that the innermost line of the reader's own code names; how many are kept is bounded, the line is not long.
static size_t on_line(const struct ct_incident *in, int64_t tid, const struct ct_tensor *found[MAX_SHOWN])
{
	size_t n = 0;
	for (size_t i = 0; i < in->n_tensors && n < MAX_SHOWN; i++) {
		const struct ct_tensor *t = &in->tensors[i];
		if (t->tid != tid || !t->has_depth || !ct_checks_is_user(t) || (n && t->depth != found[0]->depth))
			continue;
		const char *source = ct_checks_source(in, t);
		if (source && ct_checks_has_name(source, t->name))
			found[n++] = t;
	}
	return n;
}

static bool one_device(const struct ct_tensor *const *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!t[i]->device || !t[0]->device || strcmp(t[i]->device, t[0]->device) != 0)
			return false;
	return true;
}

// What was read of them.
static const char *read_of(struct ct_incident *in, const struct ct_tensor *const *t, size_t n)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < n; i++) {
		const struct ct_tensor_memory *m = ct_evidence_of(in, t[i]);
		if (m && m->min && m->max)
			ct_str_addf(&s, "%s%s holds %s .. %s", s.length ? ", " : "", t[i]->name, m->min, m->max);
	}
	return s.length ? ct_arena_strdup(&in->arena, ct_str_text(&s)) : "the values were not read";
}

static void check_line(struct ct_incident *in, int64_t tid)
{
	static const char not_known[] = "what this call asks of its arguments is not known here";
	const struct ct_tensor *found[MAX_SHOWN];
	size_t n = on_line(in, tid, found);
	if (n == 0)
		return;
	CT_AUTO(ct_auto_str) struct ct_str shapes = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str dtypes = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str devices = CT_STR_INIT;
	for (size_t i = 0; i < n; i++) {
		const char *comma = i ? ", " : "";
		ct_str_addf(&shapes, "%s%s %s", comma, found[i]->name, shape_text(in, found[i]));
		ct_str_addf(&dtypes, "%s%s %s", comma, found[i]->name, found[i]->dtype ? found[i]->dtype : "?");
		ct_str_addf(&devices, "%s%s on %s", comma, found[i]->name, found[i]->device ? found[i]->device : "?");
	}
	bool one = one_device(found, n);
	const struct answer answers[] = {
		[CT_CHECK_SHAPE] = {CT_CHECK_IS_UNKNOWN, "call-not-known", ct_arena_printf(&in->arena, "%s: %s", ct_str_text(&shapes), not_known)},
		[CT_CHECK_DTYPE] = {CT_CHECK_IS_UNKNOWN, "call-not-known", ct_arena_printf(&in->arena, "%s: %s", ct_str_text(&dtypes), not_known)},
		[CT_CHECK_RANGE] = {CT_CHECK_IS_UNKNOWN, "call-not-known", read_of(in, found, n)},
		[CT_CHECK_DEVICE] = {one ? CT_CHECK_IS_OK : CT_CHECK_IS_UNKNOWN, "same-device", ct_arena_strdup(&in->arena, ct_str_text(&devices))},
	};
	for (size_t kind = 0; kind < CT_COUNT(answers); kind++) {
		struct ct_check *check = add_check(in, (enum ct_check_kind)kind, answers[kind]);
		for (size_t i = 0; i < n; i++)
			add_name(in, check, found[i]->name);
	}
}

void ct_diagnose_checks(struct ct_incident *incident)
{
	struct ct_call call;
	incident->checks = NULL;
	incident->n_checks = 0;
	const struct ct_host_thread *t = ct_incident_launching(incident);
	if (t && ct_checks_find_call(incident, t->tid, &call))
		check_call(incident, &call);
	else if (t)
		check_line(incident, t->tid);
}
