// Where the address of a failed access lies: inside which tensor's storage, or how far from which one; without tensors, how far from which argument.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/catalog.h"

// The memory that a tensor is a view of.
struct storage {
	const struct ct_tensor *tensor;
	uint64_t start, end;
};

static bool storage_of(const struct ct_tensor *t, struct storage *ret_storage)
{
	uint64_t start = t->has_storage_ptr ? t->storage_ptr : t->data_ptr;
	if (!t->name || !t->has_data_ptr || !t->has_storage_bytes || !ct_explain_on_gpu(t) || t->storage_bytes == 0 || t->storage_bytes > UINT64_MAX - start)
		return false;
	*ret_storage = (struct storage){.tensor = t, .start = start, .end = start + t->storage_bytes};
	return true;
}

static uint64_t distance(const struct storage *s, uint64_t address)
{
	return address < s->start ? s->start - address : address >= s->end ? address - s->end : 0;
}

// The whole access lies in it.
static bool holds(const struct storage *s, uint64_t address, uint64_t bytes)
{
	return address >= s->start && address < s->end && bytes <= s->end - address;  // also of 0 bytes, which is not known
}

static bool in_any(const struct ct_incident *in, uint64_t address, uint64_t bytes)
{
	struct storage s;
	for (size_t i = 0; i < in->n_tensors; i++)
		if (storage_of(&in->tensors[i], &s) && holds(&s, address, bytes))
			return true;
	return false;
}

static bool is_argument(const struct ct_incident *in, const struct storage *s)
{
	for (size_t i = 0; i < in->gpu.n_arguments; i++) {
		uint64_t address = ct_explain_address_of(&in->gpu.arguments[i]);
		if (address >= s->start && address < s->end)
			return true;
	}
	return false;
}

// The nearest one; of those that the kernel was given, where there are any.
static bool nearest(const struct ct_incident *in, uint64_t address, struct storage *ret_storage)
{
	struct storage s;
	bool any = false, given = false;
	for (size_t i = 0; i < in->n_tensors; i++) {
		if (!storage_of(&in->tensors[i], &s))
			continue;
		bool is_given = is_argument(in, &s);
		if (any && given && !is_given)
			continue;
		if (!any || (is_given && !given) || distance(&s, address) < distance(ret_storage, address))
			*ret_storage = s;
		any = true;
		given |= is_given;
	}
	return any;
}

// The first listed thread whose access is in no storage; else the first that has an address. *ret_n: threads with one; *ret_n_outside of them.
static const struct ct_lane *choose(const struct ct_incident *in, uint64_t *ret_n, uint64_t *ret_n_outside)
{
	const struct ct_group *g = &in->gpu.groups[0];
	const struct ct_lane *first = NULL, *outside = NULL;
	*ret_n = *ret_n_outside = 0;
	for (size_t i = 0; i < g->n_lanes; i++) {
		const struct ct_lane *l = &g->lanes[i];
		if (!l->has_address)
			continue;
		++*ret_n;
		first = first ? first : l;
		if (in_any(in, l->address, g->access_bytes))
			continue;
		++*ret_n_outside;
		outside = outside ? outside : l;
	}
	return outside ? outside : first;
}

// The pointer that the address starts from, as likely as not: the greatest that is not above it.
static const struct ct_argument *pointer_below(const struct ct_incident *in, uint64_t address)
{
	const struct ct_argument *best = NULL;
	for (size_t i = 0; i < in->gpu.n_arguments; i++) {
		const struct ct_argument *a = &in->gpu.arguments[i];
		uint64_t pointer = ct_explain_address_of(a);
		if (pointer && pointer <= address && (!best || pointer > ct_explain_address_of(best)))
			best = a;
	}
	return best;
}

static const struct ct_lane *farthest(const struct ct_group *g)
{
	const struct ct_lane *best = NULL;
	for (size_t i = 0; i < g->n_lanes; i++)
		if (g->lanes[i].has_address && (!best || g->lanes[i].address > best->address))
			best = &g->lanes[i];
	return best;
}

static void relate_to_storage(struct ct_incident *in, struct ct_fault_address *f, const struct storage *s)
{
	struct ct_arena *arena = &in->arena;
	f->tensor = s->tensor->name;
	if (holds(s, f->address, f->access_bytes)) {
		f->where = "inside";
		f->bytes = f->address - s->start;
		f->text = ct_arena_printf(arena, "%" PRIu64 " bytes into the storage of %s", f->bytes, f->tensor);
	} else if (f->address < s->start) {
		f->where = "before";
		f->bytes = s->start - f->address;
		f->text = ct_arena_printf(arena, "%" PRIu64 " bytes before the storage of %s", f->bytes, f->tensor);
	} else {
		f->where = "beyond";
		f->bytes = f->address < s->end ? 0 : f->address - s->end;  // 0 too when it begins inside
		f->text = f->address < s->end ? ct_arena_printf(arena, "it reaches over the end of %s's storage", f->tensor)
					      : ct_arena_printf(arena, "%" PRIu64 " bytes beyond the end of %s's storage", f->bytes, f->tensor);
	}
}

static void relate_to_argument(struct ct_incident *in, struct ct_fault_address *f, const struct ct_lane *lane)
{
	const struct ct_argument *a = pointer_below(in, lane->address);
	f->address = lane->address;
	f->at = lane->at;
	if (!a)
		return;
	f->where = "from argument";
	f->has_argument = true;
	f->argument = a->index;
	f->bytes = f->address - ct_explain_address_of(a);
	f->text = ct_arena_printf(&in->arena, "%" PRIu64 " bytes behind where argument %" PRIu32 " points, the farthest of the threads", f->bytes, f->argument);
}

void ct_explain_address(struct ct_incident *in)
{
	struct ct_fault_address f = {.present = true};
	struct storage s;
	if (in->gpu.n_groups == 0 || in->fault_address.present)
		return;
	const struct ct_group *g = &in->gpu.groups[0];
	const struct ct_lane *lane = choose(in, &f.n_threads, &f.n_outside);
	if (!lane)
		return;
	f.address = lane->address;
	f.at = lane->at;
	f.access = g->access;
	f.access_bytes = g->access_bytes;  // 0: not known, and any access is one byte long at least
	if (nearest(in, f.address, &s)) {
		// Two tensors may share memory: the one that holds the access says more than one that ends there.
		for (size_t i = 0; i < in->n_tensors && !holds(&s, f.address, f.access_bytes); i++) {
			struct storage other;
			if (storage_of(&in->tensors[i], &other) && holds(&other, f.address, f.access_bytes))
				s = other;
		}
		relate_to_storage(in, &f, &s);
	} else {
		f.n_outside = 0;  // nothing is known to be outside of
		relate_to_argument(in, &f, farthest(g));
	}
	in->fault_address = f;
}

const char *ct_explain_beyond(struct ct_incident *in)
{
	const struct ct_fault_address *f = &in->fault_address;
	struct storage s;
	if (!f->present || !f->tensor || !f->where || !f->text || strcmp(f->where, "beyond") != 0 || !nearest(in, f->address, &s) || !is_argument(in, &s))
		return NULL;
	if (f->bytes > s.end - s.start)  // as far off as anything may lead
		return NULL;
	return ct_arena_printf(&in->arena, "thread (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") of block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") %s %" PRIu32 " byte%s at 0x%" PRIx64
			       ": %s (%" PRIu64 " bytes)", f->at.thread.x, f->at.thread.y, f->at.thread.z, f->at.block.x, f->at.block.y, f->at.block.z,
			       f->access && strcmp(f->access, "store") == 0 ? "stores" : "loads", f->access_bytes, f->access_bytes == 1 ? "" : "s", f->address, f->text, s.end - s.start);
}
