// Which call the tensors were handed to: calls of PyTorch whose arguments must agree, as data, and the search for one in the frames.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <string.h>

#include "diagnose/checks.h"

// Signatures: torch/nn/functional.py and the documentation of torch, 1.8 to 2.11.
static const struct ct_call_rule rules[] = {
	{"cross_entropy", "input", "target", 0, 1, CT_SHAPE_LABELS, CT_DTYPE_INTEGER_OR_SAME_SHAPE, 1, "classes"},
	{"nll_loss", "input", "target", 0, 1, CT_SHAPE_LABELS, CT_DTYPE_INTEGER, 1, "classes"},
	{"ctc_loss", "log_probs", "targets", 0, 1, CT_SHAPE_OPEN, CT_DTYPE_INTEGER, 2, "classes"},
	{"multi_margin_loss", "input", "target", 0, 1, CT_SHAPE_LABELS, CT_DTYPE_INTEGER, 1, "classes"},
	{"binary_cross_entropy", "input", "target", 0, 1, CT_SHAPE_SAME, CT_DTYPE_FLOAT, -1, NULL},
	{"binary_cross_entropy_with_logits", "input", "target", 0, 1, CT_SHAPE_SAME, CT_DTYPE_FLOAT, -1, NULL},
	{"embedding", "weight", "input", 1, 0, CT_SHAPE_ANY, CT_DTYPE_INTEGER, 0, "rows"},
	{"embedding_bag", "weight", "input", 1, 0, CT_SHAPE_ANY, CT_DTYPE_INTEGER, 0, "rows"},
	{"one_hot", NULL, "tensor", -1, 0, CT_SHAPE_OPEN, CT_DTYPE_INTEGER, -1, NULL},
	{"gather", "input", "index", 0, 2, CT_SHAPE_SAME_RANK, CT_DTYPE_INTEGER, -1, NULL},
	{"scatter", "input", "index", 0, 2, CT_SHAPE_SAME_RANK, CT_DTYPE_INTEGER, -1, NULL},
	{"scatter_", "input", "index", 0, 2, CT_SHAPE_SAME_RANK, CT_DTYPE_INTEGER, -1, NULL},
	{"scatter_add", "input", "index", 0, 2, CT_SHAPE_SAME_RANK, CT_DTYPE_INTEGER, -1, NULL},
	{"scatter_add_", "input", "index", 0, 2, CT_SHAPE_SAME_RANK, CT_DTYPE_INTEGER, -1, NULL},
	{"index_select", "input", "index", 0, 2, CT_SHAPE_OPEN, CT_DTYPE_INTEGER, -1, NULL},
	{"index_add", "input", "index", 0, 2, CT_SHAPE_OPEN, CT_DTYPE_INTEGER, -1, NULL},
	{"index_copy", "input", "index", 0, 2, CT_SHAPE_OPEN, CT_DTYPE_INTEGER, -1, NULL},
	{"take_along_dim", "input", "indices", 0, 1, CT_SHAPE_SAME_RANK, CT_DTYPE_INTEGER, -1, NULL},
};

bool ct_checks_is_user(const struct ct_tensor *t)
{
	return t->file && t->file[0] != '<' && !strstr(t->file, "/site-packages/") && !strstr(t->file, "/dist-packages/");
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

bool ct_checks_has_name(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = strstr(text, name); n && p; p = strstr(p + 1, name))
		if ((p == text || (!in_name(p[-1]) && p[-1] != '.')) && !in_name(p[n]))
			return true;
	return false;
}

static const char *source_in(const struct ct_host_frame *frames, size_t n, const struct ct_tensor *t)
{
	for (size_t i = 0; i < n; i++)
		if (frames[i].kind == CT_FRAME_PYTHON && frames[i].line == t->line && frames[i].file && strcmp(frames[i].file, t->file) == 0)
			return frames[i].source;
	return NULL;
}

const char *ct_checks_source(const struct ct_incident *incident, const struct ct_tensor *t)
{
	for (size_t i = 0; t->file && t->line && i < incident->n_threads; i++) {
		const struct ct_host_thread *thread = &incident->threads[i];
		const char *source = thread->tid == t->tid ? source_in(thread->frames, thread->n_frames, t) : NULL;
		if (!source && thread->tid == t->tid)
			source = source_in(thread->python, thread->n_python, t);
		if (source)
			return source;
	}
	return NULL;
}

static bool same_frame(const struct ct_tensor *a, const struct ct_tensor *b)
{
	return a->tid == b->tid && a->has_depth && b->has_depth && a->depth == b->depth;
}

// The tensor that the frame of `beside` calls by that name (not ended by a NUL).
static const struct ct_tensor *named(const struct ct_incident *incident, const struct ct_tensor *beside, const char *name, size_t length)
{
	for (size_t i = 0; length && i < incident->n_tensors; i++) {
		const struct ct_tensor *t = &incident->tensors[i];
		if (same_frame(t, beside) && strlen(t->name) == length && memcmp(t->name, name, length) == 0)
			return t;
	}
	return NULL;
}

// ---- By a frame of PyTorch's own ---------------------------------------------------------------------------------

static bool in_frame(const struct ct_incident *incident, const struct ct_tensor *t, struct ct_call *call)
{
	if (!t->function || !t->file || !strstr(t->file, "/torch/"))
		return false;
	for (size_t i = 0; i < CT_COUNT(rules); i++) {
		const struct ct_call_rule *rule = &rules[i];
		if (strcmp(rule->call, t->function) != 0)
			continue;
		const struct ct_tensor *index = named(incident, t, rule->index, strlen(rule->index));
		if (index)
			*call = (struct ct_call){
				.rule = rule, .index = index, .values = rule->values ? named(incident, t, rule->values, strlen(rule->values)) : NULL};
		return index != NULL;
	}
	return false;
}

// ---- By the source line ------------------------------------------------------------------------------------------

struct argument {
	const char *at;
	size_t length;
};

static struct argument trimmed(const char *from, const char *end)
{
	while (from < end && *from == ' ')
		from++;
	while (end > from && end[-1] == ' ')
		end--;
	return (struct argument){.at = from, .length = (size_t)(end - from)};
}

// The argument of that place or keyword in the text behind "(": text between commas that stand outside of brackets and quotes.
static struct argument argument_of(const char *text, int place, const char *keyword)
{
	const char *start = text;
	int depth = 0, at = 0;
	char quote = '\0';
	size_t n = strlen(keyword);
	for (const char *p = text; *p; p++) {
		if (quote) {
			quote = *p == quote ? '\0' : quote;
			continue;
		}
		if (*p == '\'' || *p == '"')
			quote = *p;
		else if (strchr("([{", *p))
			depth++;
		else if (depth && strchr(")]}", *p))
			depth--;
		else if (!depth && strchr(",)", *p)) {
			struct argument a = trimmed(start, p);
			if (a.length > n && memcmp(a.at, keyword, n) == 0 && a.at[n] == '=')
				return trimmed(a.at + n + 1, a.at + a.length);
			if (at++ == place && !memchr(a.at, '=', a.length))
				return a;
			start = p + 1;
		}
		if (!depth && *p == ')' && start == p + 1)
			break;
	}
	return (struct argument){.at = NULL, .length = 0};
}

static struct argument receiver_of(const char *text, const char *dot)
{
	const char *from = dot;
	while (from > text && (in_name(from[-1]) || from[-1] == '.'))
		from--;
	return (struct argument){.at = from, .length = (size_t)(dot - from)};
}

static const struct ct_tensor *tensor_at(const struct ct_incident *incident, const struct ct_tensor *beside, const struct ct_call_rule *rule,
					 struct argument receiver, const char *arguments, bool is_index)
{
	int place = is_index ? rule->index_place : rule->values_place;
	const char *keyword = is_index ? rule->index : rule->values;
	if (!keyword)
		return NULL;
	const struct ct_tensor *self = named(incident, beside, receiver.at, receiver.length);
	if (self && place == 0)
		return self;
	struct argument a = argument_of(arguments, self ? place - 1 : place, keyword);
	return a.at ? named(incident, beside, a.at, a.length) : NULL;
}

static bool in_source(const struct ct_incident *incident, const struct ct_tensor *t, struct ct_call *call)
{
	const char *source = ct_checks_source(incident, t);
	for (size_t i = 0; source && i < CT_COUNT(rules); i++) {
		size_t n = strlen(rules[i].call);
		for (const char *p = strstr(source, rules[i].call); p; p = strstr(p + 1, rules[i].call)) {
			if (p[n] != '(' || (p > source && in_name(p[-1])))
				continue;
			struct argument receiver = {.at = p, .length = 0};
			if (p > source && p[-1] == '.')
				receiver = receiver_of(source, p - 1);
			const struct ct_tensor *index = tensor_at(incident, t, &rules[i], receiver, p + n + 1, true);
			if (!index)
				continue;
			*call = (struct ct_call){
				.rule = &rules[i], .index = index, .values = tensor_at(incident, t, &rules[i], receiver, p + n + 1, false)};
			return true;
		}
	}
	return false;
}

bool ct_checks_find_call(const struct ct_incident *incident, int64_t tid, struct ct_call *ret_call)
{
	for (size_t i = 0; i < incident->n_tensors; i++) {  // innermost frame first
		const struct ct_tensor *t = &incident->tensors[i];
		if (t->tid == tid && t->has_depth && (in_frame(incident, t, ret_call) || in_source(incident, t, ret_call)))
			return true;
	}
	return false;
}
