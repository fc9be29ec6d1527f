"""Run many threads on one database, which use, end and close what the others use.

    python tools/torture/threads.py --seconds 600
    python tools/torture/threads.py --trials 1 --seed 17 --actors ask stream close

Each trial is a process of its own, in which a few threads repeat the actions drawn for them (see
actors.py) for about a second.  Right answers and errors of simdb are allowed.  The exit code is 1
after a signal, a thread that does not end, any other exception, an acknowledged document that is
missing, or a database that does not close, open again or pass the deep check.
"""

import itertools
import random
import shutil
import sys
import threading
import time
import traceback
from functools import partial

import simdb
import world as worlds
from actors import ACTORS
from simdb.storage import gate
from trials import collected, outcome_of, report, scratch

TRIAL_SECONDS = 1.0
JOIN_SECONDS = 20
HANGS_SECONDS = 45
THREADS = [4, 6, 9]
HANDLES = [1, 1, 2]
SHOWN = 12


def options(parser):
    parser.add_argument("--seconds", type=float, default=60, help="seconds in all")
    parser.add_argument("--trials", type=int, help="run this number of trials instead")
    parser.add_argument("--actors", nargs="*", choices=ACTORS, metavar="ACTOR")


def campaign(given):
    """Run trials, the first with the given seed, and report what was found."""
    with scratch() as folder:
        worlds.prepare(folder / "base")
        trials = (run_apart(seed, folder, given.actors) for seed in seeds(given))
        return collected(trials, is_quiet=given.json)


def seeds(given):
    """Yield the seed of each trial, as long as there is time or for a number of trials."""
    stop = time.monotonic() + given.seconds
    for number in itertools.count():
        if number >= given.trials if given.trials else time.monotonic() > stop:
            return
        yield given.seed + number


def run_apart(seed, folder, actors):
    """Run one trial in a process of its own; return a title, what was done and what was wrong."""
    drawn = actors or draw(random.Random(seed))
    path = folder / "trial"
    shutil.copytree(folder / "base", path)
    outcome = outcome_of(partial(trial, seed, path, drawn), HANGS_SECONDS)
    shutil.rmtree(path)
    done, problems = outcome.value or ({}, [outcome.error])
    return f"seed {seed}, {', '.join(drawn)}:", done, problems[:SHOWN]


def draw(chance):
    """Draw some actors, at least one of which makes trouble."""
    others = chance.choices(list(ACTORS), k=chance.choice(THREADS) - 2)
    return [chance.choice(["close", "meddle", "snapshot"]), "insert", *others]


def trial(seed, path, actors):
    """Run threads for a second; return (how often each actor acted or was refused, problems)."""
    gate.WAIT_SECONDS = 0.3
    world = worlds.World(path, random.Random(seed).choice(HANDLES))
    threads = [
        threading.Thread(target=keep_at, args=(world, name, f"{seed} {at}"), daemon=True)
        for at, name in enumerate(actors)
    ]
    for thread in threads:
        thread.start()
    time.sleep(TRIAL_SECONDS)
    world.stop.set()
    late = time.monotonic() + JOIN_SECONDS
    for thread in threads:
        thread.join(max(0, late - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        raise RuntimeError("threads hang")  # the watchdog of the trial has printed where
    world.end()
    return world.done, world.problems + list(world.look())


def keep_at(world, name, seed):
    """Repeat one action until the time is over; errors of simdb are allowed."""
    chance = random.Random(seed)
    while not world.stop.is_set():
        what = "done"
        try:
            ACTORS[name](world, chance)
        except simdb.Error as error:
            what = type(error).__name__
            time.sleep(0.001)
        except BaseException:
            world.problems.append(f"{name}: {traceback.format_exc(limit=-8)}")
            what = "foreign"
        world.done[f"{name}: {what}"] = world.done.get(f"{name}: {what}", 0) + 1


if __name__ == "__main__":
    sys.exit(report(__doc__, options, campaign))
