// What the thread in focus executes: registers, source, where its instructions are.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "shell/shell_priv.h"

static uint32_t value_at(const uint8_t *values, size_t i)
{
	const uint8_t *p = values + 4 * i;
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool print_registers(struct ct_shell_call *call, const struct ct_gpucore_lane *l, enum ct_gpucore_register_file file, const char *prefix)
{
	const uint8_t *values;
	size_t n, columns = call->shell->render.width >= 100 ? 5 : 4;
	if (!ct_gpucore_registers(call->shell->core, l, file, &values, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		char name[32];
		snprintf(name, sizeof name, "%s%zu", prefix, i);
		fprintf(call->out, "%-5s 0x%08" PRIx32 "%s", name, value_at(values, i), (i + 1) % columns && i + 1 < n ? "   " : "\n");
	}
	return n != 0;
}

static bool print_predicates(struct ct_shell_call *call, const struct ct_gpucore_lane *l, enum ct_gpucore_register_file file, const char *prefix)
{
	const uint8_t *values;
	size_t n;
	if (!ct_gpucore_registers(call->shell->core, l, file, &values, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		fprintf(call->out, "%s%zu=%d%s", prefix, i, value_at(values, i) != 0, i + 1 < n ? "  " : "\n");
	return n != 0;
}

bool ct_shell_run_regs(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_gpucore_lane *l = ct_shell_focus(call, err);
	if (!l)
		return false;
	if (!call->shell->core)
		return ct_shell_dump_only(err, "registers");
	fprintf(call->out, "PC    0x%" PRIx64 "\n", l->pc);
	if (l->has_error_pc)
		fprintf(call->out, "error PC of the warp 0x%" PRIx64 "\n", l->error_pc);
	bool any = print_registers(call, l, CT_GPUCORE_REGISTERS, "R");
	any |= print_predicates(call, l, CT_GPUCORE_PREDICATES, "P");
	any |= print_registers(call, l, CT_GPUCORE_UNIFORM_REGISTERS, "UR");
	any |= print_predicates(call, l, CT_GPUCORE_UNIFORM_PREDICATES, "UP");
	return any || ct_fail(err, CT_UNAVAILABLE, "the registers of this thread are not in the dump");
}

enum { MAX_SOURCE = 16 * 1024 * 1024, AROUND = 5 };

static void print_around(struct ct_shell_call *call, const char *text, uint32_t line)
{
	uint32_t number = 1;
	for (const char *p = text; *p && number <= line + AROUND; number++) {
		size_t n = strcspn(p, "\n");
		if (number + AROUND >= line) {
			const char *shown = ct_arena_clean(&call->arena, p, n);
			fprintf(call->out, "%c %5" PRIu32 "  %s\n", number == line ? '>' : ' ', number, shown);
		}
		p += n + (p[n] == '\n');
	}
}

// The name comes from a dump: only a regular file is opened, so that no device or FIFO is.
static bool show_source(struct ct_shell_call *call, const struct ct_device_frame *f, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	const char *file = ct_shell_flat(&call->arena, f->file);
	struct stat st;
	fprintf(call->out, "%s:%" PRIu32 "\n", file, f->line);
	if (stat(f->file, &st) == 0 && !S_ISREG(st.st_mode))
		return ct_fail(err, CT_UNAVAILABLE, "%s is not a regular file", file);
	if (!ct_read_file(f->file, MAX_SOURCE, &text, err))
		return ct_hint(err, "the source is looked for where it was compiled");
	print_around(call, ct_str_text(&text), f->line);
	return true;
}

bool ct_shell_run_source(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_gpucore_lane *l = ct_shell_focus(call, err);
	const struct ct_device_frame *frames;
	size_t n, i = 0;
	uint64_t wanted;
	if (!l)
		return false;
	ct_shell_frames(call, l, &frames, &n);
	if (call->n_args) {
		if (!ct_shell_parse_u64(call->args[0], &wanted) || wanted >= n)
			return ct_fail(err, CT_USAGE, "there is no frame '%.60s': 'stack' shows %zu", call->args[0], n);
		i = (size_t)wanted;
	} else {
		while (i < n && !frames[i].file)
			i++;
	}
	if (i < n && frames[i].file)
		return show_source(call, &frames[i], err);
	ct_fail(err, CT_UNAVAILABLE, "the code here has no line information");
	return ct_hint(err, "compile with nvcc -lineinfo");
}

bool ct_shell_run_asm(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_gpucore_lane *l = ct_shell_focus(call, err);
	if (!l)
		return false;
	uint64_t at = l->exception && l->has_error_pc ? l->error_pc : l->pc;
	fprintf(call->out, "PC 0x%" PRIx64 "\n", l->pc);
	if (l->has_error_pc)
		fprintf(call->out, "error PC of the warp 0x%" PRIx64 "\n", l->error_pc);
	ct_fail(err, CT_UNAVAILABLE, "instructions are not decoded here: cuda-gdb does it, with cuobjdump in PATH");
	return ct_hint(err, "cuda-gdb -ex 'target cudacore %.100s' -ex 'x/9i 0x%" PRIx64 "'", call->shell->core ? ct_shell_flat(&call->arena, call->shell->path) : "DUMP",
		       at >= 64 ? at - 64 : at);
}
