// The book of recognised lines: equal ones are one entry, whatever comes in takes bounded memory.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose_priv.h"

enum {
	MAX_ENTRIES = 512,
	MAX_ASSERTS = 64,    // different ones; a program has a handful
	MAX_PLACED = 8,      // asserts whose coordinates are kept: 3 MiB each when full
	MAX_TEXT = 4096,     // bytes of an entry's text
	MAX_KEY = 512,       // bytes of a line that tell it from others
	RAW_LIMIT = 256 * 1024,
	N_SLOTS = 2048,  // a power of two, well above MAX_ENTRIES
};

struct assert_facts {
	const char *file, *function, *expression;  // in the book's arena
	bool has_line;
	uint32_t line;
	bool has_first;
	struct ct_gridpos first;
	struct ct_positions blocks, threads;
};

struct entry {
	enum ct_log_kind kind;
	uint64_t hash;
	struct ct_span key;  // in the book's arena
	const char *text, *prefix;
	uint64_t count;
	struct assert_facts *facts;  // NULL for other kinds
};

struct ct_logbook {
	struct ct_arena arena;
	struct entry entries[MAX_ENTRIES];
	size_t n_entries, n_asserts, n_placed;
	uint16_t slots[N_SLOTS];  // entry number + 1
	size_t damaged;           // entry number + 1 of the first damaged assert line that belongs to no other entry
	uint64_t n_dropped;       // lines that no entry could be made for
	struct ct_str key;
	struct ct_str raw;
	size_t raw_body;  // bytes of raw in front of its last, counting line
	uint64_t n_raw_more, n_raw_said;
};

struct ct_logbook *ct_logbook_new(void)
{
	struct ct_logbook *book = ct_xrealloc(NULL, sizeof *book);
	memset(book, 0, sizeof *book);
	return book;
}

void ct_logbook_free(struct ct_logbook *book)
{
	if (!book)
		return;
	for (size_t i = 0; i < book->n_entries; i++)
		if (book->entries[i].facts) {
			ct_positions_done(&book->entries[i].facts->blocks);
			ct_positions_done(&book->entries[i].facts->threads);
		}
	ct_arena_done(&book->arena);
	ct_str_done(&book->key);
	ct_str_done(&book->raw);
	free(book);
}

static uint64_t hash_of(struct ct_span key)
{
	uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
	for (size_t i = 0; i < key.length; i++)
		h = (h ^ (unsigned char)key.at[i]) * 0x100000001b3u;
	return h ^ h >> 32;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex_digit(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Kind and text; numbers are alike, so that addresses, times and ranks do not make a new entry each.
static void make_line_key(struct ct_str *key, enum ct_log_kind kind, const char *text, size_t length)
{
	ct_str_clear(key);
	ct_str_addc(key, (char)('A' + (int)kind));
	for (size_t i = 0; i < length && i < MAX_KEY;) {
		bool hex = length - i > 2 && text[i] == '0' && text[i + 1] == 'x';
		if (!is_digit(text[i])) {
			ct_str_addc(key, text[i++]);
			continue;
		}
		for (i += hex ? 2 : 0; i < length && (hex ? is_hex_digit(text[i]) : is_digit(text[i]));)
			i++;
		ct_str_addc(key, '#');
	}
}

static struct ct_span basename_of(struct ct_span path)
{
	size_t begin = path.length;
	while (begin > 0 && path.at[begin - 1] != '/' && path.at[begin - 1] != '\\')
		begin--;
	return (struct ct_span){.at = path.at + begin, .length = path.length - begin};
}

static void add_field(struct ct_str *key, struct ct_span field)
{
	ct_str_addc(key, field.at ? '\1' : '\0');
	ct_str_append(key, field.at ? field.at : "", field.length < MAX_TEXT ? field.length : MAX_TEXT);
}

static void make_assert_key(struct ct_str *key, enum ct_log_kind kind, const struct ct_assert_spans *s)
{
	ct_str_clear(key);
	ct_str_addc(key, (char)('A' + (int)kind));
	add_field(key, s->file.at ? basename_of(s->file) : s->file);
	ct_str_append(key, (const char *)&s->line, sizeof s->line);
	add_field(key, s->function);
	add_field(key, s->expression);
}

// The slot where key stands or belongs.
static uint16_t *find_slot(struct ct_logbook *book, struct ct_span key, uint64_t hash)
{
	size_t i = (size_t)hash & (N_SLOTS - 1);
	while (book->slots[i]) {
		const struct entry *e = &book->entries[book->slots[i] - 1];
		if (e->hash == hash && ct_span_equal(e->key, key))
			break;
		i = (i + 1) & (N_SLOTS - 1);
	}
	return &book->slots[i];
}

static bool is_known(struct ct_logbook *book)
{
	struct ct_span key = {.at = book->key.data, .length = book->key.length};
	return *find_slot(book, key, hash_of(key)) != 0;
}

static const char *entry_text(struct ct_logbook *book, const char *text, size_t length)
{
	char *clean = ct_arena_clean(&book->arena, text, length < MAX_TEXT ? length : MAX_TEXT);
	for (char *p = clean; *p; p++)
		if (*p == '\n')
			*p = ' ';
	return clean;
}

// The entry of book->key, made with text as its first line when there is none. NULL when the book is full.
static struct entry *find_or_make(struct ct_logbook *book, enum ct_log_kind kind, const char *text, size_t length, bool *ret_new)
{
	struct ct_span key = {.at = book->key.data, .length = book->key.length};
	uint64_t hash = hash_of(key);
	uint16_t *slot = find_slot(book, key, hash);
	*ret_new = *slot == 0;
	if (*slot)
		return &book->entries[*slot - 1];
	if (book->n_entries == MAX_ENTRIES)
		return NULL;
	struct entry *e = &book->entries[book->n_entries++];
	*slot = (uint16_t)book->n_entries;
	size_t box = ct_log_box(text, length), prefix = ct_log_prefix(text + box, length - box), rest = box + prefix;
	while (rest < length && text[rest] == ' ')
		rest++;
	*e = (struct entry){
		.kind = kind,
		.hash = hash,
		.key = {.at = ct_arena_strndup(&book->arena, key.at, key.length), .length = key.length},
		.text = entry_text(book, text + rest, length - rest),
		.prefix = prefix ? ct_arena_clean(&book->arena, text + box, prefix) : NULL,
	};
	return e;
}

static void place(struct ct_logbook *book, struct assert_facts *facts, struct ct_gridpos at)
{
	if (!facts->has_first) {
		if (book->n_placed < MAX_PLACED)
			book->n_placed++;
		else
			facts->blocks.cut = facts->threads.cut = true;
		facts->has_first = true;
		facts->first = at;
	}
	if (facts->blocks.count == 0 && facts->blocks.cut)
		return;
	ct_positions_add(&facts->blocks, at.block);
	ct_positions_add(&facts->threads, at.thread);
}

// What a damaged line still says does not contradict the facts.
static bool agrees(const struct assert_facts *facts, const struct ct_assert_spans *s)
{
	if (s->file.at) {
		struct ct_span base = basename_of(s->file);
		const char *known = facts->file ? ct_basename(facts->file) : "";
		if (strlen(known) != base.length || memcmp(known, base.at, base.length) != 0)
			return false;
	}
	if (s->has_line && (!facts->has_line || s->line != facts->line))
		return false;
	if (s->function.at && (!facts->function || strlen(facts->function) != s->function.length ||
			       memcmp(facts->function, s->function.at, s->function.length) != 0))
		return false;
	return strlen(facts->expression) == s->expression.length && memcmp(facts->expression, s->expression.at, s->expression.length) == 0;
}

static struct entry *entry_that_agrees(struct ct_logbook *book, const struct ct_assert_spans *s)
{
	for (size_t i = 0; i < book->n_entries; i++) {
		struct entry *e = &book->entries[i];
		if (e->kind == CT_LOG_ASSERT && i + 1 != book->damaged && agrees(e->facts, s))
			return e;
	}
	return NULL;
}

static struct assert_facts *make_facts(struct ct_logbook *book, const struct ct_assert_spans *s)
{
	struct ct_arena *arena = &book->arena;
	struct assert_facts *facts = ct_arena_alloc(arena, sizeof *facts);
	size_t expression = s->expression.length < MAX_TEXT ? s->expression.length : MAX_TEXT;
	*facts = (struct assert_facts){
		.file = ct_arena_clean(arena, s->file.at, s->file.length < MAX_TEXT ? s->file.length : MAX_TEXT),
		.function = ct_arena_clean(arena, s->function.at, s->function.length < MAX_TEXT ? s->function.length : MAX_TEXT),
		.expression = ct_arena_clean(arena, s->expression.at ? s->expression.at : "", expression),
		.has_line = s->has_line,
		.line = s->has_line ? s->line : 0,
	};
	return facts;
}

// A damaged line counts for the entry that it agrees with; the first that agrees with none gets one of its own.
static struct entry *damaged_entry(struct ct_logbook *book, const char *text, size_t length, const struct ct_assert_spans *s, bool *ret_new)
{
	struct entry *e = entry_that_agrees(book, s);
	*ret_new = false;
	if (e)
		return e;
	if (book->damaged) {
		e = &book->entries[book->damaged - 1];
		return agrees(e->facts, s) ? e : NULL;
	}
	e = find_or_make(book, CT_LOG_ASSERT, text, length, ret_new);
	if (e)
		book->damaged = (size_t)(e - book->entries) + 1;
	return e;
}

unsigned ct_logbook_assert(struct ct_logbook *book, const char *text, const struct ct_assert_spans *spans)
{
	enum ct_log_kind kind = spans->form == CT_ASSERT_PRINTF ? CT_LOG_ASSERT_PRINTF : CT_LOG_ASSERT;
	const char *record = text + spans->begin;
	size_t length = spans->end - spans->begin;
	bool damaged = kind == CT_LOG_ASSERT && (spans->mixed || !spans->file.at), is_new = false;
	make_assert_key(&book->key, kind, spans);
	struct entry *e = NULL;
	if (damaged)
		e = damaged_entry(book, record, length, spans, &is_new);
	else if (book->n_asserts < MAX_ASSERTS || is_known(book))
		e = find_or_make(book, kind, record, length, &is_new);
	if (!e) {
		book->n_dropped++;
		return 0;
	}
	if (is_new) {
		book->n_asserts++;
		e->facts = make_facts(book, spans);
	}
	e->count++;
	if (spans->has_position)
		place(book, e->facts, spans->at);
	return damaged ? 0 : (unsigned)(e - book->entries) + 1;
}

void ct_logbook_again(struct ct_logbook *book, unsigned handle, struct ct_gridpos at)
{
	struct entry *e = &book->entries[handle - 1];
	e->count++;
	place(book, e->facts, at);
}

void ct_logbook_line(struct ct_logbook *book, enum ct_log_kind kind, const char *text, size_t length)
{
	size_t box = ct_log_box(text, length), skip = box + ct_log_prefix(text + box, length - box);
	while (skip < length && text[skip] == ' ')
		skip++;
	make_line_key(&book->key, kind, text + skip, length - skip);
	bool is_new = false;
	struct entry *e = find_or_make(book, kind, text, length, &is_new);
	if (e)
		e->count++;
	else
		book->n_dropped++;
}

void ct_logbook_waiting(struct ct_logbook *book, int64_t pid)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	ct_str_addf(&text, "The application encountered a device error and CUDA_DEVICE_WAITS_ON_EXCEPTION is set. "
			   "You can now attach a debugger to the application (PID %lld) for inspection.", (long long)pid);
	ct_str_clear(&book->key);
	ct_str_addf(&book->key, "%c%lld", 'A' + (int)CT_LOG_WAITING, (long long)pid);
	bool is_new = false;
	struct entry *e = find_or_make(book, CT_LOG_WAITING, text.data, text.length, &is_new);
	if (e)
		e->count++;
	else
		book->n_dropped++;
}

void ct_logbook_raw(struct ct_logbook *book, const char *text, size_t length)
{
	// Cleaning makes at most three bytes of one.
	if (book->n_raw_more || book->raw_body + length * 3 + 1 > RAW_LIMIT) {
		book->n_raw_more++;
		return;
	}
	ct_str_append_clean(&book->raw, text, length);
	ct_str_addc(&book->raw, '\n');
	book->raw_body = book->raw.length;
}

void ct_logbook_seal_raw(struct ct_logbook *book)
{
	if (book->n_raw_said == book->n_raw_more)
		return;
	book->raw.length = book->raw_body;
	ct_str_addf(&book->raw, "(%llu more lines)\n", (unsigned long long)book->n_raw_more);
	book->n_raw_said = book->n_raw_more;
}

const char *ct_logbook_raw_text(const struct ct_logbook *book, size_t *ret_length)
{
	*ret_length = book->raw.length;
	return ct_str_text(&book->raw);
}

// Damaged lines that came before the first whole one of the same assert.
static void settle_damaged(struct ct_logbook *book)
{
	if (!book->damaged)
		return;
	struct entry *d = &book->entries[book->damaged - 1];
	const struct assert_facts *f = d->facts;
	struct ct_assert_spans s = {.has_line = f->has_line, .line = f->line, .expression = {.at = f->expression, .length = strlen(f->expression)}};
	if (f->file)
		s.file = (struct ct_span){.at = f->file, .length = strlen(f->file)};
	if (f->function)
		s.function = (struct ct_span){.at = f->function, .length = strlen(f->function)};
	struct entry *whole = entry_that_agrees(book, &s);
	if (!whole)
		return;
	whole->count += d->count;
	d->count = 0;
	ct_positions_merge(&whole->facts->blocks, &d->facts->blocks);
	ct_positions_merge(&whole->facts->threads, &d->facts->threads);
}

// The assert that the incident is about: the first whole one; else what a damaged line or the printf form says.
static const struct entry *first_assert(const struct ct_logbook *book)
{
	const struct entry *best = NULL;
	for (size_t i = 0; i < book->n_entries; i++) {
		const struct entry *e = &book->entries[i];
		if (!e->facts || !e->count)
			continue;
		if (e->kind == CT_LOG_ASSERT && i + 1 != book->damaged)
			return e;
		if (!best || e->kind == CT_LOG_ASSERT)
			best = e;
	}
	return best;
}

static void fill_assertion(const struct entry *e, struct ct_incident *incident)
{
	const struct assert_facts *f = e->facts;
	struct ct_arena *arena = &incident->arena;
	struct ct_assert *a = &incident->assertion;
	// A damaged line does not replace what the image or the debugger said whole.
	if (!a->present || f->file) {
		a->source = "log";
		a->file = ct_arena_strdup(arena, f->file);
		a->line = f->line;
		a->function = ct_arena_strdup(arena, f->function);
		a->expression = ct_arena_strdup(arena, f->expression);
	}
	a->present = true;
	a->n_lines = e->count;
	a->has_first = f->has_first;
	a->first = f->first;
	const struct ct_kernel *k = &incident->gpu.kernel;
	bool has_dims = incident->gpu.present && incident->gpu.has_kernel && k->has_dims;
	struct ct_dim3 none = {0, 0, 0};
	a->block_runs = ct_positions_runs(&f->blocks, arena, has_dims ? k->grid_dim : none, &a->n_block_runs, &a->block_runs_cut);
	a->thread_runs = ct_positions_runs(&f->threads, arena, has_dims ? k->block_dim : none, &a->n_thread_runs, &a->thread_runs_cut);
}

void ct_logbook_fill(struct ct_logbook *book, struct ct_incident *incident)
{
	settle_damaged(book);
	const struct entry *first = first_assert(book);
	if (first)
		fill_assertion(first, incident);
	struct ct_arena *arena = &incident->arena;
	incident->log = NULL;
	incident->n_log = 0;
	for (size_t i = 0; i < book->n_entries; i++) {
		const struct entry *e = &book->entries[i];
		if (!e->count)
			continue;
		incident->log = ct_arena_grow(arena, incident->log, &incident->n_log, sizeof *incident->log);
		incident->log[incident->n_log - 1] = (struct ct_log_entry){
			.kind = e->kind,
			.text = ct_arena_strdup(arena, e->text),
			.prefix = ct_arena_strdup(arena, e->prefix),
			.count = e->count,
		};
	}
	if (book->n_dropped) {
		incident->log = ct_arena_grow(arena, incident->log, &incident->n_log, sizeof *incident->log);
		incident->log[incident->n_log - 1] = (struct ct_log_entry){
			.kind = CT_LOG_OTHER, .text = "more lines that differ from those listed", .count = book->n_dropped};
	}
}
