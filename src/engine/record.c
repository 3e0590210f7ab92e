// The record of launches in a run: the folder that the agents write it to, and what is made of it when nothing was trapped.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "engine/engine_priv.h"
#include "matching/matching.h"

// ---- Before the command starts ------------------------------------------------------------------------------------

// The record is written to at each launch: in memory that costs nothing, on a disk it is written back all the time.
#define MEMORY_FOLDER "/dev/shm"

static bool is_wanted(const struct ct_options *o)
{
	return o->record == CT_RECORDS_ALWAYS || (o->record == CT_RECORDS_WITH_ASYNC && o->async);
}

static_assert(CT_OPTION_MIN_RECORD_DEPTH == (int)CT_RECORD_MIN_DEPTH && CT_OPTION_MAX_RECORD_DEPTH == (int)CT_RECORD_MAX_DEPTH, "the option and the record");
static_assert(CT_OPTION_MAX_HISTORY == (int)CT_MAX_LAUNCH_HISTORY, "the option and the incident");

static uint64_t bytes_at(uint64_t depth)
{
	struct ct_record_head head;
	memset(&head, 0, sizeof head);
	ct_record_lay_out(depth, &head);
	return head.file_bytes;
}

// The largest depth up to the one wanted whose file fits; 0: none does.
static uint64_t depth_that_fits(const char *folder, uint64_t depth)
{
	struct statvfs fs;
	if (statvfs(folder, &fs) != 0)
		return 0;
	uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
	while (depth >= CT_RECORD_MIN_DEPTH && bytes_at(depth) > room)
		depth /= 2;
	return depth >= CT_RECORD_MIN_DEPTH ? depth : 0;
}

static bool make_folder(struct ct_run *run, const char *base, uint64_t wanted, uint64_t *ret_depth, struct ct_error *err)
{
	char *path = ct_arena_printf(&run->arena, "%s/cudatrap-record-XXXXXX", base);
	*ret_depth = depth_that_fits(base, wanted);
	if (*ret_depth == 0)
		return ct_fail(err, CT_UNAVAILABLE, "%s cannot be used or has no room for %" PRIu64 " MiB", base, bytes_at(CT_RECORD_MIN_DEPTH) >> 20);
	if (!mkdtemp(path))
		return ct_fail_errno(err, "%s", base);
	run->record_lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (run->record_lock < 0 || flock(run->record_lock, LOCK_EX | LOCK_NB) != 0) {
		ct_fail_errno(err, "%s", path);
		if (run->record_lock >= 0)
			close(run->record_lock);
		rmdir(path);
		return false;
	}
	run->record_dir = path;
	return true;
}

// A cudatrap that was killed leaves its folder, and that is memory. Nobody holds it then: a process id would not tell, because containers
// that share a folder in memory count processes apart.
static void remove_abandoned(void)
{
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir(MEMORY_FOLDER);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		struct stat st;
		if (!ct_starts_with(e->d_name, "cudatrap-record-"))
			continue;
		CT_AUTO(ct_auto_close) int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
			ct_run_remove_folder(dirfd(dir), e->d_name);
	}
}

static bool start_record(struct ct_run *run, struct ct_error *err)
{
	uint64_t wanted = ct_record_round_depth(run->options->record_depth), depth = 0;
	struct ct_error memory = CT_ERROR_INIT;
	if (!run->agent_dir)
		return ct_fail(err, CT_UNAVAILABLE, "no agent (%s)", run->agent_missing.text);
	remove_abandoned();
	if (!make_folder(run, MEMORY_FOLDER, wanted, &depth, &memory) && !make_folder(run, run->scratch, wanted, &depth, err))
		return ct_fail(err, CT_UNAVAILABLE, "%s", memory.text);
	if (memory.code != CT_OK)
		ct_run_say(run, "the record of launches is in %s: %s", run->record_dir, memory.text);
	if (depth < wanted)
		ct_run_say(run, "the record of launches holds %" PRIu64 " of the %" PRIu64 " wanted: there is no room for more", depth, wanted);
	ct_run_setenv(run, "CUDATRAP_RECORD", ct_arena_printf(&run->arena, "%" PRIu64, depth));
	ct_run_setenv(run, "CUDATRAP_RECORD_DIR", run->record_dir);
	return true;
}

void ct_run_start_record(struct ct_run *run)
{
	struct ct_error err = CT_ERROR_INIT;
	// Of a run around this one: its record is not ours to write to.
	ct_run_setenv(run, "CUDATRAP_RECORD", NULL);
	ct_run_setenv(run, "CUDATRAP_RECORD_DIR", NULL);
	if (!is_wanted(run->options) || start_record(run, &err))
		return;
	run->record_missing = ct_arena_strdup(&run->arena, err.text);
	dprintf(STDERR_FILENO, "cudatrap: launches are not recorded: %s\n", err.text);
}

// ---- After it has ended ---------------------------------------------------------------------------------------------

enum { MAX_RECORDS = 1024 };

struct failed {
	struct ct_launches *record;  // NULL: none
	int64_t when_ns;
};

// The process whose call failed first.
static void look_at(struct ct_run *run, const char *name, bool process_failed, struct failed *first)
{
	struct ct_launches *record = NULL;
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	int64_t when_ns = 0;
	ct_str_addf(&path, "%s/%s", run->record_dir, name);
	if (!ct_launches_open(ct_str_text(&path), &record, &err)) {
		ct_run_say(run, "%s: %s", name, err.text);
		return;
	}
	if (ct_matching_has_failed_call(record, process_failed, &when_ns) && (!first->record || when_ns < first->when_ns)) {
		ct_launches_free(first->record);
		*first = (struct failed){.record = record, .when_ns = when_ns};
		return;
	}
	ct_launches_free(record);
}

static void note_course(struct ct_incident *incident)
{
	const struct ct_failed_call *call = &incident->launch.failed_call;
	if (call->ignored)
		ct_incident_add_note(incident, "The command ended with status 0 although this call had failed: what it should have computed was not computed.");
	else if (call->went_on)
		ct_incident_add_note(incident, "The process went on after this call had failed, and launched kernels.");
	if (call->n_later)
		ct_incident_add_note(incident, "%" PRIu64 " more call%s failed after it%s.", call->n_later, call->n_later == 1 ? "" : "s",
				     call->sticky ? ", because of it: the context was lost" : "");
}

bool ct_run_take_failed_call(struct ct_run *run, struct ct_incident *incident)
{
	bool process_failed = run->result.exit_status != 0;
	struct failed first = {.record = NULL};
	CT_AUTO(ct_auto_closedir) DIR *dir = run->record_dir ? opendir(run->record_dir) : NULL;
	unsigned n = 0;
	for (struct dirent *e; dir && n < MAX_RECORDS && (e = readdir(dir));) {
		if (!ct_starts_with(e->d_name, "launches."))
			continue;
		look_at(run, e->d_name, process_failed, &first);
		n++;
	}
	if (!first.record)
		return false;
	struct ct_launches_about about;
	ct_launches_about(first.record, &about);
	ct_matching_failed_call(first.record, process_failed, run->options->history, incident);
	incident->kind = CT_FAULT_API_ERROR;
	incident->process.pid = about.pid;
	incident->process.is_descendant = about.pid != ct_supervisor_target(run->supervisor) && run->engine != &ct_engine_live;
	incident->process.python = about.python ? ct_arena_strdup(&incident->arena, about.python) : NULL;
	incident->time_us -= ct_now_us() - first.when_ns / 1000;
	incident->monotonic_us = first.when_ns / 1000;
	ct_incident_add_collector(incident, "launches", CT_COLLECTOR_OK, 0, NULL);
	note_course(incident);
	ct_launches_free(first.record);
	return true;
}

void ct_run_keep_record(const struct ct_run *run, const char *report_path)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str from = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str to = CT_STR_INIT;
	if (!run->record_dir || !run->options->keep_record)
		return;
	ct_str_addf(&from, "%s/launches.%" PRId64, run->record_dir, run->incident->process.pid);
	ct_str_addf(&to, "%s/" CT_REPORT_RECORD, report_path);
	if (access(ct_str_text(&from), F_OK) == 0 && !ct_copy_file(ct_str_text(&from), ct_str_text(&to), &err))
		dprintf(STDERR_FILENO, "cudatrap: the record of launches was not kept: %s\n", err.text);
}
