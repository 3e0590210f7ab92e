// The paragraph that PyTorch built with TORCH_USE_CUDA_DSA writes for a failed assert (c10/cuda/CUDADeviceAssertionHost.cpp).
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "diagnose/diagnose_priv.h"

static struct ct_span value_of(const char *line, size_t length, const char *key)
{
	size_t at = ct_span_find(line, 0, length, key);
	if (at == length)
		return (struct ct_span){.at = NULL};
	at += strlen(key);
	while (length > at && (line[length - 1] == ' ' || line[length - 1] == '\r'))
		length--;
	return (struct ct_span){.at = line + at, .length = length - at};
}

// "[3,0,0]" through the reader of the plain form, so that the same limits hold.
static bool read_triple(struct ct_span value, uint32_t *ret)
{
	size_t i = 0;
	for (int k = 0; k < 3; k++) {
		if (i >= value.length || value.at[i++] != "[,,"[k])
			return false;
		uint64_t n = 0;
		size_t digits = 0;
		for (; i < value.length && value.at[i] >= '0' && value.at[i] <= '9' && digits < 10; i++, digits++)
			n = n * 10 + (uint64_t)(value.at[i] - '0');
		if (!digits || n >= INT32_MAX)
			return false;
		ret[k] = (uint32_t)n;
	}
	return i + 1 == value.length && value.at[i] == ']';
}

// Later lines of the paragraph. True when line was the last one.
static bool take_line(const char *line, size_t length, struct ct_assert_spans *ret, bool *has_thread)
{
	struct ct_span file = value_of(line, length, "File containing assertion = ");
	struct ct_span function = value_of(line, length, "Device function containing assertion = ");
	struct ct_span thread = value_of(line, length, "Thread ID that failed assertion = ");
	struct ct_span block = value_of(line, length, "Block ID that failed assertion = ");
	uint32_t n[3];
	if (file.at) {
		struct ct_assert_spans head = {.form = CT_ASSERT_DSA};
		ct_assert_head(file.at, 0, file.length, &head);
		ret->file = head.file;
		ret->line = head.line;
		ret->has_line = head.has_line;
	} else if (function.at) {
		ret->function = function;
	} else if (thread.at && read_triple(thread, n)) {
		ret->at.thread = (struct ct_dim3){n[0], n[1], n[2]};
		*has_thread = true;
	} else if (block.at && read_triple(block, n)) {
		ret->at.block = (struct ct_dim3){n[0], n[1], n[2]};
		ret->has_position = *has_thread;
	}
	return block.at != NULL;
}

enum ct_scan ct_assert_dsa(const char *text, size_t length, size_t from, struct ct_assert_spans *ret)
{
	enum { LINES = 8 };  // five are expected; another writer may get in between
	bool has_thread = false;
	size_t eol = ct_span_find(text, from, length, "\n");
	*ret = (struct ct_assert_spans){.form = CT_ASSERT_DSA, .begin = from, .prefix = {.at = text + from, .length = 0}};
	ret->expression = value_of(text + from, eol - from, CT_ASSERT_DSA_ANCHOR);
	for (int i = 0; i < LINES && eol < length; i++) {
		size_t line = eol + 1;
		eol = ct_span_find(text, line, length, "\n");
		if (take_line(text + line, eol - line, ret, &has_thread)) {
			ret->end = eol;
			return CT_SCAN_FOUND;
		}
	}
	return eol < length ? CT_SCAN_NONE : CT_SCAN_OPEN;
}
