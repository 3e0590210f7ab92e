// What checks.c and checks_call.c share: calls whose arguments are known, and one of them found in an incident.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_DIAGNOSE_CHECKS_H
#define CT_DIAGNOSE_CHECKS_H

#include "incident/incident.h"

enum ct_shape_rule {
	CT_SHAPE_ANY,        // every shape will do
	CT_SHAPE_OPEN,       // what it asks is not in the table
	CT_SHAPE_LABELS,     // scores [N, C, ...] and labels [N, ...], or [C] and one label
	CT_SHAPE_SAME,
	CT_SHAPE_SAME_RANK,
};

enum ct_dtype_rule {
	CT_DTYPE_INTEGER,
	CT_DTYPE_INTEGER_OR_SAME_SHAPE,  // labels, or a probability for each class
	CT_DTYPE_FLOAT,
};

struct ct_call_rule {
	const char *call;
	const char *values, *index;    // names of its parameters: what is selected from, and what selects; values may be NULL
	int values_place, index_place;  // their places in torch.CALL(...); in a tensor's own method the tensor is place 0
	enum ct_shape_rule shape;
	enum ct_dtype_rule dtype;
	int bound_axis;  // of values, which bounds what is in index; -1: an argument says which
	const char *bound;  // what that size is called
};

struct ct_call {
	const struct ct_call_rule *rule;
	const struct ct_tensor *values, *index;  // values may be NULL
};

// The innermost known call of thread tid: by a frame of PyTorch's own Python code, or by the source line of the frame that calls.
bool ct_checks_find_call(const struct ct_incident *incident, int64_t tid, struct ct_call *ret_call);

// The size that bounds what is in call->index; false: no dimension of call->values is known to.
bool ct_checks_bound(const struct ct_call *call, int64_t *ret_bound);

// Text of the line that the tensor's frame is at; NULL unknown.
const char *ct_checks_source(const struct ct_incident *incident, const struct ct_tensor *tensor);
// Whether the frame is the reader's own code, not an installed package's.
bool ct_checks_is_user(const struct ct_tensor *tensor);
// Whether name stands in text and is not a part of a longer name.
bool ct_checks_has_name(const char *text, const char *name);

#endif
