// Output as it passes: lines are put together, freed of escapes, and those that matter go into the book.
// A line without a keyword costs one pass over a fraction of its bytes.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose_priv.h"

enum {
	LINE_LIMIT = 64 * 1024,    // longer lines are looked at in pieces
	PREVIOUS_LIMIT = 1024,     // of the line before, for heads that were broken
	PENDING_LIMIT = 8 * 1024,  // of a record that waits for its end
	PENDING_LINES = 64,
	// A writer that was killed within its line never ends it; one that only waits for a processor is back before.
	MAX_DISTRUSTED = 1000,
	N_PATTERNS = 8,  // as many ranks as a host has GPUs, each with its prefix
};

// How an assert line was put together: the next ones mostly differ in their coordinates only.
struct pattern {
	struct ct_str head, tail;
	unsigned handle;  // 0: none
};

struct stream {
	struct ct_str line;      // the open line
	struct ct_str plain;     // the line without escapes
	struct ct_str previous;  // the line before, when it was no assert
	struct ct_str pending;   // an assert without its end
	unsigned pending_lines;
	bool after_return;  // the last byte was '\r': a '\n' now is the same line end
	bool continued;     // the open line began before what is in `line`
	// Records whose end has not passed, those of other processes on the same terminal included: while there is one, the
	// numbers of a line that looks whole may be its.
	unsigned n_open;
	unsigned n_distrusted;  // records seen since
	bool pending_trusted;   // the pending one began when none was open
	struct pattern patterns[N_PATTERNS];
	unsigned next_pattern;
	struct ct_waiting waiting;
};

struct ct_loglines {
	struct stream streams[2];
	struct ct_logscan scan;
	struct ct_faulthandler faulthandler;
	struct ct_logbook *book;
	void (*waiting)(void *context, int64_t pid);
	void *context;
};

struct ct_loglines *ct_loglines_new(void)
{
	struct ct_loglines *lines = ct_xrealloc(NULL, sizeof *lines);
	memset(lines, 0, sizeof *lines);
	ct_logscan_init(&lines->scan);
	lines->book = ct_logbook_new();
	return lines;
}

void ct_loglines_free(struct ct_loglines *lines)
{
	if (!lines)
		return;
	ct_faulthandler_done(&lines->faulthandler);
	for (size_t i = 0; i < CT_COUNT(lines->streams); i++) {
		struct stream *s = &lines->streams[i];
		ct_str_done(&s->line);
		ct_str_done(&s->plain);
		ct_str_done(&s->previous);
		ct_str_done(&s->pending);
		for (size_t k = 0; k < N_PATTERNS; k++) {
			ct_str_done(&s->patterns[k].head);
			ct_str_done(&s->patterns[k].tail);
		}
	}
	ct_logbook_free(lines->book);
	free(lines);
}

void ct_loglines_on_waiting(struct ct_loglines *lines, void (*waiting)(void *context, int64_t pid), void *context)
{
	lines->waiting = waiting;
	lines->context = context;
}

// ---- One line ----------------------------------------------------------------------------------------------

static void learn_pattern(struct stream *s, const char *text, size_t length, const struct ct_assert_spans *spans, unsigned handle)
{
	struct pattern *p = &s->patterns[s->next_pattern++ % N_PATTERNS];
	p->handle = handle;
	ct_str_clear(&p->head);
	ct_str_clear(&p->tail);
	ct_str_append(&p->head, text, spans->coords);
	ct_str_append(&p->tail, text + spans->tail, length - spans->tail);
}

static bool fits(const struct pattern *p, const char *text, size_t length, struct ct_gridpos *ret_at)
{
	size_t head = p->head.length, tail = p->tail.length;
	if (!p->handle || length <= head + tail || memcmp(text, p->head.data, head) != 0 || memcmp(text + length - tail, p->tail.data, tail) != 0)
		return false;
	bool valid = false;
	return ct_assert_coords(text, head, length - tail, ret_at, &valid) == length - tail && valid;
}

// Books the line when it is a known assert again, at another place.
static bool take_known(struct ct_loglines *lines, const struct stream *s, const char *text, size_t length)
{
	if (s->pending.length || s->n_open || s->continued)
		return false;
	for (size_t i = 0; i < N_PATTERNS; i++) {
		struct ct_gridpos at;
		if (fits(&s->patterns[i], text, length, &at)) {
			ct_logbook_again(lines->book, s->patterns[i].handle, at);
			return true;
		}
	}
	return false;
}

// Returns a handle for more lines like this one, 0 when it was not whole.
static unsigned book_record(struct ct_loglines *lines, const struct stream *s, bool trusted, const char *text, struct ct_assert_spans *spans)
{
	spans->has_position = spans->has_position && trusted;
	// The beginning of an overlong line was looked at on its own: a path that starts here is the rest of one.
	if (s->continued && spans->file.at == text)
		spans->file = (struct ct_span){.at = NULL};
	unsigned handle = ct_logbook_assert(lines->book, text, spans);
	return spans->has_position && spans->form == CT_ASSERT_LINE && !s->continued ? handle : 0;
}

// An anchor without a record: a torn assert line, and not a program that prints its own "block: [64, 128]".
static bool looks_torn(const char *text, size_t length)
{
	struct ct_assert_spans head = {.form = CT_ASSERT_LINE};
	ct_assert_head(text, 0, ct_span_find(text, 0, length, CT_ASSERT_ANCHOR), &head);
	return head.file.at || ct_span_find(text, 0, length, "thread: [") < length || ct_span_find(text, 0, length, "Assertion ") < length;
}

static unsigned count_words(const char *text, size_t length, const char *word)
{
	unsigned n = 0;
	for (size_t at = 0; (at = ct_span_find(text, at, length, word)) < length; at += strlen(word))
		n++;
	return n;
}

static unsigned count_ends(const char *text, size_t length)
{
	return count_words(text, length, "` failed.") + count_words(text, length, "' failed.");
}

static void account(struct stream *s, unsigned n_begun, unsigned n_ended)
{
	unsigned n = s->n_open + n_begun;
	s->n_open = n > n_ended ? n - n_ended : 0;
	s->n_distrusted = s->n_open ? s->n_distrusted + (n_begun > 0) : 0;
	if (s->n_distrusted > MAX_DISTRUSTED)
		s->n_open = s->n_distrusted = 0;
}

// The pending record got no end: say that it was there.
static void drop_pending(struct ct_loglines *lines, struct stream *s)
{
	if (!s->pending.length)
		return;
	if (looks_torn(s->pending.data, s->pending.length))
		ct_logbook_line(lines->book, CT_LOG_OTHER, s->pending.data, ct_span_find(s->pending.data, 0, s->pending.length, "\n"));
	ct_str_clear(&s->pending);
	s->pending_lines = 0;
}

// What was found on a line.
struct taken {
	unsigned n_records;
	size_t behind;    // the last record
	unsigned handle;  // of the last record
	struct ct_assert_spans last;
};

static struct taken take_records(struct ct_loglines *lines, struct stream *s, const char *text, size_t length)
{
	struct taken t = {.n_records = 0};
	struct ct_assert_spans spans;
	enum ct_scan result;
	while ((result = ct_assert_scan(text, length, t.behind, &spans)) == CT_SCAN_FOUND) {
		t.handle = book_record(lines, s, s->n_open == 0, text, &spans);
		t.last = spans;
		t.behind = spans.end;
		t.n_records++;
	}
	if (result == CT_SCAN_OPEN) {
		size_t begin = t.behind ? spans.begin : 0;  // with the line before, when text begins with it
		ct_str_append(&s->pending, text + begin, length - begin < PENDING_LIMIT ? length - begin : PENDING_LIMIT);
		s->pending_lines = 1;
		s->pending_trusted = s->n_open == 0;
		t.behind = length;
	}
	return t;
}

// A head that lacks its file: the line before may hold it.
static bool wants_previous(const struct stream *s, const char *text, size_t length)
{
	struct ct_assert_spans spans;
	enum ct_scan result = s->previous.length ? ct_assert_scan(text, length, 0, &spans) : CT_SCAN_NONE;
	return result == CT_SCAN_OPEN || (result == CT_SCAN_FOUND && !spans.file.at);
}

static struct taken take_with_previous(struct ct_loglines *lines, struct stream *s, const char *text, size_t length)
{
	if (s->previous.data[s->previous.length - 1] == ':')
		ct_logbook_raw(lines->book, s->previous.data, s->previous.length);
	ct_str_addc(&s->previous, '\n');
	size_t before = s->previous.length;
	ct_str_append(&s->previous, text, length);
	struct taken t = take_records(lines, s, s->previous.data, s->previous.length);
	t.behind = t.behind > before ? t.behind - before : 0;
	t.handle = 0;
	return t;
}

static void take_anchor_line(struct ct_loglines *lines, struct stream *s, const char *text, size_t length)
{
	drop_pending(lines, s);
	struct taken t = wants_previous(s, text, length) ? take_with_previous(lines, s, text, length) : take_records(lines, s, text, length);
	ct_str_clear(&s->previous);
	// "failed.RuntimeError: CUDA error: ...": another writer went on behind the record.
	enum ct_log_kind kind;
	unsigned rest = ct_logscan_line(&lines->scan, text + t.behind, length - t.behind);
	if (ct_logscan_kind(rest, &kind))
		ct_logbook_line(lines->book, kind, text + t.behind, length - t.behind);
	unsigned n_ends = count_ends(text, length);
	if (t.n_records || looks_torn(text, length))
		account(s, count_words(text, length, CT_ASSERT_ANCHOR), n_ends > t.n_records ? n_ends : t.n_records);
	if (t.n_records == 1 && t.handle && t.last.coords && !rest && !s->pending.length)
		learn_pattern(s, text, length, &t.last, t.handle);
}

// Returns whether the line ended the pending record.
static bool continue_pending(struct ct_loglines *lines, struct stream *s, const char *text, size_t length)
{
	if (s->pending.length + length + 1 > PENDING_LIMIT || s->pending_lines >= PENDING_LINES) {
		drop_pending(lines, s);
		return false;
	}
	ct_str_addc(&s->pending, '\n');
	ct_str_append(&s->pending, text, length);
	s->pending_lines++;
	struct ct_assert_spans spans;
	enum ct_scan result = ct_assert_scan(s->pending.data, s->pending.length, 0, &spans);
	if (result == CT_SCAN_OPEN)
		return false;
	if (result == CT_SCAN_NONE) {
		drop_pending(lines, s);
		return false;
	}
	book_record(lines, s, s->pending_trusted, s->pending.data, &spans);
	ct_str_clear(&s->pending);
	s->pending_lines = 0;
	return true;
}

// A line without an anchor.
static void take_other_line(struct ct_loglines *lines, struct stream *s, unsigned bits, const char *text, size_t length)
{
	enum ct_log_kind kind;
	bool known = ct_logscan_kind(bits, &kind), ended = false;
	// The driver's waiting line is counted by its PID.
	if (known && kind != CT_LOG_WAITING)
		ct_logbook_line(lines->book, kind, text, length);
	else if (!known && s->pending.length)
		ended = continue_pending(lines, s, text, length);
	if (s->n_open) {
		unsigned n_ends = count_ends(text, length);
		account(s, 0, ended && !n_ends ? 1 : n_ends);
	}
}

static void remember(struct stream *s, const char *text, size_t length)
{
	size_t keep = length < PREVIOUS_LIMIT ? length : PREVIOUS_LIMIT;
	ct_str_clear(&s->previous);
	ct_str_append(&s->previous, text + length - keep, keep);
}

static void take_line(struct ct_loglines *lines, struct stream *s, const char *text, size_t length)
{
	if (memchr(text, '\x1b', length)) {
		ct_str_clear(&s->plain);
		ct_str_append(&s->plain, "", 0);
		ct_log_strip_escapes(text, length, &s->plain);
		text = s->plain.data;
		length = s->plain.length;
	}
	ct_faulthandler_line(&lines->faulthandler, text, length);
	if (take_known(lines, s, text, length)) {
		ct_logbook_raw(lines->book, text, length);
		ct_str_clear(&s->previous);
		return;
	}
	unsigned bits = ct_logscan_line(&lines->scan, text, length);
	bool waits = s->pending.length > 0;
	if (bits & CT_SCAN_ANCHOR) {
		take_anchor_line(lines, s, text, length);
	} else {
		take_other_line(lines, s, bits, text, length);
		remember(s, text, length);
	}
	if (bits || waits)
		ct_logbook_raw(lines->book, text, length);
}

// ---- Bytes to lines ----------------------------------------------------------------------------------------

static void watch(struct ct_loglines *lines, struct stream *s, const char *bytes, size_t length)
{
	while (length) {
		int64_t pid;
		size_t used = ct_waiting_feed(&s->waiting, bytes, length, &pid);
		bytes += used;
		length -= used;
		if (!pid)
			continue;
		ct_logbook_waiting(lines->book, pid);
		if (lines->waiting)
			lines->waiting(lines->context, pid);
	}
}

// Adds bytes without a line end to the open line; a full one is looked at, and goes on empty.
static void open_line(struct ct_loglines *lines, struct stream *s, const char *bytes, size_t length)
{
	while (length > LINE_LIMIT - s->line.length) {
		size_t part = LINE_LIMIT - s->line.length;
		ct_str_append(&s->line, bytes, part);
		take_line(lines, s, s->line.data, s->line.length);
		ct_str_clear(&s->line);
		s->continued = true;
		bytes += part;
		length -= part;
	}
	if (length)
		ct_str_append(&s->line, bytes, length);
}

static void end_line(struct ct_loglines *lines, struct stream *s, const char *bytes, size_t length)
{
	if (s->line.length || s->continued || length > LINE_LIMIT) {
		open_line(lines, s, bytes, length);
		take_line(lines, s, ct_str_text(&s->line), s->line.length);
		ct_str_clear(&s->line);
		s->continued = false;
	} else {
		take_line(lines, s, bytes, length);
	}
}

// Bytes up to a '\n' (which stands behind them when newline is set). A '\r' ends a line too: progress bars have no other end.
static void take_returns(struct ct_loglines *lines, struct stream *s, const char *bytes, size_t length, bool newline)
{
	const char *r;
	while (length && (r = memchr(bytes, '\r', length))) {
		size_t n = (size_t)(r - bytes);
		watch(lines, s, bytes, n + 1);
		end_line(lines, s, bytes, n);
		bytes += n + 1;
		length -= n + 1;
		s->after_return = length == 0;
	}
	watch(lines, s, bytes, newline ? length + 1 : length);
	if (length) {
		s->after_return = false;
		if (newline)
			end_line(lines, s, bytes, length);
		else
			open_line(lines, s, bytes, length);
	} else if (newline && !s->after_return) {
		end_line(lines, s, bytes, 0);
	}
	if (newline)
		s->after_return = false;
}

void ct_loglines_feed(struct ct_loglines *lines, int stream, const char *bytes, size_t length)
{
	struct stream *s = &lines->streams[stream == 1 ? 0 : 1];
	while (length) {
		const char *end = memchr(bytes, '\n', length);
		size_t n = end ? (size_t)(end - bytes) : length;
		take_returns(lines, s, bytes, n, end != NULL);
		bytes += end ? n + 1 : n;
		length -= end ? n + 1 : n;
	}
	ct_logbook_seal_raw(lines->book);
}

void ct_loglines_finish(struct ct_loglines *lines, struct ct_incident *incident)
{
	for (size_t i = 0; i < CT_COUNT(lines->streams); i++) {
		struct stream *s = &lines->streams[i];
		if (s->line.length)
			end_line(lines, s, "", 0);
		drop_pending(lines, s);
	}
	ct_logbook_seal_raw(lines->book);
	ct_logbook_fill(lines->book, incident);
	ct_faulthandler_fill(&lines->faulthandler, incident);
}

void ct_loglines_so_far(struct ct_loglines *lines, struct ct_incident *incident)
{
	ct_logbook_fill(lines->book, incident);
}

const char *ct_loglines_raw(const struct ct_loglines *lines, size_t *ret_length)
{
	return ct_logbook_raw_text(lines->book, ret_length);
}
