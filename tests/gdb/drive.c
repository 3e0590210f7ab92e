// Runs the cudagdb module from the command line, for the Python tests beside this file.
//   drive find | core DUMP SCRATCH | assert DUMP SCRATCH | mi-core DUMP SCRATCH | attach PID SCRATCH detach|abort | mi-attach ... | live SCRATCH PROGRAM...
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/collect_priv.h"
#include "cudagdb/cudagdb.h"
#include "incident/incident.h"

#define DEADLINE_US ((int64_t)120 * 1000 * 1000)

static int failed(const struct ct_error *err)
{
	fprintf(stderr, "%s: %s\nhint: %s\n", ct_code_name(err->code), err->text, err->hint);
	return 1;
}

static int find(const struct ct_cudagdb *gdb)
{
	printf("%s %s %s %d %s\n", gdb->version, gdb->python ? gdb->python : "-", gdb->found_by, gdb->has_gdb_cuda, gdb->path);
	return 0;
}

static int collect(struct ct_cudagdb gdb, struct ct_cudagdb_job job, bool by_mi)
{
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	if (by_mi)
		gdb.has_gdb_cuda = false;
	job.deadline_us = ct_now_us() + DEADLINE_US;
	if (!ct_cudagdb_collect(&gdb, &job, &json, &err))
		return failed(&err);
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	if (!ct_incident_read_gpu_json(incident, json.data, json.length, &err))
		return failed(&err);
	fwrite(json.data, 1, json.length, stdout);
	return 0;
}

// The assert's text out of the image that cuda-gdb leaves, as the collectors read it.
static int read_assert(const struct ct_cudagdb *gdb, const char *dump, const char *scratch)
{
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	struct ct_error err = CT_ERROR_INIT;
	const struct ct_cudagdb_job job = {.core_path = dump, .scratch_dir = scratch, .deadline_us = ct_now_us() + DEADLINE_US, .keep_image = true};
	if (!ct_cudagdb_collect(gdb, &job, &json, &err) || !ct_incident_read_gpu_json(incident, json.data, json.length, &err))
		return failed(&err);
	ct_collect_assert(scratch, incident);
	const struct ct_assert *a = &incident->assertion;
	if (a->present)
		printf("%s:%u %s\n%s\n", a->file, a->line, a->function, a->expression);
	return 0;
}

static int live(struct ct_arena *arena, const struct ct_cudagdb *gdb, const char *scratch, char **argv)
{
	struct ct_error err = CT_ERROR_INIT;
	int fds[3];
	char **live_argv, **live_environment;
	struct ct_cudagdb_live options = {.argv = argv, .environment = environ, .scratch_dir = scratch, .fds = fds, .break_on = "__assertfail,__assert_fail"};
	if (!ct_cudagdb_free_fds(fds, &err) || !ct_cudagdb_live_argv(arena, gdb, &options, &live_argv, &live_environment, &err))
		return failed(&err);
	execve(live_argv[0], live_argv, live_environment);
	perror(live_argv[0]);
	return 1;
}

static int run(struct ct_arena *arena, int argc, char **argv)
{
	struct ct_cudagdb gdb;
	struct ct_cudagdb_search search;
	struct ct_error err = CT_ERROR_INIT;
	if (!ct_cudagdb_find(arena, NULL, environ, NULL, &gdb, &search, &err))
		return failed(&err);
	if (argc == 2 && strcmp(argv[1], "find") == 0)
		return find(&gdb);
	if (argc == 4 && strcmp(argv[1], "assert") == 0)
		return read_assert(&gdb, argv[2], argv[3]);
	if (argc == 4 && ct_ends_with(argv[1], "core"))
		return collect(gdb, (struct ct_cudagdb_job){.core_path = argv[2], .scratch_dir = argv[3]}, ct_starts_with(argv[1], "mi-"));
	if (argc == 5 && ct_ends_with(argv[1], "attach"))
		return collect(gdb,
			       (struct ct_cudagdb_job){.pid = atoi(argv[2]),
						       .scratch_dir = argv[3],
						       .after = strcmp(argv[4], "leave") == 0 ? CT_AFTER_LEAVE : CT_AFTER_DETACH},
			       ct_starts_with(argv[1], "mi-"));
	if (argc >= 4 && strcmp(argv[1], "live") == 0)
		return live(arena, &gdb, argv[2], argv + 3);
	fputs("usage: see the source\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	return run(&arena, argc, argv);
}
