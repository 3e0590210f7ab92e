// read_values INCIDENT PARAMS MEMORY: what values/ reads for that incident, as JSON; for test_values_parity.py.
// PARAMS: the bytes of the kernel's parameters. MEMORY: pieces of device memory, each as u64 address, u64 size and the bytes.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <string.h>

#include "values/values.h"

static size_t read_piece(const void *context, uint64_t address, void *bytes, size_t size)
{
	const struct ct_str *memory = context;
	uint64_t head[2];
	for (size_t at = 0; at + sizeof head <= memory->length; at += sizeof head + head[1]) {
		memcpy(head, memory->data + at, sizeof head);
		if (address < head[0] || address - head[0] >= head[1])
			continue;
		uint64_t there = head[1] - (address - head[0]);
		size_t n = there < size ? (size_t)there : size;
		if (bytes)
			memcpy(bytes, memory->data + at + sizeof head + (address - head[0]), n);
		return n;
	}
	return 0;
}

int main(int argc, char **argv)
{
	enum { LIMIT = 256 << 20 };
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT, params = CT_STR_INIT, memory = CT_STR_INIT;
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = NULL;
	CT_AUTO(ct_rules_done) struct ct_rules rules = CT_RULES_INIT;
	struct ct_error err = CT_ERROR_INIT;
	if (argc != 4 || !ct_read_file(argv[1], LIMIT, &text, &err) || !ct_read_file(argv[2], LIMIT, &params, &err) ||
	    !ct_read_file(argv[3], LIMIT, &memory, &err) || !ct_incident_read_json(ct_str_text(&text), text.length, &incident, &err) ||
	    !ct_rules_read(ct_data_dir(), &rules, &err)) {
		fprintf(stderr, "read_values: %s\n", err.text);
		return 1;
	}
	const struct ct_values_source source = {
		.read = read_piece, .context = &memory, .params = (const uint8_t *)ct_str_text(&params), .n_params = params.length};
	ct_values_read(incident, &rules, &source);
	return ct_incident_write_json(incident, stdout, NULL) ? 0 : 1;
}
