// argv, CUDATRAP_OPTIONS and the configuration file -> one read-only struct.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_CLI_H
#define CT_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/base.h"

enum ct_engine_choice { CT_ENGINE_AUTO, CT_ENGINE_WAIT, CT_ENGINE_CORE, CT_ENGINE_LIVE };
enum ct_dump_choice { CT_DUMP_LIGHT, CT_DUMP_MEMORY, CT_DUMP_FULL };
enum ct_color_choice { CT_COLOR_AUTO, CT_COLOR_ALWAYS, CT_COLOR_NEVER };
// What becomes of the process whose fault was read: it gets the fault's error from every CUDA call and ends by its own means; it is ended; or the
// driver lets it run on past the fault.
enum ct_after_fault { CT_FAULT_IS_ERROR, CT_FAULT_ENDS_RUN, CT_FAULT_CONTINUES };

enum ct_record_choice { CT_RECORDS_WITH_ASYNC, CT_RECORDS_ALWAYS, CT_RECORDS_NEVER };

enum { CT_MAX_COMMANDS = 64, CT_MAX_REDACT = 64 };
// Bounds of record_depth and history. Options come before all else, so those who know the reasons check that these are theirs (engine/record.c).
enum { CT_OPTION_MIN_RECORD_DEPTH = 4096, CT_OPTION_MAX_RECORD_DEPTH = 1024 * 1024, CT_OPTION_MAX_HISTORY = 1024 };

struct ct_options {
	char **argv;  // what is left after the options: the command, or a subcommand's operands; NULL-terminated
	int argc;
	enum ct_engine_choice engine;
	enum ct_color_choice color;
	enum ct_after_fault after_fault;
	bool async;          // do not set CUDA_LAUNCH_BLOCKING=1
	enum ct_record_choice record;  // whether launches are recorded
	unsigned record_depth;         // how many of them
	bool keep_record;              // in the report folder
	unsigned history;              // of the stream, in the report
	bool anomaly;                  // turn PyTorch's anomaly detection on
	bool api_failures;   // engine live: stop at failing CUDA calls too
	enum ct_dump_choice dump;  // engine core: what the driver writes
	bool keep_dump;            // engine core: in the report folder
	int64_t dump_limit_mib;    // engine core: what is longer is cut
	bool raw;                  // cudatrap report: every table of a dump
	bool watch_stdout;   // look for assert lines on stdout as well
	unsigned width;      // columns of the text report; 0: the terminal's, else 80
	bool native;         // all native frames in the text report
	bool quiet;          // no report on stderr; the folder only
	bool verbose;        // say what is done, pass cuda-gdb's own output on
	int error_exitcode;  // our status when a fault was trapped
	int64_t timeout_ms;  // 0: none
	int64_t grace_ms;    // between asking a process to end and ending it
	int64_t ending_limit_ms;  // after CT_FAULT_IS_ERROR: a process that is still there then is ended; 0: never
	int64_t deadline_ms; // for everything collected after a fault
	const char *cuda_gdb;    // NULL: look for one
	const char *report_dir;  // "cudatrap-reports"
	const char *job_dir;     // where the ranks of a job leave reports and markers; NULL: no markers
	const char *since;       // list, merge: only reports from then on; NULL: all
	const char *known;       // list: file of signatures that are known; NULL: none
	const char *job;         // merge: this job's reports only; NULL: all
	const char *format;      // report, list and merge: NULL: text
	const char *also;        // formats to write into the report folder too, separated by commas; NULL: none
	const char *commands[CT_MAX_COMMANDS];  // cudatrap shell --command, in order
	size_t n_commands;
	unsigned keep, keep_days;  // how many reports stay, and for how long; 0: all, for ever
	const char *on_report;     // command to run on a report, words with shell-like quotes; NULL: none
	const char *redact[CT_MAX_REDACT];  // patterns of names whose values are left out
	size_t n_redact;
	bool syslog;
	const char *config_warning;  // why a file was not read, for the caller to say; NULL: nothing
	bool interactive;  // a cuda-gdb session at the fault
	bool help, version;
};

// Options from, the later winning: $XDG_CONFIG_HOME/cudatrap/config and $XDG_CONFIG_HOME/cudatrap.conf (else in ~/.config),
// ./.cudatrap.conf, CUDATRAP_DIR (the report folder), CUDATRAP_OPTIONS (words, shell-like quotes), argv. A file has an option a line, without its dashes; "#"
// at the start of a word begins a comment. The current folder's file is left out, with a warning, when somebody else may have written it,
// and may not hold options that run programs or delete something. Texts borrowed from argv, the environment and arena. CT_USAGE with one line that
// names the option and its source.
bool ct_cli_parse(struct ct_arena *arena, int argc, char **argv, struct ct_options *ret_options, struct ct_error *err);

// Options behind a subcommand name (options->argv[0]), on top of those already read; the rest is in ret_options->argv again.
bool ct_cli_parse_more(const struct ct_options *options, struct ct_options *ret_options, struct ct_error *err);

void ct_cli_print_help(FILE *out);

// What --color and --width leave to the terminal at fd, NO_COLOR and TERM. Width 0: not known.
bool ct_cli_want_color(const struct ct_options *options, int fd);
unsigned ct_cli_width(const struct ct_options *options, int fd);

// Splits shell-like words: blanks separate, '...' and "..." quote, \ escapes one character. For CUDATRAP_OPTIONS.
bool ct_cli_split(struct ct_arena *arena, const char *text, char ***ret_words, size_t *ret_count, struct ct_error *err);

#endif
