// libcudatrap-agent.so, preloaded into the target, and how we talk to it.
//
// Environment: CUDATRAP_AGENT_DIR (a 0700 folder of ours) and CUDATRAP_SUPERVISOR_PID. A process that comes to use CUDA listens on
// DIR/PID.sock (SOCK_STREAM). One request a connection: a line "stacks\n"; the answer is one JSON document, then end of file:
//   {"version":1,"pid":N,"python":"3.12.3","threads":[{"tid":N,"name":"MainThread","frames":[{"function":"f","file":"x.py","line":3,"source":"..."}]}]}
// or {"version":1,"pid":N,"error":"..."} ("no Python in this process", "...").
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_AGENT_H
#define CT_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"

// Asks the agent in process pid. CT_NOT_FOUND: no agent there; CT_TIMEOUT: it did not answer (the GIL is not to be had).
bool ct_agent_ask(const char *agent_dir, pid_t pid, const char *request, int64_t deadline_us, struct ct_str *ret_json, struct ct_error *err);

#endif
