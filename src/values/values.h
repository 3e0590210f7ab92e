// What device memory tells of the failing kernel, where a dump holds that memory: the elements that the failing threads read, what is in the
// arrays of its arguments and in the tensors of the launching frames. Facts only, into incident->gpu; diagnose/ judges them. Never prints.
// gdbscripts/cudatrap/{values,rules,functors,tensors}.py read the same from a process that stands; a test holds the two together.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_VALUES_H
#define CT_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "gpucore/gpucore.h"
#include "incident/incident.h"
#include "rules/rules.h"

// Where device memory comes from. Untrusted, like everything that is found in it.
struct ct_values_source {
	// As ct_gpucore_read_some().
	size_t (*read)(const void *context, uint64_t address, void *bytes, size_t size);
	const void *context;
	const uint8_t *params;  // the bytes of the failing kernel's parameters; NULL: not known
	size_t n_params;
};

// Adds to incident->gpu.memory and .tensors, and gives arguments that have no name that of the table. The kernel, its arguments, the groups and,
// where there are any, tensors and frames are in the incident already. rules may be NULL. Bounded in bytes, in comparisons and, for tensors, in time.
void ct_values_read(struct ct_incident *incident, const struct ct_rules *rules, const struct ct_values_source *source);

// The same for a dump that ct_gpucore_fill() has filled the incident from. rules may be NULL.
void ct_values_of_dump(struct ct_gpucore *core, struct ct_incident *incident, const struct ct_rules *rules);
// The same with the table of a folder (ct_data_dir()): that it cannot be read costs what it tells; the diagnosis, which needs it too, says so.
void ct_values_with(struct ct_gpucore *core, struct ct_incident *incident, const char *dir);

#endif
