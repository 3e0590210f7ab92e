// Which launches and failures a record holds, and in which order they happened.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "recorder/recorder_priv.h"

static struct ct_record_ring *rings_of(const struct ct_launches *l)
{
	return (struct ct_record_ring *)(void *)(l->bytes + l->head.rings_at);
}

// Counts that index arrays; everything else in a row is data.
static void bound_launch(struct ct_record_launch *launch)
{
	if (launch->n_frames > CT_RECORD_FRAMES)
		launch->n_frames = CT_RECORD_FRAMES;
	if (launch->n_native > CT_RECORD_NATIVE)
		launch->n_native = CT_RECORD_NATIVE;
	if (launch->arguments_kept > CT_RECORD_ARGUMENTS)
		launch->arguments_kept = CT_RECORD_ARGUMENTS;
}

// 3.12+ inlines the call of __init__ and puts a frame of static code of that name and file in between: no frame of the program.
static bool is_init_cleanup(const struct ct_launches *l, uint32_t code)
{
	static const char text[] = "__init____init__";
	const struct ct_record_code *row = ct_launches_table_row(l, l->head.codes_at, CT_RECORD_CODES, sizeof *row, code);
	return row && row->function_length == 8 && row->file_length == 8 && row->text_at % CT_RECORD_CODE_TEXT <= CT_RECORD_CODE_TEXT - 16 &&
	       memcmp(l->bytes + l->head.code_text.at + row->text_at % CT_RECORD_CODE_TEXT, text, 16) == 0;
}

// Takes those frames out; returns how many are left.
static uint32_t drop_init_cleanups(const struct ct_launches *l, struct ct_record_frame *frames, uint32_t n)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!is_init_cleanup(l, frames[i].code))
			frames[kept++] = frames[i];
	return kept;
}

// Row i of its ring holds launch number n only if n belongs there: a row that was never used, or is half written, says otherwise.
static bool add_row(struct ct_launches *l, uint32_t ring, uint64_t i, uint64_t capacity, struct ct_record_launch *launch)
{
	uint64_t number = launch->state / 2;
	if (!launch->state || (launch->state & 1) || (number - 1) % capacity != i)
		return false;
	bound_launch(launch);
	launch->n_frames = (uint8_t)drop_init_cleanups(l, launch->frames, launch->n_frames);
	bool answered = launch->result >> 32 == (launch->state & UINT32_MAX);
	int32_t result = (int32_t)(uint32_t)launch->result;
	l->rows[l->n_rows++] = (struct ct_launches_row){
		.launch = launch, .ring = ring, .number = number,
		.has_result = answered && result != CT_RECORD_PENDING,
		.result = answered && result != CT_RECORD_PENDING ? result : 0,
	};
	return true;
}

// Newest first; within a ring the numbers count, whatever a clock says.
static int compare_rows(const void *left, const void *right)
{
	const struct ct_launches_row *a = left, *b = right;
	if (a->ring == b->ring)
		return a->number < b->number ? 1 : a->number > b->number ? -1 : 0;
	if (a->launch->time_ns != b->launch->time_ns)
		return a->launch->time_ns < b->launch->time_ns ? 1 : -1;
	return a->ring < b->ring ? -1 : 1;
}

static int compare_failures(const void *left, const void *right)
{
	const struct ct_record_failure *a = *(const struct ct_record_failure *const *)left, *b = *(const struct ct_record_failure *const *)right;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void index_rows(struct ct_launches *l)
{
	uint64_t room = 0;
	const struct ct_record_ring *rings = rings_of(l);
	for (unsigned i = 0; i < l->head.n_rings; i++)
		room += ct_launches_rows_of(&rings[i]);
	l->rows = ct_arena_array(&l->arena, (size_t)room + 1, sizeof *l->rows);
	struct ct_record_launch *launches = (struct ct_record_launch *)(void *)(l->bytes + l->head.launches_at);
	for (unsigned i = 0; i < l->head.n_rings; i++) {
		uint64_t rows = ct_launches_rows_of(&rings[i]);
		for (uint64_t j = 0; j < rows; j++)
			add_row(l, i, j, rings[i].capacity, &launches[rings[i].first + j]);
	}
	qsort(l->rows, l->n_rows, sizeof *l->rows, compare_rows);
}

static void index_failures(struct ct_launches *l)
{
	struct ct_record_failure *rows = (struct ct_record_failure *)(void *)(l->bytes + l->head.failures_at);
	l->failures = ct_arena_array(&l->arena, CT_RECORD_FAILURES, sizeof *l->failures);
	for (uint64_t i = 0; i < CT_RECORD_FAILURES; i++) {
		struct ct_record_failure *f = &rows[i];
		if (f->number != i + 1)
			continue;
		if (f->n_frames > CT_RECORD_FRAMES)
			f->n_frames = CT_RECORD_FRAMES;
		f->n_frames = drop_init_cleanups(l, f->frames, f->n_frames);
		f->call[sizeof f->call - 1] = '\0';
		for (char *p = f->call; *p; p++)
			if (*p < '!' || *p > '~')
				*p = '?';
		l->failures[l->n_failures++] = f;
	}
	qsort(l->failures, l->n_failures, sizeof *l->failures, compare_failures);
}

void ct_launches_index(struct ct_launches *l)
{
	index_rows(l);
	index_failures(l);
	l->function_names = ct_arena_array(&l->arena, CT_RECORD_FUNCTIONS, sizeof *l->function_names);
	l->code_names = ct_arena_array(&l->arena, CT_RECORD_CODES, sizeof *l->code_names);
	// Counts and texts of the other tables that are read as they are.
	struct ct_record_graph *graphs = (struct ct_record_graph *)(void *)(l->bytes + l->head.graphs_at);
	for (size_t i = 0; i < CT_RECORD_GRAPHS; i++)
		if (graphs[i].n_functions > CT_RECORD_GRAPH_FUNCTIONS)
			graphs[i].n_functions = CT_RECORD_GRAPH_FUNCTIONS;
	struct ct_record_function *functions = (struct ct_record_function *)(void *)(l->bytes + l->head.functions_at);
	for (size_t i = 0; i < CT_RECORD_FUNCTIONS; i++)
		if (functions[i].n_parameters > CT_RECORD_PARAMETERS)
			functions[i].n_parameters = CT_RECORD_PARAMETERS;
}

void ct_launches_about(const struct ct_launches *l, struct ct_launches_about *ret_about)
{
	static const struct {
		uint32_t state;
		const char *text;
	} states[] = {
#define ROW(number, name, text) {number, text},
		CT_RECORD_PYTHON(ROW)
#undef ROW
	};
	struct ct_launches_about about = {
		.pid = l->head.pid, .depth = l->head.depth, .n_kept = l->n_rows, .n_not_recorded = l->head.no_ring, .n_failures = l->n_failures,
		.n_failures_lost = l->head.failures_lost, .sticky = (int32_t)l->head.sticky, .no_frames = "for a reason that is not known here",
	};
	for (unsigned i = 0; i < l->head.n_rings; i++)
		about.n_seen += rings_of(l)[i].begun;
	about.n_seen += about.n_not_recorded;
	for (size_t i = 0; i < CT_COUNT(states); i++)
		if (states[i].state == l->head.python_state)
			about.no_frames = states[i].state == CT_RECORD_PYTHON_FRAMES ? NULL : states[i].text;
	uint32_t hex = l->head.python_version;
	if (hex)
		about.python = ct_arena_printf((struct ct_arena *)&l->arena, "%u.%u.%u", hex >> 24, hex >> 16 & 0xff, hex >> 8 & 0xff);
	for (size_t i = 0; i < l->n_failures; i++)
		if (l->failures[i]->number == l->head.sticky_failure)
			about.sticky_failure = l->failures[i];
	if (l->n_rows) {
		about.newest_ns = l->rows[0].launch->time_ns;
		about.oldest_ns = l->rows[l->n_rows - 1].launch->time_ns;
	}
	*ret_about = about;
}

const struct ct_launches_row *ct_launches_rows(const struct ct_launches *l, size_t *ret_n)
{
	*ret_n = l->n_rows;
	return l->rows;
}

const struct ct_launches_row *ct_launches_next(const struct ct_launches *l, int64_t tid, size_t *at)
{
	while (*at < l->n_rows) {
		const struct ct_launches_row *row = &l->rows[(*at)++];
		if (!tid || row->launch->tid == tid)
			return row;
	}
	return NULL;
}

const struct ct_record_failure *const *ct_launches_failures(const struct ct_launches *l, size_t *ret_n)
{
	*ret_n = l->n_failures;
	return l->failures;
}

const struct ct_launches_row *ct_launches_of_failure(const struct ct_launches *l, const struct ct_record_failure *failure)
{
	for (size_t i = 0; failure->launch && i < l->n_rows; i++)
		if (l->rows[i].ring == failure->ring && l->rows[i].number == failure->launch)
			return &l->rows[i];
	return NULL;
}

// torch numbers the nodes of each thread of its own; the forward's thread is known by its launches alone, and a node's number is that
// of the counter at the forward before it was made (ct_record_launch).
const struct ct_launches_row *ct_launches_forward_of(const struct ct_launches *l, const struct ct_launches_row *backward)
{
	if (!(backward->launch->flags & CT_RECORD_NODE))
		return NULL;
	for (size_t i = (size_t)(backward - l->rows) + 1; i < l->n_rows; i++) {
		const struct ct_record_launch *launch = l->rows[i].launch;
		if ((launch->flags & CT_RECORD_SEQUENCE) && !(launch->flags & CT_RECORD_NODE) &&
		    launch->torch_sequence == backward->launch->node_sequence + 1)
			return &l->rows[i];
	}
	return NULL;
}
