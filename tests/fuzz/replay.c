// Runs a fuzz target over stored inputs, without a fuzzer: `replay_NAME FILE|DIR...`. TAP: one line for each argument.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dirent.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool run_file(const char *path)
{
	CT_AUTO(ct_auto_str) struct ct_str bytes = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	if (!ct_read_file(path, (size_t)1 << 30, &bytes, &err)) {
		printf("# %s\n", err.text);
		return false;
	}
	// A copy of the very size, so that a sanitizer sees a read past it.
	uint8_t *copy = ct_xrealloc(NULL, bytes.length ? bytes.length : 1);
	if (bytes.length)
		memcpy(copy, bytes.data, bytes.length);
	LLVMFuzzerTestOneInput(copy, bytes.length);
	free(copy);
	return true;
}

static bool run(const char *path, size_t *ret_n)
{
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir(path);
	if (!dir)
		return run_file(path) && ++*ret_n;
	bool ok = true;
	for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		char inner[4096];
		if (e->d_name[0] == '.')
			continue;
		snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
		ok &= run(inner, ret_n);
	}
	return ok;
}

int main(int argc, char **argv)
{
	int failed = 0;
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++) {
		size_t n = 0;
		bool ok = run(argv[i], &n) && n > 0;
		failed += !ok;
		printf("%s %d - %zu inputs of %s\n", ok ? "ok" : "not ok", i, n, ct_basename(argv[i]));
	}
	return failed ? 1 : 0;
}
