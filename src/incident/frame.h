// A place in host code, and whose code it is. Part of incident.h, which includes it.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_INCIDENT_FRAME_H
#define CT_INCIDENT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CT_FRAME_KINDS(X) \
	X(NATIVE, "native") X(PYTHON, "python")

enum ct_frame_kind {
#define X(name, word) CT_FRAME_##name,
	CT_FRAME_KINDS(X)
#undef X
};
// As the word functions of incident.h.
const char *ct_frame_kind_word(enum ct_frame_kind kind);
bool ct_frame_kind_parse(const char *word, enum ct_frame_kind *ret_kind);

struct ct_host_frame {
	enum ct_frame_kind kind;
	const char *function;  // demangled, or the Python qualified name; NULL when no symbol covers it
	const char *file;      // Python: as the code object has it; native: source file if debug information has it
	uint32_t line;         // 0 unknown
	const char *module;    // native: path of the library
	bool has_pc;
	uint64_t pc;
	bool has_offset;
	uint64_t offset;        // from the function's start
	const char *source;     // text of that line, trimmed, when it could be read at the time of the fault
	const char **excerpt;   // that line and those around it, tabs as blanks, when the file is older than the code that was made of it
	size_t n_excerpt;
	uint32_t excerpt_line;  // number of the first of them
};

// Lines before and after a frame's own; what is read of an incident, whoever wrote it.
enum { CT_EXCERPT_AROUND = 3, CT_MAX_EXCERPT = 64 };

// Whether there are lines around the frame's own; *ret_own is the index of its own. An incident may come from anywhere: false where the lines do
// not have it.
bool ct_frame_has_excerpt(const struct ct_host_frame *frame, size_t *ret_own);

// What a host frame is to its reader, by where its code comes from.
enum ct_frame_class {
	CT_FRAME_USER,       // the reader's own code
	CT_FRAME_FRAMEWORK,  // Python of an installed package or the standard library
	CT_FRAME_LIBRARY,    // native code of a library
	CT_FRAME_API,        // a CUDA runtime or driver function, by its public name
	CT_FRAME_PLUMBING,   // the interpreter, the start of a thread: tells nobody anything
};
enum ct_frame_class ct_frame_class_of(const struct ct_host_frame *frame);
bool ct_frame_in_cuda(const struct ct_host_frame *frame);  // within the CUDA libraries

#endif
