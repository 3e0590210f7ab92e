// The driver's dump: taken from the FIFO or the file it writes to, read by our own reader.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "collect/collect_priv.h"
#include "gpucore/gpucore.h"
#include "values/values.h"

enum { FILE_POLL_MS = 20 };

// Everything that comes out of the FIFO, until the driver closes it.
static bool spool(int fifo, int out, uint64_t limit_bytes, int64_t deadline_us, struct ct_error *err)
{
	static char bytes[1 << 20];
	uint64_t total = 0;
	for (;;) {
		struct pollfd pfd = {.fd = fifo, .events = POLLIN};
		int ready = poll(&pfd, 1, ct_ms_until(deadline_us));
		if (ready == 0)
			return ct_fail(err, CT_TIMEOUT, "the driver did not finish its dump in time");
		ssize_t n = read(fifo, bytes, sizeof bytes);
		if (n == 0)
			return total > 0 || ct_fail(err, CT_FORMAT, "the driver's dump is empty");
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return ct_fail_errno(err, "the driver's dump");
		total += (uint64_t)n;
		if (total > limit_bytes)
			return ct_fail(err, CT_LIMIT, "the dump is larger than %" PRIu64 " bytes (--dump-limit): it was cut", limit_bytes);
		if (!ct_write_all(out, bytes, (size_t)n, err))
			return ct_fail_in(err, "keeping the driver's dump");
	}
}

static bool take_fifo(const struct ct_collect_job *job, struct ct_gpucore **ret_core, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	ct_str_addf(&path, "%s/" CT_COLLECT_DUMP, job->scratch_dir);
	CT_AUTO(ct_auto_close) int out = job->keep_dump ? open(ct_str_text(&path), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : memfd_create("dump", MFD_CLOEXEC);
	if (out < 0)
		return ct_fail_errno(err, "%s", ct_str_text(&path));
	if (!spool(job->dump_fd, out, job->dump_limit_bytes, job->deadline_us, err))
		return false;
	if (lseek(out, 0, SEEK_SET) < 0)
		return ct_fail_errno(err, "the driver's dump");
	return ct_gpucore_open_fd(out, "the driver's dump", 0, ret_core, err);
}

static bool process_is_gone(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	if (!ct_read_file(path, 4096, &text, NULL))
		return true;
	const char *state = strrchr(ct_str_text(&text), ')');
	return !state || state[1] == '\0' || state[2] == 'Z' || state[2] == 'X';
}

// A file is complete when it can be opened: the driver writes the section headers last.
static bool take_file(const struct ct_collect_job *job, struct ct_gpucore **ret_core, struct ct_error *err)
{
	for (;;) {
		bool gone = process_is_gone(job->pid);
		if (ct_gpucore_open(job->dump_path, ret_core, err))
			break;
		if (gone || err->code != CT_FORMAT)
			return false;
		if (ct_ms_until(job->deadline_us) == 0)
			return ct_fail(err, CT_TIMEOUT, "the driver did not finish its dump in time");
		poll(NULL, 0, FILE_POLL_MS);
	}
	CT_AUTO(ct_auto_str) struct ct_str kept = CT_STR_INIT;
	ct_str_addf(&kept, "%s/" CT_COLLECT_DUMP, job->scratch_dir);
	if (job->keep_dump)
		rename(job->dump_path, ct_str_text(&kept));
	return true;
}

bool ct_collect_dump(const struct ct_collect_job *job, struct ct_incident *incident, struct ct_error *err)
{
	CT_AUTO(ct_gpucore_auto) struct ct_gpucore *core = NULL;
	bool ok = job->dump_fd >= 0 ? take_fifo(job, &core, err) : take_file(job, &core, err);
	if (!ok || !ct_gpucore_fill(core, incident, err))
		return false;
	ct_values_with(core, incident, ct_data_dir());
	return true;
}
