"""Kill processes, one inside a verb or many at once, and check what is left.

    python tools/torture/kills.py --kills 500              divided among all verbs and the crowd
    python tools/torture/kills.py --kills 100 --verbs load import --seed 3
    python tools/torture/kills.py --kills 60 --verbs crowd

`crowd`: two writers, a compacting writer and readers with snapshots use one database, and one of
them after the other is killed; see crowd.py.  All other verbs: see killed.py.  A table shows what
was found after the kills; the exit code is 1 if anything was wrong.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [
    str(folder)
    for folder in (
        ROOT,
        Path(__file__).parent,
        ROOT / "tests" / "support",
        ROOT / "tests" / "faults",
    )
]

import numpy.ma  # noqa: E402, F401 - numpy imports it when it is first needed

import crowd  # noqa: E402
import interrupted  # noqa: E402
import killed  # noqa: E402
import verbs  # noqa: E402
from trials import outcome_of, scratch  # noqa: E402

CROWD = "crowd"
CHANGING = [
    "insert", "write", "claim", "grow", "compact", "rebuild", "calibrate", "copy", "dump", "load",
    "create", "import", "set_idf", "fit_idf", "reopen",
]  # fmt: skip
HANGS_SECONDS = 60


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--kills", type=int, default=200, help="number of kills, divided among the verbs"
    )
    parser.add_argument("--verbs", nargs="*", choices=[*CHANGING, CROWD], metavar="VERB")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of lines"
    )
    given = parser.parse_args()
    chosen = given.verbs or [*CHANGING, CROWD]
    report = {}
    for at, verb in enumerate(chosen):
        kills = given.kills // len(chosen) + (at < given.kills % len(chosen))
        report[verb] = kill_crowd(kills, given.seed) if verb == CROWD else kill(verb, kills, given)
        if not given.json:
            tell(verb, report[verb])
    if given.json:
        print(json.dumps(report))
    return int(any(each["bad"] for each in report.values()))


def kill(verb, kills, given):
    """Kill one verb `kills` times; return counts of what was found."""
    with verbs.prepared(verb) as (folder, base, states):
        places = must(outcome_of(lambda: interrupted.places(verb, base, folder), HANGS_SECONDS))
        timed = outcome_of(lambda: killed.seconds_of(verb, base, folder / "timed"), HANGS_SECONDS)
        seconds, chance = must(timed), killed.chance_of(given.seed, verb)
        found, left, bad = Counter(), 0, []
        for number in range(kills):
            mine = folder / f"kill {number}"
            how = killed.draw(chance, list(places), seconds)
            is_told = killed.run_until_killed(verb, base, mine, how)
            seen = outcome_of(
                lambda mine=mine, is_told=is_told: killed.look(verb, mine, states, is_told),
                HANGS_SECONDS,
            )
            what, leavings, wrong = seen.value or ("unknown", [], [seen.error])
            found["acknowledged" if is_told else what] += 1
            left += bool(leavings)
            if wrong:
                bad.append([number, str(how), places.get(how.place, ""), wrong])
        return {"kills": kills, "found": found, "left": left, "bad": bad}


def kill_crowd(kills, seed):
    """Kill processes of the crowd; return counts of the roles killed."""
    with scratch() as folder:
        found, bad = crowd.torture(folder / "db", kills, seed)
    return {"kills": kills, "found": found, "left": 0, "bad": [[0, "", "", bad]] if bad else []}


def must(outcome):
    if outcome.error:
        raise RuntimeError(outcome.error)
    return outcome.value


def tell(verb, report):
    """Print the outcomes of one verb."""
    counts = ", ".join(f"{count} {what}" for what, count in sorted(report["found"].items()))
    left = f", {report['left']} left something unfinished" if report["left"] else ""
    print(f"{verb:10} {report['kills']:4} kills: {counts}{left}; {len(report['bad'])} bad")
    for number, how, where, wrong in report["bad"]:
        print(f"    kill {number}, {how} {where}")
        for line in wrong:
            print(f"        {line}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
