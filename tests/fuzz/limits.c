// See limits.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "limits.h"

#include <stdio.h>
#include <stdlib.h>

// sanitizer/allocator_interface.h of compiler-rt; weak, because only a sanitizer brings them.
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t), void (*on_free)(const volatile void *)) __attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void *p) __attribute__((weak));

// The largest part of the floor: the counters of 64 groups of lanes, 11 KB each.
enum { FLOOR = 1536 * 1024, TIMES = 4 };

static struct {
	int installed;
	size_t live, most;
} memory;

static void on_malloc(const volatile void *p, size_t size)
{
	(void)p;
	memory.live += size;
	if (memory.live > memory.most)
		memory.most = memory.live;
}

static void on_free(const volatile void *p)
{
	if (p)
		memory.live -= __sanitizer_get_allocated_size(p);
}

void ct_fuzz_limits_begin(void)
{
	if (!memory.installed && __sanitizer_install_malloc_and_free_hooks)
		__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
	memory.installed = 1;
	memory.live = memory.most = 0;
}

void ct_fuzz_limits_end(size_t size)
{
	// What was allocated before and freed in between makes live wrap around; then it says nothing.
	if (memory.most <= (size_t)1 << 40 && memory.most > FLOOR + TIMES * size) {
		fprintf(stderr, "%zu bytes of memory for an input of %zu\n", memory.most, size);
		abort();
	}
}
