# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of cudatrap that runs inside cuda-gdb (12.7 and later; its Python is 3.8 to 3.12).

Importing registers nothing and reads nothing:

model.py     plain records in, plain dicts out; knows no gdb, runs in any Python 3.8
arguments.py kernel arguments: types from a signature, values from bytes; no gdb
rules.py     which elements the failing threads read, by data/assert-values.tsv; no gdb
values.py    arguments, elements of arrays in device memory and locals, read at the stop
image.py     the few facts that cuda-gdb does not tell, from the ELF images of the GPU code; no gdb either
focus.py     moves the focus and puts it back
collect.py   the GPU's state, through gdb.cuda and expressions, as the dict that emit.py writes
emit.py      a dict to a file, all of it or nothing
main.py      what the front-end runs: attach or open, collect, emit, let go
live.py      what the front-end runs when the whole program runs under cuda-gdb
livesession.py  the same with a person at the terminal
session.py   what the front-end runs when a person shall look into a process that runs already
handover.py  from the scripts to that person: a quiet start, the front-end's report, the prompt
faults.py    what kind of stop a stop is
commands.py  the commands for people; commands.register() makes them
command.py   what they share
memcommands.py, hostcommands.py, runcommands.py  more of them: memory and tensors, the host's side, running on
kernelargs.py  the arguments of the kernel in focus
shapes.py    arrays in memory: types of elements, indices; no gdb
settings.py  set trap ...
printers.py  pretty printers
stop.py      what they ask: the fault at which the program stands, read once a stop
tool.py      the cudatrap program, which has the words of the report
shellvalues.py  bytes of kernel arguments as those commands show them; no gdb
"""
