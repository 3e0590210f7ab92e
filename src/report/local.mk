# Sources of report/.
libcudatrap_a_SOURCES += src/report/also.c src/report/id.c src/report/report.c src/report/report.h src/report/report_priv.h
