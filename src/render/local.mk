# Sources of render/.
libcudatrap_a_SOURCES += \
	src/render/elide.c src/render/excerpt.c src/render/formats.h src/render/json.c src/render/names.c src/render/names.h \
	src/render/page.c src/render/page.h src/render/render.c src/render/render.h src/render/text.c src/render/text_head.c \
	src/render/text_priv.h src/render/text_rest.c src/render/text_stack.c src/render/text_tensors.c src/render/text_values.c \
	src/render/text_threads.c src/render/text_checks.c src/render/text_launch.c

# The formats for machines and browsers.
libcudatrap_a_SOURCES += \
	src/render/github.c src/render/gitlab.c src/render/grid.c src/render/grid.h src/render/html.c src/render/html_body.c src/render/html_listing.c \
	src/render/html_picture.c src/render/html_priv.h src/render/html_style.c src/render/html_tables.c src/render/junit.c \
	src/render/launch.c src/render/launch.h src/render/markdown.c src/render/markdown_text.c src/render/markdown_text.h \
	src/render/markup.c src/render/markup.h src/render/sarif.c
