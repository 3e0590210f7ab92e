# Sources of pylayout/: of the library, and of the agent (src/agent/local.mk).
libcudatrap_a_SOURCES += src/pylayout/layout.c src/pylayout/lines.c src/pylayout/pylayout.h
