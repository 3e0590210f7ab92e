// The failing blocks and threads as pictures: outlined cells, filled where something failed; see html_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>

#include "render/grid.h"
#include "render/html_priv.h"
#include "render/text_priv.h"

enum { CELL = 10, PITCH = 12, DENSE_COLUMNS = 32, DENSE_PITCH = 8 };  // pixels; the last when there are more columns

struct picture {
	const char *id, *unknown_id;  // of the patterns in the document
	const char *one, *many;
	const struct ct_dim3_run *runs;
	size_t n_runs;
	bool cut;
	struct ct_grid grid;
	bool warps;  // a line is a warp
	const char *verb;  // "failed"
};

// Where a cell's positions are, in words: "block (4,0,0)", "blocks (0,0,0) to (15,0,0)".
static void segment_title(struct ct_markup *m, const struct picture *p, unsigned from, unsigned to, unsigned row)
{
	struct ct_dim3 a = ct_grid_cell_first(&p->grid, from, row), b = ct_grid_cell_last(&p->grid, to, row);
	char text[192];
	bool single = a.x == b.x && a.y == b.y && a.z == b.z;
	if (single)
		snprintf(text, sizeof text, "%s (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")", p->one, a.x, a.y, a.z);
	else
		snprintf(text, sizeof text, "%s (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") to (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")%s", p->many, a.x, a.y, a.z, b.x, b.y,
			 b.z, p->grid.cell_x * p->grid.cell_y > 1 ? ", at least one in each cell" : "");
	ct_markup_element(m, "title", NULL, text);
}

static bool is_hit(const struct picture *p, unsigned column, unsigned row)
{
	return ct_grid_cell_size(&p->grid, column, row) && ct_grid_cell_hit(&p->grid, p->runs, p->n_runs, column, row);
}

// Neighbours in a line are one path, with one title.
static void draw_hits(struct ct_page *page, struct ct_markup *m, const struct picture *p)
{
	for (unsigned row = 0; row < p->grid.rows; row++) {
		for (unsigned column = 0; column < p->grid.columns; column++) {
			if (!is_hit(p, column, row))
				continue;
			CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
			unsigned from = column;
			for (; column < p->grid.columns && is_hit(p, column, row); column++)
				ct_str_addf(&path, "M%u %uh%dv%dh-%dz", column * PITCH + 1, row * PITCH + 1, CELL, CELL, CELL);
			ct_markup_element(m, "path", "hit", NULL);
			ct_markup_attr(m, "d", ct_arena_strdup(&page->arena, ct_str_text(&path)));
			segment_title(m, p, from, column - 1, row);
			ct_markup_close(m);
		}
	}
}

static void draw_rect(struct ct_markup *m, const char *pattern, unsigned column, unsigned row, unsigned columns, unsigned rows)
{
	if (!columns || !rows)
		return;
	ct_markup_open(m, "rect");
	ct_markup_attrf(m, "x", "%u", column * PITCH);
	ct_markup_attrf(m, "y", "%u", row * PITCH);
	ct_markup_attrf(m, "width", "%u", columns * PITCH);
	ct_markup_attrf(m, "height", "%u", rows * PITCH);
	ct_markup_attrf(m, "fill", "url(#%s)", pattern);
	ct_markup_void(m);
}

// The cells [from, to), counted line by line: the rest of a line, whole lines, the beginning of one.
static void draw_cells(struct ct_markup *m, const struct picture *p, const char *pattern, unsigned from, unsigned to)
{
	unsigned columns = p->grid.columns, row = from / columns, first = from % columns;
	if (first && from < to) {
		unsigned end = to < (row + 1) * columns ? to : (row + 1) * columns;
		draw_rect(m, pattern, first, row++, end - from, 1);
		from = end;
	}
	if (from >= to)
		return;
	unsigned whole = (to - from) / columns;
	draw_rect(m, pattern, 0, row, columns, whole);
	draw_rect(m, pattern, 0, row + whole, (to - from) % columns, 1);
}

static unsigned count_cells(const struct picture *p)
{
	unsigned n = p->grid.rows * p->grid.columns;
	while (n && !ct_grid_cell_size(&p->grid, (n - 1) % p->grid.columns, (n - 1) / p->grid.columns))
		n--;
	return n;
}

// Runs are in ascending order: of a list that was cut, nothing is known behind its end.
static unsigned count_known(const struct picture *p, unsigned n_cells)
{
	while (p->cut && n_cells && !is_hit(p, (n_cells - 1) % p->grid.columns, (n_cells - 1) / p->grid.columns))
		n_cells--;
	return n_cells;
}

static void open_pattern(struct ct_markup *m, const char *id)
{
	ct_markup_open(m, "pattern");
	ct_markup_attr(m, "id", id);
	ct_markup_attrf(m, "width", "%d", PITCH);
	ct_markup_attrf(m, "height", "%d", PITCH);
	ct_markup_attr(m, "patternUnits", "userSpaceOnUse");
}

static void draw_all(struct ct_markup *m, const struct picture *p)
{
	unsigned n = count_cells(p), known = count_known(p, n);
	open_pattern(m, p->id);
	ct_markup_element(m, "rect", "idle", NULL);
	ct_markup_attr(m, "x", "1.5");
	ct_markup_attr(m, "y", "1.5");
	ct_markup_attrf(m, "width", "%d", CELL - 1);
	ct_markup_attrf(m, "height", "%d", CELL - 1);
	ct_markup_void(m);
	ct_markup_close(m);
	if (known < n) {
		open_pattern(m, p->unknown_id);
		ct_markup_element(m, "circle", "unknown", NULL);
		ct_markup_attrf(m, "cx", "%d", PITCH / 2);
		ct_markup_attrf(m, "cy", "%d", PITCH / 2);
		ct_markup_attr(m, "r", "1");
		ct_markup_void(m);
		ct_markup_close(m);
	}
	draw_cells(m, p, p->id, 0, known);
	draw_cells(m, p, p->unknown_id, known, n);
}

static const char *dim_text(struct ct_page *page, struct ct_dim3 d)
{
	if (d.z > 1)
		return ct_arena_printf(&page->arena, "%" PRIu32 " x %" PRIu32 " x %" PRIu32, d.x, d.y, d.z);
	return d.y > 1 ? ct_arena_printf(&page->arena, "%" PRIu32 " x %" PRIu32, d.x, d.y) : ct_arena_printf(&page->arena, "%" PRIu32, d.x);
}

// How positions map to cells, as far as it is not plain.
static void write_key(struct ct_page *page, struct ct_markup *m, const struct picture *p)
{
	const struct ct_grid *g = &p->grid;
	uint64_t each = g->cell_x * g->cell_y;
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	ct_str_addf(&s, "Filled: %s. ", p->verb);
	if (each > 1)
		ct_str_addf(&s, "Each cell stands for %s, filled when it has at least one. ", ct_text_count(&page->arena, each, p->one, p->many));
	if (p->warps && each == 1 && g->rows > 1)
		ct_str_add(&s, "A line is a warp of 32 lanes.");
	else if (g->rows > 1 && g->dim.y == 1 && g->dim.z == 1)
		ct_str_add(&s, "x runs line by line.");
	else if (!p->warps && g->dim.z > 1)
		ct_str_add(&s, "x runs across, y down, and z after y.");
	else if (!p->warps && g->dim.y > 1)
		ct_str_add(&s, "x runs across, y down.");
	if (p->cut)
		ct_str_add(&s, " Dots: not recorded, there are more ranges than the report lists.");
	ct_markup_element(m, "span", "key", ct_str_text(&s));
}

static void draw(struct ct_page *page, const struct picture *p, const char *caption)
{
	struct ct_markup *m = &((struct ct_html *)page->state)->m;
	unsigned width = p->grid.columns * PITCH, height = p->grid.rows * PITCH;
	unsigned shown = p->grid.columns > DENSE_COLUMNS ? p->grid.columns * DENSE_PITCH : width;
	ct_markup_open(m, "figure");
	ct_markup_open(m, "figcaption");
	ct_markup_element(m, "strong", NULL, caption);
	ct_markup_text(m, " ");
	write_key(page, m, p);
	ct_markup_close(m);
	ct_markup_open(m, "svg");
	ct_markup_attr(m, "role", "img");
	ct_markup_attr(m, "aria-label", caption);
	ct_markup_attrf(m, "viewBox", "0 0 %u %u", width, height);
	ct_markup_attrf(m, "width", "%u", shown);
	draw_all(m, p);
	draw_hits(page, m, p);
	ct_markup_close(m);
	ct_markup_close(m);
}

static const char *verb_of(const struct ct_group *g)
{
	if (g && g->reason == CT_GROUP_RUNNING)
		return "running, at the place told first";
	return g && g->reason == CT_GROUP_TRAP_PC ? "standing at the trap" : "failed";
}

void ct_html_pictures(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	const struct ct_kernel *k = &in->gpu.kernel;
	if (!in->gpu.has_kernel || !k->has_dims)
		return;
	const struct ct_group *g = in->gpu.n_groups ? &in->gpu.groups[0] : NULL;
	const struct ct_assert *a = &in->assertion;
	const char *verb = verb_of(g);
	struct picture blocks = {.id = "blocks-idle", .unknown_id = "blocks-unknown", .one = "block", .many = "blocks", .verb = verb};
	struct picture threads = {.id = "threads-idle", .unknown_id = "threads-unknown", .one = "thread", .many = "threads", .verb = verb, .warps = true};
	blocks.runs = g ? g->block_runs : a->block_runs;
	blocks.n_runs = g ? g->n_block_runs : a->n_block_runs;
	blocks.cut = g ? g->block_runs_cut : a->block_runs_cut;
	threads.runs = g ? g->thread_runs : a->thread_runs;
	threads.n_runs = g ? g->n_thread_runs : a->n_thread_runs;
	threads.cut = g ? g->thread_runs_cut : a->thread_runs_cut;
	// A grid of one block is no picture.
	if (blocks.n_runs && ct_grid_layout(k->grid_dim, false, &blocks.grid) && blocks.grid.total > 1) {
		const char *n = g ? ct_text_count(&page->arena, g->n_blocks, "block", "blocks") : "Blocks";
		draw(page, &blocks, ct_arena_printf(&page->arena, "%s of a grid of %s.", n, dim_text(page, k->grid_dim)));
	}
	if (threads.n_runs && ct_grid_layout(k->block_dim, true, &threads.grid) && threads.grid.total > 1) {
		const char *over = g && g->n_blocks > 1 ? ", all such blocks laid over each other" : "";
		draw(page, &threads, ct_arena_printf(&page->arena, "Threads of a block of %s%s.", dim_text(page, k->block_dim), over));
	}
}
