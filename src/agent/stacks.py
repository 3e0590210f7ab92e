# The stacks of all threads, as the text of a JSON array of ASCII, and the test that pytest runs, as the member behind it.
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Compiled into libcudatrap-agent.so and run by its thread inside somebody else's program, with the GIL, on Python 3.8 to 3.14. It imports
# nothing, opens nothing (an audit hook is user code) and calls nothing of the program's: a text counts only if its type is exactly
# str, and a thread's attributes are read past its class. Source lines are added by whoever reads the answer.
#
# Given: current_frames (sys._current_frames), modules (sys.modules), own (this thread's ident), pid, is_fork. Leaves: result.

MAX_THREADS = 512
MAX_FRAMES = 256
MAX_TEXT = 1000  # characters of a name or a path
MAX_TOTAL = 8 << 20  # characters of the answer; the client takes 16 MiB


def escape(c: str) -> str:
    n = ord(c)
    if 0x20 <= n < 0x7F and c not in '"\\':
        return c
    if n < 0x10000:
        return "\\u%04x" % n
    n -= 0x10000
    return "\\u%04x\\u%04x" % (0xD800 + (n >> 10), 0xDC00 + (n & 0x3FF))


def quote(text: object, known: dict) -> str:
    if type(text) is not str:
        return '""'
    if text not in known:
        # A lone surrogate (a file name that is no UTF-8) is no text in JSON either.
        known[text] = '"' + "".join(["?" if "\ud800" <= c <= "\udfff" else escape(c) for c in text[:MAX_TEXT]]) + '"'
    return known[text]


def describe_frame(frame: object, known: dict) -> str:
    code = frame.f_code
    name = code.co_qualname if hasattr(code, "co_qualname") else code.co_name  # 3.11 has both
    line = frame.f_lineno  # None where no line belongs to the instruction
    return '{"function":%s,"file":%s,"line":%d}' % (quote(name, known), quote(code.co_filename, known), line or 0)


def describe_frames(frame: object, room: int, known: dict) -> str:
    rows = []
    while frame is not None and len(rows) < MAX_FRAMES and room > 0:
        rows.append(describe_frame(frame, known))
        room -= len(rows[-1])
        frame = frame.f_back
    return ",".join(rows)


def known_threads() -> dict:
    """ident -> the attributes of its threading.Thread; empty where the program has not imported threading."""
    module = modules.get("threading")
    if type(module) is not type(modules.get("builtins")):
        return {}
    names = module.__dict__
    active, kind, main = names.get("_active"), names.get("Thread"), names.get("_main_thread")
    if type(active) is not dict or type(kind) is not type:
        return {}
    attributes = kind.__dict__["__dict__"].__get__  # not thread.__dict__: a subclass may define __getattribute__
    found = {}
    for ident, thread in active.copy().items():
        if type(ident) is int and issubclass(type(thread), kind):
            found[ident] = dict(attributes(thread))
            # Until 3.13 the main thread of a forked child keeps the number of the thread that forked; it is the child's first thread.
            if is_fork and thread is main:
                found[ident]["_native_id"] = pid
    return found


def describe_threads() -> str:
    frames = [(ident, frame) for ident, frame in current_frames().items() if ident != own]
    threads = known_threads()
    known, rows, room = {}, [], MAX_TOTAL
    for ident, frame in reversed(frames[-MAX_THREADS:]):  # Python lists the newest thread first
        about = threads.get(ident, {})
        tid = about.get("_native_id")
        rows.append('{"tid":%d,"name":%s,"frames":[%s]}' % (
            tid if type(tid) is int else 0, quote(about.get("_name"), known), describe_frames(frame, room, known)))
        room -= len(rows[-1])
    return "[" + ",".join(rows) + "]"


def running_test() -> str:
    """The member that names pytest's test, where one runs: os.environ keeps it as bytes, and /proc/PID/environ never shows it."""
    module = modules.get("os")
    if type(module) is not type(modules.get("builtins")):
        return ""
    names = module.__dict__
    environ = names.get("environ")
    data = environ.__dict__.get("_data") if type(environ) is names.get("_Environ") else None
    test = data.get(b"PYTEST_CURRENT_TEST") if type(data) is dict else None
    return ',"test":' + quote(test[:MAX_TEXT].decode("utf-8", "replace"), {}) if type(test) is bytes else ""


result = describe_threads() + running_test()
