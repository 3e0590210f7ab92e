// Which rank of which job: the variables of the launchers; see collect.h.
//
// torchrun: https://docs.pytorch.org/docs/stable/elastic/run.html ("Environment Variables"); Slurm: srun(1), "OUTPUT ENVIRONMENT VARIABLES";
// Open MPI: OMPI_COMM_WORLD_* of mpirun(1), PMIX_RANK and PMIX_NAMESPACE of PMIx, PMI_RANK and PMI_SIZE of MPICH's hydra;
// Kubernetes: JOB_COMPLETION_INDEX of an Indexed Job.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/collect.h"

// The innermost launcher first: srun may start torchrun, whose ranks are then the processes, and Slurm's the machines.
static const struct launcher {
	const char *name, *rank, *local_rank, *world_size;
} launchers[] = {
	{"torchrun", "RANK", "LOCAL_RANK", "WORLD_SIZE"},
	{"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"pmi", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
	{"slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
	{"pmix", "PMIX_RANK", "PMIX_LOCAL_RANK", "PMIX_SIZE"},
	{"kubernetes", "JOB_COMPLETION_INDEX", "", ""},
};

// Names of the job, the most telling first: a scheduler's number can be looked up.
static const char *const jobs[] = {"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "RAY_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PMIX_NAMESPACE"};

static bool get_number(ct_rank_lookup *lookup, const void *context, const char *name, uint32_t *ret_number)
{
	const char *text = *name ? lookup(context, name) : NULL;
	char *end = NULL;
	if (!text || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	unsigned long n = strtoul(text, &end, 10);
	if (*end || errno || n > UINT32_MAX)
		return false;
	*ret_number = (uint32_t)n;
	return true;
}

static const char *job_of(struct ct_arena *arena, ct_rank_lookup *lookup, const void *context)
{
	for (size_t i = 0; i < CT_COUNT(jobs); i++) {
		const char *text = lookup(context, jobs[i]);
		// torchrun's --rdzv-id is "none" when nobody gave one: that names no job.
		if (text && *text && strcmp(text, "none") != 0)
			return ct_arena_clean(arena, text, strlen(text));
	}
	return NULL;
}

bool ct_collect_rank(struct ct_arena *arena, ct_rank_lookup *lookup, const void *context, struct ct_rank *ret_rank)
{
	struct ct_rank r = {.has_rank = false};
	for (size_t i = 0; i < CT_COUNT(launchers) && !r.has_rank; i++) {
		const struct launcher *l = &launchers[i];
		if (!get_number(lookup, context, l->rank, &r.rank))
			continue;
		r.has_rank = true;
		r.has_local_rank = get_number(lookup, context, l->local_rank, &r.local_rank);
		r.has_world_size = get_number(lookup, context, l->world_size, &r.world_size);
		r.launcher = l->name;
	}
	if (r.has_world_size && r.rank >= r.world_size)
		r.has_world_size = false;  // two launchers mixed up: the rank is the more telling half
	r.job = job_of(arena, lookup, context);
	if (!r.has_rank && !r.job)
		return false;
	*ret_rank = r;
	return true;
}

const char *ct_rank_lookup_block(const void *context, const char *name)
{
	const struct ct_str *block = context;
	size_t length = strlen(name);
	for (size_t at = 0; at < block->length;) {
		const char *entry = block->data + at;
		size_t n = strnlen(entry, block->length - at);
		if (n > length && memcmp(entry, name, length) == 0 && entry[length] == '=')
			return entry + length + 1;  // a NUL follows every ct_str
		at += n + 1;
	}
	return NULL;
}
