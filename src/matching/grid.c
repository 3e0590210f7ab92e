// Which recorded launch is the failing grid's; see matching.h.
//
// Kernel and dimensions must be equal, and the argument bytes where both sides have them: pointers in them tell most launches of one kernel
// apart. What still fits is told by place: many launches of one line are one candidate. The thread that the GPU names is the driver's, not
// the launcher's (580.159, measured), so it decides nothing.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "base/demangle.h"
#include "matching/matching_priv.h"

// A forward is looked for among all launches before: so often at most.
enum { MAX_GROUPS = 64, MAX_THREADS = 256, MAX_FORWARDS = 4096, MAX_CAPTURED = 1024 };

enum arguments { DIFFERENT, NOT_COMPARED, EQUAL };

// A launch that fits, and the one that its other frames are of: the captured one of a graph's, the forward's of a backward pass.
struct fit {
	const struct ct_launches_row *row, *origin;
	enum arguments arguments;
};

struct group {
	struct fit fit;  // the newest
	uint64_t count;
};

struct search {
	const struct ct_launches *record;
	const struct ct_incident *incident;
	int64_t until_ns;
	bool trust_graphs;  // their nodes' arguments are those of the capture; false: they may have been changed since
	struct ct_str key;  // of the failing kernel, when it has no symbol
	struct ct_demangle_budget names;
	uint32_t known, known_fits;  // the last function compared, and what came out
	struct fit captured[MAX_CAPTURED];  // that fit
	size_t n_captured;
	struct group groups[MAX_GROUPS];
	size_t n_groups;
	bool cut;
	bool other_dims;  // the kernel was launched, but with other dimensions
	bool other_arguments;
	uint64_t n_fits, n_forwards;
};

// ---- Does a launch fit? -----------------------------------------------------------------------------------------

static bool compare_names(struct search *s, const char *symbol)
{
	const struct ct_kernel *k = &s->incident->gpu.kernel;
	CT_AUTO(ct_auto_str) struct ct_str plain = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str key = CT_STR_INIT;
	if (!symbol)
		return false;
	if (k->symbol)
		return strcmp(k->symbol, symbol) == 0;
	if (!k->name)
		return false;
	ct_incident_function_key(ct_demangle_bounded(symbol, &s->names, &plain) ? ct_str_text(&plain) : symbol, &key);
	return strcmp(ct_str_text(&key), ct_str_text(&s->key)) == 0;
}

static bool is_kernel(struct search *s, uint32_t function)
{
	if (!function)
		return false;
	if (function != s->known) {
		s->known = function;
		s->known_fits = compare_names(s, ct_launches_function(s->record, function));
	}
	return s->known_fits;
}

static bool equal_dims(const uint32_t v[3], struct ct_dim3 d)
{
	return v[0] == d.x && v[1] == d.y && v[2] == d.z;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static enum arguments compare_argument(const struct ct_argument *a, const struct ct_record_launch *r)
{
	size_t n = a->bytes ? strlen(a->bytes) / 2 : 0, compared = 0;
	for (size_t i = 0; i < n && (uint64_t)a->offset + i < r->arguments_kept; i++, compared++) {
		int high = digit(a->bytes[2 * i]), low = digit(a->bytes[2 * i + 1]);
		if (high < 0 || low < 0)
			return NOT_COMPARED;
		if (r->arguments[a->offset + i] != high * 16 + low)
			return DIFFERENT;
	}
	return compared ? EQUAL : NOT_COMPARED;
}

static enum arguments compare_arguments(const struct ct_gpu *gpu, const struct ct_record_launch *r)
{
	enum arguments all = NOT_COMPARED;
	for (size_t i = 0; i < gpu->n_arguments; i++) {
		enum arguments one = compare_argument(&gpu->arguments[i], r);
		if (one == DIFFERENT)
			return DIFFERENT;
		all = one == EQUAL ? EQUAL : all;
	}
	return all;
}

static bool fits(struct search *s, const struct ct_record_launch *r, bool trust_arguments, enum arguments *ret_arguments)
{
	const struct ct_gpu *gpu = &s->incident->gpu;
	if (!is_kernel(s, r->function))
		return false;
	if (gpu->kernel.has_dims && !(equal_dims(r->grid, gpu->kernel.grid_dim) && equal_dims(r->block, gpu->kernel.block_dim))) {
		s->other_dims = true;
		return false;
	}
	*ret_arguments = compare_arguments(gpu, r);
	if (*ret_arguments == DIFFERENT && trust_arguments) {
		s->other_arguments = true;
		return false;
	}
	return true;
}

// A launch that the driver refused has no grid. With an error that a kernel left behind it may be the very one that failed.
static bool was_refused(const struct ct_launches_row *row)
{
	return row->has_result && row->result != 0 && !ct_record_loses_context(row->result);
}

// ---- Graphs: what was captured ran when the graph was launched ------------------------------------------------------

static void find_captured(struct search *s)
{
	size_t n = 0;
	const struct ct_launches_row *rows = ct_launches_rows(s->record, &n);
	s->n_captured = 0;
	for (size_t i = 0; i < n && s->n_captured < MAX_CAPTURED; i++) {
		struct fit fit = {.origin = &rows[i]};
		if (rows[i].launch->flags & CT_RECORD_CAPTURED && rows[i].launch->capture && fits(s, rows[i].launch, s->trust_graphs, &fit.arguments))
			s->captured[s->n_captured++] = fit;
	}
}

static const struct fit *captured(const struct search *s, uint64_t capture)
{
	for (size_t i = 0; capture && i < s->n_captured; i++)
		if (s->captured[i].origin->launch->capture == capture)
			return &s->captured[i];
	return NULL;
}

// A graph that was not captured, or whose capture is no longer in the record: its kernels' names may be.
static bool graph_has_kernel(struct search *s, const struct ct_record_launch *r)
{
	const struct ct_record_graph *g = r->graph ? ct_launches_graph(s->record, r->graph) : NULL;
	for (uint32_t i = 0; g && i < g->n_functions && i < CT_RECORD_GRAPH_FUNCTIONS; i++)
		if (is_kernel(s, g->functions[i]))
			return true;
	return false;
}

static bool graph_fits(struct search *s, const struct ct_launches_row *row, struct fit *ret)
{
	const struct fit *of_capture = captured(s, row->launch->capture);
	*ret = of_capture ? *of_capture : (struct fit){.arguments = NOT_COMPARED};
	ret->row = row;
	return of_capture || graph_has_kernel(s, row->launch);
}

// ---- Candidates ---------------------------------------------------------------------------------------------------

static bool equal_fits(const struct fit *a, const struct fit *b)
{
	const struct ct_record_launch *x = a->row->launch, *y = b->row->launch;
	if ((x->flags ^ y->flags) & (CT_RECORD_GRAPH | CT_RECORD_NODE) || !ct_place_equal_rows(x, y))
		return false;
	return a->origin == b->origin || (a->origin && b->origin && ct_place_equal_rows(a->origin->launch, b->origin->launch));
}

static void add_fit(struct search *s, struct fit *fit)
{
	s->n_fits++;
	if (fit->row->launch->flags & CT_RECORD_NODE && s->n_forwards++ < MAX_FORWARDS)
		fit->origin = ct_launches_forward_of(s->record, fit->row);
	for (size_t i = 0; i < s->n_groups; i++) {
		if (equal_fits(&s->groups[i].fit, fit)) {
			s->groups[i].count++;
			return;
		}
	}
	if (s->n_groups == MAX_GROUPS) {
		s->cut = true;
		return;
	}
	s->groups[s->n_groups++] = (struct group){.fit = *fit, .count = 1};
}

// True the first time a thread is seen: rows come newest first, so that is its last launch.
static bool is_threads_last(int64_t *threads, size_t *n_threads, int64_t tid)
{
	for (size_t i = 0; i < *n_threads; i++)
		if (threads[i] == tid)
			return false;
	if (*n_threads < MAX_THREADS)
		threads[(*n_threads)++] = tid;
	return true;
}

// only_last: launches waited for their kernels, so all but the last of a thread are done.
static void look(struct search *s, bool only_last)
{
	size_t n = 0, n_threads = 0;
	int64_t threads[MAX_THREADS];
	const struct ct_launches_row *rows = ct_launches_rows(s->record, &n);
	find_captured(s);
	for (size_t i = 0; i < n; i++) {
		const struct ct_record_launch *r = rows[i].launch;
		struct fit fit = {.row = &rows[i]};
		if ((s->until_ns > 0 && r->time_ns > s->until_ns) || r->flags & CT_RECORD_CAPTURED || was_refused(&rows[i]))
			continue;
		if (!is_threads_last(threads, &n_threads, r->tid) && only_last)
			continue;
		if (r->flags & CT_RECORD_GRAPH ? graph_fits(s, &rows[i], &fit) : fits(s, r, true, &fit.arguments))
			add_fit(s, &fit);
	}
}

static void forget(struct search *s)
{
	s->n_groups = 0;
	s->n_fits = 0;
	s->cut = false;
}

// ---- What the incident says ----------------------------------------------------------------------------------------

// Two instructions of one line are one place.
static void add_candidate(struct ct_incident *incident, const struct ct_launch *launch)
{
	struct ct_launched *out = &incident->launch;
	for (size_t i = 0; i < out->n_candidates; i++) {
		if (ct_place_equal(&out->candidates[i], launch)) {
			out->candidates[i].count += launch->count;
			return;
		}
	}
	if (out->n_candidates == CT_MAX_CANDIDATES) {
		out->candidates_cut = true;
		return;
	}
	out->candidates = ct_arena_grow(&incident->arena, out->candidates, &out->n_candidates, sizeof *out->candidates);
	out->candidates[out->n_candidates - 1] = *launch;
}

static void add_candidates(const struct search *s, struct ct_incident *incident)
{
	for (size_t i = 0; i < s->n_groups; i++) {
		const struct group *g = &s->groups[i];
		struct ct_launch l = ct_place_of(s->record, g->fit.row, g->fit.origin, s->until_ns, incident);
		l.count = g->count;
		l.arguments_equal = g->fit.arguments == EQUAL;
		add_candidate(incident, &l);
	}
	incident->launch.candidates_cut = incident->launch.candidates_cut || s->cut;
}

// Of the candidates that are there.
static const char *why_these(const struct search *s, struct ct_incident *incident, bool last_ones)
{
	struct ct_launched *out = &incident->launch;
	bool equal = out->candidates[0].arguments_equal;
	const char *what = equal ? "this kernel with these dimensions and argument bytes" : "this kernel with these dimensions (argument bytes were not there to compare)";
	if (last_ones)
		return ct_arena_printf(&incident->arena, "launches waited for their kernels, and the last one of its thread is of %s", what);
	if (out->n_candidates > 1)
		return ct_arena_printf(&incident->arena, "%" PRIu64 " recorded launches, from %s%zu places, are of %s", s->n_fits,
				       out->candidates_cut ? "more than " : "", out->n_candidates, what);
	if (s->n_fits == 1)
		return ct_arena_printf(&incident->arena, "it is the one recorded launch of %s", what);
	return ct_arena_printf(&incident->arena, "all %" PRIu64 " recorded launches of %s are from here", s->n_fits, what);
}

static const char *why_none(const struct search *s, const struct ct_launches_about *about, struct ct_incident *incident)
{
	struct ct_arena *arena = &incident->arena;
	if (!incident->gpu.has_kernel)
		return "no failing kernel was read from the GPU, so there is none to look for";
	if (s->other_arguments)
		return "the recorded launches of this kernel with these dimensions all have other argument bytes";
	if (s->other_dims)
		return "the recorded launches of this kernel all have other dimensions";
	if (about->n_seen > about->n_kept)
		return ct_arena_printf(arena, "no recorded launch is of this kernel; the record holds %" PRIu64 " of %" PRIu64 " launches", about->n_kept, about->n_seen);
	return "no recorded launch is of this kernel: it may have been launched from the GPU, or past the recorder";
}

static const struct ct_launches_row *newest_fit(const struct search *s)
{
	return s->n_groups ? s->groups[0].fit.row : NULL;
}

// The most certain way first. True: only the threads' last launches were looked at.
static bool search_all(struct search *s)
{
	s->trust_graphs = true;
	if (s->incident->launch_blocking) {
		look(s, true);
		if (s->n_groups)
			return true;
	}
	look(s, false);
	if (!s->n_groups) {
		// A graph's nodes can be given other arguments after the capture.
		forget(s);
		s->trust_graphs = false;
		look(s, false);
	}
	return false;
}

void ct_matching_grid(const struct ct_launches *record, int64_t until_ns, unsigned history, struct ct_incident *incident)
{
	struct ct_launches_about about;
	struct search *s = ct_xrealloc(NULL, sizeof *s);
	struct ct_launched *out = &incident->launch;
	*s = (struct search){.record = record, .incident = incident, .until_ns = until_ns, .key = CT_STR_INIT, .names = CT_DEMANGLE_BUDGET_INIT};
	ct_launches_about(record, &about);
	*out = (struct ct_launched){.present = true, .n_recorded = about.n_kept, .failed_call = out->failed_call};
	bool last_ones = false;
	if (incident->gpu.has_kernel) {
		if (incident->gpu.kernel.name)
			ct_incident_function_key(incident->gpu.kernel.name, &s->key);
		last_ones = search_all(s);
	}
	add_candidates(s, incident);
	out->certainty = out->n_candidates == 0 ? CT_CERTAINTY_NONE : out->n_candidates == 1 && !out->candidates_cut ? CT_CERTAINTY_UNIQUE : CT_CERTAINTY_SEVERAL;
	out->why = out->n_candidates ? why_these(s, incident, last_ones) : why_none(s, &about, incident);
	ct_place_history(record, newest_fit(s), until_ns, history, incident);
	if (about.no_frames && incident->process.python)
		ct_incident_add_note(incident, "Recorded launches have no Python frames: %s.", about.no_frames);
	ct_str_done(&s->key);
	free(s);
}
