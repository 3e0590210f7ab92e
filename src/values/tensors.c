// What is in the tensors that the launching thread's frames name: least, greatest, NaN, and the first that no dimension allows.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <math.h>
#include <strings.h>

#include "values/elements.h"
#include "values/values_priv.h"

enum {
	MAX_READ = 24,
	MAX_BOUNDS = 24,  // of dimensions, and as many of arguments
	WHOLE_BYTES = 64 << 20,  // above this a tensor is sampled: whole pieces at even distances
	PIECE_BYTES = 1 << 20,
	SAMPLED_PIECES = 32,
	MAX_MS = 3000,
	MAX_FRAMES = 12,
};

// A tensor being read.
struct facts {
	struct ct_values *v;
	const struct ct_element_type *element;
	const ct_wide *bounds;  // ascending
	size_t n_bounds;
	struct ct_tensor_memory *row;
	bool any;  // least and most are there
	ct_wide least, most;
	double f_least, f_most;
};

// ---- Which tensors, which bounds -----------------------------------------------------------------------------

static bool contains_any(const char *text)
{
	// Words of Python lines and functions, and of kernels, that work with probabilities.
	static const char *const words[] = {"binary_cross_entropy", "bceloss", "multinomial", "bernoulli", "_assert_async", "distributions", "probability"};
	for (size_t i = 0; text && i < CT_COUNT(words); i++)
		if (strcasestr(text, words[i]))
			return true;
	return false;
}

// *left counts the Python frames that are still looked at.
static bool frames_speak(const struct ct_host_frame *frames, size_t n, size_t *left)
{
	for (size_t i = 0; i < n && *left; i++) {
		if (frames[i].kind != CT_FRAME_PYTHON)
			continue;
		--*left;
		if (contains_any(frames[i].function) || contains_any(frames[i].source))
			return true;
	}
	return false;
}

// The kernel, or a Python frame that launches it.
static bool speaks_of_probabilities(const struct ct_incident *in)
{
	const struct ct_host_thread *t = ct_incident_launching(in);
	size_t left = MAX_FRAMES;
	return (in->gpu.has_kernel && contains_any(in->gpu.kernel.name)) ||
	       (t && (frames_speak(t->frames, t->n_frames, &left) || frames_speak(t->python, t->n_python, &left)));
}

static bool is_on_gpu(const struct ct_tensor *t)
{
	return t->device && (strncasecmp(t->device, "cuda", 4) == 0 || strncasecmp(t->device, "gpu", 3) == 0);
}

// Elements, and from the first to the last in memory. False: it is not one that can be read.
static bool extent_of(const struct ct_tensor *t, ct_wide *ret_count, ct_wide *ret_span, bool *ret_dense)
{
	const ct_wide many = (ct_wide)1 << 62;
	bool strided = t->has_stride && t->n_stride == t->n_shape;
	ct_wide count = 1, span = 1, expected = 1;
	if (!t->has_shape || !t->has_data_ptr || !is_on_gpu(t) || t->n_shape > CT_MAX_RANK)
		return false;
	*ret_dense = true;
	for (size_t i = t->n_shape; i-- > 0;) {
		ct_wide n = t->shape[i], stride = strided ? t->stride[i] : expected;
		if (n < 0 || stride < 0)
			return false;
		*ret_dense &= n <= 1 || stride == expected;
		count *= n;
		expected *= n;
		span += (n - 1) * stride;
		if (count > many || span > many)
			return false;
	}
	*ret_count = count;
	*ret_span = count ? span : 0;
	return true;
}

static bool same_memory(const struct ct_tensor *a, const struct ct_tensor *b)
{
	return a->data_ptr == b->data_ptr && a->n_shape == b->n_shape && strcmp(a->dtype ? a->dtype : "", b->dtype ? b->dtype : "") == 0 &&
	       memcmp(a->shape, b->shape, a->n_shape * sizeof *a->shape) == 0;
}

// Of the launching thread: those of integers, and of floating point where asked for; innermost frame first, each piece of memory once.
static size_t choose(const struct ct_incident *in, const struct ct_tensor **chosen)
{
	const struct ct_host_thread *launching = ct_incident_launching(in);
	bool floats = speaks_of_probabilities(in), dense;
	size_t n = 0;
	ct_wide count, span;
	for (size_t i = 0; i < in->n_tensors && n < MAX_READ; i++) {
		const struct ct_tensor *t = &in->tensors[i];
		const struct ct_element_type *e = ct_element_type_of(t->dtype);
		bool seen = launching && launching->tid && t->tid && t->tid != launching->tid;
		if (!e || (e->form != CT_FORM_INTEGER && !floats) || seen || !extent_of(t, &count, &span, &dense) || count == 0)
			continue;
		for (size_t k = 0; k < n && !seen; k++)
			seen = same_memory(chosen[k], t);
		if (!seen)
			chosen[n++] = t;
	}
	return n;
}

// Keeps the rows ascending, each once, and no more than room of them.
static void insert(ct_wide *rows, size_t *n, size_t room, ct_wide number)
{
	size_t at = 0;
	while (at < *n && rows[at] < number)
		at++;
	if (at == room || (at < *n && rows[at] == number))
		return;
	if (*n < room)
		++*n;
	memmove(&rows[at + 1], &rows[at], (*n - 1 - at) * sizeof *rows);
	rows[at] = number;
}

// Sizes of dimensions of the tensors in the frames: what an index may be meant for. The smallest, ascending.
static size_t bounds_of_tensors(const struct ct_incident *in, ct_wide *bounds)
{
	size_t n = 0;
	for (size_t i = 0; i < in->n_tensors; i++)
		for (size_t k = 0; k < in->tensors[i].n_shape; k++)
			if (in->tensors[i].shape[k] > 0)
				insert(bounds, &n, MAX_BOUNDS, in->tensors[i].shape[k]);
	return n;
}

// Of arguments without a type too, as Triton's have none: numbers that can be a count.
static bool count_in(const struct ct_given *g, ct_wide *ret_number)
{
	uint64_t number = 0;
	if (g->row->kind == CT_ARGUMENT_INTEGER && g->has_number) {
		*ret_number = g->number;
	} else if (g->row->kind == CT_ARGUMENT_BYTES && g->bytes) {
		for (size_t i = g->row->size_bytes; i-- > 0;) {
			if (i >= sizeof number && g->bytes[i])
				return false;
			number = i < sizeof number ? number << 8 | g->bytes[i] : 0;
		}
		*ret_number = number;
	} else {
		return false;
	}
	return *ret_number > 1 && *ret_number < INT64_C(1) << 31;
}

static size_t gather_bounds(const struct ct_values *v, ct_wide *bounds)
{
	size_t n = bounds_of_tensors(v->incident, bounds);
	ct_wide number;
	for (size_t i = 0, found = 0; i < v->n_given && found < MAX_BOUNDS; i++)
		if (count_in(&v->given[i], &number)) {
			insert(bounds, &n, 2 * MAX_BOUNDS, number);
			found++;
		}
	return n;
}

// ---- Elements ------------------------------------------------------------------------------------------------

static const char *text_at(const struct facts *f, const uint8_t *bytes)
{
	struct ct_arena *arena = &f->v->incident->arena;
	return f->element->form == CT_FORM_INTEGER ? ct_values_text(arena, ct_values_number(bytes, &f->element->type)) : ct_element_float_text(arena, f->element, ct_element_float(f->element, bytes));
}

// n_found elements of a piece that begins with element number start; the first of them is at that place in the piece.
static void note(struct facts *f, const char *what, uint64_t bound, uint64_t n_found, const uint8_t *piece, size_t first, uint64_t start)
{
	struct ct_tensor_memory *m = f->row;
	if (n_found == 0)
		return;
	for (size_t i = 0; i < m->n_special; i++)
		if (m->special[i].bound == bound && strcmp(m->special[i].what, what) == 0) {
			m->special[i].n_found += n_found;
			return;
		}
	m->special = ct_arena_grow(&f->v->incident->arena, m->special, &m->n_special, sizeof *m->special);
	m->special[m->n_special - 1] = (struct ct_special){
		.what = what, .bound = bound, .n_found = n_found, .index = start + first, .value = text_at(f, piece + first * f->element->type.size)};
}

static void note_outside(struct facts *f, const uint8_t *piece, size_t n, uint64_t start, bool negative, ct_wide bound)
{
	size_t first = 0;
	uint64_t n_found = 0;
	for (size_t i = 0; i < n; i++) {
		ct_wide number = ct_values_number(piece + i * f->element->type.size, &f->element->type);
		if (negative ? number >= 0 : number < bound)
			continue;
		if (n_found++ == 0)
			first = i;
	}
	note(f, negative ? "negative" : "not below", negative ? 0 : (uint64_t)bound, n_found, piece, first, start);
}

static void take_integers(struct facts *f, const uint8_t *piece, size_t n, uint64_t start)
{
	struct ct_extremes e = ct_values_extremes(piece, n, &f->element->type);
	if (!f->any || e.least < f->least) {
		f->least = e.least;
		f->row->min_index = start + e.least_at;
	}
	if (!f->any || e.most > f->most) {
		f->most = e.most;
		f->row->max_index = start + e.most_at;
	}
	f->any = true;
	if (e.least < 0)
		note_outside(f, piece, n, start, true, 0);
	for (size_t i = 0; i < f->n_bounds; i++)
		if (e.most >= f->bounds[i])
			note_outside(f, piece, n, start, false, f->bounds[i]);
}

static void take_float(struct facts *f, double value, uint64_t index)
{
	if (isnan(value))
		return;
	if (!f->any || value < f->f_least) {
		f->f_least = value;
		f->row->min_index = index;
	}
	if (!f->any || value > f->f_most) {
		f->f_most = value;
		f->row->max_index = index;
	}
	f->any = true;
}

static void take_floats(struct facts *f, const uint8_t *piece, size_t n, uint64_t start)
{
	static const char *const kinds[] = {"NaN", "infinite", "negative", "above 1"};
	uint64_t n_found[CT_COUNT(kinds)] = {0};
	size_t first[CT_COUNT(kinds)] = {0};
	for (size_t i = 0; i < n; i++) {
		double value = ct_element_float(f->element, piece + i * f->element->type.size);
		const bool is[CT_COUNT(kinds)] = {isnan(value), isinf(value), value < 0, value > 1};
		for (size_t k = 0; k < CT_COUNT(kinds); k++)
			if (is[k] && n_found[k]++ == 0)
				first[k] = i;
		take_float(f, value, start + i);
	}
	for (size_t k = 0; k < CT_COUNT(kinds); k++)
		note(f, kinds[k], k == 3 ? 1 : 0, n_found[k], piece, first[k], start);
}

// ---- A tensor ------------------------------------------------------------------------------------------------

// Offset and length in bytes of a piece; of more than WHOLE_BYTES a sample, the first and the last piece among it. False: there are no more.
static bool piece_at(uint64_t size, size_t each, size_t number, uint64_t *ret_at, size_t *ret_length)
{
	if (size > WHOLE_BYTES) {
		*ret_at = number * ((size - PIECE_BYTES) / (SAMPLED_PIECES - 1) / each * each);
		*ret_length = PIECE_BYTES;
		return number < SAMPLED_PIECES;
	}
	*ret_at = (uint64_t)number * PIECE_BYTES;
	*ret_length = size - *ret_at < PIECE_BYTES ? (size_t)(size - *ret_at) : PIECE_BYTES;
	return *ret_at < size;
}

static void read_pieces(struct facts *f, uint64_t size, int64_t deadline_us)
{
	const struct ct_values_source *s = f->v->source;
	size_t each = f->element->type.size, length;
	uint64_t at;
	for (size_t number = 0; ct_now_us() < deadline_us && piece_at(size, each, number, &at, &length); number++) {
		if (s->read(s->context, f->row->address + at, NULL, length) != length) {
			if (f->row->n_elements == 0)
				f->row->failed = ct_values_absent(f->v, f->row->address);
			return;
		}
		CT_AUTO(ct_auto_free) uint8_t *bytes = ct_xrealloc(NULL, length);
		s->read(s->context, f->row->address + at, bytes, length);
		f->row->n_elements += length / each;
		if (f->element->form == CT_FORM_INTEGER)
			take_integers(f, bytes, length / each, at / each);
		else
			take_floats(f, bytes, length / each, at / each);
	}
	if (f->row->n_elements == 0)
		f->row->failed = CT_VALUES_NO_TIME;
}

static void add_extremes(struct facts *f)
{
	struct ct_arena *arena = &f->v->incident->arena;
	bool integer = f->element->form == CT_FORM_INTEGER;
	if (!f->any)
		return;
	f->row->min = integer ? ct_values_text(arena, f->least) : ct_element_float_text(arena, f->element, f->f_least);
	f->row->max = integer ? ct_values_text(arena, f->most) : ct_element_float_text(arena, f->element, f->f_most);
}

static void read_tensor(struct facts *f, const struct ct_tensor *t, int64_t deadline_us)
{
	ct_wide count, span;
	bool dense;
	*f->row = (struct ct_tensor_memory){.name = t->name, .address = t->data_ptr, .type = ct_element_word(t->dtype)};
	extent_of(t, &count, &span, &dense);
	// A permuted view has its elements in a block all the same; of others what lies between is not its own.
	if (span != count) {
		f->row->failed = "its elements do not lie side by side";
		return;
	}
	read_pieces(f, (uint64_t)count * f->element->type.size, deadline_us);
	f->row->whole = f->row->n_elements == (uint64_t)count;
	f->row->in_order = dense;
	add_extremes(f);
}

void ct_values_tensors(struct ct_values *v)
{
	const struct ct_tensor *chosen[MAX_READ];
	ct_wide bounds[2 * MAX_BOUNDS];
	struct ct_gpu *gpu = &v->incident->gpu;
	int64_t deadline_us = ct_now_us() + (int64_t)MAX_MS * 1000;
	size_t n = choose(v->incident, chosen), n_bounds = n ? gather_bounds(v, bounds) : 0;
	for (size_t i = 0; i < n; i++) {
		gpu->tensors = ct_arena_grow(&v->incident->arena, gpu->tensors, &gpu->n_tensors, sizeof *gpu->tensors);
		struct facts f = {.v = v, .element = ct_element_type_of(chosen[i]->dtype), .bounds = bounds, .n_bounds = n_bounds, .row = &gpu->tensors[gpu->n_tensors - 1]};
		read_tensor(&f, chosen[i], deadline_us);
	}
}
