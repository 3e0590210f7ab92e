# A "torch" whose arrays keep their facts as PyTorch's do: in descriptors that are C code. Each answer is counted.
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ctypes
import sys
import types
from typing import Any, Callable, Dict, List

asked: List[str] = []  # names of the facts that somebody asked for
kept: List[Any] = []  # what C code refers to


class MethodDef(ctypes.Structure):  # PyMethodDef
    _fields_ = [("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


class GetSetDef(ctypes.Structure):  # PyGetSetDef
    _fields_ = [("name", ctypes.c_char_p), ("get", ctypes.c_void_p), ("set", ctypes.c_void_p), ("doc", ctypes.c_char_p), ("closure", ctypes.c_void_p)]


CALL = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p)
METH_NOARGS = 4


def descriptor(cls: type, name: str, answer: Callable[[Any], Any]) -> None:
    """A getter, or a method when the name ends in "()"."""
    plain = name.rstrip("()")

    def call(self: Any, _: Any) -> Any:
        asked.append(plain)
        return answer(self)

    code = CALL(call)
    address = ctypes.cast(code, ctypes.c_void_p)
    if plain != name:
        definition, new = MethodDef(plain.encode(), address, METH_NOARGS, None), ctypes.pythonapi.PyDescr_NewMethod
    else:
        definition, new = GetSetDef(plain.encode(), address, None, None, None), ctypes.pythonapi.PyDescr_NewGetSet
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.py_object, ctypes.c_void_p]
    kept.extend((code, definition))
    setattr(cls, plain, new(cls, ctypes.addressof(definition)))


def facts_of(name: str) -> Callable[[Any], Any]:
    return lambda self: object.__getattribute__(self, "facts")[name]


class StorageBase:
    def __init__(self, **facts: Any) -> None:
        self.facts = facts


class TensorBase:
    def __init__(self, shape: Any, dtype: Any = None, **facts: Any) -> None:
        strides = [1] * len(shape)
        for i in reversed(range(len(shape) - 1)):
            strides[i] = strides[i + 1] * shape[i + 1]
        self.facts: Dict[str, Any] = dict(
            shape=tuple(shape), dtype=float32 if dtype is None else dtype, device=device("cuda", 0), layout=strided, requires_grad=False, stride=tuple(strides),
            data_ptr=0x7F0000001000, untyped_storage=StorageBase(data_ptr=0x7F0000000000, nbytes=4096))
        self.facts.update(facts)


class Tensor(TensorBase):
    pass


class Word:
    """A dtype or a layout."""


class device:
    def __init__(self, kind: str, index: Any = None) -> None:
        self.facts = {"type": kind, "index": index}


class Module:
    def __init__(self, parameters: Any = (), buffers: Any = (), modules: Any = ()) -> None:
        self._parameters, self._buffers, self._modules = dict(parameters), dict(buffers), dict(modules)


for fact in ("shape", "dtype", "device", "layout", "requires_grad", "stride()", "data_ptr()", "untyped_storage()"):
    descriptor(TensorBase, fact, facts_of(fact.rstrip("()")))
for fact in ("data_ptr()", "nbytes()"):
    descriptor(StorageBase, fact, facts_of(fact.rstrip("()")))
for fact in ("type", "index"):
    descriptor(device, fact, facts_of(fact))
float32, int64, strided, sparse_coo = Word(), Word(), Word(), Word()


def install() -> None:
    def module(name: str, **names: Any) -> None:
        made = types.ModuleType(name)
        made.__dict__.update(names)
        sys.modules[name] = made

    module("torch", Tensor=Tensor, float32=float32, int64=int64, strided=strided, sparse_coo=sparse_coo)
    module("torch._C", TensorBase=TensorBase, StorageBase=StorageBase)
    module("torch.nn.modules.module", Module=Module)
