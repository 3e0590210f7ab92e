"""In a notebook: `%load_ext cudatrap`, then `%cudatrap` shows the newest report of this kernel's folder.

A GPU fault ends its kernel, so that the report cannot appear under the cell that met it. The kernel that Jupyter starts in its place shows it
under its first cell, once; `%cudatrap` shows it again. The folder is CUDATRAP_DIR, which cudatrap sets for what it runs, else
cudatrap-reports in the folder in which the extension was loaded. SPDX-License-Identifier: GPL-3.0-or-later
"""
import html
import os
from typing import Any, Dict, Optional

MAX_BYTES = 8 << 20  # of a report that is shown
SHOWN = ".shown"  # in the folder: the last report that appeared by itself
_loaded: Optional["Notebook"] = None


def read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read(MAX_BYTES)
    except OSError:
        return ""


def newest(folder: str) -> Optional[str]:
    """The report folder whose name, which begins with its time, is the last; only whole reports have a name without a dot."""
    try:
        names = sorted(n for n in os.listdir(folder) if not n.startswith(".") and os.path.isfile(os.path.join(folder, n, "report.txt")))
    except OSError:
        return None
    return os.path.join(folder, names[-1]) if names else None


def bundle(report: str) -> Dict[str, str]:
    """What a cell shows: the page in a frame of its own, which may run nothing, or the text."""
    text = read(os.path.join(report, "report.txt"))
    page = read(os.path.join(report, "report.html"))
    if page:
        shown = '<iframe sandbox="" title="cudatrap report" style="width:100%%;height:40em;border:0" srcdoc="%s"></iframe>' % html.escape(page, quote=True)
    else:
        shown = "<pre>%s</pre>" % html.escape(text)
    return {"text/plain": text, "text/html": shown}


class Notebook:
    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.folder = os.path.abspath(os.environ.get("CUDATRAP_DIR") or "cudatrap-reports")
        report = newest(self.folder)
        # Only where the folder is this kernel's own, as cudatrap-kernel makes it: else it is somebody else's fault.
        own = os.path.basename(self.folder).startswith("kernel")
        self.pending = report if report and own and read(os.path.join(self.folder, SHOWN)) != os.path.basename(report) else None

    def display(self, report: str) -> None:
        from IPython.display import display

        display(bundle(report), raw=True)

    def magic(self, line: str) -> None:
        """`%cudatrap`: the newest report; `%cudatrap FOLDER`: that of another folder of reports."""
        self.pending = None
        folder = line.strip() or self.folder
        report = newest(folder)
        if report:
            self.display(report)
        else:
            print("cudatrap: no report in %s" % folder)

    def after_cell(self, result: Any) -> None:
        report, self.pending = self.pending, None
        if report is None:
            return
        print("cudatrap: the kernel before this one was ended by a GPU fault; %cudatrap shows its report again")
        self.display(report)
        try:
            with open(os.path.join(self.folder, SHOWN), "w", encoding="utf-8") as f:
                f.write(os.path.basename(report))
        except OSError:
            return  # then it is shown once more after the next restart


def load(shell: Any) -> None:
    global _loaded
    if _loaded is not None:
        return
    _loaded = Notebook(shell)
    shell.register_magic_function(_loaded.magic, magic_kind="line", magic_name="cudatrap")
    shell.events.register("post_run_cell", _loaded.after_cell)


def unload(shell: Any) -> None:
    global _loaded
    if _loaded is None:
        return
    shell.events.unregister("post_run_cell", _loaded.after_cell)
    shell.magics_manager.magics["line"].pop("cudatrap", None)
    _loaded = None
