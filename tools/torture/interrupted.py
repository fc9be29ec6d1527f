"""Interrupted: one trial of interrupts.py, which interrupts a verb once and checks the state.

Wherever a verb was interrupted: its database is then in the state before or in the state after,
takes the next insertion, passes the deep check, closes at once, leaves no file open and opens
again; and what the verb was to make elsewhere is there whole or not at all.
"""

import gc
import os
import time

import simdb
import verbs
from injecting import NEVER, Injector

AT_ONCE_SECONDS = 1.0
# An interrupt that finds a finaliser at work is dropped by CPython, and the verb goes on.
# A verb has fewer places than were counted where it looked less often at the clock.
ENDS = ("interrupted", "finished", "not reached")
KEPT = {"db", "weighted", "dumped", "made"}


def places(verb, base, folder):
    """{number: where} of the places of a verb, in a process that has run it before."""
    trial = verbs.begin(verb, base, folder / "counted")
    injector = Injector(NEVER)
    injector.run(lambda: verbs.VERBS[verb](trial))
    return injector.places


def run(verb, number, base, folder, states):
    """(where it was interrupted, how it ended, what was wrong after that) of one place."""
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
    """What is wrong with the database and with what was made beside it; [] for nothing."""
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
        trial.database.close()  # of one whose closing was interrupted, that is no harm
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
        # Nothing can be done about a place between making a directory and knowing its name.
        path = trial.folder / name
        if path.is_file() or os.listdir(path):
            yield f"left behind: {name}"
    if trial.made.exists():
        yield from verbs.whole(verb, trial, states[0])


def open_files(folder):
    """Names of the files below `folder` that this process has open.

    An IDF table may be: it is read in the map for as long as somebody has the options.
    """
    names = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            names.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            continue  # the listing itself
    start = f"{folder}{os.sep}"
    return sorted(
        name.removeprefix(start)
        for name in names
        if name.startswith(start) and not name.endswith("idf.table")
    )
