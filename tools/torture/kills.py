"""Kill processes, one inside a verb or many at once, and check what is left.

    python tools/torture/kills.py --kills 500              divided among all verbs and the crowd
    python tools/torture/kills.py --kills 100 --verbs load import --seed 3
    python tools/torture/kills.py --kills 60 --verbs crowd

`crowd`: two writers, a compacting writer and readers with snapshots use one database, and one of
them after the other is killed; see crowd.py.  Any other verb is killed at a random instant, or at a
place of its own code as interrupts.py counts them.  The database must then open in the state before
the verb or in the state after it, and in the state after it if the verb was acknowledged.  It must
take an insertion and pass the deep check.  What the verb makes elsewhere must be whole or absent;
if it is absent, the verb must work the second time, whatever the first one left behind.  The exit
code is 1 if anything was wrong.
"""

import os
import random
import select
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = ROOT, Path(__file__).parent, ROOT / "tests" / "support", ROOT / "tests" / "faults"
sys.path[:0] = map(str, PLACES)

import numpy.ma  # noqa: E402, F401 - numpy imports it when it is first needed

import crowd  # noqa: E402
import verbs  # noqa: E402
from injecting import Injector, places  # noqa: E402
from trials import must, outcome_of, report, scratch  # noqa: E402

CROWD = "crowd"
CHANGING = [
    "insert", "write", "claim", "grow", "compact", "rebuild", "calibrate", "copy", "dump", "load",
    "create", "import", "set_idf", "fit_idf", "reopen",
]  # fmt: skip
DURABILITIES = ["full", "process", "none"]
LEFT = (".loading", ".importing", ".copying", ".partial")
HANGS_SECONDS = 60
ACKNOWLEDGED = b"done"


def options(parser):
    parser.add_argument("--kills", type=int, default=200, help="divided among the verbs")


def kill(verb, given, number, of):
    """Kill one verb, or processes of the crowd, as often as is its share; report what was found."""
    kills = given.kills // of + (number < given.kills % of)
    if verb == CROWD:
        with scratch() as folder:
            found, wrong = crowd.torture(folder / "db", kills, given.seed)
        return {"tried": kills, "found": found, "bad": [["the crowd", wrong]] if wrong else []}
    with verbs.prepared(verb) as (folder, base, states):
        known = must(lambda: places(verb, base, folder), HANGS_SECONDS)
        seconds = must(lambda: seconds_of(verb, base, folder / "timed"), HANGS_SECONDS)
        chance, found, bad = random.Random(f"{given.seed} {verb}"), Counter(), []
        for at in range(kills):
            mine = folder / f"kill {at}"
            how = draw(chance, list(known), seconds)
            is_told = run_until_killed(verb, base, mine, how)
            seen = outcome_of(
                lambda mine=mine, is_told=is_told: look(verb, mine, states, is_told), HANGS_SECONDS
            )
            what, leavings, wrong = seen.value or ("unknown", [], [seen.error])
            found["acknowledged" if is_told else what] += 1
            found["with something unfinished"] += bool(leavings)
            if wrong:
                bad.append([f"kill {at}, {how} {known.get(how.place, '')}", wrong])
        return {"tried": kills, "found": found, "bad": bad}


@dataclass(frozen=True)
class Kill:
    """The moment of a kill: at `place`, or `seconds` after the verb began if `place` is None."""

    place: int | None
    seconds: float
    durability: str


def draw(chance, places, seconds):
    """Draw a kill of a verb that takes `seconds`; every second kill is at a place."""
    at = chance.choice(places) if places and chance.random() < 0.5 else None
    return Kill(at, chance.uniform(0, 1.5 * seconds), chance.choice(DURABILITIES))


def run_until_killed(verb, base, folder, kill):
    """Run a verb and kill its process; return whether the verb was acknowledged before."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _work(verb, base, folder, kill, writing)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(70)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        began = _told(pipe)
        if kill.place is None:
            time.sleep(kill.seconds)
            os.kill(child, signal.SIGKILL)
        said = _told(pipe)
        if said:
            os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not began or code != -signal.SIGKILL:
        raise RuntimeError(f"{verb} ended with {code}, {kill}")
    return said == ACKNOWLEDGED


def look(verb, folder, states, is_acknowledged):
    """Return (what was found, what was wrong), in a process that has opened nothing so far."""
    wrong = []
    trial = verbs.Trial(folder, folder / verbs.DONE_TO.get(verb, "db"), None)
    before, after = states
    wrong += verbs.sound(trial.path, [after] if is_acknowledged else states)
    left = sorted(name for name in os.listdir(folder) if name.endswith(LEFT))
    is_made = trial.made.exists()
    if is_made:
        wrong += verbs.whole(verb, trial, before)
    elif verb in verbs.MAKING:
        if is_acknowledged:
            wrong.append("the verb was acknowledged, but what it made is not there")
        verbs.VERBS[verb](verbs.opened(trial))
        wrong += verbs.whole(verb, trial, before)
    if verb in verbs.MAKING:
        found = "made" if is_made else "not made"
    else:
        found = "after" if verbs.stored(trial.path) == after and before != after else "before"
    return found, left, wrong


def _work(verb, base, folder, kill, writing):
    """Run the verb in the child; report on a pipe when it begins and when it has ended."""
    trial = verbs.begin(verb, base, folder, durability=kill.durability)
    os.write(writing, b"begun")
    if kill.place is None:
        verbs.VERBS[verb](trial)
    else:
        Injector(kill.place, kills=True).run(lambda: verbs.VERBS[verb](trial))
    os.write(writing, ACKNOWLEDGED)
    time.sleep(HANGS_SECONDS)


def _told(pipe):
    """Read the next word of a child; b"" when it has ended."""
    if not select.select([pipe], [], [], HANGS_SECONDS)[0]:
        raise RuntimeError("a child says nothing")
    return pipe.read(16)


def seconds_of(verb, base, folder):
    """Measure how long the verb takes on this machine."""
    trial = verbs.begin(verb, base, folder)
    start = time.perf_counter()
    verbs.VERBS[verb](trial)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(report(__doc__, [*CHANGING, CROWD], options, kill))
