# The plain values among the locals of the program's own frames, as texts. Stands in front of tensors.py, whose functions it uses and whose rules
# it keeps: only values whose type is exactly a builtin one are shown, by that type's own code; of a tuple's heirs (a shape) the items are.
# SPDX-License-Identifier: GPL-3.0-or-later

MAX_PLAIN = 200  # in all
MAX_PLAIN_OF_FRAME = 32
MAX_OWN_FRAMES = 3  # of a thread, innermost first
MAX_PLAIN_TEXT = 120  # characters of a text
MAX_NUMBERS = 16  # of a tuple or list
MAX_BITS = 256  # of a number: turning a long one into digits takes its time
INSTALLED = ("/site-packages/", "/dist-packages/", "/lib/python3.")


def is_own_code(code: object) -> bool:
    path = code.co_filename
    return type(path) is str and not path.startswith("<frozen ") and not any([part in path for part in INSTALLED])


def number_text(value: object) -> str:
    """None counts as one; "" for what is none."""
    kind = type(value)
    if value is None or kind is bool:
        return "%s" % value
    if kind is int:
        return "%d" % value if value.bit_length() <= MAX_BITS else "an int of %d bits" % value.bit_length()
    return repr(value) if kind is float else ""


def numbers_text(value: object, kind: type) -> str:
    items = hold(some(kind.__iter__(value), MAX_NUMBERS + 1))
    texts = [number_text(item) for item in items[:MAX_NUMBERS]]
    if not all(texts):
        return ""
    inner = ", ".join(texts) + (", ..." if len(items) > MAX_NUMBERS else "," if kind is tuple and len(items) == 1 else "")
    return "(%s)" % inner if kind is tuple else "[%s]" % inner


def plain_text(value: object) -> str:
    """How Python would write it; "" for what is not plain."""
    kind = type(value)
    if kind is str:
        return repr(value[:MAX_PLAIN_TEXT]) + ("..." if len(value) > MAX_PLAIN_TEXT else "")
    if kind is list:
        return numbers_text(value, list)
    return number_text(value) or (numbers_text(value, tuple) if inherits(value, tuple) else "")


def plain_rows(pairs: list, arguments: tuple, place: str, room: int) -> list:
    """One a name; those that begin with an underscore are the interpreter's, or meant for nobody."""
    rows = []
    for name, value in pairs:
        if len(rows) >= min(room, MAX_PLAIN_OF_FRAME):
            break
        text = "" if name.startswith("_") else plain_text(value)
        if text:
            rows.append('{"name":%s,"value":%s,"role":"%s",%s}' % (quote(name), quote(text), "argument" if name in arguments else "local", place))
    return rows
