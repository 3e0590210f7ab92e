// Where a dump's bytes come from: a mapped file, or a pipe or compressed file read to its end. The section headers are the last thing
// in a dump, so nothing can be done before the end. What is read is kept in an anonymous memory file: nothing touches the disk.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>

#include "gpucore/gpucore_priv.h"

enum { CHUNK = 256 * 1024, XZ_MEMORY = 256 * 1024 * 1024 /* xz -9 needs 65 MB */ };

static const uint8_t xz_magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};
static const uint8_t gzip_magic[] = {0x1f, 0x8b, 8};

struct spool {
	const char *name;
	int in, out;
	uint64_t limit, written;
	uint8_t *chunk;  // CHUNK bytes of input
	size_t n_chunk;
	bool at_end;
};

static bool is_xz(const uint8_t *p, size_t n)
{
	return n >= sizeof xz_magic && memcmp(p, xz_magic, sizeof xz_magic) == 0;
}

static bool is_gzip(const uint8_t *p, size_t n)
{
	return n >= sizeof gzip_magic && memcmp(p, gzip_magic, sizeof gzip_magic) == 0;
}

// Fills the chunk as far as the input goes.
static bool fill(struct spool *s, struct ct_error *err)
{
	s->n_chunk = 0;
	while (s->n_chunk < CHUNK && !s->at_end) {
		ssize_t n = read(s->in, s->chunk + s->n_chunk, CHUNK - s->n_chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ct_fail_errno(err, "%s: reading", s->name);
		s->at_end = n == 0;
		s->n_chunk += (size_t)n;
	}
	return true;
}

static bool put(struct spool *s, const uint8_t *bytes, size_t n, struct ct_error *err)
{
	if (n > s->limit - s->written) {
		ct_fail(err, CT_LIMIT, "%s: more than %llu bytes", s->name, (unsigned long long)s->limit);
		return ct_hint(err, "write the dump to a file, uncompressed, and name that; or record it with fewer parts (see --dump)");
	}
	s->written += n;
	return ct_write_all(s->out, bytes, n, err);
}

static bool copy_plain(struct spool *s, struct ct_error *err)
{
	for (;;) {
		if (!put(s, s->chunk, s->n_chunk, err))
			return false;
		if (s->at_end)
			return true;
		if (!fill(s, err))
			return false;
	}
}

static bool cut_short(struct spool *s, const char *form, struct ct_error *err)
{
	return ct_fail(err, CT_FORMAT, "%s: the %s data end early", s->name, form);
}

static bool unpack_xz(struct spool *s, lzma_stream *z, uint8_t *room, struct ct_error *err)
{
	for (;;) {
		if (z->avail_in == 0 && !s->at_end) {
			if (!fill(s, err))
				return false;
			z->next_in = s->chunk;
			z->avail_in = s->n_chunk;
		}
		z->next_out = room;
		z->avail_out = CHUNK;
		lzma_ret rc = lzma_code(z, s->at_end && z->avail_in == 0 ? LZMA_FINISH : LZMA_RUN);
		if (!put(s, room, CHUNK - z->avail_out, err))
			return false;
		if (rc == LZMA_STREAM_END)
			return true;
		if (rc == LZMA_BUF_ERROR)
			return cut_short(s, "xz", err);
		if (rc == LZMA_MEMLIMIT_ERROR || rc == LZMA_MEM_ERROR)
			return ct_fail(err, CT_LIMIT, "%s: unpacking takes more than %d MB of memory", s->name, XZ_MEMORY >> 20);
		if (rc != LZMA_OK)
			return ct_fail(err, CT_FORMAT, "%s: damaged xz data (lzma error %d)", s->name, (int)rc);
	}
}

static bool copy_xz(struct spool *s, uint8_t *room, struct ct_error *err)
{
	lzma_stream z = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&z, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
		return ct_fail(err, CT_SYSTEM, "%s: cannot start to unpack xz data", s->name);
	z.next_in = s->chunk;
	z.avail_in = s->n_chunk;
	bool ok = unpack_xz(s, &z, room, err);
	lzma_end(&z);
	return ok;
}

static bool unpack_gzip(struct spool *s, z_stream *z, uint8_t *room, struct ct_error *err)
{
	bool between_members = false;
	for (;;) {
		if (z->avail_in == 0 && !s->at_end) {
			if (!fill(s, err))
				return false;
			z->next_in = s->chunk;
			z->avail_in = (uInt)s->n_chunk;
		}
		if (z->avail_in == 0 && s->at_end)
			return between_members || cut_short(s, "gzip", err);
		z->next_out = room;
		z->avail_out = CHUNK;
		int rc = inflate(z, Z_NO_FLUSH);
		if (!put(s, room, CHUNK - z->avail_out, err))
			return false;
		between_members = rc == Z_STREAM_END;
		if (between_members)
			inflateReset(z);
		else if (rc != Z_OK && rc != Z_BUF_ERROR)
			return ct_fail(err, CT_FORMAT, "%s: damaged gzip data (%s)", s->name, z->msg ? z->msg : "zlib error");
	}
}

static bool copy_gzip(struct spool *s, uint8_t *room, struct ct_error *err)
{
	z_stream z = {.next_in = s->chunk, .avail_in = (uInt)s->n_chunk};
	if (inflateInit2(&z, 15 + 16) != Z_OK)  // largest window, gzip header
		return ct_fail(err, CT_SYSTEM, "%s: cannot start to unpack gzip data", s->name);
	bool ok = unpack_gzip(s, &z, room, err);
	inflateEnd(&z);
	return ok;
}

static bool map_file(int fd, const char *name, uint64_t size, struct ct_source *ret_source, struct ct_error *err)
{
	if (size == 0) {
		ct_fail(err, CT_FORMAT, "%s: empty", name);
		return ct_hint(err, "the driver writes nothing when it cannot create the file or is ended while it starts");
	}
	if (size > SIZE_MAX / 2)
		return ct_fail(err, CT_LIMIT, "%s: %llu bytes", name, (unsigned long long)size);
	void *map = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return ct_fail_errno(err, "%s: mapping %llu bytes", name, (unsigned long long)size);
	*ret_source = (struct ct_source){.bytes = map, .size = (size_t)size, .map = map};
	return true;
}

static bool spool(int fd, const char *name, uint64_t limit, struct ct_source *ret_source, struct ct_error *err)
{
	CT_AUTO(ct_auto_close) int out = memfd_create("cudatrap-dump", MFD_CLOEXEC);
	if (out < 0)
		return ct_fail_errno(err, "%s: memory to read it into", name);
	CT_AUTO(ct_auto_free) uint8_t *chunk = ct_xrealloc(NULL, CHUNK), *room = ct_xrealloc(NULL, CHUNK);
	struct spool s = {.name = name, .in = fd, .out = out, .limit = limit, .chunk = chunk};
	if (!fill(&s, err))
		return false;
	bool ok = is_xz(chunk, s.n_chunk) ? copy_xz(&s, room, err) : is_gzip(chunk, s.n_chunk) ? copy_gzip(&s, room, err) : copy_plain(&s, err);
	return ok && map_file(out, name, s.written, ret_source, err);
}

bool ct_source_open(int fd, const char *name, uint64_t limit_bytes, struct ct_source *ret_source, struct ct_error *err)
{
	struct stat st;
	uint8_t magic[sizeof xz_magic];
	if (fstat(fd, &st) < 0)
		return ct_fail_errno(err, "%s", name);
	if (S_ISDIR(st.st_mode))
		return ct_fail(err, CT_FORMAT, "%s: a directory, not a dump", name);
	if (S_ISREG(st.st_mode) && lseek(fd, 0, SEEK_CUR) == 0) {
		ssize_t n = pread(fd, magic, sizeof magic, 0);
		if (n < 0)
			return ct_fail_errno(err, "%s: reading", name);
		if (!is_xz(magic, (size_t)n) && !is_gzip(magic, (size_t)n))
			return map_file(fd, name, (uint64_t)st.st_size, ret_source, err);
	}
	return spool(fd, name, limit_bytes ? limit_bytes : CT_GPUCORE_SPOOL_LIMIT, ret_source, err);
}

void ct_source_close(struct ct_source *source)
{
	if (source->map)
		munmap(source->map, source->size);
}
