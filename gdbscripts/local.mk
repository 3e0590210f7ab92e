# The scripts that cuda-gdb loads.
gdbscriptsdir = $(pkgdatadir)/gdbscripts/cudatrap
dist_gdbscripts_DATA = \
	gdbscripts/cudatrap/__init__.py gdbscripts/cudatrap/arguments.py gdbscripts/cudatrap/collect.py gdbscripts/cudatrap/command.py \
	gdbscripts/cudatrap/access.py gdbscripts/cudatrap/commands.py gdbscripts/cudatrap/emit.py gdbscripts/cudatrap/functors.py gdbscripts/cudatrap/faults.py gdbscripts/cudatrap/focus.py gdbscripts/cudatrap/handover.py \
	gdbscripts/cudatrap/hostcommands.py gdbscripts/cudatrap/hoststacks.py gdbscripts/cudatrap/image.py gdbscripts/cudatrap/kernelargs.py \
	gdbscripts/cudatrap/live.py gdbscripts/cudatrap/livesession.py gdbscripts/cudatrap/main.py gdbscripts/cudatrap/memcommands.py gdbscripts/cudatrap/model.py \
	gdbscripts/cudatrap/printers.py gdbscripts/cudatrap/rules.py gdbscripts/cudatrap/session.py gdbscripts/cudatrap/runcommands.py gdbscripts/cudatrap/settings.py \
	gdbscripts/cudatrap/shapes.py gdbscripts/cudatrap/shellvalues.py gdbscripts/cudatrap/stop.py gdbscripts/cudatrap/tensors.py gdbscripts/cudatrap/tool.py \
	gdbscripts/cudatrap/values.py

gdbscriptstopdir = $(pkgdatadir)/gdbscripts
dist_gdbscriptstop_DATA = gdbscripts/trap.py
