// The table of commands: what they are called, what they take, what help says, which function runs.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdint.h>
#include <string.h>

#include "cli/cli.h"
#include "shell/shell_priv.h"

struct command {
	struct ct_shell_help help;
	size_t min_args, max_args;
	ct_shell_run *run;
};

// The one-line helps stand in cudatrap-shell.1 word by word: a test compares them.
static const struct command commands[] = {
	{{"help", "[COMMAND]", "list the commands, or say how one is used"}, 0, 1, ct_shell_run_help},
	{{"report", "[save FILE]", "show the whole report, or write it to a file (as JSON when its name ends in .json)"}, 0, 2, ct_shell_run_report},
	{{"why", "", "say what happened: the assert or exception, the failing threads, what is not known"}, 0, 0, ct_shell_run_why},
	{{"threads", "[all]", "show the groups of failing threads, or of all threads, and where they stand"}, 0, 1, ct_shell_run_threads},
	{{"thread", "[N | [BLOCK] THREAD]", "show the focus, or move it to the N-th failing thread or to a block and thread"}, 0, 2, ct_shell_run_thread},
	{{"kernel", "NAME | NUMBER", "move the focus to the first thread of a kernel"}, 1, 1, ct_shell_run_kernel},
	{{"args", "", "show the arguments of the kernel at the focus"}, 0, 0, ct_shell_run_args},
	{{"values", "", "show the values that broke the kernel, and how each was got"}, 0, 0, ct_shell_run_values},
	{{"tensors", "[NAME]", "list the tensors that the Python frames name, or those of one name"}, 0, 1, ct_shell_run_tensors},
	{{"tensor", "NAME | argN [INDEX]", "show what was kept of a tensor's elements, or one of them"}, 1, 2, ct_shell_run_tensor},
	{{"find", "VALUE", "say which arguments hold a value, and which of the elements that were kept"}, 1, 1, ct_shell_run_find},
	{{"stack", "", "show the device call stack at the focus"}, 0, 0, ct_shell_run_stack},
	{{"regs", "", "show the registers and predicates at the focus"}, 0, 0, ct_shell_run_regs},
	{{"source", "[N]", "show the source at the focus, or of frame N of its stack"}, 0, 1, ct_shell_run_source},
	{{"asm", "", "say how to see the instructions at the focus"}, 0, 0, ct_shell_run_asm},
	{{"mem", "ADDRESS | argN [TYPE [COUNT]]", "show device memory, or that which argument N points to"}, 1, 3, ct_shell_run_mem},
	{{"host", "[all | full]", "show the host stack that launched the kernel, of all threads, or frame by frame"}, 0, 1, ct_shell_run_host},
	{{"frame", "[N]", "show a frame of the host stack, or move to frame N"}, 0, 1, ct_shell_run_frame},
	{{"up", "", "move to the caller in the host stack"}, 0, 0, ct_shell_run_up},
	{{"down", "", "move to the callee in the host stack"}, 0, 0, ct_shell_run_down},
	{{"python", "[locals]", "show the Python frames of all host threads, or the tensors and plain values that each frame knows"}, 0, 1, ct_shell_run_python},
	{{"exceptions", "", "count the threads and SMs with an exception"}, 0, 0, ct_shell_run_exceptions},
	{{"kernels", "", "list the kernels on the device"}, 0, 0, ct_shell_run_kernels},
	{{"devices", "", "list the devices"}, 0, 0, ct_shell_run_devices},
	{{"sms", "", "list the SMs with the blocks, warps and threads on them"}, 0, 0, ct_shell_run_sms},
	{{"modules", "", "list the code images"}, 0, 0, ct_shell_run_modules},
	{{"log", "", "show what the program's output says about the fault"}, 0, 0, ct_shell_run_log},
	{{"environment", "", "show environment, versions and how the run ended"}, 0, 0, ct_shell_run_environment},
	{{"collectors", "", "show what was read, how long it took, and what failed"}, 0, 0, ct_shell_run_collectors},
	{{"raw", "", "show every table of the dump"}, 0, 0, ct_shell_run_raw},
	{{"next", "", "run on to the next fault, or to the next breakpoint or Ctrl-C"}, 0, 0, ct_shell_run_live},
	{{"break-on", "KERNEL [if CONDITION]", "stop where a kernel begins, if a condition is given only where it holds"}, 0, SIZE_MAX, ct_shell_run_live},
	{{"on-launch", "KERNEL", "stop once at each launch of a kernel, before its first instruction"}, 0, SIZE_MAX, ct_shell_run_live},
	{{"quit", "", "leave"}, 0, 0, ct_shell_run_quit},
};

bool ct_shell_help_at(size_t index, struct ct_shell_help *ret_help)
{
	if (index >= CT_COUNT(commands))
		return false;
	*ret_help = commands[index].help;
	return true;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;
	return m < c ? m : c;
}

// Edits that make one word the other; words longer than a command's name are far from all.
static size_t edits(const char *a, const char *b)
{
	enum { LONGEST = 24 };
	size_t n = strlen(b), row[LONGEST + 1];
	if (n > LONGEST || strlen(a) > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t next = smallest(row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = row[j];
			row[j] = next;
		}
	}
	return row[n];
}

static bool unknown(const char *word, struct ct_error *err)
{
	const char *best = NULL;
	size_t least = 3;  // more edits than two is another word
	for (size_t i = 0; i < CT_COUNT(commands); i++) {
		size_t n = edits(word, commands[i].help.name);
		if (n < least && 2 * n <= strlen(word)) {
			best = commands[i].help.name;
			least = n;
		}
	}
	ct_fail(err, CT_USAGE, "unknown command '%.60s'", word);
	if (word[0] == '!')
		return ct_hint(err, "no other program is run from here");
	return best ? ct_hint(err, "did you mean '%s'?", best) : ct_hint(err, "'help' lists the commands");
}

// By its name, or by a beginning that no other command has.
static const struct command *find(const char *word, struct ct_error *err)
{
	const struct command *found = NULL;
	CT_AUTO(ct_auto_str) struct ct_str list = CT_STR_INIT;
	size_t n = 0;
	for (size_t i = 0; i < CT_COUNT(commands); i++) {
		const char *name = commands[i].help.name;
		if (strcmp(name, word) == 0)
			return &commands[i];
		if (*word && ct_starts_with(name, word)) {
			ct_str_addf(&list, "%s%s", n++ ? ", " : "", name);
			found = &commands[i];
		}
	}
	if (n == 1)
		return found;
	if (n > 1)
		ct_fail(err, CT_USAGE, "'%s' may be: %s", word, ct_str_text(&list));
	else
		unknown(word, err);
	return NULL;
}

static bool usage(const struct command *c, struct ct_error *err)
{
	return ct_fail(err, CT_USAGE, "usage: %s%s%s", c->help.name, c->help.arguments[0] ? " " : "", c->help.arguments);
}

bool ct_shell_execute(struct ct_shell *shell, const char *line, FILE *out, bool *ret_quit, struct ct_error *err)
{
	struct ct_shell_call call = {.shell = shell, .out = out, .arena = CT_ARENA_INIT};
	char **words = NULL;
	size_t n = 0;
	bool ok = true;
	const struct command *c = NULL;
	if (!ct_cli_split(&call.arena, line, &words, &n, err)) {
		ok = false;
	} else if (n) {
		c = find(words[0], err);
		ok = c != NULL;
	}
	if (c) {
		call.args = words + 1;
		call.n_args = n - 1;
		ok = call.n_args >= c->min_args && call.n_args <= c->max_args ? c->run(&call, err) : usage(c, err);
	}
	if (call.quit)
		*ret_quit = true;
	ct_arena_done(&call.arena);
	return ok;
}

bool ct_shell_run_help(struct ct_shell_call *call, struct ct_error *err)
{
	if (call->n_args) {
		const struct command *c = find(call->args[0], err);
		if (!c)
			return false;
		fprintf(call->out, "%s%s%s\n    %s\n", c->help.name, c->help.arguments[0] ? " " : "", c->help.arguments, c->help.help);
		return true;
	}
	for (size_t i = 0; i < CT_COUNT(commands); i++)
		fprintf(call->out, "%-12s %s\n", commands[i].help.name, commands[i].help.help);
	return true;
}

bool ct_shell_run_quit(struct ct_shell_call *call, struct ct_error *err)
{
	(void)err;
	call->quit = true;
	return true;
}
