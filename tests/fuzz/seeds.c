// seeds DIR: what the fuzzers of dumps and code images start from, small: forged dumps into DIR/gpucore, code images of the recorded dumps, each
// behind the 8 bytes of a PC in it, into DIR/cubin.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "dumps.h"
#include "forge.h"

static void write_seed(const char *dir, const char *kind, const char *name, const void *head, size_t head_size, const void *bytes, size_t size)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", dir, kind);
	if (mkdir(path, 0755) != 0 && errno != EEXIST) {
		perror(path);
		exit(1);
	}
	snprintf(path, sizeof path, "%s/%s/%s", dir, kind, name);
	FILE *out = fopen(path, "w");
	if (!out || fwrite(head, 1, head_size, out) != head_size || fwrite(bytes, 1, size, out) != size || fclose(out) != 0) {
		perror(path);
		exit(1);
	}
}

// Asserts, exceptions, traps' likes; one SM and several; sections in both ways of counting.
static void forge_seeds(const char *dir)
{
	static const uint32_t exceptions[] = {0, 1, 5, 6, 12, 14, 17, 99};
	for (size_t i = 0; i < CT_COUNT(exceptions); i++) {
		struct forge f;
		char name[32];
		forge_start(&f, 1 + (uint32_t)i % 3);
		for (uint32_t block = 0; block <= i % 4; block++)
			forge_warp(&f, block % (1 + (uint32_t)i % 3), block, 1 + (uint32_t)i * 4 % 32, 0x1000 + 16 * block, exceptions[i], i % 2 ? 0x1000 : 0);
		for (uint32_t piece = 0; piece < i % 4; piece++)  // of memory: neighbours, and one inside the other
			f.sections[forge_add(&f, piece % 2 ? CT_CORE_MANAGED_MEM : CT_CORE_GLOBAL_MEM, 0, 0, "0123456789abcdef", 16, 0)].sh_addr = 0x2000 + 16 * piece - 8 * (piece == 2);
		forge_finish(&f, i % 2 == 1);
		snprintf(name, sizeof name, "forged-%zu", i);
		write_seed(dir, "gpucore", name, "", 0, f.bytes, f.size);
		forge_done(&f);
	}
}

struct pcs {
	uint64_t pc;
};

static bool first_lane(void *context, const struct ct_gpucore_lane *lane)
{
	struct pcs *p = context;
	p->pc = lane->has_error_pc ? lane->error_pc : lane->pc;
	return false;
}

static void image_seeds(const char *dir)
{
	enum { SMALL = 40 * 1024 };
	for (size_t i = 0; i < n_dumps; i++) {
		CT_AUTO(ct_gpucore_auto) struct ct_gpucore *core = dump_open(dump_names[i]);
		struct pcs p = {0};
		ct_gpucore_each_lane(core, first_lane, &p);
		for (size_t k = 0; k < ct_gpucore_n_modules(core); k++) {
			const uint8_t *bytes;
			size_t size;
			char name[80];
			if (!ct_gpucore_image(core, ct_gpucore_module(core, k), &bytes, &size) || size > SMALL)
				continue;
			snprintf(name, sizeof name, "%s-%zu", dump_names[i], k);
			write_seed(dir, "cubin", name, &p.pc, sizeof p.pc, bytes, size);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: seeds DIR\n");
		return 2;
	}
	forge_seeds(argv[1]);
	image_seeds(argv[1]);
	return 0;
}
