// Causes: each needs something that was read, and none is named without it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <string.h>

#include "diagnose/rules.h"
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

#define HOST_TENSOR(name, dtype, shape, address) \
	"{\"name\": \"" name "\", \"library\": \"torch\", \"role\": \"local\", \"tid\": 5, \"depth\": 0, \"file\": \"/home/user/a.py\", \"line\": 4, \"shape\": " shape \
	", \"dtype\": \"" dtype "\", \"device\": \"cpu\", \"data_ptr\": \"" address "\", \"storage_ptr\": \"" address "\", \"storage_bytes\": 4096}"
#define LABELLED(bound, least, most, n_outside, value) \
	"\"memory\": [{\"argument\": 2, \"name\": \"target\", \"value_name\": \"cur_target\", \"bound_name\": \"n_classes\", \"bound\": \"" bound "\", \"exempt\": \"-100\", " \
	"\"address\": \"0x7000\", \"type\": \"int64\", \"read\": 10, \"whole\": true, \"min\": \"" least "\", \"max\": \"" most "\", \"outside\": [{\"argument\": 3, \"count\": " n_outside \
	", \"index\": 1, \"value\": \"" value "\"}], \"elements\": [{\"index\": 1, \"value\": \"" value "\"}]}]"
#define GREY(n_outside, value) \
	HEAD GPU(KERNEL("k(int)") ", " ASSERT ", \"tensors\": [{\"name\": \"y\", \"address\": \"0x8000\", \"type\": \"int64\", \"read\": 8, \"whole\": true, \"in_order\": true, " \
	"\"min\": \"0\", \"max\": \"255\", \"special\": [{\"what\": \"not below\", \"bound\": 14, \"count\": " n_outside ", \"index\": 2, \"value\": \"" value "\"}]}]") ", " \
	THREAD("f", "F.cross_entropy(x, y)") ", \"tensors\": [" TENSOR("x", "float32", "[8, 14]", "0x7000") ", " TENSOR("y", "int64", "[8]", "0x8000") "]}"
#define INDICES(n_outside, whole) \
	"\"arguments\": [" ARGUMENT("0", "8", "pointer", "0x7000", "0070000000000000") ", " ARGUMENT("1", "4", "integer", "8", "08000000") ", " \
	ARGUMENT("2", "4", "integer", "64", "40000000") "], \"memory\": [{\"argument\": 0, \"address\": \"0x7000\", \"type\": \"int32\", \"read\": 10, \"min\": \"0\", \"max\": \"700\", " \
	"\"max_index\": 6, \"whole\": " whole ", \"outside\": [{\"argument\": 1, \"count\": 2, \"index\": 5, \"value\": \"9\"}, {\"argument\": 2, \"count\": " n_outside ", \"index\": 6, \"value\": \"700\"}]}]"
#define LINE(kind, text) "{\"kind\": \"" kind "\", \"text\": \"" text "\", \"count\": 1}"

struct example {
	const char *name, *json;
	const char *id;      // NULL: no cause
	const char *words;   // in its text, or in what speaks for it
	const char *values;  // in the list of values
	const char *second;  // id of the one shown beside it; NULL: there is none
};

static const struct example examples[] = {
	{"scatter of one value", HEAD GPU(KERNEL("void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_fill_internal_kernel<T, long> >(int)") ", " ASSERT ", "
	 FUNCTOR("5", "63")) "}", "one-hot", "index 63 in index where the size along the dimension is 5, which allows 0 .. 4", "idx_dim=63 index_size=5 ", NULL},
	{"gather", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("256", "300")) "}", "index-range", "index 300 in index where the size is 256, which allows up to 255", "idx_dim=300 ", NULL},
	{"bytes that are no index", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("2048", "4575657222473777152")) "}", "index-garbage", "no index that a computation would make", "", NULL},
	{"below zero", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("10", "-1")) "}", "index-negative", "index -1", "", NULL},
	{"the tensor is named", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("10", "12")) ", \"tensors\": [" TENSOR("ids", "int64", "[64]", "0x7000") "]}", "index-range", "index 12 in ids", "", NULL},
	{"a table of positions", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("514", "514")) ", " THREAD("embedding", "self.position_embeddings(pos)") "}", "position-range",
	 "a table of 514 positions", "", NULL},
	{"a line that looks up tokens and positions", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("500", "900")) ", " THREAD("embedding", "word(ids) + position(pos)") ", \"tensors\": ["
	 TENSOR("m.word.weight", "float32", "[500, 8]", "0x9000") ", " TENSOR("m.position.weight", "float32", "[64, 8]", "0xa000") "]}", "embedding-range", "a table of 500 rows", "", NULL},
	{"a token behind the table", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("500", "501")) ", " THREAD("embedding", "emb(ids)") "}", "embedding-added", "the greatest is 501", "", NULL},
	{"a token far behind the table", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("500", "900")) ", " THREAD("embedding", "emb(ids)") "}", "embedding-range", "a table of 500 rows", "", NULL},
	{"labels of a loss without reduction", HEAD GPU(KERNEL("nll_loss2d_forward_no_reduce_kernel(long)") ", " ASSERT ", \"memory\": [{\"argument\": 2, \"name\": \"target\", \"value_name\": "
	 "\"cur_target\", \"bound_name\": \"n_classes\", \"bound\": \"19\", \"exempt\": \"-100\", \"address\": \"0x7000\", \"type\": \"int64\", \"read\": 0, \"elements\": [{\"index\": 7, "
	 "\"value\": \"34\"}]}]") "}", "label-range", "label 34 for a model with 19 outputs", "cur_target=34 n_classes=19 ignore_index=-100 ", NULL},
	{"NaN where a probability is wanted", HEAD GPU(KERNEL("vectorized_elementwise_kernel<4, binary_cross_entropy_out_cuda>(int)") ", " ASSERT ", \"tensors\": ["
	 READ("p", "0x7000", "float32", SPECIAL("NaN", "0", "5", "NaN")) "]") ", " THREAD("f", "F.binary_cross_entropy(p, y)") ", \"tensors\": [" TENSOR("p", "float32", "[2, 4]", "0x7000") ", "
	 TENSOR("y", "float32", "[2, 4]", "0x8000") "]}", "probability-nan", "1 of 8 elements of p is NaN, which fails every comparison, where 0 .. 1 is wanted; the first is p[1, 1] = NaN",
	 "input_val=NaN ", NULL},
	{"a target above 1", HEAD GPU(KERNEL("vectorized_elementwise_kernel<4, binary_cross_entropy_out_cuda>(int)") ", " ASSERT ", \"tensors\": ["
	 READ("y", "0x8000", "float32", SPECIAL("above 1", "1", "2", "1.5")) "]") ", " THREAD("f", "F.binary_cross_entropy(p, y)") ", \"tensors\": [" TENSOR("p", "float32", "[2, 4]", "0x7000") ", "
	 TENSOR("y", "float32", "[2, 4]", "0x8000") "]}", "probability-range", "the first is y[0, 2] = 1.5", "target_val=1.5 ", NULL},
	{"weights may be above 1", HEAD GPU(KERNEL("sampleMultinomialOnce<float>(long*)") ", " ASSERT ", \"tensors\": [" READ("w", "0x7000", "float32", SPECIAL("above 1", "1", "2", "1.5")) "]") ", "
	 THREAD("f", "torch.multinomial(w, 2)") ", \"tensors\": [" TENSOR("w", "float32", "[8]", "0x7000") "]}", NULL, NULL, "", NULL},
	{"infinite weights", HEAD GPU(KERNEL("sampleMultinomialOnce<float>(long*)") ", " ASSERT ", \"tensors\": [" READ("w", "0x7000", "float32", SPECIAL("infinite", "0", "2", "Inf")) "]") ", "
	 THREAD("f", "torch.multinomial(w, 2)") ", \"tensors\": [" TENSOR("w", "float32", "[8]", "0x7000") "]}", "probability-inf", "w[2] = Inf", "w[2]=Inf ", NULL},
	{"weights that the line does not name", HEAD GPU(KERNEL("sampleMultinomialOnce<float>(long*)") ", " ASSERT ", \"tensors\": [" READ("w", "0x7000", "float32", SPECIAL("NaN", "0", "2", "NaN")) "]")
	 ", " THREAD("f", "torch.multinomial(p, 2)") ", \"tensors\": [" TENSOR("w", "float32", "[8]", "0x7000") "]}", NULL, NULL, "", NULL},
	{"an assert of the program's own", HEAD GPU(KERNEL("_assert_async_cuda_kernel<bool>(bool const*, Msg)") ", " ASSERT) "}", "async-assert", "input, which is 0", "input[0]=0 ", NULL},
	{"targets of a kernel that checks nothing", HEAD GPU(KERNEL("ctc_loss_log_alpha_gpu_kernel<float, long>(float*)") ", " GROUP("14", "k") ", \"tensors\": ["
	 READ("tg", "0x8000", "int64", SPECIAL("not below", "10", "3", "2147483647")) "]") ", " THREAD("f", "F.ctc_loss(lp, tg, a, b)") ", \"tensors\": ["
	 TENSOR("lp", "float32", "[40, 2, 10]", "0x7000") ", " TENSOR("tg", "int64", "[2, 4]", "0x8000") "]}", "label-range", "label 2147483647 for a model with 10 outputs", "tg[0, 3]=2147483647 ", NULL},
	{"ints whose product is too large", HEAD GPU(KERNEL("pool(int, int)") ", " GROUP("14", "pool(int, int)") ", \"arguments\": [" ARGUMENT("0", "4", "integer", "72000", "40190100") ", "
	 ARGUMENT("1", "4", "integer", "72000", "40190100") "]") "}", "overflow-32", "72000 x 72000 multiply to 5184000000", "", NULL},
	{"an illegal address alone", HEAD GPU(KERNEL("pool(int, int)") ", " GROUP("14", "pool(int, int)") ", \"arguments\": [" ARGUMENT("0", "4", "integer", "8", "08000000") "]") "}", NULL, NULL, "", NULL},
	{"a pointer at an odd place", HEAD GPU(KERNEL("f(int4*)") ", " GROUP("6", "f(int4*)") ", \"arguments\": [" ARGUMENT("0", "8", "pointer", "0x7002", "0270000000000000") "]") ", \"tensors\": ["
	 TENSOR("x", "float16", "[64]", "0x7000") "]}", "misaligned", "argument 0 is address 0x7002, in the storage of x, 2 bytes beyond a multiple of 16", "", NULL},
	{"pointers at even places", HEAD GPU(KERNEL("f(int4*)") ", " GROUP("6", "f(int4*)") ", \"arguments\": [" ARGUMENT("0", "8", "pointer", "0x7010", "1070000000000000") "]") "}", NULL, NULL, "", NULL},
	{"a stack that is too small", HEAD GPU(KERNEL("tree(int)") ", " GROUP("5", "walk(int)")) "}", "stack-overflow", "the device function walk that the kernel calls", "", NULL},
	{"an access out of range in the kernel", HEAD GPU(KERNEL("tree(int)") ", " GROUP("5", "tree(int)")) "}", NULL, NULL, "", NULL},
	{"a block of a cluster is gone", HEAD GPU(KERNEL("pair(int*)") ", " GROUP("18", "pair(int*)")) "}", "cluster-gone", "had ended", "", NULL},
	{"a bare trap", HEAD GPU(KERNEL("k(int)") ", \"groups\": [{\"reason\": \"trap-pc\", \"threads\": 1, \"warps\": 1, \"blocks\": 1, \"pc\": \"0x10\"}]") "}", "bare-trap", "a trap without a message", "", NULL},
	{"a picture of grey values", GREY("7", "200"), "label-grey", "7 of 8 labels are outside, up to 255", "y[2]=200 ", NULL},
	{"a few labels outside", GREY("2", "200"), "label-range", "label 200 for a model with 14 outputs", "y[2]=200 ", NULL},
	{"a void label among few", HEAD GPU(KERNEL("nll_loss2d_forward_no_reduce_kernel(long)") ", " ASSERT ", " LABELLED("2", "0", "255", "1", "255")) "}", "label-ignored", "255 often marks", "", NULL},
	{"labels from 1", HEAD GPU(KERNEL("nll_loss2d_forward_no_reduce_kernel(long)") ", " ASSERT ", " LABELLED("3", "1", "3", "1", "3")) "}", "label-one-based", "run from 1 to 3", "", NULL},
	{"labels from 0", HEAD GPU(KERNEL("nll_loss2d_forward_no_reduce_kernel(long)") ", " ASSERT ", " LABELLED("3", "0", "3", "1", "3")) "}", "label-range", "label 3 for a model", "", NULL},
	{"labels in the backward pass", HEAD GPU(KERNEL("nll_loss_backward_reduce_cuda_kernel_2d(long)") ", " ASSERT ", " LABELLED("3", "0", "3", "1", "3")) "}", "label-changed", "let the labels pass", "", NULL},
	{"indices that fit a wider tensor", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("256", "300")) ", " THREAD("f", "y.gather(1, idx)") ", \"tensors\": [" TENSOR("x", "float32", "[16, 512]", "0x9000") ", "
	 TENSOR("y", "float32", "[16, 256]", "0xa000") "]}", "index-other", "from 0 to 300 and would all fit x", "", NULL},
	{"indices that fit no other tensor", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("256", "300")) ", " THREAD("f", "y.gather(1, idx)") ", \"tensors\": [" TENSOR("x", "float32", "[16, 300]", "0x9000") ", "
	 TENSOR("y", "float32", "[16, 256]", "0xa000") ", " TENSOR("z", "float32", "[8, 512]", "0xb000") "]}", "index-range", "index 300", "", NULL},
	{"a pinned buffer beside its copy", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("3", "99")) ", " THREAD("f", "f(lab)") ", \"tensors\": [" TENSOR("lab", "int64", "[512]", "0x7000") ", "
	 HOST_TENSOR("buf", "int64", "[512]", "0xf000") "]}", "index-range", "index 99 in lab", "", "copy-race"},
	{"a buffer from malloc", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("3", "99")) ", " THREAD("f", "f(lab)") ", \"tensors\": [" TENSOR("lab", "int64", "[512]", "0x7000") ", "
	 HOST_TENSOR("buf", "int64", "[512]", "0xf040") "]}", "index-range", "index 99 in lab", "", NULL},
	{"a pinned buffer of another shape", HEAD GPU(KERNEL("k(int)") ", " ASSERT ", " FUNCTOR("3", "99")) ", " THREAD("f", "f(lab)") ", \"tensors\": [" TENSOR("lab", "int64", "[512]", "0x7000") ", "
	 HOST_TENSOR("buf", "int64", "[2, 256]", "0xf000") "]}", "index-range", "index 99 in lab", "", NULL},
	{"an own condition beside NaN", HEAD GPU(KERNEL("_assert_async_cuda_kernel<bool>(bool const*, Msg)") ", " ASSERT ", \"tensors\": [" READ("p", "0x7000", "float32", SPECIAL("NaN", "0", "2", "NaN")) "]") ", "
	 THREAD("f", "torch._assert_async(ok)") ", \"tensors\": [" TENSOR("p", "float32", "[8]", "0x7000") "]}", "async-nan", "1 of 8 elements of p, in the same frame, is NaN", "input[0]=0 ", NULL},
	{"a view whose strides lead far", HEAD GPU(KERNEL("k(float*)") ", " GROUP("14", "k(float*)")) ", \"tensors\": [{\"name\": \"v\", \"library\": \"torch\", \"role\": \"local\", \"tid\": 5, \"shape\": [3, 4], "
	 "\"stride\": [1500000000, 1], \"dtype\": \"uint8\", \"device\": \"cuda:0\", \"data_ptr\": \"0x7000\"}]}", "overflow-32", "the last element of v is 3000000003 elements from its first", "", NULL},
	{"a view of the same size", HEAD GPU(KERNEL("k(float*)") ", " GROUP("14", "k(float*)")) ", \"tensors\": [{\"name\": \"v\", \"library\": \"torch\", \"role\": \"local\", \"tid\": 5, \"shape\": [3, 4], "
	 "\"stride\": [4, 1], \"dtype\": \"uint8\", \"device\": \"cuda:0\", \"data_ptr\": \"0x7000\"}]}", NULL, NULL, "", NULL},
	{"an index beyond all sizes", HEAD GPU(KERNEL("k(int const*, int)") ", " GROUP("14", "k(int const*, int)") ", " INDICES("1", "true")) "}", "out-of-range", "element 6 of the array that argument 0 points to is 700", "", NULL},
	{"an array whose end is not known", HEAD GPU(KERNEL("k(int const*, int)") ", " GROUP("14", "k(int const*, int)") ", " INDICES("1", "false")) "}", NULL, NULL, "", NULL},
	{"an array of other numbers", HEAD GPU(KERNEL("k(int const*, int)") ", " GROUP("14", "k(int const*, int)") ", " INDICES("9", "true")) "}", NULL, NULL, "", NULL},
	{"an index beyond all sizes, and a large array", HEAD GPU(KERNEL("k(int const*, int)") ", " GROUP("14", "k(int const*, int)") ", " INDICES("1", "true")) ", \"tensors\": ["
	 TENSOR("a", "float32", "[240000, 10000]", "0x7000") "]}", "overflow-32", "a has 2400000000 elements", "", "out-of-range"},
	{"an address right behind an array", HEAD GPU(KERNEL("k(int*)") ", \"groups\": [{\"reason\": \"exception\", \"exception\": {\"code\": 14}, \"threads\": 1, \"warps\": 1, \"blocks\": 1, "
	 "\"pc\": \"0x20\", \"access\": \"store\", \"access_bytes\": 4, \"lanes\": [{\"block\": [0, 0, 0], \"thread\": [0, 0, 0], \"pc\": \"0x20\", \"address\": \"0x8010\"}]}], "
	 "\"arguments\": [" ARGUMENT("0", "8", "pointer", "0x7000", "0070000000000000") "]") ", \"tensors\": [{\"name\": \"y\", \"library\": \"torch\", \"role\": \"local\", "
	 "\"device\": \"cuda:0\", \"data_ptr\": \"0x7000\", \"storage_ptr\": \"0x7000\", \"storage_bytes\": 4096}]}",
	 "address-beyond", "16 bytes beyond the end of y's storage", "", NULL},
	{"cuBLAS after an assert", HEAD "\"assert\": {\"source\": \"log\", \"lines\": 1, \"expression\": \"mine\"}, \"log\": [" LINE("assert", "k.cu:4: k: block: [0,0,0], thread: [0,0,0] Assertion `mine` failed.") ", "
	 LINE("cuda-error", "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED") "]}", "after-assert", "before \"RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED\"", "", NULL},
	{"cuBLAS before an assert", HEAD "\"assert\": {\"source\": \"log\", \"lines\": 1, \"expression\": \"mine\"}, \"log\": [" LINE("cuda-error", "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED") ", "
	 LINE("assert", "k.cu:4: k: block: [0,0,0], thread: [0,0,0] Assertion `mine` failed.") "]}", NULL, NULL, "", NULL},
	{"a backward assert after a forward one", HEAD "\"assert\": {\"source\": \"log\", \"lines\": 1, \"expression\": \"mine\"}, \"log\": [" LINE("assert", "k.cu:4: loss_forward: block: [0,0,0]") ", "
	 LINE("assert", "k.cu:9: loss_backward: block: [0,0,0]") "]}", "backward-later", "an assert of a forward pass before it: \"k.cu:4", "", NULL},
	{"a backward assert alone", HEAD "\"assert\": {\"source\": \"log\", \"lines\": 1, \"expression\": \"mine\"}, \"log\": [" LINE("assert", "k.cu:9: loss_backward: block: [0,0,0]") "]}", NULL, NULL, "", NULL},
	{"another rank's fault", HEAD "\"log\": [" LINE("follower", "[rank1] received an abort: collective operation timeout") "]}", "others-fault", "received an abort", "", NULL},
	{"an own fault beside another rank's", HEAD GPU(KERNEL("k(int)") ", " GROUP("14", "k(int)")) ", \"log\": [" LINE("follower", "[rank1] received an abort") "]}", NULL, NULL, "", NULL},
	{"a sync in a capture", "{\"version\": 1, \"kind\": \"api-error\", \"log\": [{\"kind\": \"cuda-error\", \"text\": \"CUDA error: operation not permitted when stream is capturing\", "
	 "\"count\": 1}]}", "capture-sync", "not permitted when stream is capturing", "", NULL},
};

static const char *values(struct ct_incident *in)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < in->n_values; i++)
		ct_str_addf(&s, "%s=%s ", in->values[i].name, in->values[i].text ? in->values[i].text : "-");
	return ct_arena_strdup(&in->arena, ct_str_text(&s));
}

static bool says(const struct ct_cause *c, const char *words)
{
	return strstr(c->text, words) || (c->evidence && strstr(c->evidence, words));
}

static bool is_filled_in(const struct ct_cause *c)
{
	return !strchr(c->text, '{') && !(c->evidence && strchr(c->evidence, '{')) && !strchr(c->text, '?');
}

static bool is_as_wanted(struct ct_incident *in, const struct example *e)
{
	size_t n = e->second ? 2 : e->id ? 1 : 0;
	if (in->n_causes != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(in->causes[i].id, i ? e->second : e->id) != 0 || !is_filled_in(&in->causes[i]))
			return false;
	return n == 0 || (says(&in->causes[0], e->words) && strstr(values(in), e->values));
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
		for (size_t k = 0; k < in->n_causes && !is_as_wanted(in, &examples[i]); k++)
			printf("# %s: %s: %s; %s (values %s)\n", examples[i].name, in->causes[k].id, in->causes[k].text, in->causes[k].evidence ? in->causes[k].evidence : "-", values(in));
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

// Every row has a condition that can be read, and texts.
static void test_every_row_is_one(void)
{
	CT_AUTO(ct_catalog_auto) struct ct_catalog *catalog = NULL;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_TRUE_FATAL(ct_catalog_open(ct_data_dir(), &catalog, &err));
	for (size_t i = 0; i < catalog->n_causes; i++) {
		const struct ct_cause_text *row = &catalog->causes[i];
		bool ok = ct_rule_check(row->when, &err);
		if (!ok)
			printf("# %s: %s\n", row->id, err.text);
		CU_ASSERT_TRUE(ok && *row->id && *row->family && *row->text && *row->evidence && *row->check);
	}
}

static void test_conditions(void)
{
	static const struct {
		const char *condition;
		bool is_one, holds;
	} cases[] = {
		{"value = 3", true, true}, {"value >= bound", true, true}, {"value <= bound", true, true}, {"value < bound", true, false}, {"value > 2 & bound < 4", true, true},
		{"value > 2 & bound < 3", true, false}, {"index", true, true}, {"label", true, false}, {"index & value = -1", true, false}, {"least = 0", true, false},
		{"", false, false}, {"nonsense", false, false}, {"value", false, false}, {"value !! 3", false, false}, {"value = x", false, false}, {"index &", false, false},
		{"index label", false, false}, {"= = =", false, false},
	};
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	const struct ct_failed_value failed = {.known = true, .text = "3", .bound = "3", .bound_name = "index_size"};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		struct ct_judged j = ct_rule_judged(in, &failed);
		struct ct_error err = CT_ERROR_INIT;
		bool is_one = ct_rule_check(cases[i].condition, &err), holds = ct_rule_holds(&j, cases[i].condition);
		if (is_one != cases[i].is_one || holds != cases[i].holds)
			printf("# %s: %d %d\n", cases[i].condition, is_one, holds);
		CU_ASSERT_TRUE(is_one == cases[i].is_one && holds == cases[i].holds);
	}
}

// Every id that the examples name has its words, and each row is in an example.
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
	for (size_t k = 0; k < catalog->n_causes; k++) {
		bool found = false;
		for (size_t i = 0; i < CT_COUNT(examples) && !found; i++)
			found = (examples[i].id && strcmp(catalog->causes[k].id, examples[i].id) == 0) || (examples[i].second && strcmp(catalog->causes[k].id, examples[i].second) == 0);
		if (!found)
			printf("# %s is in no example\n", catalog->causes[k].id);
		CU_ASSERT_TRUE(found);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"each cause has what speaks for it", test_examples},
		{"value range from what was read", test_value_range_from_what_was_read},
		{"each row has its condition", test_every_row_is_one},
		{"conditions", test_conditions},
		{"each id has its words", test_every_id_has_words},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("causes", tests);
}
