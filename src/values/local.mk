# Sources of values/.
libcudatrap_a_SOURCES += \
	src/values/arrays.c src/values/dump.c src/values/elements.c src/values/elements.h src/values/functors.c src/values/maps.c \
	src/values/offsets.c src/values/offsets.h src/values/read.c src/values/tensors.c src/values/values.h src/values/values_priv.h
