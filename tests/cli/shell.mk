# The session over dumps and reports, on a terminal of its own and from a pipe.
TESTS += tests/cli/test_shell.py
EXTRA_DIST += tests/cli/test_shell.py tests/data/shell
TESTS += tests/cli/test_tutorial.py
EXTRA_DIST += tests/cli/test_tutorial.py
