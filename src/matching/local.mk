# Sources of matching/.
libcudatrap_a_SOURCES += \
	src/matching/failed.c src/matching/grid.c src/matching/limits.c src/matching/matching.h src/matching/matching_priv.h src/matching/place.c
