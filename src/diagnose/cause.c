// The likely cause: which row of causes.tsv holds, with the numbers put in, and what the catalogue says of the check that failed.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/catalog.h"

enum { MAX_CHECKS = 8 };

struct judged {
	struct ct_incident *incident;
	const struct ct_failed_value *failed;
	int64_t value, bound;
	bool bounded;
	const char *detail;
};

static bool number(const char *text, int64_t *ret_number)
{
	char *end = NULL;
	if (!text || !*text)
		return false;
	*ret_number = strtoll(text, &end, 10);
	return *end == '\0';
}

// ---- Labels --------------------------------------------------------------------------------------------------

// Kernels whose bound is a number of classes.
static bool is_label(const struct ct_failed_value *f)
{
	return f->bound_name && (strcmp(f->bound_name, "n_classes") == 0 || strcmp(f->bound_name, "classes") == 0);
}

// A label outside that is not the greatest, among those that failing threads read: one void label alone would be the same everywhere.
static bool differs(const struct judged *j, int64_t most)
{
	const struct ct_gpu *gpu = &j->incident->gpu;
	int64_t value;
	for (size_t i = 0; i < gpu->n_memory; i++)
		for (size_t k = 0; k < gpu->memory[i].n_elements_of_threads; k++)
			if (number(gpu->memory[i].elements[k].value, &value) && value >= j->bound && value != most)
				return true;
	return j->value != most;
}

// Values of 8-bit pictures: most of the labels are outside, and they are not all the same.
static bool is_grey(const struct judged *j, int64_t most)
{
	const struct ct_failed_value *f = j->failed;
	return f->whole && most <= 255 && most >= 127 && most / 4 > j->bound && f->n_outside > f->n_elements / 2 && differs(j, most);
}

static const char *label_cause(struct judged *j)
{
	const struct ct_failed_value *f = j->failed;
	int64_t least = 0, most = 0, exempt = 0;
	bool ranged = f->whole && number(f->least, &least) && number(f->most, &most), has_exempt = number(f->exempt, &exempt);
	if (ct_explain_kernel_has(j->incident, "nll_loss") && ct_explain_kernel_has(j->incident, "backward"))
		return "label-changed";
	if (ranged && least == 1 && most == j->bound)
		return "label-one-based";
	if (ranged && is_grey(j, most))
		return "label-grey";
	j->detail = j->value < 0 ? "a negative label usually marks what is to be ignored" : "255 often marks what is to be ignored";
	return has_exempt && exempt != j->value && (j->value < 0 || j->value == 255) ? "label-ignored" : "label-range";
}

// ---- Indices -------------------------------------------------------------------------------------------------

static bool frame_has(const struct ct_host_frame *frames, size_t n, const char *function)
{
	for (size_t i = 0; i < n; i++) {
		const struct ct_host_frame *f = &frames[i];
		if (f->kind == CT_FRAME_PYTHON && f->function && strcmp(f->function, function) == 0)
			return true;
	}
	return false;
}

static bool launched_by(const struct ct_incident *in, const char *function)
{
	const struct ct_host_thread *t = ct_incident_launching(in);
	return t && (frame_has(t->frames, t->n_frames, function) || frame_has(t->python, t->n_python, function));
}

static bool is_lookup(const struct ct_incident *in)
{
	return ct_explain_kernel_has(in, "EmbeddingBag") || launched_by(in, "embedding") || launched_by(in, "embedding_bag");
}

static bool speaks_of_positions(const char *text)
{
	return text && (strstr(text, "position") || strstr(text, "pos_emb"));
}

// The line outside PyTorch that made the lookup: lines further out name all that a model takes.
static bool line_has_positions(const struct ct_host_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (frames[i].kind == CT_FRAME_PYTHON && frames[i].file && !strstr(frames[i].file, "/torch/"))
			return speaks_of_positions(frames[i].source);
	return false;
}

// A table with that many rows that is called so, where there is one; the line may have other lookups in it.
static bool is_position_lookup(const struct judged *j)
{
	const struct ct_incident *in = j->incident;
	const struct ct_host_thread *t = ct_incident_launching(in);
	bool line = t && (line_has_positions(t->frames, t->n_frames) || line_has_positions(t->python, t->n_python)), other = false;
	for (size_t i = 0; line && i < in->n_tensors; i++) {
		const struct ct_tensor *table = &in->tensors[i];
		if (!table->has_shape || table->n_shape != 2 || !ct_ends_with(table->name, ".weight"))
			continue;
		if (speaks_of_positions(table->name))
			return table->shape[0] == j->bound;
		other |= table->shape[0] == j->bound && strcmp(table->name, "self.weight") != 0;
	}
	return line && !other;
}

// Far beyond what any size can be: no arithmetic on indices leads there.
static bool is_garbage(const struct judged *j)
{
	return j->value > INT64_C(1) << 40 || j->value < -(INT64_C(1) << 40);
}

// Ids that were given out behind the last row, one after the other.
static bool is_added(const struct judged *j)
{
	enum { MAX_ADDED = 16 };
	int64_t most = 0;
	return number(j->failed->most, &most) && j->failed->whole && most >= j->bound && most < j->bound + MAX_ADDED && j->bound > MAX_ADDED;
}

static const char *index_cause(struct judged *j)
{
	const struct ct_incident *in = j->incident;
	if (is_garbage(j))
		return "index-garbage";
	if (is_lookup(in) && j->value >= j->bound && is_position_lookup(j))
		return "position-range";
	if (j->value < 0)
		return "index-negative";
	if (is_lookup(in))
		return is_added(j) ? "embedding-added" : "embedding-range";
	return ct_explain_kernel_has(in, "_cuda_scatter_fill_internal_kernel") ? "one-hot" : "index-range";
}

static const char *cause_of(struct judged *j)
{
	const struct ct_failed_value *f = j->failed;
	j->detail = "";
	if (f->id) {
		j->detail = f->detail;
		return f->id;
	}
	j->bounded = number(f->bound, &j->bound);
	if (!f->known || !number(f->text, &j->value) || !j->bounded)
		return f->known ? NULL : ct_explain_fault(j->incident, &j->detail);
	return is_label(f) ? label_cause(j) : index_cause(j);
}

// ---- Words ---------------------------------------------------------------------------------------------------

static const char *word_for(struct judged *j, const char *name, size_t n)
{
	const struct ct_failed_value *f = j->failed;
	struct ct_arena *arena = &j->incident->arena;
	const struct {
		const char *name, *text;
	} words[] = {
		{"value", f->text}, {"bound", f->bound}, {"array", f->array}, {"least", f->least}, {"most", f->most}, {"exempt", f->exempt}, {"detail", j->detail},
		{"last", j->bounded ? ct_arena_printf(arena, "%" PRId64, j->bound - 1) : NULL}, {"s", j->bound == 1 ? "" : "s"},
		{"count", ct_arena_printf(arena, "%" PRIu64, f->n_outside)}, {"total", ct_arena_printf(arena, "%" PRIu64, f->n_elements)},
	};
	for (size_t i = 0; i < CT_COUNT(words); i++)
		if (strlen(words[i].name) == n && memcmp(words[i].name, name, n) == 0)
			return words[i].text ? words[i].text : "?";
	return "?";
}

static const char *filled_in(struct judged *j, const char *text)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (const char *p = text; *p;) {
		const char *end = *p == '{' ? strchr(p, '}') : NULL;
		if (end) {
			ct_str_add(&s, word_for(j, p + 1, (size_t)(end - p - 1)));
			p = end + 1;
		} else {
			ct_str_addc(&s, *p++);
		}
	}
	return ct_arena_strndup(&j->incident->arena, ct_str_text(&s), s.length);
}

static const struct ct_cause_text *text_of(const struct ct_catalog *catalog, const char *id)
{
	for (size_t i = 0; catalog && id && i < catalog->n_causes; i++)
		if (strcmp(catalog->causes[i].id, id) == 0)
			return &catalog->causes[i];
	return NULL;
}

static void add_check(struct ct_incident *incident, const char *text, size_t length)
{
	struct ct_cause *c = &incident->cause;
	if (length == 0 || c->n_checks == MAX_CHECKS)
		return;
	c->checks = ct_arena_grow(&incident->arena, c->checks, &c->n_checks, sizeof *c->checks);
	c->checks[c->n_checks - 1] = ct_arena_clean(&incident->arena, text, length);
}

// "a; b; c" as rows; a semicolon inside parentheses is part of its row.
static void add_checks(struct ct_incident *incident, const char *list)
{
	int depth = 0;
	const char *from = list;
	for (const char *p = list;; p++) {
		depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
		if (*p && !(*p == ';' && depth <= 0))
			continue;
		while (*from == ' ')
			from++;
		add_check(incident, from, p > from ? (size_t)(p - from) : 0);
		from = p + 1;
		if (!*p)
			return;
	}
}

static void add_often(struct ct_incident *incident, const char *causes)
{
	const char *often = ct_arena_printf(&incident->arena, "often: %s", causes);
	add_check(incident, often, strlen(often));
}

// The kind of a call's failure (CUresult): the ids stay, like those of causes.tsv.
static const char *call_id(uint32_t error)
{
	enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_BINARY = 209, UNSUPPORTED_PTX = 222, OUT_OF_RESOURCES = 701, COOPERATIVE_TOO_LARGE = 720 };
	switch (error) {
	case INVALID_VALUE:
	case OUT_OF_RESOURCES:
	case COOPERATIVE_TOO_LARGE:
		return "launch-configuration";
	case OUT_OF_MEMORY:
		return "out-of-memory";
	case NO_BINARY:
	case UNSUPPORTED_PTX:
		return "no-kernel-image";
	default:
		return NULL;
	}
}

void ct_explain_call(struct ct_incident *incident, const struct ct_call_cause *row)
{
	struct ct_arena *arena = &incident->arena;
	const char *why = incident->launch.failed_call.why;
	incident->cause = (struct ct_cause){.present = true, .id = call_id(row->error), .row = ct_arena_strdup(arena, row->id),
					    .text = ct_arena_printf(arena, "%s%s%s", row->meaning, why ? ": " : "", why ? why : "")};
	add_checks(incident, row->check);
	add_often(incident, row->causes);
}

static void add_meaning(struct ct_incident *incident, const struct ct_catalog_row *row)
{
	struct ct_arena *arena = &incident->arena;
	incident->cause.row = ct_arena_strdup(arena, row->id);
	incident->cause.meaning = ct_arena_strdup(arena, row->meaning);
	add_checks(incident, row->check);
	if (*row->causes && strcmp(row->causes, "-") != 0)
		add_often(incident, row->causes);
}

void ct_explain_cause(struct ct_incident *incident, const struct ct_catalog *catalog, const struct ct_catalog_row *row, const struct ct_failed_value *failed)
{
	struct judged j = {.incident = incident, .failed = failed};
	const struct ct_cause_text *found = text_of(catalog, cause_of(&j));
	incident->cause = (struct ct_cause){.present = found || row};
	if (found) {
		incident->cause.id = ct_arena_strdup(&incident->arena, found->id);
		incident->cause.text = filled_in(&j, found->text);
	}
	if (found && strcmp(found->check, "-") != 0)
		add_checks(incident, filled_in(&j, found->check));
	if (row)
		add_meaning(incident, row);
}
