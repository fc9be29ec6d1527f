"""Interrupt verbs at every place where CPython checks for signals, and check what is left.

    python tools/torture/interrupts.py                     every verb, 60 places of each
    python tools/torture/interrupts.py --lines             once at every line of every verb
    python tools/torture/interrupts.py --points 0          at every place, which takes an hour
    python tools/torture/interrupts.py --verbs insert grow --points 200 --seed 3
    python tools/torture/interrupts.py --lines --within storage/environment database/write
    python tools/torture/interrupts.py --verbs insert --place 41

Each trial is a process of its own.  After an interrupt the database must be in the state before the
verb or in the state after it, take another insertion, pass the deep check, close at once, leave no
file open and open again.  What the verb makes elsewhere, such as a copy, must be whole or absent.

A sample draws lines first, then places: a line that was run a thousand times is drawn as often as a
line that was run once.  The exit code is 1 if anything was wrong.  Needs CPython 3.11 or later.
"""

import gc
import os
import random
import stat
import sys
import time
from functools import partial

import simdb
import verbs
from injecting import Injector, places
from trials import collected, must, outcome_of, report_verbs

HANGS_SECONDS = 30
AT_ONCE_SECONDS = 1.0
# CPython drops an interrupt that is delivered in a finaliser, and the verb goes on.
# A verb that looks at the clock less often has fewer places than were counted.
ENDS = ("interrupted", "finished", "not reached")
KEPT = {"db", "weighted", "dumped", "made"}


def options(parser):
    parser.add_argument("--points", type=int, default=60, help="interrupts of each verb; 0 for all")
    parser.add_argument("--lines", action="store_true", help="interrupt once at every line")
    parser.add_argument("--place", type=int, help="only this place, counted from 0")
    parser.add_argument("--within", nargs="*", default=[""], help="paths that files begin with")


def interrupt(verb, given, *_):
    """Interrupt a verb at several places, each time in a process of its own."""
    with verbs.prepared(verb) as (folder, base, states):
        known = must(partial(places, verb, base, folder), HANGS_SECONDS)
        trials = (
            interrupt_once(verb, number, base, folder / f"at {number}", states)
            for number in drawn(known, given)
        )
        told = collected(trials, is_quiet=given.json)
        told["found"]["places"] = len(known)
        return told


def interrupt_once(verb, number, base, folder, states):
    seen = outcome_of(partial(run, verb, number, base, folder, states), HANGS_SECONDS)
    where, ended, wrong = seen.value or ("?", "lost", [seen.error])
    return f"{verb}, place {number}, {where}, {ended}:", [ended], wrong


def drawn(known, given):
    """Return the numbers of drawn places, of as many different lines as possible.

    `known` says where each place is.
    """
    if given.place is not None:
        return [given.place]
    numbers = [number for number, at in known.items() if at.startswith(tuple(given.within))]
    random.Random(given.seed).shuffle(numbers)
    firsts = list({known[number]: number for number in numbers}.values())
    if given.lines:
        return sorted(firsts)
    ordered = firsts + sorted(set(numbers) - set(firsts), key=numbers.index)
    return sorted(ordered[: given.points or None])


def run(verb, number, base, folder, states):
    """Interrupt a verb at one place; return (where, how it ended, what was wrong after that)."""
    trial = verbs.begin(verb, base, folder)
    injector, ended = Injector(number), "finished"
    try:
        if injector.run(lambda: verbs.VERBS[verb](trial)):
            ended = "interrupted"
    except Exception as error:
        ended = f"{type(error).__name__}: {error}"
    if not injector.where:
        ended = "not reached"
    gc.collect()
    wrong = [] if ended in ENDS else [ended]
    return injector.where, ended, wrong + looked_at(trial, verb, states)


def looked_at(trial, verb, states):
    """Return what is wrong with the database and with what was made beside it; [] for nothing."""
    wrong = []
    steps = [still_works, closes_at_once, opens_again, leaves_nothing]
    for step in steps:
        try:
            wrong += step(trial, verb, states)
        except Exception as error:
            said = str(error).replace(f"{trial.folder}{os.sep}", "")
            wrong.append(f"{step.__name__} {type(error).__name__}: {said}")
    return wrong


def still_works(trial, _verb, states):
    try:
        found = verbs.state(trial.database)
    except simdb.ClosedError:
        trial.database.close()  # no harm if its closing was interrupted
        trial.database = simdb.open(trial.path, "w", **verbs.SETTINGS)
        found = verbs.state(trial.database)
    if found not in states:
        yield "the state is neither the one before nor the one after"
    trial.database.insert(verbs.PROBE, 1)
    yield from (f"check: {finding}" for finding in trial.database.check(deep=True))
    trial.database.delete(verbs.PROBE)


def closes_at_once(trial, _verb, _states):
    start = time.perf_counter()
    trial.database.close()
    if time.perf_counter() - start > AT_ONCE_SECONDS:
        yield "closing took long"


def opens_again(trial, _verb, states):
    with simdb.open(trial.path, "w") as database:
        database.delete_many([verbs.PROBE])
    yield from verbs.sound(trial.path, states)


def leaves_nothing(trial, verb, states):
    names = open_files(trial.folder)
    if names:
        yield f"still open: {', '.join(names)}"
    for name in sorted(set(os.listdir(trial.folder)) - KEPT):
        # An interrupt between making a directory and knowing its name cannot be handled.
        path = trial.folder / name
        if path.is_file() or os.listdir(path):
            yield f"left behind: {name}"
    if trial.made.exists():
        yield from verbs.whole(verb, trial, states[0])


def open_files(folder):
    """Return the names of the files below `folder` that this process has open.

    An IDF table may stay open: it is mapped as long as the options exist.  So may a directory that
    is synced: no object can own its descriptor from the first moment.
    """
    names = []
    for descriptor in os.listdir("/proc/self/fd"):
        place = f"/proc/self/fd/{descriptor}"
        try:
            if not stat.S_ISDIR(os.stat(place).st_mode):
                names.append(os.readlink(place))
        except OSError:
            continue  # the listing itself
    start = f"{folder}{os.sep}"
    return sorted(
        name.removeprefix(start)
        for name in names
        if name.startswith(start) and not name.endswith("idf.table")
    )


if __name__ == "__main__":
    sys.exit(report_verbs(__doc__, verbs.VERBS, options, interrupt))
