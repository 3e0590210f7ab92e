# Sources of supervisor/.
libcudatrap_a_SOURCES += src/supervisor/processes.c src/supervisor/processes.h
