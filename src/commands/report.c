// cudatrap report FILE...: stored incidents shown again.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "commands/commands.h"
#include "diagnose/diagnose.h"
#include "incident/incident.h"
#include "render/render.h"

enum { MAX_DOCUMENT = 256 * 1024 * 1024 };

static bool read_document(const char *operand, struct ct_str *ret_text, struct ct_error *err)
{
	struct stat st;
	if (strcmp(operand, "-") == 0)
		return ct_read_fd(STDIN_FILENO, MAX_DOCUMENT, ret_text, err) || ct_fail_in(err, "standard input");
	if (stat(operand, &st) == 0 && S_ISDIR(st.st_mode)) {
		CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
		ct_str_addf(&path, "%s/incident.json", operand);
		return ct_read_file(ct_str_text(&path), MAX_DOCUMENT, ret_text, err);
	}
	return ct_read_file(operand, MAX_DOCUMENT, ret_text, err);
}

struct ct_render_options ct_command_render_options(const struct ct_options *options)
{
	const char *no_color = getenv("NO_COLOR");
	struct winsize size;
	bool terminal = isatty(STDOUT_FILENO);
	struct ct_render_options r = {.native = options->native, .all_threads = options->verbose};
	r.color = options->color == CT_COLOR_ALWAYS || (options->color == CT_COLOR_AUTO && terminal && !(no_color && *no_color));
	if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		r.width = size.ws_col;
	return r;
}

static bool show(const struct ct_options *options, const struct ct_renderer *renderer, const char *operand, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = NULL;
	if (!read_document(operand, &text, err))
		return false;
	if (!ct_incident_read_json(ct_str_text(&text), text.length, &incident, err))
		return ct_fail_in(err, "%s", operand);
	const struct ct_render_options r = ct_command_render_options(options);
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
		fputs("cudatrap: report: no file given (an incident.json, a report folder, or - for standard input)\n", stderr);
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
