// grow_dump DUMP TIMES OUT: a GPU core dump with TIMES as many SMs, and so blocks, warps and lanes, as the given one (uncompressed, one device).
// The blocks of each copy have a z of their own, so that no two threads are the same. For what costs must be linear in.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpucore/format.h"

struct grow {
	const uint8_t *bytes;
	size_t size;
	const Elf64_Shdr *rows;
	uint64_t n_rows;
	uint64_t first, end;  // sections of the SMs: rows [first, end), everything below the SM table but that
	uint64_t sm_table;
	uint64_t n_sms;
	uint64_t times;
	FILE *out;
};

static void die(const char *what)
{
	fprintf(stderr, "grow_dump: %s\n", what);
	exit(1);
}

static unsigned type_of(const Elf64_Shdr *row)
{
	return row->sh_type - CT_CORE_LOUSER;
}

static bool is_of_an_sm(const struct grow *g, uint64_t i)
{
	switch (type_of(&g->rows[i])) {
	case CT_CORE_CTA_TABLE:
	case CT_CORE_WP_TABLE:
	case CT_CORE_LN_TABLE:
	case CT_CORE_BT:
	case CT_CORE_DEV_REGS:
	case CT_CORE_DEV_PRED:
	case CT_CORE_DEV_UREGS:
	case CT_CORE_DEV_UPRED:
	case CT_CORE_CBU_BAR:
	case CT_CORE_SHARED_MEM:
	case CT_CORE_LOCAL_MEM:
		return true;
	default:
		return false;
	}
}

static void map(struct grow *g, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		die("the dump cannot be read");
	g->size = (size_t)st.st_size;
	g->bytes = mmap(NULL, g->size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (g->bytes == MAP_FAILED)
		die("the dump cannot be mapped");
}

static void find_sections(struct grow *g)
{
	const Elf64_Ehdr *header = (const void *)g->bytes;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_shoff > g->size - sizeof(Elf64_Shdr))
		die("no dump, or a compressed one");
	g->rows = (const void *)(g->bytes + header->e_shoff);
	g->n_rows = header->e_shnum ? header->e_shnum : g->rows[0].sh_size;
	if (g->n_rows > (g->size - header->e_shoff) / sizeof *g->rows)
		die("the section table is cut");
	for (uint64_t i = 0; i < g->n_rows; i++) {
		if (type_of(&g->rows[i]) == CT_CORE_SM_TABLE)
			g->sm_table = g->sm_table ? (die("more than one device"), 0) : i;
		if (!is_of_an_sm(g, i))
			continue;
		g->first = g->first ? g->first : i;
		if (g->end && g->end != i)
			die("the sections of the SMs do not stand together");
		g->end = i + 1;
	}
	if (!g->sm_table || !g->first)
		die("no SMs");
	g->n_sms = g->rows[g->sm_table].sh_size / g->rows[g->sm_table].sh_entsize;
}

static void put(struct grow *g, const void *bytes, size_t size)
{
	if (fwrite(bytes, 1, size, g->out) != size)
		die("the disk is full");
}

static uint64_t place(const struct grow *g)
{
	return (uint64_t)ftello(g->out);
}

static void align(struct grow *g)
{
	static const uint8_t zeros[8];
	put(g, zeros, (8 - place(g) % 8) % 8);
}

// The SM table once more for each copy, with ids that go on.
static void put_sms(struct grow *g)
{
	const Elf64_Shdr *row = &g->rows[g->sm_table];
	uint8_t sm[512];
	for (uint64_t copy = 0; copy < g->times; copy++)
		for (uint64_t i = 0; i < g->n_sms; i++) {
			memcpy(sm, g->bytes + row->sh_offset + i * row->sh_entsize, row->sh_entsize);
			uint64_t id = copy * g->n_sms + i;
			memcpy(sm + CT_SM_ID, &id, 4);
			put(g, sm, row->sh_entsize);
		}
}

static void put_grids(struct grow *g, const Elf64_Shdr *row)
{
	uint8_t grid[512];
	for (uint64_t at = 0; at < row->sh_size; at += row->sh_entsize) {
		memcpy(grid, g->bytes + row->sh_offset + at, row->sh_entsize);
		uint32_t z = (uint32_t)g->times;
		memcpy(grid + CT_GRID_DIM + 8, &z, sizeof z);
		put(g, grid, row->sh_entsize);
	}
}

static void put_devices(struct grow *g, const Elf64_Shdr *row)
{
	uint8_t device[512];
	uint32_t n = (uint32_t)(g->n_sms * g->times);
	memcpy(device, g->bytes + row->sh_offset, row->sh_entsize);
	memcpy(device + CT_DEV_N_SMS, &n, sizeof n);
	put(g, device, row->sh_entsize);
}

static void put_blocks(struct grow *g, const Elf64_Shdr *row, uint32_t copy)
{
	uint8_t block[512];
	for (uint64_t at = 0; at < row->sh_size; at += row->sh_entsize) {
		memcpy(block, g->bytes + row->sh_offset + at, row->sh_entsize);
		memcpy(block + CT_CTA_BLOCK + 8, &copy, sizeof copy);
		put(g, block, row->sh_entsize);
	}
}

static Elf64_Shdr put_section(struct grow *g, uint64_t i, uint32_t copy)
{
	Elf64_Shdr row = g->rows[i];
	align(g);
	row.sh_offset = place(g);
	if (row.sh_type == SHT_NULL)
		return row;
	if (i == g->sm_table)
		put_sms(g);
	else if (type_of(&row) == CT_CORE_GRID_TABLE)
		put_grids(g, &g->rows[i]);
	else if (type_of(&row) == CT_CORE_DEV_TABLE)
		put_devices(g, &g->rows[i]);
	else if (type_of(&row) == CT_CORE_CTA_TABLE)
		put_blocks(g, &g->rows[i], copy);
	else
		put(g, g->bytes + g->rows[i].sh_offset, row.sh_size);
	row.sh_size = place(g) - row.sh_offset;
	return row;
}

// Where section `to` is for a section of that copy.
static uint32_t moved(const struct grow *g, uint64_t to, uint64_t copy)
{
	uint64_t n = g->end - g->first;
	return (uint32_t)(to >= g->end ? to + n * (g->times - 1) : to >= g->first ? to + n * copy : to);
}

static void grow(struct grow *g)
{
	Elf64_Ehdr header = *(const Elf64_Ehdr *)(const void *)g->bytes;
	uint64_t total = g->n_rows + (g->end - g->first) * (g->times - 1), n = 0;
	Elf64_Shdr *rows = calloc(total, sizeof *rows);
	if (!rows)
		die("out of memory");
	put(g, &header, sizeof header);
	for (uint64_t i = 0; i < g->n_rows; i++) {
		if (i == g->first)
			for (uint64_t copy = 0; copy < g->times; copy++)
				for (uint64_t k = g->first; k < g->end; k++) {
					Elf64_Shdr row = put_section(g, k, (uint32_t)copy);
					row.sh_link = moved(g, row.sh_link, copy);
					if (type_of(&row) == CT_CORE_CTA_TABLE)
						row.sh_info += (uint32_t)(copy * g->n_sms);
					rows[n++] = row;
				}
		if (i >= g->first && i < g->end)
			continue;
		Elf64_Shdr row = put_section(g, i, 0);
		row.sh_link = moved(g, row.sh_link, 0);
		rows[n++] = row;
	}
	uint32_t names = moved(g, header.e_shstrndx == SHN_XINDEX ? g->rows[0].sh_link : header.e_shstrndx, 0);
	bool extended = total >= SHN_LORESERVE;
	rows[0].sh_size = extended ? total : 0;
	rows[0].sh_link = extended ? names : 0;
	header.e_shnum = extended ? 0 : (uint16_t)total;
	header.e_shstrndx = extended ? SHN_XINDEX : (uint16_t)names;
	align(g);
	header.e_shoff = place(g);
	header.e_phoff = 0;
	header.e_phnum = 0;
	put(g, rows, total * sizeof *rows);
	if (fseeko(g->out, 0, SEEK_SET) != 0)
		die("the output cannot be rewound");
	put(g, &header, sizeof header);
	free(rows);
}

int main(int argc, char **argv)
{
	struct grow g = {.times = argc == 4 ? strtoull(argv[2], NULL, 10) : 0};
	if (g.times == 0 || g.times > 4096) {
		fprintf(stderr, "usage: grow_dump DUMP TIMES OUT\n");
		return 2;
	}
	map(&g, argv[1]);
	find_sections(&g);
	g.out = fopen(argv[3], "we");
	if (!g.out)
		die("the output cannot be written");
	grow(&g);
	if (fclose(g.out) != 0)
		die("the disk is full");
	return 0;
}
