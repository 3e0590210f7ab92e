# Sources of hoststack/.
libcudatrap_a_SOURCES += \
	src/hoststack/hoststack.h \
	src/hoststack/demangle.c
