// JUnit XML, as Jenkins' xunit plugin, GitLab and others read it: one failed test case, named after the kernel.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "render/formats.h"
#include "render/launch.h"
#include "render/markup.h"
#include "render/names.h"
#include "render/text_priv.h"

enum { TEXT_WIDTH = 100 };

static void write_property(struct ct_page *page, struct ct_markup *m, const char *name, const char *value)
{
	if (!value)
		return;
	ct_markup_raw(m, "\n   ");
	ct_markup_open(m, "property");
	ct_markup_attr(m, "name", name);
	ct_markup_attr(m, "value", ct_page_flat(page, value));
	ct_markup_void(m);
}

static const char *environment_value(const struct ct_incident *in, const char *name)
{
	for (size_t i = 0; i < in->n_environment; i++)
		if (in->environment[i].name && strcmp(in->environment[i].name, name) == 0)
			return in->environment[i].value;
	return NULL;
}

// The names under which launchers tell a process its rank: torchrun, Open MPI, Slurm.
static const char *rank_of(const struct ct_incident *in)
{
	static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
	const char *rank = NULL;
	for (size_t i = 0; i < CT_COUNT(names) && !rank; i++)
		rank = environment_value(in, names[i]);
	return rank;
}

static void write_properties(struct ct_page *page, struct ct_markup *m)
{
	const struct ct_incident *in = page->incident;
	struct ct_launch_place place = ct_launch_place(page);
	ct_markup_raw(m, "\n  ");
	ct_markup_open(m, "properties");
	write_property(page, m, "signature", ct_text_signature(page));
	write_property(page, m, "kind", ct_launch_rule(in));
	write_property(page, m, "incident", in->id);
	// The schema of Jenkins' xunit plugin (junit-10.xsd) has no place for them at the test case.
	write_property(page, m, "file", place.path);
	if (place.path)
		write_property(page, m, "line", ct_arena_printf(&page->arena, "%" PRIu32, place.line));
	write_property(page, m, "host", in->host);
	write_property(page, m, "rank", rank_of(in));
	for (size_t i = 0; i < in->n_progress; i++)
		write_property(page, m, ct_arena_printf(&page->arena, "progress.%s", in->progress[i].name), in->progress[i].value);
	write_property(page, m, "command", ct_text_words(page, in->command, in->n_command));
	ct_markup_raw(m, "\n  ");
	ct_markup_close(m);
}

static bool write_failure(struct ct_page *page, struct ct_markup *m, struct ct_error *err)
{
	CT_AUTO(ct_auto_free) char *text = NULL;
	size_t length = 0;
	struct ct_render_options options = *page->options;
	options.color = false;
	options.width = TEXT_WIDTH;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		return ct_fail_errno(err, "writing the report");
	bool ok = ct_render_text(page->incident, &options, out, err);
	fclose(out);
	ct_markup_raw(m, "\n   ");
	ct_markup_open(m, "failure");
	ct_markup_attr(m, "type", ct_launch_rule(page->incident));
	ct_markup_attr(m, "message", ct_launch_message(page));
	ct_markup_cdata(m, ok ? text : "");
	ct_markup_close(m);
	return ok;
}

static const char *case_name(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	const char *name = in->gpu.has_kernel ? in->gpu.kernel.name : in->assertion.present ? in->assertion.function : NULL;
	if (!name && in->kind == CT_FAULT_API_ERROR && in->launch.failed_call.present)
		name = in->launch.failed_call.at.name ? in->launch.failed_call.at.name : in->launch.failed_call.call;
	// A name of blanks is none.
	const char *flat = ct_page_flat(page, name);
	return flat && *flat ? ct_name_bare(&page->arena, flat) : "kernel not known";
}

static void write_suite(struct ct_page *page, struct ct_markup *m)
{
	const struct ct_incident *in = page->incident;
	char when[32];
	ct_markup_raw(m, "\n ");
	ct_markup_open(m, "testsuite");
	ct_markup_attr(m, "name", "cudatrap");
	ct_markup_attr(m, "tests", "1");
	ct_markup_attr(m, "failures", "1");
	ct_markup_attr(m, "errors", "0");
	ct_markup_attr(m, "skipped", "0");
	ct_markup_attr(m, "time", "0");
	ct_markup_attr(m, "hostname", in->host ? ct_page_flat(page, in->host) : NULL);
	if (in->time_us > 0) {
		// ISO 8601 without a zone is all that the schema takes.
		ct_format_time(in->time_us, when, sizeof when);
		ct_markup_attrf(m, "timestamp", "%.*s", (int)strcspn(when, ".Z"), when);
	}
}

static void write_case(struct ct_page *page, struct ct_markup *m)
{
	ct_markup_raw(m, "\n  ");
	ct_markup_open(m, "testcase");
	ct_markup_attr(m, "classname", "cudatrap");
	ct_markup_attr(m, "name", case_name(page));
	ct_markup_attr(m, "time", "0");
}

CT_RENDER_FUNCTION(junit)
{
	struct ct_page page = ct_launch_page(incident, options);
	struct ct_markup m = {.out = out};
	ct_markup_raw(&m, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	ct_markup_open(&m, "testsuites");
	write_suite(&page, &m);
	write_properties(&page, &m);
	write_case(&page, &m);
	bool ok = write_failure(&page, &m, err);
	ct_markup_raw(&m, "\n  ");
	ct_markup_close(&m);
	ct_markup_raw(&m, "\n ");
	ct_markup_close(&m);
	ct_markup_raw(&m, "\n");
	ct_markup_close(&m);
	ct_markup_raw(&m, "\n");
	ct_arena_done(&page.arena);
	if (ok && (fflush(out) != 0 || ferror(out)))
		return ct_fail_errno(err, "writing the report");
	return ok;
}
