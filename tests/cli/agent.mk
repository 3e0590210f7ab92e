# The agent in real processes. What is loaded together with it is built like it: without sanitizers.
AGENT_TEST_CFLAGS = -std=c17 $(WARN_CFLAGS) -fPIC

check_PROGRAMS += tests/cli/agent-libcuda.so tests/cli/agent-who1.so tests/cli/agent-who2.so tests/cli/agent-who3.so \
	tests/cli/agent_probe tests/cli/agent_ask tests/cli/agent_gate

tests_cli_agent_libcuda_so_SOURCES = tests/cli/agent_libcuda.c
tests_cli_agent_libcuda_so_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_cli_agent_libcuda_so_LDFLAGS = -shared -Wl,-soname,libcuda.so.1

tests_cli_agent_who1_so_SOURCES = tests/cli/agent_who.c
tests_cli_agent_who1_so_CPPFLAGS = $(AM_CPPFLAGS) -DWHO=1
tests_cli_agent_who1_so_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_cli_agent_who1_so_LDFLAGS = -shared -Wl,-soname,agent-who1.so
tests_cli_agent_who2_so_SOURCES = tests/cli/agent_who.c
tests_cli_agent_who2_so_CPPFLAGS = $(AM_CPPFLAGS) -DWHO=2
tests_cli_agent_who2_so_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_cli_agent_who2_so_LDFLAGS = -shared -Wl,-soname,agent-who2.so
tests_cli_agent_who3_so_SOURCES = tests/cli/agent_who.c
tests_cli_agent_who3_so_CPPFLAGS = $(AM_CPPFLAGS) -DWHO=3
tests_cli_agent_who3_so_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_cli_agent_who3_so_LDFLAGS = -shared -Wl,-soname,agent-who3.so

tests_cli_agent_probe_SOURCES = tests/cli/agent_probe.c
tests_cli_agent_probe_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_cli_agent_probe_LDFLAGS = -pthread -Wl,--no-as-needed
tests_cli_agent_probe_LDADD = tests/cli/agent-who1.so tests/cli/agent-who2.so tests/cli/agent-who3.so -ldl

tests_cli_agent_ask_SOURCES = tests/cli/agent_ask.c
tests_cli_agent_ask_LDADD = $(CT_LIBS)

tests_cli_agent_gate_SOURCES = tests/cli/agent_gate.c
tests_cli_agent_gate_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_cli_agent_gate_LDFLAGS = -pthread -rdynamic
tests_cli_agent_gate_LDADD = -ldl

TESTS += tests/cli/agent_gate.py tests/cli/agent_record.py
EXTRA_DIST += tests/cli/agent_gate.py tests/cli/agent_record.py
TESTS += tests/cli/agent.py tests/cli/agent_tensors.py
EXTRA_DIST += tests/cli/agent.py tests/cli/agent_lab.py tests/cli/agent_tensors.py tests/cli/fake_torch.py

# The launch recorder.
check_PROGRAMS += tests/cli/agent_launches
tests_cli_agent_launches_SOURCES = tests/cli/agent_launches.c
tests_cli_agent_launches_LDADD = $(CT_LIBS)

check_PROGRAMS += tests/cli/agent-libtorch.so
tests_cli_agent_libtorch_so_SOURCES = tests/cli/agent_libtorch.c
tests_cli_agent_libtorch_so_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_cli_agent_libtorch_so_LDFLAGS = -shared -Wl,-soname,libtorch_cpu.so

# The recorder's own sources under ThreadSanitizer, whatever the rest is built with. Fences are beyond it, which gcc warns of: hence -w.
check_PROGRAMS += tests/cli/agent_record_race
tests_cli_agent_record_race_SOURCES = tests/cli/agent_record_race.c src/agent/record.c src/agent/record_capture.c src/agent/record_driver.c \
	src/agent/record_python.c src/agent/record_table.c src/agent/record_torch.c src/pylayout/layout.c
tests_cli_agent_record_race_CFLAGS = -std=c17 -w -fsanitize=thread
tests_cli_agent_record_race_LDFLAGS = -fsanitize=thread -pthread
tests_cli_agent_record_race_LDADD = -ldl
TESTS += tests/cli/agent_record_race
