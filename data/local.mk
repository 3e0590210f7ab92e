# Tables that the diagnosis reads.
dist_pkgdata_DATA += data/assert-catalog.tsv data/assert-values.tsv data/call-causes.tsv data/causes.tsv
EXTRA_DIST += data/README.md
