// SARIF 2.1.0 (OASIS, 27 March 2020): one run, one result; the stack of the launch as its code flow.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "render/formats.h"
#include "render/launch.h"
#include "render/text_priv.h"

enum { MAX_FLOW = 500 };

// A path as a URI reference (RFC 3986): what is not unreserved or a slash is percent-encoded, so a colon makes no scheme of it.
static void add_uri(struct ct_str *s, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
	for (; *path; path++) {
		if (strchr(plain, *path))
			ct_str_addc(s, *path);
		else
			ct_str_addf(s, "%%%02X", (unsigned char)*path);
	}
}

static json_t *artifact_location(const struct ct_launch_place *place)
{
	CT_AUTO(ct_auto_str) struct ct_str uri = CT_STR_INIT;
	if (!place->relative)
		ct_str_add(&uri, "file://");
	add_uri(&uri, place->path);
	return place->relative ? json_pack("{s:s, s:s}", "uri", ct_str_text(&uri), "uriBaseId", "WORKDIR") : json_pack("{s:s}", "uri", ct_str_text(&uri));
}

static json_t *location(const struct ct_launch_place *place)
{
	return json_pack("{s:{s:o, s:{s:I}}}", "physicalLocation", "artifactLocation", artifact_location(place), "region", "startLine", (json_int_t)place->line);
}

static json_t *frame_location(struct ct_page *page, const struct ct_host_frame *f)
{
	struct ct_launch_place place = ct_launch_file_place(page, f->file, f->line);
	struct ct_stack_line line = ct_text_frame(page, f, ct_frame_class_of(f));
	json_t *where = place.path ? location(&place) : json_object();
	const char *text = ct_arena_printf(&page->arena, "%s %s%s%s", line.place, line.function, line.source ? "  " : "", line.source ? line.source : "");
	json_object_set_new(where, "message", json_pack("{s:s}", "text", text));
	if (f->function && *f->function)
		json_object_set_new(where, "logicalLocations", json_pack("[{s:s, s:s}]", "fullyQualifiedName", ct_page_flat(page, f->function), "kind", "function"));
	return json_pack("{s:o}", "location", where);
}

// Outermost first, as it ran: the frames that the reader wrote or a framework of theirs, and the CUDA call.
static json_t *flow_of(struct ct_page *page, const struct ct_host_frame *frames, size_t n)
{
	json_t *list = json_array();
	for (size_t i = n; i-- > 0 && json_array_size(list) < MAX_FLOW;) {
		enum ct_frame_class class = ct_frame_class_of(&frames[i]);
		if (ct_text_is_stub(page->incident, &frames[i]))
			continue;
		if (class == CT_FRAME_USER || class == CT_FRAME_FRAMEWORK || class == CT_FRAME_API)
			json_array_append_new(list, frame_location(page, &frames[i]));
	}
	return list;
}

// NULL when there is no stack: the format wants at least one location in a flow.
static json_t *code_flows(struct ct_page *page)
{
	const struct ct_host_thread *t = ct_render_main_thread(page->incident);
	json_t *flow = t ? flow_of(page, t->frames, t->n_frames) : json_array();
	if (t && json_array_size(flow) == 0) {
		json_decref(flow);
		flow = flow_of(page, t->python, t->n_python);
	}
	if (json_array_size(flow) == 0) {
		json_decref(flow);
		return NULL;
	}
	return json_pack("[{s:[{s:o}]}]", "threadFlows", "locations", flow);
}

static json_t *rule_of(const struct ct_incident *in)
{
	const char *rule = ct_launch_rule(in);
	const struct ct_group *g = in->gpu.n_groups ? &in->gpu.groups[0] : NULL;
	bool exception = in->kind == CT_FAULT_EXCEPTION && g && g->has_exception && ct_exception_text(g->exception);
	return json_pack("{s:s, s:{s:s}, s:{s:s}}", "id", rule, "shortDescription", "text", exception ? ct_exception_text(g->exception) : ct_fault_kind_headline(in->kind),
			 "defaultConfiguration", "level", "error");
}

// Where the program was, in its own words; NULL: it told nothing.
static json_t *progress_of(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	json_t *object = in->n_progress ? json_object() : NULL;
	for (size_t i = 0; i < in->n_progress; i++)
		json_object_set_new(object, ct_page_flat(page, in->progress[i].name), json_string(ct_page_flat(page, in->progress[i].value)));
	return object;
}

static json_t *result_of(struct ct_page *page)
{
	struct ct_launch_place place = ct_launch_place(page);
	json_t *result = json_pack("{s:s, s:i, s:s, s:{s:s}, s:{s:s}}", "ruleId", ct_launch_rule(page->incident), "ruleIndex", 0, "level", "error", "message", "text",
				   ct_launch_message(page), "partialFingerprints", "signature/v1", ct_text_signature(page));
	json_object_set_new(result, "locations", place.path ? json_pack("[o]", location(&place)) : json_array());
	json_t *progress = progress_of(page);
	if (progress)
		json_object_set_new(result, "properties", json_pack("{s:o}", "progress", progress));
	json_t *flows = code_flows(page);
	if (flows)
		json_object_set_new(result, "codeFlows", flows);
	return result;
}

// "cudatrap 0.1.0" -> "0.1.0"
static const char *version_of(struct ct_page *page)
{
	const char *version = page->incident->tool_version ? ct_page_flat(page, page->incident->tool_version) : "";
	const char *space = strrchr(version, ' ');
	return space ? space + 1 : version;
}

// The folder that relative paths are in; its URI must end in a slash (3.14.14).
static void add_base(struct ct_page *page, json_t *run)
{
	const struct ct_incident *in = page->incident;
	const char *cwd = in->process.cwd ? in->process.cwd : in->cwd;
	CT_AUTO(ct_auto_str) struct ct_str uri = CT_STR_INIT;
	if (!cwd || *cwd != '/')
		return;
	ct_str_add(&uri, "file://");
	add_uri(&uri, ct_page_flat(page, cwd));
	if (!ct_ends_with(ct_str_text(&uri), "/"))
		ct_str_addc(&uri, '/');
	json_object_set_new(run, "originalUriBaseIds", json_pack("{s:{s:s}}", "WORKDIR", "uri", ct_str_text(&uri)));
}

CT_RENDER_FUNCTION(sarif)
{
	struct ct_page page = ct_launch_page(incident, options);
	json_t *driver = json_pack("{s:s, s:[o]}", "name", "cudatrap", "rules", rule_of(incident));
	const char *version = version_of(&page);
	if (*version)
		json_object_set_new(driver, "version", json_string(version));
	json_t *run = json_pack("{s:{s:o}, s:s, s:[o]}", "tool", "driver", driver, "columnKind", "unicodeCodePoints", "results", result_of(&page));
	add_base(&page, run);
	json_t *document = json_pack("{s:s, s:s, s:[o]}", "$schema", "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", run);
	bool ok = ct_launch_write_json(document, out, err);
	ct_arena_done(&page.arena);
	return ok;
}
