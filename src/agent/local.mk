# Sources of agent/: the client is ours, the rest is loaded into the target.
libcudatrap_a_SOURCES += src/agent/agent.h src/agent/client.c

agent_PROGRAMS += libcudatrap-agent.so
libcudatrap_agent_so_SOURCES = src/agent/agent_priv.h src/agent/dlsym.c src/agent/gate.c src/agent/listen.c src/agent/preload.c src/agent/python.c src/agent/record.c \
	src/agent/record.h src/agent/record_capture.c src/agent/record_driver.c src/agent/record_hook.c src/agent/record_python.c src/agent/record_table.c src/agent/record_torch.c src/agent/waiting.c \
	src/pylayout/layout.c src/recorder/recorder.h
# Never with SANITIZE_CFLAGS: a sanitized library cannot be preloaded into an ordinary program. No LTO: it would not see what the assembly
# in dlsym.c calls. Unwind tables: Python ends threads with pthread_exit(), which unwinds.
libcudatrap_agent_so_CFLAGS = -std=c17 $(WARN_CFLAGS) -fPIC -fvisibility=hidden -fasynchronous-unwind-tables -fno-lto
# libdl.so.2 is where dlvsym is before glibc 2.34, and an empty shell since: the same file runs with both. --as-needed would drop it.
libcudatrap_agent_so_LDFLAGS = -shared -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,--no-as-needed
libcudatrap_agent_so_LDADD = -l:libdl.so.2

# Bytes, not a string: C promises room for 4095 characters only.
src/agent/stacks_py.inc: src/agent/stacks.py
	$(AM_V_GEN)$(MKDIR_P) src/agent && od -An -v -tx1 '$(srcdir)/src/agent/stacks.py' | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g' >$@.tmp && mv $@.tmp $@
src/agent/tensors_py.inc: src/agent/plain.py src/agent/tensors.py
	$(AM_V_GEN)$(MKDIR_P) src/agent && cat '$(srcdir)/src/agent/plain.py' '$(srcdir)/src/agent/tensors.py' | od -An -v -tx1 | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g' >$@.tmp && mv $@.tmp $@
src/agent/anomaly_py.inc: src/agent/anomaly.py
	$(AM_V_GEN)$(MKDIR_P) src/agent && od -An -v -tx1 '$(srcdir)/src/agent/anomaly.py' | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g' >$@.tmp && mv $@.tmp $@
src/agent/libcudatrap_agent_so-python.$(OBJEXT): src/agent/stacks_py.inc src/agent/tensors_py.inc src/agent/anomaly_py.inc
EXTRA_DIST += src/agent/stacks.py src/agent/plain.py src/agent/tensors.py src/agent/anomaly.py
CLEANFILES += src/agent/stacks_py.inc src/agent/tensors_py.inc src/agent/anomaly_py.inc
