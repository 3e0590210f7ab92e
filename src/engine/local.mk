# Sources of engine/.
libcudatrap_a_SOURCES += \
	src/engine/attach.c src/engine/conclude.c src/engine/core.c src/engine/engine.h src/engine/engine_priv.h src/engine/let_end.c src/engine/live.c src/engine/rank.c \
	src/engine/record.c src/engine/redirected.c src/engine/run.c src/engine/session.c src/engine/setup.c src/engine/wait.c src/engine/ci.c src/engine/syslog.c src/engine/tell.c
