# Sources of report/.
libcudatrap_a_SOURCES += src/report/id.c src/report/marker.c src/report/report.c src/report/report.h src/report/report_priv.h \
	src/report/summary.c src/report/also.c src/report/prune.c src/report/redact.c
