// What a launch refers to by number: kernels, Python code, libraries, graphs.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "pylayout/pylayout.h"
#include "recorder/recorder_priv.h"

const void *ct_launches_table_row(const struct ct_launches *l, uint64_t at, uint32_t n, size_t size_bytes, uint64_t number)
{
	if (!number)
		return NULL;
	const uint8_t *row = l->bytes + at + (number - 1) % n * size_bytes;
	uint64_t held;
	memcpy(&held, row, sizeof held);  // the number is the first member of all of them
	return held == number ? row : NULL;
}

// Bytes at position at of a heap; NULL when they are no longer there, or never were.
static const char *text_at(const struct ct_launches *l, const struct ct_record_heap *heap, uint64_t at, uint64_t length)
{
	uint64_t begin = at % heap->bytes;
	if (at > heap->head || heap->head - at > heap->bytes || length > heap->head - at || length > heap->bytes - begin)
		return NULL;
	return (const char *)l->bytes + heap->at + begin;
}

const struct ct_record_function *ct_launches_function_row(const struct ct_launches *l, uint32_t function)
{
	return ct_launches_table_row(l, l->head.functions_at, CT_RECORD_FUNCTIONS, sizeof(struct ct_record_function), function);
}

const char *ct_launches_function(const struct ct_launches *l, uint32_t function)
{
	const struct ct_record_function *row = ct_launches_function_row(l, function);
	if (!row || !row->name_length)
		return NULL;
	const char **known = &l->function_names[(function - 1) % CT_RECORD_FUNCTIONS];
	const char *text = *known ? NULL : text_at(l, &l->head.function_text, row->name_at, row->name_length);
	if (text)
		*known = ct_arena_clean((struct ct_arena *)&l->arena, text, row->name_length);
	return *known;
}

static bool read_code(const struct ct_launches *l, const struct ct_record_code *row, struct ct_launches_frame *names, const uint8_t **ret_table)
{
	uint64_t length = (uint64_t)row->function_length + row->file_length + row->table_length;
	const char *text = text_at(l, &l->head.code_text, row->text_at, length);
	if (!text)
		return false;
	*ret_table = (const uint8_t *)text + row->function_length + row->file_length;
	if (!names->function) {
		names->function = ct_arena_clean((struct ct_arena *)&l->arena, text, row->function_length);
		names->file = ct_arena_clean((struct ct_arena *)&l->arena, text + row->function_length, row->file_length);
	}
	return true;
}

bool ct_launches_frame(const struct ct_launches *l, const struct ct_record_frame *frame, struct ct_launches_frame *ret_frame)
{
	const struct ct_record_code *row =
		ct_launches_table_row(l, l->head.codes_at, CT_RECORD_CODES, sizeof(struct ct_record_code), frame->code);
	if (!row)
		return false;
	struct ct_launches_frame *names = &l->code_names[(frame->code - 1) % CT_RECORD_CODES];
	const uint8_t *table = NULL;
	if (!read_code(l, row, names, &table))
		return false;
	*ret_frame = *names;
	ret_frame->line = frame->instruction < 0 && row->table_kind == CT_PY_LOCATIONS
				  ? row->first_line
				  : ct_py_line((enum ct_py_table)row->table_kind, table, row->table_length, row->first_line, frame->instruction);
	return true;
}

void ct_launches_address(const struct ct_launches *l, uint64_t address, struct ct_launches_address *ret_address)
{
	const struct ct_record_place *places = (const struct ct_record_place *)(const void *)(l->bytes + l->head.places_at);
	*ret_address = (struct ct_launches_address){.library = NULL, .offset = address};
	uint64_t newest = 0;
	for (size_t i = 0; i < CT_RECORD_PLACES; i++) {
		if (places[i].number <= newest || address < places[i].begin || address >= places[i].end)
			continue;
		newest = places[i].number;
		size_t length = strnlen(places[i].path, sizeof places[i].path);
		ret_address->library = ct_arena_clean((struct ct_arena *)&l->arena, places[i].path, length);
		ret_address->offset = address - places[i].bias;
	}
}

const struct ct_record_graph *ct_launches_graph(const struct ct_launches *l, uint32_t graph)
{
	return ct_launches_table_row(l, l->head.graphs_at, CT_RECORD_GRAPHS, sizeof(struct ct_record_graph), graph);
}
