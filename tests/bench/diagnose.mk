# Figures of diagnose/: make bench-loglines. Built with the tests, so that it keeps building; run by hand.
check_PROGRAMS += tests/bench/loglines
tests_bench_loglines_SOURCES = tests/bench/loglines.c
tests_bench_loglines_LDADD = $(CT_LIBS)

bench-loglines: tests/bench/loglines
	tests/bench/loglines
.PHONY: bench-loglines
