// Records of gdb's machine interface (gdb manual, "GDB/MI Output Syntax"): untrusted lines in, a tree out.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "cudagdb/cudagdb_priv.h"

// CUDA's tables are four deep.
enum { MAX_DEPTH = 32 };

struct parser {
	struct ct_arena *arena;
	const char *at, *end;
	unsigned depth;
	struct ct_error *err;
};

static bool broken(struct parser *p, const char *what)
{
	return ct_fail(p->err, CT_FORMAT, "machine interface of cuda-gdb: %s, %zu bytes before the line's end", what, (size_t)(p->end - p->at));
}

static bool accept(struct parser *p, char c)
{
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

static bool is_octal(const struct parser *p, const char *at)
{
	return at < p->end && *at >= '0' && *at <= '7';
}

// The byte that an escape stands for; p->at is behind the backslash.
static char unescape(struct parser *p)
{
	static const char from[] = "nrtabfve", to[] = "\n\r\t\a\b\f\v\033";
	const char *known = *p->at ? strchr(from, *p->at) : NULL;
	if (known) {
		p->at++;
		return to[known - from];
	}
	if (!is_octal(p, p->at))
		return *p->at++;
	unsigned value = 0;
	for (int digits = 0; digits < 3 && is_octal(p, p->at); digits++)
		value = value * 8 + (unsigned)(*p->at++ - '0');
	return (char)(unsigned char)value;
}

static bool parse_string(struct parser *p, const char **ret_text)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	if (!accept(p, '"'))
		return broken(p, "a quoted text was expected");
	while (p->at < p->end && *p->at != '"') {
		char c = *p->at++;
		if (c == '\\') {
			if (p->at == p->end)
				break;
			c = unescape(p);
		}
		ct_str_addc(&text, c);
	}
	if (!accept(p, '"'))
		return broken(p, "a quoted text does not end");
	*ret_text = ct_arena_clean(p->arena, ct_str_text(&text), text.length);
	return true;
}

static bool parse_value(struct parser *p, struct ct_mi_value *value);

// A name as in `name=value`; false without moving when there is none.
static bool parse_name(struct parser *p, const char **ret_name)
{
	const char *start = p->at, *at = start;
	while (at < p->end && *at != '=' && *at != ',' && *at != '"' && *at != '{' && *at != '[' && *at != ']' && *at != '}')
		at++;
	if (at == start || at == p->end || *at != '=')
		return false;
	*ret_name = ct_arena_clean(p->arena, start, (size_t)(at - start));
	p->at = at + 1;
	return true;
}

// Values separated by commas up to close; names may be left out in lists (and cuda-gdb does so in tuples).
static bool parse_items(struct parser *p, char close, struct ct_mi_value **ret_first)
{
	struct ct_mi_value **link = ret_first;
	if (accept(p, close))
		return true;
	do {
		struct ct_mi_value *value = ct_arena_alloc(p->arena, sizeof *value);
		parse_name(p, &value->name);
		if (!parse_value(p, value))
			return false;
		*link = value;
		link = &value->next;
	} while (accept(p, ','));
	return accept(p, close) || broken(p, "a tuple or list does not end");
}

static bool parse_value(struct parser *p, struct ct_mi_value *value)
{
	if (p->depth == MAX_DEPTH)
		return broken(p, "nested too deeply");
	p->depth++;
	bool ok;
	if (accept(p, '{')) {
		value->kind = CT_MI_TUPLE;
		ok = parse_items(p, '}', &value->first);
	} else if (accept(p, '[')) {
		value->kind = CT_MI_LIST;
		ok = parse_items(p, ']', &value->first);
	} else {
		value->kind = CT_MI_STRING;
		ok = parse_string(p, &value->text);
	}
	p->depth--;
	return ok;
}

// ",name=value,..." up to the end of the line.
static bool parse_results(struct parser *p, struct ct_mi_value **ret_first)
{
	struct ct_mi_value **link = ret_first;
	while (accept(p, ',')) {
		struct ct_mi_value *value = ct_arena_alloc(p->arena, sizeof *value);
		parse_name(p, &value->name);
		if (!parse_value(p, value))
			return false;
		*link = value;
		link = &value->next;
	}
	return p->at == p->end || broken(p, "text behind the last value");
}

static void parse_token(struct parser *p, struct ct_mi_record *record)
{
	uint64_t value = 0;
	const char *at = p->at;
	while (at < p->end && *at >= '0' && *at <= '9' && value <= UINT32_MAX)
		value = value * 10 + (uint64_t)(*at++ - '0');
	if (at == p->at || at == p->end || !strchr("^*+=", *at) || value > UINT32_MAX)
		return;
	record->has_token = true;
	record->token = (uint32_t)value;
	p->at = at;
}

bool ct_mi_parse(struct ct_arena *arena, const char *line, size_t length, struct ct_mi_record *ret_record, struct ct_error *err)
{
	while (length && line[length - 1] == '\r')
		length--;
	struct parser p = {.arena = arena, .at = line, .end = line + length, .err = err};
	struct ct_mi_record record = {.type = CT_MI_OTHER};
	parse_token(&p, &record);
	char mark = p.at < p.end ? *p.at : '\0';
	if (mark == '^' || mark == '*' || mark == '+' || mark == '=') {
		p.at++;
		const char *start = p.at;
		while (p.at < p.end && *p.at != ',')
			p.at++;
		record.type = mark == '^' ? CT_MI_RESULT : CT_MI_ASYNC;
		record.class_name = ct_arena_clean(arena, start, (size_t)(p.at - start));
		if (!parse_results(&p, &record.first))
			return false;
	} else if ((mark == '~' || mark == '@' || mark == '&') && p.end - p.at > 1 && p.at[1] == '"') {
		p.at++;
		record.type = CT_MI_STREAM;
		if (!parse_string(&p, &record.text))
			return false;
	} else if (length >= 5 && strncmp(line, "(gdb)", 5) == 0) {
		record.type = CT_MI_PROMPT;
	}
	*ret_record = record;
	return true;
}

const struct ct_mi_value *ct_mi_find(const struct ct_mi_value *first, const char *name)
{
	for (; first; first = first->next)
		if (first->name && strcmp(first->name, name) == 0)
			return first;
	return NULL;
}

const char *ct_mi_text(const struct ct_mi_value *first, const char *name)
{
	const struct ct_mi_value *value = ct_mi_find(first, name);
	return value && value->kind == CT_MI_STRING ? value->text : NULL;
}
