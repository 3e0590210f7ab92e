// Engines: how a fault is noticed and how the GPU's state is read. One interface, one file each.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_ENGINE_H
#define CT_ENGINE_H

#include "base/base.h"
#include "cli/cli.h"

// Runs options->argv with the engine that options ask for, writes and prints the report when there is a fault. Returns the exit status
// that cudatrap should end with. Prints its own failures (one line each) on stderr.
int ct_engine_run(const struct ct_options *options);

// Reads a running process (options->argv: its id) and reports what its GPU and its threads do. It stays as it is: one that waits in the
// driver goes on waiting, any other one runs on. Returns our exit status.
int ct_engine_attach(const struct ct_options *options);

#endif
