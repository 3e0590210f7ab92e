# Sources of hoststack/.
libcudatrap_a_SOURCES += \
	src/hoststack/hoststack.h \
	src/hoststack/demangle.c \
	src/hoststack/python_layout.c \
	src/hoststack/python_lines.c \
	src/hoststack/python_object.c \
	src/hoststack/python_priv.h \
	src/hoststack/python_walk.c
