// The end of a run: how it ended, the diagnosis, the report, our exit status.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "engine/engine_priv.h"
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
	int command = r->exited ? r->exit_code << 8 : r->signal;
	struct ct_cudagdb_live_status live;
	if (run->engine == &ct_engine_live && ct_cudagdb_live_status(run->scratch, &live, NULL) && (live.exited || live.signaled))
		command = live.exited ? live.status << 8 : live.status;  // the debugger in between can only exit
	bool same = run->fault_pid == ct_supervisor_target(run->supervisor) || run->engine == &ct_engine_live;
	const char *text = ct_arena_printf(arena, "the command %s", describe_status(arena, command));
	if (!same && run->fault_pid_reaped)
		text = ct_arena_printf(arena, "process %d %s; %s", (int)run->fault_pid, describe_status(arena, run->fault_pid_status), text);
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
}

static bool has_cuda_error(const struct ct_incident *incident)
{
	for (size_t i = 0; i < incident->n_log; i++)
		if (incident->log[i].kind == CT_LOG_CUDA_ERROR)
			return true;
	return false;
}

// A fault that nobody trapped can still be in the output: that is a report too, with less in it. *ret_trapped: an assert was seen.
static bool make_from_log(struct ct_run *run, bool *ret_trapped)
{
	struct ct_incident *incident = ct_run_new_incident(run);
	ct_loglines_finish(run->lines, incident);
	*ret_trapped = incident->assertion.present;
	if (!incident->assertion.present && !(has_cuda_error(incident) && run->result.exit_status != 0))
		return false;
	ct_incident_add_note(incident, "the driver did not stop the process: this report is made from its output alone");
	return true;
}

static unsigned terminal_width(void)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return columns ? (unsigned)strtoul(columns, NULL, 10) : 0;
}

static bool want_color(const struct ct_options *options)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	if (options->color != CT_COLOR_AUTO)
		return options->color == CT_COLOR_ALWAYS;
	return isatty(STDERR_FILENO) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

static void print_report(const struct ct_run *run, const char *path)
{
	const struct ct_render_options options = {
		.color = want_color(run->options),
		.width = terminal_width(),
		.native = run->options->native,
		.report_path = path,
	};
	struct ct_error err = CT_ERROR_INIT;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	const struct ct_renderer *renderer = ct_renderer_find("text");
	bool ok = out && renderer->render(run->incident, &options, out, &err);
	if (out)
		fclose(out);
	if (ok)
		ct_write_all(STDERR_FILENO, text, size, NULL);
	else
		dprintf(STDERR_FILENO, "cudatrap: the report could not be shown: %s\n", err.text);
	free(text);
}

static void deliver(struct ct_run *run)
{
	struct ct_error err = CT_ERROR_INIT;
	size_t length = 0;
	const char *log = ct_loglines_raw(run->lines, &length), *path = NULL;
	bool written = ct_report_write(run->incident, run->options->report_dir, log, length, &path, &err);
	if (!run->options->quiet || !written)
		print_report(run, path);
	else
		dprintf(STDERR_FILENO, "cudatrap: report: %s\n", path);
	if (!written)
		dprintf(STDERR_FILENO, "cudatrap: the report folder was not written: %s%s%s\n", err.text, err.hint[0] ? "; " : "", err.hint);
	else if (run->options->also && !ct_report_write_also(run->incident, path, run->options->also, &err))
		dprintf(STDERR_FILENO, "cudatrap: not all of --also=%s was written: %s\n", run->options->also, err.text);
	ct_run_tell_ci(run, path);
}

int ct_run_conclude(struct ct_run *run)
{
	bool trapped = run->incident != NULL;
	// A full disk or a closed terminal must give an error here, not a signal. The target has had its own settings.
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (trapped)
		ct_loglines_finish(run->lines, run->incident);
	else if (!make_from_log(run, &trapped)) {
		run->same_end = true;
		return run->result.exit_status;
	}
	fill_ending(run);
	ct_diagnose(run->incident);
	deliver(run);
	return trapped ? run->options->error_exitcode : run->result.exit_status;
}
