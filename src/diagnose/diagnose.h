// From what was seen to what it means. Knows only incident and base.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_DIAGNOSE_H
#define CT_DIAGNOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "incident/incident.h"

// ---- Assert and error lines in a stream of output --------------------------------------------------------

// A parsed device assert line. Texts are cleaned and live in the arena given.
struct ct_assert_line {
	const char *prefix;  // what stood in front of the file ("[rank0]:", a progress bar), "" if nothing
	const char *file;    // NULL when it was cut away
	uint32_t line;
	const char *function;  // NULL when absent
	const char *expression;
	struct ct_gridpos at;
	bool has_position;  // false when two processes' lines are mixed and the coordinates cannot be trusted
};

// Parses the first device assert in text (which may hold line breaks): the driver's line, PyTorch's device printf, or the
// paragraph of a TORCH_USE_CUDA_DSA build. False when there is none, or when its end is missing.
bool ct_parse_assert_line(struct ct_arena *arena, const char *text, size_t length, struct ct_assert_line *ret_line);

// The streaming form: bytes as they pass, in any pieces. Bounded memory whatever comes in; 100,000 equal assert lines
// become one entry with a count and coordinate runs.
struct ct_loglines;
struct ct_loglines *ct_loglines_new(void);
void ct_loglines_free(struct ct_loglines *lines);
// stream: 1 stdout, 2 stderr; each has its own line buffer.
void ct_loglines_feed(struct ct_loglines *lines, int stream, const char *bytes, size_t length);
// The driver's "You can now attach a debugger to the application (PID n)": called at once, also before the line's end.
void ct_loglines_on_waiting(struct ct_loglines *lines, void (*waiting)(void *context, int64_t pid), void *context);
// Fills incident->assertion (the first assert) and replaces incident->log; closes open lines. After the GPU part, when there
// is one: its grid and block extents then order the runs, else the extent of the coordinates seen does.
// An assert already there from the image or the debugger keeps its texts when the log's line was damaged.
void ct_loglines_finish(struct ct_loglines *lines, struct ct_incident *incident);
// The same while more may come: nothing is ended.
void ct_loglines_so_far(struct ct_loglines *lines, struct ct_incident *incident);
// The recognised lines as they came (cleaned, one a line, at most 256 KiB, then a line that says how many more): for the report
// folder. Borrowed until the next feed.
const char *ct_loglines_raw(const struct ct_loglines *lines, size_t *ret_length);

// ---- What kind of incident it is ---------------------------------------------------------------------------

// Sets incident->kind from the GPU part, the assert and the log, joins the assert with the failing groups, and adds the notes
// on what was not established. Call it once, after everything else is filled in; without evidence the kind that the trigger
// set stays.
void ct_diagnose(struct ct_incident *incident);

// The four questions (shape, dtype, value range, device) to the tensors of the launching thread's innermost known call, into
// incident->checks, replacing what is there. No rows when there are no tensors to ask. ct_diagnose() does it.
void ct_diagnose_checks(struct ct_incident *incident);

// ---- Which values, and why ---------------------------------------------------------------------------------

// assert-catalog.tsv, assert-values.tsv and call-causes.tsv of a folder (ct_data_dir()). On success *ret_catalog is the caller's.
struct ct_catalog;
bool ct_catalog_open(const char *dir, struct ct_catalog **ret_catalog, struct ct_error *err);
void ct_catalog_free(struct ct_catalog *catalog);  // NULL is fine
void ct_catalog_auto(struct ct_catalog **catalog);  // for CT_AUTO

// Names the kernel's arguments and the tensors that they point into, adds the values that the fault is about and, for an assert that the
// catalogue has, the likely cause. After ct_diagnose(), once. What is there already (locals, names) stays. catalog may be NULL.
void ct_explain(struct ct_incident *incident, const struct ct_catalog *catalog);
// The same with the tables of a folder: that they cannot be read costs the explanation, and a note says so.
void ct_explain_with(struct ct_incident *incident, const char *dir);

#endif
