"""A Jupyter kernel that runs under cudatrap, alone among the kernels of its server.

    cudatrap-kernel install --user               # or: python -m cudatrap.kernel install --user
    cudatrap-kernel install --user -- --async    # options for cudatrap behind --

The kernel then offered as "Python 3 (cudatrap)" starts `cudatrap ... -- python -m ipykernel_launcher`. When a GPU fault ends it, the report
goes to the server's log and into a folder of this kernel's; Jupyter restarts the kernel, whose first cell shows the report (notebook.py).
SPDX-License-Identifier: GPL-3.0-or-later
"""
import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from typing import Dict, List, Optional, Tuple

REPORTS = "cudatrap-reports"  # as cudatrap's own default


def split(words: List[str]) -> Tuple[List[str], List[str]]:
    """What stands before and behind the first "--"."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1:]


def report_folder(connection_file: str, environment: Dict[str, str]) -> str:
    """A folder of this kernel's own: a kernel that is restarted keeps its connection file, and so finds its predecessor's reports."""
    base = environment.get("CUDATRAP_DIR") or REPORTS
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", os.path.splitext(os.path.basename(connection_file))[0])[:80] or "kernel"
    return os.path.abspath(os.path.join(base, stem))


def command_line(connection_file: str, cudatrap: Optional[str], options: List[str], folder: str) -> List[str]:
    kernel = [sys.executable, "-m", "ipykernel_launcher", "-f", connection_file]
    if cudatrap is None:
        return kernel
    return [cudatrap, *options, "--also=html", "--report-dir=" + folder, "--", *kernel, "--IPKernelApp.extra_extensions=cudatrap"]


def run(connection_file: str, wanted: str, options: List[str]) -> int:
    """Becomes cudatrap with the kernel in it, or the kernel alone where cudatrap is not to be found."""
    cudatrap = shutil.which(wanted)
    folder = report_folder(connection_file, dict(os.environ))
    if cudatrap is None:
        print("cudatrap-kernel: %s is not to be found: this kernel runs without it" % wanted, file=sys.stderr, flush=True)
    else:
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as e:
            print("cudatrap-kernel: %s: %s" % (folder, e.strerror), file=sys.stderr, flush=True)
        # The kernel ends itself when its parent is not the one that is named here: that is us, as cudatrap.
        os.environ["JPY_PARENT_PID"] = str(os.getpid())
        os.environ["CUDATRAP_DIR"] = folder
    words = command_line(connection_file, cudatrap, options, folder)
    try:
        os.execv(words[0], words)
    except OSError as e:
        print("cudatrap-kernel: %s: %s" % (words[0], e.strerror), file=sys.stderr)
    return 126


def install(name: str, display: str, user: bool, prefix: Optional[str], cudatrap: str, options: List[str]) -> int:
    try:
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError:
        print("cudatrap-kernel: jupyter_client is needed to install a kernel, and this Python has none", file=sys.stderr)
        return 1
    spec = {
        "argv": [sys.executable, "-m", "cudatrap.kernel", "run", "--cudatrap", shutil.which(cudatrap) or cudatrap, "-f", "{connection_file}", "--", *options],
        "display_name": display,
        "language": "python",
        "metadata": {"debugger": False},
    }
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as f:
            json.dump(spec, f, indent=1)
        try:
            where = KernelSpecManager().install_kernel_spec(folder, name, user=user, prefix=prefix)
        except (OSError, ValueError) as e:
            print("cudatrap-kernel: %s" % e, file=sys.stderr)
            return 1
    print("kernel %s: %s" % (name, where))
    return 0


def main(argv: Optional[List[str]] = None) -> int:
    ours, options = split(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="cudatrap-kernel", description="A Jupyter kernel under cudatrap.", epilog="Behind --: options for cudatrap.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("install", "run"):
        sub = verbs.add_parser(verb)
        sub.add_argument("--cudatrap", default="cudatrap", help="the program (default: the one in PATH)")
        if verb == "run":
            sub.add_argument("-f", dest="connection_file", required=True)
            continue
        sub.add_argument("--name", default="cudatrap")
        sub.add_argument("--display-name", default="Python 3 (cudatrap)")
        where = sub.add_mutually_exclusive_group()
        where.add_argument("--user", action="store_true")
        where.add_argument("--sys-prefix", dest="prefix", action="store_const", const=sys.prefix)
        where.add_argument("--prefix")
    args = parser.parse_args(ours)
    if args.verb == "run":
        return run(args.connection_file, args.cudatrap, options)
    return install(args.name, args.display_name, args.user, args.prefix, args.cudatrap, options)


if __name__ == "__main__":
    sys.exit(main())
