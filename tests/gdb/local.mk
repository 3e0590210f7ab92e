# tests/gdb
