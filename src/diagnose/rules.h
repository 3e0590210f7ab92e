// The conditions of causes.tsv: named predicates and comparisons over what was read. Private to diagnose/; data/README.md has the words.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_DIAGNOSE_RULES_H
#define CT_DIAGNOSE_RULES_H

#include "diagnose/catalog.h"

// An incident while it is judged.
struct ct_judged {
	struct ct_incident *incident;
	const struct ct_failed_value *failed;
	bool numeric;  // the failed value and its bound are whole numbers, which value and bound hold
	int64_t value, bound;
	const char *detail;  // what the last predicate that had something to tell found; "": nothing
	bool found_any;      // a row further up holds
};

// A predicate may set detail when it holds.
typedef bool ct_predicate(struct ct_judged *judged);
// One that holds where it has something to tell, which becomes the detail; NULL: it does not.
typedef const char *ct_finding(struct ct_incident *incident);

// One of the two is set.
struct ct_named_predicate {
	const char *name;
	ct_predicate *holds;
	ct_finding *finds;
};

// labels.c: about the value that failed. faults.c: about everything else. Both end with a name of NULL.
extern const struct ct_named_predicate ct_value_predicates[], ct_fault_predicates[];

struct ct_judged ct_rule_judged(struct ct_incident *incident, const struct ct_failed_value *failed);
// Whether all terms of the condition hold; a term that is no term does not.
bool ct_rule_holds(struct ct_judged *judged, const char *condition);
// Whether the condition is one: the tests hold the table to it.
bool ct_rule_check(const char *condition, struct ct_error *err);
// A decimal number and nothing else.
bool ct_rule_number(const char *text, int64_t *ret_number);

#endif
