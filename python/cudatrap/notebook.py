"""In a notebook: `%load_ext cudatrap`, then `%cudatrap` shows the newest report of this kernel's folder.

After a GPU fault the kernel goes on, with the fault's error from every CUDA call: the report appears under the cell that met it. Where the fault ends the
kernel (--after-fault=end), the one that Jupyter starts in its place shows it under its first cell, once. The folder is CUDATRAP_DIR, which cudatrap sets for what it runs, else
cudatrap-reports in the folder in which the extension was loaded. SPDX-License-Identifier: GPL-3.0-or-later
"""
import html
import os
import time
from typing import Any, Dict, Optional

MAX_BYTES = 8 << 20  # of a report that is shown
SHOWN = ".shown"  # in the folder: the last report that appeared by itself
# cudatrap gives a program three seconds to end before it shows the report of one that goes on; reading the fault takes another two.
WAIT_SECONDS = 15.0
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


def is_cuda_error(error: Any) -> bool:
    """By its words, as PyTorch, CuPy, Numba and JAX write them: their classes are none of ours to import."""
    return isinstance(error, Exception) and any(word in str(error) for word in ("CUDA error", "CUDA driver error", "CUDA_ERROR_", "cudaError", "device-side assert"))


class Notebook:
    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.under_cudatrap = bool(os.environ.get("CUDATRAP_AGENT_DIR"))
        self.folder = os.path.abspath(os.environ.get("CUDATRAP_DIR") or "cudatrap-reports")
        report = newest(self.folder)
        # Only where the folder is this kernel's own, as cudatrap-kernel makes it: else it is somebody else's fault.
        own = os.path.basename(self.folder).startswith("kernel")
        self.last = report
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

    def wait_for_report(self) -> Optional[str]:
        """One that was not there before; None when there is none in time: then the error was no fault of the GPU."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            report = newest(self.folder)
            if report != self.last:
                return report
            time.sleep(0.1)
        return None

    def after_cell(self, result: Any) -> None:
        if self.under_cudatrap and self.last == newest(self.folder) and is_cuda_error(getattr(result, "error_in_exec", None)):
            self.show_once(self.wait_for_report(), "cudatrap: CUDA calls of this kernel fail from now on; restart it. %cudatrap shows this again")
        report, self.pending = self.pending, None
        self.show_once(report, "cudatrap: the kernel before this one was ended by a GPU fault; %cudatrap shows its report again")

    def show_once(self, report: Optional[str], words: str) -> None:
        if report is None:
            return
        self.last, self.pending = report, None
        print(words)
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
