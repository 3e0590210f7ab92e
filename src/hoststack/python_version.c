// Which CPython a process runs, and so where it keeps things.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "hoststack/python_priv.h"

bool ct_py_layout_of_version(unsigned major, unsigned minor, struct ct_py_layout *ret_layout, struct ct_error *err)
{
	if (ct_pylayout_of_version(major, minor, ret_layout) == CT_PY_KNOWN)
		return true;
	return ct_fail(err, CT_UNAVAILABLE, "Python %u.%u: its structures are not known here (3.8 to 3.14 are)", major, minor);
}

bool ct_py_layout_of_debug_offsets(const void *bytes, size_t size, struct ct_py_layout *ret_layout, struct ct_error *err)
{
	struct ct_py_layout l = {0};
	switch (ct_pylayout_of_debug_offsets(bytes, size, &l)) {
	case CT_PY_KNOWN:
		*ret_layout = l;
		return true;
	case CT_PY_UNKNOWN:
		return ct_fail(err, CT_UNAVAILABLE, "Python %u.%u: its table of debug offsets is not known here (3.13 and 3.14 are)", l.major,
			       l.minor);
	case CT_PY_ABSURD:
		return ct_fail(err, CT_UNAVAILABLE, "Python %u.%u%s: its debug offsets make no sense", l.major, l.minor,
			       l.free_threaded ? "t" : "");
	case CT_PY_NO_TABLE:
		break;
	}
	return ct_fail(err, CT_NOT_FOUND, "no debug offsets at the start of _PyRuntime");
}

bool ct_py_layout_at(const struct ct_memory *memory, const struct ct_py_place *place, struct ct_py_layout *ret_layout, struct ct_error *err)
{
	uint8_t head[CT_PY_DEBUG_OFFSETS];
	// _PyRuntime is 13 KB at least in 3.13, so that all of these bytes exist; before 3.11 it is smaller.
	if (memory->read(memory->context, place->runtime, head, sizeof head) && memcmp(head, "xdebugpy", 8) == 0)
		return ct_py_layout_of_debug_offsets(head, sizeof head, ret_layout, err);
	uint64_t hex = 0;
	if (place->version_address && memory->read(memory->context, place->version_address, &hex, sizeof hex)) {
		if (!ct_py_layout_of_version((unsigned)(hex >> 24 & 0xff), (unsigned)(hex >> 16 & 0xff), ret_layout, err))
			return false;
		ret_layout->micro = (unsigned)(hex >> 8 & 0xff);
		ret_layout->has_micro = true;
		return true;
	}
	if (!place->major)
		return ct_fail(err, CT_UNAVAILABLE, "a Python whose version neither a symbol nor a file name tells");
	return ct_py_layout_of_version(place->major, place->minor, ret_layout, err);
}

const char *ct_py_version_text(struct ct_arena *arena, const struct ct_py_layout *layout)
{
	const char *t = layout->free_threaded ? "t" : "";
	if (layout->has_micro)
		return ct_arena_printf(arena, "%u.%u.%u%s", layout->major, layout->minor, layout->micro, t);
	return ct_arena_printf(arena, "%u.%u%s", layout->major, layout->minor, t);
}
