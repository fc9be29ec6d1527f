"""Blocks of a page: runs them like a reader who copies one after the other."""

import ast
import contextlib
import importlib.util
import io
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "site"))

import pages  # noqa: E402
import simdb  # noqa: E402
from simdb.cli.app import main  # noqa: E402

# Packages that blocks use but the tests of simdb do not need.
OPTIONAL = {
    "pandas", "polars", "duckdb", "apsw", "imagehash", "PIL", "sklearn", "pdqhash",
    "threatexchange", "faiss", "tlsh",
}  # fmt: skip
# Commands that a test cannot run: they install packages, serve for ever or need another machine.
NOT_RUN = re.compile(r"^(pip|python3? -m (pip|venv)|\. |git|make|ssh)\b|https?://|s3://")
SECONDS = re.compile(r"\d+\.\d+ s, \d+\.\d+ MB/s|\d+\.\d+ s\b")
# A process of its own would need longer for its imports than for the work.
ALONE = re.compile(r"simdb [^|<>&;$*?~`\\\n]*")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Page:
    """A page of the site, with the names that its blocks have defined so far."""

    def __init__(self, name, folder):
        self.name = name
        self.blocks = list(pages.blocks(pages.all_pages()[name]))
        self.folder = folder
        self.names = {"__name__": "page"}
        self.ran = self.skipped = 0

    def run(self, prepare=""):
        """Run all blocks in order, and compare what the page shows with what they print."""
        exec(prepare, self.names)
        printed = ""
        for language, content in self.blocks:
            if language == "python":
                printed = self.run_python(content)
            elif language == "console" or (not language and content.startswith("$ ")):
                self.run_console(content)
            elif language == "output" and printed is not None:
                assert matches(printed, content), f"{self.name} shows\n{content}\nnot\n{printed}"

    def run_python(self, content):
        """Run a block; return its output, None if it needs a package that is missing."""
        if missing(content):
            self.skipped += 1
            return None
        self.ran += 1
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            exec(compile(content, self.name, "exec"), self.names)
        return written.getvalue()

    def run_console(self, content):
        """Run each command of a block on a terminal, and compare what it prints."""
        for command, shown in commands(content):
            if NOT_RUN.search(command):
                self.skipped += 1
                continue
            self.ran += 1
            printed, code = on_terminal(command, self.folder)
            assert code == 0, f"{self.name}: {command} ended with {code}\n{printed}"
            if shown.strip():
                assert matches(printed, shown), (
                    f"{self.name}: {command} shows\n{shown}\nnot\n{printed}"
                )


def missing(content):
    """Return whether a block imports an optional package that is not installed."""
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(content))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [each.name for each in node.names]
        )
    }
    return any(importlib.util.find_spec(name) is None for name in imported & OPTIONAL)


def commands(content):
    """Return the commands of a block with the output that the block shows for each."""
    found = []
    for part in re.split(r"^\$ ", content, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        taken = 1
        while lines[taken - 1].endswith("\\"):
            taken += 1
        found.append(("\n".join(lines[:taken]), "\n".join(lines[taken:])))
    return found


def on_terminal(command, folder):
    """Run a command on a terminal of 90 columns; return what appears there, and the exit code."""
    ours, theirs = pty.openpty()
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(simdb.__file__).parents[1]),
        "COLUMNS": "90", "TERM": "dumb", "NO_COLOR": "1",
    }  # fmt: skip
    wait = (in_a_fork if ALONE.fullmatch(command) else in_a_shell)(
        command, folder, environment, theirs
    )
    os.close(theirs)
    written = b""
    # Linux ends a terminal without writers by an error.
    with contextlib.suppress(OSError):
        while part := os.read(ours, 1 << 16):
            written += part
    code = wait()
    os.close(ours)
    text = ESCAPES.sub("", written.decode("utf-8")).replace("\r\n", "\n")
    return re.sub(r"^.*\r(?!\n)", "", text, flags=re.MULTILINE), code


def in_a_shell(command, folder, environment, terminal):
    """Begin a command; return a function that waits for its exit code."""
    tools = folder / ".bin"
    if not tools.exists():
        tools.mkdir()
        for name, run in (("simdb", "-m simdb"), ("python", "")):
            (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {run} "$@"\n')
            (tools / name).chmod(0o755)
    environment = {**environment, "PATH": f"{tools}:{environment['PATH']}"}
    return subprocess.Popen(
        ["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=terminal, stderr=terminal,
    ).wait  # fmt: skip


def in_a_fork(command, folder, environment, terminal):
    """Begin a command of simdb without a shell and without imports; return as `in_a_shell`."""
    child = os.fork()
    if child:
        return lambda: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(terminal, 1)
        os.dup2(terminal, 2)
        os.chdir(folder)
        os.environ.update(environment)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(at, "rww"[at]) for at in range(3))
        sys.argv = shlex.split(command)
        main()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        sys.stdout.flush()
        os._exit(code)


def matches(printed, shown):
    """Return whether output is as shown; a line `...` stands for any lines, and times differ."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + r"\n"
        for line in plain(shown).splitlines()
    )
    return re.fullmatch(pattern, plain(printed)) is not None


def plain(text):
    """Return output without parts that differ from run to run, and with single spaces."""
    lines = [" ".join(SECONDS.sub("TIME", line).split()) for line in text.strip("\n").splitlines()]
    return "\n".join(lines) + "\n"
