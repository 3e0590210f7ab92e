# Sources of cudagdb/.
libcudatrap_a_SOURCES += \
	src/cudagdb/candidates.c src/cudagdb/child.c src/cudagdb/cudagdb.h src/cudagdb/cudagdb_priv.h src/cudagdb/environ.c \
	src/cudagdb/find.c src/cudagdb/live.c src/cudagdb/mi.c src/cudagdb/mi_gpu.c \
	src/cudagdb/mi_groups.c src/cudagdb/mi_groups.h src/cudagdb/mi_session.c src/cudagdb/program.c \
	src/cudagdb/read.c src/cudagdb/session.c src/cudagdb/run.c src/cudagdb/run_mi.c
