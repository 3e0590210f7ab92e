// What /proc tells about a process without stopping it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "collect/collect.h"

enum { MAX_WORDS = 4096, MAX_PROC_FILE = 4 * 1024 * 1024 };

// Variables that tell which rank of which job this is and how CUDA was set up. Values of others may be secrets: they stay out.
static const char *const telling[] = {
	"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
	"SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NODEID", "SLURM_STEP_ID", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
	"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "CUDA_*", "NVIDIA_VISIBLE_DEVICES", "PYTORCH_*ALLOC_CONF", "PYTORCH_NVML_BASED_CUDA_CHECK",
	"TORCH_CUDA_ARCH_LIST", "TORCH_USE_CUDA_DSA", "TORCH_SHOW_CPP_STACKTRACES", "TORCH_NCCL_*", "NCCL_DEBUG", "TRITON_DEBUG", "TRITON_CACHE_DIR", "NUMBA_CUDA_*",
	"XLA_FLAGS", "JOB_COMPLETION_INDEX", "RAY_JOB_ID", NULL,
};

static bool is_telling(const char *name)
{
	for (size_t i = 0; telling[i]; i++)
		if (fnmatch(telling[i], name, 0) == 0)
			return true;
	return false;
}

static bool read_proc(pid_t pid, const char *name, struct ct_str *ret_text, struct ct_error *err)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	return ct_read_file(path, MAX_PROC_FILE, ret_text, err);
}

static const char *read_link(struct ct_arena *arena, pid_t pid, const char *name)
{
	char path[64], target[4096];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	ssize_t n = readlink(path, target, sizeof target);
	return n > 0 ? ct_arena_clean(arena, target, (size_t)n) : NULL;
}

static void add_words(struct ct_incident *incident, const struct ct_str *text)
{
	const char **words = NULL;
	size_t n = 0;
	for (size_t at = 0; at < text->length && n < MAX_WORDS;) {
		size_t length = strnlen(text->data + at, text->length - at);
		words = ct_arena_grow(&incident->arena, words, &n, sizeof *words);
		words[n - 1] = ct_arena_clean(&incident->arena, text->data + at, length);
		at += length + 1;
	}
	incident->process.argv = words;
	incident->process.n_argv = n;
}

static void add_variables(struct ct_incident *incident, const struct ct_str *text)
{
	for (size_t at = 0; at < text->length;) {
		char *entry = text->data + at;
		size_t length = strnlen(entry, text->length - at);
		char *equals = memchr(entry, '=', length);
		if (equals) {
			char *name = strndup(entry, (size_t)(equals - entry));
			char *value = strndup(equals + 1, length - (size_t)(equals - entry) - 1);
			if (name && value && is_telling(name))
				ct_incident_add_environment(incident, name, value);
			free(name);
			free(value);
		}
		at += length + 1;
	}
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  ..." -> the version.
static void add_driver(struct ct_incident *incident)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	if (!ct_read_file("/proc/driver/nvidia/version", 4096, &text, NULL) || !text.length)
		return;
	for (char *p = text.data, *word; (word = strsep(&p, " \t\n"));) {
		if (word[0] >= '0' && word[0] <= '9' && strchr(word, '.')) {
			ct_incident_add_environment(incident, "driver", word);
			return;
		}
	}
}

// Package versions from the names of mapped files: "…/torch-2.11.0+cu130.dist-info" is not mapped, but the package folder that holds
// torch/lib/libtorch_cuda.so is, and the folder beside it is named with the version.
static void add_torch(struct ct_incident *incident, const char *maps)
{
	static const char mark[] = "/torch/lib/libtorch";
	const char *found = strstr(maps, mark);
	if (!found)
		return;
	const char *start = found;
	while (start > maps && start[-1] != ' ' && start[-1] != '\n')
		start--;
	char *site = strndup(start, (size_t)(found - start));
	DIR *opened = site ? opendir(site) : NULL;
	CT_AUTO(ct_auto_closedir) DIR *dir = opened;
	free(site);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (ct_starts_with(e->d_name, "torch-") && ct_ends_with(e->d_name, ".dist-info")) {
			char *version = strndup(e->d_name + 6, strlen(e->d_name) - 6 - 10);
			if (version)
				ct_incident_add_environment(incident, "torch", version);
			free(version);
			return;
		}
	}
}

void ct_collect_environment(struct ct_incident *incident, pid_t pid)
{
	int64_t start = ct_now_us();
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str words = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str variables = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str maps = CT_STR_INIT;
	struct utsname names;
	incident->process.pid = pid;
	if (uname(&names) == 0)
		incident->host = ct_arena_clean(&incident->arena, names.nodename, strlen(names.nodename));
	incident->process.executable = read_link(&incident->arena, pid, "exe");
	incident->process.cwd = read_link(&incident->arena, pid, "cwd");
	bool ok = read_proc(pid, "cmdline", &words, &err);
	if (ok)
		add_words(incident, &words);
	if (read_proc(pid, "environ", &variables, &err)) {
		add_variables(incident, &variables);
		ct_collect_rank(&incident->arena, ct_rank_lookup_block, &variables, &incident->rank);
	} else {
		ok = false;
	}
	add_driver(incident);
	if (read_proc(pid, "maps", &maps, &err) && maps.length)
		add_torch(incident, maps.data);
	ct_incident_add_collector(incident, "environment", ok ? CT_COLLECTOR_OK : CT_COLLECTOR_PARTIAL, (double)(ct_now_us() - start) / 1000,
				  ok ? NULL : err.text);
}
