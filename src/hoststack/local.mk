# Sources of hoststack/.
libcudatrap_a_SOURCES += \
	src/hoststack/demangle.c \
	src/hoststack/files.c \
	src/hoststack/hoststack.h \
	src/hoststack/hoststack_priv.h \
	src/hoststack/python_find.c \
	src/hoststack/python_layout.c \
	src/hoststack/python_lines.c \
	src/hoststack/python_object.c \
	src/hoststack/python_priv.h \
	src/hoststack/python_process.c \
	src/hoststack/python_walk.c
