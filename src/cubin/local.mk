# Sources of cubin/.
libcudatrap_a_SOURCES += \
	src/cubin/access.c src/cubin/assert.c src/cubin/cubin.h src/cubin/cubin_priv.h src/cubin/demangle.c src/cubin/elf.c src/cubin/functions.c \
	src/cubin/info.c src/cubin/layout.c src/cubin/lines.c src/cubin/sass.c src/cubin/slice.c src/cubin/text.c
