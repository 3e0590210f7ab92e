// Kernel arguments of a dump: places from the image, bytes from the dump, types from the demangled signature.
// gdbscripts/cudatrap/arguments.py does the same in cuda-gdb; a test holds the two together.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <math.h>

#include "gpucore/gpucore_priv.h"

// Sizes of the CUDA ABI on 64-bit Linux.
static const struct ct_integer_type integers[] = {
	{"char", "int8", 1, true}, {"signed char", "int8", 1, true}, {"unsigned char", "uint8", 1, false},
	{"short", "int16", 2, true}, {"unsigned short", "uint16", 2, false}, {"int", "int32", 4, true}, {"unsigned int", "uint32", 4, false},
	{"long", "int64", 8, true}, {"unsigned long", "uint64", 8, false}, {"long long", "int64", 8, true}, {"unsigned long long", "uint64", 8, false},
};

static const struct ct_integer_type *integer_named(const char *name)
{
	for (size_t i = 0; i < CT_COUNT(integers); i++)
		if (strcmp(integers[i].name, name) == 0)
			return &integers[i];
	return NULL;
}

static bool is_qualifier(const char *word, size_t length)
{
	static const char *const qualifiers[] = {"const", "volatile", "__restrict__"};
	for (size_t i = 0; i < CT_COUNT(qualifiers); i++)
		if (strlen(qualifiers[i]) == length && memcmp(word, qualifiers[i], length) == 0)
			return true;
	return length == 0;
}

// "long const" and "const long" are long.
static const char *plain(struct ct_arena *arena, const char *type)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	while (*type) {
		size_t n = strcspn(type, " ");
		if (!is_qualifier(type, n))
			ct_str_addf(&s, "%s%.*s", s.length ? " " : "", (int)n, type);
		type += n + (type[n] == ' ');
	}
	return ct_arena_strdup(arena, ct_str_text(&s));
}

const struct ct_integer_type *ct_gpucore_integer(struct ct_arena *arena, const char *type)
{
	return integer_named(plain(arena, type));
}

const struct ct_integer_type *ct_gpucore_pointee(struct ct_arena *arena, const char *type)
{
	const char *bare = plain(arena, type);
	size_t n = strlen(bare);
	return n && bare[n - 1] == '*' ? ct_gpucore_integer(arena, ct_arena_strndup(arena, bare, n - 1)) : NULL;
}

static enum ct_argument_kind kind_of(const char *bare, size_t size)
{
	size_t n = strlen(bare);
	const struct ct_integer_type *integer = integer_named(bare);
	bool pointer = n && (bare[n - 1] == '*' || bare[n - 1] == '&' || strstr(bare, "(*)"));
	enum ct_argument_kind kind = CT_ARGUMENT_STRUCT;
	size_t wanted = size;
	if (pointer) {
		kind = CT_ARGUMENT_POINTER;
		wanted = 8;
	} else if (strcmp(bare, "bool") == 0) {
		kind = CT_ARGUMENT_BOOL;
		wanted = 1;
	} else if (integer) {
		kind = CT_ARGUMENT_INTEGER;
		wanted = integer->size;
	} else if (strcmp(bare, "float") == 0 || strcmp(bare, "double") == 0) {
		kind = CT_ARGUMENT_FLOAT;
		wanted = bare[0] == 'f' ? 4 : 8;
	}
	return wanted == size ? kind : CT_ARGUMENT_BYTES;
}

static uint64_t le(const uint8_t *bytes, size_t size)
{
	uint64_t v = 0;
	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)bytes[i] << (8 * i);
	return v;
}

static const char *integer_text(struct ct_arena *arena, const uint8_t *bytes, size_t size, bool is_signed)
{
	uint64_t v = le(bytes, size);
	if (!is_signed)
		return ct_arena_printf(arena, "%" PRIu64, v);
	if (size < 8 && v >> (8 * size - 1))
		v |= UINT64_MAX << (8 * size);
	return ct_arena_printf(arena, "%" PRId64, (int64_t)v);
}

static const char *float_text(struct ct_arena *arena, const uint8_t *bytes, size_t size)
{
	double v;
	float f;
	if (size == 4) {
		memcpy(&f, bytes, sizeof f);
		v = (double)f;
	} else {
		memcpy(&v, bytes, sizeof v);
	}
	if (isnan(v))
		return "NaN";
	if (isinf(v))
		return v > 0 ? "Inf" : "-Inf";
	return ct_arena_printf(arena, "%.*g", size == 4 ? 9 : 17, v);  // digits that give the number back
}

// Where the extents of a view stand in its bytes.
struct view {
	size_t room, each;  // entries of sizes and of strides, bytes of one
	bool is_signed;
	uint64_t dims;
	const char *element;  // type
};

enum { MAX_DIMS = 25 };  // MAX_TENSORINFO_DIMS of ATen/cuda/detail/TensorInfo.cuh (PyTorch 1.x to 2.11)

static bool index_type(struct ct_arena *arena, const char *type, struct view *ret_view)
{
	const struct ct_integer_type *integer = integer_named(plain(arena, type));
	if (!integer || integer->size < 4)
		return false;
	ret_view->each = integer->size;
	ret_view->is_signed = integer->is_signed;
	return true;
}

// "2ul" or "2"; two digits at most.
static bool small_number(const char *text, size_t *ret_number)
{
	size_t digits = strspn(text, "0123456789");
	if (digits < 1 || digits > 2 || (text[digits] && strcmp(text + digits, "ul") != 0))
		return false;
	*ret_number = (size_t)(text[0] - '0');
	if (digits == 2)
		*ret_number = *ret_number * 10 + (size_t)(text[1] - '0');
	return true;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t n = strlen(end);
	return length >= n && memcmp(text + length - n, end, n) == 0;
}

// True when name, template arguments and size of the struct agree, so that its layout is certain.
static bool view_of(struct ct_arena *arena, const char *bare, const uint8_t *bytes, size_t size, struct view *ret_view)
{
	const char **words = NULL;
	size_t n_words = 0, head = strcspn(bare, "<");
	*ret_view = (struct view){.room = MAX_DIMS};
	if (!ct_cubin_template_types(arena, bare, &words, &n_words))
		return false;
	if (head == strlen("at::cuda::detail::TensorInfo") && ct_starts_with(bare, "at::cuda::detail::TensorInfo") && n_words == 2) {
		// {T *data; IndexType sizes[25]; IndexType strides[25]; int dims;}
		if (!index_type(arena, words[1], ret_view) || size != (8 + 2 * MAX_DIMS * ret_view->each + 4 + 7) / 8 * 8)
			return false;
		ret_view->dims = le(bytes + 8 + 2 * MAX_DIMS * ret_view->each, 4);
		ret_view->element = words[0];
		return ret_view->dims <= MAX_DIMS;
	}
	if (ends_with(bare, head, "GenericPackedTensorAccessor") && n_words == 4) {
		// {T *data; index_t sizes[N]; index_t strides[N];}
		if (!small_number(words[1], &ret_view->room) || !index_type(arena, words[3], ret_view))
			return false;
		ret_view->dims = ret_view->room;
		ret_view->element = words[0];
		return size == 8 + 2 * ret_view->room * ret_view->each;
	}
	return false;
}

static const char *view_text(struct ct_arena *arena, const struct view *v, const uint8_t *bytes)
{
	static const char *const titles[] = {"sizes", "strides"};
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	ct_str_addf(&s, "data 0x%" PRIx64, le(bytes, 8));
	for (size_t part = 0; part < CT_COUNT(titles); part++) {
		ct_str_addf(&s, ", %s [", titles[part]);
		for (size_t i = 0; i < v->dims; i++)
			ct_str_addf(&s, "%s%s", i ? ", " : "", integer_text(arena, bytes + 8 + (part * v->room + i) * v->each, v->each, v->is_signed));
		ct_str_add(&s, "]");
	}
	return ct_arena_strdup(arena, ct_str_text(&s));
}

static int64_t extent_at(const struct view *v, const uint8_t *bytes, size_t number)
{
	uint64_t n = le(bytes + 8 + number * v->each, v->each);
	if (v->is_signed && v->each < 8 && n >> (8 * v->each - 1))
		n |= UINT64_MAX << (8 * v->each);
	return !v->is_signed && n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

bool ct_gpucore_view(struct ct_arena *arena, const char *type, const uint8_t *bytes, size_t size, struct ct_gpucore_view *ret_view)
{
	struct view v;
	if (!view_of(arena, plain(arena, type), bytes, size, &v))
		return false;
	*ret_view = (struct ct_gpucore_view){.address = le(bytes, 8), .element = integer_named(plain(arena, v.element)), .n_dims = v.dims};
	for (size_t i = 0; i < v.dims; i++) {
		ret_view->sizes[i] = extent_at(&v, bytes, i);
		ret_view->strides[i] = extent_at(&v, bytes, v.room + i);
	}
	return true;
}

static const char *value_text(struct ct_arena *arena, enum ct_argument_kind kind, const char *bare, const uint8_t *bytes, size_t size)
{
	struct view view;
	switch (kind) {
	case CT_ARGUMENT_POINTER:
		return ct_arena_printf(arena, "0x%" PRIx64, le(bytes, size));
	case CT_ARGUMENT_INTEGER:
		return integer_text(arena, bytes, size, integer_named(bare)->is_signed);
	case CT_ARGUMENT_FLOAT:
		return float_text(arena, bytes, size);
	case CT_ARGUMENT_BOOL:
		return bytes[0] ? "true" : "false";
	case CT_ARGUMENT_STRUCT:
		return view_of(arena, bare, bytes, size, &view) ? view_text(arena, &view, bytes) : NULL;
	case CT_ARGUMENT_BYTES:
		break;
	}
	return NULL;
}

static const char *hex_text(struct ct_arena *arena, const uint8_t *bytes, size_t size)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < size && i < CT_MAX_ARGUMENT_BYTES; i++)
		ct_str_addf(&s, "%02x", bytes[i]);
	return ct_arena_strdup(arena, ct_str_text(&s));
}

void ct_core_argument(struct ct_arena *arena, const struct ct_cubin_param *p, const char *type, const uint8_t *bytes, struct ct_argument *out)
{
	const char *bare = type ? plain(arena, type) : NULL;
	*out = (struct ct_argument){.index = p->ordinal, .offset = p->offset, .size_bytes = p->size_bytes, .type = type};
	out->kind = bare ? kind_of(bare, p->size_bytes) : CT_ARGUMENT_BYTES;
	if (!bytes || p->size_bytes == 0)
		return;
	out->value = value_text(arena, out->kind, bare, bytes, p->size_bytes);
	out->bytes = hex_text(arena, bytes, p->size_bytes);
	out->bytes_cut = p->size_bytes > CT_MAX_ARGUMENT_BYTES;
}

void ct_core_arguments(struct ct_gpucore *core, size_t grid_index, const char *signature, struct ct_incident *incident)
{
	struct ct_arena *arena = &incident->arena;
	struct ct_gpucore_grid grid;
	struct ct_cubin_function kernel;
	struct ct_cubin_params params;
	const uint8_t *bytes = NULL;
	const char **types = NULL;
	size_t n_bytes = 0, n_types = 0;
	if (!ct_gpucore_grid(core, grid_index, &grid))
		return;
	const struct ct_cubin *image = ct_core_image_at(core, grid.module, grid.entry_pc);
	if (!image || !ct_cubin_kernel_at(image, grid.entry_pc, &kernel) || !ct_cubin_params(image, &kernel, arena, &params, NULL))
		return;
	if (!ct_gpucore_params(core, grid_index, &bytes, &n_bytes))
		bytes = NULL;
	// Types are used when there is one for each parameter, else the signature is of something else.
	bool typed = signature && ct_cubin_param_types(arena, signature, &types, &n_types) && n_types == params.n_rows;
	struct ct_gpu *gpu = &incident->gpu;
	for (size_t i = 0; i < params.n_rows && i < CT_MAX_ARGUMENTS; i++) {
		const struct ct_cubin_param *p = &params.rows[i];
		bool inside = bytes && p->offset <= n_bytes && p->size_bytes <= n_bytes - p->offset;
		gpu->arguments = ct_arena_grow(arena, gpu->arguments, &gpu->n_arguments, sizeof *gpu->arguments);
		ct_core_argument(arena, p, typed ? types[i] : NULL, inside ? bytes + p->offset : NULL, &gpu->arguments[gpu->n_arguments - 1]);
	}
}
