"""Cases: one run of one kind of test, in a forked child, from one seed.

A case notes each step before it is done.  So the last steps are known however the child ends: by an
error, a signal or a hang.
"""

import ctypes
import faulthandler
import os
import pickle
import select
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy.ma  # noqa: F401 - numpy imports it when it is first needed, in every child again

LIBC = ctypes.CDLL(None)
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
KILLED, DYING_SECONDS = "ended with SIGKILL", 20


def the_shim():
    """Return the library between this process and the disk, None if there is none."""
    return LIBC if hasattr(LIBC, "fault_arm") else None


@dataclass
class Tally:
    """The matches that answers below recall 1 should have and have; `variance` is of `found`."""

    promised: float = 0.0
    found: float = 0.0
    variance: float = 0.0

    def add(self, owed, found, recall):
        self.promised += recall * owed
        self.found += found
        # In the worst case all matches of a query are found, or none.
        self.variance += recall * (1 - recall) * owed**2

    def join(self, other):
        """Add what another process has counted."""
        self.promised += other.promised
        self.found += other.found
        self.variance += other.variance


@dataclass
class Case:
    """A case: its seed, its number of steps, a folder of its own, and what it has counted.

    `documents`: documents with which a database begins.  `tiny`: share of tiny constants, None to
    draw it.  `callbacks`: iterators may use the transaction that reads them.  `forks`: bursts have
    processes, which a tool for threads does not follow.  `verbs`: the only steps of a session.
    """

    kind: str
    seed: int
    steps: int
    folder: Path
    documents: int = 0
    tiny: float | None = None
    callbacks: bool = True
    forks: bool = True
    verbs: tuple = ()
    counts: Counter = field(default_factory=Counter)
    tally: Tally = field(default_factory=Tally)

    @property
    def notes(self):
        return self.folder.with_suffix(".notes")

    def note(self, text):
        """Write a line that is shown if the case fails."""
        with open(self.notes, "a", encoding="utf-8", errors="replace") as file:
            file.write(f"{text}\n")

    def step(self, number, name):
        """Count a step that begins, and note it."""
        self.counts[name] += 1
        self.note(f"{number}: {name}")


@dataclass(frozen=True)
class Outcome:
    """The result of a child: its `value`, or `error`, which is a traceback, a signal or a hang."""

    value: Any
    error: str

    def get(self):
        """Return the value of a child that may not fail."""
        if self.error:
            raise RuntimeError(self.error)
        return self.value


class Child:
    """A forked child that calls `work`; its stderr is kept."""

    def __init__(self, work):
        """Start it."""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - `outcome` closes it
        self._reading, writing = os.pipe()
        self._number = os.fork()
        if self._number == 0:
            os.close(self._reading)
            _run(work, writing, self._said.fileno())
        os.close(writing)

    def outcome(self, seconds):
        """Wait for its end, at most for `seconds`."""
        content, is_late = _read_all(self._reading, seconds)
        if is_late:
            os.kill(self._number, signal.SIGUSR1)
            time.sleep(1)
            os.kill(self._number, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self._number, 0)[1])
        with self._said:
            self._said.seek(0)
            told = self._said.read().decode(errors="replace").strip()
        if code == 0 and content:
            return Outcome(pickle.loads(content), "")
        name = signal.Signals(-code).name if code < 0 else f"code {code}"
        return Outcome(None, f"{'hangs' if is_late else f'ended with {name}'}\n{told}".strip())

    def kill(self):
        """Kill it; return its complaints, "" if there were none."""
        os.kill(self._number, signal.SIGKILL)
        error = self.outcome(DYING_SECONDS).error
        return "" if error == KILLED else error


def outcome_of(work, seconds):
    """Call `work` in a forked child, which is ended after `seconds`; return its outcome."""
    return Child(work).outcome(seconds)


def _run(work, writing, said):
    """Do the work in the child, which ends with its parent; never return."""
    if hasattr(LIBC, "prctl"):
        LIBC.prctl(DEATH_SIGNAL, signal.SIGKILL)
    os.dup2(said, 2)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="replace", closefd=False)
    faulthandler.enable(sys.stderr)
    faulthandler.register(signal.SIGUSR1, sys.stderr)
    code = 1
    try:
        content = pickle.dumps(work())
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
