# Sources of shell/. Only what talks to a terminal needs readline.
libcudatrap_a_SOURCES += \
	src/shell/batch.c src/shell/code.c src/shell/complete.c src/shell/history.c src/shell/host.c src/shell/lanes.c src/shell/live.c src/shell/machine.c src/shell/memory.c src/shell/open.c \
	src/shell/output.c src/shell/report.c src/shell/session.c src/shell/shell.h src/shell/shell_priv.h src/shell/table.c src/shell/tensors.c src/shell/text.c \
	src/shell/thread.c src/shell/values.c
cudatrap_LDADD += $(READLINE_LIBS)
