"""Builds the wheel: PEP 517's hooks for a package of pure Python without dependencies, by the standard library alone.

Also by hand: python build_wheel.py FOLDER. SPDX-License-Identifier: GPL-3.0-or-later
"""
import base64
import hashlib
import os
import re
import sys
import zipfile
from typing import Any, Dict, List, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "cudatrap"
DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file knows: equal sources give equal wheels
ENTRY_POINTS = "[console_scripts]\ncudatrap-kernel = cudatrap.kernel:main\n\n[pytest11]\ncudatrap = cudatrap.pytest_plugin\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: cudatrap\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def version() -> str:
    with open(os.path.join(HERE, PACKAGE, "__init__.py"), encoding="utf-8") as f:
        found = re.search(r'^__version__ = "([0-9A-Za-z.+]+)"$', f.read(), re.M)
    if not found:
        raise RuntimeError("no __version__ in %s/__init__.py" % PACKAGE)
    return found.group(1)


def metadata() -> str:
    return ("Metadata-Version: 2.1\nName: %s\nVersion: %s\nSummary: Tells cudatrap where a program is: steps, tests, notebooks\n"
            "License: GPL-3.0-or-later\nRequires-Python: >=3.8\n") % (PACKAGE, version())


def contents() -> Dict[str, bytes]:
    found = {}
    for name in sorted(os.listdir(os.path.join(HERE, PACKAGE))):
        if name.endswith((".py", ".typed")):
            with open(os.path.join(HERE, PACKAGE, name), "rb") as f:
                found["%s/%s" % (PACKAGE, name)] = f.read()
    info = "%s-%s.dist-info/" % (PACKAGE, version())
    for name, text in (("METADATA", metadata()), ("WHEEL", WHEEL), ("entry_points.txt", ENTRY_POINTS)):
        found[info + name] = text.encode()
    return found


def record_row(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return "%s,sha256=%s,%d\n" % (name, digest, len(data))


def build_wheel(wheel_directory: str, config_settings: Optional[Dict[str, Any]] = None, metadata_directory: Optional[str] = None) -> str:
    files = contents()
    record = "%s-%s.dist-info/RECORD" % (PACKAGE, version())
    rows = "".join(record_row(name, data) for name, data in files.items()) + record + ",,\n"
    files[record] = rows.encode()
    name = "%s-%s-py3-none-any.whl" % (PACKAGE, version())
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as z:
        for member, data in files.items():
            about = zipfile.ZipInfo(member, DATE)
            about.external_attr = 0o100644 << 16
            about.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(about, data)
    return name


def get_requires_for_build_wheel(config_settings: Optional[Dict[str, Any]] = None) -> List[str]:
    return []


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: build_wheel.py FOLDER")
    print(build_wheel(sys.argv[1]))
