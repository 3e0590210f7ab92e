// cudatrap: subcommands.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>

int main(void)
{
	puts("cudatrap " CT_VERSION);
	return 0;
}
