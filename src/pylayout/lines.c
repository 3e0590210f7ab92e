// From an instruction of a code object to its line: the three table formats of CPython 3.8 to 3.14.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "pylayout/pylayout.h"

// Lines of real code fit in 31 bits; deltas from a damaged table are added in 64 bits and cannot overflow there.
static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

// co_lnotab, up to 3.9 (Objects/lnotab_notes.txt): pairs of unsigned address and signed line steps.
static uint32_t line_of_lnotab(const uint8_t *table, size_t size, int64_t line, int64_t lasti)
{
	int64_t address = 0;
	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > lasti)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

// co_linetable of 3.10 (PEP 626): pairs of unsigned length and signed line step; step -128 is a range without a line.
static uint32_t line_of_linetable(const uint8_t *table, size_t size, int64_t line, int64_t lasti)
{
	// A frame that has not begun (lasti -1) stands on the first line.
	if (lasti < 0)
		return as_line(line);
	int64_t end = 0;
	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t step = (int8_t)table[i + 1];
		end += table[i];
		if (step != -128)
			line += step;
		if (lasti < end)
			return step == -128 ? 0 : as_line(line);
	}
	return 0;
}

// Six bits a byte, least first, bit 6 says that more follow. At most 10 bytes count; false at the end of the table.
static bool read_varint(const uint8_t *table, size_t size, size_t *at, uint64_t *ret_value)
{
	uint64_t value = 0;
	for (unsigned shift = 0; *at < size; shift += 6) {
		uint8_t byte = table[(*at)++];
		if (shift < 60)
			value |= (uint64_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40)) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static bool read_svarint(const uint8_t *table, size_t size, size_t *at, int64_t *ret_value)
{
	uint64_t value = 0;
	if (!read_varint(table, size, at, &value))
		return false;
	int64_t magnitude = (int64_t)(value >> 1 & INT32_MAX);
	*ret_value = value & 1 ? -magnitude : magnitude;
	return true;
}

// co_linetable of 3.11+ (Objects/locations.md in 3.11, InternalDocs/code_objects.md later): first byte 1ccccnnn, n + 1 code units.
static uint32_t line_of_locations(const uint8_t *table, size_t size, int64_t line, int64_t unit)
{
	int64_t end = 0;
	for (size_t at = 0; at < size;) {
		uint8_t first = table[at++];
		unsigned code = first >> 3 & 15;
		int64_t step = 0;
		uint64_t ignored;
		bool ok = true;
		if (code <= 9) {  // short: one byte of columns
			at += 1;
		} else if (code <= 12) {  // one line: two bytes of columns
			step = (int)code - 10;
			at += 2;
		} else if (code == 13) {  // no columns
			ok = read_svarint(table, size, &at, &step);
		} else if (code == 14) {  // long: line step, end line, two columns
			ok = read_svarint(table, size, &at, &step) && read_varint(table, size, &at, &ignored) &&
			     read_varint(table, size, &at, &ignored) && read_varint(table, size, &at, &ignored);
		}
		if (!ok)
			return 0;
		line += step;
		end += (first & 7) + 1;
		if (unit < end)
			return code == 15 ? 0 : as_line(line);
	}
	return 0;
}

uint32_t ct_py_line(enum ct_py_table kind, const uint8_t *table, size_t size, uint32_t firstlineno, int64_t instr)
{
	switch (kind) {
	case CT_PY_LNOTAB:
		return line_of_lnotab(table, size, firstlineno, instr);
	case CT_PY_LINETABLE:
		return line_of_linetable(table, size, firstlineno, instr);
	case CT_PY_LOCATIONS:
		return line_of_locations(table, size, firstlineno, instr);
	}
	return 0;
}
