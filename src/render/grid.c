// The layout of a grid in cells, and which of them are hit; see grid.h. Dimensions and runs are foreign numbers.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/grid.h"

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t divide_up(uint64_t n, uint64_t by)
{
	return n / by + (n % by != 0);
}

static bool product(struct ct_dim3 d, uint64_t *ret)
{
	uint64_t xy = (uint64_t)d.x * d.y;
	return xy && d.z && !__builtin_mul_overflow(xy, (uint64_t)d.z, ret);
}

// Lines of so many cells that the picture is neither a strip nor a tower.
static unsigned good_columns(uint64_t cells)
{
	return cells <= 32 ? (unsigned)cells : cells <= 1024 ? 32 : CT_GRID_SIDE;
}

static void lay_out_flat(struct ct_grid *g, uint64_t most_cells, unsigned columns)
{
	g->cell_x = divide_up(g->total, most_cells);
	g->cell_y = 1;
	uint64_t cells = divide_up(g->total, g->cell_x);
	if (!columns)
		columns = good_columns(cells);
	g->width = columns * g->cell_x;
	g->lines = divide_up(g->total, g->width);
}

bool ct_grid_layout(struct ct_dim3 dim, bool warps, struct ct_grid *ret_grid)
{
	struct ct_grid g = {.dim = dim};
	if (!product(dim, &g.total))
		return false;
	if (warps) {
		lay_out_flat(&g, (uint64_t)CT_GRID_SIDE * CT_WARP_LANES, g.total < CT_WARP_LANES ? (unsigned)g.total : CT_WARP_LANES);
	} else if (dim.y == 1 && dim.z == 1) {
		lay_out_flat(&g, (uint64_t)CT_GRID_SIDE * CT_GRID_SIDE, 0);
	} else {
		g.width = dim.x;
		g.lines = (uint64_t)dim.y * dim.z;
		g.cell_x = divide_up(g.width, CT_GRID_SIDE);
		g.cell_y = divide_up(g.lines, CT_GRID_SIDE);
	}
	g.columns = (unsigned)divide_up(g.width, g.cell_x);
	g.rows = (unsigned)divide_up(g.lines, g.cell_y);
	*ret_grid = g;
	return true;
}

// The linear positions in line `line` that the column spans: [*ret_first, *ret_end).
static bool span(const struct ct_grid *g, unsigned column, uint64_t line, uint64_t *ret_first, uint64_t *ret_end)
{
	uint64_t start = line * g->width, room = g->total - start;
	uint64_t from = column * g->cell_x, to = min_of(from + g->cell_x, g->width);
	*ret_first = start + min_of(from, room);
	*ret_end = start + min_of(to, room);
	return *ret_first < *ret_end;
}

static uint64_t first_line(const struct ct_grid *g, unsigned row)
{
	return row * g->cell_y;
}

static uint64_t end_line(const struct ct_grid *g, unsigned row)
{
	return min_of(first_line(g, row) + g->cell_y, g->lines);
}

uint64_t ct_grid_cell_size(const struct ct_grid *g, unsigned column, unsigned row)
{
	// Only a flat layout, one line a row, has a line that is short.
	uint64_t first, end;
	if (!span(g, column, first_line(g, row), &first, &end))
		return 0;
	return (end - first) * (end_line(g, row) - first_line(g, row));
}

static bool linear(const struct ct_grid *g, struct ct_dim3 p, uint64_t *ret)
{
	*ret = ((uint64_t)p.z * g->dim.y + p.y) * g->dim.x + p.x;
	return p.x < g->dim.x && p.y < g->dim.y && p.z < g->dim.z;
}

static bool line_hit(const struct ct_grid *g, unsigned column, uint64_t line, uint64_t a, uint64_t b)
{
	uint64_t first, end;
	return span(g, column, line, &first, &end) && a < end && b >= first;
}

bool ct_grid_cell_hit(const struct ct_grid *g, const struct ct_dim3_run *runs, size_t n, unsigned column, unsigned row)
{
	uint64_t from = first_line(g, row), to = end_line(g, row) - 1;
	for (size_t i = 0; i < n; i++) {
		uint64_t a, b;
		if (!linear(g, runs[i].first, &a) || !linear(g, runs[i].last, &b) || a > b)
			continue;
		uint64_t line_a = a / g->width, line_b = b / g->width;
		if (line_a > to || line_b < from)
			continue;
		// A line between the two ends is in the run as a whole.
		uint64_t low = line_a > from ? line_a : from, high = min_of(line_b, to);
		if (high - low >= 2 || line_hit(g, column, low, a, b) || line_hit(g, column, high, a, b))
			return true;
	}
	return false;
}

static struct ct_dim3 position(const struct ct_grid *g, uint64_t linear)
{
	uint64_t x = g->dim.x, y = g->dim.y;
	return (struct ct_dim3){.x = (uint32_t)(linear % x), .y = (uint32_t)(linear / x % y), .z = (uint32_t)(linear / x / y)};
}

struct ct_dim3 ct_grid_cell_first(const struct ct_grid *g, unsigned column, unsigned row)
{
	uint64_t first, end;
	span(g, column, first_line(g, row), &first, &end);
	return position(g, first);
}

struct ct_dim3 ct_grid_cell_last(const struct ct_grid *g, unsigned column, unsigned row)
{
	uint64_t first, end;
	span(g, column, end_line(g, row) - 1, &first, &end);
	return position(g, end - 1);
}
