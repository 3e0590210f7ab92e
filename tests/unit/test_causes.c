// Causes: each needs something that was read, and none is named without it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <string.h>

#include "diagnose/catalog.h"
#include "unit.h"

// An incident as the collectors leave it, in pieces.
#define HEAD "{\"version\": 1, \"kind\": \"unknown\", "
#define THREAD(function, source) \
	"\"threads\": [{\"tid\": 5, \"launching\": true, \"frames\": [{\"kind\": \"python\", \"function\": \"" function "\", \"file\": \"/home/user/a.py\", " \
	"\"line\": 4, \"source\": \"" source "\"}]}]"
#define TENSOR(name, dtype, shape, address) \
	"{\"name\": \"" name "\", \"library\": \"torch\", \"role\": \"local\", \"tid\": 5, \"depth\": 0, \"file\": \"/home/user/a.py\", \"line\": 4, \"shape\": " shape \
	", \"dtype\": \"" dtype "\", \"device\": \"cuda:0\", \"data_ptr\": \"" address "\", \"storage_ptr\": \"" address "\", \"storage_bytes\": 4096}"
#define GROUP(code, function) \
	"\"groups\": [{\"reason\": \"exception\", \"exception\": {\"code\": " code "}, \"threads\": 1, \"warps\": 1, \"blocks\": 1, \"pc\": \"0x10\", \"frames\": [{\"pc\": \"0x10\", " \
	"\"function\": \"" function "\"}]}]"
#define ASSERT GROUP("12", "k")
#define KERNEL(name) "\"kernel\": {\"name\": \"" name "\"}"
#define FUNCTOR(bound, value) \
	"\"memory\": [{\"argument\": 1, \"name\": \"index\", \"value_name\": \"idx_dim\", \"bound_name\": \"index_size\", \"bound\": \"" bound "\", \"address\": \"0x7000\", " \
	"\"type\": \"int64\", \"read\": 64, \"whole\": true, \"min\": \"0\", \"max\": \"" value "\", \"elements\": [{\"index\": 3, \"value\": \"" value "\"}]}]"
#define READ(name, address, type, special) \
	"{\"name\": \"" name "\", \"address\": \"" address "\", \"type\": \"" type "\", \"read\": 8, \"whole\": true, \"in_order\": true, \"min\": \"0\", \"max\": \"9\", " \
	"\"special\": [" special "]}"
#define SPECIAL(what, bound, index, value) "{\"what\": \"" what "\", \"bound\": " bound ", \"count\": 1, \"index\": " index ", \"value\": \"" value "\"}"
#define GPU(...) "\"gpu\": {\"source\": \"test\", \"device\": {}, " __VA_ARGS__ "}"
#define ARGUMENT(index, size, kind, value, bytes) \
	"{\"index\": " index ", \"offset\": 0, \"size\": " size ", \"kind\": \"" kind "\", \"value\": \"" value "\", \"bytes\": \"" bytes "\"}"

struct example {
	const char *name, *json;
	const char *id;      // NULL: no cause
	const char *words;   // in its text
	const char *values;  // in the list of values
};

static const struct example examples[] = {
	{"scatter of one value", HEAD GPU(KERNEL("void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_fill_internal_kernel<T, long> >(int)") ", " ASSERT ", "
	 FUNCTOR("5", "63")) "}", "one-hot", "index 63 in index where the size along the dimension is 5, which allows 0 .. 4", "idx_dim=63 index_size=5 "},
	{"gather", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("256", "300")) "}", "index-range", "index 300 in index where the size is 256, which allows up to 255", "idx_dim=300 "},
	{"bytes that are no index", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("2048", "4575657222473777152")) "}", "index-garbage", "no index that a computation would make", ""},
	{"below zero", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("10", "-1")) "}", "index-negative", "index -1", ""},
	{"the tensor is named", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("10", "12")) ", \"tensors\": [" TENSOR("ids", "int64", "[64]", "0x7000") "]}", "index-range", "index 12 in ids", ""},
	{"a table of positions", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("514", "514")) ", " THREAD("embedding", "self.position_embeddings(pos)") "}", "position-range",
	 "a table of 514 positions", ""},
	{"a line that looks up tokens and positions", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("500", "900")) ", " THREAD("embedding", "word(ids) + position(pos)") ", \"tensors\": ["
	 TENSOR("m.word.weight", "float32", "[500, 8]", "0x9000") ", " TENSOR("m.position.weight", "float32", "[64, 8]", "0xa000") "]}", "embedding-range", "a table of 500 rows", ""},
	{"a token behind the table", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("500", "501")) ", " THREAD("embedding", "emb(ids)") "}", "embedding-added", "the greatest is 501", ""},
	{"a token far behind the table", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("500", "900")) ", " THREAD("embedding", "emb(ids)") "}", "embedding-range", "a table of 500 rows", ""},
	{"labels of a loss without reduction", HEAD GPU(KERNEL("nll_loss2d_forward_no_reduce_kernel(long)") ", " ASSERT ", \"memory\": [{\"argument\": 2, \"name\": \"target\", \"value_name\": "
	 "\"cur_target\", \"bound_name\": \"n_classes\", \"bound\": \"19\", \"exempt\": \"-100\", \"address\": \"0x7000\", \"type\": \"int64\", \"read\": 0, \"elements\": [{\"index\": 7, "
	 "\"value\": \"34\"}]}]") "}", "label-range", "label 34 for a model with 19 outputs", "cur_target=34 n_classes=19 ignore_index=-100 "},
	{"NaN where a probability is wanted", HEAD GPU(KERNEL("vectorized_elementwise_kernel<4, binary_cross_entropy_out_cuda>(int)") ", " ASSERT ", \"tensors\": ["
	 READ("p", "0x7000", "float32", SPECIAL("NaN", "0", "5", "NaN")) "]") ", " THREAD("f", "F.binary_cross_entropy(p, y)") ", \"tensors\": [" TENSOR("p", "float32", "[2, 4]", "0x7000") ", "
	 TENSOR("y", "float32", "[2, 4]", "0x8000") "]}", "probability-nan", "1 of 8 elements of p is NaN, which fails every comparison, where 0 .. 1 is wanted; the first is p[1, 1] = NaN",
	 "input_val=NaN "},
	{"a target above 1", HEAD GPU(KERNEL("vectorized_elementwise_kernel<4, binary_cross_entropy_out_cuda>(int)") ", " ASSERT ", \"tensors\": ["
	 READ("y", "0x8000", "float32", SPECIAL("above 1", "1", "2", "1.5")) "]") ", " THREAD("f", "F.binary_cross_entropy(p, y)") ", \"tensors\": [" TENSOR("p", "float32", "[2, 4]", "0x7000") ", "
	 TENSOR("y", "float32", "[2, 4]", "0x8000") "]}", "probability-range", "the first is y[0, 2] = 1.5", "target_val=1.5 "},
	{"weights may be above 1", HEAD GPU(KERNEL("sampleMultinomialOnce<float>(long*)") ", " ASSERT ", \"tensors\": [" READ("w", "0x7000", "float32", SPECIAL("above 1", "1", "2", "1.5")) "]") ", "
	 THREAD("f", "torch.multinomial(w, 2)") ", \"tensors\": [" TENSOR("w", "float32", "[8]", "0x7000") "]}", NULL, NULL, ""},
	{"infinite weights", HEAD GPU(KERNEL("sampleMultinomialOnce<float>(long*)") ", " ASSERT ", \"tensors\": [" READ("w", "0x7000", "float32", SPECIAL("infinite", "0", "2", "Inf")) "]") ", "
	 THREAD("f", "torch.multinomial(w, 2)") ", \"tensors\": [" TENSOR("w", "float32", "[8]", "0x7000") "]}", "probability-inf", "w[2] = Inf", "w[2]=Inf "},
	{"weights that the line does not name", HEAD GPU(KERNEL("sampleMultinomialOnce<float>(long*)") ", " ASSERT ", \"tensors\": [" READ("w", "0x7000", "float32", SPECIAL("NaN", "0", "2", "NaN")) "]")
	 ", " THREAD("f", "torch.multinomial(p, 2)") ", \"tensors\": [" TENSOR("w", "float32", "[8]", "0x7000") "]}", NULL, NULL, ""},
	{"an assert of the program's own", HEAD GPU(KERNEL("_assert_async_cuda_kernel<bool>(bool const*, Msg)") ", " ASSERT) "}", "async-assert", "input, which is 0", "input[0]=0 "},
	{"targets of a kernel that checks nothing", HEAD GPU(KERNEL("ctc_loss_log_alpha_gpu_kernel<float, long>(float*)") ", " GROUP("14", "k") ", \"tensors\": ["
	 READ("tg", "0x8000", "int64", SPECIAL("not below", "10", "3", "2147483647")) "]") ", " THREAD("f", "F.ctc_loss(lp, tg, a, b)") ", \"tensors\": ["
	 TENSOR("lp", "float32", "[40, 2, 10]", "0x7000") ", " TENSOR("tg", "int64", "[2, 4]", "0x8000") "]}", "label-range", "label 2147483647 for a model with 10 outputs", "tg[0, 3]=2147483647 "},
	{"ints whose product is too large", HEAD GPU(KERNEL("pool(int, int)") ", " GROUP("14", "pool(int, int)") ", \"arguments\": [" ARGUMENT("0", "4", "integer", "72000", "40190100") ", "
	 ARGUMENT("1", "4", "integer", "72000", "40190100") "]") "}", "overflow-32", "72000 x 72000 multiply to 5184000000", ""},
	{"an illegal address alone", HEAD GPU(KERNEL("pool(int, int)") ", " GROUP("14", "pool(int, int)") ", \"arguments\": [" ARGUMENT("0", "4", "integer", "8", "08000000") "]") "}", NULL, NULL, ""},
	{"a pointer at an odd place", HEAD GPU(KERNEL("f(int4*)") ", " GROUP("6", "f(int4*)") ", \"arguments\": [" ARGUMENT("0", "8", "pointer", "0x7002", "0270000000000000") "]") ", \"tensors\": ["
	 TENSOR("x", "float16", "[64]", "0x7000") "]}", "misaligned", "argument 0 is address 0x7002, in the storage of x, 2 bytes beyond a multiple of 16", ""},
	{"pointers at even places", HEAD GPU(KERNEL("f(int4*)") ", " GROUP("6", "f(int4*)") ", \"arguments\": [" ARGUMENT("0", "8", "pointer", "0x7010", "1070000000000000") "]") "}", NULL, NULL, ""},
	{"a stack that is too small", HEAD GPU(KERNEL("tree(int)") ", " GROUP("5", "walk(int)")) "}", "stack-overflow", "the device function walk that the kernel calls", ""},
	{"an access out of range in the kernel", HEAD GPU(KERNEL("tree(int)") ", " GROUP("5", "tree(int)")) "}", NULL, NULL, ""},
	{"a block of a cluster is gone", HEAD GPU(KERNEL("pair(int*)") ", " GROUP("18", "pair(int*)")) "}", "cluster-gone", "had ended", ""},
	{"a bare trap", HEAD GPU(KERNEL("k(int)") ", \"groups\": [{\"reason\": \"trap-pc\", \"threads\": 1, \"warps\": 1, \"blocks\": 1, \"pc\": \"0x10\"}]") "}", "bare-trap", "a trap without a message", ""},
	{"a sync in a capture", "{\"version\": 1, \"kind\": \"api-error\", \"log\": [{\"kind\": \"cuda-error\", \"text\": \"CUDA error: operation not permitted when stream is capturing\", "
	 "\"count\": 1}]}", "capture-sync", "not permitted when stream is capturing", ""},
};

static const char *values(struct ct_incident *in)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < in->n_values; i++)
		ct_str_addf(&s, "%s=%s ", in->values[i].name, in->values[i].text ? in->values[i].text : "-");
	return ct_arena_strdup(&in->arena, ct_str_text(&s));
}

static bool is_as_wanted(struct ct_incident *in, const struct example *e)
{
	const struct ct_cause *c = &in->cause;
	if (!e->id)
		return !c->id && !c->text;
	return c->id && strcmp(c->id, e->id) == 0 && strstr(c->text, e->words) && !strstr(c->text, "{") && strstr(values(in), e->values);
}

static void test_examples(void)
{
	for (size_t i = 0; i < CT_COUNT(examples); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *in = NULL;
		struct ct_error err = CT_ERROR_INIT;
		bool read = ct_incident_read_json(examples[i].json, strlen(examples[i].json), &in, &err);
		if (!read)
			printf("# %s: %s\n", examples[i].name, err.text);
		CU_ASSERT_TRUE_FATAL(read);
		ct_diagnose(in);
		ct_explain_with(in, ct_data_dir());
		if (!is_as_wanted(in, &examples[i]))
			printf("# %s: %s: %s (values %s)\n", examples[i].name, in->cause.id ? in->cause.id : "-", in->cause.text ? in->cause.text : "-", values(in));
		CU_ASSERT_TRUE(is_as_wanted(in, &examples[i]));
	}
}

#define LABELS(least, most, whole) \
	"{\"version\": 1, \"kind\": \"exception\", " GPU(KERNEL("k(int)") ", " GROUP("14", "k") ", \"tensors\": [{\"name\": \"y\", \"address\": \"0x8000\", " \
	"\"type\": \"int64\", \"read\": 8, \"whole\": " whole ", \"min\": \"" least "\", \"max\": \"" most "\"}]") ", " \
	THREAD("f", "F.cross_entropy(x, y)") ", \"tensors\": [" TENSOR("x", "float32", "[8, 14]", "0x7000") ", " TENSOR("y", "int64", "[8]", "0x8000") "]}"

static void test_value_range_from_what_was_read(void)
{
	static const struct {
		const char *json, *seen;
		enum ct_check_status status;
	} cases[] = {
		{LABELS("0", "14", "true"), "y holds 0 .. 14; x has 14 classes", CT_CHECK_IS_SUSPECT},
		{LABELS("0", "13", "true"), "y holds 0 .. 13; x has 14 classes", CT_CHECK_IS_OK},
		{LABELS("-1", "13", "true"), "y holds -1 .. 13; x has 14 classes", CT_CHECK_IS_SUSPECT},
		{LABELS("-100", "13", "true"), "y holds -100 .. 13; x has 14 classes", CT_CHECK_IS_OK},
		{LABELS("0", "13", "false"), "y holds 0 .. 13 in the part that was read; x has 14 classes", CT_CHECK_IS_UNKNOWN},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *in = NULL;
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_TRUE_FATAL(ct_incident_read_json(cases[i].json, strlen(cases[i].json), &in, &err));
		ct_diagnose(in);
		CU_ASSERT_TRUE_FATAL(in->n_checks == 4 && in->checks[2].kind == CT_CHECK_RANGE);
		if (strcmp(in->checks[2].seen, cases[i].seen) != 0 || in->checks[2].status != cases[i].status)
			printf("# %s (status %d)\n", in->checks[2].seen, (int)in->checks[2].status);
		CU_ASSERT_STRING_EQUAL(in->checks[2].seen, cases[i].seen);
		CU_ASSERT_EQUAL(in->checks[2].status, cases[i].status);
	}
}

// Every id that the code can give has its words.
static void test_every_id_has_words(void)
{
	CT_AUTO(ct_catalog_auto) struct ct_catalog *catalog = NULL;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_TRUE_FATAL(ct_catalog_open(ct_data_dir(), &catalog, &err));
	for (size_t i = 0; i < CT_COUNT(examples); i++) {
		bool found = !examples[i].id;
		for (size_t k = 0; k < catalog->n_causes && !found; k++)
			found = strcmp(catalog->causes[k].id, examples[i].id) == 0;
		CU_ASSERT_TRUE(found);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"each cause has what speaks for it", test_examples},
		{"value range from what was read", test_value_range_from_what_was_read},
		{"each id has its words", test_every_id_has_words},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("causes", tests);
}
