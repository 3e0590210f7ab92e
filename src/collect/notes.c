// The file in which a process notes where it is (cudatrap.note(), python/cudatrap/notes.py); see collect_priv.h. It is written by the
// process that failed, perhaps in the middle of it: nothing in it is believed before it was looked at.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/collect_priv.h"

// Little-endian, as all machines with CUDA are. python/cudatrap/notes.py has the same numbers.
struct notes_head {
	char magic[8];      // "CTNOTES\0"
	uint32_t version;   // 1
	uint32_t sequence;  // odd while the text is being written
	uint32_t length;    // of the text that follows: "name\0value\0" again and again
	uint32_t reserved;
};
_Static_assert(sizeof(struct notes_head) == 24, "the layout is fixed");

enum { NOTES_BYTES = 4096, TRIES = 50, NAME_MAX_BYTES = 64, VALUE_MAX_BYTES = 512 };
static const char magic[8] = "CTNOTES";

static bool read_once(int fd, char bytes[NOTES_BYTES], struct ct_error *err)
{
	ssize_t n = pread(fd, bytes, NOTES_BYTES, 0);
	if (n < 0)
		return ct_fail_errno(err, "notes");
	if (n != NOTES_BYTES || memcmp(bytes, magic, sizeof magic) != 0)
		return ct_fail(err, CT_FORMAT, "the file of notes is none of this version");
	return true;
}

// The process may write meanwhile: two looks with the same even number and the same bytes are one state of it.
static bool read_settled(int fd, char bytes[NOTES_BYTES], struct ct_error *err)
{
	char again[NOTES_BYTES];
	for (int left = TRIES; left > 0; left--) {
		struct notes_head head;
		if (!read_once(fd, bytes, err) || !read_once(fd, again, err))
			return false;
		memcpy(&head, bytes, sizeof head);
		if (head.sequence % 2 == 0 && memcmp(bytes, again, NOTES_BYTES) == 0)
			return true;
		poll(NULL, 0, 1);
	}
	return ct_fail(err, CT_TIMEOUT, "the process was in the middle of a note and did not finish it");
}

static bool take_pairs(struct ct_incident *incident, const char bytes[NOTES_BYTES], struct ct_error *err)
{
	struct notes_head head;
	memcpy(&head, bytes, sizeof head);
	if (head.version != 1)
		return ct_fail(err, CT_FORMAT, "notes of version %" PRIu32 ", not 1", head.version);
	if (head.length > NOTES_BYTES - sizeof head)
		return ct_fail(err, CT_FORMAT, "notes of %" PRIu32 " bytes in a file of %d", head.length, NOTES_BYTES);
	const char *at = bytes + sizeof head, *end = at + head.length;
	while (at < end) {
		const char *name = at, *value = memchr(name, '\0', (size_t)(end - name));
		const char *next = value ? memchr(value + 1, '\0', (size_t)(end - value - 1)) : NULL;
		if (!next || value == name || value - name > NAME_MAX_BYTES || next - value - 1 > VALUE_MAX_BYTES)
			return ct_fail(err, CT_FORMAT, "notes: no name and value at byte %zu", (size_t)(at - bytes));
		ct_incident_add_progress(incident, name, value + 1);
		at = next + 1;
	}
	return true;
}

// After an exec() the file is still there, but what it says is of the program before: then it is not mapped.
static bool is_mapped(pid_t pid, const char *name)
{
	char path[64];
	CT_AUTO(ct_auto_str) struct ct_str maps = CT_STR_INIT;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	return ct_read_file(path, (size_t)64 << 20, &maps, NULL) && strstr(ct_str_text(&maps), name) != NULL;
}

static bool read_notes(struct ct_incident *incident, const char *agent_dir, pid_t pid, bool *ret_found, struct ct_error *err)
{
	char bytes[NOTES_BYTES];
	struct stat st;
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	ct_str_addf(&path, "%s/notes.%d", agent_dir, (int)pid);
	CT_AUTO(ct_auto_close) int fd = open(ct_str_text(&path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || ct_fail_errno(err, "%s", ct_str_text(&path));
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return ct_fail(err, CT_FORMAT, "%s: not a file", ct_str_text(&path));
	if (!is_mapped(pid, strrchr(ct_str_text(&path), '/')))
		return true;
	*ret_found = true;
	return read_settled(fd, bytes, err) && take_pairs(incident, bytes, err);
}

void ct_collect_notes(struct ct_incident *incident, const char *agent_dir, pid_t pid)
{
	int64_t start = ct_now_us();
	struct ct_error err = CT_ERROR_INIT;
	bool found = false;
	if (!agent_dir)
		return;
	bool ok = read_notes(incident, agent_dir, pid, &found, &err);
	if (ok && !found)
		return;  // it never noted anything: nothing is missing
	ct_incident_add_collector(incident, "notes", ok ? CT_COLLECTOR_OK : CT_COLLECTOR_FAILED, (double)(ct_now_us() - start) / 1000, ok ? NULL : err.text);
}
