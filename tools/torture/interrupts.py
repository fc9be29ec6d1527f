"""Interrupt verbs at every place where CPython checks for signals, and check what is left.

    python tools/torture/interrupts.py                     every verb, 60 places of each
    python tools/torture/interrupts.py --lines             once at every line of every verb
    python tools/torture/interrupts.py --points 0          at every place, which takes an hour
    python tools/torture/interrupts.py --verbs insert grow --points 200 --seed 3
    python tools/torture/interrupts.py --lines --within storage/environment engine/write
    python tools/torture/interrupts.py --verbs insert --place 41

Each trial is a process of its own; interrupted.py says what must be true after it.  A sample draws
lines first, then places: a line that was run a thousand times is drawn as often as a line that was
run once.  The exit code is 1 if anything was wrong.  Needs CPython 3.11 or later.
"""

import argparse
import json
import random
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import numpy.ma  # noqa: E402, F401 - numpy imports it when it is first needed

import interrupted  # noqa: E402
import verbs  # noqa: E402
from trials import outcome_of  # noqa: E402

HANGS_SECONDS = 30
EVERY_LINE, EVERY_PLACE = -1, 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--verbs", nargs="*", choices=verbs.VERBS, metavar="VERB")
    parser.add_argument("--points", type=int, default=60, help="interrupts of each verb; 0 for all")
    parser.add_argument("--lines", action="store_true", help="interrupt once at every line")
    parser.add_argument("--place", type=int, help="only this place, counted from 0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--within", nargs="*", default=[""], help="only files whose paths begin with this"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of lines"
    )
    given = parser.parse_args()
    report = {}
    for verb in given.verbs or verbs.VERBS:
        chosen = None if given.place is None else [given.place]
        points = EVERY_LINE if given.lines else given.points
        drawing = Drawing(points, given.seed, tuple(given.within), chosen)
        known, tried = trials(verb, drawing)
        bad = [each for each in tried if each[3]]
        report[verb] = {"places": known, "tried": len(tried), "bad": bad}
        if not given.json:
            tell(verb, known, tried, bad)
    if given.json:
        print(json.dumps(report))
    return int(any(each["bad"] for each in report.values()))


@dataclass(frozen=True)
class Drawing:
    """The choice of places: `points` places in files whose paths begin as in `within`, or `chosen`.

    The sample takes as many different lines as possible; EVERY_LINE and EVERY_PLACE draw no sample.
    """

    points: int
    seed: int
    within: tuple[str, ...]
    chosen: list[int] | None

    def among(self, known):
        """Return the numbers of the drawn places; `known` says where each place is."""
        if self.chosen is not None:
            return self.chosen
        drawn = [number for number, where in known.items() if where.startswith(self.within)]
        random.Random(self.seed).shuffle(drawn)
        firsts = list({known[number]: number for number in drawn}.values())
        if self.points == EVERY_LINE:
            return sorted(firsts)
        ordered = firsts + sorted(set(drawn) - set(firsts), key=drawn.index)
        return sorted(ordered[: self.points or None])


def trials(verb, drawing):
    """Try a verb; return how many places it has, and the outcomes of those that were tried."""
    with verbs.prepared(verb) as (folder, base, states):
        counted = outcome_of(lambda: interrupted.places(verb, base, folder), HANGS_SECONDS)
        if counted.error:
            raise RuntimeError(f"{verb}: {counted.error}")
        known = counted.value
        chosen = drawing.among(known)
        return len(known), [trial(verb, number, base, folder, states) for number in chosen]


def trial(verb, number, base, folder, states):
    """Interrupt a verb once; return (place, where, how it ended, what was wrong)."""
    mine = folder / f"at {number}"
    found = outcome_of(lambda: interrupted.run(verb, number, base, mine, states), HANGS_SECONDS)
    if found.error:
        return number, "?", "lost", [found.error]
    return number, *found.value


def tell(verb, known, tried, bad):
    """Print the outcomes of one verb."""
    ends = Counter(ended for _, _, ended, _ in tried)
    counts = ", ".join(f"{count} {ended}" for ended, count in ends.most_common(4))
    print(f"{verb:10} {known:5} places, {len(tried):5} tried, {len(bad):3} bad: {counts}")
    for number, where, ended, wrong in bad:
        print(f"    place {number}, {where}, {ended}:")
        for line in wrong:
            print(f"        {line}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
