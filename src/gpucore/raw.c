// Every table of a dump in readable form, in the order of the file: for those who know what they look for.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>

#include "gpucore/gpucore_priv.h"

enum field_kind { U32, HEX32, U64, HEX64, TEXT, DIM3, EXCEPTION };

struct field {
	const char *name;
	uint32_t offset;
	enum field_kind kind;
};

static const struct field device_fields[] = {
	{"name", CT_DEV_NAME, TEXT}, {"type", CT_DEV_TYPE, TEXT}, {"sm_type", CT_DEV_SM_TYPE, TEXT}, {"id", CT_DEV_ID, U32},
	{"pci_bus", CT_DEV_PCI_BUS, HEX32}, {"pci_device", CT_DEV_PCI_DEVICE, HEX32}, {"sms", CT_DEV_N_SMS, U32}, {"warps_per_sm", CT_DEV_WARPS, U32},
	{"lanes_per_warp", CT_DEV_LANES, U32}, {"registers", CT_DEV_REGISTERS, U32}, {"predicates", CT_DEV_PREDICATES, U32},
	{"sm_major", CT_DEV_SM_MAJOR, U32}, {"sm_minor", CT_DEV_SM_MINOR, U32}, {"instruction_bytes", CT_DEV_INSTRUCTION, U32},
	{"status", CT_DEV_STATUS, U32}, {"uniform_registers", CT_DEV_UREGS, U32}, {"uniform_predicates", CT_DEV_UPREDS, U32},
	{"barriers", CT_DEV_BARRIERS, U32},
};
static const struct field context_fields[] = {
	{"context", CT_CTX_ID, HEX64}, {"shared_window", CT_CTX_SHARED, HEX64}, {"local_window", CT_CTX_LOCAL, HEX64},
	{"global_window", CT_CTX_GLOBAL, HEX64}, {"device", CT_CTX_DEVICE, U32}, {"host_tid", CT_CTX_TID, U32},
};
static const struct field module_fields[] = {{"module", 0, HEX64}};
static const struct field grid_fields[] = {
	{"grid", CT_GRID_ID, U64}, {"context", CT_GRID_CONTEXT, HEX64}, {"function", CT_GRID_FUNCTION, HEX64}, {"entry", CT_GRID_ENTRY, HEX64},
	{"module", CT_GRID_MODULE, HEX64}, {"parent_grid", CT_GRID_PARENT, U64}, {"params_offset", CT_GRID_PARAMS, HEX64}, {"kernel_type", CT_GRID_TYPE, U32},
	{"origin", CT_GRID_ORIGIN, U32}, {"status", CT_GRID_STATUS, U32}, {"registers", CT_GRID_REGS, U32}, {"grid_dim", CT_GRID_DIM, DIM3},
	{"block_dim", CT_GRID_BLOCK, DIM3}, {"launch_blocking", CT_GRID_BLOCKING, U32}, {"host_tid", CT_GRID_TID, U32},
	{"cluster_dim", CT_GRID_CLUSTER, DIM3}, {"preferred_cluster_dim", CT_GRID_PREFERRED, DIM3},
};
static const struct field bank_fields[] = {{"address", CT_BANK_ADDRESS, HEX64}, {"bytes", CT_BANK_SIZE, U32}, {"bank", CT_BANK_ID, U32}};
static const struct field sm_fields[] = {
	{"sm", CT_SM_ID, U32}, {"exception", CT_SM_EXCEPTION, EXCEPTION}, {"error_pc_valid", CT_SM_ERROR_VALID, U32}, {"error_pc", CT_SM_ERROR_PC, HEX64},
	{"cluster_target_valid", CT_SM_TARGET_VALID, U32}, {"cluster_target", CT_SM_TARGET, DIM3},
};
static const struct field block_fields[] = {
	{"grid", CT_CTA_GRID, U64}, {"block", CT_CTA_BLOCK, DIM3}, {"cluster", CT_CTA_CLUSTER, DIM3}, {"cluster_dim", CT_CTA_CLUSTER_DIM, DIM3},
};
static const struct field warp_fields[] = {
	{"warp", CT_WP_ID, U32}, {"valid_lanes", CT_WP_VALID, HEX32}, {"active_lanes", CT_WP_ACTIVE, HEX32}, {"broken", CT_WP_BROKEN, U32},
	{"error_pc_valid", CT_WP_ERROR_VALID, U32}, {"error_pc", CT_WP_ERROR_PC, HEX64}, {"registers", CT_WP_REGS, U32},
	{"shared_bytes", CT_WP_SHARED, U32}, {"syscall_lanes", CT_WP_SYSCALL, HEX32}, {"cbu_active", CT_WP_CBU_ACTIVE, HEX32},
	{"cbu_exited", CT_WP_CBU_EXITED, HEX32}, {"cbu_collective", CT_WP_CBU_COLLECTIVE, HEX32},
};
static const struct field lane_fields[] = {
	{"lane", CT_LN_ID, U32}, {"thread", CT_LN_THREAD, DIM3}, {"pc", CT_LN_PC, HEX64}, {"offset", CT_LN_OFFSET, HEX64},
	{"exception", CT_LN_EXCEPTION, EXCEPTION}, {"call_depth", CT_LN_DEPTH, U32}, {"syscall_depth", CT_LN_SYSCALL_DEPTH, U32},
	{"cc", CT_LN_CC, HEX32}, {"state", CT_LN_STATE, U32},
};
static const struct field call_fields[] = {
	{"level", CT_BT_LEVEL, U32}, {"return_address", CT_BT_ADDRESS, HEX64}, {"return_offset", CT_BT_OFFSET, HEX64}};
static const struct field meta_fields[] = {
	{"generator", CT_META_GENERATOR, TEXT}, {"driver_major", CT_META_DRIVER, U32}, {"driver_minor", CT_META_DRIVER_MINOR, U32},
	{"cuda_major", CT_META_CUDA, U32}, {"cuda_minor", CT_META_CUDA_MINOR, U32}, {"flags", CT_META_FLAGS, HEX32}, {"time", CT_META_TIME, U32},
};

static const struct layout {
	const struct field *fields;
	size_t n;
} layouts[CT_CORE_N_TYPES] = {
	[CT_CORE_DEV_TABLE] = {device_fields, CT_COUNT(device_fields)}, [CT_CORE_CTX_TABLE] = {context_fields, CT_COUNT(context_fields)},
	[CT_CORE_MOD_TABLE] = {module_fields, CT_COUNT(module_fields)}, [CT_CORE_GRID_TABLE] = {grid_fields, CT_COUNT(grid_fields)},
	[CT_CORE_CB_TABLE] = {bank_fields, CT_COUNT(bank_fields)},      [CT_CORE_SM_TABLE] = {sm_fields, CT_COUNT(sm_fields)},
	[CT_CORE_CTA_TABLE] = {block_fields, CT_COUNT(block_fields)},   [CT_CORE_WP_TABLE] = {warp_fields, CT_COUNT(warp_fields)},
	[CT_CORE_LN_TABLE] = {lane_fields, CT_COUNT(lane_fields)},      [CT_CORE_BT] = {call_fields, CT_COUNT(call_fields)},
	[CT_CORE_META_DATA] = {meta_fields, CT_COUNT(meta_fields)},
};

static uint32_t width_of(enum field_kind kind)
{
	return kind == DIM3 ? 12 : kind == U64 || kind == HEX64 || kind == TEXT ? 8 : 4;
}

static void print_text(FILE *out, const char *text)
{
	CT_AUTO(ct_auto_str) struct ct_str clean = CT_STR_INIT;
	ct_str_append_clean(&clean, text, strnlen(text, 256));
	fprintf(out, "\"%s\"", ct_str_text(&clean));
}

static void print_exception(FILE *out, uint32_t code)
{
	const char *word = ct_exception_word(code);
	fprintf(out, "%" PRIu32, code);
	if (code && word)
		fprintf(out, " (%s)", word);
}

static void print_field(const struct ct_gpucore *core, FILE *out, struct ct_row row, const struct field *f)
{
	fprintf(out, " %s ", f->name);
	struct ct_dim3 d = ct_row_dim3(row, f->offset);
	switch (f->kind) {
	case U32:
		fprintf(out, "%" PRIu32, d.x);
		break;
	case HEX32:
		fprintf(out, "0x%" PRIx32, d.x);
		break;
	case U64:
		fprintf(out, "%" PRIu64, ct_row_u64(row, f->offset));
		break;
	case HEX64:
		fprintf(out, "0x%" PRIx64, ct_row_u64(row, f->offset));
		break;
	case TEXT:
		print_text(out, ct_core_text(core, ct_row_u64(row, f->offset)));
		break;
	case DIM3:
		fprintf(out, "(%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")", d.x, d.y, d.z);
		break;
	case EXCEPTION:
		print_exception(out, d.x);
		break;
	}
}

static void print_row(const struct ct_gpucore *core, FILE *out, uint32_t type, uint64_t number, struct ct_row row)
{
	fprintf(out, "  [%" PRIu64 "]", number);
	uint64_t known = 0;
	for (size_t i = 0; i < layouts[type].n; i++) {
		const struct field *f = &layouts[type].fields[i];
		if (f->offset + width_of(f->kind) > row.size)
			continue;  // an older driver's row
		print_field(core, out, row, f);
		if (f->offset + width_of(f->kind) > known)
			known = f->offset + width_of(f->kind);
	}
	if (row.size > known + 8)  // more than padding: a newer driver's row
		fprintf(out, " +%" PRIu64 " bytes unknown", row.size - known);
	fputc('\n', out);
}

static void print_words(FILE *out, const uint8_t *bytes, uint64_t size)
{
	for (uint64_t at = 0; size - at >= 4; at += 4) {
		uint32_t word;
		memcpy(&word, bytes + at, sizeof word);
		if (at % 32 == 0)
			fprintf(out, "%s  %3" PRIu64 ":", at ? "\n" : "", at / 4);
		fprintf(out, " %08" PRIx32, word);
	}
	if (size >= 4)
		fputc('\n', out);
}

static void print_section(const struct ct_gpucore *core, FILE *out, uint32_t i)
{
	Elf64_Shdr s = ct_core_section(core, i);
	uint32_t type = ct_core_type(&s);
	if (s.sh_type == SHT_NULL)
		return;
	fprintf(out, "section %" PRIu32 " %s", i, ct_core_type_name(type));
	if (type == 0)
		fprintf(out, " type 0x%" PRIx32, s.sh_type);
	fprintf(out, " of section %" PRIu32 " row %" PRIu32 ": %" PRIu64 " bytes at %" PRIu64, s.sh_link, s.sh_info, (uint64_t)s.sh_size,
		(uint64_t)s.sh_offset);
	if (s.sh_addr)
		fprintf(out, ", address 0x%" PRIx64, (uint64_t)s.sh_addr);
	fputc('\n', out);
	if (!ct_core_in_file(core, &s)) {
		fputs("  outside the file\n", out);
		return;
	}
	const uint8_t *bytes = core->source.bytes + s.sh_offset;
	if (type == CT_CORE_META_DATA) {  // one row, its sh_entsize is 0 (driver 580)
		print_row(core, out, type, 0, (struct ct_row){bytes, s.sh_size});
	} else if (layouts[type].n) {
		struct ct_table t;
		if (!ct_table_open(core, i, (enum ct_core_section)type, &t)) {
			fprintf(out, "  rows of %" PRIu64 " bytes, shorter than the format's first version\n", (uint64_t)s.sh_entsize);
			return;
		}
		for (uint64_t r = 0; r < t.n_rows; r++)
			print_row(core, out, type, r, ct_table_row(&t, r));
	} else if (ct_core_row_minimum(type) == 4 || type == CT_CORE_PARAM_MEM) {
		print_words(out, bytes, s.sh_size);
	}
}

bool ct_gpucore_raw(const struct ct_gpucore *core, FILE *out, struct ct_error *err)
{
	fprintf(out, "GPU core dump: %zu bytes, %" PRIu32 " sections\n", core->source.size, core->n_sections);
	if (core->n_damaged)
		fprintf(out, "damaged: %zu sections, the first: %s\n", core->n_damaged, core->damage);
	for (uint32_t i = 1; i < core->n_sections && !ferror(out); i++)
		print_section(core, out, i);
	if (fflush(out) != 0 || ferror(out))
		return ct_fail_errno(err, "writing the tables");
	return true;
}
