# Sources of rules/.
libcudatrap_a_SOURCES += src/rules/rules.c src/rules/rules.h
