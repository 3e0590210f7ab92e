# Sources of supervisor/.
libcudatrap_a_SOURCES += \
	src/supervisor/children.c src/supervisor/ending.c src/supervisor/events.c src/supervisor/guardian.c \
	src/supervisor/processes.c src/supervisor/processes.h src/supervisor/relay.c src/supervisor/signals.c \
	src/supervisor/spawn.c src/supervisor/supervisor.c src/supervisor/supervisor.h src/supervisor/supervisor_priv.h \
	src/supervisor/terminal.c
