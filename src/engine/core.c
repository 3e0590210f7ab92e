// Engine core: native speed, no debugger, no ptrace. The driver writes a GPU core dump when a kernel fails and then aborts the process.
// The agent puts a FIFO where the dump will go as soon as a process uses CUDA: the driver's write into it is the trigger, and as long as it
// is not read the driver and the launching thread stand still, so that the agent can be asked for the Python stack. Without the agent
// the dump is an ordinary file, and what can be asked for is a matter of luck.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "engine/engine_priv.h"

// Without skip_constbank_memory the driver gives up in the middle (580.159, measured); every flag it does not know costs nothing.
#define LIGHT "skip_nonrelocated_elf_images,skip_global_memory,skip_shared_memory,skip_local_memory,skip_constbank_memory"
// Arguments point into global memory; shared and local memory and the constant banks say little and cost much.
#define MEMORY "skip_nonrelocated_elf_images,skip_shared_memory,skip_local_memory,skip_constbank_memory"
#define FULL "skip_constbank_memory"

static const char *flags_of(enum ct_dump_choice choice)
{
	return choice == CT_DUMP_FULL ? FULL : choice == CT_DUMP_MEMORY ? MEMORY : LIGHT;
}

// The agent can keep the process from working on past the fault, so that the driver need not abort it: with skip_abort alone the driver
// returns the wrong error, or none (580.159, measured). Written so, the flag is unknown to the driver; the agent makes it count.
static bool can_let_end(const struct ct_run *run)
{
	return run->options->after_fault == CT_FAULT_IS_ERROR && run->agent_dir;
}

static bool prepare(struct ct_run *run, struct ct_error *err)
{
	if (run->options->after_fault == CT_FAULT_CONTINUES) {
		ct_fail(err, CT_USAGE, "--after-fault=continue does not go with engine core");
		return ct_hint(err, "the driver aborts a process after its dump; use engine wait or live");
	}
	run->dump_dir = ct_arena_printf(&run->arena, "%s/dumps", run->agent_dir ? run->agent_dir : run->scratch);
	if (mkdir(run->dump_dir, 0700) != 0)
		return ct_fail_errno(err, "%s", run->dump_dir);
	ct_run_setenv(run, "CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1");
	ct_run_setenv(run, "CUDA_COREDUMP_FILE", ct_arena_printf(&run->arena, "%s/%%p", run->dump_dir));
	ct_run_setenv(run, "CUDA_COREDUMP_GENERATION_FLAGS", ct_arena_printf(&run->arena, "%s%s", flags_of(run->options->dump), can_let_end(run) ? ",skip_abor_" : ""));
	// The only way to a light dump before driver 555; without effect since 13.0.
	ct_run_setenv(run, "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP", run->options->dump == CT_DUMP_LIGHT ? "1" : NULL);
	ct_run_setenv(run, "CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION", NULL);
	// Nobody will be there to ask for Python's stacks: it prints them itself when the driver aborts the process. Costs nothing before.
	if (!run->agent_dir && !ct_run_getenv(run, "PYTHONFAULTHANDLER"))
		ct_run_setenv(run, "PYTHONFAULTHANDLER", "1");
	ct_run_setenv(run, "CUDA_DEVICE_WAITS_ON_EXCEPTION", NULL);  // with both the driver does neither (580.159, measured)
	if (!run->options->async)
		ct_run_setenv(run, "CUDA_LAUNCH_BLOCKING", "1");
	return true;
}

// abort() after the dump must not cost a core file of gigabytes as well.
static void forbid_core_file(pid_t pid)
{
	struct rlimit limit;
	if (prlimit(pid, RLIMIT_CORE, NULL, &limit) == 0) {
		limit.rlim_cur = 0;
		prlimit(pid, RLIMIT_CORE, &limit, NULL);
	}
}

// A dump in a file may be whole, and the process far past its fault: too late to hold anything.
static bool hold(struct ct_run *run, pid_t pid)
{
	struct ct_error err = CT_ERROR_INIT;
	if (!can_let_end(run))
		return false;
	bool is_held = ct_run_hold(run, pid, &err);
	if (!is_held)
		ct_run_say(run, "process %d cannot be held: %s", (int)pid, err.text);
	return is_held;
}

static void fault(struct ct_run *run, pid_t pid, int fd)
{
	forbid_core_file(pid);
	if (run->n_waiting < CT_COUNT(run->waiting))
		run->waiting[run->n_waiting++] = (struct ct_waiting){.pid = pid, .is_held = hold(run, pid)};
	if (run->incident) {
		double seconds = (double)(ct_now_us() - run->fault_us) / 1e6;
		ct_incident_add_consequence(run->incident, pid, seconds, "another process wrote a GPU core dump of its own");
		if (run->is_let_end)
			ct_run_let_all_end(run);
		return;
	}
	ct_run_new_incident(run);
	run->dump_fd = fd;
	ct_run_collect(run, pid);
}

static pid_t pid_of_fifo(const struct ct_run *run, int fd)
{
	for (size_t i = 0; i < run->n_fifos; i++)
		if (run->fifos[i].fd == fd)
			return run->fifos[i].pid;
	return 0;
}

// What later processes write is read away: nobody must hang in the driver for want of a reader.
static void drain(struct ct_run *run, int fd)
{
	char bytes[65536];
	ssize_t n = read(fd, bytes, sizeof bytes);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		ct_supervisor_unwatch(run->supervisor, fd);
		close(fd);
	}
}

static void on_fifo(void *context, int fd)
{
	struct ct_run *run = context;
	pid_t pid = pid_of_fifo(run, fd);
	bool first = !run->incident;
	bool seen = false;
	for (size_t i = 0; i < run->n_waiting; i++)
		seen |= run->waiting[i].pid == pid;
	int available = 0;
	if (ioctl(fd, FIONREAD, &available) == 0 && available > 0 && !seen)
		fault(run, pid, fd);
	if (first && run->incident && run->dump_fd == fd)
		ct_supervisor_unwatch(run->supervisor, fd);  // the collectors read it
	else
		drain(run, fd);
}

static void open_fifo(struct ct_run *run, int dir, const char *name)
{
	int fd = run->n_fifos < CT_COUNT(run->fifos) ? openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (fd < 0) {
		unlinkat(dir, name, 0);  // then the dump will be a file
		return;
	}
	run->fifos[run->n_fifos].pid = (pid_t)strtol(name, NULL, 10);
	run->fifos[run->n_fifos++].fd = fd;
	ct_supervisor_watch(run->supervisor, fd, on_fifo, run);
}

static void look_at(struct ct_run *run, const char *name, bool fifos_too)
{
	struct stat st;
	CT_AUTO(ct_auto_close) int dir = open(run->dump_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || name[strspn(name, "0123456789")] != '\0' || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	if (S_ISFIFO(st.st_mode) && fifos_too) {
		open_fifo(run, dir, name);
	} else if (S_ISREG(st.st_mode)) {
		if (!run->incident)
			run->dump_path = ct_arena_printf(&run->arena, "%s/%s", run->dump_dir, name);
		fault(run, (pid_t)strtol(name, NULL, 10), -1);
	}
}

static void on_folder_changed(void *context, int fd)
{
	struct ct_run *run = context;
	_Alignas(struct inotify_event) char events[4096];
	ssize_t n;
	while ((n = read(fd, events, sizeof events)) > 0) {
		for (char *p = events; p < events + n;) {
			const struct inotify_event *e = (const struct inotify_event *)(void *)p;
			if (e->len)
				look_at(run, e->name, true);
			p += sizeof *e + e->len;
		}
	}
}

static void look_at_all(struct ct_run *run, bool fifos_too)
{
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir(run->dump_dir);
	for (struct dirent *e; dir && (e = readdir(dir));)
		look_at(run, e->d_name, fifos_too);
}

static void started(struct ct_run *run)
{
	run->folder_watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (run->folder_watch < 0 || inotify_add_watch(run->folder_watch, run->dump_dir, IN_CREATE) < 0) {
		dprintf(STDERR_FILENO, "cudatrap: inotify is not to be had (%s): a fault will not be noticed\n", strerror(errno));
		return;
	}
	ct_supervisor_watch(run->supervisor, run->folder_watch, on_folder_changed, run);
	look_at_all(run, true);  // a process may have been faster than the watch
}

// A process can dump and end before its event is read. One with a FIFO cannot: it stands still until it has a reader.
static void last_look(struct ct_run *run)
{
	if (!run->incident)
		look_at_all(run, false);
}

// Without us the driver aborts the process itself. A launcher around it ends too, or is ended.
static void collected(struct ct_run *run)
{
	ct_run_let_all_end(run);
	if (!run->is_let_end)
		ct_run_end_tree_later(run);
}

const struct ct_engine ct_engine_core = {
	.name = "core",
	.prepare = prepare,
	.started = started,
	.last_look = last_look,
	.collected = collected,
};
