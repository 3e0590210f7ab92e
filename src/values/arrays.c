// The arrays of integers among a kernel's arguments: what their elements are, and which of them broke the failing threads.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "values/values_priv.h"

// An array being read.
struct reading {
	struct ct_values *v;
	const struct ct_given *given;
	const struct ct_gpucore_view *array;
	bool by_rule;     // it is the one of the rule, and the launch is known
	bool has_length;
	ct_wide length;
	struct ct_piece piece;
	size_t n;  // elements in the piece
	struct ct_extremes extremes;  // of these; when n is not 0
};

static ct_wide number_at(const struct reading *r, size_t i)
{
	return ct_values_number(r->piece.bytes + i * r->array->element->size, r->array->element);
}

// Elements outside 0 .. bound - 1, and the first of them.
static bool add_outside(struct reading *r, struct ct_device_memory *row, const struct ct_given *bound)
{
	struct ct_outside found = {.argument = bound->row->index};
	if (r->extremes.least >= 0 && r->extremes.most < bound->number)
		return true;
	r->v->comparisons += r->n;
	for (size_t i = 0; i < r->n; i++) {
		ct_wide number = number_at(r, i);
		if (number >= 0 && number < bound->number)
			continue;
		if (found.n_outside++)
			continue;
		found.index = i;
		found.value = ct_values_text(&r->v->incident->arena, number);
	}
	row->outside = ct_arena_grow(&r->v->incident->arena, row->outside, &row->n_outside, sizeof *row->outside);
	row->outside[row->n_outside - 1] = found;
	return true;
}

// Integer arguments that, taken as a bound, some elements exceed: candidates, nothing more.
static void add_exceeded(struct reading *r, struct ct_device_memory *row)
{
	for (size_t i = 0; i < r->v->n_given && r->v->comparisons < CT_VALUES_COMPARISONS; i++) {
		const struct ct_given *bound = &r->v->given[i];
		if (bound->row->kind == CT_ARGUMENT_INTEGER && bound->has_number && bound->number > 0)
			add_outside(r, row, bound);
	}
}

static bool element_at(struct reading *r, ct_wide index, ct_wide *ret_number)
{
	if (index < 0 || (r->has_length && index >= r->length && index >= (ct_wide)r->n))
		return false;
	if (index < (ct_wide)r->n) {
		*ret_number = number_at(r, (size_t)index);
		return true;
	}
	return ct_values_one(r->v, (uint64_t)(r->array->address + index * (ct_wide)r->array->element->size), r->array->element, ret_number);
}

// The first element that this thread reads and that is not allowed.
static void add_offending(struct reading *r, struct ct_device_memory *row, const struct ct_allowed *allowed, const struct ct_gridpos *at)
{
	const struct ct_steps steps = ct_values_steps(r->v, at);
	ct_wide index, number;
	for (size_t i = 0; ct_steps_at(&steps, i, &index); i++) {
		if (!element_at(r, index, &number))
			return;
		if (ct_allowed_holds(allowed, number))
			continue;
		ct_values_add_element(r->v, row, (uint64_t)index, number, *at);
		return;
	}
}

static void add_elements(struct reading *r, struct ct_device_memory *row)
{
	const struct ct_group *g = &r->v->incident->gpu.groups[0];
	struct ct_allowed allowed;
	row->rule = ct_arena_strdup(&r->v->incident->arena, r->v->rule->id);
	if (!ct_values_allowed(r->v, &allowed))
		return;
	for (size_t i = 0; i < g->n_lanes && i < CT_MAX_LANES; i++)
		add_offending(r, row, &allowed, &g->lanes[i].at);
}

static void find_length(struct reading *r)
{
	if (r->by_rule)
		r->has_length = ct_values_length(r->v, &r->length);
	else
		r->has_length = ct_values_view_length(r->array, &r->length);
}

// Whether there is something to say of the elements.
static bool read_elements(struct reading *r, struct ct_device_memory *row)
{
	size_t each = r->array->element->size, wanted = CT_VALUES_BLIND_BYTES;
	if (r->has_length)
		wanted = r->length * (ct_wide)each < CT_VALUES_KNOWN_BYTES ? (size_t)r->length * each : CT_VALUES_KNOWN_BYTES;
	if (r->v->comparisons >= CT_VALUES_COMPARISONS)
		row->failed = CT_VALUES_NO_TIME;
	else if (wanted && !ct_values_block(r->v, r->array->address, wanted, &r->piece))
		row->failed = ct_values_absent(r->v, r->array->address);
	if (row->failed)
		return false;
	r->n = r->piece.size / each;
	row->n_elements = r->n;
	row->whole = r->has_length && r->length == (ct_wide)r->n;
	return true;
}

static void read_array(struct ct_values *v, const struct ct_given *g, bool by_rule)
{
	struct reading r = {.v = v, .given = g, .array = g->array, .by_rule = by_rule};
	struct ct_device_memory *row = ct_values_add_row(v);
	*row = (struct ct_device_memory){.argument = g->row->index, .address = g->array->address, .type = g->array->element->word};
	find_length(&r);
	if (read_elements(&r, row)) {
		if (r.n) {
			v->comparisons += r.n;
			r.extremes = ct_values_extremes(r.piece.bytes, r.n, r.array->element);
			ct_values_add_extremes(&v->incident->arena, &r.extremes, row);
			add_exceeded(&r, row);
		}
		if (by_rule)
			add_elements(&r, row);
	}
	ct_piece_done(&r.piece);
}

static bool has_const_pointee(const char *type)
{
	size_t end = strcspn(type, "*");
	for (size_t at = 0; at < end;) {
		size_t n = strcspn(type + at, " *");
		if (n == strlen("const") && memcmp(type + at, "const", n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

// What a kernel is given to write to holds nothing that it checks. A struct does not tell.
static bool is_input(const struct ct_given *g)
{
	return g->row->kind != CT_ARGUMENT_POINTER || (g->name && *g->name) || has_const_pointee(g->row->type);
}

void ct_values_arrays(struct ct_values *v)
{
	const struct ct_given *first = v->rule ? ct_values_given(v, v->rule->array) : NULL;
	for (size_t i = 0; i <= v->n_given; i++) {  // the rule's own before all others
		const struct ct_given *g = i ? &v->given[i - 1] : first;
		if (!g || (i && g == first) || !g->array || g->array->address == 0 || !is_input(g))
			continue;
		if (v->rule && g != first && g->array->element->size == 1)
			continue;  // char *: bytes of any type
		read_array(v, g, g == first && v->has_dims);
	}
}
