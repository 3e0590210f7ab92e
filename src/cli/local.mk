# Sources of cli/.
libcudatrap_a_SOURCES += src/cli/cli.h src/cli/cli_priv.h src/cli/config.c src/cli/options.c src/cli/words.c
