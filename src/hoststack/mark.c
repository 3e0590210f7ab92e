// Which host thread launched the failing kernel, or waits for it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "hoststack/hoststack.h"

// Prefixes: variants are _ptsz, _v2, Ex, ExC, Async, 2D, _ptds and so on. Queries are in neither list: watchdogs poll with them.
static const char *const launches[] = {
	"cuLaunch", "cudaLaunchKernel", "__cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchDevice", "cuGraphLaunch", "cudaGraphLaunch",
};
static const char *const waits[] = {
	"cuStreamSynchronize", "cudaStreamSynchronize", "cuCtxSynchronize", "cudaDeviceSynchronize", "cudaThreadSynchronize",
	"cuEventSynchronize", "cudaEventSynchronize", "cuMemcpy", "cudaMemcpy", "cuMemset", "cudaMemset", "cuMemFree", "cudaFree",
};

enum role { ROLE_NONE, ROLE_IN_DRIVER, ROLE_WAITS, ROLE_LAUNCHES };

struct finding {
	enum role role;
	const char *function;  // the call it is in
};

static bool has_prefix(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ct_starts_with(name, list[i]))
			return true;
	return false;
}

static bool in_module(const struct ct_host_frame *f, const char *const *prefixes, size_t n)
{
	return f->kind == CT_FRAME_NATIVE && f->module && has_prefix(ct_basename(f->module), prefixes, n);
}

static bool is_libcuda(const struct ct_host_frame *f)
{
	static const char *const names[] = {"libcuda.so"};
	return in_module(f, names, CT_COUNT(names));
}

// What every thread's stack ends in, or waits in.
static bool is_system(const struct ct_host_frame *f)
{
	static const char *const names[] = {"libc.so", "libc-2", "libpthread", "ld-linux", "ld-musl", "libc.musl", "[vdso]"};
	return in_module(f, names, CT_COUNT(names)) || (f->kind == CT_FRAME_NATIVE && !f->module);
}

static struct finding look_at(const struct ct_host_thread *t)
{
	struct finding found = {ROLE_NONE, NULL};
	bool driver = false, own = false;
	for (size_t i = 0; i < t->n_frames; i++) {
		const struct ct_host_frame *f = &t->frames[i];
		driver |= is_libcuda(f);
		own |= !is_libcuda(f) && !is_system(f);
		// Only what lies outside of a driver frame led there. Names of Python frames say nothing.
		if (!driver || f->kind != CT_FRAME_NATIVE || !f->function)
			continue;
		enum role role = has_prefix(f->function, launches, CT_COUNT(launches)) ? ROLE_LAUNCHES :
				 has_prefix(f->function, waits, CT_COUNT(waits))       ? ROLE_WAITS :
											 ROLE_NONE;
		// The innermost call that says something: an outer one of the same rank is only its wrapper.
		if (role > found.role)
			found = (struct finding){role, f->function};
	}
	// A thread with nothing but driver and system frames is one of the driver's own.
	if (!driver || !own)
		return (struct finding){ROLE_NONE, NULL};
	if (found.role == ROLE_NONE)
		found.role = ROLE_IN_DRIVER;
	return found;
}

static void mark(struct ct_incident *incident, size_t index, const char *why)
{
	struct ct_host_thread chosen = incident->threads[index];
	chosen.launching = true;
	chosen.why_launching = why;
	memmove(&incident->threads[1], &incident->threads[0], index * sizeof chosen);
	incident->threads[0] = chosen;
}

void ct_hoststack_mark_thread(struct ct_incident *incident, int64_t tid, const char *name, const char *why)
{
	for (size_t i = 0; i < incident->n_threads; i++)
		incident->threads[i].launching = false;
	size_t at = 0;
	while (at < incident->n_threads && incident->threads[at].tid != tid)
		at++;
	if (at == incident->n_threads)
		ct_incident_add_thread(incident, tid, name);
	mark(incident, at, ct_arena_strdup(&incident->arena, why));
}

static void mark_by_tid(struct ct_incident *incident, int64_t launch_tid)
{
	for (size_t i = 0; i < incident->n_threads; i++)
		if (incident->threads[i].tid == launch_tid) {
			mark(incident, i, "host thread id of the grid");
			return;
		}
	ct_incident_add_note(incident, "the thread that launched the kernel, %" PRId64 ", is not among the threads whose stacks were read", launch_tid);
}

static const char *reason(struct ct_arena *arena, const struct finding *f)
{
	if (f->role == ROLE_IN_DRIVER)
		return "only thread in libcuda";
	return ct_arena_printf(arena, "blocked in %.*s", (int)strcspn(f->function, "("), f->function);
}

static void mark_by_stack(struct ct_incident *incident)
{
	size_t count[ROLE_LAUNCHES + 1] = {0}, last[ROLE_LAUNCHES + 1] = {0};
	for (size_t i = 0; i < incident->n_threads; i++) {
		enum role role = look_at(&incident->threads[i]).role;
		count[role]++;
		last[role] = i;
	}
	// Launches before waits before anything else in the driver: the first kind there is decides, and only when one thread is of it.
	for (enum role role = ROLE_LAUNCHES; role > ROLE_NONE; role--) {
		if (count[role] == 1) {
			struct finding found = look_at(&incident->threads[last[role]]);
			mark(incident, last[role], reason(&incident->arena, &found));
			return;
		}
		if (count[role] > 1) {
			static const char *const doing[] = {"", "in libcuda", "waiting in libcuda", "in a launch call"};
			ct_incident_add_note(incident, "which thread launched the kernel is not known: %zu threads are %s", count[role], doing[role]);
			return;
		}
	}
	if (incident->n_threads)
		ct_incident_add_note(incident, "which thread launched the kernel is not known: no thread is in libcuda");
}

void ct_hoststack_mark_launching(struct ct_incident *incident, int64_t launch_tid)
{
	for (size_t i = 0; i < incident->n_threads; i++)
		incident->threads[i].launching = false;
	if (launch_tid)
		mark_by_tid(incident, launch_tid);
	else
		mark_by_stack(incident);
}
