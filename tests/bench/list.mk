# Figures of `cudatrap list`: make bench-list, by hand.
EXTRA_DIST += tests/bench/list.py

bench-list: cudatrap$(EXEEXT)
	$(PYTHON3) $(top_srcdir)/tests/bench/list.py ./cudatrap
.PHONY: bench-list
