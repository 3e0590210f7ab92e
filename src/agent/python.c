// Python of the process we are in, if it has one: its functions by name, its GIL, and stacks.py run under it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_priv.h"

static const char snippet[] = {
#include "agent/stacks_py.inc"
	'\0'};

// Of CPython's stable C interface, 3.8 to 3.14 (Include/*.h). A PyObject is a void * here: we do not look inside.
#define PYTHON_FUNCTIONS(X) \
	X(int, Py_IsInitialized, (void)) \
	X(const char *, Py_GetVersion, (void)) \
	X(int, PyGILState_Ensure, (void)) \
	X(void, PyGILState_Release, (int)) \
	X(void, Py_DecRef, (void *)) \
	X(void *, PyDict_New, (void)) \
	X(void, PyDict_Clear, (void *)) \
	X(void *, PyDict_GetItemString, (void *, const char *)) \
	X(int, PyDict_SetItemString, (void *, const char *, void *)) \
	X(void *, PyErr_Occurred, (void)) \
	X(void, PyErr_Clear, (void)) \
	X(void *, PyEval_GetBuiltins, (void)) \
	X(void *, PyImport_GetModuleDict, (void)) \
	X(void *, PyLong_FromLong, (long)) \
	X(void *, PyLong_FromUnsignedLong, (unsigned long)) \
	X(void *, PyRun_StringFlags, (const char *, int, void *, void *, void *)) \
	X(void *, PySys_GetObject, (const char *)) \
	X(unsigned long, PyThread_get_thread_ident, (void)) \
	X(const char *, PyUnicode_AsUTF8AndSize, (void *, intptr_t *))

// Not in every version: the collector's switch is 3.10's, the question whether Python ends got its public name in 3.13.
#define PYTHON_OPTIONAL_FUNCTIONS(X) \
	X(int, Py_IsFinalizing, (void)) \
	X(int, _Py_IsFinalizing, (void)) \
	X(int, PyGC_Disable, (void)) \
	X(int, PyGC_Enable, (void))

#define PY_FILE_INPUT 257  // Py_file_input (Include/compile.h)

struct python {
#define FIELD(type, name, args) type(*name) args;
	PYTHON_FUNCTIONS(FIELD)
	PYTHON_OPTIONAL_FUNCTIONS(FIELD)
#undef FIELD
};

static bool find_python(struct python *py)
{
	void *found = NULL;
	memset(py, 0, sizeof *py);
#define FIND(type, name, args) \
	found = ct_agent_lookup(#name); \
	memcpy(&py->name, &found, sizeof found);
#define NEED(type, name, args) \
	FIND(type, name, args) \
	if (!found) \
		return false;
	PYTHON_FUNCTIONS(NEED)
	PYTHON_OPTIONAL_FUNCTIONS(FIND)
#undef NEED
#undef FIND
	return true;
}

static bool is_ending(const struct python *py)
{
	return py->Py_IsFinalizing ? py->Py_IsFinalizing() : py->_Py_IsFinalizing ? py->_Py_IsFinalizing() : false;
}

// Gives the namespace its own reference to a value that was made for it.
static bool put_new(const struct python *py, void *names, const char *name, void *value)
{
	bool ok = value && py->PyDict_SetItemString(names, name, value) == 0;
	if (value)
		py->Py_DecRef(value);
	return ok;
}

static bool put_borrowed(const struct python *py, void *names, const char *name, void *value)
{
	return value && py->PyDict_SetItemString(names, name, value) == 0;
}

static bool fill_namespace(const struct python *py, void *names)
{
	return put_borrowed(py, names, "__builtins__", py->PyEval_GetBuiltins()) &&
	       put_borrowed(py, names, "current_frames", py->PySys_GetObject("_current_frames")) &&
	       put_borrowed(py, names, "modules", py->PyImport_GetModuleDict()) &&
	       put_new(py, names, "own", py->PyLong_FromUnsignedLong(py->PyThread_get_thread_ident())) &&
	       put_new(py, names, "pid", py->PyLong_FromLong(getpid())) && put_new(py, names, "is_fork", py->PyLong_FromLong(ct_agent_is_fork()));
}

static char *copy_result(const struct python *py, void *names)
{
	void *result = py->PyDict_GetItemString(names, "result");
	intptr_t length = 0;
	const char *text = result ? py->PyUnicode_AsUTF8AndSize(result, &length) : NULL;
	char *copy = text ? malloc((size_t)length + 1) : NULL;
	if (copy)
		memcpy(copy, text, (size_t)length + 1);
	return copy;
}

// With the GIL held. NULL: something went wrong in Python, and its error is cleared.
static char *run_snippet(const struct python *py)
{
	void *names = py->PyDict_New();
	if (!names) {
		py->PyErr_Clear();
		return NULL;
	}
	char *copy = NULL;
	void *none = fill_namespace(py, names) ? py->PyRun_StringFlags(snippet, PY_FILE_INPUT, names, names, NULL) : NULL;
	if (none) {
		copy = copy_result(py, names);
		py->Py_DecRef(none);
	}
	if (py->PyErr_Occurred())
		py->PyErr_Clear();
	py->PyDict_Clear(names);  // its functions refer to it: without this only the collector would free it
	py->Py_DecRef(names);
	return copy;
}

// The collector would run the program's finalizers in our thread.
static char *run_snippet_uncollected(const struct python *py)
{
	bool can_switch = py->PyGC_Disable && py->PyGC_Enable;
	bool was_on = can_switch && py->PyGC_Disable();
	char *copy = run_snippet(py);
	if (was_on)
		py->PyGC_Enable();
	return copy;
}

// "3.12.1 (main, ...)" -> "3.12.1"; only what JSON takes as it is.
static void copy_version(const char *text, char ret_version[32])
{
	size_t n = 0;
	for (; n < 31 && ((text[n] >= '0' && text[n] <= '9') || (text[n] >= 'a' && text[n] <= 'z') || text[n] == '.' || text[n] == '+'); n++)
		ret_version[n] = text[n];
	ret_version[n] = '\0';
}

bool ct_agent_python_stacks(char **ret_threads, char ret_version[32], const char **ret_why)
{
	struct python py;
	const char *why = NULL;
	if (!find_python(&py))
		why = "no Python in this process";
	else if (is_ending(&py))  // asked first: a Python that ends counts as not initialized already
		why = "Python is shutting down in this process";
	else if (!py.Py_IsInitialized())
		why = "Python is not initialized in this process";
	else if (strstr(py.Py_GetVersion(), "free-threading"))
		why = "this Python runs without a GIL, so its stacks cannot be held still";
	if (why) {
		*ret_why = why;
		return false;
	}
	copy_version(py.Py_GetVersion(), ret_version);
	// A state of our own for this thread: the program's trace and profile functions belong to its threads' states. If Python shuts down
	// while we wait here, it ends or parks this thread, as it does with any.
	int gil = py.PyGILState_Ensure();
	char *threads = run_snippet_uncollected(&py);
	py.PyGILState_Release(gil);
	if (!threads) {
		*ret_why = "Python could not list its stacks";
		return false;
	}
	*ret_threads = threads;
	return true;
}
