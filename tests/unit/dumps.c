// See dumps.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumps.h"

#include <lzma.h>

const char *const dump_names[] = {
	"address.dbg", "address.line", "address.rel", "assert.dbg", "assert.line", "assert.rel", "graph.rel", "many.rel", "misaligned.rel",
	"shared.rel", "spin.line", "stack.dbg", "stack.line", "stack.rel", "torch-cross-entropy-sm90", "trap.rel",
};
const size_t n_dumps = CT_COUNT(dump_names);

char *dump_path(char *buffer, size_t size, const char *name)
{
	snprintf(buffer, size, "%s/gpu-cores/%s.nvcore.xz", CT_TEST_DATA, name);
	return buffer;
}

static void give_up(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(99);
}

void data_read(const char *path, struct ct_str *ret_bytes)
{
	CT_AUTO(ct_auto_str) struct ct_str packed = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	char *chunk = ct_xrealloc(NULL, 1 << 20);
	if (!ct_read_file(path, 1 << 28, &packed, &err))
		give_up(err.text);
	lzma_stream z = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&z, UINT64_MAX, 0) != LZMA_OK)
		give_up("lzma");
	z.next_in = (const uint8_t *)packed.data;
	z.avail_in = packed.length;
	lzma_ret rc = LZMA_OK;
	while (rc == LZMA_OK) {
		z.next_out = (uint8_t *)chunk;
		z.avail_out = 1 << 20;
		rc = lzma_code(&z, LZMA_FINISH);
		ct_str_append(ret_bytes, chunk, (1 << 20) - z.avail_out);
	}
	lzma_end(&z);
	free(chunk);
	if (rc != LZMA_STREAM_END)
		give_up(path);
}

void dump_read(const char *name, struct ct_str *ret_bytes)
{
	char path[4096];
	data_read(dump_path(path, sizeof path, name), ret_bytes);
}

struct ct_gpucore *dump_open(const char *name)
{
	struct ct_gpucore *core = NULL;
	struct ct_error err = CT_ERROR_INIT;
	char path[4096];
	if (!ct_gpucore_open(dump_path(path, sizeof path, name), &core, &err))
		give_up(err.text);
	return core;
}

uint64_t dump_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);  // splitmix64
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}
