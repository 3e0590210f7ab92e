#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Incident documents obey doc/incident.schema.json: the examples, and what the writer writes. TAP on stdout.

The validator knows the part of JSON Schema 2020-12 that the schema uses, and stops at a keyword that it does not know.
"""
from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description"}
TYPES: Dict[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}


def errors(value: Any, schema: Dict[str, Any], root: Dict[str, Any], path: str = "$") -> Iterator[str]:
    """Everything that is wrong with value, one line each."""
    for word, rule in schema.items():
        if word in ANNOTATIONS:
            continue
        elif word == "$ref":
            yield from errors(value, root["$defs"][rule[len("#/$defs/"):]], root, path)
        elif word == "type":
            if not TYPES[rule](value):
                yield f"{path}: not of type {rule}"
        elif word == "enum":
            if not any(value == e and isinstance(value, bool) == isinstance(e, bool) for e in rule):
                yield f"{path}: {value!r} is not one of {rule}"
        elif word == "pattern":
            if isinstance(value, str) and not re.search(rule, value):
                yield f"{path}: {value!r} does not match {rule}"
        elif word == "minimum":
            if TYPES["number"](value) and value < rule:
                yield f"{path}: {value} is less than {rule}"
        elif word == "maximum":
            if TYPES["number"](value) and value > rule:
                yield f"{path}: {value} is more than {rule}"
        elif word == "required":
            if isinstance(value, dict):
                yield from (f"{path}.{key}: missing" for key in rule if key not in value)
        elif word == "properties":
            if isinstance(value, dict):
                for key, inner in rule.items():
                    if key in value:
                        yield from errors(value[key], inner, root, f"{path}.{key}")
        elif word == "additionalProperties":
            if isinstance(value, dict) and rule is False:
                yield from (f"{path}.{key}: not in the schema" for key in value if key not in schema.get("properties", {}))
        elif word == "items":
            if isinstance(value, list):
                for i, item in enumerate(value):
                    yield from errors(item, rule, root, f"{path}[{i}]")
        elif word in ("minItems", "maxItems"):
            if isinstance(value, list) and (len(value) < rule if word == "minItems" else len(value) > rule):
                yield f"{path}: {len(value)} items, {word} is {rule}"
        else:
            raise NotImplementedError(f"{word}: this validator does not know the keyword")


def undescribed(schema: Any, path: str = "#") -> Iterator[str]:
    """Properties without a description, of their own or of what they refer to."""
    if not isinstance(schema, dict):
        return
    for key, inner in schema.get("properties", {}).items():
        if "description" not in inner and "$ref" not in inner:
            yield f"{path}/{key}: no description"
    for key, inner in list(schema.get("properties", {}).items()) + list(schema.get("$defs", {}).items()):
        yield from undescribed(inner, f"{path}/{key}")
    for key, inner in schema.get("$defs", {}).items():
        if "description" not in inner:
            yield f"{path}/{key}: no description"


def mutations(document: Dict[str, Any]) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Documents that must be refused, each wrong in one way."""
    def changed(change: Callable[[Dict[str, Any]], Any]) -> Dict[str, Any]:
        other = copy.deepcopy(document)
        change(other)
        return other

    yield "a missing version", changed(lambda d: d.pop("version"))
    yield "a newer version", changed(lambda d: d.update(version=2))
    yield "true for version 1", changed(lambda d: d.update(version=True))
    yield "an unknown key", changed(lambda d: d.update(extra=1))
    yield "null", changed(lambda d: d.update(host=None))
    yield "an unknown word", changed(lambda d: d.update(kind="evil"))
    yield "a number for an address", changed(lambda d: d["gpu"]["groups"][0].update(pc=16))
    yield "an address without 0x", changed(lambda d: d["gpu"]["groups"][0].update(pc="7f"))
    yield "a group without reason", changed(lambda d: d["gpu"]["groups"][0].pop("reason"))
    yield "two coordinates", changed(lambda d: d["gpu"]["groups"][0]["lanes"][0].update(block=[0, 0]))
    yield "65 lanes", changed(lambda d: d["gpu"]["groups"][0].update(lanes=d["gpu"]["groups"][0]["lanes"][:1] * 65))
    yield "a negative count", changed(lambda d: d["gpu"]["groups"][0].update(threads=-1))
    yield "a coordinate of 33 bits", changed(lambda d: d["gpu"]["groups"][0]["lanes"][0].update(block=[0, 0, 2 ** 32]))
    yield "a string for a flag", changed(lambda d: d["gpu"]["groups"][0].update(whole_warps="yes"))


def main() -> int:
    src, build = Path(os.environ["top_srcdir"]), Path(os.environ["top_builddir"])
    schema = json.loads((src / "doc/incident.schema.json").read_text(encoding="utf-8"))
    documents: List[Tuple[str, Any]] = [(p.name, json.loads(p.read_text(encoding="utf-8"))) for p in sorted((src / "tests/data/incident").glob("*.json"))]
    if len(documents) < 2:
        print("Bail out! no example documents found")
        return 99
    for what in ("full", "empty"):
        out = subprocess.run([str(build / "tests/unit/write_incident"), what], stdout=subprocess.PIPE, check=True)
        documents.append((f"what the writer makes of a {what} incident", json.loads(out.stdout.decode("utf-8"))))

    results: List[Tuple[str, List[str]]] = [(f"{name} obeys the schema", list(errors(d, schema, schema))) for name, d in documents]
    gpu_part = next(d for name, d in documents if name == "gpu-part.json")
    for name, document in mutations(gpu_part):
        found = list(errors(document, schema, schema))
        results.append((f"{name} is refused", [] if len(found) == 1 else [f"expected one error, found {found}"]))
    results.append(("every property is described", list(undescribed(schema))))

    print(f"1..{len(results)}")
    for i, (name, wrong) in enumerate(results, 1):
        for line in wrong[:10]:
            print(f"# {line}")
        print(f"{'not ok' if wrong else 'ok'} {i} - {name}")
    return 1 if any(wrong for _, wrong in results) else 0


if __name__ == "__main__":
    sys.exit(main())
