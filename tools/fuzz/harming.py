"""Harming: lets other processes change the database or die inside it, or lets the disk fail.

A deed is rehearsed first: a child does it with a copy of the database.  The child reports the model
afterwards, the places where an interrupt can strike, and the number of system calls.  Then the deed
is done again with the same draws and harmed at a drawn place.

The database must be in the state before or after the deed; if the deed was acknowledged, after it.
It must take an insertion and pass the deep check.  The session goes on with it.
"""

import os
import random
import shutil
import signal
import time
from functools import partial
from pathlib import Path
from traceback import extract_tb

from images import Disk, entries

import asking
import simdb
from cases import KILLED, Tally, outcome_of, the_shim
from injecting import CAN_INJECT, LIBRARY, NEVER, Injector

PROBE = "a probe written afterwards"
SECONDS = 60
PART_WAY = 1.3  # a deed is killed within this multiple of the time that it took
FAULTS = {"EIO": 1, "ENOSPC": 2, "a short write": 3, "EDQUOT": 4, "EMFILE": 5}
FOR_EVER = 16
TOLD = {False: ("FullError", "BusyError"), True: ("Error", "FullError", "BusyError")}
MADE = ("copy", "copy.dump")  # made by deeds; always complete or absent
IMAGES = 3


def elsewhere(session):
    """Let another process change the database while this one has it open."""
    deed, settings = session.chance.choice(session.deeds()), session.draw.opening()

    def run():
        enter(session, session.path, settings)
        told = deed()
        session.database.close()
        return told, session.carry()

    told, carried = outcome_of(run, SECONDS).get()
    session.adopt(carried)
    return f"{deed.__name__} {told}"


def enter(session, path, settings):
    """Let a child of the session open the database itself, and leave its parent's snapshots."""
    session.snapshots, session.path = [], path
    session.case.tally = session.model.tally = Tally()
    session.database = simdb.open(path, "w", **settings)


class Rehearsal:
    """A deed of a session, done with a copy: `carried` away, `told`, `seen` and `seconds`."""

    def __init__(self, session, watch, **settings):
        """Draw a deed; `watch(deed)` calls it and returns what was seen."""
        self.deed, self.watch = session.chance.choice(session.deeds()), watch
        self.settings = session.draw.opening() | settings
        self.own = random.Random(f"harm {session.case.seed} {session.steps}")
        self.path = os.path.join(session.directory, "rehearsed")
        ignored = shutil.ignore_patterns("*lock*")
        shutil.copytree(session.path, self.path, ignore=ignored)
        self.before = session.model.copy()
        made = outcome_of(lambda: self._run(session), SECONDS).get()
        self.seen, self.seconds, self.carried = made
        shutil.rmtree(self.path)

    def _run(self, session):
        enter(session, self.path, self.settings)
        begun = time.monotonic()
        seen = self.watch(self.deed)
        seconds = time.monotonic() - begun
        session.database.close()
        return seen, seconds, session.carry()

    def settle(self, session, *, is_done, may_leave=False):
        """Adopt the state of the database, which must be before or after the deed."""
        self._clean(session, may_leave=may_leave)  # first, since a snapshot can refuse the rest
        if session.database.is_closed:
            session.open("w")
        session.adopt(self.carried)
        states = [session.model] if is_done else [self.before, session.model]
        try:
            held = [each for each in states if asking.holds(session.database, each)]
        except simdb.BusyError as error:
            # An error has made the data file unusable, and snapshots still use it.
            if not session.snapshots or "close them first" not in str(error):
                raise
            session.close_snapshots()
            held = [each for each in states if asking.holds(session.database, each)]
        assert held, f"the state is not that after{'' if is_done else ', nor that before'}"
        session.model, session.options = held[0], held[0].options
        session.database.insert(PROBE, session.document_of(PROBE))
        findings = list(session.database.check(deep=True))
        assert findings == [], findings[:5]
        session.database.delete(PROBE)
        if session.chance.random() < 0.3:
            session.look(session.database)
        return "after" if held[0] is not self.before else "before"

    def _clean(self, session, *, may_leave):
        """Check what was made outside of the database, and that nothing else was left."""
        for name in sorted(os.listdir(session.directory)):
            path = os.path.join(session.directory, name)
            if name in ("db", "followed"):
                continue
            if name == "copy.dump":
                simdb.load(path, f"{path}.loaded")
                os.remove(path)
                path = f"{path}.loaded"
            if name in MADE:
                with simdb.open(path, "r") as made:
                    assert asking.holds(made, self.before), f"{name} differs from its source"
            elif not may_leave:
                # An interrupt between making a folder and knowing its name cannot be handled.
                assert os.path.isdir(path), f"{name} is left behind"
                assert not os.listdir(path), f"{name} is left behind"
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)


def places(deed):
    injector = Injector(NEVER)
    injector.run(deed)
    return injector


def killed(session):
    """Kill another process at any place of a deed, at any time, or right after it."""
    # Counting the places of deeds with thousands of documents takes minutes.
    by_place = CAN_INJECT and not session.draw.count and session.chance.random() < 0.6
    rehearsal = Rehearsal(session, places if by_place else lambda deed: deed() and None)
    place, where = rehearsal.seen.draw(rehearsal.own) if by_place else (None, "some time")
    seconds = rehearsal.own.uniform(0, PART_WAY * rehearsal.seconds)
    reading, writing = os.pipe()

    def run():
        enter(session, session.path, rehearsal.settings)
        if by_place:
            Injector(place, kills=True).run(rehearsal.deed)
        else:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
            rehearsal.deed()
        os.write(writing, b"done")
        os.kill(os.getpid(), signal.SIGKILL)

    outcome = outcome_of(run, SECONDS)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        is_done = pipe.read() != ""
    assert outcome.error in (KILLED, "ended with SIGALRM"), outcome.error
    state = rehearsal.settle(session, is_done=is_done, may_leave=True)
    return f"{rehearsal.deed.__name__} at {where}: {state}"


def interrupted(session):
    """Interrupt this process at any place of a deed, as Ctrl-C does."""
    if not CAN_INJECT or session.draw.count:
        return "not with this Python, or with so many documents"
    rehearsal = Rehearsal(session, places)
    place, where = rehearsal.seen.draw(rehearsal.own)
    is_done = not Injector(place).run(rehearsal.deed)
    state = rehearsal.settle(session, is_done=is_done)
    return f"{rehearsal.deed.__name__} at {where}: {state}"


def failing(session):
    """Let the n-th call of the system in a deed fail, or all calls from it on."""
    shim = the_shim()
    if shim is None:
        return "not without the shim"

    def count(deed):
        shim.fault_arm(1 << 40, 1)
        deed()
        return shim.fault_count()

    rehearsal = Rehearsal(session, count)
    number = rehearsal.own.randint(1, max(rehearsal.seen, 1))
    name = rehearsal.own.choice(list(FAULTS))
    # Writes that are short for ever end with one of no byte, which no system does.
    lasts = rehearsal.own.random() < 0.3 and name != "a short write"
    said = ""
    shim.fault_arm(number, FAULTS[name] | FOR_EVER * lasts)
    try:
        rehearsal.deed()
    except simdb.Error as error:
        said = f"{type(error).__name__}: {error}"
    except OSError as error:
        if any(each.filename.startswith(LIBRARY) for each in extract_tb(error.__traceback__)):
            raise
        said = f"FullError of a call of this program: {error}"
    finally:
        shim.fault_arm(0, 0)
    # If all calls fail from one on, the removal of a partial file fails, too.
    state = rehearsal.settle(session, is_done=not said, may_leave=lasts)
    told = f"{rehearsal.deed.__name__}, {name} at {number}{' and on' * lasts}: {state} {said}"
    assert not said or said.startswith(TOLD[name == "EMFILE"]), told
    is_true = rehearsal.deed != session.write or state == "before"
    assert is_true or "nothing was changed" not in said, told
    session.case.counts["errors told"] += bool(said)
    return told


def power_cut(session):
    """Look at what power cuts during a deed can leave on the disk of a fully durable database."""
    shim, log = the_shim(), f"{session.directory}.log"
    if shim is None:
        return "not without the shim"
    folder = os.path.join(session.directory, "rehearsed")

    def record(deed):
        files = {}
        for each in os.scandir(folder):
            with open(each.path, "rb") as file:
                files[each.name] = each.inode(), file.read()
        shim.fault_log(os.fsencode(log))
        deed()
        shim.fault_mark(0)
        return files

    rehearsal = Rehearsal(session, record, durability="full")
    every, [after, session.draw] = list(entries(Path(log))), rehearsal.carried
    session.chance = session.draw.chance
    for _ in range(IMAGES):
        session.case.counts["disk images"] += 1
        disk = Disk(folder, rehearsal.seen)
        for entry in every[: rehearsal.own.randint(0, len(every))]:
            disk.take(entry)
        image = disk.image(rehearsal.own if rehearsal.own.random() < 0.7 else None)
        states = [after] if disk.mark == 0 else [after, rehearsal.before]
        outcome_of(partial(look_at, folder, image, states), SECONDS).get()
    os.remove(log)
    return f"{rehearsal.deed.__name__}, {len(every)} calls"


def look_at(path, image, states):
    """Open an image of a database, which must be in one of some states."""
    os.mkdir(path)
    for name, content in image.items():
        with open(os.path.join(path, name), "wb") as file:
            file.write(content)
    with simdb.open(path, "w", durability="none") as database:
        assert any(asking.holds(database, each) for each in states), "another state"
        findings = list(database.check(deep=True))
        assert findings == [], findings[:5]
    shutil.rmtree(path)


HARMS = [killed, killed, interrupted, interrupted, failing, failing, power_cut]
