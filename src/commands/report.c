// cudatrap report FILE...: stored incidents and GPU core dumps.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "commands/commands.h"
#include "diagnose/diagnose.h"
#include "gpucore/gpucore.h"
#include "incident/incident.h"
#include "render/render.h"
#include "values/values.h"

// What an operand holds; the descriptor is at its start again.
struct source {
	const char *name;
	int fd;
	bool is_dump;
};

static void close_source(struct source *source)
{
	if (source->fd >= 0)
		close(source->fd);
}

// Standard input is copied, so that it can be looked at before it is read.
static int open_input(struct ct_error *err)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	if (fd < 0) {
		ct_fail_errno(err, "standard input");
		return -1;
	}
	if (ct_copy_fd(STDIN_FILENO, fd, err) && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	ct_fail_in(err, "standard input");
	close(fd);
	return -1;
}

static int open_operand(const char *operand, struct ct_error *err)
{
	struct stat st;
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	if (strcmp(operand, "-") == 0)
		return open_input(err);
	ct_str_addf(&path, "%s%s", operand, stat(operand, &st) == 0 && S_ISDIR(st.st_mode) ? "/incident.json" : "");
	int fd = open(ct_str_text(&path), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		ct_fail_errno(err, "%s", ct_str_text(&path));
	return fd;
}

// ELF, xz, gzip: a dump; everything else is taken for an incident. A FIFO cannot be looked at: only dumps come that way.
static bool looks_like_dump(int fd)
{
	static const struct {
		const char *bytes;
		size_t length;
	} starts[] = {{"\177ELF", 4}, {"\xfd" "7zXZ", 5}, {"\x1f\x8b", 2}};
	char start[8] = {0};
	ssize_t n = pread(fd, start, sizeof start, 0);
	if (n < 0 && errno == ESPIPE)
		return true;
	for (size_t i = 0; i < CT_COUNT(starts); i++)
		if (n >= (ssize_t)starts[i].length && memcmp(start, starts[i].bytes, starts[i].length) == 0)
			return true;
	return false;
}

static bool open_source(const char *operand, struct source *ret_source, struct ct_error *err)
{
	int fd = open_operand(operand, err);
	if (fd < 0)
		return false;
	*ret_source = (struct source){.name = strcmp(operand, "-") == 0 ? "standard input" : operand, .fd = fd, .is_dump = looks_like_dump(fd)};
	return true;
}

static bool read_incident(const struct source *source, struct ct_incident **ret_incident, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	return (ct_read_fd(source->fd, CT_INCIDENT_MAX_BYTES, &text, err) && ct_incident_read_json(ct_str_text(&text), text.length, ret_incident, err))
	       || ct_fail_in(err, "%s", source->name);
}

// An incident made of nothing but a dump: everything that only a run knows is absent.
static bool read_dump(const struct source *source, struct ct_incident **ret_incident, struct ct_error *err)
{
	struct stat st;
	CT_AUTO(ct_gpucore_auto) struct ct_gpucore *core = NULL;
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	if (!ct_gpucore_open_fd(source->fd, source->name, 0, &core, err) || !ct_gpucore_fill(core, incident, err))
		return false;
	incident->tool_version = "cudatrap " CT_VERSION;
	incident->engine = "core";
	incident->engine_why = ct_arena_printf(&incident->arena, "dump %s", ct_arena_clean(&incident->arena, source->name, strlen(source->name)));
	incident->time_us = fstat(source->fd, &st) == 0 ? (int64_t)st.st_mtime * 1000000 : 0;
	struct ct_gpucore_grid grid;
	incident->launch_blocking = ct_gpucore_n_grids(core) && ct_gpucore_grid(core, 0, &grid) && grid.launch_blocking;
	ct_values_with(core, incident, ct_data_dir());
	ct_diagnose(incident);
	ct_explain_with(incident, ct_data_dir());
	*ret_incident = incident;
	incident = NULL;
	return true;
}

static bool print_raw(const struct source *source, struct ct_error *err)
{
	CT_AUTO(ct_gpucore_auto) struct ct_gpucore *core = NULL;
	if (!source->is_dump)
		return ct_fail(err, CT_USAGE, "%s: --raw is for GPU core dumps", source->name);
	return ct_gpucore_open_fd(source->fd, source->name, 0, &core, err) && ct_gpucore_raw(core, stdout, err);
}

static bool show(const struct ct_options *options, const struct ct_renderer *renderer, const char *operand, struct ct_error *err)
{
	CT_AUTO(close_source) struct source source = {.fd = -1};
	if (!open_source(operand, &source, err))
		return false;
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = NULL;
	if (options->raw)
		return print_raw(&source, err);
	if (!(source.is_dump ? read_dump(&source, &incident, err) : read_incident(&source, &incident, err)))
		return false;
	const struct ct_render_options r = ct_commands_render_options(options);
	return renderer->render(incident, &r, stdout, err);
}

int ct_command_report(const struct ct_options *options)
{
	const struct ct_renderer *renderer = ct_renderer_find(options->format ? options->format : "text");
	int status = 0;
	if (!renderer) {
		fprintf(stderr, "cudatrap: --format: '%s' is none of:", options->format);
		for (const struct ct_renderer *r = ct_renderers; r->name; r++)
			fprintf(stderr, " %s", r->name);
		fputc('\n', stderr);
		return 125;
	}
	if (options->argc == 0) {
		fputs("cudatrap: report: no file given (an incident.json, a report folder, a GPU core dump, or - for standard input)\n", stderr);
		return 125;
	}
	for (int i = 0; i < options->argc; i++) {
		struct ct_error err = CT_ERROR_INIT;
		if (show(options, renderer, options->argv[i], &err))
			continue;
		fprintf(stderr, "cudatrap: report: %s%s%s%s\n", err.text, err.hint[0] ? " (" : "", err.hint, err.hint[0] ? ")" : "");
		status = 1;
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fputs("cudatrap: report: standard output could not be written\n", stderr);
		return 1;
	}
	return status;
}
