// How long dumps take: open, fill, both; beside the time to read the file once. Best of five.
// bench/gpucore FILE...   (uncompressed: unpacking would be all there is to see)
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <sys/resource.h>

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

static bool measure(const char *path, double *ret_open_ms, double *ret_fill_ms, size_t *ret_sections, struct ct_error *err)
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
	return true;
}

int main(int argc, char **argv)
{
	printf("%10s %10s %10s %10s %10s  %s\n", "read ms", "open ms", "fill ms", "total ms", "sections", "dump");
	for (int i = 1; i < argc; i++) {
		double read_ms = 1e9, open_ms = 0, fill_ms = 1e9;
		size_t sections = 0;
		for (int round = 0; round < 5; round++) {
			struct ct_error err = CT_ERROR_INIT;
			double o, f, r = read_once_ms(argv[i]);
			if (!measure(argv[i], &o, &f, &sections, &err)) {
				fprintf(stderr, "%s\n", err.text);
				return 1;
			}
			if (r < read_ms)
				read_ms = r;
			if (round == 0 || o + f < open_ms + fill_ms) {
				open_ms = o;
				fill_ms = f;
			}
		}
		printf("%10.2f %10.2f %10.2f %10.2f %10zu  %s\n", read_ms, open_ms, fill_ms, open_ms + fill_ms, sections, ct_basename(argv[i]));
	}
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("peak memory %ld MB, maps included\n", usage.ru_maxrss / 1024);
	return 0;
}
