# The client of the agent, against agents that misbehave.
UNIT_TESTS += tests/unit/test_agent
tests_unit_test_agent_SOURCES = tests/unit/test_agent.c
tests_unit_test_agent_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_agent_LDADD = $(UNIT_LIBS) -lpthread
