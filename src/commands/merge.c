// cudatrap merge [DIR...]: the reports of one job's ranks as one.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <string.h>

#include "commands/commands.h"
#include "store/store.h"

static int complain(const struct ct_error *err)
{
	fprintf(stderr, "cudatrap: merge: %s%s%s%s\n", err->text, err->hint[0] ? " (" : "", err->hint, err->hint[0] ? ")" : "");
	return 125;
}

// Nothing to render: what is known goes where messages go, so that stdout stays empty for programs.
static int say_nothing_there(const struct ct_merged *m)
{
	fprintf(stderr, "cudatrap: merge: %s\n", m->headline);
	for (size_t i = 0; i < m->n_notes; i++)
		fprintf(stderr, "  - %s\n", m->notes[i]);
	return 1;
}

static int show(const struct ct_options *options, const struct ct_renderer *renderer, const struct ct_merged *m)
{
	struct ct_error err = CT_ERROR_INIT;
	struct ct_render_options r = ct_commands_render_options(options);
	r.report_path = m->path;
	if (strcmp(renderer->name, "text") == 0)
		printf("cudatrap: %s\n\n", m->headline);
	else
		ct_incident_add_note(m->incident, "%s", m->headline);
	if (!renderer->render(m->incident, &r, stdout, &err))
		return complain(&err);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	ct_fail(&err, CT_SYSTEM, "standard output could not be written");
	return complain(&err);
}

int ct_command_merge(const struct ct_options *options)
{
	const struct ct_renderer *renderer = ct_renderer_find(options->format ? options->format : "text");
	CT_AUTO(ct_store_auto) struct ct_store *store = ct_store_new();
	struct ct_error err = CT_ERROR_INIT;
	struct ct_merged merged = {.incident = NULL};
	int64_t since_us = 0;
	if (!renderer) {
		ct_fail(&err, CT_USAGE, "--format: there is no format '%s'", options->format);
		return complain(&err);
	}
	if ((options->since && !ct_since_parse(options->since, ct_wall_us(), &since_us, &err)) || !ct_commands_read_store(options, store, &err) ||
	    !ct_store_merge(store, options->job, since_us, &merged, &err))
		return complain(&err);
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = merged.incident;
	if (store->n_skipped_all)
		fprintf(stderr, "cudatrap: merge: %zu could not be read (cudatrap list -v says which)\n", store->n_skipped_all);
	return incident ? show(options, renderer, &merged) : say_nothing_there(&merged);
}
