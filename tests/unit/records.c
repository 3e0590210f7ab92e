// See records.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "pylayout/pylayout.h"

struct record *record_new(void)
{
	struct record *r = ct_xrealloc(NULL, sizeof *r);
	struct ct_record_head head;
	memset(&head, 0, sizeof head);
	ct_record_lay_out(CT_RECORD_MIN_DEPTH, &head);
	*r = (struct record){.bytes = calloc(1, head.file_bytes)};
	if (!r->bytes)
		abort();
	r->head = (struct ct_record_head *)(void *)r->bytes;
	*r->head = head;
	memcpy(r->head->magic, CT_RECORD_MAGIC, sizeof r->head->magic);
	r->head->pid = 77;
	r->head->python_state = CT_RECORD_PYTHON_FRAMES;
	struct ct_record_ring *rings = (struct ct_record_ring *)(void *)(r->bytes + head.rings_at);
	uint64_t first = 0;
	for (unsigned i = 0; i < head.n_rings; i++) {
		rings[i] = (struct ct_record_ring){.first = first, .capacity = ct_record_ring_rows(head.depth, i), .tid = 100 + (int32_t)i, .owners = 1};
		first += rings[i].capacity;
	}
	return r;
}

void record_free(struct record *record)
{
	free(record->bytes);
	free(record);
}

static uint64_t put(struct record *r, struct ct_record_heap *heap, const char *text)
{
	uint64_t at = heap->head;
	memcpy(r->bytes + heap->at + at, text, strlen(text));
	heap->head += strlen(text);
	return at;
}

uint32_t record_function(struct record *r, const char *symbol)
{
	struct ct_record_function *f = (struct ct_record_function *)(void *)(r->bytes + r->head->functions_at) + r->n_functions++;
	*f = (struct ct_record_function){.number = r->n_functions, .name_at = put(r, &r->head->function_text, symbol), .name_length = (uint32_t)strlen(symbol)};
	r->head->functions_used = r->n_functions;
	return r->n_functions;
}

struct ct_record_frame record_frame(struct record *r, const char *function, const char *file, uint32_t line)
{
	struct ct_record_code *c = (struct ct_record_code *)(void *)(r->bytes + r->head->codes_at) + r->n_codes++;
	*c = (struct ct_record_code){.number = r->n_codes, .text_at = put(r, &r->head->code_text, function), .function_length = (uint32_t)strlen(function),
				     .file_length = (uint32_t)strlen(file), .first_line = line, .table_kind = CT_PY_LOCATIONS};
	put(r, &r->head->code_text, file);
	r->head->codes_used = r->n_codes;
	return (struct ct_record_frame){.code = r->n_codes, .instruction = -1};
}

void record_result(struct ct_record_launch *launch, int32_t result)
{
	launch->result = launch->state << 32 | (uint32_t)result;
}

struct ct_record_launch *record_launch(struct record *r, unsigned ring, uint32_t function, int64_t time_ns, const struct ct_record_frame *frame)
{
	struct ct_record_ring *where = (struct ct_record_ring *)(void *)(r->bytes + r->head->rings_at) + ring;
	uint64_t number = ++where->begun;
	struct ct_record_launch *l = (struct ct_record_launch *)(void *)(r->bytes + r->head->launches_at) + where->first + (number - 1) % where->capacity;
	*l = (struct ct_record_launch){.state = number * 2, .time_ns = time_ns, .handle = 0x1000 + function, .function = function, .tid = where->tid,
				       .grid = {1, 1, 1}, .block = {32, 1, 1}};
	record_result(l, 0);
	if (frame) {
		l->n_frames = 1;
		l->frames[0] = *frame;
	}
	return l;
}

struct ct_record_failure *record_failure(struct record *r, const char *call, int32_t result, int64_t time_ns)
{
	struct ct_record_failure *f = (struct ct_record_failure *)(void *)(r->bytes + r->head->failures_at) + r->head->failures_used++;
	*f = (struct ct_record_failure){.number = r->head->failures_used, .time_ns = time_ns, .tid = 100, .result = result, .grid = {1, 1, 1}, .block = {32, 1, 1},
					.max_threads = -1, .registers = -1, .static_shared = -1, .local_bytes = -1, .constant_bytes = -1, .max_dynamic_shared = -1,
					.binary_version = -1, .ptx_version = -1, .max_block = {-1, -1, -1}, .max_grid = {-1, -1, -1}, .max_block_threads = -1,
					.max_shared_optin = -1, .max_shared_block = -1, .registers_block = -1, .sm_major = -1, .sm_minor = -1};
	snprintf(f->call, sizeof f->call, "%s", call);
	return f;
}

bool record_write(const struct record *record, const char *path)
{
	FILE *out = fopen(path, "w");
	bool ok = out && fwrite(record->bytes, 1, record->head->file_bytes, out) == record->head->file_bytes;
	if (out && fclose(out) != 0)
		ok = false;
	return ok;
}
