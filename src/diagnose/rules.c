// Conditions of causes.tsv: "label & least = 1 & most = bound". Terms are joined by " & "; a term is the name of a predicate, or two
// quantities with a comparison between them. There is no "or" and no "not": another row says the former, another predicate the latter.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/rules.h"

bool ct_rule_number(const char *text, int64_t *ret_number)
{
	char *end = NULL;
	if (!text || !*text)
		return false;
	*ret_number = strtoll(text, &end, 10);
	return *end == '\0';
}

struct ct_judged ct_rule_judged(struct ct_incident *incident, const struct ct_failed_value *failed)
{
	struct ct_judged j = {.incident = incident, .failed = failed, .detail = ""};
	j.numeric = failed->known && !failed->what && ct_rule_number(failed->text, &j.value) && ct_rule_number(failed->bound, &j.bound);
	return j;
}

// ---- Quantities ----------------------------------------------------------------------------------------------

static bool of_value(const struct ct_judged *j, int64_t *ret_number)
{
	*ret_number = j->value;
	return j->numeric;
}

static bool of_bound(const struct ct_judged *j, int64_t *ret_number)
{
	*ret_number = j->bound;
	return j->numeric;
}

static bool of_least(const struct ct_judged *j, int64_t *ret_number)
{
	return j->failed->whole && ct_rule_number(j->failed->least, ret_number);
}

static bool of_most(const struct ct_judged *j, int64_t *ret_number)
{
	return j->failed->whole && ct_rule_number(j->failed->most, ret_number);
}

static const struct quantity {
	const char *name;
	bool (*of)(const struct ct_judged *j, int64_t *ret_number);
} quantities[] = {{"value", of_value}, {"bound", of_bound}, {"least", of_least}, {"most", of_most}};

static bool is_word(struct ct_span s, const char *word)
{
	return strlen(word) == s.length && memcmp(s.at, word, s.length) == 0;
}

static const struct quantity *quantity_named(struct ct_span s)
{
	for (size_t i = 0; i < CT_COUNT(quantities); i++)
		if (is_word(s, quantities[i].name))
			return &quantities[i];
	return NULL;
}

static bool literal(struct ct_span s, int64_t *ret_number)
{
	char text[24];
	if (s.length == 0 || s.length >= sizeof text)
		return false;
	memcpy(text, s.at, s.length);
	text[s.length] = '\0';
	return ct_rule_number(text, ret_number);
}

static bool number_of(const struct ct_judged *j, struct ct_span s, int64_t *ret_number)
{
	const struct quantity *q = quantity_named(s);
	return q ? q->of(j, ret_number) : literal(s, ret_number);
}

// ---- Terms ---------------------------------------------------------------------------------------------------

struct term {
	const struct ct_named_predicate *predicate;  // NULL: a comparison
	struct ct_span left, right;
	char comparison[3];
};

static const struct ct_named_predicate *predicate_named(struct ct_span s)
{
	const struct ct_named_predicate *const tables[] = {ct_value_predicates, ct_fault_predicates};
	for (size_t i = 0; i < CT_COUNT(tables); i++)
		for (const struct ct_named_predicate *p = tables[i]; p->name; p++)
			if (is_word(s, p->name))
				return p;
	return NULL;
}

static bool is_comparison(struct ct_span s)
{
	static const char *const words[] = {"=", "<", ">", "<=", ">="};
	for (size_t i = 0; i < CT_COUNT(words); i++)
		if (is_word(s, words[i]))
			return true;
	return false;
}

// The next word; empty at the end.
static struct ct_span next_word(const char **at)
{
	*at += strspn(*at, " ");
	struct ct_span s = {.at = *at, .length = strcspn(*at, " ")};
	*at += s.length;
	return s;
}

// Takes one term and the " & " behind it.
static bool parse(const char **at, struct term *ret_term)
{
	int64_t number;
	struct ct_span first = next_word(at);
	*ret_term = (struct term){.predicate = predicate_named(first), .left = first};
	if (!ret_term->predicate) {
		struct ct_span comparison = next_word(at);
		ret_term->right = next_word(at);
		if (!is_comparison(comparison) || (!quantity_named(first) && !literal(first, &number)) ||
		    (!quantity_named(ret_term->right) && !literal(ret_term->right, &number)))
			return false;
		memcpy(ret_term->comparison, comparison.at, comparison.length);
	}
	struct ct_span join = next_word(at);
	return join.length == 0 || (is_word(join, "&") && *at[0] != '\0');
}

static bool compares(const struct ct_judged *j, const struct term *t)
{
	int64_t left = 0, right = 0;
	if (!number_of(j, t->left, &left) || !number_of(j, t->right, &right))
		return false;
	bool or_equal = t->comparison[0] == '=' || t->comparison[1] == '=';
	return (or_equal && left == right) || (t->comparison[0] == '<' && left < right) || (t->comparison[0] == '>' && left > right);
}

static bool predicate_holds(struct ct_judged *j, const struct ct_named_predicate *p)
{
	if (p->holds)
		return p->holds(j);
	const char *found = p->finds(j->incident);
	if (found)
		j->detail = found;
	return found != NULL;
}

bool ct_rule_holds(struct ct_judged *j, const char *condition)
{
	struct term t;
	const char *at = condition;
	j->detail = "";
	while (*at)
		if (!parse(&at, &t) || !(t.predicate ? predicate_holds(j, t.predicate) : compares(j, &t)))
			return false;
	return at != condition;
}

bool ct_rule_check(const char *condition, struct ct_error *err)
{
	struct term t;
	const char *at = condition;
	do {
		const char *from = at;
		if (!parse(&at, &t))
			return ct_fail(err, CT_FORMAT, "no condition: %s", from);
	} while (*at);
	return true;
}
