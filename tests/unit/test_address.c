// Where the address of a failed access lies: in, before or beyond which tensor's storage, or behind which argument.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <string.h>

#include "diagnose/catalog.h"
#include "unit.h"

// An illegal address in two threads; y's storage is 0x7000 .. 0x7fff, x's 0x20000 .. 0x20fff.
#define LANE(thread, address) "{\"block\": [1, 0, 0], \"thread\": [" thread ", 0, 0], \"pc\": \"0x20\", \"address\": \"" address "\"}"
#define BARE "{\"block\": [1, 0, 0], \"thread\": [7, 0, 0], \"pc\": \"0x20\"}"
#define GROUP(lanes) \
	"\"groups\": [{\"reason\": \"exception\", \"exception\": {\"code\": 14}, \"threads\": 2, \"warps\": 1, \"blocks\": 1, \"pc\": \"0x20\", \"error_pc\": \"0x10\", " \
	"\"lanes\": [" lanes "], \"access\": \"store\", \"access_bytes\": 4}]"
#define POINTER(index, value) "{\"index\": " index ", \"offset\": 0, \"size\": 8, \"kind\": \"pointer\", \"value\": \"" value "\"}"
#define TENSOR(name, start, bytes, device) \
	"{\"name\": \"" name "\", \"library\": \"torch\", \"role\": \"local\", \"device\": \"" device "\", \"data_ptr\": \"" start "\", \"storage_ptr\": \"" start "\", " \
	"\"storage_bytes\": " bytes "}"
#define BOTH TENSOR("y", "0x7000", "4096", "cuda:0") ", " TENSOR("x", "0x20000", "4096", "cuda:0") ", " TENSOR("h", "0x8000", "4096", "cpu")
#define INCIDENT(lanes, arguments, tensors) \
	"{\"version\": 1, \"kind\": \"exception\", \"gpu\": {\"source\": \"test\", \"kernel\": {\"name\": \"k(int*)\"}, " GROUP(lanes) ", \"arguments\": [" arguments "]}, " \
	"\"tensors\": [" tensors "]}"

struct example {
	const char *json;
	const char *text;  // NULL: no address is told
	uint32_t thread;
	uint64_t n_threads, n_outside;
	const char *cause;
};

static const struct example examples[] = {
	{INCIDENT(LANE("0", "0x7ffc") ", " LANE("1", "0x8010"), POINTER("0", "0x7000"), BOTH), "16 bytes beyond the end of y's storage", 1, 2, 1, "address-beyond"},
	{INCIDENT(LANE("0", "0x7ffe"), POINTER("0", "0x7000"), BOTH), "it reaches over the end of y's storage", 0, 1, 1, "address-beyond"},
	// As far off as the array is long, and one more byte: anything may lead there.
	{INCIDENT(LANE("0", "0x9000"), POINTER("0", "0x7000"), BOTH), "4096 bytes beyond the end of y's storage", 0, 1, 1, "address-beyond"},
	{INCIDENT(LANE("0", "0x9001"), POINTER("0", "0x7000"), BOTH), "4097 bytes beyond the end of y's storage", 0, 1, 1, NULL},
	// The kernel was given x, far away as it is; without arguments the nearest is named, and no cause.
	{INCIDENT(LANE("0", "0x8010"), POINTER("0", "0x20000"), BOTH), "98288 bytes before the storage of x", 0, 1, 1, NULL},
	{INCIDENT(LANE("0", "0x8010"), "", BOTH), "16 bytes beyond the end of y's storage", 0, 1, 1, NULL},
	{INCIDENT(LANE("0", "0x6ff0"), POINTER("0", "0x7000"), BOTH), "16 bytes before the storage of y", 0, 1, 1, NULL},
	{INCIDENT(LANE("3", "0x7010") ", " LANE("4", "0x20000"), POINTER("0", "0x7000"), BOTH), "16 bytes into the storage of y", 3, 2, 0, NULL},
	// No tensors: from the pointer that it starts from.
	{INCIDENT(LANE("0", "0x7000") ", " LANE("1", "0x107000"), POINTER("0", "0x7000") ", " POINTER("1", "0x200000"), ""),
	 "1048576 bytes behind where argument 0 points, the farthest of the threads", 1, 2, 0, NULL},
	{INCIDENT(LANE("0", "0x10"), POINTER("0", "0x7000"), ""), "", 0, 1, 0, NULL},
	{INCIDENT(BARE ", " LANE("9", "0xffffffffffffffff"), POINTER("0", "0x7000"), BOTH), "18446744073709518847 bytes beyond the end of y's storage", 9, 1, 1, NULL},
	{INCIDENT(BARE, POINTER("0", "0x7000"), BOTH), NULL, 0, 0, 0, NULL},
	// A storage that would reach beyond the last address is none.
	{INCIDENT(LANE("0", "0xfffffffffffffff0"), "", TENSOR("z", "0xffffffffffffff00", "4096", "cuda:0")), "", 0, 1, 0, NULL},
};

static bool is_as_wanted(const struct ct_incident *in, const struct example *e)
{
	const struct ct_fault_address *f = &in->fault_address;
	if (!e->text)
		return !f->present;
	const struct ct_cause *c = in->n_causes ? &in->causes[0] : NULL;
	bool cause = e->cause ? c && strcmp(c->id, e->cause) == 0 && strstr(c->evidence, e->text) : !c;
	return f->present && strcmp(f->text ? f->text : "", e->text) == 0 && f->at.thread.x == e->thread && f->n_threads == e->n_threads && f->n_outside == e->n_outside && cause;
}

static void test_places(void)
{
	for (size_t i = 0; i < CT_COUNT(examples); i++) {
		const struct example *e = &examples[i];
		CT_AUTO(ct_incident_auto) struct ct_incident *in = NULL;
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_TRUE_FATAL(ct_incident_read_json(e->json, strlen(e->json), &in, &err));
		ct_diagnose(in);
		ct_explain_with(in, ct_data_dir());
		if (!is_as_wanted(in, e))
			printf("# %zu: %s, of thread %u, %s: %s\n", i, in->fault_address.text ? in->fault_address.text : "-", in->fault_address.at.thread.x,
			       in->n_causes ? in->causes[0].id : "no cause", in->n_causes ? in->causes[0].text : "");
		CU_ASSERT_TRUE(is_as_wanted(in, e));
	}
}

// Written and read again, nothing is lost.
static void test_the_incident_keeps_it(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = NULL, *again = NULL;
	struct ct_error err = CT_ERROR_INIT;
	char *text = NULL;
	size_t size = 0;
	CU_ASSERT_TRUE_FATAL(ct_incident_read_json(examples[0].json, strlen(examples[0].json), &in, &err));
	ct_explain(in, NULL);
	FILE *out = open_memstream(&text, &size);
	CU_ASSERT_TRUE_FATAL(out && ct_incident_write_json(in, out, &err));
	fclose(out);
	CU_ASSERT_TRUE_FATAL(ct_incident_read_json(text, size, &again, &err));
	const struct ct_fault_address *f = &again->fault_address;
	CU_ASSERT_TRUE_FATAL(f->present && f->access && f->where && f->tensor);
	CU_ASSERT_TRUE(f->address == 0x8010 && f->at.block.x == 1 && f->at.thread.x == 1 && f->access_bytes == 4 && f->bytes == 16);
	CU_ASSERT_STRING_EQUAL(f->where, "beyond");
	CU_ASSERT_STRING_EQUAL(f->tensor, "y");
	free(text);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"places", test_places},
		{"the incident keeps it", test_the_incident_keeps_it},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("address", tests);
}
