// The tables of data/: what an assert means, which element a thread read. Private to diagnose/, but for what diagnose.h names.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_CATALOG_H
#define CT_CATALOG_H

#include "diagnose/diagnose_priv.h"
#include "rules/rules.h"

// A row of assert-catalog.tsv; data/README.md says what the columns hold. Texts are the catalogue's.
struct ct_catalog_row {
	const char *id, *framework, *file, *line, *function, *kernel, *expression, *offending, *meaning, *causes, *check;
};

// A row of call-causes.tsv.
struct ct_call_cause {
	const char *id, *limit, *meaning, *causes, *check;
	uint32_t error;
};

// A row of causes.tsv.
struct ct_cause_text {
	const char *id, *family, *when, *text, *evidence, *check;
};

struct ct_catalog {
	struct ct_arena arena;
	struct ct_cause_text *causes;
	size_t n_causes;
	struct ct_catalog_row *rows;
	size_t n_rows;
	struct ct_rules rules;
	struct ct_call_cause *calls;
	size_t n_calls;
};

// The row for this assert; kernel (a demangled name) may be NULL. NULL: none, or several that say different things; *ret_n_equal says which.
const struct ct_catalog_row *ct_catalog_match(const struct ct_catalog *catalog, const struct ct_assert *assertion, const char *kernel,
					      size_t *ret_n_equal);
// The row for a call that failed; NULL: none.
const struct ct_call_cause *ct_catalog_call(const struct ct_catalog *catalog, const struct ct_failed_call *call);
// Is id one of a list "A001,A002"?
bool ct_catalog_lists(const char *list, const char *id);

// ct_rules_base_name() as a span.
bool ct_diagnose_base_name(const char *name, struct ct_span *ret_name);

// values.c: names arguments, adds incident->values. *ret_fact: the value that is certain to have failed, and its bound.
struct ct_failed_value {
	bool known;
	const char *text;        // "3"
	const char *bound_name;  // "n_classes"; NULL: none
	const char *bound;       // "3"
	const char *exempt_name, *exempt;
	const char *what;    // of a value that is no whole number: "NaN", "infinite", "negative", "above 1", "false"; with detail
	const char *detail;
	const char *array;  // "target", or the tensor that it is
	// Of the array; NULL or 0: not known.
	const char *least, *most;
	bool whole;  // all of it was read
	uint64_t n_elements, n_outside;
	bool unexplained, candidates;  // by the kernel's arguments; there are values that fit
};
// That no value was established, as a note.
void ct_explain_no_value(struct ct_incident *incident, bool candidates);
void ct_explain_values(struct ct_incident *incident, const struct ct_catalog *catalog, const struct ct_catalog_row *row, struct ct_failed_value *ret_failed);
// evidence.c: adds what was read inside functors and in tensors to the values, and to *failed where that tells the one that failed.
void ct_explain_evidence(struct ct_incident *incident, struct ct_failed_value *failed);
// The first of these among the tensors read that lie where a tensor of the launching call does; NULL: not read.
const struct ct_tensor_memory *ct_evidence_of(const struct ct_incident *incident, const struct ct_tensor *tensor);
const struct ct_special *ct_evidence_special(const struct ct_tensor_memory *memory, const char *what, uint64_t bound);
// explain.c: whether the failing kernel's name has that word in it.
bool ct_explain_kernel_has(const struct ct_incident *incident, const char *word);
// faults.c: the little-endian number in an argument of size bytes that were all read; false: it has another size.
bool ct_explain_number(const struct ct_argument *argument, size_t size, uint64_t *ret_number);
// pointers.c: which tensors the arguments point into.
void ct_explain_pointers(struct ct_incident *incident);
// cause.c: fills incident->causes and incident->meaning.
void ct_explain_call(struct ct_incident *incident, const struct ct_call_cause *row);
// pointers.c: the tensor in whose storage the address is; NULL: none.
const struct ct_tensor *ct_explain_tensor_at(const struct ct_incident *incident, uint64_t address);
// pointers.c: the address that an argument carries: a pointer, or a struct that is known to begin with one; 0: none.
uint64_t ct_explain_address_of(const struct ct_argument *argument);
bool ct_explain_on_gpu(const struct ct_tensor *tensor);
// address.c: where the address of the failed access lies, into incident->fault_address; nothing where no address is known.
void ct_explain_address(struct ct_incident *incident);
// address.c: what speaks for an index out of range: the access lies just beyond an array that the kernel was given. NULL: nothing.
const char *ct_explain_beyond(struct ct_incident *incident);
// catalog and row may be NULL.
void ct_explain_cause(struct ct_incident *incident, const struct ct_catalog *catalog, const struct ct_catalog_row *row, const struct ct_failed_value *failed);

#endif
