# The arrays that Python frames know by name, and the plain values that plain.py takes, as members of the agent's answer, ASCII.
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Compiled into libcudatrap-agent.so and run by its thread inside somebody else's program, with the GIL, on Python 3.8 to 3.14, while the GPU
# may stand still: what waits for it never returns. So no array is asked for its values, its text, its truth or its equality, nothing
# is imported, and no code of the program's runs: a type is what type() says, an attribute is read through the descriptor found in the
# type's own dict, and only if that descriptor is C code. Identity is compared, never equality of foreign objects.
#
# What is touched is kept in held, which the caller frees: dropping the last reference to an array here would free its memory,
# and dropping one to another object would run its finalizer, in our thread.
#
# Given: current_frames (sys._current_frames), modules (sys.modules), own (this thread's ident), pid, is_fork, is_snapshot (whether f_locals of
# a function is a dict that belongs to its frame), held. Leaves: result.

MAX_THREADS = 512
MAX_FRAMES = 64  # of a thread
MAX_LOCALS = 256  # of a frame
MAX_ITEMS = 64  # of a container
MAX_ATTRIBUTES = 512  # of an instance
MAX_OF_FRAME = 64  # arrays
MAX_TENSORS = 400  # in all
MAX_LOOKS = 20000  # objects looked at, in all
MAX_SECONDS = 0.2
MAX_RANK = 64
MAX_TEXT = 1000  # characters of a name or a path
MAX_KEY = 60  # characters of a dict's key within a name
MAX_TOTAL = 4 << 20  # characters of the answer
CO_OPTIMIZED = 1  # Include/cpython/code.h: the locals are not a dict

namespace_of = type.__dict__["__dict__"].__get__  # not cls.__dict__: a metaclass may define __getattribute__
mro_of = type.__dict__["__mro__"].__get__
name_of = type.__dict__["__name__"].__get__
module_type = type(modules["builtins"])
module_names = module_type.__dict__["__dict__"].__get__
builtin_type = type(len)
getset_type = type(type.__dict__["__dict__"])
member_type = type(type.__dict__["__basicsize__"])
method_type = type(str.join)
slot_type = type(type.__dict__["__call__"])
C_DESCRIPTORS = (getset_type, member_type, method_type)
# The Python objects in which pybind11 and nanobind keep a C++ getter.
CPP_GETTERS = ("instancemethod", "nb_func", "nb_method")
DTYPES = (
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex32",
    "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2",
    "qint8", "quint8", "qint32", "quint4x2", "quint2x4")
LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged", "_mkldnn")
# Where the wrappers of PyTorch keep the array that they wrap, and what it is then.
INNER = (("_local_tensor", "local shard of a %s"), ("_values", "values of a %s"), ("_offsets", "offsets of a %s"), ("elem", "inside a %s"))


def escape(c: str) -> str:
    n = ord(c)
    if 0x20 <= n < 0x7F and c not in '"\\':
        return c
    if n < 0x10000:
        return "\\u%04x" % n
    n -= 0x10000
    return "\\u%04x\\u%04x" % (0xD800 + (n >> 10), 0xDC00 + (n & 0x3FF))


def quote(text: object) -> str:
    if type(text) is not str:
        return '""'
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return '"%s"' % text[:MAX_TEXT]
    return '"' + "".join(["?" if "\ud800" <= c <= "\udfff" else escape(c) for c in text[:MAX_TEXT]]) + '"'


# ---- Reading without running the program's code ----------------------------------------------------------------


class Full(Exception):
    """Enough was seen."""


class Budget:
    def __init__(self) -> None:
        names = module_dict("time")
        clock = names.get("monotonic")
        self.clock = clock if type(clock) is builtin_type else None
        self.end = self.clock() + MAX_SECONDS if self.clock else 0
        self.looks = 0
        self.rows = []
        self.room = MAX_TOTAL
        self.cut = ""

    def look(self) -> None:
        self.looks += 1
        if self.looks > MAX_LOOKS:
            self.cut = "the list ends after %d objects" % MAX_LOOKS
        elif self.clock and self.clock() > self.end:
            self.cut = "the list ends after %d ms" % (MAX_SECONDS * 1000)
        if self.cut:
            raise Full()

    def add(self, row: str) -> None:
        self.rows.append(row)
        self.room -= len(row) + 1
        if len(self.rows) >= MAX_TENSORS:
            self.cut = "the list ends after %d tensors" % MAX_TENSORS
        elif self.room < 16 * MAX_TEXT:
            self.cut = "the list ends after %d bytes" % (MAX_TOTAL - self.room)
        if self.cut:
            raise Full()


def one_of(thing: object, things: object) -> bool:
    """Identity: "in" would ask an __eq__, that of a metaclass too."""
    return any([thing is other for other in things])


def inherits(thing: object, base: type) -> bool:
    """isinstance() would ask __class__."""
    return one_of(base, mro_of(type(thing)))


def module_dict(name: str) -> dict:
    module = modules.get(name)
    return module_names(module) if inherits(module, module_type) else {}


def hold(things: list) -> list:
    held.update(zip(map(id, things), things))
    return things


def hold_pairs(pairs: list) -> list:
    hold([pair[0] for pair in pairs])
    hold([pair[1] for pair in pairs])
    return pairs


def some(iterable: object, limit: int) -> list:
    """The first items of a builtin container, in one go: no other thread changes it meanwhile."""
    return [pair[1] for pair in list(zip(range(limit), iterable))]


def items_of(mapping: dict, limit: int) -> list:
    return hold_pairs(some(dict.items(mapping), limit))


def find(kind: type, name: str) -> object:
    for cls in mro_of(kind):
        names = namespace_of(cls)
        if name in names:
            return names[name]
    return None


def is_cpp_property(found: object) -> bool:
    getter = found.fget if type(found) is property else None
    kind = type(getter)
    name = name_of(kind)
    return kind is builtin_type or (type(name) is str and name in CPP_GETTERS and type(find(kind, "__call__")) is slot_type)


def read(thing: object, name: str) -> object:
    """An attribute that C code keeps; None when there is none, or when it is not C code that would answer."""
    found = find(type(thing), name)
    if one_of(type(found), C_DESCRIPTORS) or is_cpp_property(found):
        return found.__get__(thing)
    return None


def attributes(thing: object) -> dict:
    """The instance's own dict as a new one; only what has a plain name."""
    found = find(type(thing), "__dict__")
    mapping = found.__get__(thing) if type(found) is getset_type else None
    if type(mapping) is not dict:
        return {}
    return {key: value for key, value in items_of(mapping, MAX_ATTRIBUTES) if type(key) is str}


def slot(thing: object, name: str) -> object:
    found = find(type(thing), name)
    if type(found) is member_type:
        return found.__get__(thing, type(thing))
    return attributes(thing).get(name)


def class_in(module: str, name: str) -> object:
    found = module_dict(module).get(name)
    return found if inherits(found, type) else None


def first_class(*places: tuple) -> object:
    found = [cls for cls in [class_in(module, name) for module, name in places] if cls is not None]
    return found[0] if found else None


def function_in(module: str, name: str) -> object:
    found = module_dict(module).get(name)
    return found if type(found) is builtin_type else None


# ---- The libraries -----------------------------------------------------------------------------------------------


def integer(value: object) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def integers(value: object) -> str:
    """JSON of a tuple of plain numbers; "" when it is anything else, like the symbols of a traced program."""
    if not inherits(value, tuple):  # torch.Size is one
        return ""
    got = some(tuple.__iter__(value), MAX_RANK + 1)
    return "[%s]" % ",".join(["%d" % n for n in got]) if len(got) <= MAX_RANK and all([integer(n) for n in got]) else ""


def address(value: object) -> str:
    return '"0x%x"' % value if type(value) is int and 0 < value < 1 << 64 else ""


def attempt(function: object, *arguments: object) -> object:
    """The libraries' own C functions refuse what an odd array does not have."""
    try:
        return function(*arguments)
    except Exception:
        return None


def numpy_dtype(dtype: object) -> tuple:
    """Name and size of a simple one."""
    base = class_in("numpy", "dtype")
    text = read(dtype, "str") if base is not None and inherits(dtype, base) else None
    if type(text) is not str or len(text) < 3 or not text[2:].isdigit():
        return "", 0
    size = int(text[2:])
    kind = {"f": "float", "i": "int", "u": "uint", "c": "complex", "b": "bool"}.get(text[1])
    return ("" if not kind else kind if kind == "bool" else "%s%d" % (kind, 8 * size)), size


def in_elements(strides: object, size: int) -> str:
    if not inherits(strides, tuple) or size <= 0:
        return ""
    got = some(tuple.__iter__(strides), MAX_RANK + 1)
    if len(got) > MAX_RANK or not all([integer(n) and n % size == 0 for n in got]):
        return ""
    return "[%s]" % ",".join(["%d" % (n // size) for n in got])


class Torch:
    name = "torch"

    def __init__(self) -> None:
        self.base = first_class(("torch._C", "TensorBase"), ("torch._C", "_TensorBase"))
        self.ready = self.base is not None
        if not self.ready:
            return
        self.names = namespace_of(self.base)
        names = module_dict("torch")
        self.words = {id(names[word]): word for word in DTYPES + LAYOUTS if word in names}
        self.plain = [cls for cls in (
            class_in("torch", "Tensor"), class_in("torch.nn.parameter", "Parameter"), class_in("torch.nn.parameter", "Buffer")) if cls is not None]
        storage = class_in("torch._C", "StorageBase")
        self.storage = namespace_of(storage) if storage is not None else {}
        self.is_cow = function_in("torch._C", "_is_cow_tensor")
        self.cow_address = function_in("torch._C", "_data_address")
        self.is_wrapped = function_in("torch._C._functorch", "is_functorch_wrapped_tensor")
        self.guard = class_in("torch._C", "DisableTorchFunctionSubclass")

    def call(self, names: dict, name: str, thing: object) -> object:
        found = names.get(name)
        bound = found.__get__(thing) if one_of(type(found), C_DESCRIPTORS) else None
        return attempt(bound) if type(found) is method_type else bound

    def field(self, thing: object, name: str) -> object:
        return attempt(self.call, self.names, name, thing)

    def device(self, thing: object) -> str:
        device = self.field(thing, "device")
        kind, index = read(device, "type"), read(device, "index")
        return "" if type(kind) is not str else "%s:%d" % (kind, index) if type(index) is int else kind

    def is_custom(self, kind: type) -> bool:
        """Whether Python code of a subclass may answer for it."""
        found = find(kind, "__torch_dispatch__")
        return not (found is None or type(found) is builtin_type) or (self.guard is None and not one_of(kind, self.plain))

    def describe(self, thing: object) -> list:
        kind = type(thing)
        plain = one_of(kind, self.plain)
        if self.is_custom(kind):
            return self.describe_inside(thing, name_of(kind))
        if self.guard is None:
            return [self.fields(thing, "" if plain else name_of(kind))]
        with self.guard():
            return [self.fields(thing, "" if plain else name_of(kind))]

    def describe_inside(self, thing: object, name: str) -> list:
        """Named; and the plain array that it wraps."""
        rows = [{"kind": quote(name)}]
        for inner, words in INNER:
            wrapped = slot(thing, inner)
            hold([wrapped])
            if one_of(type(wrapped), self.plain):
                row = self.describe(wrapped)[0]
                row["kind"], row["suffix"] = quote(words % name), inner
                rows.append(row)
        return rows

    def fields(self, thing: object, kind: str) -> dict:
        layout = self.words.get(id(self.field(thing, "layout")), "")
        device = self.device(thing)
        shape = integers(self.field(thing, "shape"))
        wrapped = self.is_wrapped is not None and attempt(self.is_wrapped, thing) is not False
        notes = [note for note, is_so in (
            (kind, kind), ("wrapped by a functorch transform", wrapped), ("meta", device == "meta"), (layout, layout != "strided"),
            ("symbolic shape", not shape)) if is_so and note]
        row = {
            "kind": quote(", ".join(notes)) if notes else "", "shape": shape, "device": quote(device),
            "dtype": quote(self.words.get(id(self.field(thing, "dtype")))),
            "requires_grad": "true" if self.field(thing, "requires_grad") is True else ""}
        if layout == "strided" and not wrapped:
            row["stride"] = integers(self.field(thing, "stride"))
            if device != "meta":
                self.add_pointers(row, thing)
        return row

    def add_pointers(self, row: dict, thing: object) -> None:
        # data_ptr() of a copy-on-write array counts as a write: it would copy the array, on the GPU.
        if self.is_cow is not None and attempt(self.is_cow, thing) is not False:
            row["data_ptr"] = address(attempt(self.cow_address, thing)) if self.cow_address is not None else ""
            return
        row["data_ptr"] = address(self.field(thing, "data_ptr"))
        storage = self.field(thing, "untyped_storage")
        if storage is not None:
            row["storage_ptr"] = address(attempt(self.call, self.storage, "data_ptr", storage))
            size = attempt(self.call, self.storage, "nbytes", storage)
            row["storage_bytes"] = "%d" % size if integer(size) else ""


class NumPy:
    name = "numpy"

    def __init__(self) -> None:
        self.base = class_in("numpy", "ndarray")
        self.ready = self.base is not None

    def describe(self, thing: object) -> list:
        names = namespace_of(self.base)
        get = {name: names[name].__get__ for name in ("shape", "strides", "dtype", "__array_interface__") if type(names.get(name)) is getset_type}
        if len(get) < 4:
            return [{}]
        dtype, size = numpy_dtype(get["dtype"](thing))
        row = {"shape": integers(get["shape"](thing)), "stride": in_elements(get["strides"](thing), size), "device": '"cpu"'}
        if dtype:  # of others NumPy would make the interface in Python
            row["dtype"] = quote(dtype)
            interface = attempt(get["__array_interface__"], thing)
            data = interface.get("data") if type(interface) is dict else None
            row["data_ptr"] = address(data[0]) if type(data) is tuple and len(data) == 2 else ""
        return [row]


class CuPy:
    name = "cupy"

    def __init__(self) -> None:
        self.base = class_in("cupy", "ndarray")
        self.ready = self.base is not None

    def describe(self, thing: object) -> list:
        dtype, size = numpy_dtype(read(thing, "dtype"))
        pointer = read(thing, "data")
        memory, device = read(pointer, "mem"), read(pointer, "device_id")
        room = read(memory, "size")
        return [{
            "shape": integers(read(thing, "shape")), "stride": in_elements(read(thing, "strides"), size), "dtype": quote(dtype),
            "device": quote("cuda:%d" % device if type(device) is int else "cuda"), "data_ptr": address(read(pointer, "ptr")),
            "storage_ptr": address(read(memory, "ptr")), "storage_bytes": "%d" % room if integer(room) else ""}]


class Jax:
    name = "jax"

    def __init__(self) -> None:
        self.base = first_class(("jaxlib._jax", "ArrayImpl"), ("jaxlib.xla_extension", "ArrayImpl"))
        self.ready = self.base is not None

    def describe(self, thing: object) -> list:
        """What its abstract value says: its buffer may be waited for."""
        abstract = read(thing, "aval")
        dtype, _ = numpy_dtype(slot(abstract, "dtype"))
        return [{"shape": integers(slot(abstract, "shape")), "dtype": quote(dtype)}]


class Numba:
    name = "numba"

    def __init__(self) -> None:
        self.base = first_class(("numba.cuda.cudadrv.devicearray", "DeviceNDArrayBase"), ("numba.cuda.cudadrv.devicearray", "DeviceNDArray"))
        self.ready = self.base is not None

    def describe(self, thing: object) -> list:
        own_names = attributes(thing)
        dtype, size = numpy_dtype(own_names.get("dtype"))
        memory = attributes(own_names.get("gpu_data"))
        pointer, room = memory.get("device_pointer"), memory.get("size")
        if type(pointer) is not int:
            pointer = read(pointer, "value")  # a ctypes number
        return [{
            "shape": integers(own_names.get("shape")), "stride": in_elements(own_names.get("strides"), size), "dtype": quote(dtype),
            "device": '"cuda"', "data_ptr": address(pointer), "storage_bytes": "%d" % room if integer(room) else ""}]


# ---- From frames to arrays --------------------------------------------------------------------------------------


class Walk:
    def __init__(self) -> None:
        self.budget = Budget()
        self.libraries = [library for library in (Torch(), CuPy(), Jax(), Numba(), NumPy()) if library.ready]
        self.module = class_in("torch.nn.modules.module", "Module")
        ordered = class_in("collections", "OrderedDict")
        self.dicts = [dict] + ([ordered] if ordered is not None else [])
        self.known = {}  # id of a type -> its library, or None; types in it are held
        self.left_out = 0
        self.plain = []  # rows of plain.py
        self.of_frame = 0  # arrays of the frame that is looked at
        self.opened = set()  # ids of what a frame of the thread further in has opened

    def library_of(self, thing: object) -> object:
        kind = type(thing)
        if id(kind) not in self.known:
            hold([kind])
            found = [library for library in self.libraries if inherits(thing, library.base)]
            self.known[id(kind)] = found[0] if found else None
        return self.known[id(kind)]

    def take(self, thing: object, name: str, role: str, place: str) -> bool:
        """Whether the thing is an array; then it is listed."""
        self.budget.look()
        library = self.library_of(thing)
        if library is None:
            return False
        if self.of_frame >= MAX_OF_FRAME:
            return True
        for row in attempt(library.describe, thing) or [{}]:
            suffix = row.pop("suffix", "")
            row["name"] = quote(name + "." + suffix if suffix else name)
            row["library"], row["role"] = quote(library.name), quote(role)
            members = ['"%s":%s' % (key, value) for key, value in row.items() if value not in ("", '""')]
            self.of_frame += 1
            self.budget.add("{%s,%s}" % (",".join(members), place))
        return True

    def take_module(self, own_names: dict, name: str, place: str) -> None:
        for where, role in (("_parameters", "parameter"), ("_buffers", "buffer")):
            mapping = own_names.get(where)
            if one_of(type(mapping), self.dicts):
                for key, value in items_of(mapping, MAX_ITEMS):
                    if type(key) is str:
                        self.take(value, name + "." + key, role, place)

    def is_module(self, thing: object) -> bool:
        return self.module is not None and inherits(thing, self.module)

    def open_instance(self, thing: object, name: str, place: str) -> None:
        own_names = attributes(thing)
        for key, value in own_names.items():
            self.take(value, name + "." + key, "attribute", place)
        if not self.is_module(thing):
            return
        self.take_module(own_names, name, place)
        inner = own_names.get("_modules")
        if one_of(type(inner), self.dicts):
            for key, value in items_of(inner, MAX_ITEMS):
                self.budget.look()
                if type(key) is str and self.is_module(value):
                    self.take_module(attributes(value), name + "." + key, place)

    def open(self, thing: object, name: str, place: str) -> None:
        """One level into what a frame holds."""
        kind = type(thing)
        if id(thing) in self.opened and kind is not tuple:  # "self", on its way through a framework
            return
        self.opened.add(id(thing))
        if kind is list or kind is tuple:
            for i, value in enumerate(hold(some(kind.__iter__(thing), MAX_ITEMS))):
                self.take(value, "%s[%d]" % (name, i), "item", place)
        elif kind is dict:
            for key, value in items_of(thing, MAX_ITEMS):
                word = repr(key[:MAX_KEY]) if type(key) is str else "%d" % key if integer(key) else None
                if word:
                    self.take(value, "%s[%s]" % (name, word), "item", place)
        elif name == "self" or self.is_module(thing) or find(kind, "__dataclass_fields__") is not None:
            self.open_instance(thing, name, place)

    def locals_in(self, frame: object) -> list:
        code = frame.f_code
        # Up to 3.12 the locals of a function are read by way of a dict that belongs to the frame: it is also the one that the
        # function's own locals() gave to the program, or that a debugger is about to write back.
        if is_snapshot and code.co_flags & CO_OPTIMIZED and ("locals" in code.co_names or frame.f_trace is not None):
            self.left_out += 1
            return []
        names = frame.f_locals
        if type(names) is dict:
            pairs = items_of(names, MAX_LOCALS)
        elif code.co_flags & CO_OPTIMIZED:
            pairs = hold_pairs(some(names.items(), MAX_LOCALS))  # 3.13: FrameLocalsProxy
        else:
            pairs = []  # the namespace that a metaclass or an exec() gave: the program's code
        return [pair for pair in pairs if type(pair[0]) is str]

    def take_frame(self, frame: object, tid: int, depth: int, is_own: bool) -> None:
        code = frame.f_code
        place = '"tid":%d,"depth":%d,"function":%s,"file":%s' % (
            tid, depth, quote(code.co_qualname if hasattr(code, "co_qualname") else code.co_name), quote(code.co_filename))
        if frame.f_lineno:
            place += ',"line":%d' % frame.f_lineno
        extra = bool(code.co_flags & 4) + bool(code.co_flags & 8)  # CO_VARARGS, CO_VARKEYWORDS
        arguments = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount + extra]
        self.of_frame = 0
        pairs = self.locals_in(frame)
        if is_own and len(self.plain) < MAX_PLAIN:
            self.plain += plain_rows(pairs, arguments, place, MAX_PLAIN - len(self.plain))
        if not self.libraries:
            return
        rest = [(name, value) for name, value in pairs if not self.take(value, name, "argument" if name in arguments else "local", place)]
        for name, value in rest:
            if self.of_frame < MAX_OF_FRAME:
                self.open(value, name, place)

    def take_thread(self, frame: object, tid: int) -> None:
        depth = n_own = 0
        self.opened = set()
        while frame is not None and depth < MAX_FRAMES:
            hold([frame])
            is_own = n_own < MAX_OWN_FRAMES and is_own_code(frame.f_code)
            n_own += is_own
            if is_own or self.libraries:
                self.take_frame(frame, tid, depth, is_own)
            frame = frame.f_back
            depth += 1


def known_tids() -> dict:
    """ident -> Linux thread id; empty where the program has not imported threading."""
    names = module_dict("threading")
    active, kind, main = names.get("_active"), names.get("Thread"), names.get("_main_thread")
    if type(active) is not dict or type(kind) is not type:
        return {}
    found = {}
    for ident, thread in items_of(active, MAX_THREADS):
        if type(ident) is int and inherits(thread, kind):
            tid = pid if is_fork and thread is main else attributes(thread).get("_native_id")
            found[ident] = tid if type(tid) is int else 0
    return found


def describe_all() -> str:
    walk = Walk()
    frames = [pair for pair in current_frames().items() if pair[0] != own]
    hold([pair[1] for pair in frames])
    tids = known_tids()
    # The main thread first: it launches more often than others, and the list may end early.
    frames.sort(key=lambda pair: tids.get(pair[0]) != pid)
    try:
        for ident, frame in frames[:MAX_THREADS]:
            walk.take_thread(frame, tids.get(ident, 0))
    except Full:
        pass
    left = "%d functions that use locals() or are traced were left alone" % walk.left_out if walk.left_out else ""
    return '"libraries":[%s],"detail":%s,"tensors":[%s],"python_locals":[%s]' % (
        ",".join([quote(library.name) for library in walk.libraries]),
        quote("; ".join([text for text in (walk.budget.cut, left) if text])), ",".join(walk.budget.rows), ",".join(walk.plain))


result = describe_all()
