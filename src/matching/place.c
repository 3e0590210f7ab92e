// Rows of the record as launches of the incident; see matching_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "base/demangle.h"
#include "matching/matching_priv.h"

enum { MORE_HISTORY = 64 };

static const char *keep(struct ct_incident *incident, const char *text)
{
	return text && *text ? ct_arena_clean(&incident->arena, text, strlen(text)) : NULL;
}

void ct_place_name(const struct ct_launches *record, uint32_t function, struct ct_incident *incident, const char **ret_symbol, const char **ret_name)
{
	const char *symbol = function ? ct_launches_function(record, function) : NULL;
	CT_AUTO(ct_auto_str) struct ct_str plain = CT_STR_INIT;
	*ret_symbol = keep(incident, symbol);
	*ret_name = symbol && ct_demangle_bounded(symbol, NULL, &plain) ? keep(incident, ct_str_text(&plain)) : *ret_symbol;
}

struct ct_host_frame *ct_place_python(const struct ct_launches *record, const struct ct_record_frame *frames, size_t n, struct ct_incident *incident,
				      size_t *ret_n)
{
	struct ct_host_frame *list = NULL;
	*ret_n = 0;
	for (size_t i = 0; i < n && i < CT_RECORD_FRAMES; i++) {
		struct ct_launches_frame f = {.function = NULL};
		list = ct_arena_grow(&incident->arena, list, ret_n, sizeof *list);
		list[i] = (struct ct_host_frame){.kind = CT_FRAME_PYTHON};
		if (!ct_launches_frame(record, &frames[i], &f))
			continue;  // its code is no longer in the record: a frame without a name is still a frame
		list[i].function = keep(incident, f.function);
		list[i].file = keep(incident, f.file);
		list[i].line = f.line;
	}
	return list;
}

static struct ct_host_frame *native_of(const struct ct_launches *record, const struct ct_record_launch *launch, struct ct_incident *incident, size_t *ret_n)
{
	struct ct_host_frame *list = NULL;
	*ret_n = 0;
	for (size_t i = 0; i < launch->n_native && i < CT_RECORD_NATIVE; i++) {
		struct ct_launches_address at = {.library = NULL};
		ct_launches_address(record, launch->native[i], &at);
		list = ct_arena_grow(&incident->arena, list, ret_n, sizeof *list);
		list[i] = (struct ct_host_frame){.kind = CT_FRAME_NATIVE, .module = keep(incident, at.library), .has_pc = true, .pc = launch->native[i]};
		if (at.library) {
			list[i].has_offset = true;
			list[i].offset = at.offset;
		}
	}
	return list;
}

// PyTorch's own functions around a backward pass: torch/_tensor.py and torch/autograd/__init__.py.
static bool is_backward_call(const struct ct_launches_frame *f)
{
	return f->file && f->function && (strstr(f->file, "/torch/_tensor.py") || strstr(f->file, "/torch/autograd/__init__.py")) &&
	       (ct_ends_with(f->function, "backward") || ct_ends_with(f->function, "grad"));
}

// The thread that calls backward() launches a kernel or two there (the first gradient is made) and then waits for the pass: its last launch
// before this one, when it is from within that call.
static const struct ct_launches_row *backward_call(const struct ct_launches *record, const struct ct_launches_row *row)
{
	size_t n = 0;
	const struct ct_launches_row *rows = ct_launches_rows(record, &n);
	for (size_t i = (size_t)(row - rows) + 1; i < n; i++) {
		const struct ct_record_launch *l = rows[i].launch;
		if (l->tid == row->launch->tid || !l->n_frames || l->flags & CT_RECORD_CAPTURED)
			continue;
		for (size_t k = 0; k < l->n_frames; k++) {
			struct ct_launches_frame f;
			if (ct_launches_frame(record, &l->frames[k], &f) && is_backward_call(&f))
				return &rows[i];
		}
		return NULL;
	}
	return NULL;
}

static struct ct_dim3 dim3_of(const uint32_t v[3])
{
	return (struct ct_dim3){v[0], v[1], v[2]};
}

// 0 and 1 are the legacy default stream, 2 is a thread's own, and so is 0 through the entries for that (cuda.h 13.0, CU_STREAM_*).
static bool is_own_stream(const struct ct_record_launch *r)
{
	return r->stream == 2 || (r->stream == 0 && r->flags & CT_RECORD_PER_THREAD);
}

struct ct_launch ct_place_of(const struct ct_launches *record, const struct ct_launches_row *row, const struct ct_launches_row *origin, int64_t until_ns,
			     struct ct_incident *incident)
{
	const struct ct_record_launch *r = row->launch;
	bool graph = r->flags & CT_RECORD_GRAPH;
	struct ct_launch l = {
		.graph = graph, .has_dims = !graph, .grid_dim = dim3_of(r->grid), .block_dim = dim3_of(r->block), .has_cluster = !graph && r->cluster[0],
		.cluster_dim = dim3_of(r->cluster), .shared_bytes = r->shared_bytes, .stream = r->stream, .tid = r->tid, .count = 1, .pending = !row->has_result,
		.stream_of_thread = is_own_stream(r), .backward = r->flags & CT_RECORD_NODE,
	};
	l.has_seconds_before = until_ns > 0 && r->time_ns > 0 && r->time_ns <= until_ns;
	l.seconds_before = l.has_seconds_before ? (double)(until_ns - r->time_ns) / 1e9 : 0;
	ct_place_name(record, graph && origin ? origin->launch->function : r->function, incident, &l.symbol, &l.name);
	l.python = ct_place_python(record, r->frames, r->n_frames, incident, &l.n_python);
	l.native = native_of(record, r, incident, &l.n_native);
	l.origin = !origin ? CT_LAUNCH_ORIGIN_NONE : graph ? CT_LAUNCH_ORIGIN_CAPTURE : CT_LAUNCH_ORIGIN_FORWARD;
	if (!origin && l.backward && !l.n_python) {
		origin = backward_call(record, row);
		l.origin = origin ? CT_LAUNCH_ORIGIN_CALL : CT_LAUNCH_ORIGIN_NONE;
	}
	if (origin)
		l.origin_python = ct_place_python(record, origin->launch->frames, origin->launch->n_frames, incident, &l.n_origin_python);
	return l;
}

bool ct_place_equal_rows(const struct ct_record_launch *a, const struct ct_record_launch *b)
{
	return a->n_frames == b->n_frames && memcmp(a->frames, b->frames, a->n_frames * sizeof a->frames[0]) == 0 &&
	       (a->n_frames || (a->n_native == b->n_native && memcmp(a->native, b->native, a->n_native * sizeof a->native[0]) == 0));
}

static bool equal_texts(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool equal_frames(const struct ct_host_frame *a, size_t n_a, const struct ct_host_frame *b, size_t n_b)
{
	if (n_a != n_b)
		return false;
	for (size_t i = 0; i < n_a; i++)
		if (a[i].line != b[i].line || !equal_texts(a[i].file, b[i].file) || !equal_texts(a[i].function, b[i].function) || a[i].pc != b[i].pc)
			return false;
	return true;
}

// Return addresses tell two launches of one Python line apart (a call that launches the same kernel twice), but one line is what the reader
// wants: they count only where there is no Python.
bool ct_place_equal(const struct ct_launch *a, const struct ct_launch *b)
{
	return a->graph == b->graph && a->origin == b->origin && equal_texts(a->symbol, b->symbol) &&
	       equal_frames(a->python, a->n_python, b->python, b->n_python) &&
	       equal_frames(a->origin_python, a->n_origin_python, b->origin_python, b->n_origin_python) &&
	       (a->n_python || equal_frames(a->native, a->n_native, b->native, b->n_native));
}

static bool same_stream(const struct ct_record_launch *a, const struct ct_record_launch *b)
{
	bool a_own = is_own_stream(a), b_own = is_own_stream(b);
	if (a_own || b_own)
		return a_own && b_own && a->tid == b->tid;
	return a->stream == b->stream || (a->stream <= 1 && b->stream <= 1);
}

// One place at a glance; a backward pass's may be another forward's.
static bool repeats(const struct ct_record_launch *a, const struct ct_record_launch *b)
{
	return a && a->function == b->function && a->handle == b->handle && a->flags == b->flags && !(a->flags & CT_RECORD_NODE) && ct_place_equal_rows(a, b);
}

void ct_place_history(const struct ct_launches *record, const struct ct_launches_row *from, int64_t until_ns, unsigned limit, struct ct_incident *incident)
{
	struct ct_launched *out = &incident->launch;
	size_t n = 0, n_made = 0;
	const struct ct_launches_row *rows = ct_launches_rows(record, &n);
	const struct ct_record_launch *last = NULL;
	if (limit > CT_MAX_LAUNCH_HISTORY)
		limit = CT_MAX_LAUNCH_HISTORY;
	// Each row that is made costs memory, and a look for its forward: of many that come out equal only so many are.
	for (size_t i = 0; i < n && out->n_history < limit && n_made < 4 * (size_t)limit + MORE_HISTORY; i++) {
		const struct ct_record_launch *r = rows[i].launch;
		bool later = from ? r->time_ns > from->launch->time_ns : until_ns > 0 && r->time_ns > until_ns;
		if (later || r->flags & CT_RECORD_CAPTURED || (from && !same_stream(r, from->launch)))
			continue;
		if (repeats(last, r)) {
			out->history[out->n_history - 1].count++;
			continue;
		}
		last = r;
		n_made++;
		struct ct_launch l = ct_place_of(record, &rows[i], ct_launches_forward_of(record, &rows[i]), until_ns, incident);
		// A loop over one line is one row.
		if (out->n_history && ct_place_equal(&out->history[out->n_history - 1], &l)) {
			out->history[out->n_history - 1].count++;
			continue;
		}
		out->history = ct_arena_grow(&incident->arena, out->history, &out->n_history, sizeof *out->history);
		out->history[out->n_history - 1] = l;
	}
}
