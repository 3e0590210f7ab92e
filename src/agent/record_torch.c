// What PyTorch's autograd knows of a launch: its counter of nodes, and the node that is being evaluated. A backward launch runs in a thread
// of autograd's, without the program's Python frames; the number of its node leads to the forward launch, which has them.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/agent_priv.h"
#include "agent/record.h"

// A std::shared_ptr as it is returned: by memory, as C does with a structure of more than two words. The callee writes two.
struct returned {
	void *node, *control, *unused;
};

static struct {
	_Atomic(uint64_t (*)(void)) peek;                    // at::sequence_number::peek()
	_Atomic(struct returned (*)(void)) current_node;     // torch::autograd::get_current_node(); NULL in older versions
} torch;

void ct_record_find_torch(void)
{
	void *(*open_library)(const char *, int) = NULL;
	void *found = ct_agent_lookup("dlopen");
	memcpy(&open_library, &found, sizeof found);
	// Python loads it for itself alone, so that its names are not to be had by dlsym(RTLD_DEFAULT).
	void *library = open_library ? open_library("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD) : NULL;
	if (!library)
		return;
	uint64_t (*peek)(void) = NULL;
	struct returned (*current_node)(void) = NULL;
	found = ct_agent_lookup_in(library, "_ZN5torch8autograd16get_current_nodeEv");
	memcpy(&current_node, &found, sizeof found);
	atomic_store(&torch.current_node, current_node);
	found = ct_agent_lookup_in(library, "_ZN2at15sequence_number4peekEv");
	memcpy(&peek, &found, sizeof found);
	atomic_store(&torch.peek, peek);
}

// The reference that came with it is given back: in libstdc++ the count is an int behind the control block's vtable. Never the last one, for
// autograd holds one while the node is evaluated.
static void release(void *control)
{
	int *count = (int *)(void *)((char *)control + sizeof(void *));
	if (control && __atomic_load_n(count, __ATOMIC_RELAXED) > 1)
		__atomic_fetch_sub(count, 1, __ATOMIC_ACQ_REL);
}

bool ct_record_torch(struct ct_record_launch *row)
{
	uint64_t (*peek)(void) = atomic_load_explicit(&torch.peek, memory_order_relaxed);
	if (!peek)
		return false;
	row->torch_sequence = peek();
	row->flags |= CT_RECORD_SEQUENCE;
	struct returned (*current_node)(void) = atomic_load_explicit(&torch.current_node, memory_order_relaxed);
	struct returned node = current_node ? current_node() : (struct returned){.node = NULL};
	if (!node.node)
		return true;
	// Behind the vtable and the weak_ptr of enable_shared_from_this: sequence_nr_ (torch/csrc/autograd/function.h).
	memcpy(&row->node_sequence, (const char *)node.node + 24, sizeof row->node_sequence);
	row->flags |= CT_RECORD_NODE;
	release(node.control);
	return true;
}
