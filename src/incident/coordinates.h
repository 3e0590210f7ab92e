// Where threads of a grid are: in software and in hardware. Part of incident.h, which includes it.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_INCIDENT_COORDINATES_H
#define CT_INCIDENT_COORDINATES_H

#include <stdint.h>

struct ct_dim3 {
	uint32_t x, y, z;
};

struct ct_gridpos {  // software coordinates
	struct ct_dim3 block, thread;
};

struct ct_hwpos {  // hardware coordinates; they mean nothing to most readers, and everything to some
	uint32_t device, sm, warp, lane;
};

// first..last in x-fastest order, all of them: count = distance + 1.
struct ct_dim3_run {
	struct ct_dim3 first, last;
	uint64_t count;
};

#endif
