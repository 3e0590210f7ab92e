# Sources of cli/.
libcudatrap_a_SOURCES += src/cli/cli.h src/cli/options.c
