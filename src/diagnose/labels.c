// Predicates about the value that failed: labels, indices, probabilities; see rules.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "diagnose/checks.h"
#include "diagnose/rules.h"

// ---- Labels --------------------------------------------------------------------------------------------------

// Kernels whose bound is a number of classes.
static bool names_classes(const struct ct_failed_value *f)
{
	return f->bound_name && (strcmp(f->bound_name, "n_classes") == 0 || strcmp(f->bound_name, "classes") == 0);
}

static bool is_label(struct ct_judged *j)
{
	return j->numeric && names_classes(j->failed);
}

// A label outside that is not the greatest, among those that failing threads read: one void label alone would be the same everywhere.
static bool differs(const struct ct_judged *j, int64_t most)
{
	const struct ct_gpu *gpu = &j->incident->gpu;
	int64_t value;
	for (size_t i = 0; i < gpu->n_memory; i++)
		for (size_t k = 0; k < gpu->memory[i].n_elements_of_threads; k++)
			if (ct_rule_number(gpu->memory[i].elements[k].value, &value) && value >= j->bound && value != most)
				return true;
	return j->value != most;
}

// Values of 8-bit pictures: most of the labels are outside, and they are not all the same.
static bool is_grey(struct ct_judged *j)
{
	const struct ct_failed_value *f = j->failed;
	int64_t most = 0;
	return j->numeric && f->whole && ct_rule_number(f->most, &most) && most <= 255 && most >= 127 && most / 4 > j->bound && f->n_outside > f->n_elements / 2 && differs(j, most);
}

static bool marks_ignored(struct ct_judged *j)
{
	int64_t exempt = 0;
	j->detail = j->value < 0 ? "a negative label usually marks what is to be ignored" : "255 often marks what is to be ignored";
	return j->numeric && ct_rule_number(j->failed->exempt, &exempt) && exempt != j->value && (j->value < 0 || j->value == 255);
}

static bool backward_loss(struct ct_judged *j)
{
	return ct_explain_kernel_has(j->incident, "nll_loss") && ct_explain_kernel_has(j->incident, "backward");
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

static bool is_lookup(struct ct_judged *j)
{
	const struct ct_incident *in = j->incident;
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
static bool is_position_lookup(struct ct_judged *j)
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
static bool is_garbage(struct ct_judged *j)
{
	return j->numeric && (j->value > INT64_C(1) << 40 || j->value < -(INT64_C(1) << 40));
}

// Ids that were given out behind the last row, one after the other.
static bool is_added(struct ct_judged *j)
{
	enum { MAX_ADDED = 16 };
	int64_t most = 0;
	return j->numeric && ct_rule_number(j->failed->most, &most) && j->failed->whole && most >= j->bound && most < j->bound + MAX_ADDED && j->bound > MAX_ADDED;
}

static bool is_index(struct ct_judged *j)
{
	return j->numeric && !names_classes(j->failed);
}

static bool is_one_value(struct ct_judged *j)
{
	return ct_explain_kernel_has(j->incident, "_cuda_scatter_fill_internal_kernel");
}

// ---- Indices that were made for another tensor ---------------------------------------------------------------

// Equal in all dimensions but one, in which a has the bound and b is large enough for every index. One dimension alone says nothing.
static bool is_wider(const struct ct_tensor *a, const struct ct_tensor *b, int64_t bound, int64_t most)
{
	size_t n_equal = 0, n_wider = 0;
	if (!a->has_shape || !b->has_shape || a->n_shape != b->n_shape)
		return false;
	for (size_t i = 0; i < a->n_shape; i++) {
		n_equal += a->shape[i] == b->shape[i] && a->shape[i] > 1;
		n_wider += a->shape[i] == bound && b->shape[i] > most;
		if (a->shape[i] != b->shape[i] && !(a->shape[i] == bound && b->shape[i] > most))
			return false;
	}
	return n_equal > 0 && n_wider == 1;
}

static bool same_frame(const struct ct_tensor *a, const struct ct_tensor *b)
{
	return a->tid == b->tid && a->has_depth && b->has_depth && a->depth == b->depth && ct_checks_is_user(a) && ct_checks_is_user(b);
}

static bool fits_another(struct ct_judged *j)
{
	const struct ct_incident *in = j->incident;
	int64_t least = 0, most = 0;
	if (!j->numeric || !j->failed->whole || !ct_rule_number(j->failed->least, &least) || !ct_rule_number(j->failed->most, &most) || least < 0)
		return false;
	for (size_t i = 0; i < in->n_tensors; i++) {
		const struct ct_tensor *a = &in->tensors[i];
		const char *source = ct_checks_is_user(a) ? ct_checks_source(in, a) : NULL;
		for (size_t k = 0; source && ct_checks_has_name(source, a->name) && k < in->n_tensors; k++) {
			const struct ct_tensor *b = &in->tensors[k];
			if (!same_frame(a, b) || !is_wider(a, b, j->bound, most))
				continue;
			j->detail = ct_arena_printf(&j->incident->arena, "the indices run from %" PRId64 " to %" PRId64 " and would all fit %s, which has the shape of %s but for "
						    "that dimension", least, most, b->name, a->name);
			return true;
		}
	}
	return false;
}

// ---- Copies that are still running ---------------------------------------------------------------------------

static bool same_kind(const struct ct_tensor *a, const struct ct_tensor *b)
{
	if (!a->dtype || !b->dtype || strcmp(a->dtype, b->dtype) != 0 || !a->has_shape || !b->has_shape || a->n_shape != b->n_shape)
		return false;
	for (size_t i = 0; i < a->n_shape; i++)
		if (a->shape[i] != b->shape[i])
			return false;
	return true;
}

// cudaHostAlloc() gives whole pages; malloc() puts its own header before what it gives, PyTorch's shared memory 64 bytes.
static bool starts_a_page(const struct ct_tensor *t)
{
	enum { PAGE = 4096 };
	return t->device && ct_starts_with(t->device, "cpu") && t->has_storage_ptr && t->storage_ptr % PAGE == 0 && t->storage_ptr &&
	       t->has_storage_bytes && t->storage_bytes >= PAGE;
}

static const struct ct_tensor *array_of(const struct ct_judged *j)
{
	for (size_t i = 0; j->failed->array && i < j->incident->n_tensors; i++) {
		const struct ct_tensor *t = &j->incident->tensors[i];
		if (t->device && !ct_starts_with(t->device, "cpu") && strcmp(t->name, j->failed->array) == 0)
			return t;
	}
	return NULL;
}

static bool pinned_twin(struct ct_judged *j)
{
	const struct ct_incident *in = j->incident;
	const struct ct_tensor *array = j->numeric ? array_of(j) : NULL;
	for (size_t i = 0; array && i < in->n_tensors; i++) {
		const struct ct_tensor *t = &in->tensors[i];
		if (!same_frame(t, array) || !starts_a_page(t) || !same_kind(t, array))
			continue;
		j->detail = ct_arena_printf(&j->incident->arena, "%s on the CPU has the shape and type of %s and starts a page, as pinned memory does: with "
					    "non_blocking=True the copy may still run while the program goes on", t->name, array->name);
		return true;
	}
	return false;
}

// ---- Floating point ------------------------------------------------------------------------------------------

static bool is_what(const struct ct_judged *j, const char *what)
{
	return j->failed->what && strcmp(j->failed->what, what) == 0;
}

static bool is_nan(struct ct_judged *j)
{
	j->detail = j->failed->detail;
	return is_what(j, "NaN");
}

static bool is_infinite(struct ct_judged *j)
{
	j->detail = j->failed->detail;
	return is_what(j, "infinite");
}

static bool is_improbable(struct ct_judged *j)
{
	j->detail = j->failed->detail;
	return is_what(j, "negative") || is_what(j, "above 1");
}

static bool is_async_false(struct ct_judged *j)
{
	j->detail = j->failed->detail;
	return is_what(j, "false");
}

// NaN in a tensor of the line's frame, of which the condition may have been computed.
static bool nan_beside(struct ct_judged *j)
{
	const struct ct_incident *in = j->incident;
	const struct ct_tensor *first = NULL;
	for (size_t i = 0; i < in->n_tensors; i++) {
		const struct ct_tensor *t = &in->tensors[i];
		const struct ct_tensor_memory *m = ct_checks_is_user(t) && (!first || same_frame(first, t)) ? ct_evidence_of(in, t) : NULL;
		const struct ct_special *s = ct_evidence_special(m, "NaN", 0);
		if (!first && ct_checks_is_user(t))
			first = t;
		if (!s)
			continue;
		j->detail = ct_arena_printf(&j->incident->arena, "%s%s%" PRIu64 " of %" PRIu64 " elements of %s, in the same frame, %s NaN, which fails every comparison",
					    j->detail, *j->detail ? "; " : "", s->n_found, m->n_elements, m->name, s->n_found == 1 ? "is" : "are");
		return true;
	}
	return false;
}

const struct ct_named_predicate ct_value_predicates[] = {
	{"label", .holds = is_label}, {"grey-values", .holds = is_grey}, {"marks-ignored", .holds = marks_ignored},
	{"backward-loss", .holds = backward_loss}, {"index", .holds = is_index}, {"lookup", .holds = is_lookup},
	{"position-lookup", .holds = is_position_lookup}, {"garbage", .holds = is_garbage}, {"just-behind", .holds = is_added},
	{"one-value", .holds = is_one_value}, {"fits-another", .holds = fits_another}, {"pinned-twin", .holds = pinned_twin}, {"nan", .holds = is_nan},
	{"infinite", .holds = is_infinite}, {"improbable", .holds = is_improbable}, {"async-false", .holds = is_async_false},
	{"nan-beside", .holds = nan_beside}, {NULL, NULL, NULL},
};
