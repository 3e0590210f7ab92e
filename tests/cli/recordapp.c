// A program that leaves a record of launches as the agent would, and then faults, fails or goes on: `recordapp MODE LIBFAKECUDA`. Against the
// front-end alone: what writes real records has tests of its own.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "records.h"

// The failing kernel of tests/data/incident/gpu-part.json, which the stand-in for cuda-gdb shows, and its fourth argument; RECORD_SYMBOL and
// RECORD_ARGUMENTS (hexadecimal) name another one.
#define SYMBOL "_Z38nll_loss_forward_reduce_cuda_kernel_2dIfflEvPT_S1_PKS0_PKT1_S3_bllll"
enum { TARGET_AT = 24, CLASSES_AT = 64, KEPT = 80 };

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void give_arguments(struct ct_record_launch *launch, uint64_t target)
{
	uint64_t classes = 3;
	const char *given = getenv("RECORD_ARGUMENTS");
	launch->arguments_kept = KEPT;
	for (unsigned i = 0; given && i < KEPT && given[2 * i]; i++) {
		const char byte[3] = {given[2 * i], given[2 * i + 1], '\0'};
		launch->arguments[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	if (target)
		memcpy(launch->arguments + TARGET_AT, &target, sizeof target);
	memcpy(launch->arguments + CLASSES_AT, &classes, sizeof classes);
}

static void add_launches(struct record *r, uint64_t target, uint64_t other_target)
{
	const char *symbol = getenv("RECORD_SYMBOL");
	uint32_t kernel = record_function(r, symbol ? symbol : SYMBOL), fill = record_function(r, "_Z4fillPf");
	const struct ct_record_frame train = record_frame(r, "train_step", "/home/ada/train.py", 14), eval = record_frame(r, "evaluate", "/home/ada/train.py", 40);
	give_arguments(record_launch(r, 0, kernel, now_ns(), &train), target);
	give_arguments(record_launch(r, 0, kernel, now_ns(), &eval), other_target);
	record_launch(r, 0, fill, now_ns(), &eval);
}

static void add_failed_launch(struct record *r)
{
	const struct ct_record_frame frame = record_frame(r, "launch", "/home/ada/op.py", 21);
	uint32_t kernel = record_function(r, "_Z7nothingv");
	struct ct_record_launch *l = record_launch(r, 0, kernel, now_ns(), &frame);
	l->block[0] = 2048;
	record_result(l, 1);
	struct ct_record_failure *f = record_failure(r, "cuLaunchKernel", 1, now_ns());
	f->launch = 1;
	f->function = kernel;
	f->block[0] = 2048;
	f->max_threads = f->max_block_threads = 1024;
	record_launch(r, 0, kernel, now_ns(), &frame);
}

static void add_failed_allocation(struct record *r)
{
	const struct ct_record_frame frame = record_frame(r, "grow", "/home/ada/op.py", 33);
	struct ct_record_failure *f = record_failure(r, "cuMemAlloc_v2", 2, now_ns());
	f->frames[0] = frame;
	f->n_frames = 1;
	f->bytes = UINT64_C(200) << 30;
	f->free_bytes = UINT64_C(100) << 30;
	f->total_bytes = UINT64_C(140) << 30;
}

static int fault(const char *library)
{
	int (*launch)(long) = NULL;
	void *handle = dlopen(library, RTLD_NOW), *found = handle ? dlsym(handle, "fake_launch") : NULL;
	memcpy(&launch, &found, sizeof launch);
	return launch && launch(1) ? 1 : 3;
}

int main(int argc, char **argv)
{
	const char *dir = getenv("CUDATRAP_RECORD_DIR"), *mode = argc > 1 ? argv[1] : "";
	char path[4096];
	if (!dir || !getenv("CUDATRAP_RECORD")) {
		puts("not recorded");
		return strcmp(mode, "status") == 0 ? 0 : 4;
	}
	struct record *r = record_new();
	r->head->pid = getpid();
	uint64_t target = getenv("RECORD_ARGUMENTS") ? 0 : 0x7f2134000000;  // 0: as given
	if (strcmp(mode, "unique") == 0 || strcmp(mode, "several") == 0)
		add_launches(r, target, *mode == 'u' ? 0x7f9999999999 : target);
	else if (strncmp(mode, "launch", 6) == 0)
		add_failed_launch(r);
	else if (strncmp(mode, "memory", 6) == 0)
		add_failed_allocation(r);
	else
		printf("%s %s\n", getenv("CUDATRAP_RECORD"), dir);
	snprintf(path, sizeof path, "%s/launches.%d", dir, (int)getpid());
	bool ok = strcmp(mode, "garbage") == 0 || strcmp(mode, "status") == 0 || record_write(r, path);
	if (strcmp(mode, "garbage") == 0) {
		FILE *out = fopen(path, "w");
		ok = out && fputs("no record", out) >= 0 && fclose(out) == 0;
	}
	record_free(r);
	if (!ok)
		return 5;
	if (argc > 2)
		return fault(argv[2]);
	return strstr(mode, "-fails") ? 3 : 0;
}
