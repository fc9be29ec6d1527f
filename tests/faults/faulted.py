"""A process whose writes fail, for test_io_faults.py.

    faulted.py DIRECTORY FAULT DURABILITY N ...

For each N a forked child runs the workload in a database of its own, and its N-th call that changes
a file fails; with N = 0 no call fails.  One line of JSON for each N says what happened.
"""

import ctypes
import json
import os
import sys
import traceback
from pathlib import Path

from oracle import Oracle
from workload import OPTIONS, changes, expected, merge_slowly, play, replay, state

import simdb

FAULTS = {
    "EIO": 1, "ENOSPC": 2, "short": 3, "EDQUOT": 4, "EIO for ever": 17, "ENOSPC for ever": 18,
    "EDQUOT for ever": 20,
}  # fmt: skip
SEED = 3
STEPS = [0, 1, 2, 3, 5, 8]
COMPACT = [("compact",)]


def run(path, shim, fault, durability, number):
    """Run the workload with call `number` failing; return what happened, as a dict."""
    database = None
    oracle = later = Oracle()
    outcome = {"error": "", "said": "", "is_ours": True, "verb": "", "after": ""}
    shim.fault_arm(number, FAULTS.get(fault, 0))
    try:
        outcome["verb"] = "open"
        database = simdb.open(path, options=OPTIONS, durability=durability)
        for step, todo in enumerate(workload()):
            outcome["verb"] = f"{step} {todo[0][0]}"
            later = replay(oracle, todo)
            play(database, todo)
            oracle = later
        outcome["verb"] = "copy"
        database.copy(f"{path}.copy")
        outcome["verb"] = "close"
        database.close()
    except Exception as error:
        outcome["error"] = type(error).__name__
        outcome["said"] = str(error)
        outcome["is_ours"] = isinstance(error, simdb.Error)
        if not outcome["is_ours"]:
            outcome["said"] += "".join(traceback.format_exception(error)[-4:])
    outcome["count"] = shim.fault_count()
    shim.fault_arm(0, 0)
    if database is not None:
        outcome["goes on"] = database.is_closed or goes_on(database, oracle, later)
        database.close()
    outcome["after"] = after(path, oracle, later)
    outcome["sound after"] = sound(path)
    return outcome


def workload():
    """Return the transactions, with a compaction in the middle and at the end."""
    todo = [changes(SEED, step) for step in STEPS]
    return [*todo[:4], COMPACT, *todo[4:], COMPACT]


def goes_on(database, oracle, later):
    """Return whether a database after a fault has a committed state; insert and delete with it."""
    is_right = state(database) in (expected(oracle), expected(later))
    database.insert("written on", 1)
    database.delete("written on")
    return is_right


def after(path, oracle, later):
    """Open the database again; return which state it has, or "unsound"."""
    with simdb.open(path, options=OPTIONS) as database:
        found = state(database)
        findings = [str(each) for each in database.check(deep=True)]
        database.insert("written afterwards", 1)
        database.compact()
        is_usable = "written afterwards" in database
    if findings or not is_usable:
        return f"unsound: {findings}"
    if found == expected(oracle):
        return "before"
    return "done" if found == expected(later) else "neither"


def sound(path):
    """Return whether the check of the database then finds nothing."""
    with simdb.open(path, "r") as database:
        return not list(database.check(deep=True))


def main(directory, fault, durability, *numbers):
    """Run every number in a forked child."""
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    merge_slowly()
    for number in map(int, numbers):
        child = os.fork()
        if child == 0:
            outcome = run(Path(directory) / str(number), shim, fault, durability, number)
            print(json.dumps({"number": number, **outcome}), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            print(json.dumps({"number": number, "died": status}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
