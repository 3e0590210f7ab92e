// render/grid.h: every block of any grid is in one cell, and a cell is filled when one of its blocks is meant.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/base.h"
#include "render/grid.h"
#include "unit.h"

static const struct ct_dim3 dims[] = {
	{1, 1, 1},   {7, 1, 1},   {32, 1, 1},   {33, 1, 1},  {1000, 1, 1}, {4096, 1, 1}, {4097, 1, 1}, {100000, 1, 1}, {64, 64, 1},
	{65, 3, 1},  {3, 65, 1},  {1, 1, 70},   {5, 6, 7},   {200, 130, 2}, {1, 1000, 1}, {16, 16, 4}, {129, 1, 2},
};

static void test_cells_hold_every_position_once(void)
{
	for (size_t i = 0; i < CT_COUNT(dims); i++) {
		for (int warps = 0; warps < 2; warps++) {
			struct ct_grid g;
			CU_ASSERT_TRUE_FATAL(ct_grid_layout(dims[i], warps, &g));
			CU_ASSERT_TRUE(g.columns >= 1 && g.columns <= CT_GRID_SIDE && g.rows >= 1 && g.rows <= CT_GRID_SIDE);
			uint64_t total = 0;
			for (unsigned row = 0; row < g.rows; row++)
				for (unsigned column = 0; column < g.columns; column++)
					total += ct_grid_cell_size(&g, column, row);
			CU_ASSERT_EQUAL(total, (uint64_t)dims[i].x * dims[i].y * dims[i].z);
			CU_ASSERT_EQUAL(total, g.total);
		}
	}
}

static struct ct_dim3 at(struct ct_dim3 d, uint64_t linear)
{
	return (struct ct_dim3){.x = (uint32_t)(linear % d.x), .y = (uint32_t)(linear / d.x % d.y), .z = (uint32_t)(linear / d.x / d.y)};
}

// The cell that a position is in, worked out the plain way.
static bool in_cell(const struct ct_grid *g, uint64_t linear, unsigned column, unsigned row)
{
	return linear % g->width / g->cell_x == column && linear / g->width / g->cell_y == row;
}

static void check_run(const struct ct_grid *g, uint64_t a, uint64_t b)
{
	struct ct_dim3_run run = {.first = at(g->dim, a), .last = at(g->dim, b), .count = b - a + 1};
	for (unsigned row = 0; row < g->rows; row++) {
		for (unsigned column = 0; column < g->columns; column++) {
			bool expected = false;
			for (uint64_t n = a; n <= b && !expected; n++)
				expected = in_cell(g, n, column, row);
			CU_ASSERT_EQUAL(ct_grid_cell_hit(g, &run, 1, column, row), expected);
		}
	}
}

static void test_cells_are_hit_by_their_positions_alone(void)
{
	static const struct ct_dim3 small[] = {{7, 1, 1}, {70, 1, 1}, {65, 3, 1}, {3, 65, 1}, {5, 3, 2}, {129, 1, 2}};
	for (size_t i = 0; i < CT_COUNT(small); i++) {
		struct ct_grid g;
		CU_ASSERT_TRUE_FATAL(ct_grid_layout(small[i], false, &g));
		for (uint64_t a = 0; a < g.total; a += 1 + g.total / 9)
			for (uint64_t b = a; b < g.total; b += 1 + g.total / 7)
				check_run(&g, a, b);
	}
}

static void test_cells_know_their_ends(void)
{
	struct ct_grid g;
	CU_ASSERT_TRUE_FATAL(ct_grid_layout((struct ct_dim3){129, 4, 1}, false, &g));
	CU_ASSERT_EQUAL(g.cell_x, 3);
	struct ct_dim3 first = ct_grid_cell_first(&g, 1, 2), last = ct_grid_cell_last(&g, 42, 3);
	CU_ASSERT_TRUE(first.x == 3 && first.y == 2 && first.z == 0);
	CU_ASSERT_TRUE(last.x == 128 && last.y == 3 && last.z == 0);
}

static void test_a_line_of_a_block_is_a_warp(void)
{
	struct ct_grid g;
	CU_ASSERT_TRUE(ct_grid_layout((struct ct_dim3){64, 2, 1}, true, &g) && g.columns == 32 && g.rows == 4 && g.cell_x == 1);
	CU_ASSERT_TRUE(ct_grid_layout((struct ct_dim3){1024, 1, 1}, true, &g) && g.columns == 32 && g.rows == 32);
	CU_ASSERT_TRUE(ct_grid_layout((struct ct_dim3){5, 1, 1}, true, &g) && g.columns == 5 && g.rows == 1);
}

static void test_sizes_beyond_all_bounds(void)
{
	struct ct_grid g = {.total = 42};
	const uint32_t most = UINT32_MAX;
	CU_ASSERT_FALSE(ct_grid_layout((struct ct_dim3){most, most, most}, false, &g));
	CU_ASSERT_FALSE(ct_grid_layout((struct ct_dim3){0, 1, 1}, false, &g));
	CU_ASSERT_FALSE(ct_grid_layout((struct ct_dim3){1, 1, 0}, true, &g));
	CU_ASSERT_EQUAL(g.total, 42);
	// The largest that passes: 2^64 - 2^33 + 1 positions.
	for (int warps = 0; warps < 2; warps++) {
		CU_ASSERT_TRUE_FATAL(ct_grid_layout((struct ct_dim3){most, most, 1}, warps, &g));
		struct ct_dim3_run run = {.first = {most - 1, most - 1, 0}, .last = {most - 1, most - 1, 0}, .count = 1};
		unsigned hits = 0;
		for (unsigned row = 0; row < g.rows; row++)
			for (unsigned column = 0; column < g.columns; column++)
				hits += ct_grid_cell_hit(&g, &run, 1, column, row);
		CU_ASSERT_EQUAL(hits, 1);
	}
}

static void test_runs_outside_the_grid_count_for_nothing(void)
{
	struct ct_grid g;
	struct ct_dim3_run runs[] = {
		{.first = {8, 0, 0}, .last = {8, 0, 0}, .count = 1},  // past the end
		{.first = {5, 0, 0}, .last = {2, 0, 0}, .count = 1},  // backwards
	};
	CU_ASSERT_TRUE_FATAL(ct_grid_layout((struct ct_dim3){8, 1, 1}, false, &g));
	for (unsigned column = 0; column < g.columns; column++)
		CU_ASSERT_FALSE(ct_grid_cell_hit(&g, runs, 2, column, 0));
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"cells hold every position once", test_cells_hold_every_position_once},
		{"cells are hit by their positions alone", test_cells_are_hit_by_their_positions_alone},
		{"cells know their ends", test_cells_know_their_ends},
		{"a line of a block is a warp", test_a_line_of_a_block_is_a_warp},
		{"sizes beyond all bounds", test_sizes_beyond_all_bounds},
		{"runs outside the grid count for nothing", test_runs_outside_the_grid_count_for_nothing},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("grid", tests);
}
