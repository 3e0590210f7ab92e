// What came after the fault, the output, the run, what is not known, the last line; see text_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "render/text_priv.h"

enum { MAX_CONSEQUENCES = 10, MAX_LOG_ROWS = 12, LINES_OF_A_ROW = 4 };

// Of several processes together there is no one pid.
static const char *consequence_text(struct ct_page *page, const struct ct_consequence *c)
{
	const char *text = c->text ? c->text : "a fault";
	return c->pid ? ct_arena_printf(&page->arena, "pid %" PRId64 "  %s", c->pid, text) : text;
}

void ct_text_later(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	if (in->n_consequences == 0)
		return;
	ct_page_heading(page, "After that (later faults and other processes)");
	struct ct_rows rows = {NULL, 0};
	for (size_t i = 0; i < in->n_consequences && i < MAX_CONSEQUENCES; i++) {
		const struct ct_consequence *c = &in->consequences[i];
		// Times come from other processes' clocks: anything may be in them.
		bool sane = c->seconds_after >= 0 && c->seconds_after < 1e7;
		const char *label = sane ? ct_arena_printf(&page->arena, "+%.1f s", c->seconds_after) : "later";
		ct_rows_add(page, &rows, label, CT_PLAIN, consequence_text(page, c));
	}
	if (in->n_consequences > MAX_CONSEQUENCES)
		ct_rows_addf(page, &rows, "", "+ %zu more", in->n_consequences - MAX_CONSEQUENCES);
	ct_rows_print(page, &rows);
}

// Whether the entry is the line of the assert that the first rows tell.
static bool is_shown_assert(struct ct_page *page, const struct ct_log_entry *e)
{
	const struct ct_assert *a = &page->incident->assertion;
	if (e->kind != CT_LOG_ASSERT || !a->present || !a->file || !e->text)
		return false;
	return strstr(e->text, ct_arena_printf(&page->arena, "%s:%" PRIu32, a->file, a->line)) != NULL;
}

// The error text of a failing call stands in the first rows.
static bool is_shown_error(const struct ct_page *page, const struct ct_log_entry *e)
{
	const struct ct_incident *in = page->incident;
	const struct ct_log_entry *first = in->log;
	if (in->kind != CT_FAULT_API_ERROR || e->kind != CT_LOG_CUDA_ERROR)
		return false;
	while (first->kind != CT_LOG_CUDA_ERROR)
		first++;
	return first == e;
}

static void add_log_entry(struct ct_page *page, struct ct_rows *rows, const struct ct_log_entry *e, const char *label)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	if (e->count > 1)
		ct_str_addf(&s, "%s: ", ct_text_count(&page->arena, e->count, "line", "lines"));
	if (e->prefix && *e->prefix)
		ct_str_addf(&s, "%s ", e->prefix);
	ct_str_add(&s, e->text ? e->text : "");
	ct_rows_add(page, rows, label, CT_PLAIN, ct_str_text(&s));
}

static void add_log_entries(struct ct_page *page, struct ct_rows *rows, enum ct_log_kind kind, const char *label)
{
	const struct ct_incident *in = page->incident;
	size_t shown = 0, left = 0;
	for (size_t i = 0; i < in->n_log; i++) {
		if (in->log[i].kind != kind || is_shown_assert(page, &in->log[i]) || is_shown_error(page, &in->log[i]))
			continue;
		if (shown >= MAX_LOG_ROWS / 3) {
			left++;
			continue;
		}
		add_log_entry(page, rows, &in->log[i], shown ? "" : label);
		shown++;
	}
	if (left)
		ct_rows_addf(page, rows, "", "+ %zu more", left);
}

static void add_assert_count(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_assert *a = &page->incident->assertion;
	uint64_t lines = a->n_lines;
	for (size_t i = 0; i < page->incident->n_log && lines == 0; i++)
		if (is_shown_assert(page, &page->incident->log[i]))
			lines = page->incident->log[i].count;
	if (a->present && lines)
		ct_rows_addf(page, rows, "asserts", "%s of the assert above", ct_text_count(&page->arena, lines, "line", "lines"));
}

void ct_text_log(struct ct_page *page)
{
	struct ct_rows rows = {NULL, 0};
	add_assert_count(page, &rows);
	add_log_entries(page, &rows, CT_LOG_ASSERT, "other asserts");
	add_log_entries(page, &rows, CT_LOG_ASSERT_PRINTF, "with values");
	add_log_entries(page, &rows, CT_LOG_CUDA_ERROR, page->incident->kind == CT_FAULT_API_ERROR ? "other errors" : "symptom");
	add_log_entries(page, &rows, CT_LOG_FOLLOWER, "follower");
	if (rows.n == 0)
		return;
	ct_page_heading(page, "In the output");
	ct_rows_print(page, &rows);
}

static const char *signal_text(struct ct_page *page, int number)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
		{SIGABRT, "SIGABRT"}, {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGSEGV, "SIGSEGV"}, {SIGINT, "SIGINT"},   {SIGHUP, "SIGHUP"},
		{SIGQUIT, "SIGQUIT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGILL, "SIGILL"},   {SIGPIPE, "SIGPIPE"}, {SIGTRAP, "SIGTRAP"},
	};
	for (size_t i = 0; i < CT_COUNT(names); i++)
		if (names[i].number == number)
			return names[i].name;
	return ct_arena_printf(&page->arena, "signal %d", number);
}

static const char *ending_text(struct ct_page *page)
{
	const struct ct_ending *e = &page->incident->ending;
	const char *text = "not known";
	switch (e->kind) {
	case CT_ENDING_EXITED:
		text = ct_arena_printf(&page->arena, "by itself, with status %d", e->status);
		break;
	case CT_ENDING_SIGNALED:
		text = ct_arena_printf(&page->arena, "by itself, by %s", signal_text(page, e->status));
		break;
	case CT_ENDING_ENDED_BY_US:
		text = ct_arena_printf(&page->arena, "by cudatrap after the report, with %s", signal_text(page, e->status));
		break;
	case CT_ENDING_RUNNING:
		text = "still running when this was written";
		break;
	case CT_ENDING_TIMED_OUT:
		text = "by cudatrap: the time of --timeout was over";
		break;
	case CT_ENDING_UNKNOWN:
		break;
	}
	return e->detail && *e->detail ? ct_arena_printf(&page->arena, "%s; %s", text, e->detail) : text;
}

const char *ct_text_words(struct ct_page *page, const char *const *words, size_t n)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < n; i++)
		ct_str_addf(&s, "%s%s", i ? " " : "", words[i]);
	return n ? ct_arena_strndup(&page->arena, ct_str_text(&s), s.length) : NULL;
}

// Which process, when it is not simply the command.
static const char *process_text(struct ct_page *page)
{
	const struct ct_process *p = &page->incident->process;
	if (p->pid <= 0)
		return NULL;
	const char *words = ct_text_words(page, p->argv, p->n_argv);
	if (!p->is_descendant)
		return ct_arena_printf(&page->arena, "pid %" PRId64, p->pid);
	return ct_arena_printf(&page->arena, "pid %" PRId64 ", started by the command%s%s", p->pid, words ? ": " : "", words ? words : "");
}

// The few names that tell what was run on what; the others are in incident.json.
static bool tells_much(const struct ct_incident *in, const char *name)
{
	static const char *const names[] = {
		"driver", "cuda", "cuda-gdb", "torch", "pytorch", "CUDA_VISIBLE_DEVICES",
	};
	static const char *const rank_names[] = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
	bool much = false;
	for (size_t i = 0; i < CT_COUNT(names); i++)
		much |= strcasecmp(name, names[i]) == 0;
	// Of reports that have no rank of their own.
	for (size_t i = 0; i < CT_COUNT(rank_names) && !in->rank.has_rank; i++)
		much |= strcasecmp(name, rank_names[i]) == 0;
	return much;
}

static void add_versions(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_incident *in = page->incident;
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < in->n_environment; i++) {
		const struct ct_pair *e = &in->environment[i];
		if (!e->name || !e->value || !tells_much(in, e->name))
			continue;
		// A variable is written as one, a version as one says it.
		bool variable = isupper((unsigned char)e->name[0]);
		ct_str_addf(&s, "%s%s%c%s", s.length ? ", " : "", e->name, variable ? '=' : ' ', e->value);
	}
	if (in->process.python)
		ct_str_addf(&s, "%sPython %s", s.length ? ", " : "", in->process.python);
	if (in->gpu.device.sm_type)
		ct_str_addf(&s, "%s%s", s.length ? ", " : "", in->gpu.device.sm_type);
	if (s.length)
		ct_rows_add(page, rows, "on", CT_PLAIN, ct_str_text(&s));
}

static void add_when(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_incident *in = page->incident;
	char when[32];
	if (in->time_us <= 0)
		return;
	ct_format_time(in->time_us, when, sizeof when);
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	ct_str_add(&s, when);
	if (in->host)
		ct_str_addf(&s, " on %s", in->host);
	if (in->has_seconds_to_report)
		ct_str_addf(&s, ", read within %.1f s", in->seconds_to_report);
	ct_rows_add(page, rows, "time", CT_PLAIN, ct_str_text(&s));
}

void ct_text_run(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	struct ct_rows rows = {NULL, 0};
	ct_rows_add(page, &rows, "command", CT_PLAIN, ct_text_words(page, in->command, in->n_command));
	ct_rows_add(page, &rows, "process", CT_PLAIN, process_text(page));
	add_when(page, &rows);
	ct_rows_add(page, &rows, "ended", CT_PLAIN, ending_text(page));
	if (in->engine)
		ct_rows_add(page, &rows, "engine", CT_PLAIN, in->engine_why ? ct_arena_printf(&page->arena, "%s (%s)", in->engine, in->engine_why) : in->engine);
	if (in->gpu.present)
		ct_rows_add(page, &rows, "GPU read by", CT_PLAIN, in->gpu.source);
	add_versions(page, &rows);
	ct_page_heading(page, "The run");
	ct_rows_print(page, &rows);
}

const char *ct_text_collector(const char *name)
{
	static const struct {
		const char *name, *title;
	} titles[] = {
		{"gpu", "state of the GPU"},
		{"native-stacks", "native host stacks"},
		{"python-agent", "Python stacks, asked from inside the process"},
		{"python-walk", "Python stacks, read from outside"},
		{"tensors", "tensors of the Python frames"},
		{"launches", "the record of launches"},
		{"anomaly", "PyTorch's anomaly detection"},
		{"notes", "progress that the program noted"},
		{"log", "the target's output"},
		{"environment", "environment and versions"},
	};
	for (size_t i = 0; i < CT_COUNT(titles); i++)
		if (name && strcmp(titles[i].name, name) == 0)
			return titles[i].title;
	return name ? name : "a collector";
}

static bool collector_is_ok(const struct ct_incident *in, const char *name)
{
	for (size_t i = 0; i < in->n_collectors; i++)
		if (in->collectors[i].name && strcmp(in->collectors[i].name, name) == 0 && in->collectors[i].status == CT_COLLECTOR_OK)
			return true;
	return false;
}

// Two ways to the Python stacks: when one has them the other is not missed.
static bool is_missed(const struct ct_incident *in, const struct ct_collector *c)
{
	if (c->status == CT_COLLECTOR_OK)
		return false;
	if (c->name && strcmp(c->name, "python-agent") == 0)
		return !collector_is_ok(in, "python-walk");
	if (c->name && strcmp(c->name, "python-walk") == 0)
		return !collector_is_ok(in, "python-agent");
	return c->status != CT_COLLECTOR_SKIPPED || c->detail;
}

const char *ct_text_status(enum ct_collector_status status)
{
	switch (status) {
	case CT_COLLECTOR_OK:
		return "read";
	case CT_COLLECTOR_PARTIAL:
		return "not all of it";
	case CT_COLLECTOR_FAILED:
		return "not read";
	case CT_COLLECTOR_TIMED_OUT:
		return "not read in time";
	case CT_COLLECTOR_SKIPPED:
		return "not done";
	}
	return "not known";
}

static bool has_lines(const struct ct_group *g)
{
	for (size_t i = 0; i < g->n_frames; i++)
		if (g->frames[i].file)
			return true;
	return false;
}

struct list {
	const char **text;
	size_t n;
};

static void add_item(struct ct_page *page, struct list *list, const char *text)
{
	list->text = ct_arena_grow(&page->arena, list->text, &list->n, sizeof *list->text);
	list->text[list->n - 1] = text;
}

// What can be seen to be missing from the incident itself.
static void add_absent(struct ct_page *page, struct list *list)
{
	const struct ct_incident *in = page->incident;
	bool gpu_failed = false;
	for (size_t i = 0; i < in->n_collectors; i++)
		gpu_failed |= in->collectors[i].name && strcmp(in->collectors[i].name, "gpu") == 0 && is_missed(in, &in->collectors[i]);
	if (!in->gpu.present && !gpu_failed && in->kind != CT_FAULT_API_ERROR)
		add_item(page, list, "state of the GPU: not read, so kernel, blocks and threads are only what the output says");
	if (in->gpu.present && in->gpu.n_groups == 0 && in->kind != CT_FAULT_API_ERROR)
		add_item(page, list, "failing threads: none was found on the GPU");
	if (in->kind == CT_FAULT_ASSERT && !in->assertion.present)
		add_item(page, list, "file, line and expression of the assert: the output had no line of it");
	if (in->kind != CT_FAULT_ASSERT && in->gpu.n_groups && !has_lines(&in->gpu.groups[0]))
		add_item(page, list, "source line in the kernel: its code carries no line information (nvcc -lineinfo adds it)");
}

void ct_text_notes(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	struct list list = {NULL, 0};
	for (size_t i = 0; i < in->n_collectors; i++) {
		const struct ct_collector *c = &in->collectors[i];
		if (is_missed(in, c))
			add_item(page, &list,
				 ct_arena_printf(&page->arena, "%s: %s%s%s", ct_text_collector(c->name), ct_text_status(c->status), c->detail ? ": " : "",
						 c->detail ? c->detail : ""));
	}
	add_absent(page, &list);
	for (size_t i = 0; i < in->n_notes; i++)
		if (*in->notes[i])
			add_item(page, &list, in->notes[i]);
	if (list.n == 0)
		return;
	ct_page_heading(page, "Not established, and other notes");
	for (size_t i = 0; i < list.n; i++)
		ct_page_item(page, LINES_OF_A_ROW, list.text[i]);
}

// A shallow copy with an arena of its own: the incident itself is only read.
const char *ct_text_signature(struct ct_page *page)
{
	struct ct_incident copy = *page->incident;
	copy.arena = (struct ct_arena)CT_ARENA_INIT;
	const char *signature = ct_arena_strdup(&page->arena, ct_incident_signature(&copy));
	ct_arena_done(&copy.arena);
	return signature;
}

void ct_text_last(struct ct_page *page)
{
	const char *path = page->options->report_path;
	const char *signature = ct_arena_printf(&page->arena, "signature %s", ct_text_signature(page));
	const char *report = path ? ct_arena_printf(&page->arena, "report: %s", ct_page_flat(page, path)) : NULL;
	ct_page_newline(page);
	if (report && ct_text_columns(report) + 3 + ct_text_columns(signature) <= page->width) {
		ct_page_whole(page, 0, ct_arena_printf(&page->arena, "%s   %s", report, signature));
		return;
	}
	if (report)
		ct_page_whole(page, 0, report);
	ct_page_whole(page, 0, signature);
}
