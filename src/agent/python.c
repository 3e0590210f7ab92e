// Python of the process we are in, if it has one: its functions by name, its GIL, and stacks.py or tensors.py run under it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_priv.h"

static const char stacks_snippet[] = {
#include "agent/stacks_py.inc"
	'\0'};
static const char anomaly_snippet[] = {
#include "agent/anomaly_py.inc"
	'\0'};
static const char tensors_snippet[] = {
#include "agent/tensors_py.inc"
	'\0'};

// Of CPython's stable C interface, 3.8 to 3.14 (Include/*.h). A PyObject is a void * here: we do not look inside.
#define PYTHON_FUNCTIONS(X) \
	X(int, Py_IsInitialized, (void)) \
	X(const char *, Py_GetVersion, (void)) \
	X(int, PyGILState_Ensure, (void)) \
	X(void, PyGILState_Release, (int)) \
	X(void, Py_DecRef, (void *)) \
	X(void, Py_IncRef, (void *)) \
	X(void *, PyDict_New, (void)) \
	X(void, PyDict_Clear, (void *)) \
	X(void *, PyDict_GetItemString, (void *, const char *)) \
	X(int, PyDict_SetItemString, (void *, const char *, void *)) \
	X(void *, PyErr_Occurred, (void)) \
	X(void, PyErr_Clear, (void)) \
	X(int, PyDict_Next, (void *, intptr_t *, void **, void **)) \
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

static bool is_version(const struct python *py, const char *minor)
{
	const char *version = py->Py_GetVersion();
	size_t n = strlen(minor);
	return strncmp(version, minor, n) == 0 && version[n] == '.';
}

// Up to 3.12 a frame has a dict of its own for its locals.
static bool has_snapshots(const struct python *py)
{
	static const char *const versions[] = {"3.8", "3.9", "3.10", "3.11", "3.12"};
	for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
		if (is_version(py, versions[i]))
			return true;
	return false;
}

static bool fill_namespace(const struct python *py, void *names)
{
	return put_borrowed(py, names, "__builtins__", py->PyEval_GetBuiltins()) &&
	       put_borrowed(py, names, "current_frames", py->PySys_GetObject("_current_frames")) &&
	       put_borrowed(py, names, "modules", py->PyImport_GetModuleDict()) &&
	       put_new(py, names, "own", py->PyLong_FromUnsignedLong(py->PyThread_get_thread_ident())) &&
	       put_new(py, names, "pid", py->PyLong_FromLong(getpid())) && put_new(py, names, "is_fork", py->PyLong_FromLong(ct_agent_is_fork())) &&
	       put_new(py, names, "held", py->PyDict_New()) &&
	       put_new(py, names, "is_snapshot", py->PyLong_FromLong(has_snapshots(py)));
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

// Of what the snippet touched, whatever has no owner left but us is never freed: another thread dropped it meanwhile, and freeing it
// here would run its finalizer, or CUDA's allocator, in our thread. No Python code runs between the look and the end of held.
// The count is the first 32 bits of an object, in all versions with a GIL on little-endian machines (Include/object.h).
static void keep_orphans(const struct python *py, void *names)
{
	void *held = py->PyDict_GetItemString(names, "held"), *key, *object;
	intptr_t at = 0;
	while (held && py->PyDict_Next(held, &at, &key, &object)) {
		uint32_t owners;
		memcpy(&owners, object, sizeof owners);
		if (owners == 1)
			py->Py_IncRef(object);
	}
}

// With the GIL held. NULL: something went wrong in Python, and its error is cleared.
static char *run_snippet(const struct python *py, const char *snippet)
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
	keep_orphans(py, names);
	py->PyDict_Clear(names);  // its functions refer to it: without this only the collector would free it
	py->Py_DecRef(names);
	return copy;
}

// The collector would run the program's finalizers in our thread.
static char *run_snippet_uncollected(const struct python *py, const char *snippet)
{
	bool can_switch = py->PyGC_Disable && py->PyGC_Enable;
	bool was_on = can_switch && py->PyGC_Disable();
	char *copy = run_snippet(py, snippet);
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

// *ret_why is set to why there is no asking; else it stays as it is.
static bool ask_python(const char *snippet, char **ret_text, char ret_version[32], const char **ret_why)
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
	*ret_text = run_snippet_uncollected(&py, snippet);
	py.PyGILState_Release(gil);
	return *ret_text != NULL;
}

bool ct_agent_python_stacks(char **ret_threads, char ret_version[32], const char **ret_why)
{
	*ret_why = "Python could not list its stacks";
	return ask_python(stacks_snippet, ret_threads, ret_version, ret_why);
}

bool ct_agent_python_tensors(char **ret_members, char ret_version[32], const char **ret_why)
{
	*ret_why = "Python could not list its tensors";
	return ask_python(tensors_snippet, ret_members, ret_version, ret_why);
}

bool ct_agent_python_anomaly(char **ret_state, char ret_version[32], const char **ret_why)
{
	*ret_why = "Python could not turn anomaly detection on";
	return ask_python(anomaly_snippet, ret_state, ret_version, ret_why);
}

bool ct_agent_switch_anomaly_on(void)
{
	char version[32], *state = NULL;
	const char *why = NULL;
	bool on = ct_agent_python_anomaly(&state, version, &why) && strcmp(state, "\"on\"") == 0;
	free(state);
	return on;
}
