// Options: one table for parsing and help.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_priv.h"

enum option_id {
	OPT_ENGINE = 256, OPT_SYNC, OPT_ASYNC, OPT_RECORD, OPT_NO_RECORD, OPT_RECORD_DEPTH, OPT_KEEP_RECORD, OPT_HISTORY, OPT_ANOMALY, OPT_AFTER_FAULT,
	OPT_API_FAILURES, OPT_ERROR_EXITCODE, OPT_TIMEOUT, OPT_GRACE, OPT_ENDING_LIMIT, OPT_DEADLINE, OPT_CUDA_GDB,
	OPT_DUMP, OPT_KEEP_DUMP, OPT_DUMP_LIMIT, OPT_REPORT_DIR, OPT_JOB_DIR, OPT_SINCE, OPT_KNOWN, OPT_JOB, OPT_ALSO, OPT_KEEP, OPT_KEEP_DAYS, OPT_ON_REPORT, OPT_REDACT, OPT_SYSLOG, OPT_FORMAT, OPT_RAW, OPT_COMMAND, OPT_COLOR,
	OPT_WIDTH, OPT_NATIVE, OPT_WATCH_STDOUT, OPT_INTERACTIVE, OPT_QUIET, OPT_VERBOSE, OPT_HELP, OPT_VERSION,
};

struct option_row {
	enum option_id id;
	char letter;  // 0: none
	const char *name;
	const char *argument;  // NULL: takes none
	const char *help;
};

static const struct option_row rows[] = {
	{OPT_ENGINE, 'e', "engine", "NAME", "auto, wait (native speed, cuda-gdb attaches at the fault), core (native speed, the driver's dump) or live (under cuda-gdb)"},
	{OPT_SYNC, 0, "sync", NULL, "set CUDA_LAUNCH_BLOCKING=1: each launch waits for its kernel, host stacks are those of the launch (the default)"},
	{OPT_ASYNC, 0, "async", NULL, "leave CUDA_LAUNCH_BLOCKING alone: full speed; launches are recorded, and the failing one is looked up"},
	{OPT_RECORD, 0, "record", NULL, "record who launches each kernel, and calls that fail (--async does it anyway)"},
	{OPT_NO_RECORD, 0, "no-record", NULL, "do not record launches"},
	{OPT_RECORD_DEPTH, 0, "record-depth", "N", "launches that the record of a process holds, 4096 to 1048576 (default: 65536)"},
	{OPT_KEEP_RECORD, 0, "keep-record", NULL, "keep the record in the report folder"},
	{OPT_HISTORY, 0, "history", "N", "launches of the failing kernel's stream in the report, 0 to 1024 (default: 8)"},
	{OPT_ANOMALY, 0, "anomaly", NULL, "turn PyTorch's anomaly detection on, without the script knowing"},
	{OPT_AFTER_FAULT, 0, "after-fault", "error|end|continue", "what becomes of the command after the report: its CUDA calls fail and it ends by its own means, it is ended, it goes on (default: error)"},
	{OPT_API_FAILURES, 0, "api-failures", NULL, "engine live: stop at failing CUDA calls too"},
	{OPT_ERROR_EXITCODE, 0, "error-exitcode", "N", "exit status when a fault was trapped (default: 99)"},
	{OPT_TIMEOUT, 't', "timeout", "SECONDS", "end the command after that time, with status 124"},
	{OPT_ENDING_LIMIT, 0, "ending-limit", "SECONDS", "--after-fault=error: a process that has not ended by itself then is ended (default: 300)"},
	{OPT_GRACE, 0, "grace", "SECONDS", "between asking a process to end and ending it (default: 5)"},
	{OPT_DEADLINE, 0, "deadline", "SECONDS", "for everything collected after a fault (default: 30)"},
	{OPT_CUDA_GDB, 0, "cuda-gdb", "FILE", "this cuda-gdb and no other"},
	{OPT_DUMP, 0, "dump", "KIND", "engine core: light, memory (with global memory) or full (default: light)"},
	{OPT_KEEP_DUMP, 0, "keep-dump", NULL, "engine core: keep the dump in the report folder"},
	{OPT_DUMP_LIMIT, 0, "dump-limit", "MIB", "engine core: cut a dump that is larger (default: 4096)"},
	{OPT_REPORT_DIR, 'o', "report-dir", "DIR", "where report folders go (default: cudatrap-reports)"},
	{OPT_JOB_DIR, 0, "job-dir", "DIR", "report folders of all ranks of a job, and a marker for each rank"},
	{OPT_SINCE, 0, "since", "WHEN", "of list and merge: reports from 2026-11-30 on, or of the last 2d, 12h, 30m"},
	{OPT_KNOWN, 0, "known", "FILE", "of list: known signatures, one a line; status 1 when there are others"},
	{OPT_JOB, 0, "job", "JOB", "of merge: the reports of this job only"},
	{OPT_ALSO, 0, "also", "LIST", "write these formats into the report folder too: html,junit,... (the names of --format)"},
	{OPT_KEEP, 0, "keep", "N", "keep the newest N reports in the report folder, this one among them"},
	{OPT_KEEP_DAYS, 0, "keep-days", "DAYS", "keep the reports of so many days"},
	{OPT_ON_REPORT, 0, "on-report", "COMMAND", "run COMMAND with the report's folder as its last argument, for at most 30 seconds"},
	{OPT_REDACT, 0, "redact", "PATTERN", "leave out the values of variables and options with such names, besides the usual secrets; may be repeated"},
	{OPT_SYSLOG, 0, "syslog", NULL, "a line in the system's log too, with a message id"},
	{OPT_FORMAT, 'f', "format", "NAME", "of `cudatrap report`: text, json, html, markdown, junit, sarif, gitlab or github (default: text); merge: text or json, list: html too"},
	{OPT_RAW, 0, "raw", NULL, "of `cudatrap report`: every table of a GPU core dump"},
	{OPT_COMMAND, 'c', "command", "COMMAND", "of `cudatrap shell`: run COMMAND instead of asking; may be repeated"},
	{OPT_COLOR, 0, "color", "WHEN", "auto, always or never; NO_COLOR is honoured"},
	{OPT_WIDTH, 0, "width", "COLUMNS", "of the text report (default: the terminal's, else 80)"},
	{OPT_NATIVE, 0, "native", NULL, "show all native frames in the report"},
	{OPT_WATCH_STDOUT, 0, "watch-stdout", NULL, "look for assert lines on standard output too"},
	{OPT_INTERACTIVE, 'i', "interactive", NULL, "stop at the fault in a cuda-gdb session on this terminal (engine live, or wait); also of `cudatrap attach`"},
	{OPT_QUIET, 'q', "quiet", NULL, "no report on standard error, only the report folder"},
	{OPT_VERBOSE, 'v', "verbose", NULL, "say what is done; cuda-gdb's own output too"},
	{OPT_HELP, 'h', "help", NULL, "this text"},
	{OPT_VERSION, 'V', "version", NULL, "the version"},
};

static bool bad_value(struct ct_error *err, const struct option_row *row, const char *value)
{
	return ct_fail(err, CT_USAGE, "--%s: '%s' is not %s", row->name, value, row->argument);
}

// Seconds with a fraction, and a unit s, m, h or d as timeout(1) has them -> milliseconds.
static bool parse_seconds(const struct option_row *row, const char *value, int64_t *ret_ms, struct ct_error *err)
{
	char *end = NULL;
	double seconds = strtod(value, &end);
	double unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : *end == 'd' ? 86400 : 1;
	if (*end && strchr("smhd", *end))
		end++;
	if (end == value || *end || !isfinite(seconds) || seconds < 0 || seconds * unit > 1e9) {
		ct_fail(err, CT_USAGE, "--%s: '%s' is not a time", row->name, value);
		return ct_hint(err, "seconds, or a number with s, m, h or d");
	}
	*ret_ms = (int64_t)(seconds * unit * 1000 + 0.5);
	return true;
}

static bool parse_status(const struct option_row *row, const char *value, int *ret_status, struct ct_error *err)
{
	char *end = NULL;
	errno = 0;
	long n = strtol(value, &end, 10);
	if (end == value || *end || errno || n < 0 || n > 255)
		return ct_fail(err, CT_USAGE, "--%s: '%s' is not a number from 0 to 255", row->name, value);
	*ret_status = (int)n;
	return true;
}

static bool parse_width(const struct option_row *row, const char *value, unsigned *ret_width, struct ct_error *err)
{
	char *end = NULL;
	unsigned long n = strtoul(value, &end, 10);
	if (end == value || *end || *value == '-' || n < 20 || n > 10000)
		return ct_fail(err, CT_USAGE, "--%s: '%s' is not a number from 20 to 10000", row->name, value);
	*ret_width = (unsigned)n;
	return true;
}

static bool parse_mib(const struct option_row *row, const char *value, int64_t *ret_mib, struct ct_error *err)
{
	char *end = NULL;
	errno = 0;
	long n = strtol(value, &end, 10);
	if (end == value || *end || errno || n < 1 || n > 1024 * 1024)
		return ct_fail(err, CT_USAGE, "--%s: '%s' is not a number of MiB from 1 to 1048576", row->name, value);
	*ret_mib = n;
	return true;
}

static bool parse_number(const struct option_row *row, const char *value, unsigned least, unsigned most, unsigned *ret_number, struct ct_error *err)
{
	char *end = NULL;
	errno = 0;
	unsigned long n = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || n < least || n > most)
		return ct_fail(err, CT_USAGE, "--%s: '%s' is not a number from %u to %u", row->name, value, least, most);
	*ret_number = (unsigned)n;
	return true;
}

static bool parse_word(const struct option_row *row, const char *value, const char *const *words, int *ret_index, struct ct_error *err)
{
	struct ct_str list = CT_STR_INIT;
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], value) == 0) {
			ct_str_done(&list);
			*ret_index = i;
			return true;
		}
		ct_str_addf(&list, "%s%s", i ? ", " : "", words[i]);
	}
	ct_fail(err, CT_USAGE, "--%s: '%s' is none of: %s", row->name, value, ct_str_text(&list));
	ct_str_done(&list);
	return false;
}

static bool apply(struct ct_options *o, const struct option_row *row, const char *value, struct ct_error *err)
{
	static const char *const engines[] = {"auto", "wait", "core", "live", NULL};
	static const char *const colors[] = {"auto", "always", "never", NULL};
	static const char *const afters[] = {"error", "end", "continue", NULL};
	static const char *const dumps[] = {"light", "memory", "full", NULL};
	int index = 0;
	switch (row->id) {
	case OPT_ENGINE:
		if (!parse_word(row, value, engines, &index, err))
			return false;
		o->engine = (enum ct_engine_choice)index;
		return true;
	case OPT_COLOR:
		if (!parse_word(row, value, colors, &index, err))
			return false;
		o->color = (enum ct_color_choice)index;
		return true;
	case OPT_AFTER_FAULT:
		if (!parse_word(row, value, afters, &index, err))
			return false;
		o->after_fault = (enum ct_after_fault)index;
		return true;
	case OPT_DUMP:
		if (!parse_word(row, value, dumps, &index, err))
			return false;
		o->dump = (enum ct_dump_choice)index;
		return true;
	case OPT_DUMP_LIMIT:
		return parse_mib(row, value, &o->dump_limit_mib, err);
	case OPT_KEEP_DUMP:
		o->keep_dump = true;
		return true;
	case OPT_RAW:
		o->raw = true;
		return true;
	case OPT_ERROR_EXITCODE:
		return parse_status(row, value, &o->error_exitcode, err);
	case OPT_TIMEOUT:
		return parse_seconds(row, value, &o->timeout_ms, err);
	case OPT_ENDING_LIMIT:
		return parse_seconds(row, value, &o->ending_limit_ms, err);
	case OPT_GRACE:
		return parse_seconds(row, value, &o->grace_ms, err);
	case OPT_DEADLINE:
		return parse_seconds(row, value, &o->deadline_ms, err);
	case OPT_WIDTH:
		return parse_width(row, value, &o->width, err);
	case OPT_CUDA_GDB:
		o->cuda_gdb = value;
		break;
	case OPT_REPORT_DIR:
		o->report_dir = value;
		break;
	case OPT_JOB_DIR:
		o->job_dir = o->report_dir = value;
		break;
	case OPT_SINCE:
		o->since = value;
		break;
	case OPT_KNOWN:
		o->known = value;
		break;
	case OPT_JOB:
		o->job = value;
		break;
	case OPT_ALSO:
		o->also = value;
		break;
	case OPT_KEEP:
		return parse_number(row, value, 1, 1000000, &o->keep, err);
	case OPT_KEEP_DAYS:
		return parse_number(row, value, 1, 1000000, &o->keep_days, err);
	case OPT_ON_REPORT:
		o->on_report = value;
		break;
	case OPT_REDACT:
		if (o->n_redact == CT_MAX_REDACT)
			return ct_fail(err, CT_USAGE, "--redact: at most %d of them", CT_MAX_REDACT);
		o->redact[o->n_redact++] = value;
		break;
	case OPT_SYSLOG:
		o->syslog = true;
		return true;
	case OPT_FORMAT:
		o->format = value;
		break;
	case OPT_COMMAND:
		if (o->n_commands == CT_MAX_COMMANDS)
			return ct_fail(err, CT_USAGE, "--command: at most %d of them; more can come from standard input", CT_MAX_COMMANDS);
		o->commands[o->n_commands++] = value;
		return true;
	case OPT_SYNC:
		o->async = false;
		return true;
	case OPT_ASYNC:
		o->async = true;
		return true;
	case OPT_RECORD:
		o->record = CT_RECORDS_ALWAYS;
		return true;
	case OPT_NO_RECORD:
		o->record = CT_RECORDS_NEVER;
		return true;
	case OPT_RECORD_DEPTH:
		return parse_number(row, value, CT_OPTION_MIN_RECORD_DEPTH, CT_OPTION_MAX_RECORD_DEPTH, &o->record_depth, err);
	case OPT_KEEP_RECORD:
		o->keep_record = true;
		return true;
	case OPT_HISTORY:
		return parse_number(row, value, 0, CT_OPTION_MAX_HISTORY, &o->history, err);
	case OPT_ANOMALY:
		o->anomaly = true;
		return true;
	case OPT_API_FAILURES:
		o->api_failures = true;
		return true;
	case OPT_NATIVE:
		o->native = true;
		return true;
	case OPT_WATCH_STDOUT:
		o->watch_stdout = true;
		return true;
	case OPT_INTERACTIVE:
		o->interactive = true;
		return true;
	case OPT_QUIET:
		o->quiet = true;
		return true;
	case OPT_VERBOSE:
		o->verbose = true;
		return true;
	case OPT_HELP:
		o->help = true;
		return true;
	case OPT_VERSION:
		o->version = true;
		return true;
	}
	return *value ? true : bad_value(err, row, value);
}

static const struct option_row *row_of(int id)
{
	for (size_t i = 0; i < CT_COUNT(rows); i++)
		if ((int)rows[i].id == id || (rows[i].letter && rows[i].letter == id))
			return &rows[i];
	return NULL;
}

static void fill_getopt(struct option *ret_long, char *ret_short)
{
	char *s = ret_short;
	*s++ = '+';  // the first word that is no option ends them: the rest is the command's
	*s++ = ':';
	for (size_t i = 0; i < CT_COUNT(rows); i++) {
		ret_long[i] = (struct option){.name = rows[i].name, .has_arg = rows[i].argument ? required_argument : no_argument, .val = (int)rows[i].id};
		if (rows[i].letter) {
			*s++ = rows[i].letter;
			if (rows[i].argument)
				*s++ = ':';
		}
	}
	ret_long[CT_COUNT(rows)] = (struct option){0};
	*s = '\0';
}

// What a file that came with somebody else's folder may not ask for: to run a program, to delete something.
static bool runs_or_deletes(const struct option_row *row)
{
	return row && (row->id == OPT_ON_REPORT || row->id == OPT_CUDA_GDB || row->id == OPT_COMMAND || row->id == OPT_KEEP || row->id == OPT_KEEP_DAYS);
}

// Parses one source of options; *ret_rest is the index of the first word that is none.
static bool parse_words(int argc, char **argv, bool untrusted, struct ct_options *o, int *ret_rest, struct ct_error *err)
{
	struct option longs[CT_COUNT(rows) + 1];
	char shorts[2 * CT_COUNT(rows) + 3];
	fill_getopt(longs, shorts);
	opterr = 0;
	optind = 0;  // glibc: start anew
	for (;;) {
		int at = optind ? optind : 1;
		int c = getopt_long(argc, argv, shorts, longs, NULL);
		if (c == -1)
			break;
		const char *word = at < argc ? argv[at] : "";
		if (c == ':')
			return ct_fail(err, CT_USAGE, "%s needs a value", word);
		if (c == '?') {
			ct_fail(err, CT_USAGE, "unknown option '%s'", word);
			return ct_hint(err, "cudatrap --help lists them; a command that starts with '-' goes behind --");
		}
		if (untrusted && runs_or_deletes(row_of(c))) {
			ct_fail(err, CT_USAGE, "--%s may not stand here: it runs a program or deletes something", row_of(c)->name);
			return ct_hint(err, "files of the current folder may come from anybody; put it into ~/.config/cudatrap.conf");
		}
		if (!apply(o, row_of(c), optarg, err))
			return false;
	}
	*ret_rest = optind;
	return true;
}

bool ct_cli_parse_source(struct ct_arena *arena, char **words, size_t count, const char *source, bool untrusted, struct ct_options *o, struct ct_error *err)
{
	char **argv = ct_arena_array(arena, count + 2, sizeof *argv);
	int rest = 0;
	argv[0] = ct_arena_strdup(arena, "cudatrap");
	memcpy(argv + 1, words, count * sizeof *argv);
	if (!parse_words((int)count + 1, argv, untrusted, o, &rest, err))
		return ct_fail_in(err, "%s", source);
	if (rest < (int)count + 1)
		return ct_fail(err, CT_USAGE, "%s: '%s' is not an option", source, argv[rest]);
	return true;
}

static bool parse_environment(struct ct_arena *arena, struct ct_options *o, struct ct_error *err)
{
	const char *text = getenv("CUDATRAP_OPTIONS"), *dir = getenv("CUDATRAP_DIR");
	if (dir && *dir)
		o->report_dir = dir;
	char **words = NULL;
	size_t count = 0;
	if (!text)
		return true;
	if (!ct_cli_split(arena, text, &words, &count, err))
		return ct_fail_in(err, "CUDATRAP_OPTIONS");
	return count == 0 || ct_cli_parse_source(arena, words, count, "CUDATRAP_OPTIONS", false, o, err);
}

bool ct_cli_parse(struct ct_arena *arena, int argc, char **argv, struct ct_options *ret_options, struct ct_error *err)
{
	struct ct_options o = {
		.error_exitcode = 99,
		.grace_ms = 5000,
		.ending_limit_ms = 300000,
		.deadline_ms = 30000,
		.dump_limit_mib = 4096,
		.record_depth = 65536,
		.history = 8,
		.report_dir = "cudatrap-reports",
	};
	int rest = 0;
	if (!ct_cli_parse_config(arena, &o, err) || !parse_environment(arena, &o, err) || !parse_words(argc, argv, false, &o, &rest, err))
		return false;
	o.argv = argv + rest;
	o.argc = argc - rest;
	*ret_options = o;
	return true;
}

bool ct_cli_parse_more(const struct ct_options *options, struct ct_options *ret_options, struct ct_error *err)
{
	struct ct_options o = *options;
	int rest = 0;
	if (!parse_words(options->argc, options->argv, false, &o, &rest, err))
		return false;
	o.argv = options->argv + rest;
	o.argc = options->argc - rest;
	*ret_options = o;
	return true;
}

void ct_cli_print_help(FILE *out)
{
	fputs("Usage: cudatrap [OPTIONS] [--] COMMAND [ARG...]     run COMMAND, report the GPU fault it dies of\n"
	      "       cudatrap attach [OPTIONS] PID                 read a process that waits after a fault, or hangs\n"
	      "       cudatrap report [OPTIONS] FILE...            show stored reports and GPU core dumps\n"
	      "       cudatrap shell [OPTIONS] FILE                look into a GPU core dump or a stored report\n"
	      "       cudatrap list [OPTIONS] [DIR...]             stored reports by the fault they tell of (default: --report-dir)\n"
	      "       cudatrap merge [OPTIONS] [DIR...]            the reports of one job's ranks as one: which rank failed first\n"
	      "       cudatrap doctor                              say what works on this machine, and what does not\n"
	      "\nOptions:\n",
	      out);
	for (size_t i = 0; i < CT_COUNT(rows); i++) {
		char left[64];
		snprintf(left, sizeof left, "%c%c%c --%s%s%s", rows[i].letter ? '-' : ' ', rows[i].letter ? rows[i].letter : ' ', rows[i].letter ? ',' : ' ',
			 rows[i].name, rows[i].argument ? "=" : "", rows[i].argument ? rows[i].argument : "");
		fprintf(out, "  %-30s %s\n", left, rows[i].help);
	}
	fputs("\nExit status: the command's own when nothing was trapped (128+n when signal n ended it); 99 when a fault was; 124 after\n"
	      "--timeout; 125 when cudatrap itself failed, 126 when COMMAND could not be executed, 127 when it was not found.\n"
	      "Options may also stand in CUDATRAP_OPTIONS, ~/.config/cudatrap.conf and ./.cudatrap.conf. See cudatrap(1).\n",
	      out);
}
