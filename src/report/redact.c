// Secrets stay out of reports: values of variables and of command-line options whose names speak of secrets, credentials in URLs, and
// words that have the form of well-known keys; see report.h. Of sources and of Python's locals also what names of secrets are given. The names of frames and
// the output are left as they are.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "report/report.h"

#define REDACTED "[redacted]"
#define BLANKS " \t\n"

static const char *const secret_names[] = {"*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*CREDENTIAL*", "AWS_*", "*API?KEY*", "*ACCESS?KEY*", "*PRIVATE?KEY*"};
// As globs these would take --tokenizer, --max-tokens and --num-key-value-heads too: they count as the last word of a name, and anywhere in those of
// environment variables.
static const char *const secret_words[] = {"TOKEN", "KEY", "PWD"};

// Of the words themselves: what their issuers document as the beginning of a key, and how long one is at least.
static const struct {
	const char *start;
	size_t bytes;
} secret_forms[] = {
	{"AKIA", 20}, {"ASIA", 20}, {"ghp_", 30}, {"gho_", 30}, {"ghs_", 30}, {"github_pat_", 40}, {"glpat-", 20}, {"hf_", 30}, {"sk-", 30}, {"xoxb-", 20}, {"xoxp-", 20},
};

struct redaction {
	struct ct_arena *arena;
	const char *const *patterns;
	size_t n_patterns;
	bool value_follows;  // the word before was an option whose value is a secret
};

static bool matches(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, FNM_CASEFOLD) == 0;
}

static bool ends_with_word(const char *name, const char *word)
{
	size_t length = strlen(name), n = strlen(word);
	return length >= n && strcasecmp(name + length - n, word) == 0 && (length == n || !isalnum((unsigned char)name[length - n - 1]));
}

// HF_TOKEN, as the names of environment variables are; not model.max_tokens.
static bool is_variable_name(const char *name)
{
	return *name && name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

// Whatever is given such a name is one, also in a program's source, where a "pad_token" is none.
static bool is_surely_secret(const struct redaction *r, const char *name)
{
	for (size_t i = 0; i < r->n_patterns; i++)
		if (matches(r->patterns[i], name))
			return true;
	for (size_t i = 0; i < CT_COUNT(secret_names); i++)
		if (matches(secret_names[i], name))
			return true;
	for (size_t i = 0; i < CT_COUNT(secret_words); i++)
		if (is_variable_name(name) && matches(ct_arena_printf(r->arena, "*%s*", secret_words[i]), name))
			return true;
	return false;
}

static bool is_secret(const struct redaction *r, const char *name)
{
	for (size_t i = 0; i < CT_COUNT(secret_words); i++)
		if (ends_with_word(name, secret_words[i]))
			return true;
	return is_surely_secret(r, name);
}

static bool has_secret_form(const char *text, size_t length)
{
	for (size_t i = 0; i < CT_COUNT(secret_forms); i++)
		if (length >= secret_forms[i].bytes && strncmp(text, secret_forms[i].start, strlen(secret_forms[i].start)) == 0)
			return true;
	return false;
}

// "https://user:password@host/" -> "https://[redacted]@host/", as often as there are any.
static const char *without_credentials(struct ct_arena *arena, const char *text)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (const char *found; (found = strstr(text, "://"));) {
		const char *user = found + 3;
		const char *at = user + strcspn(user, "/?#'\"" BLANKS);
		while (at > user && *at != '@')
			at--;
		ct_str_append(&s, text, (size_t)(user - text));
		if (at > user)
			ct_str_add(&s, REDACTED);
		text = at;
	}
	if (s.length == 0)
		return text;
	ct_str_add(&s, text);
	return ct_arena_strdup(arena, ct_str_text(&s));
}

// Where the value ends that begins at text: behind its quote, at the next blank, or with the word.
static const char *end_of_value(const char *text, bool to_the_end)
{
	if (to_the_end)
		return text + strlen(text);
	if (*text == '"' || *text == '\'') {
		const char *quote = strchr(text + 1, *text);
		return quote ? quote + 1 : text + strlen(text);
	}
	return text + strcspn(text, BLANKS);
}

// "--hf-token" -> "hf-token"
static const char *bare_name(const struct redaction *r, const char *text, size_t length)
{
	while (length && strchr("-'\"", *text)) {
		text++;
		length--;
	}
	return ct_arena_strndup(r->arena, text, length);
}

static bool whole_word_matches(const struct redaction *r, const char *token, size_t length)
{
	const char *word = ct_arena_strndup(r->arena, token, length);
	// Of an option a pattern means the value.
	for (size_t i = 0; *word != '-' && i < r->n_patterns; i++)
		if (matches(r->patterns[i], word))
			return true;
	return has_secret_form(token, length);
}

// One token; returns what follows it. is_first: it begins a word of the command line, which blanks do not end.
static const char *put_token(struct redaction *r, struct ct_str *s, const char *token, bool is_first)
{
	size_t length = strcspn(token, BLANKS), name_length = strcspn(token, "=" BLANKS);
	bool is_option = *token == '-', value_follows = r->value_follows;
	r->value_follows = false;
	if (value_follows && !is_option) {
		ct_str_add(s, REDACTED);
		return end_of_value(token, is_first);
	}
	const char *name = bare_name(r, token, name_length);
	if (name_length < length && *name && is_secret(r, name)) {
		ct_str_append(s, token, name_length + 1);
		ct_str_add(s, REDACTED);
		return end_of_value(token + name_length + 1, is_first && is_option);
	}
	if (name_length < length && has_secret_form(token + name_length + 1, length - name_length - 1)) {
		ct_str_append(s, token, name_length + 1);
		ct_str_add(s, REDACTED);
		return token + length;
	}
	if (whole_word_matches(r, token, length)) {
		ct_str_add(s, REDACTED);
		return token + length;
	}
	r->value_follows = is_option && name_length == length && *name && is_secret(r, name);
	ct_str_append(s, token, length);
	return token + length;
}

// A word of a command line, which may be a command line itself: sh -c "HF_TOKEN=... python train.py".
static const char *redact_word(struct redaction *r, const char *word)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	const char *at = word;
	do {
		size_t blanks = strspn(at, BLANKS);
		ct_str_append(&s, at, blanks);
		at = put_token(r, &s, at + blanks, at == word && blanks == 0);
	} while (*at);
	return without_credentials(r->arena, ct_arena_strndup(r->arena, ct_str_text(&s), s.length));
}

static void redact_words(struct redaction *r, const char *const **words, size_t count)
{
	const char **kept = ct_arena_array(r->arena, count, sizeof *kept);
	r->value_follows = false;
	for (size_t i = 0; i < count; i++)
		kept[i] = redact_word(r, (*words)[i]);
	*words = kept;
}

static void redact_pairs(struct redaction *r, struct ct_pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *value = pairs[i].value ? pairs[i].value : "";
		pairs[i].value = is_secret(r, pairs[i].name) || has_secret_form(value, strlen(value)) ? REDACTED : without_credentials(r->arena, value);
	}
}

// ---- Sources ------------------------------------------------------------------------------------------------------

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

// Behind a name: `= "`, `: '`, `"] = "`, up to the quote of a string; NULL: no string is given here.
static const char *given_string(const char *text)
{
	text += strspn(text, "\"'] \t");
	if ((*text != '=' && *text != ':') || text[1] == '=')
		return NULL;
	text++;
	text += strspn(text, " \t");
	// Python's prefixes of a string.
	size_t prefix = strspn(text, "rRbBuUfF");
	text += prefix <= 2 ? prefix : 0;
	return *text == '"' || *text == '\'' ? text : NULL;
}

// Appends what becomes of the word at text, and of the string given to it; returns what follows.
static const char *put_source_word(const struct redaction *r, struct ct_str *s, const char *text)
{
	size_t length = 0;
	while (is_word(text[length]))
		length++;
	const char *string = given_string(text + length);
	if (has_secret_form(text, length)) {
		ct_str_add(s, REDACTED);
		return text + length;
	}
	if (!string || !is_surely_secret(r, ct_arena_strndup(r->arena, text, length))) {
		ct_str_append(s, text, length);
		return text + length;
	}
	ct_str_append(s, text, (size_t)(string + 1 - text));
	ct_str_addf(s, REDACTED "%c", *string);
	return end_of_value(string, false);
}

static const char *redact_line(const struct redaction *r, const char *line)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	if (!line)
		return NULL;
	for (const char *p = line; *p;) {
		if (is_word(*p))
			p = put_source_word(r, &s, p);
		else
			ct_str_addc(&s, *p++);
	}
	return without_credentials(r->arena, ct_arena_strndup(r->arena, ct_str_text(&s), s.length));
}

static void redact_frames(const struct redaction *r, struct ct_host_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ct_host_frame *f = &frames[i];
		f->source = redact_line(r, f->source);
		for (size_t k = 0; k < f->n_excerpt; k++)
			f->excerpt[k] = redact_line(r, f->excerpt[k]);
	}
}

static void redact_launches(const struct redaction *r, struct ct_launch *launches, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		redact_frames(r, launches[i].python, launches[i].n_python);
		redact_frames(r, launches[i].origin_python, launches[i].n_origin_python);
	}
}

static void redact_sources(const struct redaction *r, struct ct_incident *in)
{
	for (size_t i = 0; i < in->n_threads; i++) {
		redact_frames(r, in->threads[i].frames, in->threads[i].n_frames);
		redact_frames(r, in->threads[i].python, in->threads[i].n_python);
	}
	redact_launches(r, in->launch.candidates, in->launch.n_candidates);
	redact_launches(r, in->launch.history, in->launch.n_history);
	redact_launches(r, &in->launch.failed_call.at, in->launch.failed_call.present ? 1 : 0);
}

// A number that is named "pad_token" is none, a text is.
static void redact_locals(const struct redaction *r, struct ct_python_local *locals, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ct_python_local *l = &locals[i];
		bool is_text = l->value && (*l->value == '"' || *l->value == '\'');
		bool secret = l->name && (is_text ? is_secret(r, l->name) : is_surely_secret(r, l->name));
		l->value = secret ? REDACTED : redact_line(r, l->value);
	}
}

void ct_report_redact(struct ct_incident *incident, const char *const *patterns, size_t n_patterns)
{
	struct redaction r = {.arena = &incident->arena, .patterns = patterns, .n_patterns = n_patterns};
	redact_words(&r, &incident->command, incident->n_command);
	redact_words(&r, &incident->process.argv, incident->process.n_argv);
	redact_pairs(&r, incident->environment, incident->n_environment);
	redact_pairs(&r, incident->progress, incident->n_progress);
	redact_sources(&r, incident);
	redact_locals(&r, incident->python_locals, incident->n_python_locals);
}
