// What the options leave to the terminal: colour and width.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

bool ct_cli_want_color(const struct ct_options *options, int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	if (options->color != CT_COLOR_AUTO)
		return options->color == CT_COLOR_ALWAYS;
	return isatty(fd) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

unsigned ct_cli_width(const struct ct_options *options, int fd)
{
	struct winsize size;
	if (options->width)
		return options->width;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
