// One of three libraries (WHO is 1, 2, 3) that all define who(); each can say which definition comes after its own.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dlfcn.h>
#include <string.h>

#define NEXT_OF_(n) next_of_##n
#define NEXT_OF(n) NEXT_OF_(n)

int who(void);
int NEXT_OF(WHO)(void);

int who(void)
{
	return WHO;
}

int NEXT_OF(WHO)(void)
{
	int (*next)(void) = NULL;
	void *found = dlsym(RTLD_NEXT, "who");
	memcpy(&next, &found, sizeof next);
	return next ? next() : 0;
}
