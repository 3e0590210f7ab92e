// Values, arguments, tensors and the likely cause; see text_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "render/text_priv.h"

enum { MAX_HEAD_VALUES = 8, MAX_LOCALS = 32, MAX_ARGUMENTS_SHOWN = 24, MAX_MEMORY_SHOWN = 8, TYPE_COLUMNS = 36, TENSOR_COLUMNS = 24, BYTES_SHOWN = 16, MAX_CHECKS = 8, LINES_OF_A_CHECK = 5 };

// ---- Values --------------------------------------------------------------------------------------------------

// Does the expression use name as a word of its own?
bool ct_text_in_expression(const struct ct_page *page, const char *name)
{
	const struct ct_assert *a = &page->incident->assertion;
	size_t n = strlen(name);
	for (const char *p = a->present && a->expression && n ? strstr(a->expression, name) : NULL; p; p = strstr(p + 1, name)) {
		bool starts = p == a->expression || (!isalnum((unsigned char)p[-1]) && p[-1] != '_');
		if (starts && !isalnum((unsigned char)p[n]) && p[n] != '_')
			return true;
	}
	return false;
}

static bool is_local(const struct ct_value *v)
{
	return v->how && (ct_starts_with(v->how, "local of ") || ct_starts_with(v->how, "argument of "));
}

static void add_value(struct ct_page *page, struct ct_rows *rows, const struct ct_value *v)
{
	const char *label = v->text ? ct_arena_printf(&page->arena, "%s = %s", v->name, v->text) : v->name;
	const char *how = v->how ? v->how : "";
	if (!v->text)
		ct_rows_addf(page, rows, label, "not known: %s", v->why_not ? v->why_not : "it could not be read");
	else if (v->candidate)
		ct_rows_addf(page, rows, label, "a candidate, not known to be the one: %s", how);
	else
		ct_rows_add(page, rows, label, CT_PLAIN, how);
}

// A local that the debugger could not read is told here only when nothing else tells its value.
static bool is_told(const struct ct_page *page, const struct ct_value *v)
{
	for (size_t i = 0; i < page->incident->n_values; i++)
		if (page->incident->values[i].text && strcmp(page->incident->values[i].name, v->name) == 0)
			return true;
	return false;
}

void ct_text_values(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_incident *in = page->incident;
	size_t shown = 0, left = 0;
	for (size_t i = 0; i < in->n_values; i++) {
		const struct ct_value *v = &in->values[i];
		if ((is_local(v) && !ct_text_in_expression(page, v->name)) || (!v->text && is_told(page, v)))
			continue;
		if (shown == MAX_HEAD_VALUES) {
			left++;
			continue;
		}
		add_value(page, rows, v);
		shown++;
	}
	if (left)
		ct_rows_addf(page, rows, "", "+ %zu more values", left);
}

static void add_locals(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_incident *in = page->incident;
	size_t shown = 0;
	for (size_t i = 0; i < in->n_values && shown < MAX_LOCALS; i++) {
		const struct ct_value *v = &in->values[i];
		if (!is_local(v) || !v->text || ct_text_in_expression(page, v->name))
			continue;
		ct_rows_addf(page, rows, shown ? "" : "locals", "%s = %s   %s", v->name, v->text, v->how);
		rows->row[rows->n - 1].max_lines = 2;
		shown++;
	}
}

// ---- Arguments -----------------------------------------------------------------------------------------------

static const char *argument_text(struct ct_page *page, const struct ct_argument *a)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	if (a->type)
		ct_str_add(&s, ct_elide_middle(&page->arena, ct_page_flat(page, a->type), TYPE_COLUMNS));
	if (a->name)
		ct_str_addf(&s, "%s%s", s.length ? " " : "", a->name);
	if (a->value)
		ct_str_addf(&s, "%s%s", s.length ? " = " : "", a->value);
	if (!a->value || a->kind == CT_ARGUMENT_STRUCT)
		ct_str_addf(&s, "%s%" PRIu32 " byte%s%s", s.length ? ", " : "", a->size_bytes, a->size_bytes == 1 ? "" : "s", a->bytes ? "" : ", not read");
	if (!a->value && a->bytes && a->size_bytes <= BYTES_SHOWN)
		ct_str_addf(&s, ": %s", a->bytes);
	if (a->tensor)
		ct_str_addf(&s, "   -> %s", ct_elide_middle(&page->arena, ct_page_flat(page, a->tensor), TENSOR_COLUMNS));
	if (a->tensor && a->has_tensor_offset && a->tensor_offset)
		ct_str_addf(&s, " + %" PRIu64 " bytes", a->tensor_offset);
	return ct_arena_strndup(&page->arena, ct_str_text(&s), s.length);
}

static void add_arguments(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_gpu *gpu = &page->incident->gpu;
	for (size_t i = 0; i < gpu->n_arguments && i < MAX_ARGUMENTS_SHOWN; i++) {
		ct_rows_add(page, rows, ct_arena_printf(&page->arena, "argument %" PRIu32, gpu->arguments[i].index), CT_PLAIN, argument_text(page, &gpu->arguments[i]));
		rows->row[rows->n - 1].max_lines = gpu->arguments[i].tensor ? 2 : 1;
	}
	if (gpu->n_arguments > MAX_ARGUMENTS_SHOWN)
		ct_rows_addf(page, rows, "", "+ %zu more arguments", gpu->n_arguments - MAX_ARGUMENTS_SHOWN);
}

static void add_memory(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_gpu *gpu = &page->incident->gpu;
	size_t shown = 0;
	for (size_t i = 0; i < gpu->n_memory && shown < MAX_MEMORY_SHOWN; i++) {
		const struct ct_device_memory *m = &gpu->memory[i];
		if (m->failed || !m->min || !m->max)
			continue;
		if (m->name) {
			ct_rows_addf(page, rows, shown ? "" : "read", "argument %" PRIu32 " holds a pointer to %s, %s%s, %s .. %s%s%s", m->argument, m->name,
				     m->whole ? "" : "at least ", ct_text_count(&page->arena, m->n_elements, "element", "elements"), m->min, m->max,
				     m->bound ? ", which are to be below " : "", m->bound ? m->bound : "");
			shown++;
			continue;
		}
		ct_rows_addf(page, rows, shown ? "" : "read", "argument %" PRIu32 " points to %s%s, %s .. %s", m->argument, m->whole ? "" : "at least ",
			     ct_text_count(&page->arena, m->n_elements, "element", "elements"), m->min, m->max);
		shown++;
	}
}

static void add_tensors(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_gpu *gpu = &page->incident->gpu;
	size_t shown = 0;
	for (size_t i = 0; i < gpu->n_tensors && shown < MAX_MEMORY_SHOWN; i++) {
		const struct ct_tensor_memory *m = &gpu->tensors[i];
		if (!m->n_elements || !m->min || !m->max)
			continue;
		const struct ct_special *nan = m->n_special && strcmp(m->special[0].what, "NaN") == 0 ? &m->special[0] : NULL;
		ct_rows_addf(page, rows, shown ? "" : "in tensors", "%s: %s%s, %s .. %s%s", ct_page_flat(page, m->name), m->whole ? "" : "of a sample of ",
			     ct_text_count(&page->arena, m->n_elements, "element", "elements"), m->min, m->max,
			     nan ? ct_arena_printf(&page->arena, ", and %" PRIu64 " NaN", nan->n_found) : "");
		shown++;
	}
}

void ct_text_arguments(struct ct_page *page, struct ct_rows *rows)
{
	add_arguments(page, rows);
	add_memory(page, rows);
	add_tensors(page, rows);
	add_locals(page, rows);
}

// ---- The cause -----------------------------------------------------------------------------------------------

// Those of the causes, the first one's first, then what the check that failed asks for: each once.
static size_t checks_of(const struct ct_incident *in, const char *found[MAX_CHECKS])
{
	size_t n = 0;
	for (size_t i = 0; i <= in->n_causes; i++) {
		const char **checks = i < in->n_causes ? in->causes[i].checks : in->meaning.checks;
		size_t n_checks = i < in->n_causes ? in->causes[i].n_checks : in->meaning.n_checks;
		for (size_t k = 0; k < n_checks && n < MAX_CHECKS; k++) {
			bool seen = false;
			for (size_t j = 0; j < n && !seen; j++)
				seen = strcmp(found[j], checks[k]) == 0;
			if (!seen)
				found[n++] = checks[k];
		}
	}
	return n;
}

static void add_causes(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	for (size_t i = 0; i < in->n_causes; i++) {
		const struct ct_cause *c = &in->causes[i];
		ct_page_wrap(page, 2, 2, CT_PLAIN, LINES_OF_A_CHECK, i ? ct_arena_printf(&page->arena, "or: %s", c->text) : c->text);
		if (c->evidence)
			ct_page_wrap(page, 4, 4, CT_PLAIN, LINES_OF_A_CHECK, ct_arena_printf(&page->arena, "Evidence: %s", c->evidence));
	}
}

void ct_text_cause(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	const char *meaning = in->meaning.text, *checks[MAX_CHECKS];
	if (in->n_causes == 0 && !in->meaning.present)
		return;
	ct_page_heading(page, in->n_causes ? "Likely cause" : "What the check means");
	add_causes(page);
	if (meaning)
		ct_page_wrap(page, 2, 2, CT_PLAIN, LINES_OF_A_CHECK, in->n_causes ? ct_arena_printf(&page->arena, "The check that failed says: %s", meaning) : meaning);
	size_t n = checks_of(in, checks);
	if (n == 0)
		return;
	ct_page_heading(page, "Check first");
	for (size_t i = 0; i < n; i++)
		ct_page_wrap(page, 2, 4, CT_PLAIN, LINES_OF_A_CHECK, ct_arena_printf(&page->arena, "- %s", checks[i]));
}
