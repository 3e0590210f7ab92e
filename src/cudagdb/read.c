// What cuda-gdb left: why there is no document, a dump that it cannot read, a session folder.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudagdb/cudagdb_priv.h"

// In the scratch folder: "PID TMPDIR" of the cuda-gdb that was started last.
#define SESSION_NAME "cuda-gdb.session"

// Its words, ours, what to do. The first row that is found is taken: the more telling ones come first.
static const struct {
	const char *needle;
	enum ct_code code;
	const char *text, *hint;
} reasons[] = {
	{"Attaching not possible", CT_UNAVAILABLE, "the CUDA driver does not let a debugger attach to this process",
	 "CUDA MPS, another CUDA tool or a display on that GPU prevents it; a core dump works all the same (CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1)"},
	{"ptrace: Operation not permitted", CT_DENIED, "the kernel does not let cuda-gdb attach to the process",
	 "in a container: --cap-add=SYS_PTRACE; elsewhere: sysctl kernel.yama.ptrace_scope=0"},
	{"Could not trace the inferior process", CT_DENIED, "the kernel does not let cuda-gdb trace it", "in a container: --cap-add=SYS_PTRACE"},
	{"ptrace: No such process", CT_NOT_FOUND, "the process ended before cuda-gdb could attach", ""},
	{"No such process", CT_NOT_FOUND, "the process ended before cuda-gdb could attach", ""},
	{"m_num_devices > 0", CT_FORMAT, "cuda-gdb found no GPU in the dump: it was cut short",
	 "record it again with skip_constbank_memory in CUDA_COREDUMP_GENERATION_FLAGS"},
	{"unknown ABI version", CT_UNAVAILABLE, "this cuda-gdb is too old for the code in the dump", "use cuda-gdb 12.4 or later"},
	{"CUDBG_ERROR_INCOMPATIBLE_API", CT_UNAVAILABLE, "this cuda-gdb does not fit the installed driver",
	 "use the cuda-gdb of a toolkit not newer than the driver"},
	{"CUDBG_ERROR_INVALID_ENVVAR", CT_UNAVAILABLE, "the driver refuses the debugger because of an environment variable", ""},
	{"Python scripting is not supported", CT_UNAVAILABLE, "this cuda-gdb has no Python", "use one that has: of the CUDA toolkit 12.7 or later"},
	{"has no attribute 'cuda'", CT_UNAVAILABLE, "this cuda-gdb has no gdb.cuda", "use cuda-gdb 12.7 or later"},
	{"No module named 'cudatrap'", CT_NOT_FOUND, "cudatrap's scripts for cuda-gdb were not found",
	 "reinstall, or set CUDATRAP_GDBSCRIPTS to the folder that holds cudatrap/"},
	{"internal-error", CT_SYSTEM, "cuda-gdb failed with an internal error", "another version of cuda-gdb may do better"},
	{"Could not open CUDA core file", CT_FORMAT, "cuda-gdb cannot read the dump", ""},
	{"not a core dump", CT_FORMAT, "this is no GPU core dump", ""},
};

// "CUDBG_ERROR_..." in log, as a word; "" when there is none.
static void error_word(const char *log, char *ret_word, size_t size)
{
	const char *at = strstr(log, "CUDBG_ERROR_");
	size_t n = at ? strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") : 0;
	snprintf(ret_word, size, "%.*s", (int)(n < size ? n : size - 1), at ? at : "");
}

bool ct_cudagdb_known_reason(const char *log, struct ct_error *err)
{
	for (size_t i = 0; i < CT_COUNT(reasons); i++)
		if (strstr(log, reasons[i].needle)) {
			ct_fail(err, reasons[i].code, "%s", reasons[i].text);
			ct_hint(err, "%s", reasons[i].hint);
			return true;
		}
	return false;
}

bool ct_cudagdb_explain(const char *log, const struct ct_child_result *result, struct ct_error *err)
{
	if (ct_cudagdb_known_reason(log, err))
		return false;
	if (result->timed_out) {
		ct_fail(err, CT_TIMEOUT, "cuda-gdb did not finish in time and was ended");
		return ct_hint(err, "give it more time: --deadline");
	}
	if (WIFSIGNALED(result->wait_status))
		return ct_fail(err, CT_SYSTEM, "cuda-gdb crashed (signal %d)", WTERMSIG(result->wait_status));
	char word[64];
	error_word(log, word, sizeof word);
	if (*word)
		return ct_fail(err, CT_SYSTEM, "the CUDA debugging interface failed (%s)", word);
	ct_fail(err, CT_SYSTEM, "cuda-gdb left no result (status %d)", WIFEXITED(result->wait_status) ? WEXITSTATUS(result->wait_status) : -1);
	return ct_hint(err, "run again with --verbose to see what it says");
}

bool ct_cudagdb_check_core(const char *path, struct ct_error *err)
{
	CT_AUTO(ct_auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0)
		return ct_fail_errno(err, "%s", path);
	Elf64_Ehdr header;
	if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_CORE || header.e_machine != 0xbe /* EM_CUDA */)
		return ct_fail(err, CT_FORMAT, "%s: not a GPU core dump", path);
	// The driver writes e_shoff first and the section table last (driver 580, seen): past the end means that it gave up. With more than
	// 65,279 sections e_shnum is 0 and the first row has the number; the table is there if that row is.
	uint64_t size = (uint64_t)st.st_size;
	uint64_t room = size > header.e_shoff ? (size - header.e_shoff) / sizeof(Elf64_Shdr) : 0;
	uint64_t count = header.e_shnum;
	Elf64_Shdr first;
	if (count == 0 && room && pread(fd, &first, sizeof first, (off_t)header.e_shoff) == (ssize_t)sizeof first)
		count = first.sh_size;
	if (count && header.e_shoff && count <= room)
		return true;
	ct_fail(err, CT_FORMAT, "%s: the dump was cut short at byte %ju, before its section table", path, (uintmax_t)size);
	return ct_hint(err, "record it again with skip_constbank_memory in CUDA_COREDUMP_GENERATION_FLAGS");
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);  // what cannot be removed stays: it is only litter
	return 0;
}

static void remove_session(const char *tmpdir, pid_t gdb_pid)
{
	char path[4096];
	int n = snprintf(path, sizeof path, "%s/cuda-dbg/%d", tmpdir && *tmpdir ? tmpdir : "/tmp", (int)gdb_pid);
	if (n > 0 && (size_t)n < sizeof path)
		nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void ct_cudagdb_note_session(const char *scratch_dir, const char *tmpdir, pid_t gdb_pid)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	const char *text = ct_arena_printf(&arena, "%d %s", (int)gdb_pid, tmpdir ? tmpdir : "");
	ct_write_file_at(-1, ct_arena_printf(&arena, "%s/" SESSION_NAME, scratch_dir), text, strlen(text), NULL);
}

void ct_cudagdb_clean_up(const char *scratch_dir, pid_t live_pid, const char *tmpdir)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	if (live_pid > 0)
		remove_session(tmpdir, live_pid);
	const char *path = ct_arena_printf(&arena, "%s/" SESSION_NAME, scratch_dir);
	if (!ct_read_file(path, 8192, &text, NULL))
		return;
	unlink(path);
	char *rest = NULL;
	long pid = strtol(ct_str_text(&text), &rest, 10);
	if (pid > 0 && *rest == ' ')
		remove_session(rest + 1, (pid_t)pid);
}
