// What the files of diagnose/ share: spans of a line, keywords, bounded sets of positions, the book of entries.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_DIAGNOSE_PRIV_H
#define CT_DIAGNOSE_PRIV_H

#include "diagnose/diagnose.h"

// Borrowed bytes, not ended by a NUL.
struct ct_span {
	const char *at;  // NULL: absent
	size_t length;
};

bool ct_span_equal(struct ct_span a, struct ct_span b);
// First occurrence of word in [from, end) of text; end when there is none.
size_t ct_span_find(const char *text, size_t from, size_t end, const char *word);

// ---- One assert in a text ----------------------------------------------------------------------------------

enum ct_assert_form {
	CT_ASSERT_LINE,    // the driver's line
	CT_ASSERT_PRINTF,  // PyTorch's [CUDA_KERNEL_ASSERT] device printf
	CT_ASSERT_DSA,     // PyTorch built with TORCH_USE_CUDA_DSA: a paragraph
};

struct ct_assert_spans {
	enum ct_assert_form form;
	size_t begin, end;  // the record within the text: from its prefix to behind "failed."
	struct ct_span prefix, file, function, expression;
	bool has_line;
	uint32_t line;
	struct ct_gridpos at;
	bool has_position;
	bool mixed;  // pieces of two lines alternate
	// Where the coordinates stand: [coords, tail) is "x,y,z], thread: [x,y,z]". 0, 0 when they are not plain.
	size_t coords, tail;
};

enum ct_scan {
	CT_SCAN_NONE,
	CT_SCAN_FOUND,
	CT_SCAN_OPEN,  // begins here (ret->begin), its end has not been seen
};

// The first assert whose anchor stands at or after `from`. Text in front of `from` belongs to an earlier record.
enum ct_scan ct_assert_scan(const char *text, size_t length, size_t from, struct ct_assert_spans *ret);
// "x,y,z], thread: [x,y,z]" and nothing else; line breaks may stand between the tokens. Returns the offset behind it,
// 0 when it is something else, length when the text ends too early. *ret_valid: the numbers can be CUDA coordinates.
size_t ct_assert_coords(const char *text, size_t from, size_t length, struct ct_gridpos *ret_at, bool *ret_valid);
// FILE:LINE: FUNCTION in text[begin, end), with or without its last ':'. Sets prefix, file, line, function, mixed.
void ct_assert_head(const char *text, size_t begin, size_t end, struct ct_assert_spans *ret);
// The paragraph form; `from` stands at its first line's keyword.
enum ct_scan ct_assert_dsa(const char *text, size_t length, size_t from, struct ct_assert_spans *ret);

#define CT_ASSERT_ANCHOR "block: ["
#define CT_ASSERT_DSA_ANCHOR "GPU assertion failure message = "

// ---- Keywords ------------------------------------------------------------------------------------------------

// Bits of ct_logscan_line(): 1 << enum ct_log_kind, and these.
enum {
	CT_SCAN_ANCHOR = 1 << 16,  // a device assert may stand here
	CT_SCAN_LAUNCH = 1 << 17,  // names an error of launching or loading: no kernel ran
};

enum { CT_LOGSCAN_SLOTS = 4096, CT_LOGSCAN_NEEDLES = 128 };

struct ct_logscan {
	uint8_t shift[CT_LOGSCAN_SLOTS];
	uint8_t first[CT_LOGSCAN_SLOTS];  // needle number + 1
	uint8_t next[CT_LOGSCAN_NEEDLES];
};

void ct_logscan_init(struct ct_logscan *scan);
unsigned ct_logscan_line(const struct ct_logscan *scan, const char *text, size_t length);
// The most telling kind in the bits. False when there is none (an anchor alone is none).
bool ct_logscan_kind(unsigned bits, enum ct_log_kind *ret_kind);

// Length of the rank, worker, collector and logger prefixes at the start of a line, 0 without any.
size_t ct_log_prefix(const char *text, size_t length);
// Frames that rich and notebooks draw around text (U+2500..U+257F) and the blanks around them: bytes to skip.
size_t ct_log_box(const char *text, size_t length);
// Text without terminal escape sequences, appended to ret_plain.
void ct_log_strip_escapes(const char *text, size_t length, struct ct_str *ret_plain);

// ---- Waiting for a debugger --------------------------------------------------------------------------------

// Finds "You can now attach a debugger to the application (PID n)" in bytes as they pass.
struct ct_waiting {
	unsigned matched;
	unsigned escape;
	bool has_digits;
	int64_t pid;
};

// Feeds up to length bytes; returns how many were used. *ret_pid is the PID when one became complete with the last
// byte used, else 0.
size_t ct_waiting_feed(struct ct_waiting *waiting, const char *bytes, size_t length, int64_t *ret_pid);

// ---- Bounded sets of positions -------------------------------------------------------------------------------

enum { CT_MAX_POSITIONS = 65536 };

struct ct_positions {
	struct ct_dim3 *slots;
	size_t n_slots, count;
	struct ct_dim3 box;  // one more than the largest of each component
	struct ct_dim3 last;
	bool cut;  // positions beyond CT_MAX_POSITIONS were not kept
};

void ct_positions_done(struct ct_positions *positions);
void ct_positions_add(struct ct_positions *positions, struct ct_dim3 at);
void ct_positions_merge(struct ct_positions *positions, const struct ct_positions *more);
// As runs in the arena. dim: the launch's extent when known, else zero; then, or when positions stand outside it, the box.
struct ct_dim3_run *ct_positions_runs(const struct ct_positions *positions, struct ct_arena *arena, struct ct_dim3 dim, size_t *ret_count,
				      bool *ret_cut);

// faulthandler.c: Python's own stacks in the output, line by line; then into an incident that has no Python frame from elsewhere.
struct ct_faulthandler {
	struct ct_str text;
	bool is_open;
};
void ct_faulthandler_line(struct ct_faulthandler *f, const char *text, size_t length);
void ct_faulthandler_fill(const struct ct_faulthandler *f, struct ct_incident *incident);
void ct_faulthandler_done(struct ct_faulthandler *f);

// ---- The book: what was recognised, equal things once -----------------------------------------------------------

struct ct_logbook;
struct ct_logbook *ct_logbook_new(void);
void ct_logbook_free(struct ct_logbook *book);
// Text is the line or lines that the spans were found in. Returns a handle for ct_logbook_again(), 0 for none.
unsigned ct_logbook_assert(struct ct_logbook *book, const char *text, const struct ct_assert_spans *spans);
// One more line of the same assert, at another place.
void ct_logbook_again(struct ct_logbook *book, unsigned handle, struct ct_gridpos at);
void ct_logbook_line(struct ct_logbook *book, enum ct_log_kind kind, const char *text, size_t length);
void ct_logbook_waiting(struct ct_logbook *book, int64_t pid);
void ct_logbook_raw(struct ct_logbook *book, const char *text, size_t length);
const char *ct_logbook_raw_text(const struct ct_logbook *book, size_t *ret_length);
void ct_logbook_seal_raw(struct ct_logbook *book);  // brings the "more lines" line up to date
void ct_logbook_fill(struct ct_logbook *book, struct ct_incident *incident);

#endif
