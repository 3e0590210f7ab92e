// The driver's calls that the recorder sees, and what it makes of them. Each goes on through its gate with the arguments that it came with.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdatomic.h>
#include <string.h>

#include "agent/agent_priv.h"
#include "agent/record.h"

// One pointer for each entry point: the two kinds of default stream are different functions of the driver. Whoever asks for the same one
// gets the same one, so that it does not matter who comes first.
enum entry {
	LAUNCH, LAUNCH_EX, LAUNCH_COOPERATIVE, LAUNCH_GRAPH,  // each followed by its _ptsz form, N_PTSZ further on
	N_PTSZ,
	N_LAUNCHES = 2 * N_PTSZ,
	ALLOC_V2 = N_LAUNCHES, ALLOC_MANAGED, ALLOC_HOST, ALLOC_ASYNC, ALLOC_ASYNC_PTSZ, MODULE_LOAD, MODULE_DATA, MODULE_DATA_EX, MODULE_FAT,
	LIBRARY_DATA, MODULE_UNLOAD, LIBRARY_UNLOAD,
	BEGIN_CAPTURE, BEGIN_CAPTURE_PTSZ, BEGIN_CAPTURE_V1, BEGIN_CAPTURE_V1_PTSZ, BEGIN_TO_GRAPH, BEGIN_TO_GRAPH_PTSZ, END_CAPTURE, END_CAPTURE_PTSZ,
	INSTANTIATE, INSTANTIATE_V2, INSTANTIATE_FLAGS, INSTANTIATE_PARAMS,
	INSTANTIATE_PARAMS_PTSZ,
	N_ENTRIES,
};
static _Atomic(void *) gates[N_ENTRIES];

#define CALL(entry, type, ...) ((__extension__({ type *to_; void *at_ = atomic_load_explicit(&gates[entry], memory_order_relaxed); memcpy(&to_, &at_, sizeof to_); to_; }))(__VA_ARGS__))

typedef int launch_fn(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
		      void **parameters, void **extra);
typedef int cooperative_fn(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
			   void *stream, void **parameters);
typedef int graph_fn(void *exec, void *stream);

// CUlaunchConfig and CUlaunchAttribute (cuda.h 13.0; unchanged since 11.8).
struct launch_attribute {
	int id;
	char pad[4];
	union {
		unsigned cluster[3];
		int cooperative;
		char all[64];
	} value;
};
struct launch_config {
	unsigned grid[3], block[3], shared;
	void *stream;
	struct launch_attribute *attributes;
	unsigned n_attributes;
};
enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4 };
typedef int launch_ex_fn(const struct launch_config *config, void *function, void **parameters, void **extra);

static uint32_t flags_of(enum entry entry)
{
	return entry >= N_PTSZ ? CT_RECORD_PER_THREAD : 0;
}

static void mark_capture(struct ct_launch_call *call)
{
	call->capture = ct_capture_of((void *)(uintptr_t)call->stream, call->flags & CT_RECORD_PER_THREAD);
	if (call->capture)
		call->flags |= CT_RECORD_CAPTURED;
}

static int launch(enum entry entry, const char *name, void *function, const unsigned grid[3], const unsigned block[3],
		  unsigned shared, void *stream, void **parameters, void **extra)
{
	struct ct_launch_call call = {
		.handle = (uint64_t)(uintptr_t)function, .stream = (uint64_t)(uintptr_t)stream, .flags = flags_of(entry),
		.grid = {grid[0], grid[1], grid[2]}, .block = {block[0], block[1], block[2]}, .shared_bytes = shared,
		.parameters = parameters, .extra = extra,
	};
	mark_capture(&call);
	struct ct_record_launch *row = ct_record_launch(&call);
	int rc = CALL(entry, launch_fn, function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, stream, parameters, extra);
	ct_record_end(row, &call, name, rc);
	return rc;
}

static int cooperative(enum entry entry, const char *name, void *function, const unsigned grid[3], const unsigned block[3],
		       unsigned shared, void *stream, void **parameters)
{
	struct ct_launch_call call = {
		.handle = (uint64_t)(uintptr_t)function, .stream = (uint64_t)(uintptr_t)stream,
		.flags = flags_of(entry) | CT_RECORD_COOPERATIVE, .grid = {grid[0], grid[1], grid[2]}, .block = {block[0], block[1], block[2]},
		.shared_bytes = shared, .parameters = parameters,
	};
	mark_capture(&call);
	struct ct_record_launch *row = ct_record_launch(&call);
	int rc = CALL(entry, cooperative_fn, function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, stream, parameters);
	ct_record_end(row, &call, name, rc);
	return rc;
}

static int launch_ex(enum entry entry, const char *name, const struct launch_config *config, void *function, void **parameters,
		     void **extra)
{
	struct ct_launch_call call = {.handle = (uint64_t)(uintptr_t)function, .flags = flags_of(entry), .parameters = parameters,
				      .extra = extra};
	if (config) {
		call.stream = (uint64_t)(uintptr_t)config->stream;
		memcpy(call.grid, config->grid, sizeof call.grid);
		memcpy(call.block, config->block, sizeof call.block);
		call.shared_bytes = config->shared;
		for (unsigned i = 0; config->attributes && i < config->n_attributes && i < 64; i++) {
			if (config->attributes[i].id == ATTRIBUTE_CLUSTER)
				memcpy(call.cluster, config->attributes[i].value.cluster, sizeof call.cluster);
			else if (config->attributes[i].id == ATTRIBUTE_COOPERATIVE && config->attributes[i].value.cooperative)
				call.flags |= CT_RECORD_COOPERATIVE;
		}
	}
	mark_capture(&call);
	struct ct_record_launch *row = ct_record_launch(&call);
	int rc = CALL(entry, launch_ex_fn, config, function, parameters, extra);
	ct_record_end(row, &call, name, rc);
	return rc;
}

static int launch_graph(enum entry entry, const char *name, void *exec, void *stream)
{
	struct ct_launch_call call = {.handle = (uint64_t)(uintptr_t)exec, .stream = (uint64_t)(uintptr_t)stream,
					    .flags = flags_of(entry) | CT_RECORD_GRAPH,
				      .capture = ct_capture_of_exec(exec)};
	struct ct_record_launch *row = ct_record_launch(&call);
	int rc = CALL(entry, graph_fn, exec, stream);
	ct_record_end(row, &call, name, rc);
	return rc;
}

#define LAUNCHES(suffix, further) \
	static int on_launch##suffix(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, \
				     void *stream, void **parameters, void **extra) \
	{ \
		return launch(LAUNCH + (further), "cuLaunchKernel" #suffix, f, (const unsigned[]){gx, gy, gz}, (const unsigned[]){bx, by, bz}, shared, \
			      stream, parameters, extra); \
	} \
	static int on_cooperative##suffix(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, \
					  void *stream, void **parameters) \
	{ \
		return cooperative(LAUNCH_COOPERATIVE + (further), "cuLaunchCooperativeKernel" #suffix, f, (const unsigned[]){gx, gy, gz}, \
				   (const unsigned[]){bx, by, bz}, shared, stream, parameters); \
	} \
	static int on_launch_ex##suffix(const struct launch_config *config, void *f, void **parameters, void **extra) \
	{ \
		return launch_ex(LAUNCH_EX + (further), "cuLaunchKernelEx" #suffix, config, f, parameters, extra); \
	} \
	static int on_graph##suffix(void *exec, void *stream) \
	{ \
		return launch_graph(LAUNCH_GRAPH + (further), "cuGraphLaunch" #suffix, exec, stream); \
	}
LAUNCHES(, 0)
LAUNCHES(_ptsz, N_PTSZ)

static int failed(const char *name, int rc, uint64_t bytes)
{
	if (rc)
		ct_record_failed(name, rc, bytes);
	return rc;
}

typedef int alloc_fn(void *ret, size_t bytes);
typedef int alloc_managed_fn(void *ret, size_t bytes, unsigned flags);
typedef int alloc_async_fn(void *ret, size_t bytes, void *stream);
typedef int load_fn(void *ret, const void *image);
typedef int load_ex_fn(void *ret, const void *image, unsigned n, void *options, void *values);
typedef int library_fn(void *ret, const void *code, void *jit, void *jit_values, unsigned n_jit, void *options, void *values, unsigned n);
typedef int unload_fn(void *module);

static int on_alloc_v2(void *ret, size_t bytes)
{
	return failed("cuMemAlloc_v2", CALL(ALLOC_V2, alloc_fn, ret, bytes), bytes);
}

static int on_alloc_managed(void *ret, size_t bytes, unsigned flags)
{
	return failed("cuMemAllocManaged", CALL(ALLOC_MANAGED, alloc_managed_fn, ret, bytes, flags), bytes);
}

static int on_alloc_host(void *ret, size_t bytes)
{
	return failed("cuMemAllocHost_v2", CALL(ALLOC_HOST, alloc_fn, ret, bytes), bytes);
}

static int on_alloc_async(void *ret, size_t bytes, void *stream)
{
	return failed("cuMemAllocAsync", CALL(ALLOC_ASYNC, alloc_async_fn, ret, bytes, stream), bytes);
}

static int on_alloc_async_ptsz(void *ret, size_t bytes, void *stream)
{
	return failed("cuMemAllocAsync_ptsz", CALL(ALLOC_ASYNC_PTSZ, alloc_async_fn, ret, bytes, stream), bytes);
}

static int on_module_load(void *ret, const void *image)
{
	return failed("cuModuleLoad", CALL(MODULE_LOAD, load_fn, ret, image), 0);
}

static int on_module_data(void *ret, const void *image)
{
	return failed("cuModuleLoadData", CALL(MODULE_DATA, load_fn, ret, image), 0);
}

static int on_module_data_ex(void *ret, const void *image, unsigned n, void *options, void *values)
{
	return failed("cuModuleLoadDataEx", CALL(MODULE_DATA_EX, load_ex_fn, ret, image, n, options, values), 0);
}

static int on_module_fat(void *ret, const void *image)
{
	return failed("cuModuleLoadFatBinary", CALL(MODULE_FAT, load_fn, ret, image), 0);
}

static int on_library_data(void *ret, const void *code, void *jit, void *jit_values, unsigned n_jit, void *options, void *values, unsigned n)
{
	return failed("cuLibraryLoadData", CALL(LIBRARY_DATA, library_fn, ret, code, jit, jit_values, n_jit, options, values, n), 0);
}

static int on_module_unload(void *module)
{
	int rc = CALL(MODULE_UNLOAD, unload_fn, module);
	ct_record_forget_functions();
	return rc;
}

static int on_library_unload(void *library)
{
	int rc = CALL(LIBRARY_UNLOAD, unload_fn, library);
	ct_record_forget_functions();
	return rc;
}

typedef int begin_fn(void *stream, int mode);
typedef int begin_to_graph_fn(void *stream, void *graph, const void *nodes, const void *edges, size_t n, int mode);
typedef int end_fn(void *stream, void **ret_graph);
typedef int instantiate_fn(void **ret_exec, void *graph, void *a, void *b, void *c);  // all forms: three to five arguments

static int begun(int rc)
{
	if (rc == 0)
		ct_capture_begun();
	return rc;
}

static int end_capture(enum entry entry, bool per_thread, void *stream, void **ret_graph)
{
	uint64_t capture = ct_capture_of(stream, per_thread);
	int rc = CALL(entry, end_fn, stream, ret_graph);
	ct_capture_ended(rc == 0 && ret_graph ? *ret_graph : NULL, capture);
	return rc;
}

static int instantiated(int rc, void **ret_exec, void *graph)
{
	if (rc == 0 && ret_exec)
		ct_capture_instantiated(graph, *ret_exec);
	return rc;
}

#define CAPTURES(suffix, SUFFIX, per_thread) \
	static int on_begin##suffix(void *stream, int mode) \
	{ \
		return begun(CALL(BEGIN_CAPTURE##SUFFIX, begin_fn, stream, mode)); \
	} \
	static int on_begin_v1##suffix(void *stream, int mode) \
	{ \
		return begun(CALL(BEGIN_CAPTURE_V1##SUFFIX, begin_fn, stream, mode)); \
	} \
	static int on_begin_to_graph##suffix(void *stream, void *graph, const void *nodes, const void *edges, size_t n, int mode) \
	{ \
		return begun(CALL(BEGIN_TO_GRAPH##SUFFIX, begin_to_graph_fn, stream, graph, nodes, edges, n, mode)); \
	} \
	static int on_end##suffix(void *stream, void **ret_graph) \
	{ \
		return end_capture(END_CAPTURE##SUFFIX, per_thread, stream, ret_graph); \
	} \
	static int on_instantiate_params##suffix(void **ret_exec, void *graph, void *a, void *b, void *c) \
	{ \
		return instantiated(CALL(INSTANTIATE_PARAMS##SUFFIX, instantiate_fn, ret_exec, graph, a, b, c), ret_exec, graph); \
	}
CAPTURES(, , false)
CAPTURES(_ptsz, _PTSZ, true)

// libcudart asks for every form, and each is another function of the driver.
#define INSTANTIATES(suffix, SUFFIX) \
	static int on_instantiate##suffix(void **ret_exec, void *graph, void *a, void *b, void *c) \
	{ \
		return instantiated(CALL(INSTANTIATE##SUFFIX, instantiate_fn, ret_exec, graph, a, b, c), ret_exec, graph); \
	}
INSTANTIATES(, )
INSTANTIATES(_v2, _V2)
INSTANTIATES(_flags, _FLAGS)

// What a function is when it is handed out by its plain name: cuGetProcAddress resolves to the newest form that the caller's version has.
#define HOOKS(X) \
	X("cuLaunchKernel", LAUNCH, on_launch) \
	X("cuLaunchKernelEx", LAUNCH_EX, on_launch_ex) \
	X("cuLaunchCooperativeKernel", LAUNCH_COOPERATIVE, on_cooperative) \
	X("cuGraphLaunch", LAUNCH_GRAPH, on_graph) \
	X("cuLaunchKernel_ptsz", LAUNCH + N_PTSZ, on_launch_ptsz) \
	X("cuLaunchKernelEx_ptsz", LAUNCH_EX + N_PTSZ, on_launch_ex_ptsz) \
	X("cuLaunchCooperativeKernel_ptsz", LAUNCH_COOPERATIVE + N_PTSZ, on_cooperative_ptsz) \
	X("cuGraphLaunch_ptsz", LAUNCH_GRAPH + N_PTSZ, on_graph_ptsz) \
	X("cuMemAlloc_v2", ALLOC_V2, on_alloc_v2) \
	X("cuMemAllocManaged", ALLOC_MANAGED, on_alloc_managed) \
	X("cuMemAllocHost_v2", ALLOC_HOST, on_alloc_host) \
	X("cuMemAllocAsync", ALLOC_ASYNC, on_alloc_async) \
	X("cuMemAllocAsync_ptsz", ALLOC_ASYNC_PTSZ, on_alloc_async_ptsz) \
	X("cuModuleLoad", MODULE_LOAD, on_module_load) \
	X("cuModuleLoadData", MODULE_DATA, on_module_data) \
	X("cuModuleLoadDataEx", MODULE_DATA_EX, on_module_data_ex) \
	X("cuModuleLoadFatBinary", MODULE_FAT, on_module_fat) \
	X("cuLibraryLoadData", LIBRARY_DATA, on_library_data) \
	X("cuModuleUnload", MODULE_UNLOAD, on_module_unload) \
	X("cuLibraryUnload", LIBRARY_UNLOAD, on_library_unload) \
	X("cuStreamBeginCapture", BEGIN_CAPTURE_V1, on_begin_v1) \
	X("cuStreamBeginCapture_ptsz", BEGIN_CAPTURE_V1_PTSZ, on_begin_v1_ptsz) \
	X("cuStreamBeginCapture_v2", BEGIN_CAPTURE, on_begin) \
	X("cuStreamBeginCapture_v2_ptsz", BEGIN_CAPTURE_PTSZ, on_begin_ptsz) \
	X("cuStreamBeginCaptureToGraph", BEGIN_TO_GRAPH, on_begin_to_graph) \
	X("cuStreamBeginCaptureToGraph_ptsz", BEGIN_TO_GRAPH_PTSZ, on_begin_to_graph_ptsz) \
	X("cuStreamEndCapture", END_CAPTURE, on_end) \
	X("cuStreamEndCapture_ptsz", END_CAPTURE_PTSZ, on_end_ptsz) \
	X("cuGraphInstantiate", INSTANTIATE, on_instantiate) \
	X("cuGraphInstantiate_v2", INSTANTIATE_V2, on_instantiate_v2) \
	X("cuGraphInstantiateWithFlags", INSTANTIATE_FLAGS, on_instantiate_flags) \
	X("cuGraphInstantiateWithParams", INSTANTIATE_PARAMS, on_instantiate_params) \
	X("cuGraphInstantiateWithParams_ptsz", INSTANTIATE_PARAMS_PTSZ, on_instantiate_params_ptsz)

static void *take(enum entry entry, void *gate, const void *function)
{
	void *none = NULL, *ours;
	// A second driver in the process, or a form of an older version: it is left alone rather than mixed up with the first.
	if (!atomic_compare_exchange_strong(&gates[entry], &none, gate) && none != gate)
		return gate;
	memcpy(&ours, function, sizeof ours);
	return ours;
}

// NULL: nothing is hooked under that name.
static void *hooked(const char *name, void *gate)
{
#define TRY(row_name, entry, function) \
	if (strcmp(name, row_name) == 0) \
		return take(entry, gate, &(const void *){(const void *)(uintptr_t)function});
	HOOKS(TRY)
#undef TRY
	return NULL;
}

void *ct_agent_hook(const char *name, void *gate, bool per_thread)
{
	static const char suffix[] = "_ptsz";
	char of_thread[48];
	size_t n = strlen(name);
	void *ours = NULL;
	if (!ct_record_is_on() || n + sizeof suffix > sizeof of_thread)
		return gate;
	if (per_thread) {
		memcpy(of_thread, name, n);
		memcpy(of_thread + n, suffix, sizeof suffix);
		ours = hooked(of_thread, gate);
	}
	if (!ours)
		ours = hooked(name, gate);  // not every function has two forms
	return ours ? ours : gate;
}
