// dlsym as programs see it: it notices that one looks for the CUDA driver and then gets out of the way.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "agent/agent_priv.h"

typedef void *dlsym_fn(void *handle, const char *name);

// Called by the stub below; returns where it shall jump to.
dlsym_fn *ct_agent_on_dlsym(const char *name) __attribute__((used));

// glibc finds out who asks for RTLD_NEXT from the return address, so the real dlsym has to be entered by a jump: after a call it
// would take the agent for the asker and give back the wrong definition. Assembly, because C promises no tail call (none at -O0).
#if defined __x86_64__
__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	".p2align 4\n"
	"dlsym:\n"
	".cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rdi\n"
	".cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	".cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"  // the stack is 16-aligned at a call
	".cfi_adjust_cfa_offset 8\n"
	"	movq %rsi, %rdi\n"
	"	call ct_agent_on_dlsym\n"
	"	addq $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	".cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	".cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	".cfi_endproc\n"
	".size dlsym, . - dlsym\n");
#elif defined __aarch64__
__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, %function\n"
	".p2align 4\n"
	"dlsym:\n"
	".cfi_startproc\n"
	"	hint #34\n"  // bti c
	"	stp x29, x30, [sp, #-32]!\n"
	".cfi_def_cfa_offset 32\n"
	".cfi_offset x29, -32\n"
	".cfi_offset x30, -24\n"
	"	mov x29, sp\n"
	"	stp x0, x1, [sp, #16]\n"
	"	mov x0, x1\n"
	"	bl ct_agent_on_dlsym\n"
	"	mov x16, x0\n"  // x16: an indirect jump that BTI allows to a function's start
	"	ldp x0, x1, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	".cfi_restore x29\n"
	".cfi_restore x30\n"
	".cfi_def_cfa_offset 0\n"
	"	br x16\n"
	".cfi_endproc\n"
	".size dlsym, . - dlsym\n");
#endif

// dlvsym at its oldest version: in libdl.so.2 before glibc 2.34, in libc.so.6 since.
void *ct_agent_base_dlvsym(void *handle, const char *name, const char *version) __attribute__((visibility("default")));
__asm__(".symver ct_agent_base_dlvsym, dlvsym@" GLIBC_BASE);

static void *no_dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

// RTLD_NEXT, not libc's own: another preloaded library may have a dlsym as well, and stays in the chain.
static dlsym_fn *find_real(void)
{
	static const char *const versions[] = {GLIBC_BASE, "GLIBC_2.34"};
	dlsym_fn *found = no_dlsym;
	for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
		void *p = ct_agent_base_dlvsym(RTLD_NEXT, "dlsym", versions[i]);
		if (!p)
			continue;
		memcpy(&found, &p, sizeof found);  // ISO C has no cast from object to function pointer
		break;
	}
	return found;
}

// Found at the first call, which may come before our constructor and from several threads: they all find the same.
static dlsym_fn *real_dlsym(void)
{
	static _Atomic(dlsym_fn *) known;
	dlsym_fn *real = atomic_load_explicit(&known, memory_order_relaxed);
	if (!real) {
		real = find_real();
		atomic_store_explicit(&known, real, memory_order_relaxed);
	}
	return real;
}

// What libcudart, ctypes and the other ways to the driver ask for first.
static bool is_driver_entry(const char *name)
{
	static const char *const names[] = {"cuInit", "cuGetProcAddress", "cuGetProcAddress_v2", "cuDriverGetVersion"};
	if (!name || name[0] != 'c' || name[1] != 'u')
		return false;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

// What is handed out in place of the driver's entry point: a gate to it, and in front of that what the recorder needs to see.
static void *handed_out(const char *name, void *found, bool per_thread)
{
	return ct_agent_hook(name, ct_agent_gate(name, found), per_thread);
}

#define PER_THREAD_STREAM 2UL  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM (cuda.h)

// The real ones, of drivers from 12.0 on and before. Written with the same value whoever comes first.
typedef int proc_address_v2_fn(const char *name, void **ret_function, int version, uint64_t flags, int *ret_status);
typedef int proc_address_fn(const char *name, void **ret_function, int version, uint64_t flags);
static _Atomic(proc_address_v2_fn *) real_proc_address_v2;
static _Atomic(proc_address_fn *) real_proc_address;

static void *replace_proc_address(const char *name, void *found);

// cuGetProcAddress knows a function by its plain name, and takes the form that the caller's version has (cuda.h: _v2 from 3.2 on).
static const char *form_of(const char *name, int version)
{
	static const struct {
		const char *name;
		int from;  // version; the latest form first
		const char *form;
	} forms[] = {
		{"cuMemAlloc", 3020, "cuMemAlloc_v2"},
		{"cuMemAllocHost", 3020, "cuMemAllocHost_v2"},
		{"cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2"},
		{"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
		{"cuGraphInstantiate", 11000, "cuGraphInstantiate_v2"},
	};
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
		if (version >= forms[i].from && strcmp(name, forms[i].name) == 0)
			return forms[i].form;
	return name;
}

static void replace(const char *name, void **function, int version, uint64_t flags)
{
	if (!function || !*function)
		return;
	if (strncmp(name, "cuGetProcAddress", strlen("cuGetProcAddress")) == 0)
		*function = replace_proc_address(name, *function);
	else
		*function = handed_out(form_of(name, version), *function, flags & PER_THREAD_STREAM);
}

static int proc_address_v2(const char *name, void **ret_function, int version, uint64_t flags, int *ret_status)
{
	int rc = atomic_load(&real_proc_address_v2)(name, ret_function, version, flags, ret_status);
	if (rc == 0)
		replace(name, ret_function, version, flags);
	return rc;
}

static int proc_address(const char *name, void **ret_function, int version, uint64_t flags)
{
	int rc = atomic_load(&real_proc_address)(name, ret_function, version, flags);
	if (rc == 0)
		replace(name, ret_function, version, flags);
	return rc;
}

// Asked through itself for "cuGetProcAddress", a driver from 12.0 on gives the second form to programs built for 12.0 and later, and the
// first one to others. Both take the same first four arguments and the first form's callers do not look at more, so that what a program
// gets from us is of the form that it knows the real one to be: the pointers tell.
static void *replace_proc_address(const char *name, void *found)
{
	void *known = NULL, *ours = NULL;
	proc_address_v2_fn *v2 = atomic_load(&real_proc_address_v2);
	memcpy(&known, &v2, sizeof known);
	bool is_v2 = strcmp(name, "cuGetProcAddress_v2") == 0 || (v2 && known == found);
	if (is_v2 && (!v2 || known == found)) {
		memcpy(&v2, &found, sizeof v2);
		atomic_store(&real_proc_address_v2, v2);
		v2 = proc_address_v2;
		memcpy(&ours, &v2, sizeof ours);
		return ours;
	}
	proc_address_fn *v1;
	memcpy(&v1, &found, sizeof v1);
	atomic_store(&real_proc_address, v1);
	v1 = proc_address;
	memcpy(&ours, &v1, sizeof ours);
	return ours;
}

// For the driver's names only: nobody finds those by RTLD_NEXT, so that a call does no harm.
static void *gated_dlsym(void *handle, const char *name)
{
	void *found = real_dlsym()(handle, name);
	if (!found)
		return found;
	if (strcmp(name, "cuGetProcAddress_v2") == 0 || strcmp(name, "cuGetProcAddress") == 0)
		return replace_proc_address(name, found);
	return handed_out(name, found, false);  // the name says all: "..._ptsz"
}

dlsym_fn *ct_agent_on_dlsym(const char *name)
{
	dlsym_fn *real = real_dlsym();
	if (is_driver_entry(name))
		ct_agent_cuda_seen();
	if (name && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z')
		return gated_dlsym;
	return real;
}

void *ct_agent_lookup_in(void *library, const char *name)
{
	return real_dlsym()(library, name);
}

void *ct_agent_lookup(const char *name)
{
	void *found = real_dlsym()(RTLD_DEFAULT, name);
	__asm__ volatile("" : : : "memory");  // keeps the line above a call: glibc must see us as the asker
	return found;
}
