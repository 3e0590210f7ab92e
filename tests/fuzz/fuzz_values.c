// Any bytes as a launch, its arguments and its memory, for kernels whose arrays are read. The first bytes are: the kernel, grid and block, the
// failing threads; then the parameters; the rest is memory at one address.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "diagnose/diagnose.h"
#include "gpucore/gpucore_priv.h"
#include "limits.h"
#include "values/values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INFO(type) "at::cuda::detail::TensorInfo<" type ", unsigned int>"
#define VIEW(type, dims) "at::GenericPackedTensorAccessor<" type ", " dims "ul, at::DefaultPtrTraits, long>"
#define FILL "at::native::_cuda_scatter_fill_internal_kernel<at::native::OpaqueType<1>, long>::operator()<F>(x&)::{lambda(int)#1}"

static const char *const kernels[] = {
	"void nll_loss_forward_reduce_cuda_kernel_2d<float>(float*, float*, float const*, long const*, float const*, bool, long, long, long, long)",
	"void nll_loss_forward_reduce_cuda_kernel_1d<float>(float*, float*, float const*, unsigned char const*, float const*, bool, long, long)",
	"void nll_loss_forward_no_reduce_cuda_kernel<float>(long, " VIEW("float", "2") ", long const*, float*, float const*, int, int)",
	"void nll_loss2d_forward_kernel<float>(float*, float*, float const*, long const*, float const*, int, int, int, long)",
	"void vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)",
	"void indexSelectSmallIndex<float>(" INFO("float") ", " INFO("float const") ", " INFO("long const") ", int, int, unsigned int, long)",
	"void indexSelectLargeIndex<float, true>(" INFO("float") ", " INFO("float") ", " INFO("int const") ", int, int, unsigned int, unsigned int, long)",
	"void compute_cuda_kernel<long>(long const*, long const*, long*, long, long)",
	"void MultiMarginLoss_forward_kernel<1>(float*, float const*, long const*, float const*, int, int, bool, float)",
	"k(unsigned long const*, short const*, " VIEW("int const", "2") ", unsigned long, int, long)",
	"void _scatter_gather_elementwise_kernel<128, 8, " FILL ">(int, " FILL ")",
	"void _scatter_gather_elementwise_kernel<4, 2, G>(int, G)",
	"void index_elementwise_kernel<128, 4, I>(long, I)",
	"void nll_loss2d_forward_no_reduce_kernel<float>(long, " VIEW("float", "4") ", " VIEW("long", "3") ", " VIEW("float", "3") ", float const*, long)",
};

enum { MEMORY_AT = 0x10000, MAX_THREADS = 16 };

static uint32_t size_of(const char *type)
{
	static const struct {
		const char *start;
		uint32_t size;
	} sizes[] = {{"bool", 1}, {"int", 4}, {"unsigned int", 4}, {"float", 4}, {"at::cuda", 216}, {"at::native", 560}, {"G", 664}, {"I", 1240}};
	size_t n = strlen(type);
	const char *dims = strstr(type, "ul, at::DefaultPtrTraits");
	if (type[n - 1] != '*' && dims)
		return 8 + 16 * (uint32_t)(dims[-1] - '0');
	for (size_t i = 0; type[n - 1] != '*' && i < CT_COUNT(sizes); i++)
		if (ct_starts_with(type, sizes[i].start))
			return sizes[i].size;
	return 8;
}

struct input {
	const uint8_t *data;
	size_t size;
};

static uint8_t take(struct input *in)
{
	if (in->size == 0)
		return 0;
	in->size--;
	return *in->data++;
}

static size_t read_memory(const void *context, uint64_t address, void *bytes, size_t size)
{
	const struct input *memory = context;
	if (address < MEMORY_AT || address - MEMORY_AT >= memory->size)
		return 0;
	size_t there = memory->size - (size_t)(address - MEMORY_AT), n = there < size ? there : size;
	if (bytes)
		memcpy(bytes, memory->data + (address - MEMORY_AT), n);
	return n;
}

// The arguments, with the parameters from the front of the input.
static void add_arguments(struct ct_incident *incident, struct input *in, struct ct_values_source *source)
{
	const char **types;
	uint32_t offset = 0;
	struct ct_gpu *gpu = &incident->gpu;
	if (!ct_cubin_param_types(&incident->arena, gpu->kernel.name, &types, &gpu->n_arguments))
		return;
	gpu->arguments = ct_arena_array(&incident->arena, gpu->n_arguments, sizeof *gpu->arguments);
	for (size_t i = 0; i < gpu->n_arguments; i++) {
		struct ct_cubin_param p = {.ordinal = (uint32_t)i, .offset = (offset + 7) / 8 * 8, .size_bytes = size_of(types[i])};
		offset = p.offset + p.size_bytes;
		ct_core_argument(&incident->arena, &p, types[i], offset <= in->size ? in->data + p.offset : NULL, &gpu->arguments[i]);
	}
	source->params = in->data;
	source->n_params = in->size < offset ? in->size : offset;
	in->data += source->n_params;
	in->size -= source->n_params;
}

static void use(struct input in)
{
	static struct ct_rules rules = CT_RULES_INIT;
	if (rules.n_rows == 0 && !ct_rules_read(ct_data_dir(), &rules, NULL))
		abort();
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	struct ct_values_source source = {.read = read_memory, .context = &in};
	struct ct_lane lanes[MAX_THREADS] = {{.pc = 0}};
	struct ct_group group = {.lanes = lanes};
	incident->kind = CT_FAULT_ASSERT;
	incident->gpu = (struct ct_gpu){.present = true, .source = "core dump", .has_kernel = true, .groups = &group, .n_groups = 1};
	incident->gpu.kernel = (struct ct_kernel){.name = kernels[take(&in) % CT_COUNT(kernels)], .has_dims = true, .grid_dim = {take(&in), 1, 1}, .block_dim = {take(&in), 1, 1}};
	group.n_lanes = take(&in) % MAX_THREADS;
	for (size_t i = 0; i < group.n_lanes; i++)
		lanes[i].at = (struct ct_gridpos){.block = {take(&in), 0, 0}, .thread = {take(&in), 0, 0}};
	add_arguments(incident, &in, &source);
	ct_values_read(incident, &rules, &source);
	ct_diagnose(incident);
	ct_explain(incident, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ct_fuzz_limits_begin();
	use((struct input){data, size});
	ct_fuzz_limits_end(size);
	return 0;
}
