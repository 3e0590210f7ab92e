// What a word can become: commands, kernels, blocks and threads that exist, types, files.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "shell/shell_priv.h"

struct candidates {
	struct ct_arena *arena;
	const char *word;
	const char **rows;
	size_t n;
};

static void offer(struct candidates *c, const char *text)
{
	if (!ct_starts_with(text, c->word))
		return;
	c->rows = ct_arena_grow(c->arena, c->rows, &c->n, sizeof *c->rows);
	c->rows[c->n - 1] = ct_arena_strdup(c->arena, text);
}

static void offer_dim3(struct candidates *c, struct ct_dim3 d)
{
	char text[64];
	// Formatted on the stack first: of 270,336 threads few are kept.
	snprintf(text, sizeof text, "%" PRIu32 ",%" PRIu32 ",%" PRIu32, d.x, d.y, d.z);
	offer(c, text);
}

static void offer_commands(struct candidates *c)
{
	struct ct_shell_help help;
	for (size_t i = 0; ct_shell_help_at(i, &help); i++)
		offer(c, help.name);
}

static void offer_blocks(const struct ct_shell *s, struct candidates *c)
{
	const struct ct_gpucore_lane *from = s->has_focus ? &s->index.lanes[s->focus] : s->index.n_lanes ? &s->index.lanes[0] : NULL;
	for (size_t i = 0; from && i < s->index.n_blocks; i++) {
		const struct ct_gpucore_lane *l = &s->index.lanes[s->index.blocks[i].first];
		if (l->device == from->device && l->grid_id == from->grid_id)
			offer_dim3(c, l->at.block);
	}
}

static void offer_threads(const struct ct_shell *s, struct candidates *c, const char *block_word)
{
	const struct ct_gpucore_lane *from = s->has_focus ? &s->index.lanes[s->focus] : s->index.n_lanes ? &s->index.lanes[0] : NULL;
	struct ct_shell_block found;
	struct ct_dim3 block;
	if (!from || !ct_shell_parse_dim3(block_word, &block) || !ct_shell_find_block(&s->index, from->device, from->grid_id, block, &found))
		return;
	for (size_t i = 0; i < found.count; i++)
		offer_dim3(c, s->index.lanes[found.first + i].at.thread);
}

static void offer_kernels(struct ct_shell *s, struct candidates *c)
{
	struct ct_gpucore_grid grid;
	for (size_t i = 0; s->core && i < ct_gpucore_n_grids(s->core); i++) {
		const char *name = ct_gpucore_kernel(s->core, i, c->arena, NULL);
		const char *word = name ? ct_render_kernel_word(c->arena, name) : NULL;
		bool twice = false;
		for (size_t k = 0; word && k < c->n; k++)
			twice |= strcmp(c->rows[k], word) == 0;
		if (word && !twice)
			offer(c, word);
		if (ct_gpucore_grid(s->core, i, &grid))
			offer(c, ct_arena_printf(c->arena, "%" PRIu64, grid.grid_id));
	}
}

static void offer_arguments(struct ct_shell *s, struct candidates *c)
{
	struct ct_cubin_params params;
	size_t grid;
	if (!s->has_focus || !ct_shell_grid_of(s, &s->index.lanes[s->focus], &grid) || !ct_gpucore_kernel(s->core, grid, c->arena, &params))
		return;
	for (size_t i = 0; i < params.n_rows; i++)
		if (params.rows[i].size_bytes == 8)
			offer(c, ct_arena_printf(c->arena, "arg%zu", i));
}

// A name for each tensor, once.
static void offer_tensors(const struct ct_shell *s, struct candidates *c)
{
	const char *name;
	for (size_t i = 0; (name = ct_shell_tensor_name(s, i)); i++) {
		bool twice = false;
		for (size_t k = 0; k < i && !twice; k++)
			twice = strcmp(ct_shell_tensor_name(s, k), name) == 0;
		if (!twice)
			offer(c, name);
	}
}

static void offer_second(struct ct_shell *s, struct candidates *c, const char *command)
{
	if (strcmp(command, "help") == 0)
		offer_commands(c);
	else if (strcmp(command, "thread") == 0)
		offer_blocks(s, c);
	else if (strcmp(command, "kernel") == 0)
		offer_kernels(s, c);
	else if (strcmp(command, "mem") == 0)
		offer_arguments(s, c);
	else if (strcmp(command, "tensor") == 0 || strcmp(command, "tensors") == 0)
		offer_tensors(s, c);
	else if (strcmp(command, "python") == 0)
		offer(c, "locals");
	else if (strcmp(command, "report") == 0)
		offer(c, "save");
	else if (strcmp(command, "threads") == 0)
		offer(c, "all");
	else if (strcmp(command, "host") == 0) {
		offer(c, "all");
		offer(c, "full");
	}
}

static void offer_third(struct ct_shell *s, struct candidates *c, char **words, bool *ret_files)
{
	const char *type;
	if (strcmp(words[0], "thread") == 0)
		offer_threads(s, c, words[1]);
	else if (strcmp(words[0], "mem") == 0)
		for (size_t i = 0; (type = ct_shell_mem_type(i)); i++)
			offer(c, type);
	else if (strcmp(words[0], "report") == 0)
		*ret_files = strcmp(words[1], "save") == 0;
}

size_t ct_shell_complete(struct ct_shell *shell, struct ct_arena *arena, const char *before, const char *word, const char ***ret_words, bool *ret_files)
{
	struct candidates c = {.arena = arena, .word = word};
	char **words = NULL;
	size_t n = 0;
	*ret_files = false;
	if (!ct_cli_split(arena, before, &words, &n, NULL))
		n = SIZE_MAX;  // in the middle of a quote
	if (n == 0)
		offer_commands(&c);
	else if (n == 1)
		offer_second(shell, &c, words[0]);
	else if (n == 2)
		offer_third(shell, &c, words, ret_files);
	*ret_words = c.rows;
	return c.n;
}
