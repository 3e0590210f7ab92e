# Sources of commands/.
libcudatrap_a_SOURCES += \
	src/commands/commands.h src/commands/common.c src/commands/doctor.c src/commands/list.c src/commands/list_html.c src/commands/list_priv.h src/commands/merge.c src/commands/report.c src/commands/run.c \
	src/commands/shell.c
