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
import signal
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

TESTS = Path(__file__).parents[2] / "tests"
sys.path += [str(TESTS / "support"), str(TESTS / "faults")]

import crowd  # noqa: E402
import verbs  # noqa: E402
from injecting import Injector, places  # noqa: E402
from trials import collected, must, outcome_of, report_verbs, scratch  # noqa: E402

CROWD = "crowd"
CHANGING = [
    "insert", "write", "claim", "grow", "compact", "rebuild", "calibrate", "copy", "dump", "load",
    "create", "import", "set_idf", "fit_idf", "reopen",
]  # fmt: skip
DURABILITIES = ["full", "process", "none"]
LEFT = (".loading", ".importing", ".copying", ".partial")
HANGS_SECONDS = 60
KILLED = "ended with SIGKILL", "ended with SIGALRM"


def options(parser):
    parser.add_argument("--kills", type=int, default=200, help="divided among the verbs")


def kill(verb, given, number, of):
    """Kill one verb, or processes of the crowd, as often as is its share; report what was found."""
    kills = given.kills // of + (number < given.kills % of)
    if verb == CROWD:
        with scratch() as folder:
            found, wrong = crowd.torture(folder / "db", kills, given.seed)
        one = collected([("the crowd", found, wrong)], is_quiet=given.json)
        return one | {"tried": kills}
    with verbs.prepared(verb) as (folder, base, states):
        known = must(partial(places, verb, base, folder), HANGS_SECONDS)
        seconds = must(partial(seconds_of, verb, base, folder / "timed"), HANGS_SECONDS)
        chance = random.Random(f"{given.seed} {verb}")
        trials = (
            kill_once(verb, base, folder / f"kill {at}", states, draw(chance, known, seconds))
            for at in range(kills)
        )
        return collected(trials, is_quiet=given.json)


@dataclass(frozen=True)
class Kill:
    """The moment of a kill: at `place`, or `seconds` after the verb began if `place` is None."""

    place: int | None
    where: str
    seconds: float
    durability: str


def draw(chance, known, seconds):
    """Draw a kill of a verb that takes `seconds`; every second kill is at a place."""
    at = chance.choice(list(known)) if known and chance.random() < 0.5 else None
    durability = chance.choice(DURABILITIES)
    return Kill(at, known.get(at, ""), chance.uniform(0, 1.5 * seconds), durability)


def kill_once(verb, base, folder, states, how):
    """Kill a verb, and look at what it left; return a title, what was found and what was wrong."""
    ended = outcome_of(partial(run_until_killed, verb, base, folder, how), HANGS_SECONDS)
    is_told = ended.value is True
    if not is_told and ended.error not in KILLED:
        raise RuntimeError(f"{verb}, {how}: {ended.error}")
    seen = outcome_of(partial(look, verb, folder, states, is_told), HANGS_SECONDS)
    found, left, wrong = seen.value or ("unknown", [], [seen.error])
    kinds = ["acknowledged" if is_told else found, *["with something unfinished"] * bool(left)]
    return f"{verb}, {folder.name}, {how}", kinds, wrong


def run_until_killed(verb, base, folder, kill):
    """Run a verb in this process, which is killed inside it; return True if it is not.

    Either signal ends the process at once, and so does the end of a trial: nothing is closed.
    """
    trial = verbs.begin(verb, base, folder, durability=kill.durability)
    if kill.place is None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, max(kill.seconds, 1e-6))
        verbs.VERBS[verb](trial)
    else:
        Injector(kill.place, kills=True).run(lambda: verbs.VERBS[verb](trial))
    return True


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


def seconds_of(verb, base, folder):
    """Measure how long the verb takes on this machine."""
    trial = verbs.begin(verb, base, folder)
    start = time.perf_counter()
    verbs.VERBS[verb](trial)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(report_verbs(__doc__, [*CHANGING, CROWD], options, kill))
