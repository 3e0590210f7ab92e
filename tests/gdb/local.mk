# The scripts under a real cuda-gdb and without one, and the C side that runs them.
check_PROGRAMS += tests/gdb/drive
tests_gdb_drive_SOURCES = tests/gdb/drive.c
tests_gdb_drive_LDADD = $(CT_LIBS)
