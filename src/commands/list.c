// cudatrap list [DIR...]: stored reports, by the fault that they tell of.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/list_priv.h"

// Of one signature: hosts, commands, jobs, and bytes of one of them. The JSON has all.
enum { SHOWN = 4, SHOWN_BYTES = 120 };

static size_t count_new(const struct ct_list *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n_groups; i++)
		n += ct_store_group_is_new(&l->groups[i]);
	return n;
}

static size_t count_reports(const struct ct_list *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n_groups; i++)
		n += l->groups[i].n_reports;
	return n;
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

// ---- Text -------------------------------------------------------------------------------------------------------

static void print_time(int64_t us)
{
	char text[32] = "time not known";
	if (us > 0) {
		ct_format_time(us, text, sizeof text);
		text[strcspn(text, ".")] = '\0';  // whole seconds are enough here
	}
	fputs(text, stdout);
}

// Commands of launchers are long, and what tells one from another comes early.
static void print_short(const char *text)
{
	size_t length = strlen(text), n = length < SHOWN_BYTES ? length : SHOWN_BYTES;
	while (n < length && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;  // not within a character
	printf("%.*s%s", (int)n, text, n < length ? "..." : "");
}

static void print_texts(const char *label, const char *const *texts, size_t n)
{
	if (!n)
		return;
	printf("  %-9s", label);
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		fputs(i ? ", " : "", stdout);
		print_short(texts[i]);
	}
	if (n > SHOWN)
		printf(" (+%zu)", n - SHOWN);
	putchar('\n');
}

static void print_known(const struct ct_store_group *g)
{
	if (!g->known)
		return;
	const char *until = g->known->has_expiry ? g->known->expiry : "";
	if (g->expired)
		printf("  %-9sno more, since the end of %s: %s\n", "known", until, g->known->reason);
	else
		printf("  %-9s%s%s%s%s\n", "known", *until ? "until " : "", until, *until ? ": " : "", g->known->reason);
}

static void print_group(const struct ct_list *l, const struct ct_store_group *g)
{
	const struct ct_summary *s = &g->newest->summary;
	const char *mark = !l->has_known ? "" : ct_store_group_is_new(g) ? "new    " : "known  ";
	printf("%s%s  %zu report%s  ", mark, g->signature, g->n_reports, plural(g->n_reports));
	if (g->first_us != g->last_us) {
		print_time(g->first_us);
		fputs(" to ", stdout);
	}
	print_time(g->last_us);
	printf("\n  %s%s%s%s%s\n", ct_fault_kind_headline(s->kind), s->kernel ? " in " : "", s->kernel ? s->kernel : "", s->detail && *s->detail ? ": " : "",
	       s->detail ? s->detail : "");
	print_known(g);
	print_texts("hosts", g->hosts, g->n_hosts);
	if (g->n_ranks)
		printf("  %-9s%s\n", "ranks", ct_store_ranges(&l->store->arena, g->ranks, g->n_ranks));
	print_texts("jobs", g->jobs, g->n_jobs);
	print_texts("commands", g->commands, g->n_commands);
	printf("  %-9s%s\n\n", "newest", ct_store_shown_path(&l->store->arena, g->newest->path));
}

static bool print_text(const struct ct_list *l)
{
	size_t n_new = count_new(l), n = count_reports(l);
	for (size_t i = 0; i < l->n_groups; i++)
		print_group(l, &l->groups[i]);
	printf("%zu report%s of %zu fault%s", n, plural(n), l->n_groups, plural(l->n_groups));
	if (l->has_known)
		printf(": %zu new, %zu known", n_new, l->n_groups - n_new);
	if (l->store->n_skipped_all)
		printf("; %zu could not be read (-v says which)", l->store->n_skipped_all);
	putchar('\n');
	return true;
}

// ---- JSON -------------------------------------------------------------------------------------------------------

static json_t *texts_json(const char *const *texts, size_t n)
{
	json_t *array = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_string(texts[i]));
	return array;
}

static json_t *ranks_json(const uint32_t *ranks, size_t n)
{
	json_t *array = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_integer(ranks[i]));
	return array;
}

static void set_time(json_t *object, const char *key, int64_t us)
{
	char text[32];
	if (us <= 0)
		return;
	ct_format_time(us, text, sizeof text);
	json_object_set_new(object, key, json_string(text));
}

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, json_string(text));
}

static json_t *known_json(const struct ct_store_group *g)
{
	json_t *object = json_pack("{s:s, s:b}", "reason", g->known->reason, "expired", (int)g->expired);
	set_text(object, "until", g->known->expiry);
	return object;
}

static json_t *group_json(const struct ct_list *l, const struct ct_store_group *g)
{
	const struct ct_summary *s = &g->newest->summary;
	json_t *object = json_pack("{s:s, s:b, s:I, s:s}", "signature", g->signature, "new", (int)ct_store_group_is_new(g), "reports", (json_int_t)g->n_reports,
				   "kind", ct_fault_kind_word(s->kind));
	set_text(object, "kernel", s->kernel);
	set_text(object, "detail", s->detail);
	set_time(object, "first", g->first_us);
	set_time(object, "last", g->last_us);
	json_object_set_new(object, "hosts", texts_json(g->hosts, g->n_hosts));
	json_object_set_new(object, "ranks", ranks_json(g->ranks, g->n_ranks));
	json_object_set_new(object, "jobs", texts_json(g->jobs, g->n_jobs));
	json_object_set_new(object, "commands", texts_json(g->commands, g->n_commands));
	set_text(object, "newest", ct_store_shown_path(&l->store->arena, g->newest->path));  // jansson refuses invalid UTF-8
	if (g->known)
		json_object_set_new(object, "known", known_json(g));
	return object;
}

static bool print_json(const struct ct_list *l)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < l->n_groups; i++)
		json_array_append_new(rows, group_json(l, &l->groups[i]));
	json_t *root = json_pack("{s:i, s:I, s:I, s:I, s:o}", "version", 1, "reports", (json_int_t)count_reports(l), "skipped", (json_int_t)l->store->n_skipped_all,
				 "new", (json_int_t)count_new(l), "faults", rows);
	bool ok = root && json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER) == 0;
	json_decref(root);
	putchar('\n');
	return ok;
}

// ---- The command ------------------------------------------------------------------------------------------------

static int complain(const struct ct_error *err)
{
	fprintf(stderr, "cudatrap: list: %s%s%s%s\n", err->text, err->hint[0] ? " (" : "", err->hint, err->hint[0] ? ")" : "");
	return 125;
}

static bool read_known(const struct ct_options *options, struct ct_list *l, struct ct_error *err)
{
	enum { MAX_KNOWN_FILE = 4 * 1024 * 1024 };
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	l->has_known = options->known != NULL;
	return !l->has_known || (ct_read_file(options->known, MAX_KNOWN_FILE, &text, err) &&
				 ct_known_parse(&l->store->arena, ct_str_text(&text), text.length, options->known, &l->known, err));
}

static void say_skipped(const struct ct_options *options, const struct ct_store *store)
{
	for (size_t i = 0; options->verbose && i < store->n_skipped; i++)
		fprintf(stderr, "cudatrap: list: skipped %s: %s\n", store->skipped[i].path, store->skipped[i].why);
	if (options->verbose && store->n_skipped_all > store->n_skipped)
		fprintf(stderr, "cudatrap: list: and %zu more\n", store->n_skipped_all - store->n_skipped);
}

static int list(const struct ct_options *options, struct ct_list *l, bool (*print)(const struct ct_list *l))
{
	struct ct_error err = CT_ERROR_INIT;
	int64_t since_us = 0, now_us = ct_wall_us();
	if ((options->since && !ct_since_parse(options->since, now_us, &since_us, &err)) || !read_known(options, l, &err) ||
	    !ct_commands_read_store(options, l->store, &err))
		return complain(&err);
	say_skipped(options, l->store);
	l->groups = ct_store_group(l->store, &l->known, since_us, now_us, &l->n_groups);
	if (!print(l) || fflush(stdout) != 0 || ferror(stdout)) {
		fputs("cudatrap: list: standard output could not be written\n", stderr);
		return 125;
	}
	return l->has_known && count_new(l) ? 1 : 0;
}

int ct_command_list(const struct ct_options *options)
{
	const char *format = options->format ? options->format : "text";
	static const struct {
		const char *name;
		bool (*print)(const struct ct_list *l);
	} formats[] = {{"text", print_text}, {"json", print_json}, {"html", ct_list_print_html}};
	size_t i = 0;
	while (i < CT_COUNT(formats) && strcmp(formats[i].name, format) != 0)
		i++;
	if (i == CT_COUNT(formats)) {
		fprintf(stderr, "cudatrap: list: --format: '%s' is none of: text json html\n", format);
		return 125;
	}
	CT_AUTO(ct_store_auto) struct ct_store *store = ct_store_new();
	struct ct_list l = {.store = store};
	return list(options, &l, formats[i].print);
}
