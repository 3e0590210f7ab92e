// The end of a run: how it ended, the diagnosis, the report, our exit status.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "engine/engine_priv.h"
#include "hoststack/hoststack.h"
#include "render/render.h"
#include "report/report.h"

static const char *describe_status(struct ct_arena *arena, int wait_status)
{
	if (WIFEXITED(wait_status))
		return ct_arena_printf(arena, "exited with status %d", WEXITSTATUS(wait_status));
	int n = WTERMSIG(wait_status);
	const char *name = sigabbrev_np(n);
	return name ? ct_arena_printf(arena, "was ended by SIG%s", name) : ct_arena_printf(arena, "was ended by signal %d", n);
}

// What became of the faulting process and, when it is another one, of the command.
static const char *describe_end(struct ct_run *run)
{
	struct ct_arena *arena = &run->incident->arena;
	const struct ct_supervisor_result *r = &run->result;
	bool same = run->fault_pid == ct_supervisor_target(run->supervisor) || run->engine == &ct_engine_live;
	const char *text = ct_arena_printf(arena, "the command %s", describe_status(arena, r->exited ? r->exit_code << 8 : r->signal));
	if (!same && run->fault_pid_reaped)
		text = ct_arena_printf(arena, "process %d %s; %s", (int)run->fault_pid, describe_status(arena, run->fault_pid_status), text);
	if (run->is_let_end && !run->aborted)
		text = ct_arena_printf(arena, "%s; since the fault every CUDA call of it returned error %u", text, run->error_code);
	else if (run->engine == &ct_engine_core && run->incident->gpu.present)
		text = ct_arena_printf(arena, "%s; the driver aborts a process after it wrote its dump", text);
	if (r->n_left_behind)
		text = ct_arena_printf(arena, "%s; %u processes that it left behind were ended", text, r->n_left_behind);
	return text;
}

static void fill_ending(struct ct_run *run)
{
	const struct ct_supervisor_result *r = &run->result;
	struct ct_ending *e = &run->incident->ending;
	e->kind = run->aborted ? CT_ENDING_ENDED_BY_US : r->timed_out ? CT_ENDING_TIMED_OUT : r->exited ? CT_ENDING_EXITED : CT_ENDING_SIGNALED;
	e->status = run->aborted ? SIGABRT : r->exited ? r->exit_code : r->signal;
	e->detail = describe_end(run);
	if (run->ended_with_session) {
		e->kind = CT_ENDING_ENDED_BY_US;
		e->status = SIGKILL;
		e->detail = "the command was ended with its cuda-gdb session";
	}
}

// In engine live the debugger in between can only exit: what became of the command is in its status file. False: it was never started.
static bool take_live_result(struct ct_run *run, struct ct_error *err)
{
	struct ct_supervisor_result *r = &run->result;
	struct ct_cudagdb_live_status live;
	if (!ct_cudagdb_live_status(run->scratch, &live, err))
		return r->timed_out;
	if (run->interactive && !run->gdb.has_gdb_cuda)
		return true;  // nobody writes it: cuda-gdb's end is all there is
	run->aborted = run->aborted || live.aborted;
	if (live.exited || live.signaled) {
		r->exited = live.exited;
		r->exit_code = live.exited ? live.status : 0;
		r->signal = live.signaled ? live.status : 0;
		return true;
	}
	run->ended_with_session = run->interactive && live.pid && r->exited;
	// Ended by us, or by somebody who ended the debugger, too.
	return live.pid || !r->exited || r->timed_out || ct_cudagdb_live_explain(run->scratch, err);
}

static struct ct_loglines *lines_of_fault(const struct ct_run *run)
{
	return run->fault_lines ? run->fault_lines : run->lines;
}

static bool has_cuda_error(const struct ct_incident *incident)
{
	for (size_t i = 0; i < incident->n_log; i++)
		if (incident->log[i].kind == CT_LOG_CUDA_ERROR)
			return true;
	return false;
}

// A fault that nobody trapped can still be in the output, and a failing call in the record of launches: that is a report too, with less in
// it. *ret_trapped: an assert was seen.
static bool make_from_log(struct ct_run *run, bool *ret_trapped)
{
	struct ct_incident *incident = ct_run_new_incident(run);
	ct_loglines_finish(run->lines, incident);
	*ret_trapped = incident->assertion.present;
	if (!incident->assertion.present && ct_run_take_failed_call(run, incident)) {
		// The process has ended; it began after us.
		ct_hoststack_add_sources(incident, (pid_t)incident->process.pid, ct_hoststack_began_us(getpid()));
		return true;
	}
	if (!incident->assertion.present && !(has_cuda_error(incident) && run->result.exit_status != 0))
		return false;
	ct_incident_add_note(incident, "the driver did not stop the process: this report is made from its output alone");
	return true;
}

// A launcher may have no terminal of its own and still know how wide its user's is.
static unsigned width(const struct ct_options *options)
{
	unsigned known = ct_cli_width(options, STDERR_FILENO);
	const char *columns = getenv("COLUMNS");
	return known || !columns ? known : (unsigned)strtoul(columns, NULL, 10);
}

// Of a text, as many lines as fit beside the prompt; the rest is a command away.
static size_t first_screen(const char *text, size_t size, bool *ret_cut)
{
	struct winsize window;
	unsigned rows = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 8 ? window.ws_row : 24;
	const char *at = text, *end = text + size;
	for (unsigned line = 4; line < rows && at < end; line++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		at = newline ? newline + 1 : end;
	}
	*ret_cut = at < end;
	return (size_t)(at - text);
}

void ct_run_show(const struct ct_run *run, const struct ct_incident *incident, const char *path)
{
	const struct ct_render_options options = {
		.color = ct_cli_want_color(run->options, STDERR_FILENO),
		.width = width(run->options),
		.native = run->options->native,
		.report_path = path,
	};
	struct ct_error err = CT_ERROR_INIT;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	const struct ct_renderer *renderer = ct_renderer_find("text");
	bool ok = out && renderer->render(incident, &options, out, &err);
	if (out)
		fclose(out);
	bool is_cut = false;
	if (ok && run->interactive)
		size = first_screen(text, size, &is_cut);
	if (ok)
		ct_write_all(STDERR_FILENO, text, size, NULL);
	if (ok && is_cut)
		dprintf(STDERR_FILENO, "... `trap report` shows all of it\n");
	if (!ok)
		dprintf(STDERR_FILENO, "cudatrap: the report could not be shown: %s\n", err.text);
	free(text);
}

// The dump goes beside the report: by renaming when both are on one file system, else by copying.
static void keep_dump(struct ct_run *run, const char *report_path)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str from = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str to = CT_STR_INIT;
	ct_str_addf(&from, "%s/" CT_COLLECT_DUMP, run->scratch);
	ct_str_addf(&to, "%s/" CT_REPORT_DUMP, report_path);
	if (access(ct_str_text(&from), F_OK) != 0 || rename(ct_str_text(&from), ct_str_text(&to)) == 0)
		return;
	if (!ct_copy_file(ct_str_text(&from), ct_str_text(&to), &err))
		dprintf(STDERR_FILENO, "cudatrap: the dump was not kept: %s\n", err.text);
}

// Ranks of one job write into one folder: how many there are is the job's business.
static void prune(struct ct_run *run)
{
	struct ct_error err = CT_ERROR_INIT;
	const struct ct_options *o = run->options;
	size_t n = 0;
	if ((!o->keep && !o->keep_days) || o->job_dir)
		return;
	if (!ct_report_prune(o->report_dir, run->incident->id, o->keep, o->keep_days, ct_wall_us(), &n, &err))
		dprintf(STDERR_FILENO, "cudatrap: not all old reports were removed: %s\n", err.text);
	if (n)
		ct_run_say(run, "%zu old reports were removed", n);
}

static bool write_report(struct ct_run *run, const char **ret_path, struct ct_error *err)
{
	size_t length = 0;
	const char *log = ct_loglines_raw(lines_of_fault(run), &length);
	if (!run->early_id)
		return ct_report_write(run->incident, run->options->report_dir, log, length, ret_path, err);
	run->incident->id = run->early_id;
	return ct_report_update(run->incident, run->options->report_dir, log, length, ret_path, err);
}

// After an early report the only news is the end.
static void show(const struct ct_run *run, const char *path)
{
	if (run->early_id)
		dprintf(STDERR_FILENO, "cudatrap: %s\ncudatrap: report: %s\n", run->incident->ending.detail, path);
	else
		ct_run_show(run, run->incident, path);
}

void ct_run_deliver(struct ct_run *run)
{
	struct ct_error err = CT_ERROR_INIT;
	const char *path = NULL;
	ct_report_redact(run->incident, run->options->redact, run->options->n_redact);
	bool written = write_report(run, &path, &err);
	if (written && run->options->keep_dump)
		keep_dump(run, path);
	if (written)
		ct_run_keep_record(run, path);
	run->report_id = written ? run->incident->id : NULL;
	run->report_path = path;
	if ((!run->options->quiet && !run->session_told) || !written)
		show(run, path);
	else
		dprintf(STDERR_FILENO, "cudatrap: report: %s\n", path);
	if (!written)
		dprintf(STDERR_FILENO, "cudatrap: the report folder was not written: %s%s%s\n", err.text, err.hint[0] ? "; " : "", err.hint);
	else if (run->options->also && !ct_report_write_also(run->incident, path, run->options->also, &err))
		dprintf(STDERR_FILENO, "cudatrap: not all of --also=%s was written: %s\n", run->options->also, err.text);
}

void ct_run_tell(struct ct_run *run)
{
	ct_run_tell_ci(run, run->report_path);
	ct_run_tell_others(run, run->report_path);
	if (run->report_id)
		prune(run);
}

// ---- The report of a program that goes on for a while ----------------------------------------------------------------------

// Long enough for the usual traceback and exit (PyTorch: under a second, measured), so that they are in the report.
enum { EARLY_US = 3000000 };

static const char *early_path(struct ct_run *run)
{
	return ct_arena_printf(&run->arena, "%s/early-report", run->scratch);
}

void ct_run_diagnose(struct ct_incident *incident)
{
	ct_diagnose(incident);
	ct_explain_with(incident, ct_data_dir());
}

// In a process of its own: the log goes on in ours, and a report is made of what there is now.
static int deliver_early(void *context)
{
	struct ct_run *run = context;
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	run->incident->ending = (struct ct_ending){.kind = CT_ENDING_RUNNING};
	run->incident->ending.detail = ct_arena_printf(&run->incident->arena, "every CUDA call of it returns error %u now; its end will be added here", run->error_code);
	ct_loglines_finish(lines_of_fault(run), run->incident);
	ct_run_diagnose(run->incident);
	ct_run_deliver(run);
	return run->report_id && ct_write_file_at(AT_FDCWD, early_path(run), run->report_id, strlen(run->report_id), NULL) ? 0 : 1;
}

static void start_early(void *context)
{
	struct ct_run *run = context;
	struct ct_error err = CT_ERROR_INIT;
	if (run->is_ending || ct_supervisor_is_ending(run->supervisor))
		return;
	run->early_helper = ct_supervisor_spawn_helper(run->supervisor, deliver_early, run, &err);
	if (run->early_helper < 0)
		run->early_helper = 0;  // the report comes at the end then
}

void ct_run_deliver_early_later(struct ct_run *run)
{
	ct_supervisor_timer(run->supervisor, ct_now_us() + EARLY_US, start_early, run);
}

void ct_run_take_early(struct ct_run *run)
{
	CT_AUTO(ct_auto_str) struct ct_str id = CT_STR_INIT;
	run->early_helper = 0;
	if (ct_read_file(early_path(run), 4096, &id, NULL) && id.length)
		run->early_id = ct_arena_strdup(&run->arena, ct_str_text(&id));
}

int ct_run_conclude(struct ct_run *run)
{
	struct ct_error err = CT_ERROR_INIT;
	bool trapped = run->incident != NULL;
	// A full disk or a closed terminal must give an error here, not a signal. The target has had its own settings.
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	ct_run_break_off_collection(run);
	if (trapped)
		ct_run_read_redirected(run);
	if (run->engine == &ct_engine_live && !take_live_result(run, &err))
		return ct_run_complain(&err, 125);
	if (trapped) {
		ct_loglines_finish(lines_of_fault(run), run->incident);
	} else if (!make_from_log(run, &trapped)) {
		run->same_end = true;
		return run->result.exit_status;
	}
	fill_ending(run);
	ct_run_diagnose(run->incident);
	ct_run_deliver(run);
	ct_run_tell(run);
	run->same_end = !trapped;
	return trapped ? run->options->error_exitcode : run->result.exit_status;
}
