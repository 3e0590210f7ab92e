// The Python frames of the thread that launches. They are its own and it is in a call, so that nothing of them moves; no GIL is needed.
// What a code object says is copied when it is first met, while its frame holds it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdatomic.h>
#include <string.h>

#include "agent/agent_priv.h"
#include "agent/record.h"
#include "pylayout/pylayout.h"

enum { MAX_NAME = 512, MAX_FILE = 1024, MAX_TABLE = 65536, MAX_SHIMS = 64, OWN_FRAMES = 8, MAX_SEEN = 256 };

static struct {
	_Atomic int state;  // enum ct_record_python; -1: being looked for
	struct ct_py_layout layout;
	const void *code_type;
	void *(*this_thread)(void);
} python;

static uint64_t word_at(uint64_t address)
{
	uint64_t value;
	memcpy(&value, (const void *)(uintptr_t)address, sizeof value);
	return value;
}

static int32_t int_at(uint64_t address)
{
	int32_t value;
	memcpy(&value, (const void *)(uintptr_t)address, sizeof value);
	return value;
}

static bool read_version(const char *text, unsigned *ret_major, unsigned *ret_minor)
{
	if (!text || text[0] != '3' || text[1] != '.')
		return false;
	*ret_major = 3;
	*ret_minor = 0;
	for (const char *p = text + 2; *p >= '0' && *p <= '9' && *ret_minor < 100; p++)
		*ret_minor = *ret_minor * 10 + (unsigned)(*p - '0');
	return true;
}

static int look(struct ct_record_head *head)
{
	void *runtime = ct_agent_lookup("_PyRuntime"), *version = ct_agent_lookup("Py_GetVersion"), *state = ct_agent_lookup("PyGILState_GetThisThreadState");
	python.code_type = ct_agent_lookup("PyCode_Type");
	if (!runtime || !version || !state || !python.code_type)
		return CT_RECORD_PYTHON_NONE;
	const char *(*get_version)(void);
	memcpy(&get_version, &version, sizeof version);
	memcpy(&python.this_thread, &state, sizeof state);
	unsigned major = 0, minor = 0;
	if (!read_version(get_version(), &major, &minor))
		return CT_RECORD_PYTHON_VERSION;
	head->python_version = major << 24 | minor << 16;
	const unsigned long *hex = ct_agent_lookup("Py_Version");  // 3.11+
	if (hex)
		head->python_version = (uint32_t)*hex;
	enum ct_py_known known = minor >= 13 ? ct_pylayout_of_debug_offsets(runtime, CT_PY_DEBUG_OFFSETS, &python.layout)
					     : ct_pylayout_of_version(major, minor, &python.layout);
	return known == CT_PY_KNOWN ? CT_RECORD_PYTHON_FRAMES : CT_RECORD_PYTHON_VERSION;
}

// True: frames can be had.
static bool ready(struct ct_record_head *head)
{
	int state = atomic_load_explicit(&python.state, memory_order_acquire), unknown = CT_RECORD_PYTHON_UNKNOWN;
	if (state == CT_RECORD_PYTHON_UNKNOWN && atomic_compare_exchange_strong(&python.state, &unknown, -1)) {
		state = look(head);
		atomic_store_explicit(&python.state, state, memory_order_release);
	}
	if (state > 0 && head->python_state != (uint32_t)state)
		head->python_state = (uint32_t)state;
	return state == CT_RECORD_PYTHON_FRAMES;
}

static size_t put_point(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
	return n;
}

// A str object as UTF-8; returns bytes. The end of a long one for a file, its beginning for a name.
static uint32_t copy_text(uint64_t object, char *to, size_t size, bool keeps_end)
{
	const struct ct_py_layout *l = &python.layout;
	uint64_t length = word_at(object + l->str_length);
	uint32_t state = (uint32_t)int_at(object + l->str_state);
	// struct of bit fields: interned (2 bits, or a byte in free-threaded builds), kind (3), compact, ascii (Include/cpython/unicodeobject.h).
	unsigned shift = l->free_threaded ? 8 : 2, width = state >> shift & 7;
	bool ascii = state >> (shift + 4) & 1, compact = state >> (shift + 3) & 1;
	if (!compact || (width != 1 && width != 2 && width != 4) || length > INT32_MAX)
		return 0;
	const uint8_t *data = (const uint8_t *)(uintptr_t)(object + (ascii ? l->str_ascii : l->str_compact));
	uint64_t room = ascii ? size : size / 4, first = keeps_end && length > room ? length - room : 0;
	size_t n = 0;
	for (uint64_t i = first; i < length && i - first < room; i++) {
		uint32_t c = 0;
		memcpy(&c, data + i * width, width);
		n += put_point(to + n, c & 0x1fffff);
	}
	return (uint32_t)n;
}

// A code object's identity: an address may come to hold another one, with strings and tables at addresses that were used before as well,
// so some of what they hold counts too.
static uint64_t key_of(uint64_t code, uint64_t *ret_file, uint64_t *ret_table)
{
	const struct ct_py_layout *l = &python.layout;
	uint64_t file = word_at(code + l->code_filename), name = word_at(code + l->code_name), table = word_at(code + l->code_table);
	uint64_t size = word_at(table + l->bytes_length), data = table + l->bytes_data;
	// One byte a character at least, so that these are within the object whatever it holds.
	uint64_t length = word_at(file + l->str_length), part = length < 8 ? length : 8, first = 0, last = 0;
	if (length >= 8) {
		first = word_at(file + l->str_ascii);
		last = word_at(file + l->str_ascii + length - 8);
	} else {
		memcpy(&first, (const void *)(uintptr_t)(file + l->str_ascii), part);
	}
	// A sum of products with odd numbers (of random bits): unlike a chain of mixing it takes the time of one multiplication.
	uint64_t sum = code * UINT64_C(0x9e3779b97f4a7c15) + file * UINT64_C(0xc2b2ae3d27d4eb4f) + name * UINT64_C(0x165667b19e3779f9) +
		       table * UINT64_C(0xd6e8feb86659fd93) + size * UINT64_C(0xa0761d6478bd642f) + length * UINT64_C(0xe7037ed1a0b428db) +
		       first * UINT64_C(0x8ebc6af09c88c6e3) + last * UINT64_C(0x589965cc75374cc3) +
		       (uint64_t)(uint32_t)int_at(code + l->code_firstlineno) * UINT64_C(0x1d8e4e27c47d124f);
	if (size >= 8)
		sum += word_at(data) * UINT64_C(0xeb44accab455d165) + word_at(data + size / 2 - 4) * UINT64_C(0x9fb21c651e98df25) +
		       word_at(data + size - 8) * UINT64_C(0x6c9c9d2b36f1a4d7);
	uint64_t h = ct_record_mix(0, sum ^ sum >> 32);
	*ret_file = file;
	*ret_table = table;
	return h ? h : 1;
}

static bool has_text(const char *in, size_t length, const char *text)
{
	size_t n = strlen(text);
	for (size_t i = 0; i + n <= length; i++)
		if (memcmp(in + i, text, n) == 0)
			return true;
	return false;
}

static uint32_t add_code(struct ct_record_head *head, uint64_t code, uint64_t key, uint64_t file_object, uint64_t table_object)
{
	const struct ct_py_layout *l = &python.layout;
	char name[MAX_NAME], file[MAX_FILE];
	uint64_t size = word_at(table_object + l->bytes_length);
	int32_t first_line = int_at(code + l->code_firstlineno);
	struct ct_record_code row = {
		.function_length = copy_text(word_at(code + l->code_name), name, sizeof name, false),
		.file_length = copy_text(file_object, file, sizeof file, true),
		.table_length = size <= MAX_TABLE ? (uint32_t)size : 0,
		.first_line = first_line > 0 ? (uint32_t)first_line : 0,
		.table_kind = (uint32_t)l->table,
	};
	row.is_library = has_text(file, row.file_length, "/site-packages/") || has_text(file, row.file_length, "/dist-packages/");
	return ct_record_code_number(head, key, &row, name, file, (const uint8_t *)(uintptr_t)(table_object + l->bytes_data));
}

static uint64_t bytecode_of(uint64_t frame, uint64_t code)
{
	const struct ct_py_layout *l = &python.layout;
	int32_t index = l->has_tlbc ? int_at(frame + l->frame_tlbc_index) : 0;
	uint64_t array = index > 0 ? word_at(code + l->code_tlbc) : 0;
	return array && (uint64_t)index < word_at(array) ? word_at(array + 8 + (uint64_t)index * 8) : code + l->code_bytecode;
}

static int32_t instruction_of(uint64_t frame, uint64_t code)
{
	const struct ct_py_layout *l = &python.layout;
	if (l->instr_is_index) {
		int32_t last = int_at(frame + l->frame_instr);
		return last < 0 ? last : last * (int32_t)l->instr_unit;
	}
	uint64_t at = word_at(frame + l->frame_instr), begin = bytecode_of(frame, code);
	return at < begin ? -1 : (int32_t)((at - begin) / 2);
}

static bool is_shim(uint64_t frame)
{
	const struct ct_py_layout *l = &python.layout;
	return l->has_shim && *(const uint8_t *)(uintptr_t)(frame + l->frame_owner) >= l->shim_owner;
}

static uint64_t first_frame(uint64_t tstate)
{
	const struct ct_py_layout *l = &python.layout;
	uint64_t frame = word_at(tstate + l->tstate_frame);
	return l->has_cframe && frame ? word_at(frame + l->cframe_frame) : frame;
}

unsigned ct_record_python(struct ct_record_head *head, struct ct_record_frame ret_frames[CT_RECORD_FRAMES], bool *ret_whole)
{
	*ret_whole = true;
	if (!ready(head))
		return 0;
	const struct ct_py_layout *l = &python.layout;
	uint64_t tstate = (uint64_t)(uintptr_t)python.this_thread();
	unsigned n = 0, shims = 0, seen = 0;
	for (uint64_t frame = tstate ? first_frame(tstate) : 0; frame; frame = word_at(frame + l->frame_back)) {
		if (is_shim(frame)) {
			if (++shims > MAX_SHIMS)
				break;
			continue;
		}
		if (n == CT_RECORD_FRAMES || ++seen > MAX_SEEN) {
			*ret_whole = false;
			break;
		}
		uint64_t code = word_at(frame + l->frame_code) & ~UINT64_C(3), file, table;  // 3.14: tagged in the low bits
		if (code < 4096 || word_at(code + l->object_type) != (uint64_t)(uintptr_t)python.code_type) {
			// A layout that does not fit: no more guesses.
			if (n == 0)
				atomic_store(&python.state, CT_RECORD_PYTHON_DIFFERENT);
			break;
		}
		uint64_t key = key_of(code, &file, &table);
		uint32_t number = ct_record_known(key);
		if (!number)
			number = add_code(head, code, key, file, table);
		// torch.compile puts dozens of its own frames between a program's line and a launch.
		if (n >= CT_RECORD_FRAMES - OWN_FRAMES && ct_record_is_library(head, number)) {
			*ret_whole = false;
			continue;
		}
		ret_frames[n].code = number;
		ret_frames[n++].instruction = instruction_of(frame, code);
	}
	return n;
}
