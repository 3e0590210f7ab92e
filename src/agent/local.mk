# Sources of agent/: the client is ours, the rest is loaded into the target.
libcudatrap_a_SOURCES += src/agent/agent.h src/agent/client.c
