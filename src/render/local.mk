# Sources of render/.
libcudatrap_a_SOURCES += \
	src/render/elide.c src/render/formats.h src/render/frames.c src/render/json.c src/render/names.c src/render/names.h \
	src/render/page.c src/render/page.h src/render/render.c src/render/render.h src/render/text.c src/render/text_head.c \
	src/render/text_priv.h src/render/text_rest.c src/render/text_stack.c src/render/text_tensors.c src/render/text_values.c \
	src/render/text_threads.c src/render/text_checks.c
