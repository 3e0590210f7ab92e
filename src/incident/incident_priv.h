// What the files of incident/ share: the words of the enums, and the JSON form as tables of fields.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_INCIDENT_PRIV_H
#define CT_INCIDENT_PRIV_H

#include "incident/incident.h"

// Words of an enum that counts from 0: words[value].
struct ct_words {
	const char *const *words;
	size_t n_words;
};

extern const struct ct_words ct_fault_kind_words, ct_group_reason_words, ct_log_kind_words, ct_frame_kind_words, ct_collector_status_words,
	ct_ending_words, ct_argument_kind_words, ct_tensor_role_words, ct_check_kind_words, ct_check_status_words,
	ct_certainty_words, ct_launch_origin_words;

// The tables of fields.c say once, for writer and reader, where in a struct a key's value lives.
enum ct_field_type {
	CT_FIELD_TEXT,    // const char *; NULL is left out
	CT_FIELD_TEXTS,   // array of const char *, and its count
	CT_FIELD_BOOL,    // false is left out
	CT_FIELD_U32,     // uint32_t
	CT_FIELD_COUNT,   // uint64_t, a number of things
	CT_FIELD_I64,     // int64_t, or the 64 bits of a uint64_t as a signed number
	CT_FIELD_INT,     // int
	CT_FIELD_REAL,    // double
	CT_FIELD_HEX,     // uint64_t as "0x1f"
	CT_FIELD_DIM3,    // struct ct_dim3 as [x, y, z]
	CT_FIELD_WORD,    // an enum as one of words
	CT_FIELD_CODE,    // uint32_t, CUDBGException_t; the writer adds "name"
	CT_FIELD_TIME,    // int64_t, microseconds since the epoch; the writer adds "time"
	CT_FIELD_OBJECT,  // a struct within the struct; left out when it would be empty
	CT_FIELD_I64S,    // array of int64_t, and its count; an empty one is left out unless its has_ flag is set
	CT_FIELD_ROWS,    // array of structs, and its count; an empty one is left out
};

enum {
	CT_FIELD_REQUIRED = 1,   // the reader refuses the object without it
	CT_FIELD_OMIT_ZERO = 2,  // zero means not known: left out
	CT_FIELD_REPLACE = 4,    // a list read later replaces the one that is there instead of adding to it
	CT_FIELD_GPU_PART = 8,   // of the whole: belongs to the part that the debugger's scripts emit
	CT_FIELD_HOST_PART = 16, // of the whole: belongs to the part that the host collectors emit
	CT_FIELD_TENSOR_PART = 32, // of the whole: belongs to the agent's list of tensors
	CT_FIELD_ALL_PARTS = CT_FIELD_GPU_PART | CT_FIELD_HOST_PART,
};

struct ct_field {
	const char *key;
	enum ct_field_type type;
	unsigned flags;
	size_t offset;  // of the value
	size_t has;     // 1 + offset of the bool that says whether there is a value, 0: none. Rows: the bool that a new list sets to false
	size_t count;   // offset of the size_t beside an array
	size_t limit;   // rows at most, 0: CT_INCIDENT_MAX_ROWS
	const struct ct_words *words;
	const struct ct_table *table;  // of the object, or of each row
};

struct ct_table {
	const struct ct_field *fields;
	size_t n_fields;
	size_t row_bytes;
};

extern const struct ct_table ct_incident_table;

#endif
