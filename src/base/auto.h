// Clean-up at the end of a scope, so that an early return is always right.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_AUTO_H
#define CT_AUTO_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// CT_AUTO(ct_auto_close) int fd = open(...);   hand over with `fd = -1`.
#define CT_AUTO(function) __attribute__((cleanup(function)))

static inline void ct_auto_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void ct_auto_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void ct_auto_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void ct_auto_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#endif
