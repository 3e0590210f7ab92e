// Values: the arguments of a kernel, device memory.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "shell/shell_priv.h"

enum form { SIGNED, UNSIGNED, FLOATING, HALF, BFLOAT, HEX, BOOL };

static uint64_t little_endian(const uint8_t *bytes, size_t size)
{
	uint64_t v = 0;
	for (size_t i = 0; i < size && i < 8; i++)
		v |= (uint64_t)bytes[i] << 8 * i;
	return v;
}

static int64_t sign_extend(uint64_t v, size_t size)
{
	unsigned shift = (unsigned)(64 - 8 * size);
	return (int64_t)(v << shift) >> shift;
}

static double float_value(const uint8_t *bytes, size_t size)
{
	uint32_t word = (uint32_t)little_endian(bytes, 4);
	uint64_t wide = little_endian(bytes, size);
	float f;
	double d;
	memcpy(&f, &word, sizeof f);
	memcpy(&d, &wide, sizeof d);
	return size == 4 ? (double)f : d;
}

static void print_value(FILE *out, enum form form, const uint8_t *bytes, size_t size)
{
	uint64_t v = little_endian(bytes, size);
	switch (form) {
	case SIGNED:
		fprintf(out, "%" PRId64, sign_extend(v, size));
		break;
	case UNSIGNED:
		fprintf(out, "%" PRIu64, v);
		break;
	case FLOATING:
		fprintf(out, "%.*g", size == 4 ? 9 : 17, float_value(bytes, size));
		break;
	case HALF:
		fprintf(out, "%.5g", ct_half_value((uint16_t)v));
		break;
	case BFLOAT:
		fprintf(out, "%.4g", ct_bfloat_value((uint16_t)v));
		break;
	case HEX:
		fprintf(out, "0x%" PRIx64, v);
		break;
	case BOOL:
		if (v > 1)
			fprintf(out, "%" PRIu64 ", neither true nor false", v);
		else
			fputs(v ? "true" : "false", out);
		break;
	}
}

static const struct {
	const char *name;
	size_t size;
	enum form form;
} cpp_types[] = {
	{"bool", 1, BOOL}, {"char", 1, SIGNED}, {"signed char", 1, SIGNED}, {"unsigned char", 1, UNSIGNED},
	{"short", 2, SIGNED}, {"unsigned short", 2, UNSIGNED}, {"int", 4, SIGNED}, {"unsigned int", 4, UNSIGNED},
	{"long", 8, SIGNED}, {"unsigned long", 8, UNSIGNED}, {"long long", 8, SIGNED}, {"unsigned long long", 8, UNSIGNED},
	{"float", 4, FLOATING}, {"double", 8, FLOATING}, {"__half", 2, HALF}, {"c10::Half", 2, HALF}, {"__nv_bfloat16", 2, BFLOAT}, {"c10::BFloat16", 2, BFLOAT},
};

static bool form_of(const char *type, size_t size, enum form *ret_form)
{
	size_t n = type ? strlen(type) : 0;
	if (n && strchr("*&", type[n - 1]) && size == 8) {
		*ret_form = HEX;
		return true;
	}
	for (size_t i = 0; type && i < CT_COUNT(cpp_types); i++) {
		if (strcmp(cpp_types[i].name, type) == 0 && cpp_types[i].size == size) {
			*ret_form = cpp_types[i].form;
			return true;
		}
	}
	*ret_form = HEX;
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static void print_bytes(struct ct_shell_call *call, const uint8_t *bytes, size_t size)
{
	enum { PER_LINE = 16, MAX_BYTES = 256 };
	for (size_t i = 0; i < size && i < MAX_BYTES; i++) {
		if (i % PER_LINE == 0)
			fprintf(call->out, "\n      +%-4zu", i);
		fprintf(call->out, " %02x", bytes[i]);
	}
	if (size > MAX_BYTES)
		fprintf(call->out, "\n      + %zu more bytes", size - MAX_BYTES);
}

struct arguments {
	const uint8_t *bytes;
	size_t size;
	struct ct_cubin_params params;
	const char **types;  // NULL: not known
};

static bool get_arguments(struct ct_shell_call *call, struct arguments *ret, struct ct_error *err)
{
	const struct ct_gpucore_lane *l = ct_shell_focus(call, err);
	struct arguments a = {0};
	size_t grid, n_types = 0;
	if (!l)
		return false;
	if (!call->shell->core)
		return ct_shell_dump_only(err, "the kernel's arguments");
	if (!ct_shell_grid_of(call->shell, l, &grid) || !ct_gpucore_params(call->shell->core, grid, &a.bytes, &a.size)) {
		ct_fail(err, CT_UNAVAILABLE, "the kernel's arguments are not in this dump");
		return ct_hint(err, "a lightweight dump (CUDA_ENABLE_LIGHTWEIGHT_COREDUMP) leaves them out, and so do old drivers");
	}
	const char *name = ct_gpucore_kernel(call->shell->core, grid, &call->arena, &a.params);
	// A type more or less and none can be told of any.
	if (name && (!ct_cubin_param_types(&call->arena, name, &a.types, &n_types) || n_types != a.params.n_rows))
		a.types = NULL;
	*ret = a;
	return true;
}

static bool print_stored(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_gpu *gpu = &call->shell->incident->gpu;
	for (size_t i = 0; i < gpu->n_arguments; i++) {
		const struct ct_argument *a = &gpu->arguments[i];
		fprintf(call->out, "arg%-2" PRIu32 " ", a->index);
		if (a->type)
			fprintf(call->out, "%s", ct_shell_flat(&call->arena, a->type));
		else
			fprintf(call->out, "%" PRIu32 " bytes", a->size_bytes);
		if (a->name)
			fprintf(call->out, " %s", ct_shell_flat(&call->arena, a->name));
		fprintf(call->out, " = %s", a->value ? ct_shell_flat(&call->arena, a->value) : a->bytes ? ct_shell_flat(&call->arena, a->bytes) : "not read");
		fprintf(call->out, "%s%s\n", a->tensor ? "   -> " : "", a->tensor ? ct_shell_flat(&call->arena, a->tensor) : "");
	}
	if (gpu->n_arguments)
		return true;
	ct_fail(err, CT_UNAVAILABLE, "the kernel's arguments were not read");
	return ct_hint(err, "'collectors' says why");
}

bool ct_shell_run_args(struct ct_shell_call *call, struct ct_error *err)
{
	struct arguments a;
	enum form form;
	if (!call->shell->core)
		return print_stored(call, err);
	if (!get_arguments(call, &a, err))
		return false;
	for (size_t i = 0; i < a.params.n_rows; i++) {
		const struct ct_cubin_param *p = &a.params.rows[i];
		const char *type = a.types ? ct_shell_flat(&call->arena, a.types[i]) : NULL;
		fprintf(call->out, "arg%-2zu ", i);
		if (type)
			fprintf(call->out, "%s = ", type);
		else
			fprintf(call->out, "%" PRIu32 " bytes = ", p->size_bytes);
		if (p->offset > a.size || p->size_bytes > a.size - p->offset)
			fputs("beyond what the dump holds", call->out);
		else if (form_of(type, p->size_bytes, &form))
			print_value(call->out, form, a.bytes + p->offset, p->size_bytes);
		else
			print_bytes(call, a.bytes + p->offset, p->size_bytes);
		fputc('\n', call->out);
	}
	if (a.params.n_rows == 0 && a.size) {
		fputs("the code does not describe its parameters; all of their bytes:", call->out);
		print_bytes(call, a.bytes, a.size);
		fputc('\n', call->out);
	}
	if (a.params.n_rows == 0 && a.size == 0)
		fputs("the kernel takes no arguments\n", call->out);
	return true;
}

static const struct {
	const char *name;
	size_t size;
	enum form form;
} mem_types[] = {
	{"u8", 1, UNSIGNED}, {"i8", 1, SIGNED}, {"u16", 2, UNSIGNED}, {"i16", 2, SIGNED}, {"u32", 4, UNSIGNED}, {"i32", 4, SIGNED}, {"u64", 8, UNSIGNED},
	{"i64", 8, SIGNED}, {"f16", 2, HALF}, {"bf16", 2, BFLOAT}, {"f32", 4, FLOATING}, {"f64", 8, FLOATING}, {"x8", 1, HEX}, {"x32", 4, HEX}, {"x64", 8, HEX},
};

const char *ct_shell_mem_type(size_t index)
{
	return index < CT_COUNT(mem_types) ? mem_types[index].name : NULL;
}

static bool find_type(const char *name, size_t *ret_index, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str list = CT_STR_INIT;
	for (size_t i = 0; i < CT_COUNT(mem_types); i++) {
		if (strcmp(mem_types[i].name, name) == 0) {
			*ret_index = i;
			return true;
		}
		ct_str_addf(&list, "%s%s", i ? ", " : "", mem_types[i].name);
	}
	return ct_fail(err, CT_USAGE, "'%.60s' is none of: %s", name, ct_str_text(&list));
}

static bool address_of(struct ct_shell_call *call, const char *word, uint64_t *ret_address, struct ct_error *err)
{
	struct arguments a;
	uint64_t n;
	if (ct_shell_parse_u64(word, ret_address))
		return true;
	if (!ct_starts_with(word, "arg") || !ct_shell_parse_u64(word + 3, &n))
		return ct_fail(err, CT_USAGE, "'%.60s' is neither an address nor an argument such as arg0", word);
	if (!get_arguments(call, &a, err))
		return false;
	if (n >= a.params.n_rows)
		return ct_fail(err, CT_USAGE, "there is no argument %" PRIu64 ": the kernel has %zu", n, a.params.n_rows);
	const struct ct_cubin_param *p = &a.params.rows[n];
	if (p->size_bytes != 8 || p->offset > a.size || a.size - p->offset < 8)
		return ct_fail(err, CT_USAGE, "argument %" PRIu64 " is not a pointer", n);
	*ret_address = little_endian(a.bytes + p->offset, 8);
	return true;
}

enum { MAX_VALUES = 4096, DEFAULT_VALUES = 16, PER_LINE = 4 };

bool ct_shell_run_mem(struct ct_shell_call *call, struct ct_error *err)
{
	size_t type = 12;  // x8
	uint64_t address, count = DEFAULT_VALUES;
	uint8_t bytes[MAX_VALUES * 8];
	if (!address_of(call, call->args[0], &address, err) || (call->n_args > 1 && !find_type(call->args[1], &type, err)))
		return false;
	if (call->n_args > 2 && (!ct_shell_parse_u64(call->args[2], &count) || count == 0 || count > MAX_VALUES))
		return ct_fail(err, CT_USAGE, "'%.60s' is not a count from 1 to %d", call->args[2], MAX_VALUES);
	if (!call->shell->core)
		return ct_shell_dump_only(err, "device memory");
	size_t size = mem_types[type].size, there = ct_gpucore_read_some(call->shell->core, address, bytes, count * size) / size;
	uint64_t wanted = count;
	if (there < count)
		count = there;
	for (uint64_t i = 0; i < count; i++) {
		if (i % PER_LINE == 0)
			fprintf(call->out, "0x%" PRIx64 ":", address + i * size);
		fputs("  ", call->out);
		print_value(call->out, mem_types[type].form, bytes + i * size, size);
		if (i % PER_LINE == PER_LINE - 1 || i + 1 == count)
			fputc('\n', call->out);
	}
	if (count == wanted)
		return true;
	if (count)
		ct_fail(err, CT_UNAVAILABLE, "%" PRIu64 " of %" PRIu64 " bytes at 0x%" PRIx64 " are not in this dump", (wanted - count) * size, wanted * size, address);
	else
		ct_fail(err, CT_UNAVAILABLE, "%" PRIu64 " bytes at 0x%" PRIx64 " are not in this dump", wanted * size, address);
	return ct_hint(err, "--dump=memory or full keeps it; without cudatrap, global memory is kept when CUDA_COREDUMP_GENERATION_FLAGS does not have skip_global_memory");
}
