# Sources of base/.
libcudatrap_a_SOURCES += \
	src/base/arena.c src/base/arena.h src/base/auto.h src/base/base.h src/base/clock.c src/base/clock.h \
	src/base/demangle.c src/base/demangle.h \
	src/base/error.c src/base/error.h src/base/io.c src/base/io.h src/base/str.c src/base/str.h \
	src/base/floats.c src/base/floats.h src/base/tsv.c src/base/tsv.h
