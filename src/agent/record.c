// The file of the record, a ring for each thread that launches, and the rows that are written there.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent_priv.h"
#include "agent/record.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18  // linux/mman.h, 4.14
#endif

// Of this process: it lies in a page of its own that a child of any kind of fork finds empty, so that it begins a file of its own instead
// of writing to its parent's.
struct process {
	_Atomic(struct ct_record_head *) head;
	atomic_int opening;                       // 1: a thread does it; 2: it could not be done
	_Atomic int32_t owners[CT_RECORD_RINGS];  // threads, 0: free
	_Atomic uint32_t epoch;                   // of handles: modules unloaded so far
};

// Written by the constructor, before there are other threads.
static struct {
	uint64_t depth;  // 0: off
	char dir[4096];
	struct process *process;
} record;

// Of the calling thread. A preloaded library has its thread-local storage from the start (initial-exec: no allocation, no call), and no
// other way from a thread to its ring costs as little on every launch.
struct mine {
	struct ct_record_head *head;  // whose ring it is
	struct ct_record_ring *ring;  // NULL: there was none
	struct ct_record_launch *rows;
	uint32_t index;
	int32_t tid;
};
static _Thread_local struct mine mine __attribute__((tls_model("initial-exec")));

// ---- The file ---------------------------------------------------------------------------------------------------------

static uint64_t parse_depth(const char *text)
{
	uint64_t n = 0;
	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9' || n > CT_RECORD_MAX_DEPTH)
			return 0;
		n = n * 10 + (uint64_t)(*p - '0');
	}
	return n ? ct_record_round_depth(n) : 0;
}

void ct_record_begin(void)
{
	const char *dir = secure_getenv("CUDATRAP_RECORD_DIR"), *depth = secure_getenv("CUDATRAP_RECORD");
	if (!dir || !depth || dir[0] != '/' || strlen(dir) >= sizeof record.dir - 32 || !parse_depth(depth))
		return;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return;
	madvise(page, 4096, MADV_WIPEONFORK);  // an older kernel: then there is ct_record_after_fork()
	strcpy(record.dir, dir);
	record.process = page;
	record.depth = parse_depth(depth);
}

bool ct_record_is_on(void)
{
	return record.depth != 0;
}

void ct_record_after_fork(void)
{
	if (record.process)
		memset(record.process, 0, sizeof *record.process);
}

void ct_record_forget_functions(void)
{
	if (record.process)
		atomic_fetch_add(&record.process->epoch, 1);
}

// All of it is set aside now: a hole in a full file system would be a SIGBUS in the middle of a launch.
static bool reserve(int fd, uint64_t bytes)
{
	if (ftruncate(fd, (off_t)bytes) != 0)
		return false;
	if (syscall(SYS_fallocate, fd, 0, 0L, (long)bytes) == 0)
		return true;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return false;
	static const char zeros[65536];
	for (uint64_t at = 0; at < bytes; at += sizeof zeros) {
		size_t n = bytes - at < sizeof zeros ? (size_t)(bytes - at) : sizeof zeros;
		if (pwrite(fd, zeros, n, (off_t)at) != (ssize_t)n)
			return false;
	}
	return true;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct ct_record_head *map_file(const char *path, uint64_t depth)
{
	struct ct_record_head head = {.pid = getpid(), .started_ns = now_ns(CLOCK_MONOTONIC), .started_wall_us = now_ns(CLOCK_REALTIME) / 1000};
	ct_record_lay_out(depth, &head);
	unlink(path);  // of the program that this process was before exec
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return NULL;
	void *map = reserve(fd, head.file_bytes) ? mmap(NULL, head.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (map == MAP_FAILED) {
		unlink(path);
		return NULL;
	}
	struct ct_record_ring *rings = (struct ct_record_ring *)(void *)((char *)map + head.rings_at);
	uint64_t first = 0;
	for (unsigned i = 0; i <= CT_RECORD_RINGS; i++) {
		rings[i].first = first;
		rings[i].capacity = ct_record_ring_rows(depth, i);
		first += rings[i].capacity;
	}
	memcpy(map, &head, sizeof head);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(map, CT_RECORD_MAGIC, sizeof head.magic);  // last: now it is one
	return map;
}

static struct ct_record_head *open_file(struct process *process)
{
	int none = 0, version = 0;
	if (!atomic_compare_exchange_strong(&process->opening, &none, 1))
		return NULL;  // another thread is at it, or it failed: this launch goes without
	char path[4200];
	int saved = errno, n = snprintf(path, sizeof path, "%s/launches.%d", record.dir, (int)getpid());
	ct_record_tables_reset();
	struct ct_record_head *head = NULL;
	for (uint64_t depth = record.depth; n > 0 && !head && depth >= CT_RECORD_MIN_DEPTH; depth /= 2)
		head = map_file(path, depth);
	if (head && ct_record_driver()->driver_version && ct_record_driver()->driver_version(&version) == 0)
		head->driver_version = (uint32_t)version;
	if (head)
		atomic_store_explicit(&process->head, head, memory_order_release);
	else
		atomic_store(&process->opening, 2);
	errno = saved;
	return head;
}

// ---- Rings ------------------------------------------------------------------------------------------------------------

static bool is_gone(int32_t tid)
{
	return syscall(SYS_tgkill, (long)getpid(), (long)tid, 0L) != 0;
}

// A free ring, else one whose thread has ended.
static struct ct_record_ring *take_ring(struct process *process, struct ct_record_head *head, int32_t tid, uint32_t *ret_index)
{
	struct ct_record_ring *rings = (struct ct_record_ring *)(void *)((char *)head + head->rings_at);
	for (int pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < CT_RECORD_RINGS; i++) {
			int32_t owner = atomic_load(&process->owners[i]);
			if ((owner && (pass == 0 || !is_gone(owner))) || !atomic_compare_exchange_strong(&process->owners[i], &owner, tid))
				continue;
			rings[i].tid = tid;
			rings[i].owners++;
			*ret_index = i;
			return &rings[i];
		}
	return NULL;
}

static bool find_mine(struct process *process, struct ct_record_head *head)
{
	if (mine.head != head) {
		int saved = errno;
		mine = (struct mine){.head = head, .tid = (int32_t)syscall(SYS_gettid)};
		mine.ring = take_ring(process, head, mine.tid, &mine.index);
		if (mine.ring)
			mine.rows = (struct ct_record_launch *)(void *)((char *)head + head->launches_at) + mine.ring->first;
		errno = saved;
	}
	if (!mine.ring)
		__atomic_fetch_add(&head->no_ring, 1, __ATOMIC_RELAXED);
	return mine.ring != NULL;
}

static struct ct_record_head *ready(void)
{
	struct process *process = record.process;
	if (!process || !ct_agent_gate_is_open())
		return NULL;
	struct ct_record_head *head = atomic_load_explicit(&process->head, memory_order_acquire);
	if (!head)
		head = open_file(process);
	return head && find_mine(process, head) ? head : NULL;
}

// ---- A launch ---------------------------------------------------------------------------------------------------------

// Laid out as the kernel sees them. The driver reads the same bytes in the call that follows.
static void copy_parameters(struct ct_record_launch *row, void **parameters, const struct ct_record_function *function)
{
	row->arguments_bytes = function->arguments_bytes;
	for (unsigned i = 0; i < function->n_parameters; i++) {
		unsigned offset = function->parameters[i].offset, bytes = function->parameters[i].bytes;
		if (!parameters[i] || offset >= CT_RECORD_ARGUMENTS)
			break;
		if (bytes > CT_RECORD_ARGUMENTS - offset)
			bytes = CT_RECORD_ARGUMENTS - offset;
		if (offset > row->arguments_kept)
			memset(row->arguments + row->arguments_kept, 0, offset - row->arguments_kept);
		memcpy(row->arguments + offset, parameters[i], bytes);
		row->arguments_kept = (uint16_t)(offset + bytes);
	}
}

// CU_LAUNCH_PARAM_BUFFER_POINTER (1) and _SIZE (2), each followed by its value, up to CU_LAUNCH_PARAM_END (0) (cuda.h).
static void copy_buffer(struct ct_record_launch *row, void **extra)
{
	const void *buffer = NULL;
	size_t bytes = 0;
	for (int i = 0; i < 8 && extra[i]; i += 2) {
		if (extra[i] == (void *)1)
			buffer = extra[i + 1];
		else if (extra[i] == (void *)2 && extra[i + 1])
			bytes = *(const size_t *)extra[i + 1];
	}
	if (!buffer || bytes > UINT32_MAX)
		return;
	row->arguments_bytes = (uint32_t)bytes;
	row->arguments_kept = (uint16_t)(bytes < CT_RECORD_ARGUMENTS ? bytes : CT_RECORD_ARGUMENTS);
	row->flags |= CT_RECORD_BUFFER;
	memcpy(row->arguments, buffer, row->arguments_kept);
}

static void fill(struct ct_record_head *head, struct ct_record_launch *row, const struct ct_launch_call *call)
{
	row->time_ns = now_ns(CLOCK_MONOTONIC);
	row->handle = call->handle;
	row->stream = call->stream;
	row->capture = call->capture;
	row->flags = call->flags;
	row->tid = mine.tid;
	memcpy(row->grid, call->grid, sizeof row->grid);
	memcpy(row->block, call->block, sizeof row->block);
	memcpy(row->cluster, call->cluster, sizeof row->cluster);
	row->shared_bytes = call->shared_bytes;
	row->arguments_bytes = 0;
	row->arguments_kept = 0;
	row->function = 0;
	row->graph = 0;
	row->n_native = 0;
	const struct ct_record_function *function = NULL;
	row->torch_sequence = row->node_sequence = row->node_thread = 0;
	if (!(call->flags & CT_RECORD_GRAPH) && call->handle)
		row->function = ct_record_function_number(head, call->handle, atomic_load_explicit(&record.process->epoch, memory_order_relaxed), &function);
	if (call->parameters && function)
		copy_parameters(row, call->parameters, function);
	else if (call->extra)
		copy_buffer(row, call->extra);
	// Looked for at launches 1, 2, 4...: a program may load PyTorch late, and most never do.
	uint64_t begun = mine.ring->begun;
	if (!ct_record_torch(row) && !(begun & (begun + 1))) {
		ct_record_find_torch();
		ct_record_torch(row);
	}
	bool whole = true;
	row->n_frames = (uint8_t)ct_record_python(head, row->frames, &whole);
	if (!whole)
		row->flags |= CT_RECORD_CUT_FRAMES;
}

static uint64_t pending(uint64_t state, int32_t result)
{
	return state << 32 | (uint32_t)result;
}

// The next row: the ring is larger than the caches, and waiting for it was a good part of a launch.
static void prefetch(const struct ct_record_launch *row)
{
	const char *at = (const char *)row;
	for (size_t i = 0; i < offsetof(struct ct_record_launch, native); i += 64)
		__builtin_prefetch(at + i, 1);
	__builtin_prefetch(row->frames, 1);
	__builtin_prefetch(&row->frames[8], 1);
	__builtin_prefetch(row->arguments, 1);
}

// Launches into graphs have a ring of their own, for they count as long as the graph is launched. All threads share it: there are few of
// them, and a row that another thread is at is left to it. The row stays in hand until the call has returned (ct_record_end()): the GPU
// does nothing in it, so that no fault comes meanwhile.
static struct ct_record_launch *launch_into_graph(struct ct_record_head *head, const struct ct_launch_call *call)
{
	struct ct_record_ring *ring = (struct ct_record_ring *)(void *)((char *)head + head->rings_at) + CT_RECORD_CAPTURE_RING;
	uint64_t number = __atomic_fetch_add(&ring->begun, 1, __ATOMIC_RELAXED) + 1;
	struct ct_record_launch *row = (struct ct_record_launch *)(void *)((char *)head + head->launches_at) + ring->first +
				       ((number - 1) & (ring->capacity - 1));
	uint64_t old = __atomic_load_n(&row->state, __ATOMIC_RELAXED);
	if ((old & 1) || !__atomic_compare_exchange_n(&row->state, &old, number * 2 - 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return NULL;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	fill(head, row, call);
	return row;
}

struct ct_record_launch *ct_record_launch(const struct ct_launch_call *call)
{
	struct ct_record_head *head = ready();
	if (!head)
		return NULL;
	if (call->flags & CT_RECORD_CAPTURED)
		return launch_into_graph(head, call);
	uint64_t number = mine.ring->begun + 1;
	struct ct_record_launch *row = &mine.rows[(number - 1) & (mine.ring->capacity - 1)];  // capacities are powers of two
	__atomic_store_n(&row->state, number * 2 - 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);  // the odd number is there before anything changes
	fill(head, row, call);
	__atomic_store_n(&row->result, pending(number * 2, CT_RECORD_PENDING), __ATOMIC_RELAXED);
	__atomic_store_n(&row->state, number * 2, __ATOMIC_RELEASE);
	__atomic_store_n(&mine.ring->begun, number, __ATOMIC_RELEASE);
	prefetch(&mine.rows[number & (mine.ring->capacity - 1)]);
	return row;
}

// ---- Failures ---------------------------------------------------------------------------------------------------------

// CUfunction_attribute and CUdevice_attribute numbers (cuda.h 13.0).
static void ask_limits(struct ct_record_failure *f, uint64_t handle)
{
	const struct ct_record_driver *d = ct_record_driver();
	struct {
		int attribute;
		int32_t *to;
	} of_function[] = {{0, &f->max_threads}, {1, &f->static_shared}, {2, &f->constant_bytes}, {3, &f->local_bytes}, {4, &f->registers},
			   {5, &f->ptx_version}, {6, &f->binary_version}, {8, &f->max_dynamic_shared}},
	  of_device[] = {{1, &f->max_block_threads}, {2, &f->max_block[0]}, {3, &f->max_block[1]}, {4, &f->max_block[2]}, {5, &f->max_grid[0]},
			 {6, &f->max_grid[1]}, {7, &f->max_grid[2]}, {8, &f->max_shared_block}, {12, &f->registers_block},
			 {75, &f->sm_major}, {76, &f->sm_minor}, {97, &f->max_shared_optin}};
	int device = 0;
	bool has_device = d->current_device && d->device_attribute && d->current_device(&device) == 0;
	for (size_t i = 0; i < sizeof of_function / sizeof of_function[0]; i++)
		if (!handle || !d->function_attribute || d->function_attribute(of_function[i].to, of_function[i].attribute, (void *)(uintptr_t)handle) != 0)
			*of_function[i].to = -1;
	for (size_t i = 0; i < sizeof of_device / sizeof of_device[0]; i++)
		if (!has_device || d->device_attribute(of_device[i].to, of_device[i].attribute, device) != 0)
			*of_device[i].to = -1;
}

// A row for a failing call; NULL when there is none left, or the record is off. The number is given by publish().
static struct ct_record_failure *take_failure(struct ct_record_head *head, const char *name, int result, uint64_t *ret_number)
{
	uint64_t number = __atomic_fetch_add(&head->failures_used, 1, __ATOMIC_RELAXED) + 1;
	if (number > CT_RECORD_FAILURES) {
		__atomic_fetch_add(&head->failures_lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	struct ct_record_failure *f = (struct ct_record_failure *)(void *)((char *)head + head->failures_at) + (number - 1);
	f->time_ns = now_ns(CLOCK_MONOTONIC);
	f->tid = mine.tid;
	f->result = result;
	f->ring = mine.index;
	f->launch = mine.ring->begun;
	f->is_sticky = ct_record_loses_context(result);
	strncpy(f->call, name, sizeof f->call - 1);
	*ret_number = number;
	return f;
}

static void publish(struct ct_record_head *head, struct ct_record_failure *f, uint64_t number)
{
	__atomic_store_n(&f->number, number, __ATOMIC_RELEASE);
	uint32_t none = 0;
	if (f->is_sticky && __atomic_compare_exchange_n(&head->sticky, &none, (uint32_t)f->result, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		__atomic_store_n(&head->sticky_failure, number, __ATOMIC_RELEASE);
}

static void add_failed_launch(struct ct_record_head *head, const struct ct_record_launch *row, uint64_t launch, const struct ct_launch_call *call,
			      const char *name, int result)
{
	uint64_t number;
	struct ct_record_failure *f = take_failure(head, name, result, &number);
	if (!f)
		return;
	f->launch = launch;
	f->ring = call->flags & CT_RECORD_CAPTURED ? CT_RECORD_CAPTURE_RING : mine.index;
	f->function = row->function;
	memcpy(f->grid, row->grid, sizeof f->grid);
	memcpy(f->block, row->block, sizeof f->block);
	memcpy(f->cluster, row->cluster, sizeof f->cluster);
	f->shared_bytes = row->shared_bytes;
	f->n_frames = row->n_frames;
	memcpy(f->frames, row->frames, row->n_frames * sizeof row->frames[0]);
	ask_limits(f, f->is_sticky || call->flags & CT_RECORD_GRAPH ? 0 : call->handle);
	publish(head, f, number);
}

void ct_record_end(struct ct_record_launch *row, const struct ct_launch_call *call, const char *name, int result)
{
	if (!row)
		return;
	uint64_t state = (__atomic_load_n(&row->state, __ATOMIC_RELAXED) + 1) & ~UINT64_C(1);  // odd: a launch into a graph
	__atomic_store_n(&row->result, pending(state, result), __ATOMIC_RELAXED);
	struct ct_record_head *head = result ? ready() : NULL;
	if (head)
		add_failed_launch(head, row, state / 2, call, name, result);
	__atomic_store_n(&row->state, state, __ATOMIC_RELEASE);
}

void ct_record_failed(const char *name, int result, uint64_t bytes)
{
	struct ct_record_head *head = ready();
	uint64_t number;
	struct ct_record_failure *f = head ? take_failure(head, name, result, &number) : NULL;
	if (!f)
		return;
	bool whole;
	size_t free_bytes = 0, total_bytes = 0;
	const struct ct_record_driver *d = ct_record_driver();
	f->bytes = bytes;
	f->n_frames = ct_record_python(head, f->frames, &whole);
	ask_limits(f, 0);
	if (!f->is_sticky && bytes && d->memory_info && d->memory_info(&free_bytes, &total_bytes) == 0) {
		f->free_bytes = free_bytes;
		f->total_bytes = total_bytes;
	}
	publish(head, f, number);
}
