// From the record of launches to what an incident says of them: which launch the failing grid is, what went before it on its stream, which
// call of the driver failed and why. Reads and compares; nothing is looked at but the record and the incident.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_MATCHING_H
#define CT_MATCHING_H

#include <stdbool.h>
#include <stdint.h>

#include "incident/incident.h"
#include "recorder/recorder.h"

// Looks for the launch of incident->gpu.kernel and fills incident->launch; after the GPU part was read. Launches after until_ns
// (CLOCK_MONOTONIC, 0: no limit) are later than the fault. history: at most so many launches of the stream.
void ct_matching_grid(const struct ct_launches *record, int64_t until_ns, unsigned history, struct ct_incident *incident);

// The failing call that a report is worth, into incident->launch.failed_call: the first launch that failed; else, when the process failed
// too, the last other call that did, unless kernels were launched after it: an allocator frees its caches and asks again. False, and the
// incident left alone, when there is none.
bool ct_matching_failed_call(const struct ct_launches *record, bool process_failed, unsigned history, struct ct_incident *incident);
// Beside a fault: the first launch that the driver refused before it, because what that kernel should have written was not written. No
// history; the certainty and its candidates stay as they are.
void ct_matching_refused_launch(const struct ct_launches *record, struct ct_incident *incident);
// Whether there is one, without an incident, and when it was (CLOCK_MONOTONIC).
bool ct_matching_has_failed_call(const struct ct_launches *record, bool process_failed, int64_t *ret_when_ns);

// "CUDA_ERROR_INVALID_VALUE"; NULL for a number that is not in the table.
const char *ct_matching_error_name(int32_t error);

#endif
