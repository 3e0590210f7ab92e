# Sources of hoststack/. The unwinding runs in a thread of its own.
libcudatrap_a_SOURCES += \
	src/hoststack/can_trace.c src/hoststack/combine.c src/hoststack/excerpt.c src/hoststack/files.c src/hoststack/hoststack.h src/hoststack/hoststack_priv.h \
	src/hoststack/mark.c src/hoststack/merge.c src/hoststack/native.c src/hoststack/native_priv.h src/hoststack/native_symbols.c \
	src/hoststack/native_trace.c src/hoststack/parse.c src/hoststack/python_find.c src/hoststack/python_object.c src/hoststack/python_priv.h src/hoststack/python_process.c \
	src/hoststack/python_version.c src/hoststack/python_walk.c src/hoststack/running.c src/hoststack/sources.c src/hoststack/tensors.c
AM_CFLAGS += -pthread
