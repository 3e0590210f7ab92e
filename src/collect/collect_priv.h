// Between the files of collect/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_COLLECT_PRIV_H
#define CT_COLLECT_PRIV_H

#include <inttypes.h>

#include "collect/collect.h"

// Reads the dump that the driver writes and fills the GPU part. When the dump was readable but empty of faults its row says so.
bool ct_collect_dump(const struct ct_collect_job *job, struct ct_incident *incident, struct ct_error *err);

// The assert's text, out of the image that the debugger left in scratch_dir. Nothing happens without one.
void ct_collect_assert(const char *scratch_dir, struct ct_incident *incident);

// What the process noted of its progress, from agent_dir/notes.PID. No row when it never noted anything; agent_dir NULL: nothing to read.
void ct_collect_notes(struct ct_incident *incident, const char *agent_dir, pid_t pid);

#endif
