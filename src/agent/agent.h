// libcudatrap-agent.so, preloaded into the target, and how we talk to it.
//
// Environment: CUDATRAP_AGENT_DIR (a 0700 folder of ours, absolute) and CUDATRAP_SUPERVISOR_PID. A process that comes to use CUDA listens
// on DIR/PID.sock (SOCK_STREAM), PID as the process itself knows it. One request a connection: a line "stacks\n"; the answer is one JSON
// document and a newline, then end of file:
//   {"version":1,"pid":N,"python":"3.12.3","threads":[{"tid":N,"name":"MainThread","frames":[{"function":"f","file":"x.py","line":3}]}]}
// with "test":"test_x.py::test_y (call)" at its end when pytest runs one,
// or {"version":1,"pid":N,"error":"..."} ("no Python in this process", "...").
// "tensors\n" is answered with the arrays that Python's frames know by name, in the form of the incident's "tensors", where no library of
// arrays is in use with an empty list of libraries; detail is "" when the list is whole:
//   {"version":1,"pid":N,"python":"3.12.3","libraries":["torch"],"detail":"","tensors":[{"name":"y","library":"torch","role":"local",...}],
//    "python_locals":[{"name":"step","value":"40","role":"local",...}]}
// The second list has the plain values of the program's own frames, with or without a library of arrays.
// "anomaly\n" turns PyTorch's anomaly detection on and is answered with {"version":1,"pid":N,"python":"3.12.3","anomaly":"on"}, or why it is not.
// With CUDATRAP_ANOMALY=1 the agent does that unasked, as soon as PyTorch was imported.
// "fail N\n": the driver is shut to this process: every call returns CUresult N, threads that it holds come out of it with N. The answer
// is {"version":1,"pid":N,"error_code":N}. For a process whose fault has been read: it ends by its own means. "hold\n": the same is to come; until
// then no call of the driver begins or comes back.
// Frames are innermost first, at most 256 a thread, 512 threads. tid is 0 where Python does not know it, line 0 where there is none.
// The text is all ASCII. There are no source lines: opening a file inside the target may run the program's own audit hooks, so the
// reader adds them from the file.
//
// When the driver waits for a debugger (engine wait) the agent connects to DIR/waiting, if that is there: the process id of the
// connection says who waits.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_AGENT_H
#define CT_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"

// Asks the agent in process pid; request is the line without its end ("stacks", "tensors"). Appends the document, at most 16 MiB and not parsed, to
// ret_json, which stays as it was on failure. CT_NOT_FOUND: no agent there; CT_TIMEOUT: it did not answer by deadline_us (ct_now_us()
// scale; the GIL is not to be had); CT_UNAVAILABLE: it went away without a word; CT_FORMAT: in the middle of its answer; CT_LIMIT: too long.
bool ct_agent_ask(const char *agent_dir, pid_t pid, const char *request, int64_t deadline_us, struct ct_str *ret_json, struct ct_error *err);

#endif
