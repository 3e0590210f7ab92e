// Which elements of an array a thread reads: the maps of data/assert-values.tsv (data/README.md says what they mean).
// SPDX-License-Identifier: GPL-3.0-or-later
#include "values/values_priv.h"

// Lengths stay below this, so that no product of one with a number of 64 bits leaves a ct_wide.
#define MANY ((ct_wide)1 << 62)

const struct ct_given *ct_values_given(const struct ct_values *v, const char *name)
{
	size_t i = ct_rules_argument(v->rule, name);
	return i < v->rule->n_names && i < v->n_given ? &v->given[i] : NULL;
}

static bool number_of(const struct ct_values *v, const char *name, ct_wide *ret_number)
{
	const struct ct_given *g = ct_values_given(v, name);
	if (!g || !g->has_number)
		return false;
	*ret_number = g->number;
	return true;
}

bool ct_values_view_length(const struct ct_gpucore_view *view, ct_wide *ret_length)
{
	ct_wide length = 1, expected = 1;
	for (size_t i = view->n_dims; i-- > 0;) {
		if (view->sizes[i] < 0 || (view->sizes[i] > 1 && view->strides[i] != expected))
			return false;
		length *= view->sizes[i];
		expected *= view->sizes[i];
		if (length > MANY)
			return false;
	}
	*ret_length = length;
	return view->n_dims != 0;
}

// What bounds the map: an argument, or the extent of the array itself.
static bool count_of(const struct ct_values *v, ct_wide *ret_count)
{
	*ret_count = 1;
	if (strcmp(v->rule->map, "first") == 0)
		return true;
	if (v->rule->count)
		return number_of(v, v->rule->count, ret_count) && *ret_count >= 0;
	const struct ct_given *g = ct_values_given(v, v->rule->array);
	return g && g->array && ct_values_view_length(g->array, ret_count);
}

bool ct_values_length(const struct ct_values *v, ct_wide *ret_length)
{
	const struct ct_given *g = ct_values_given(v, v->rule->array);
	ct_wide per_sample;
	if (g && g->array && g->array->n_dims)
		return ct_values_view_length(g->array, ret_length);
	if (!count_of(v, ret_length))
		return false;
	if (strcmp(v->rule->map, "sample-stride") != 0)
		return true;
	if (!number_of(v, "blocks_per_sample", &per_sample) || per_sample <= 0)
		return false;
	*ret_length *= (v->grid.x + per_sample - 1) / per_sample;
	return true;
}

static struct ct_steps steps(ct_wide start, ct_wide step, ct_wide end)
{
	return (struct ct_steps){.start = start, .step = step, .end = step > 0 ? end : start};
}

static struct ct_steps of_samples(const struct ct_values *v, const struct ct_gridpos *at, ct_wide count)
{
	ct_wide per_sample;
	if (!number_of(v, "blocks_per_sample", &per_sample) || per_sample <= 0)
		return steps(0, 1, 0);
	struct ct_steps s = steps(at->block.x % per_sample * v->block.x + at->thread.x, v->block.x * per_sample, count);
	s.how = CT_STEP_ADD;
	s.by = at->block.x / per_sample * count;
	return s;
}

// The last template argument of the kernel itself, a bool that says whether the index is the major one; false: it is something else.
static bool is_index_major(const struct ct_values *v, bool *ret_major)
{
	static const char *const words[] = {"true", "(bool)1", "false", "(bool)0"};
	const char *kernel = v->incident->gpu.kernel.name, *end;
	int depth = 0;
	size_t length;
	if (!kernel || !ct_rules_base_name(kernel, &end, &length))
		return false;
	const char *start = end += length;
	const char *last = *start == '<' ? start + 1 : end;
	for (; *end; end++) {
		depth += *end == '<' || *end == '(' ? 1 : *end == '>' || *end == ')' ? -1 : 0;
		if (depth == 0)
			break;
		if (*end == ',' && depth == 1)
			last = end + 1;
	}
	while (*last == ' ')
		last++;
	for (size_t i = 0; *end == '>' && i < CT_COUNT(words); i++)
		if (strlen(words[i]) == (size_t)(end - last) && memcmp(words[i], last, strlen(words[i])) == 0) {
			*ret_major = i < 2;
			return true;
		}
	return false;
}

static struct ct_steps of_slices(const struct ct_values *v, struct ct_steps grid)
{
	ct_wide inner;
	bool major;
	if (!number_of(v, "innerSize", &inner) || inner <= 0 || !is_index_major(v, &major))
		return steps(0, 1, 0);
	grid.how = major ? CT_STEP_DIVIDE : CT_STEP_MODULO;
	grid.by = inner;
	return grid;
}

struct ct_steps ct_values_steps(const struct ct_values *v, const struct ct_gridpos *at)
{
	const char *map = v->rule->map;
	ct_wide count, width = v->block.x, all = (ct_wide)v->grid.x * v->block.x, place = (ct_wide)at->block.x * v->block.x + at->thread.x;
	if (!count_of(v, &count))
		return steps(0, 1, 0);
	if (strcmp(map, "first") == 0)
		return steps(0, 1, 1);
	if (strcmp(map, "block-x") == 0)
		return steps(at->block.x, 1, at->block.x + (ct_wide)1 < count ? at->block.x + (ct_wide)1 : count);
	if (strcmp(map, "block-stride") == 0)
		return steps(at->thread.x, width, count);
	if (strcmp(map, "grid-stride") == 0)
		return steps(place, all, count);
	if (strcmp(map, "warp-stride") == 0)
		return steps(place / 32, all / 32, count);
	if (strcmp(map, "sample-stride") == 0)
		return of_samples(v, at, count);
	if (strcmp(map, "slice") == 0)
		return of_slices(v, steps(place, all, count));
	return steps(0, 1, strcmp(map, "walk") == 0 ? count : 0);
}

bool ct_steps_at(const struct ct_steps *s, size_t number, ct_wide *ret_index)
{
	ct_wide at = s->start + s->step * (ct_wide)number;
	if (number >= CT_VALUES_STEPS || at >= s->end)
		return false;
	*ret_index = s->how == CT_STEP_DIVIDE ? at / s->by : s->how == CT_STEP_MODULO ? at % s->by : s->how == CT_STEP_ADD ? at + s->by : at;
	return true;
}

bool ct_values_allowed(const struct ct_values *v, struct ct_allowed *ret_allowed)
{
	ct_wide wraps;
	struct ct_allowed a = {.low = 0};
	if (v->rule->high && !number_of(v, v->rule->high, &a.high))
		return false;
	a.has_high = v->rule->high != NULL;
	if (a.has_high && v->rule->wraps && number_of(v, v->rule->wraps, &wraps) && wraps)
		a.low = -a.high;
	a.has_exempt = v->rule->exempt && number_of(v, v->rule->exempt, &a.exempt);
	*ret_allowed = a;
	return true;
}

bool ct_allowed_holds(const struct ct_allowed *a, ct_wide value)
{
	return (a->has_exempt && value == a->exempt) || (value >= a->low && (!a->has_high || value < a->high));
}
