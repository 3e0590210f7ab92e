// Names of kernels and device functions as people write them.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <stdlib.h>

#include "cubin/cubin_priv.h"

const char *ct_cubin_demangle(struct ct_arena *arena, const char *symbol, struct ct_demangle_budget *budget)
{
	// "$kernel$callee" and "$__internal_0_$callee": local functions that ptxas keeps inside a kernel's section.
	const char *dollar = symbol[0] == '$' ? strrchr(symbol, '$') : NULL;
	const char *name = dollar && dollar[1] ? dollar + 1 : symbol;
	CT_AUTO(ct_auto_str) struct ct_str plain = CT_STR_INIT;
	if (ct_demangle_bounded(name, budget, &plain))
		return ct_arena_clean(arena, plain.data, plain.length);
	return ct_arena_clean(arena, name, strnlen(name, CT_CUBIN_MAX_NAME));
}

// Start of the parameter list: the '(' that matches the last ')' of the text. NULL: none.
static const char *parameter_list(const char *signature, const char **ret_end)
{
	const char *end = strrchr(signature, ')');
	if (!end)
		return NULL;
	int depth = 0;
	for (const char *p = end;; p--) {
		depth += *p == ')' ? 1 : *p == '(' ? -1 : 0;
		if (depth == 0) {
			*ret_end = end;
			return p + 1;
		}
		if (p == signature)
			return NULL;
	}
}

static const char **add_type(struct ct_arena *arena, const char **types, size_t *count, const char *start, const char *end)
{
	while (start < end && isspace((unsigned char)*start))
		start++;
	types = ct_arena_grow(arena, types, count, sizeof *types);
	types[*count - 1] = ct_arena_clean(arena, start, (size_t)(end - start));
	return types;
}

// Splits [start, end) at the commas that are in no bracket.
static const char **split(struct ct_arena *arena, const char *start, const char *end, size_t *ret_count)
{
	const char **types = NULL, *from = start;
	int depth = 0;
	*ret_count = 0;
	for (const char *p = start; p < end; p++) {
		if (strchr("(<[{", *p))
			depth++;
		else if (strchr(")>]}", *p) && !(*p == '>' && p > start && p[-1] == '-'))
			depth--;
		else if (*p == ',' && depth == 0) {
			types = add_type(arena, types, ret_count, from, p);
			from = p + 1;
		}
	}
	return from < end ? add_type(arena, types, ret_count, from, end) : types;
}

bool ct_cubin_param_types(struct ct_arena *arena, const char *signature, const char ***ret_types, size_t *ret_count)
{
	const char *end = NULL, *start = parameter_list(signature, &end);
	if (!start)
		return false;
	*ret_types = split(arena, start, end, ret_count);
	return true;
}

bool ct_cubin_template_types(struct ct_arena *arena, const char *type, const char ***ret_types, size_t *ret_count)
{
	const char *start = strchr(type, '<'), *end = strrchr(type, '>');
	if (!start || !end || end < start)
		return false;
	*ret_types = split(arena, start + 1, end, ret_count);
	return true;
}

// The parameter list's start in "void n::f<int>(float)": the first '(' outside <>; "operator()" is part of the name.
static const char *name_end(const char *name)
{
	int depth = 0;
	for (const char *p = name; *p; p++) {
		if (ct_starts_with(p, "operator()")) {
			p += strlen("operator()") - 1;
			continue;
		}
		if (*p == '<' && depth == 0 && p > name)
			return p;
		depth += *p == '<' ? 1 : *p == '>' ? -1 : 0;
		if (*p == '(' && depth == 0 && !ct_starts_with(p, "(anonymous namespace)"))
			return p;
		if (ct_starts_with(p, "(anonymous namespace)"))
			p += strlen("(anonymous namespace)") - 1;
	}
	return name + strlen(name);
}

bool ct_cubin_base_name(const char *name, const char **ret_start, size_t *ret_length)
{
	const char *end = name_end(name), *start = end;
	while (start > name && (isalnum((unsigned char)start[-1]) || start[-1] == '_'))
		start--;
	*ret_start = start;
	*ret_length = (size_t)(end - start);
	return end > start;
}

// A source name of the Itanium C++ ABI (5.1.2): its length in digits, then so many bytes. Returns what follows; NULL: none is there.
static const char *source_name(const char *at, const char **ret_start, size_t *ret_length)
{
	char *end;
	if (*at == 'L')  // internal linkage
		at++;
	if (!isdigit((unsigned char)*at))
		return NULL;
	unsigned long length = strtoul(at, &end, 10);
	if (length == 0 || strnlen(end, length) < length)
		return NULL;
	*ret_start = end;
	*ret_length = length;
	return end + length;
}

bool ct_cubin_symbol_base(const char *symbol, const char **ret_start, size_t *ret_length)
{
	if (!ct_starts_with(symbol, "_Z")) {
		*ret_start = symbol;
		*ret_length = strlen(symbol);
		return *symbol != '\0';
	}
	const char *at = symbol + strlen("_Z");
	if (*at != 'N')
		return source_name(at, ret_start, ret_length) != NULL;
	at++;
	if (ct_starts_with(at, "St"))  // ::std
		at += strlen("St");
	// Namespaces, then the function. A kernel is no member of a class: the first template arguments are its own.
	const char *next = source_name(at, ret_start, ret_length);
	for (; next && *next != 'I' && *next != 'E'; next = source_name(next, ret_start, ret_length))
		;
	return next != NULL;
}
