// As much of PyTorch as the recorder asks: the counter of autograd's nodes, and the node that is being evaluated, with its counted reference.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stddef.h>
#include <stdint.h>

struct returned {
	void *node, *control, *unused;
};

uint64_t _ZN2at15sequence_number4peekEv(void);
struct returned _ZN5torch8autograd16get_current_nodeEv(void);
void set_sequence(unsigned long next);
void set_node(unsigned long sequence);
int count_references(void);

static uint64_t counter;
static struct {
	void *vtable, *weak[2];
	uint64_t sequence;
} node;
static struct {
	void *vtable;
	int count;
} control = {.count = 1};

uint64_t _ZN2at15sequence_number4peekEv(void)
{
	return counter;
}

struct returned _ZN5torch8autograd16get_current_nodeEv(void)
{
	struct returned r = {NULL, NULL, NULL};
	if (node.vtable) {
		r.node = &node;
		r.control = &control;
		control.count++;
	}
	return r;
}

void set_sequence(unsigned long next)
{
	counter = next;
}

void set_node(unsigned long sequence)
{
	node.vtable = &node;
	node.sequence = sequence;
}

int count_references(void)
{
	return control.count;
}
