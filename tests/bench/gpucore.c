// How long dumps take: open, fill, both; beside the time to read the file once and to walk its section table. Best of five. And the private
// memory that the process has at the end, the file's map not counted.
// bench/gpucore FILE...   (uncompressed: unpacking would be all there is to see)
// SPDX-License-Identifier: GPL-3.0-or-later
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "gpucore/gpucore.h"

static double read_once_ms(const char *path)
{
	static char chunk[1 << 17];
	CT_AUTO(ct_auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t start = ct_now_us();
	while (fd >= 0 && read(fd, chunk, sizeof chunk) > 0)
		;
	return (double)(ct_now_us() - start) / 1000;
}

// Every row touched, nothing done: what no reader can do without.
static double scan_table_ms(const char *path)
{
	struct stat st;
	CT_AUTO(ct_auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return 0;
	const uint8_t *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return 0;
	int64_t start = ct_now_us();
	const Elf64_Ehdr *header = (const void *)bytes;
	const Elf64_Shdr *rows = (const void *)(bytes + header->e_shoff);
	uint64_t n = header->e_shnum ? header->e_shnum : rows[0].sh_size;
	volatile uint64_t sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += rows[i].sh_type + rows[i].sh_size;
	double taken = (double)(ct_now_us() - start) / 1000;
	munmap((void *)bytes, (size_t)st.st_size);
	return taken;
}

// RssAnon of /proc/self/status (proc(5)), in MB.
static double private_mb(void)
{
	CT_AUTO(ct_auto_str) struct ct_str status = CT_STR_INIT;
	const char *at = ct_read_file("/proc/self/status", 65536, &status, NULL) ? strstr(ct_str_text(&status), "RssAnon:") : NULL;
	return at ? strtod(at + strlen("RssAnon:"), NULL) / 1024 : 0;
}

static bool measure(const char *path, double *ret_open_ms, double *ret_fill_ms, size_t *ret_sections, double *ret_mb, struct ct_error *err)
{
	CT_AUTO(ct_gpucore_auto) struct ct_gpucore *core = NULL;
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	int64_t start = ct_now_us();
	if (!ct_gpucore_open(path, &core, err))
		return false;
	int64_t opened = ct_now_us();
	ct_gpucore_fill(core, incident, NULL);
	*ret_open_ms = (double)(opened - start) / 1000;
	*ret_fill_ms = (double)(ct_now_us() - opened) / 1000;
	*ret_sections = ct_gpucore_n_sections(core);
	*ret_mb = private_mb();
	return true;
}

int main(int argc, char **argv)
{
	printf("%10s %10s %10s %10s %10s %10s %10s  %s\n", "read ms", "scan ms", "open ms", "fill ms", "total ms", "sections", "private MB", "dump");
	for (int i = 1; i < argc; i++) {
		double read_ms = 1e9, scan_ms = 1e9, mb = 0, open_ms = 0, fill_ms = 1e9;
		size_t sections = 0;
		for (int round = 0; round < 5; round++) {
			struct ct_error err = CT_ERROR_INIT;
			double o, f, r = read_once_ms(argv[i]), s = scan_table_ms(argv[i]);
			if (!measure(argv[i], &o, &f, &sections, &mb, &err)) {
				fprintf(stderr, "%s\n", err.text);
				return 1;
			}
			if (r < read_ms)
				read_ms = r;
			if (s < scan_ms)
				scan_ms = s;
			if (round == 0 || o + f < open_ms + fill_ms) {
				open_ms = o;
				fill_ms = f;
			}
		}
		printf("%10.2f %10.2f %10.2f %10.2f %10.2f %10zu %10.1f  %s\n", read_ms, scan_ms, open_ms, fill_ms, open_ms + fill_ms, sections, mb,
		       ct_basename(argv[i]));
	}
	return 0;
}
