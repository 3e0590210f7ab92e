// The tensors of the launching call, a row each; see text_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "render/text_priv.h"

enum { MAX_ROWS = 12, MAX_NAMES = 3, COLUMNS = 5, NAME_COLUMNS = 28, CELL_COLUMNS = 24 };

struct cells {
	const char *text[COLUMNS];  // name, shape, dtype, device, values
	const char *mark;
};

struct table {
	struct cells *rows;
	size_t n_rows, n_left;
};

static bool same_array(const struct ct_tensor *a, const struct ct_tensor *b)
{
	if (!a->has_data_ptr || !b->has_data_ptr || a->data_ptr != b->data_ptr || a->n_shape != b->n_shape || !a->dtype || !b->dtype)
		return false;
	return strcmp(a->dtype, b->dtype) == 0 && (a->n_shape == 0 || memcmp(a->shape, b->shape, a->n_shape * sizeof *a->shape) == 0);
}

static const char *names_of(struct ct_page *page, size_t first)
{
	const struct ct_incident *in = page->incident;
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	size_t n = 0;
	for (size_t i = first; i < in->n_tensors && n < MAX_NAMES; i++) {
		const struct ct_tensor *t = &in->tensors[i];
		const char *name = t->name ? ct_page_flat(page, t->name) : "?";
		if (i != first && (!same_array(t, &in->tensors[first]) || strstr(ct_str_text(&s), name)))
			continue;
		ct_str_addf(&s, "%s%s", n ? " = " : "", name);
		n++;
	}
	return ct_arena_strndup(&page->arena, ct_str_text(&s), s.length);
}

static bool was_shown(const struct ct_incident *in, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_array(&in->tensors[i], &in->tensors[index]))
			return true;
	return false;
}

static const char *shape_of(struct ct_page *page, const struct ct_tensor *t)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	if (!t->has_shape)
		return "";
	for (size_t i = 0; i < t->n_shape; i++)
		ct_str_addf(&s, "%s%" PRId64, i ? ", " : "", t->shape[i]);
	return ct_arena_printf(&page->arena, "[%s]", ct_str_text(&s));
}

// The argument that points to this array's first element; NULL: none.
static const struct ct_argument *argument_of(const struct ct_incident *in, size_t index)
{
	for (size_t i = 0; i < in->gpu.n_arguments; i++) {
		const struct ct_argument *a = &in->gpu.arguments[i];
		for (size_t k = 0; a->tensor && a->has_tensor_offset && a->tensor_offset == 0 && k < in->n_tensors; k++)
			if (in->tensors[k].name && strcmp(in->tensors[k].name, a->tensor) == 0 && (k == index || same_array(&in->tensors[k], &in->tensors[index])))
				return a;
	}
	return NULL;
}

static const struct ct_device_memory *memory_of(const struct ct_incident *in, const struct ct_argument *a)
{
	for (size_t i = 0; a && i < in->gpu.n_memory; i++)
		if (in->gpu.memory[i].argument == a->index && in->gpu.memory[i].min && in->gpu.memory[i].max)
			return &in->gpu.memory[i];
	return NULL;
}

// Value of the argument that the assert names and that the elements exceed; NULL: none.
static const char *bound_of(const struct ct_page *page, const struct ct_device_memory *m)
{
	const struct ct_gpu *gpu = &page->incident->gpu;
	for (size_t i = 0; i < m->n_outside; i++)
		for (size_t k = 0; k < gpu->n_arguments; k++) {
			const struct ct_argument *a = &gpu->arguments[k];
			if (a->index == m->outside[i].argument && a->name && a->value && ct_text_in_expression(page, a->name))
				return a->value;
		}
	return NULL;
}

static const char *mark_of(struct ct_page *page, const struct ct_argument *a, const struct ct_device_memory *m)
{
	const char *bound = m ? bound_of(page, m) : NULL;
	if (m && m->n_elements_of_threads)
		return ct_arena_printf(&page->arena, "<-- index %" PRIu64 " holds %s%s%s", m->elements[0].index, m->elements[0].value,
				       bound ? ", the kernel allows less than " : "", bound ? bound : "");
	return a ? ct_arena_printf(&page->arena, "argument %" PRIu32, a->index) : NULL;
}

static void add_tensor(struct ct_page *page, struct table *table, size_t index)
{
	const struct ct_incident *in = page->incident;
	const struct ct_tensor *t = &in->tensors[index];
	if (table->n_rows == MAX_ROWS) {
		table->n_left++;
		return;
	}
	table->rows = ct_arena_grow(&page->arena, table->rows, &table->n_rows, sizeof *table->rows);
	struct cells *c = &table->rows[table->n_rows - 1];
	const struct ct_argument *a = argument_of(in, index);
	const struct ct_device_memory *m = memory_of(in, a);
	const char *device = t->kind ? ct_arena_printf(&page->arena, "%s, %s", t->device ? t->device : "", t->kind) : t->device ? t->device : "";
	*c = (struct cells){
		.text = {ct_elide_middle(&page->arena, names_of(page, index), NAME_COLUMNS), ct_elide_end(&page->arena, shape_of(page, t), CELL_COLUMNS),
			 t->dtype ? ct_elide_end(&page->arena, ct_page_flat(page, t->dtype), CELL_COLUMNS) : "",
			 ct_elide_end(&page->arena, ct_page_flat(page, device), CELL_COLUMNS), m ? ct_arena_printf(&page->arena, "%s .. %s", m->min, m->max) : ""},
		.mark = mark_of(page, a, m),
	};
}

static size_t column_width(const struct table *table, const char *title, size_t column)
{
	size_t width = ct_text_columns(title);
	for (size_t i = 0; i < table->n_rows; i++) {
		size_t n = ct_text_columns(table->rows[i].text[column]);
		width = n > width ? n : width;
	}
	return width;
}

static void print_row(struct ct_page *page, const char *const *text, const size_t *width, const char *mark)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < COLUMNS; i++) {
		size_t n = ct_text_columns(text[i]);
		if (width[i] == 0)
			continue;
		ct_str_addf(&s, "%s%s%*s", s.length ? "  " : "", text[i], (int)(width[i] - n), "");
	}
	if (mark)
		ct_str_addf(&s, "  %s", mark);
	ct_page_wrap(page, 2, 6, CT_PLAIN, 3, ct_str_text(&s));
}

// What the tensors say about each other, where something is wrong.
static void print_checks(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	for (size_t i = 0; i < in->n_checks; i++)
		if (in->checks[i].status == CT_CHECK_IS_SUSPECT && in->checks[i].seen)
			ct_page_wrap(page, 2, 6, CT_PLAIN, 3, ct_arena_printf(&page->arena, "%s: %s", ct_check_kind_word(in->checks[i].kind), in->checks[i].seen));
}

void ct_text_tensors(struct ct_page *page)
{
	static const char *const titles[COLUMNS] = {"", "shape", "dtype", "device", "values"};
	const struct ct_incident *in = page->incident;
	struct table table = {.rows = NULL};
	size_t width[COLUMNS];
	// Those that the kernel was given come first.
	for (int given = 1; given >= 0; given--)
		for (size_t i = 0; i < in->n_tensors; i++)
			if (!was_shown(in, i) && (argument_of(in, i) != NULL) == (given != 0))
				add_tensor(page, &table, i);
	if (table.n_rows == 0)
		return;
	ct_page_heading(page, "Tensors");
	for (size_t i = 0; i < COLUMNS; i++) {
		width[i] = column_width(&table, "", i);
		if (width[i])
			width[i] = column_width(&table, titles[i], i);
	}
	print_row(page, titles, width, NULL);
	for (size_t i = 0; i < table.n_rows; i++)
		print_row(page, table.rows[i].text, width, table.rows[i].mark);
	if (table.n_left)
		ct_page_line(page, 2, CT_PLAIN, ct_arena_printf(&page->arena, "+ %zu more tensors in incident.json", table.n_left));
	print_checks(page);
}
