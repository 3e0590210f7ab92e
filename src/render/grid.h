// Positions in a grid of blocks, or in a block of threads, laid out in at most 64 x 64 cells. Private to render/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RENDER_GRID_H
#define CT_RENDER_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "incident/incident.h"

enum { CT_GRID_SIDE = 64, CT_WARP_LANES = 32 };

// The positions of an extent in x-fastest order, broken into lines of `width`; a cell stands for cell_x of them in each of cell_y lines.
struct ct_grid {
	struct ct_dim3 dim;
	uint64_t total;           // positions
	uint64_t width, lines;    // of the layout; the last line may be short
	uint64_t cell_x, cell_y;  // positions that a cell spans
	unsigned columns, rows;   // cells
};

// How to draw an extent: lines of a warp's 32 lanes for the threads of a block; a grid of more than one dimension with x across and y
// (and z) down; else lines as long as look well. False when a dimension is zero or their product passes 64 bits.
bool ct_grid_layout(struct ct_dim3 dim, bool warps, struct ct_grid *ret_grid);

// Positions that the cell stands for; 0 for the ones past the end of a short last line.
uint64_t ct_grid_cell_size(const struct ct_grid *grid, unsigned column, unsigned row);
// Whether any position of the cell is in one of the runs. Runs that leave the extent count for nothing.
bool ct_grid_cell_hit(const struct ct_grid *grid, const struct ct_dim3_run *runs, size_t n, unsigned column, unsigned row);
// The first position of a cell, or the last one that it stands for.
struct ct_dim3 ct_grid_cell_first(const struct ct_grid *grid, unsigned column, unsigned row);
struct ct_dim3 ct_grid_cell_last(const struct ct_grid *grid, unsigned column, unsigned row);

#endif
