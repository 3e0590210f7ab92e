// The signature: equal for the same fault in another run, on another rank or machine, with another build of the libraries.
//
// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/), over these texts in this order, each followed by a 0x1f byte:
//   1. the word of the fault's kind: "assert"
//   2. the kernel's name, normalised (below); its symbol when it has no name; "" for neither
//      Of a call that failed, as the record of launches has it: the kernel that it launched, then the call's name, then its error number.
//   3. the assert's expression, white space collapsed, and the base name of its file; "" when unknown
//   4. the innermost three user frames of the launching thread (the first thread, when none is marked):
//      Python: base name of the file and the function, where the file is neither in site-packages, dist-packages or lib/python* nor
//      <frozen ...>; of the merged stack, else of the Python stack beside it. A thread without any Python frame: the function of native
//      frames outside our agent, libcuda, libcudart, libc, libpthread and the loader; where no symbol covers it, the library's name up to ".so".
//      When launches did not wait for their kernels, the thread has gone on by then: of a launch that is known to be the one, its recorded
//      Python frames stand in for the thread's, and give the signature that a run with waiting launches gives. The same of a failing call.
// Not in it: line numbers (an edit above the fault moves them), addresses, positions, processes, ranks, versions, exception codes
// (driver and dump say lane or warp for one and the same fault).
//
// A normalised function name: without a leading "void ", the parameter list, casts of template arguments ("(int)4" is "4"), hexadecimal
// numbers, the numbers of lambdas and unnamed types ("#2"), and white space that does not part two words. Template arguments stay: they
// tell float from half. Whoever changes any of this changes all signatures: raise
// CT_SIGNATURE_VERSION, say so in NEWS and in doc/signature.md.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "incident/incident.h"

enum { USER_FRAMES = 3 };

static void hash_bytes(uint64_t *hash, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		*hash = (*hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
}

static void hash_text(uint64_t *hash, const char *text)
{
	hash_bytes(hash, text, strlen(text));
	hash_bytes(hash, "\x1f", 1);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

// Length of "operator<<", "operator->", "operator()" at name: brackets in it open nothing.
static size_t operator_length(const char *begin, const char *name)
{
	if (!ct_starts_with(name, "operator") || (name > begin && is_word(name[-1])))
		return 0;
	size_t n = strlen("operator");
	if (ct_starts_with(name + n, "()"))
		return n + 2;
	return n + strspn(name + n, "<>-=");
}

// Where the parameter list begins: the last (...) outside of brackets, but not one that a name goes on after: "(anonymous namespace)::f",
// "f(int)::{lambda()#1}". strlen(name) when there is none.
static size_t parameters_at(const char *name)
{
	size_t open = 0, found = strlen(name);
	int depth = 0;
	for (const char *p = name; *p; p++) {
		size_t skip = operator_length(name, p);
		if (skip) {
			p += skip - 1;
			continue;
		}
		if (strchr("(<{[", *p)) {
			if (depth++ == 0 && *p == '(')
				open = (size_t)(p - name) + 1;
		} else if (strchr(")>}]", *p) && !(*p == '>' && p > name && p[-1] == '-')) {
			depth -= depth > 0;
			if (depth == 0 && *p == ')' && open)
				found = open - 1;
		}
		if (depth == 0 && ct_starts_with(p, "::"))
			found = strlen(name);
	}
	return found;
}

// Length of a cast in front of a template argument, "(int)" of "(int)4".
static size_t cast_length(const char *p)
{
	if (*p != '(')
		return 0;
	size_t n = 1;
	while (is_word(p[n]) || p[n] == ' ' || p[n] == ':')
		n++;
	return n > 1 && p[n] == ')' && (isdigit((unsigned char)p[n + 1]) || p[n + 1] == '-') ? n + 1 : 0;
}

// Length of a number that differs from build to build: "#2" of a lambda, "0x7f20".
static size_t number_length(const char *p, char before)
{
	if (*p == '#')
		return 1 + strspn(p + 1, "0123456789");
	if (p[0] == '0' && p[1] == 'x' && !is_word(before))
		return 2 + strspn(p + 2, "0123456789abcdefABCDEF");
	return 0;
}

static void add_function(struct ct_str *out, const char *name)
{
	if (ct_starts_with(name, "void "))
		name += strlen("void ");
	const char *end = name + parameters_at(name);
	char before = '\0';
	for (const char *p = name; p < end;) {
		size_t skip = cast_length(p);
		if (!skip)
			skip = number_length(p, before);
		if (skip) {
			p += skip;
			continue;
		}
		bool parts_words = is_word(before) && *p == ' ' && is_word(p[strspn(p, " ")]);
		if (*p != ' ' || parts_words)
			ct_str_addc(out, before = *p);
		p += *p == ' ' ? strspn(p, " ") : 1;
	}
}

void ct_incident_function_key(const char *name, struct ct_str *ret_key)
{
	add_function(ret_key, name);
}

static void hash_function(uint64_t *hash, const char *name)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	add_function(&text, name);
	hash_text(hash, ct_str_text(&text));
}

static void hash_collapsed(uint64_t *hash, const char *text)
{
	CT_AUTO(ct_auto_str) struct ct_str out = CT_STR_INIT;
	for (const char *p = text; *p; p++) {
		if (!isspace((unsigned char)*p))
			ct_str_addc(&out, *p);
		else if (out.length && out.data[out.length - 1] != ' ')
			ct_str_addc(&out, ' ');
	}
	if (out.length && out.data[out.length - 1] == ' ')
		out.data[out.length - 1] = '\0';
	hash_text(hash, ct_str_text(&out));
}

static bool is_user_python(const struct ct_host_frame *f)
{
	static const char *const libraries[] = {"/site-packages/", "/dist-packages/", "/lib/python", "/lib64/python"};
	if (f->kind != CT_FRAME_PYTHON || !f->file || ct_starts_with(f->file, "<frozen"))
		return false;
	for (size_t i = 0; i < CT_COUNT(libraries); i++)
		if (strstr(f->file, libraries[i]))
			return false;
	return true;
}

static bool is_user_native(const struct ct_host_frame *f)
{
	static const char *const libraries[] = {"libcudatrap-agent.so", "libcuda.so", "libcudart.so", "libcudart-", "libc.so", "libc-2", "libpthread.so", "libpthread-2", "ld-linux",
						"linux-vdso", "[vdso]"};
	if (f->kind != CT_FRAME_NATIVE || (!f->function && !f->module))
		return false;
	const char *base = f->module ? ct_basename(f->module) : "";
	for (size_t i = 0; i < CT_COUNT(libraries); i++)
		if (ct_starts_with(base, libraries[i]))
			return false;
	return true;
}

static void hash_frame(uint64_t *hash, const struct ct_host_frame *f)
{
	if (f->kind == CT_FRAME_PYTHON) {
		hash_text(hash, ct_basename(f->file));
		hash_text(hash, f->function ? f->function : "");
		return;
	}
	if (f->function) {
		hash_function(hash, f->function);
		return;
	}
	const char *base = ct_basename(f->module), *so = strstr(base, ".so");
	hash_bytes(hash, base, so ? (size_t)(so - base) : strlen(base));
	hash_text(hash, "");
}

static void hash_frames(uint64_t *hash, const struct ct_host_frame *frames, size_t n_frames, bool (*is_user)(const struct ct_host_frame *))
{
	int left = USER_FRAMES;
	for (size_t i = 0; i < n_frames && left; i++)
		if (is_user(&frames[i])) {
			hash_frame(hash, &frames[i]);
			left--;
		}
}

static bool has_python(const struct ct_host_thread *t)
{
	for (size_t i = 0; i < t->n_frames; i++)
		if (t->frames[i].kind == CT_FRAME_PYTHON)
			return true;
	return false;
}

static void hash_thread(uint64_t *hash, const struct ct_host_thread *t)
{
	if (has_python(t))
		hash_frames(hash, t->frames, t->n_frames, is_user_python);
	else if (t->n_python)
		hash_frames(hash, t->python, t->n_python, is_user_python);
	else
		hash_frames(hash, t->frames, t->n_frames, is_user_native);
}

static const struct ct_host_thread *launching_thread(const struct ct_incident *incident)
{
	const struct ct_host_thread *marked = ct_incident_launching(incident);
	return marked ? marked : incident->n_threads ? &incident->threads[0] : NULL;
}

// The recorded launch whose frames stand in for the thread's; NULL: none.
static const struct ct_launch *recorded_launch(const struct ct_incident *incident)
{
	const struct ct_launched *l = &incident->launch;
	if (!l->present || incident->launch_blocking)
		return NULL;
	if (l->certainty == CT_CERTAINTY_UNIQUE && l->n_candidates && l->candidates[0].n_python)
		return &l->candidates[0];
	return l->failed_call.present && incident->kind == CT_FAULT_API_ERROR && !incident->n_threads && l->failed_call.at.n_python ? &l->failed_call.at : NULL;
}

const char *ct_incident_signature(struct ct_incident *incident)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	const struct ct_kernel *kernel = &incident->gpu.kernel;
	const struct ct_assert *assertion = &incident->assertion;
	hash_text(&hash, ct_fault_kind_word(incident->kind));
	const struct ct_failed_call *call = incident->kind == CT_FAULT_API_ERROR && incident->launch.failed_call.present ? &incident->launch.failed_call : NULL;
	const char *of_call = call && call->at.name ? call->at.name : "";
	hash_function(&hash, kernel->name ? kernel->name : kernel->symbol ? kernel->symbol : of_call);
	if (call) {
		hash_text(&hash, call->call);
		hash_text(&hash, ct_arena_printf(&incident->arena, "%" PRIu32, call->error));
	}
	hash_collapsed(&hash, assertion->expression ? assertion->expression : "");
	hash_text(&hash, assertion->file ? ct_basename(assertion->file) : "");
	const struct ct_host_thread *thread = launching_thread(incident);
	const struct ct_launch *launch = recorded_launch(incident);
	if (launch)
		hash_frames(&hash, launch->python, launch->n_python, is_user_python);
	else if (thread)
		hash_thread(&hash, thread);
	return ct_arena_printf(&incident->arena, "%016" PRIx64, hash);
}
