// The way into the driver, which can be shut after a fault: then every call returns the fault's error at once, and a thread that the driver
// holds is let out with that error. So the program meets its own error, as it would have without us, cleans up and ends by itself; and no
// work goes on past the fault, because nothing enters the driver any more.
//
// A thread that waits in the driver after an exception (CUDA_DEVICE_WAITS_ON_EXCEPTION, driver 580.159) can be taken out of it from a signal
// handler, and the process then ends by itself (seen on an H200). What the driver has locked stays locked, which is why nobody may go in again.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/agent_priv.h"

#define HOLD 0xffffffffU
// The supervisor reads a dump in tenths of a second. Should it never tell: CUDA_ERROR_LAUNCH_FAILED (cuda.h), for the fault is certain.
#define HOLD_LIMIT_MS 60000
#define LAUNCH_FAILED 719

// libcudart asks for 440 entry points (CUDA 13.0), once for each kind of default stream.
#define GATES 2048

// Read by the assembly below. A gate is an entry of the program text; behind it, at the same place in this table, is where it leads.
void *ct_gate_real[GATES] __attribute__((visibility("hidden"), used));
_Atomic unsigned ct_gate_error __attribute__((visibility("hidden"), used));  // 0: open; HOLD: nobody passes, in or out, until it is known

// Which threads are in a call, so that no other is disturbed.
struct slot {
	void *record;       // of the thread's innermost call through a gate; NULL: none
	_Atomic pid_t tid;  // 0: free
};
#define SLOTS 4096
static struct slot slots[SLOTS];

// A preloaded library has its thread-local storage from the start, so this costs no allocation in any thread, and a few words of those that
// glibc sets aside.
_Thread_local struct slot *ct_gate_slot __attribute__((visibility("hidden"), tls_model("initial-exec"), used));
static _Thread_local struct slot spare __attribute__((tls_model("initial-exec")));  // when all are taken; such a thread is not let out

struct slot *ct_gate_take_slot(void) __attribute__((visibility("hidden"), used));

extern const char ct_gate_first[], ct_gate_let_out[] __attribute__((visibility("hidden")));

// Every gate: its number, then the common part. That calls the driver from a frame of its own, because a thread that is taken out needs a
// place to come back to: the callee-saved registers, and in front of them the record before this one. Ten words of the caller's stack
// are handed on, whether they are arguments or not: no entry point that is called here takes more than sixteen (cuda.h 13.0:
// cuTensorMapEncodeIm2col takes fifteen).
#if defined __x86_64__
#define GATE_BYTES 16
__asm__(".text\n"
	".p2align 4\n"
	"ct_gate_first:\n"
	".set ct_gate_number, 0\n"
	".rept 2048\n"
	"	.p2align 4\n"
	"	endbr64\n"
	"	movl $ct_gate_number, %eax\n"
	"	jmp ct_gate_common\n"
	"	.set ct_gate_number, ct_gate_number + 1\n"
	".endr\n"
	".p2align 4\n"
	".type ct_gate_common, @function\n"
	"ct_gate_common:\n"
	".cfi_startproc\n"
	"	cmpl $0, ct_gate_error(%rip)\n"
	"	je 1f\n"
	"	subq $8, %rsp\n"
	".cfi_def_cfa_offset 16\n"
	"	call ct_gate_answer\n"
	"	addq $8, %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	"1:\n"
	"	pushq %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"	movq %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	".cfi_offset %rbx, -24\n"
	".cfi_offset %r12, -32\n"
	".cfi_offset %r13, -40\n"
	".cfi_offset %r14, -48\n"
	".cfi_offset %r15, -56\n"
	"	leaq ct_gate_real(%rip), %r11\n"
	"	movq (%r11,%rax,8), %rax\n"
	"	movq ct_gate_slot@gottpoff(%rip), %rbx\n"
	"	movq %fs:(%rbx), %rbx\n"
	"	testq %rbx, %rbx\n"
	"	jz 3f\n"
	"2:	pushq (%rbx)\n"
	"	movq %rsp, (%rbx)\n"
	"	pushq 88(%rbp)\n"
	"	pushq 80(%rbp)\n"
	"	pushq 72(%rbp)\n"
	"	pushq 64(%rbp)\n"
	"	pushq 56(%rbp)\n"
	"	pushq 48(%rbp)\n"
	"	pushq 40(%rbp)\n"
	"	pushq 32(%rbp)\n"
	"	pushq 24(%rbp)\n"
	"	pushq 16(%rbp)\n"
	"	call *%rax\n"
	"	addq $80, %rsp\n"
	"	cmpl $0, ct_gate_error(%rip)\n"
	"	je ct_gate_let_out\n"
	"	call ct_gate_answer\n"
	// Here comes who is let out, with the error in eax and rsp at the record. rbp is not to be relied on: the driver's code has used it.
	"ct_gate_let_out:\n"
	"	movq ct_gate_slot@gottpoff(%rip), %r11\n"
	"	movq %fs:(%r11), %r11\n"
	"	popq (%r11)\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	".cfi_remember_state\n"
	".cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	".cfi_restore_state\n"
	// The thread's first call. Seven registers and the six above leave the stack aligned as it was, which a call wants eight bytes off.
	"3:	pushq %rdi\n"
	"	pushq %rsi\n"
	"	pushq %rdx\n"
	"	pushq %rcx\n"
	"	pushq %r8\n"
	"	pushq %r9\n"
	"	pushq %rax\n"
	"	call ct_gate_take_slot\n"
	"	movq %rax, %rbx\n"
	"	popq %rax\n"
	"	popq %r9\n"
	"	popq %r8\n"
	"	popq %rcx\n"
	"	popq %rdx\n"
	"	popq %rsi\n"
	"	popq %rdi\n"
	"	jmp 2b\n"
	".cfi_endproc\n"
	".size ct_gate_common, . - ct_gate_common\n");
#elif defined __aarch64__
#define GATE_BYTES 16
__asm__(".text\n"
	".p2align 4\n"
	"ct_gate_first:\n"
	".set ct_gate_number, 0\n"
	".rept 2048\n"
	"	.p2align 4\n"
	"	hint #34\n"  // bti c
	"	mov w16, #ct_gate_number\n"
	"	b ct_gate_common\n"
	"	.set ct_gate_number, ct_gate_number + 1\n"
	".endr\n"
	".p2align 4\n"
	".type ct_gate_common, %function\n"
	"ct_gate_common:\n"
	".cfi_startproc\n"
	"	adrp x17, ct_gate_error\n"
	"	ldr w17, [x17, #:lo12:ct_gate_error]\n"
	"	cbz w17, 1f\n"
	"	b ct_gate_answer\n"
	"1:\n"
	"	stp x29, x30, [sp, #-176]!\n"
	".cfi_def_cfa_offset 176\n"
	".cfi_offset x29, -176\n"
	".cfi_offset x30, -168\n"
	"	stp x19, x20, [sp, #16]\n"
	"	stp x21, x22, [sp, #32]\n"
	"	stp x23, x24, [sp, #48]\n"
	"	stp x25, x26, [sp, #64]\n"
	"	stp x27, x28, [sp, #80]\n"
	"	stp d8, d9, [sp, #96]\n"
	"	stp d10, d11, [sp, #112]\n"
	"	stp d12, d13, [sp, #128]\n"
	"	stp d14, d15, [sp, #144]\n"
	".cfi_offset x19, -160\n"
	".cfi_offset x20, -152\n"
	".cfi_offset x21, -144\n"
	".cfi_offset x22, -136\n"
	".cfi_offset x23, -128\n"
	".cfi_offset x24, -120\n"
	".cfi_offset x25, -112\n"
	".cfi_offset x26, -104\n"
	".cfi_offset x27, -96\n"
	".cfi_offset x28, -88\n"
	"	mov x29, sp\n"
	".cfi_def_cfa_register x29\n"
	"	mrs x17, tpidr_el0\n"
	"	adrp x19, :gottprel:ct_gate_slot\n"
	"	ldr x19, [x19, #:gottprel_lo12:ct_gate_slot]\n"
	"	ldr x19, [x19, x17]\n"
	"	cbz x19, 3f\n"
	"2:	ldr x17, [x19]\n"
	"	str x17, [sp, #160]\n"
	"	str x29, [x19]\n"
	"	adrp x17, ct_gate_real\n"
	"	add x17, x17, #:lo12:ct_gate_real\n"
	"	ldr x16, [x17, w16, uxtw #3]\n"
	"	sub sp, sp, #80\n"
	"	ldp x19, x20, [x29, #176]\n"
	"	stp x19, x20, [sp]\n"
	"	ldp x19, x20, [x29, #192]\n"
	"	stp x19, x20, [sp, #16]\n"
	"	ldp x19, x20, [x29, #208]\n"
	"	stp x19, x20, [sp, #32]\n"
	"	ldp x19, x20, [x29, #224]\n"
	"	stp x19, x20, [sp, #48]\n"
	"	ldp x19, x20, [x29, #240]\n"
	"	stp x19, x20, [sp, #64]\n"
	"	blr x16\n"
	"	add sp, sp, #80\n"
	"	adrp x17, ct_gate_error\n"
	"	ldr w17, [x17, #:lo12:ct_gate_error]\n"
	"	cbz w17, ct_gate_let_out\n"
	"	bl ct_gate_answer\n"
	"ct_gate_let_out:\n"
	"	mrs x17, tpidr_el0\n"
	"	adrp x16, :gottprel:ct_gate_slot\n"
	"	ldr x16, [x16, #:gottprel_lo12:ct_gate_slot]\n"
	"	ldr x16, [x16, x17]\n"
	"	ldr x17, [sp, #160]\n"
	"	str x17, [x16]\n"
	"	ldp x19, x20, [sp, #16]\n"
	"	ldp x21, x22, [sp, #32]\n"
	"	ldp x23, x24, [sp, #48]\n"
	"	ldp x25, x26, [sp, #64]\n"
	"	ldp x27, x28, [sp, #80]\n"
	"	ldp d8, d9, [sp, #96]\n"
	"	ldp d10, d11, [sp, #112]\n"
	"	ldp d12, d13, [sp, #128]\n"
	"	ldp d14, d15, [sp, #144]\n"
	"	ldp x29, x30, [sp], #176\n"
	".cfi_remember_state\n"
	".cfi_def_cfa sp, 0\n"
	"	ret\n"
	".cfi_restore_state\n"
	"3:	stp x0, x1, [sp, #-80]!\n"
	"	stp x2, x3, [sp, #16]\n"
	"	stp x4, x5, [sp, #32]\n"
	"	stp x6, x7, [sp, #48]\n"
	"	str x16, [sp, #64]\n"
	"	bl ct_gate_take_slot\n"
	"	mov x19, x0\n"
	"	ldr x16, [sp, #64]\n"
	"	ldp x6, x7, [sp, #48]\n"
	"	ldp x4, x5, [sp, #32]\n"
	"	ldp x2, x3, [sp, #16]\n"
	"	ldp x0, x1, [sp], #80\n"
	"	b 2b\n"
	".cfi_endproc\n"
	".size ct_gate_common, . - ct_gate_common\n");
#endif

static bool claim(struct slot *s, pid_t tid)
{
	pid_t old = atomic_load(&s->tid);
	if (old == tid)
		return true;  // of a thread that had this number before
	if (old && syscall(SYS_tgkill, (long)getpid(), (long)old, 0L) == 0)
		return false;
	return atomic_compare_exchange_strong(&s->tid, &old, tid);
}

// Free ones first: whether a slot's thread has ended is a question to the kernel for each.
struct slot *ct_gate_take_slot(void)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	int saved = errno;
	ct_gate_slot = &spare;
	for (size_t i = 0; i < 2 * SLOTS; i++) {
		struct slot *s = &slots[i % SLOTS];
		if ((i < SLOTS && atomic_load(&s->tid)) || !claim(s, tid))
			continue;
		s->record = NULL;
		ct_gate_slot = s;
		break;
	}
	errno = saved;
	return ct_gate_slot;
}

void ct_agent_gate_after_fork(void)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	for (size_t i = 0; i < SLOTS; i++)
		if (&slots[i] == ct_gate_slot)
			atomic_store(&slots[i].tid, tid);
		else
			atomic_store(&slots[i].tid, 0);
}

// Called by the gates when they are not open.
unsigned ct_gate_answer(void) __attribute__((visibility("hidden"), used));
unsigned ct_gate_answer(void)
{
	const struct timespec pause = {.tv_nsec = 1000 * 1000};
	for (int ms = 0; ms < HOLD_LIMIT_MS; ms++) {
		unsigned error = atomic_load(&ct_gate_error);
		if (error != HOLD)
			return error;
		nanosleep(&pause, NULL);
	}
	return LAUNCH_FAILED;
}

// What does its work after a fault too (driver 580.159, measured after an assert but for the first line): texts of errors, facts of devices, the
// thread's current context. Callers expect no error there, and PyTorch ends the process on one. Of what else works then, the calls that
// may wait for the GPU are left out.
static bool stays_open(const char *name)
{
	static const char *const names[] = {
		"cuGetProcAddress", "cuGetExportTable", "cuDeviceGetByPCIBusId", "cuDeviceGetLuid", "cuGetErrorString", "cuGetErrorName",
		"cuDriverGetVersion", "cuInit", "cuDeviceGet", "cuDeviceGetCount", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDeviceTotalMem", "cuDeviceGetUuid",
		"cuDeviceGetPCIBusId", "cuDeviceCanAccessPeer", "cuDeviceGetP2PAttribute", "cuDevicePrimaryCtxGetState", "cuDevicePrimaryCtxRetain",
		"cuDeviceGetDefaultMemPool", "cuDeviceGetMemPool", "cuMemGetAllocationGranularity", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuCtxPushCurrent",
		"cuCtxPopCurrent", "cuCtxGetDevice", "cuCtxGetFlags", "cuCtxGetApiVersion", "cuCtxGetId", "cuPointerGetAttribute", "cuPointerGetAttributes",
		"cuGraphCreate", "cuGraphDestroy", "cuThreadExchangeStreamCaptureMode",
	};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		size_t length = strlen(names[i]);
		if (strncmp(name, names[i], length) == 0 && (name[length] == '\0' || name[length] == '_'))
			return true;
	}
	return false;
}

// The supervisor has the driver's flag skip_abort in the environment in a form that no driver knows, and so is without effect: a driver that
// neither aborts nor is kept from working on would swallow the fault. Where there are gates the flag may count; the driver reads it in cuInit().
// In place, because setenv() is not for a process with threads.
static void set_skip_abort(bool counts)
{
	static const char variable[] = "CUDA_COREDUMP_GENERATION_FLAGS", flag[] = "skip_abor";
	char *at = getenv("CUDATRAP_AGENT_DIR") ? getenv(variable) : NULL;
	at = at ? strstr(at, flag) : NULL;
	if (at && (at[sizeof flag - 1] == '_' || at[sizeof flag - 1] == 't'))
		at[sizeof flag - 1] = counts ? 't' : '_';
}

bool ct_agent_gate_is_open(void)
{
	return atomic_load_explicit(&ct_gate_error, memory_order_relaxed) == 0;
}

void ct_agent_gate_begin(void)
{
	set_skip_abort(false);  // inherited from a process that had gates
}

void *ct_agent_gate(const char *name, void *real)
{
	static _Atomic unsigned used;
	if (!real || strncmp(name, "cu", 2) != 0 || stays_open(name))
		return real;
	unsigned n = atomic_load(&used);
	for (unsigned i = 0; i < n && i < GATES; i++)
		if (ct_gate_real[i] == real)
			return (void *)(ct_gate_first + (size_t)i * GATE_BYTES);
	n = atomic_fetch_add(&used, 1);
	if (n == 0)
		set_skip_abort(true);
	if (n >= GATES)
		return real;
	ct_gate_real[n] = real;
	return (void *)(ct_gate_first + (size_t)n * GATE_BYTES);
}

// ---- Shutting ----------------------------------------------------------------------------------------------------------

// In a thread of the program: if the driver has it, out of there. A record below the stack pointer was left behind by a call that was left
// by longjmp or an exception.
static void let_out(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	ucontext_t *u = context;
	char *record = ct_gate_slot ? ct_gate_slot->record : NULL;
	unsigned error = atomic_load(&ct_gate_error);
	if (!record || !error || error == HOLD)
		return;
#if defined __x86_64__
	greg_t *r = u->uc_mcontext.gregs;
	if (record < (char *)r[REG_RSP])
		return;
	r[REG_RSP] = (greg_t)record;
	r[REG_RIP] = (greg_t)ct_gate_let_out;
	r[REG_RAX] = (greg_t)error;
	r[REG_EFL] &= ~0x400L;  // the direction flag, which the ABI has clear at a return
#elif defined __aarch64__
	if (record < (char *)u->uc_mcontext.sp)
		return;
	u->uc_mcontext.sp = (unsigned long long)record;
	u->uc_mcontext.pc = (unsigned long long)ct_gate_let_out;
	u->uc_mcontext.regs[0] = error;
#endif
}

// Near the end: programs take real-time signals from the first one up, and valgrind and qemu-user keep the last ones for themselves.
static int our_signal(void)
{
	return SIGRTMAX - 3;
}

static bool install(void)
{
	struct sigaction action;
	memset(&action, 0, sizeof action);
	action.sa_sigaction = let_out;
	action.sa_flags = SA_SIGINFO | SA_RESTART;
	return sigaction(our_signal(), &action, NULL) == 0;
}

static void signal_threads_inside(void)
{
	pid_t self = getpid();
	for (size_t i = 0; i < SLOTS; i++) {
		pid_t tid = atomic_load(&slots[i].tid);
		if (tid && *(void *volatile *)&slots[i].record)
			syscall(SYS_tgkill, (long)self, (long)tid, (long)our_signal());
	}
}

static bool has_gates(void)
{
	return ct_gate_real[0] != NULL;
}

bool ct_agent_hold_gate(void)
{
	if (!has_gates())
		return false;
	atomic_store(&ct_gate_error, HOLD);
	return true;
}

bool ct_agent_shut_gate(unsigned error)
{
	if (!error || error == HOLD || !has_gates() || !install())
		return false;
	atomic_store(&ct_gate_error, error);
	return true;
}

void ct_agent_let_out(void)
{
	// More than once: a thread that had read the error's zero just before may have gone in since.
	for (int i = 0; i < 3; i++) {
		const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
		signal_threads_inside();
		nanosleep(&pause, NULL);
	}
}
