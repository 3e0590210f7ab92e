// Demangled C++ names, shortened; see names.h. Names are foreign text: brackets need not match.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/names.h"

enum { MAX_ABSOLUTE_PATH = 24 };

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "render/page.h"
#include "render/render.h"

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool at_word(const char *text, size_t i, const char *word)
{
	return ct_starts_with(text + i, word) && (i == 0 || !is_identifier(text[i - 1]));
}

// Length of what must not be taken apart at text[i]: an operator's name, whose signs are no brackets, or
// the name that compilers give to an unnamed scope. 0: an ordinary character.
static size_t atom_length(const char *text, size_t i)
{
	static const char *const unnamed[] = {"(anonymous namespace)", "<unnamed>", "(anonymous)"};
	for (size_t k = 0; k < CT_COUNT(unnamed); k++)
		if (ct_starts_with(text + i, unnamed[k]))
			return strlen(unnamed[k]);
	static const size_t operator_length = sizeof "operator" - 1;
	if (!at_word(text, i, "operator") || is_identifier(text[i + operator_length]))
		return 0;
	const char *sign = text + i + operator_length;
	if (ct_starts_with(sign, "()") || ct_starts_with(sign, "[]"))
		return operator_length + 2;
	return operator_length + strspn(sign, "<>=-+*/%&|^~!,");
}

static bool opens(char c)
{
	return c == '<' || c == '(' || c == '{' || c == '[';
}

static bool closes(char c)
{
	return c == '>' || c == ')' || c == '}' || c == ']';
}

// A cursor over a name, piece by piece.
struct scan {
	const char *text;
	size_t i, depth, length;  // of the piece at i: an atom or one character
};

// Moves to the next piece. depth is the one that the piece stands in, a bracket's own being that outside of it.
static bool scan_next(struct scan *s)
{
	bool was_open = s->length == 1 && opens(s->text[s->i]);
	s->i += s->length;
	if (was_open)
		s->depth++;
	if (!s->text[s->i])
		return false;
	size_t atom = atom_length(s->text, s->i);
	s->length = atom ? atom : 1;
	// "->" of a trailing return type closes nothing.
	bool arrow = s->text[s->i] == '>' && s->i && s->text[s->i - 1] == '-';
	if (!atom && closes(s->text[s->i]) && !arrow && s->depth)
		s->depth--;
	return true;
}

// Where the parameter list begins, or the end: the first "(...)" that no "::" follows.
static size_t parameters_start(const char *name)
{
	size_t open = SIZE_MAX;
	for (struct scan s = {.text = name}; scan_next(&s);) {
		if (s.depth || s.length != 1)
			continue;
		if (name[s.i] == '(' && open == SIZE_MAX)
			open = s.i;
		if (name[s.i] == ':' && name[s.i + 1] == ':')
			open = SIZE_MAX;
	}
	return open == SIZE_MAX ? strlen(name) : open;
}

static bool says_nothing(const char *component)
{
	return ct_starts_with(component, "operator") || *component == '{';
}

// Where the last component of a scoped name begins: after the return type and the scopes. A lambda's call operator
// says nothing without what it is in, so those keep it.
static size_t component_start(const char *name)
{
	size_t start = 0, telling = 0;
	for (struct scan s = {.text = name}; scan_next(&s);) {
		if (s.depth || s.length != 1)
			continue;
		bool qualifier = ct_starts_with(name + s.i, " const::");
		if (name[s.i] == ' ' && !qualifier && name[s.i + 1] != '[') {
			start = telling = s.i + 1;
		} else if (name[s.i] == ':' && name[s.i + 1] == ':') {
			if (!says_nothing(name + start))
				telling = start;
			start = s.i + 2;
		}
	}
	return says_nothing(name + start) ? telling : start;
}

const char *ct_name_bare(struct ct_arena *arena, const char *name)
{
	size_t end = parameters_start(name);
	// Old compilers and the debugger add "[with T = float]" or "[clone .x]".
	while (end && name[end - 1] == ' ')
		end--;
	char *whole = ct_arena_strndup(arena, name, end);
	const char *bare = whole + component_start(whole);
	while (*bare == '*' || *bare == '&')
		bare++;
	return *bare ? bare : name;
}

// "at::native::A<c10::B>" -> "A<B>"
static const char *drop_scopes(struct ct_arena *arena, const char *text)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	size_t word = 0;  // where the identifier being copied began, in s
	for (size_t i = 0; text[i];) {
		size_t atom = atom_length(text, i);
		if (atom || is_identifier(text[i])) {
			size_t n = atom ? atom : 1;
			ct_str_append(&s, text + i, n);
			i += n;
		} else if (text[i] == ':' && text[i + 1] == ':') {
			if (word < s.length)
				s.data[s.length = word] = '\0';
			else
				ct_str_add(&s, "::");
			i += 2;
		} else {
			ct_str_addc(&s, text[i++]);
			word = s.length;
		}
	}
	return ct_arena_strndup(arena, ct_str_text(&s), s.length);
}

// "A<B<C>, 3>" -> "A<...>": what stands in brackets inside an argument.
static void add_shallow(struct ct_str *s, const char *text, size_t length)
{
	size_t depth = 0;
	for (size_t i = 0; i < length; i++) {
		if (opens(text[i]) && depth++ == 0) {
			ct_str_addc(s, text[i]);
			ct_str_add(s, "...");
		}
		if (closes(text[i]) && !(text[i] == '>' && i && text[i - 1] == '-') && depth)
			depth--;
		if (depth == 0)
			ct_str_addc(s, text[i]);
	}
}

enum { MAX_ARGUMENTS = 64 };

struct arguments {
	const char *text[MAX_ARGUMENTS];
	size_t n;
};

// The template arguments in text ("<A, B<C> >"), each made shallow. False when it is no such list.
static bool split_arguments(struct ct_arena *arena, const char *text, struct arguments *ret)
{
	size_t begin = 1, length = strlen(text);
	ret->n = 0;
	if (length < 2 || text[0] != '<' || text[length - 1] != '>')
		return false;
	for (struct scan s = {.text = text}; scan_next(&s);) {
		bool last = s.i == length - 1;
		if (!last && !(s.depth == 1 && text[s.i] == ','))
			continue;
		CT_AUTO(ct_auto_str) struct ct_str one = CT_STR_INIT;
		size_t end = s.i;
		while (end > begin && text[end - 1] == ' ')
			end--;
		add_shallow(&one, text + begin, end - begin);
		if (ret->n < MAX_ARGUMENTS)
			ret->text[ret->n++] = ct_arena_strndup(arena, ct_str_text(&one), one.length);
		for (begin = s.i + 1; text[begin] == ' '; begin++)
			;
	}
	return ret->n > 0;
}

// "name<first, ..., last>" with as many of the first ones as fit; NULL when not even that fits.
static const char *join_arguments(struct ct_arena *arena, const char *name, size_t n_name, const struct arguments *a, size_t columns)
{
	for (size_t keep = a->n; keep > 1 || keep == a->n; keep--) {
		CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
		ct_str_append(&s, name, n_name);
		ct_str_addc(&s, '<');
		for (size_t i = 0; i < keep - (keep < a->n); i++)
			ct_str_addf(&s, "%s%s", i ? ", " : "", a->text[i]);
		if (keep < a->n)
			ct_str_addf(&s, ", ..., %s", a->text[a->n - 1]);
		ct_str_addc(&s, '>');
		if (ct_text_columns(ct_str_text(&s)) <= columns)
			return ct_arena_strndup(arena, ct_str_text(&s), s.length);
	}
	return NULL;
}

const char *ct_name_fit(struct ct_arena *arena, const char *name, size_t columns)
{
	const char *bare = ct_name_bare(arena, name);
	if (ct_text_columns(bare) <= columns)
		return bare;
	bare = drop_scopes(arena, bare);
	if (ct_text_columns(bare) <= columns)
		return bare;
	struct scan s = {.text = bare};
	while (scan_next(&s) && !(s.length == 1 && bare[s.i] == '<'))
		;
	struct arguments arguments;
	if (split_arguments(arena, bare + s.i, &arguments)) {
		const char *joined = join_arguments(arena, bare, s.i, &arguments, columns);
		if (joined)
			return joined;
		const char *none = ct_arena_printf(arena, "%.*s<...>", (int)s.i, bare);
		if (ct_text_columns(none) <= columns)
			return none;
		bare = ct_arena_strndup(arena, bare, s.i);
	}
	return ct_elide_middle(arena, bare, columns);
}

const char *ct_render_kernel_word(struct ct_arena *arena, const char *name)
{
	const char *bare = ct_name_bare(arena, name);
	struct scan s = {.text = bare};
	while (scan_next(&s) && !(s.length == 1 && bare[s.i] == '<'))
		;
	return s.i ? ct_arena_strndup(arena, bare, s.i) : bare;
}

// Of a long absolute path the folder and the file: the whole of it is in the incident.
static const char *last_components(const char *path)
{
	const char *slash[2] = {NULL, NULL};
	if (path[0] != '/' || strlen(path) <= MAX_ABSOLUTE_PATH)
		return path;
	for (const char *p = path + 1; *p; p++)
		if (*p == '/') {
			slash[0] = slash[1];
			slash[1] = p;
		}
	return slash[0] ? slash[0] + 1 : path;
}

const char *ct_path_short(const char *path, const char *cwd)
{
	static const char *const roots[] = {"/site-packages/", "/dist-packages/"};
	for (size_t i = 0; i < CT_COUNT(roots); i++) {
		const char *at = strstr(path, roots[i]);
		if (at && at[strlen(roots[i])])
			return at + strlen(roots[i]);
	}
	// The standard library: /usr/lib/python3.12/threading.py
	const char *lib = strstr(path, "/lib/python3.");
	if (lib) {
		const char *rest = strchr(lib + sizeof "/lib/python3." - 1, '/');
		if (rest && rest[1])
			return rest + 1;
	}
	size_t n = cwd ? strlen(cwd) : 0;
	if (n > 1 && ct_starts_with(path, cwd) && path[n] == '/' && path[n + 1])
		return path + n + 1;
	return last_components(path);
}

const char *ct_library_name(struct ct_arena *arena, const char *module)
{
	const char *base = ct_basename(module);
	const char *end = strstr(base, ".so");
	// "_C.cpython-312-x86_64-linux-gnu.so" is known as _C.
	const char *abi = strstr(base, ".cpython-");
	if (abi && (!end || abi < end))
		end = abi;
	return end && end > base ? ct_arena_strndup(arena, base, (size_t)(end - base)) : base;
}
