// Reads a record into memory. It is copied, not mapped: a mapping changes while one looks, and is gone when the file is cut.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "recorder/recorder_priv.h"

enum { PIECE_ROWS = 128 };  // launches between the two looks at their numbers

static bool read_at(int fd, void *ret_bytes, size_t size, uint64_t at, struct ct_error *err)
{
	uint8_t *to = ret_bytes;
	while (size) {
		ssize_t n = pread(fd, to, size, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ct_fail_errno(err, "record of launches");
		if (n == 0)
			return ct_fail(err, CT_FORMAT, "the record of launches ends before byte %" PRIu64, at + size);
		to += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return true;
}

static bool is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

// Everything that follows from the depth must be as the depth has it.
static bool check_head(const struct ct_record_head *head, uint64_t file_bytes, struct ct_error *err)
{
	if (memcmp(head->magic, CT_RECORD_MAGIC, sizeof head->magic) != 0)
		return ct_fail(err, CT_FORMAT, "not a record of launches");
	if (head->version != CT_RECORD_VERSION)
		return ct_fail(err, CT_FORMAT, "a record of launches of version %u; this cudatrap reads version %d", head->version, CT_RECORD_VERSION);
	struct ct_record_head want = *head;
	if (is_power_of_two(head->depth) && head->depth >= CT_RECORD_MIN_DEPTH && head->depth <= CT_RECORD_MAX_DEPTH)
		ct_record_lay_out(head->depth, &want);
	else
		want.depth = 0;
	if (memcmp(&want, head, sizeof want) != 0)
		return ct_fail(err, CT_FORMAT, "a record of launches whose parts are not where its depth has them");
	if (file_bytes < head->file_bytes)
		return ct_fail(err, CT_FORMAT, "a record of launches of %" PRIu64 " bytes, cut to %" PRIu64, head->file_bytes, file_bytes);
	return true;
}

// Rows first..first+n-1 of all launches. The writer may be at work: a row whose number is another one afterwards was copied while it
// changed, and is dropped.
static bool read_rows(int fd, struct ct_launches *l, uint64_t first, uint64_t n, struct ct_error *err)
{
	struct ct_record_launch *rows = (struct ct_record_launch *)(void *)(l->bytes + l->head.launches_at), again[PIECE_ROWS];
	for (uint64_t at = first; at < first + n;) {
		uint64_t count = first + n - at < PIECE_ROWS ? first + n - at : PIECE_ROWS;
		uint64_t place = l->head.launches_at + at * sizeof *rows;
		if (!read_at(fd, &rows[at], count * sizeof *rows, place, err) || !read_at(fd, again, count * sizeof *rows, place, err))
			return false;
		for (uint64_t i = 0; i < count; i++)
			if (rows[at + i].state != again[i].state)
				rows[at + i].state = 0;
		at += count;
	}
	return true;
}

static bool read_rings(int fd, struct ct_launches *l, struct ct_error *err)
{
	struct ct_record_ring *rings = (struct ct_record_ring *)(void *)(l->bytes + l->head.rings_at);
	if (!read_at(fd, rings, l->head.n_rings * sizeof *rings, l->head.rings_at, err))
		return false;
	uint64_t first = 0;
	for (unsigned i = 0; i < l->head.n_rings; i++) {
		uint64_t rows = ct_record_ring_rows(l->head.depth, i);
		rings[i].first = first;  // not what the file says
		rings[i].capacity = rows;
		if (!read_rows(fd, l, first, ct_launches_rows_of(&rings[i]), err))
			return false;
		first += rows;
	}
	return true;
}

// The tables and texts, and then the head once more: its numbers are at least as new as everything that was read.
static bool read_tables(int fd, struct ct_launches *l, struct ct_error *err)
{
	uint64_t begin = l->head.functions_at, end = l->head.launches_at;
	struct ct_record_head again;
	if (!read_at(fd, l->bytes + begin, end - begin, begin, err) || !read_at(fd, &again, sizeof again, 0, err))
		return false;
	if (!check_head(&again, l->head.file_bytes, err))
		return false;
	if (again.depth != l->head.depth)
		return ct_fail(err, CT_FORMAT, "the record of launches was replaced while it was read");
	l->head = again;
	return true;
}

static bool load(int fd, struct ct_launches *l, struct ct_error *err)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return ct_fail_errno(err, "record of launches");
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof l->head)
		return ct_fail(err, CT_FORMAT, "not a record of launches");
	if (!read_at(fd, &l->head, sizeof l->head, 0, err) || !check_head(&l->head, (uint64_t)st.st_size, err))
		return false;
	l->bytes = calloc(1, l->head.file_bytes);
	if (!l->bytes)
		return ct_fail(err, CT_LIMIT, "no memory for a record of %" PRIu64 " bytes", l->head.file_bytes);
	return read_rings(fd, l, err) && read_tables(fd, l, err);
}

static void free_launches(struct ct_launches **launches)
{
	ct_launches_free(*launches);
}

bool ct_launches_open_fd(int fd, struct ct_launches **ret_launches, struct ct_error *err)
{
	CT_AUTO(free_launches) struct ct_launches *l = ct_xrealloc(NULL, sizeof *l);
	*l = (struct ct_launches){.arena = CT_ARENA_INIT};
	if (!load(fd, l, err))
		return false;
	ct_launches_index(l);
	*ret_launches = l;
	l = NULL;
	return true;
}

bool ct_launches_open(const char *path, struct ct_launches **ret_launches, struct ct_error *err)
{
	// Not a FIFO that somebody put there.
	CT_AUTO(ct_auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return ct_fail_errno(err, "%s", path);
	return ct_launches_open_fd(fd, ret_launches, err) || ct_fail_in(err, "%s", path);
}

bool ct_launches_open_at(const char *dir, int64_t pid, struct ct_launches **ret_launches, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	ct_str_addf(&path, "%s/launches.%" PRId64, dir, pid);
	return ct_launches_open(ct_str_text(&path), ret_launches, err);
}

void ct_launches_free(struct ct_launches *launches)
{
	if (!launches)
		return;
	free(launches->bytes);
	ct_arena_done(&launches->arena);
	free(launches);
}
