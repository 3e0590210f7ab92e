// Numbers for what launches refer to: looked up without a lock, added under one that is tried for a short while only.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdatomic.h>
#include <string.h>

#include "agent/record.h"

enum { CACHE = 1 << 15, WAYS = 4, SPINS = 2000 };

// value: the low half of the key above, the number below, so that a row that another thread is changing does not match.
struct cached {
	_Atomic uint64_t key, value;
};
static struct cached codes[CACHE], functions[CACHE];
static atomic_flag busy = ATOMIC_FLAG_INIT;
static _Atomic uint64_t first_code, first_function;  // numbers below these may have lost their row or text: to be added anew

void ct_record_tables_reset(void)
{
	memset(codes, 0, sizeof codes);
	memset(functions, 0, sizeof functions);
	atomic_store(&first_code, 0);
	atomic_store(&first_function, 0);
	atomic_flag_clear(&busy);
}

static bool try_lock(void)
{
	for (int i = 0; i < SPINS; i++)
		if (!atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
			return true;
	return false;
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

static uint32_t find(struct cached *table, uint64_t key, uint64_t first)
{
	for (unsigned i = 0; i < WAYS; i++) {
		struct cached *c = &table[((key >> 20) + i) % CACHE];
		if (atomic_load_explicit(&c->key, memory_order_relaxed) != key)
			continue;
		uint64_t value = atomic_load_explicit(&c->value, memory_order_relaxed);
		uint32_t number = (uint32_t)value;
		if ((uint32_t)(value >> 32) == (uint32_t)key && number && number >= first)
			return number;
	}
	return 0;
}

static void remember(struct cached *table, uint64_t key, uint32_t number)
{
	struct cached *c = &table[((key >> 20) + number % WAYS) % CACHE];  // when all are taken
	for (unsigned i = 0; i < WAYS; i++) {
		struct cached *way = &table[((key >> 20) + i) % CACHE];
		uint64_t held = atomic_load_explicit(&way->key, memory_order_relaxed);
		if (!held || held == key) {
			c = way;
			break;
		}
	}
	atomic_store_explicit(&c->value, 0, memory_order_relaxed);
	atomic_store_explicit(&c->key, key, memory_order_relaxed);
	atomic_store_explicit(&c->value, key << 32 | number, memory_order_relaxed);
}

// Room for length bytes in a heap, in one piece; the position.
static uint64_t take_text(struct ct_record_heap *heap, uint64_t length)
{
	uint64_t at = heap->head, left = heap->bytes - at % heap->bytes;
	if (length > left)
		at += left;
	__atomic_store_n(&heap->head, at + length, __ATOMIC_RELEASE);
	return at;
}

static char *text_at(struct ct_record_head *head, const struct ct_record_heap *heap, uint64_t at)
{
	return (char *)head + heap->at + at % heap->bytes;
}

uint32_t ct_record_known(uint64_t key)
{
	return find(codes, key, atomic_load_explicit(&first_code, memory_order_relaxed));
}

bool ct_record_is_library(struct ct_record_head *head, uint32_t code)
{
	const struct ct_record_code *rows = (const struct ct_record_code *)(const void *)((char *)head + head->codes_at);
	return code && rows[(code - 1) % CT_RECORD_CODES].is_library;
}

// A row of the older half of the table or of the text may be gone by the time that somebody reads the newest launch.
static void age_codes(struct ct_record_head *head, const struct ct_record_code *rows)
{
	uint64_t first = atomic_load(&first_code), newest = head->codes_used;
	while (first < newest && (newest - first >= CT_RECORD_CODES / 2 ||
				  head->code_text.head - rows[(first ? first - 1 : 0) % CT_RECORD_CODES].text_at > CT_RECORD_CODE_TEXT / 2))
		first++;
	atomic_store(&first_code, first);
}

uint32_t ct_record_code_number(struct ct_record_head *head, uint64_t key, const struct ct_record_code *code, const char *function,
			       const char *file, const uint8_t *table)
{
	if (!try_lock())
		return 0;
	struct ct_record_code *rows = (struct ct_record_code *)(void *)((char *)head + head->codes_at);
	uint64_t number = head->codes_used + 1;
	struct ct_record_code *row = &rows[(number - 1) % CT_RECORD_CODES];
	__atomic_store_n(&row->number, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	uint64_t at = take_text(&head->code_text, (uint64_t)code->function_length + code->file_length + code->table_length);
	char *to = text_at(head, &head->code_text, at);
	memcpy(to, function, code->function_length);
	memcpy(to + code->function_length, file, code->file_length);
	memcpy(to + code->function_length + code->file_length, table, code->table_length);
	*row = *code;
	row->text_at = at;
	row->number = 0;
	__atomic_store_n(&row->number, number, __ATOMIC_RELEASE);
	__atomic_store_n(&head->codes_used, number, __ATOMIC_RELEASE);
	age_codes(head, rows);
	remember(codes, key, (uint32_t)number);
	unlock();
	return (uint32_t)number;
}

static void read_parameters(const struct ct_record_driver *d, uint64_t handle, bool is_kernel, struct ct_record_function *row)
{
	int (*ask)(void *, size_t, size_t *, size_t *) = is_kernel ? d->kernel_parameter : d->function_parameter;
	for (size_t i = 0; ask && i < 4096; i++) {
		size_t offset = 0, bytes = 0;
		if (ask((void *)(uintptr_t)handle, i, &offset, &bytes) != 0 || offset > 0xffff || bytes > 0xffff)
			break;  // behind the last one: CUDA_ERROR_INVALID_VALUE
		if (offset + bytes > row->arguments_bytes)
			row->arguments_bytes = (uint32_t)(offset + bytes);
		if (i < CT_RECORD_PARAMETERS) {
			row->parameters[i].offset = (uint16_t)offset;
			row->parameters[i].bytes = (uint16_t)bytes;
			row->n_parameters = (uint32_t)i + 1;
		}
	}
}

static uint32_t add_function(struct ct_record_head *head, uint64_t key, const struct ct_record_function *described, const char *name)
{
	if (!try_lock())
		return 0;
	struct ct_record_function *rows = (struct ct_record_function *)(void *)((char *)head + head->functions_at);
	uint64_t number = head->functions_used + 1, first = atomic_load(&first_function);
	struct ct_record_function *row = &rows[(number - 1) % CT_RECORD_FUNCTIONS];
	__atomic_store_n(&row->number, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	uint64_t at = take_text(&head->function_text, described->name_length);
	memcpy(text_at(head, &head->function_text, at), name, described->name_length);
	*row = *described;
	row->name_at = at;
	__atomic_store_n(&row->number, number, __ATOMIC_RELEASE);
	__atomic_store_n(&head->functions_used, number, __ATOMIC_RELEASE);
	while (first < number && (number - first >= CT_RECORD_FUNCTIONS / 2 ||
				  head->function_text.head - rows[(first ? first - 1 : 0) % CT_RECORD_FUNCTIONS].name_at > CT_RECORD_FUNCTION_TEXT / 2))
		first++;
	atomic_store(&first_function, first);
	remember(functions, key, (uint32_t)number);
	unlock();
	return (uint32_t)number;
}

uint32_t ct_record_function_number(struct ct_record_head *head, uint64_t handle, uint32_t epoch, const struct ct_record_function **ret_row)
{
	const struct ct_record_function *rows = (const struct ct_record_function *)(const void *)((char *)head + head->functions_at);
	uint64_t key = ct_record_mix(ct_record_mix(1, handle), epoch);
	uint32_t number = find(functions, key, atomic_load_explicit(&first_function, memory_order_relaxed));
	if (!number) {
		const struct ct_record_driver *d = ct_record_driver();
		struct ct_record_function row = {.handle = handle};
		const char *name = NULL;
		bool is_kernel = false;
		if (!d->function_name || d->function_name(&name, (void *)(uintptr_t)handle) != 0 || !name) {
			name = NULL;
			is_kernel = d->kernel_name && d->kernel_name(&name, (void *)(uintptr_t)handle) == 0 && name;
		}
		row.name_length = name ? (uint32_t)strnlen(name, 16384) : 0;
		if (name)
			read_parameters(d, handle, is_kernel, &row);
		number = add_function(head, key, &row, name ? name : "");
	}
	*ret_row = number ? &rows[(number - 1) % CT_RECORD_FUNCTIONS] : NULL;
	return number;
}
