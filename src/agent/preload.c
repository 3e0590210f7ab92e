// The agent's start in a process, and when it begins to listen.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/agent_priv.h"
#include "agent/record.h"

// Enough for a request that runs some Python; it is address space, touched only where used.
#define STACK_BYTES ((size_t)1 << 20)

// A preloaded library has no caller to keep its state for it. Written by the constructor, before other threads; then only the atomics change.
static struct {
	char dir[4096];
	pid_t supervisor;
	_Atomic(pid_t) listening;  // the process that listens: after a fork of any kind it is another one than ours
	atomic_bool is_fork;
	bool anomaly;
} agent;

const char *ct_agent_dir(void)
{
	return agent.dir;
}

bool ct_agent_wants_anomaly(void)
{
	return agent.anomaly;
}

bool ct_agent_is_fork(void)
{
	return atomic_load(&agent.is_fork);
}

void ct_agent_not_listening(void)
{
	atomic_store(&agent.listening, 0);
}

// Not strtol: with glibc 2.38's headers it would be a symbol of that version.
static pid_t parse_pid(const char *text)
{
	long n = 0;
	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9' || n > 9999999)  // PID_MAX_LIMIT is 4194304 (linux/threads.h)
			return 0;
		n = n * 10 + (*p - '0');
	}
	return (pid_t)n;
}

static bool read_config(void)
{
	const char *dir = secure_getenv("CUDATRAP_AGENT_DIR");
	const char *supervisor = secure_getenv("CUDATRAP_SUPERVISOR_PID");
	if (!dir || dir[0] != '/' || strlen(dir) >= sizeof agent.dir || !supervisor)
		return false;
	agent.supervisor = parse_pid(supervisor);
	if (agent.supervisor <= 0)
		return false;
	strcpy(agent.dir, dir);
	const char *anomaly = secure_getenv("CUDATRAP_ANOMALY");
	agent.anomaly = anomaly && strcmp(anomaly, "1") == 0;
	return true;
}

// Under yama's ptrace_scope 1 only ancestors may attach; this adds the supervisor's other children, a debugger. Without yama it
// fails with EINVAL, and nothing is lost. A fork does not inherit it.
static void allow_supervisor(void)
{
	prctl(PR_SET_PTRACER, (unsigned long)agent.supervisor, 0, 0, 0);
}

static void after_fork_in_child(void)
{
	int saved = errno;
	atomic_store(&agent.listening, 0);  // the thread stayed in the parent
	ct_agent_close_inherited();
	ct_agent_gate_after_fork();
	ct_record_after_fork();
	atomic_store(&agent.is_fork, true);
	allow_supervisor();
	errno = saved;
}

// Signals are the program's business: none is delivered to our thread. Those that a thread raises itself stay open, because the
// kernel kills the process when one of them is blocked.
static void block_signals(sigset_t *ret_before)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t all;
	sigfillset(&all);
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
		sigdelset(&all, own[i]);
	sigprocmask(SIG_BLOCK, &all, ret_before);  // per thread on Linux; pthread_sigmask has version 2.32
}

static int create_thread(size_t stack_bytes)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
	int (*set_stack)(pthread_attr_t *, size_t) = NULL;
	void *found[] = {ct_agent_lookup("pthread_create"), ct_agent_lookup("pthread_attr_setstacksize")};
	if (!found[0] || !found[1])
		return ENOSYS;
	memcpy(&create, &found[0], sizeof create);
	memcpy(&set_stack, &found[1], sizeof set_stack);
	pthread_t thread;
	pthread_attr_t attr;
	int rc = pthread_attr_init(&attr);
	if (rc != 0)
		return rc;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (stack_bytes)
		set_stack(&attr, stack_bytes);
	rc = create(&thread, &attr, ct_agent_listen, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

static bool start_listening(void)
{
	if (!ct_agent_open_socket())
		return false;
	sigset_t before;
	block_signals(&before);
	int rc = create_thread(STACK_BYTES);
	if (rc == EINVAL)  // glibc takes the libraries' static TLS from the stack, and theirs is larger
		rc = create_thread(0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	ct_agent_offer_fifo();
	if (rc != 0)
		ct_agent_close_socket();
	return rc == 0;
}

void ct_agent_cuda_seen(void)
{
	if (agent.supervisor <= 0)
		return;
	int saved = errno;
	pid_t self = getpid(), seen = atomic_load(&agent.listening);
	if (seen != self && atomic_compare_exchange_strong(&agent.listening, &seen, self) && !start_listening())
		ct_agent_not_listening();
	errno = saved;
}

static int is_libcuda(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	return slash && strncmp(slash + 1, "libcuda.so", strlen("libcuda.so")) == 0;
}

static void __attribute__((constructor)) begin(void)
{
	int saved = errno;
	if (read_config()) {
		ct_agent_gate_begin();
		ct_record_begin();
		allow_supervisor();
		pthread_atfork(NULL, NULL, after_fork_in_child);
		if (dl_iterate_phdr(is_libcuda, NULL))  // linked to the program: nobody needs dlsym to find it
			ct_agent_cuda_seen();
	}
	errno = saved;
}
