"""note(): a few bytes in a file that cudatrap reads when a GPU fault has stopped the process.

The file is CUDATRAP_AGENT_DIR/notes.PID, 4096 bytes, mapped; its layout is that of src/collect/notes.c: magic, version, sequence (odd
while the text is written), length, then "name\\0value\\0" again and again. The folder is cudatrap's, private, and gone after the run.

A value is written as text only if that can neither wait for a GPU nor run foreign code: an array on a GPU is named by its type, because
asking it for its value waits for all that was launched before.
SPDX-License-Identifier: GPL-3.0-or-later
"""
import mmap
import os
import struct
import threading
from typing import Any, Dict, Optional

HEAD = struct.Struct("<8sIIII")
MAGIC = b"CTNOTES\0"
VERSION = 1
FILE_BYTES = 4096
ROOM = FILE_BYTES - HEAD.size
MAX_NAME = 64  # bytes
MAX_VALUE = 512  # bytes
MAX_PAIRS = 64
MAX_BITS = 256  # of an integer that is written out
SEQUENCE_AT, LENGTH_AT = 12, 16


def cut(text: str, most: int) -> bytes:
    """UTF-8 without a NUL, of at most so many bytes, no character cut in two."""
    raw = text[:most].replace("\0", " ").encode("utf-8", "replace")
    return raw if len(raw) <= most else raw[:most].decode("utf-8", "ignore").encode()


def plain(value: Any) -> str:
    """The value as text, without calling anything of its own."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value) if int.bit_length(value) <= MAX_BITS else "<%d bits>" % int.bit_length(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if type(value) in (list, tuple):
        shown = [plain(v) if not isinstance(v, (list, tuple)) else "..." for v in value[:16]]
        return "[%s%s]" % (", ".join(shown), ", ..." if len(value) > 16 else "")
    kind = type(value)
    # A scalar of numpy's is in host memory: nothing to wait for.
    if any(base.__name__ == "generic" and base.__module__ == "numpy" for base in kind.__mro__):
        return str(value)
    return "<%s>" % kind.__name__


class Notes:
    """The pairs of one process and the file that shows them; where there is no file, nothing happens."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._start()

    def _start(self) -> None:
        self.pid = os.getpid()
        self.pairs: Dict[str, str] = {}
        self.map: Optional[mmap.mmap] = None
        self.is_tried = False
        self.sequence = 0
        # Re-entrant: a signal handler may note while its own thread does.
        self.lock = threading.RLock()
        self.is_writing = self.is_stale = False

    def after_fork(self) -> None:
        """A child is somewhere else: a file of its own, made when it notes something."""
        inherited, self.map = self.map, None
        self._start()
        if inherited is not None:
            inherited.close()

    def _open(self) -> None:
        self.is_tried = True
        path = os.path.join(self.folder, "notes.%d" % self.pid)
        try:
            try:
                os.unlink(path)  # of an earlier process of this number, or of the program before an exec()
            except FileNotFoundError:
                pass
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                # Written, not only sized: on a full disk a mapped hole would be a SIGBUS.
                if os.write(fd, bytes(FILE_BYTES)) == FILE_BYTES:
                    self.map = mmap.mmap(fd, FILE_BYTES)
            finally:
                os.close(fd)
        except (OSError, ValueError):
            self.map = None  # the program matters more than its notes
        if self.map is not None:
            HEAD.pack_into(self.map, 0, MAGIC, VERSION, 0, 0, 0)

    def _text(self) -> bytes:
        text = b""
        for name, value in list(self.pairs.items())[:MAX_PAIRS]:
            pair = cut(name, MAX_NAME) + b"\0" + cut(value, MAX_VALUE) + b"\0"
            if len(text) + len(pair) <= ROOM:
                text += pair
        return text

    def _write(self, text: bytes) -> None:
        assert self.map is not None
        self.sequence = (self.sequence + 1) & 0xFFFFFFFF
        struct.pack_into("<I", self.map, SEQUENCE_AT, self.sequence)
        self.map[HEAD.size:HEAD.size + len(text)] = text
        struct.pack_into("<I", self.map, LENGTH_AT, len(text))
        self.sequence = (self.sequence + 1) & 0xFFFFFFFF
        struct.pack_into("<I", self.map, SEQUENCE_AT, self.sequence)

    def add(self, pairs: Dict[str, Any]) -> None:
        if self.pid != os.getpid():
            self.after_fork()  # a fork that Python does not know of
        with self.lock:
            for name, value in pairs.items():
                if value is None:
                    self.pairs.pop(name, None)
                elif name:
                    self.pairs[name] = plain(value)
            if not self.is_tried:
                self._open()
            self.is_stale = True
            if self.is_writing or self.map is None:
                return
            self.is_writing = True
            try:
                while self.is_stale:
                    self.is_stale = False
                    self._write(self._text())
            finally:
                self.is_writing = False


def _around() -> Optional[Notes]:
    folder = os.environ.get("CUDATRAP_AGENT_DIR", "")
    if not (os.path.isabs(folder) and os.path.isdir(folder)):
        return None
    notes = Notes(folder)
    os.register_at_fork(after_in_child=notes.after_fork)
    return notes


_notes = _around()


def note(**pairs: Any) -> None:
    """Keeps names and values for the report of a GPU fault; None takes a name back. Never raises, costs microseconds.

    >>> note(epoch=3, step=1200, batch=17)
    """
    if _notes is not None:
        _notes.add(pairs)
