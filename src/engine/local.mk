# Sources of engine/.
libcudatrap_a_SOURCES += \
	src/engine/ci.c src/engine/conclude.c src/engine/engine.h src/engine/engine_priv.h src/engine/live.c src/engine/run.c src/engine/wait.c
