# Sources of values/.
libcudatrap_a_SOURCES += \
	src/values/arrays.c src/values/dump.c src/values/functors.c src/values/maps.c src/values/read.c src/values/tensors.c \
	src/values/values.h src/values/values_priv.h
