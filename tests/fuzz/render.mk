# Any bytes as an incident, in every format. Seeds: tests/data/render/.
if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_render
tests_fuzz_fuzz_render_SOURCES = tests/fuzz/fuzz_render.c
tests_fuzz_fuzz_render_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_render_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzz_render_LDADD = $(CT_LIBS)
endif
