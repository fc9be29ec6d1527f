"""Trials: runs a trial in a forked child and reports its result, its signal or where it hangs."""

import faulthandler
import os
import pickle
import select
import signal
import sys
import tempfile
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@dataclass(frozen=True)
class Outcome:
    """The result of a trial: its `value`, or `error`, which is a traceback, a signal or a hang."""

    value: Any
    error: str


@contextmanager
def scratch():
    """Make a folder for trials, in memory if the system can; remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="simdb-torture-", dir=MEMORY) as folder:
        yield Path(folder)


def outcome_of(trial, seconds):
    """Run `trial` in a child, which is ended after `seconds`; its stderr becomes its error."""
    with tempfile.TemporaryFile() as said:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _run(trial, writing, said.fileno(), seconds)
        os.close(writing)
        content, is_late = _read_all(reading, seconds + 5)
        if is_late:
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        told = said.read().decode(errors="replace").strip()
    if code == 0 and content:
        return Outcome(pickle.loads(content), "")
    ending = "hangs" if is_late else f"ended with {_name(code)}"
    return Outcome(None, f"{ending}\n{told}".strip())


def _run(trial, writing, said, seconds):
    """Run the trial in the child; never return."""
    os.dup2(said, sys.stderr.fileno())
    faulthandler.enable()
    faulthandler.dump_traceback_later(seconds, exit=False)
    code = 1
    try:
        content = pickle.dumps(trial())
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(content)
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _read_all(descriptor, seconds):
    """Return (bytes until the other side closes, whether that took longer than `seconds`)."""
    content = bytearray()
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], seconds)[0]:
            part = pipe.read(1 << 16)
            if not part:
                return bytes(content), False
            content += part
    return bytes(content), True


def _name(code):
    return signal.Signals(-code).name if code < 0 else f"code {code}"
