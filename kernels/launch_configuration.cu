// A block that is too large: the launch fails, no kernel runs, the driver waits for nobody.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernel.h"

__global__ void nothing()
{
}

int main()
{
	expect("kind", "none");
	nothing<<<1, 2048>>>();
	return finish();
}
