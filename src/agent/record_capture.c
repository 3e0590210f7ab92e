// Captures: from a launch on a capturing stream to the graph that it is part of.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdatomic.h>

#include "agent/agent_priv.h"
#include "agent/record.h"

enum { ROWS = 4096, CAPTURE_ACTIVE = 1 };  // CU_STREAM_CAPTURE_STATUS_ACTIVE (cuda.h)

static atomic_int capturing;  // streams that capture, of all threads
static struct {
	_Atomic uint64_t handle, capture;
} graphs[ROWS], execs[ROWS];

static unsigned row_of(const void *handle)
{
	return (unsigned)(ct_record_mix(1, (uint64_t)(uintptr_t)handle) >> 40) % ROWS;
}

uint64_t ct_capture_of(void *stream, bool per_thread)
{
	if (atomic_load_explicit(&capturing, memory_order_relaxed) <= 0 || !ct_agent_gate_is_open())
		return 0;
	const struct ct_record_driver *d = ct_record_driver();
	int (*ask)(void *, int *, uint64_t *) = per_thread ? d->capture_info_ptsz : d->capture_info;
	int status = 0;
	uint64_t id = 0;
	return ask && ask(stream, &status, &id) == 0 && status == CAPTURE_ACTIVE ? id : 0;
}

void ct_capture_begun(void)
{
	atomic_fetch_add(&capturing, 1);
}

void ct_capture_ended(void *graph, uint64_t capture)
{
	if (atomic_fetch_sub(&capturing, 1) <= 0)
		atomic_fetch_add(&capturing, 1);  // one whose begin was not seen
	if (!graph)
		return;
	atomic_store(&graphs[row_of(graph)].capture, capture);
	atomic_store(&graphs[row_of(graph)].handle, (uint64_t)(uintptr_t)graph);
}

void ct_capture_instantiated(const void *graph, const void *exec)
{
	bool known = atomic_load(&graphs[row_of(graph)].handle) == (uint64_t)(uintptr_t)graph;
	atomic_store(&execs[row_of(exec)].capture, known ? atomic_load(&graphs[row_of(graph)].capture) : 0);
	atomic_store(&execs[row_of(exec)].handle, (uint64_t)(uintptr_t)exec);
}

uint64_t ct_capture_of_exec(const void *exec)
{
	bool known = atomic_load(&execs[row_of(exec)].handle) == (uint64_t)(uintptr_t)exec;
	return known ? atomic_load(&execs[row_of(exec)].capture) : 0;
}
