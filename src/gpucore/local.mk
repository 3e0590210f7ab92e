# Sources of gpucore/.
libcudatrap_a_SOURCES += \
	src/gpucore/access.c src/gpucore/arguments.c src/gpucore/builder.c src/gpucore/builder.h src/gpucore/container.c src/gpucore/fill.c src/gpucore/format.h \
	src/gpucore/frames.c src/gpucore/gpucore.c src/gpucore/gpucore.h src/gpucore/gpucore_priv.h src/gpucore/groups.c \
	src/gpucore/lanes.c src/gpucore/memory.c src/gpucore/places.c src/gpucore/places.h src/gpucore/raw.c src/gpucore/source.c
