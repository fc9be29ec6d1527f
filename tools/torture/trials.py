"""Trials: runs a trial in a forked child and reports its result, its signal or where it hangs."""

import argparse
import faulthandler
import json
import os
import pickle
import select
import signal
import sys
import tempfile
import traceback
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.ma  # noqa: F401 - numpy imports it when it is first needed, in every child again

FEW_COUNTS = 8  # that fit on a line
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@dataclass(frozen=True)
class Outcome:
    """The result of a trial: its `value`, or `error`, which is a traceback, a signal or a hang."""

    value: Any
    error: str


def report(question, options, run):
    """Parse what is given, run a campaign, and report; return the exit code.

    `options` adds options of a tool.  `run(given)` returns its report, as `collected` does.
    """
    given = _parser(question, options).parse_args()
    told = run(given)
    print(json.dumps(told) if given.json else in_words(told))
    return int(bool(told["bad"]))


def report_verbs(question, verbs, options, run):
    """Do the same with one verb after the other.

    `run(verb, given, number, of)` tries a verb, the `number`-th of so many.
    """
    parser, told = _parser(question, options), {}
    parser.add_argument("--verbs", nargs="*", choices=verbs, metavar="VERB")
    given = parser.parse_args()
    chosen = given.verbs or list(verbs)
    for number, verb in enumerate(chosen):
        each = told[verb] = run(verb, given, number, len(chosen))
        if not given.json:
            print(f"{verb:10} {in_words(each)}", flush=True)
    if given.json:
        print(json.dumps(told))
    return int(any(each["bad"] for each in told.values()))


def _parser(question, options):
    parser = argparse.ArgumentParser(description=question.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object, not lines")
    options(parser)
    return parser


def collected(trials, *, is_quiet):
    """Return how many trials were `tried`, counts of what was `found`, and those that were `bad`.

    A trial is a title, what was found, as names or as counts, and lines of what was wrong.  A bad
    one is printed at once.
    """
    tried, found, bad = 0, Counter(), []
    for title, kinds, wrong in trials:
        tried += 1
        found.update(kinds)
        if wrong:
            bad.append([title, wrong])
            if not is_quiet:
                print(title, *wrong, sep="\n    ", flush=True)
    return {"tried": tried, "found": found, "bad": bad}


def in_words(told):
    """Return the counts of a report, on one line if they are few."""
    counts = [f"{count} {what}" for what, count in sorted(told["found"].items())]
    shown = ", ".join(counts) if len(counts) <= FEW_COUNTS else "\n    ".join(["", *counts])
    return f"{told['tried']:4} tried, {len(told['bad'])} bad: {shown}"


def must(trial, seconds):
    """Return the value of a trial in a child, which may not fail."""
    outcome = outcome_of(trial, seconds)
    if outcome.error:
        raise RuntimeError(outcome.error)
    return outcome.value


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
