# The scripts that cuda-gdb loads.
