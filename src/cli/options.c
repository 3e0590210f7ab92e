// Options: one table for parsing and help.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

enum option_id {
	OPT_ENGINE = 256, OPT_ASYNC, OPT_AFTER_FAULT, OPT_API_FAILURES, OPT_ERROR_EXITCODE, OPT_TIMEOUT, OPT_GRACE, OPT_ENDING_LIMIT, OPT_DEADLINE, OPT_CUDA_GDB,
	OPT_DUMP, OPT_KEEP_DUMP, OPT_DUMP_LIMIT, OPT_REPORT_DIR, OPT_JOB_DIR, OPT_SINCE, OPT_KNOWN, OPT_JOB, OPT_ALSO, OPT_FORMAT, OPT_RAW, OPT_COMMAND, OPT_COLOR,
	OPT_WIDTH, OPT_NATIVE, OPT_WATCH_STDOUT, OPT_QUIET, OPT_VERBOSE, OPT_HELP, OPT_VERSION,
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
	{OPT_ASYNC, 0, "async", NULL, "leave CUDA_LAUNCH_BLOCKING alone: full speed, host stacks may be later than the launch"},
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
	{OPT_FORMAT, 'f', "format", "NAME", "of `cudatrap report`: text, json, html, markdown, junit, sarif, gitlab or github (default: text); list, merge: text or json"},
	{OPT_RAW, 0, "raw", NULL, "of `cudatrap report`: every table of a GPU core dump"},
	{OPT_COMMAND, 'c', "command", "COMMAND", "of `cudatrap shell`: run COMMAND instead of asking; may be repeated"},
	{OPT_COLOR, 0, "color", "WHEN", "auto, always or never; NO_COLOR is honoured"},
	{OPT_WIDTH, 0, "width", "COLUMNS", "of the text report (default: the terminal's, else 80)"},
	{OPT_NATIVE, 0, "native", NULL, "show all native frames in the report"},
	{OPT_WATCH_STDOUT, 0, "watch-stdout", NULL, "look for assert lines on standard output too"},
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
	case OPT_FORMAT:
		o->format = value;
		break;
	case OPT_COMMAND:
		if (o->n_commands == CT_MAX_COMMANDS)
			return ct_fail(err, CT_USAGE, "--command: at most %d of them; more can come from standard input", CT_MAX_COMMANDS);
		o->commands[o->n_commands++] = value;
		return true;
	case OPT_ASYNC:
		o->async = true;
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

// Parses one source of options; *ret_rest is the index of the first word that is none.
static bool parse_words(int argc, char **argv, struct ct_options *o, int *ret_rest, struct ct_error *err)
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
		if (!apply(o, row_of(c), optarg, err))
			return false;
	}
	*ret_rest = optind;
	return true;
}

static bool parse_source(struct ct_arena *arena, char **words, size_t count, const char *source, struct ct_options *o, struct ct_error *err)
{
	char **argv = ct_arena_array(arena, count + 2, sizeof *argv);
	int rest = 0;
	argv[0] = ct_arena_strdup(arena, "cudatrap");
	memcpy(argv + 1, words, count * sizeof *argv);
	if (!parse_words((int)count + 1, argv, o, &rest, err))
		return ct_fail_in(err, "%s", source);
	if (rest < (int)count + 1)
		return ct_fail(err, CT_USAGE, "%s: '%s' is not an option", source, argv[rest]);
	return true;
}

// A line "name value" or "name": the words of "--name=value".
static bool parse_config_line(struct ct_arena *arena, char *line, const char *source, struct ct_options *o, struct ct_error *err)
{
	line[strcspn(line, "#\r\n")] = '\0';
	char *name = line + strspn(line, " \t");
	char *value = name + strcspn(name, " \t=");
	if (!*name)
		return true;
	if (*value) {
		*value++ = '\0';
		value += strspn(value, " \t=");
		for (size_t n = strlen(value); n && strchr(" \t", value[n - 1]); n--)
			value[n - 1] = '\0';
	}
	char *word = *value ? ct_arena_printf(arena, "--%s=%s", name, value) : ct_arena_printf(arena, "--%s", name);
	return parse_source(arena, &word, 1, source, o, err);
}

static bool parse_config(struct ct_arena *arena, struct ct_options *o, struct ct_error *err)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	if (!(xdg && *xdg) && !(home && *home))
		return true;
	const char *path = xdg && *xdg ? ct_arena_printf(arena, "%s/cudatrap/config", xdg) : ct_arena_printf(arena, "%s/.config/cudatrap/config", home);
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	struct ct_error reading = CT_ERROR_INIT;
	struct stat st;
	// Whatever keeps us from seeing a file there (HOME=/dev/null, a folder of another user): then there is none for us.
	if (stat(path, &st) != 0)
		return true;
	if (!ct_read_file(path, 65536, &text, &reading)) {
		if (reading.code == CT_NOT_FOUND || reading.code == CT_DENIED)
			return true;
		*err = reading;
		return false;
	}
	char *rest = ct_arena_strdup(arena, ct_str_text(&text)), *line;
	for (unsigned number = 1; (line = strsep(&rest, "\n")); number++)
		if (!parse_config_line(arena, line, ct_arena_printf(arena, "%s:%u", path, number), o, err))
			return false;
	return true;
}

bool ct_cli_split(struct ct_arena *arena, const char *text, char ***ret_words, size_t *ret_count, struct ct_error *err)
{
	char **words = NULL;
	size_t n = 0;
	for (const char *p = text;;) {
		p += strspn(p, " \t\n");
		if (!*p)
			break;
		CT_AUTO(ct_auto_str) struct ct_str word = CT_STR_INIT;
		for (char quote = 0; *p && (quote || !strchr(" \t\n", *p)); p++) {
			if (quote ? *p == quote : *p == '\'' || *p == '"')
				quote = quote ? 0 : *p;
			else if (*p == '\\' && quote != '\'' && p[1])
				ct_str_addc(&word, *++p);
			else
				ct_str_addc(&word, *p);
			if (quote && !p[1])
				return ct_fail(err, CT_USAGE, "a quote is not closed: %s", text);
		}
		words = ct_arena_grow(arena, words, &n, sizeof *words);
		words[n - 1] = ct_arena_strdup(arena, ct_str_text(&word));
	}
	*ret_words = words;
	*ret_count = n;
	return true;
}

static bool parse_environment(struct ct_arena *arena, struct ct_options *o, struct ct_error *err)
{
	const char *text = getenv("CUDATRAP_OPTIONS");
	char **words = NULL;
	size_t count = 0;
	if (!text)
		return true;
	if (!ct_cli_split(arena, text, &words, &count, err))
		return ct_fail_in(err, "CUDATRAP_OPTIONS");
	return count == 0 || parse_source(arena, words, count, "CUDATRAP_OPTIONS", o, err);
}

bool ct_cli_parse(struct ct_arena *arena, int argc, char **argv, struct ct_options *ret_options, struct ct_error *err)
{
	struct ct_options o = {
		.error_exitcode = 99,
		.grace_ms = 5000,
		.ending_limit_ms = 300000,
		.deadline_ms = 30000,
		.dump_limit_mib = 4096,
		.report_dir = "cudatrap-reports",
	};
	int rest = 0;
	if (!parse_config(arena, &o, err) || !parse_environment(arena, &o, err) || !parse_words(argc, argv, &o, &rest, err))
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
	if (!parse_words(options->argc, options->argv, &o, &rest, err))
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
	      "Options may also stand in CUDATRAP_OPTIONS and in ~/.config/cudatrap/config. See cudatrap(1).\n",
	      out);
}
