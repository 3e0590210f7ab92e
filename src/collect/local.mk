# Sources of collect/.
libcudatrap_a_SOURCES += \
	src/collect/assert.c src/collect/collect.c src/collect/collect.h src/collect/collect_priv.h src/collect/dump.c src/collect/environment.c src/collect/launches.c src/collect/notes.c src/collect/rank.c
