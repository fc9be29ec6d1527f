"""Do random things to simdb, case after case, and check the results.

    python tools/fuzz/fuzz.py --seconds 300
    python tools/fuzz/fuzz.py --seconds 60 --only session inputs
    python tools/fuzz/fuzz.py --only session --seed 17 --steps 40
    python tools/fuzz/fuzz.py --only large --documents 2000000 --limit 86400

The kinds of cases:

* session: all verbs of one database of texts, compared with a dict and a double loop.  Between
  them, other processes change the database, and threads use and end what others use.  Processes
  are killed or interrupted at any place, system calls fail, and the power is cut.
* hashes: the same with hashes of 32 to 512 bits.
* large: the same with thousands of texts, of which a sample is compared.
* burst: threads and processes that use one database at once, again and again.
* repeats: deduplication with a database, again and again.
* damage, rescues: damaged pages of databases, asked or rebuilt.
* inputs: commands on damaged input files.
* texts: texts of all scripts through all variants of the kernel.
* decoders: any bytes to everything that decodes or parses.

Each case runs in a child from one seed, which also draws its kind.  Without --seconds or --cases,
one case runs.  A failure is printed with its last steps and the command that runs only this case;
the exit code is 1 then.  What threads and processes do at once depends on their timing, too.
"""

import argparse
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHIM = ROOT / "tests" / "faults" / "shim.c"
sys.path += [
    str(HERE),
    str(HERE / "decoders"),
    *(str(ROOT / "tests" / x) for x in ("support", "faults")),
]

from cases import Case, Tally, outcome_of, the_shim  # noqa: E402
from simdb.core import kernel  # noqa: E402

# The check of probabilistic answers fails by chance in less than one of a million runs.
DEVIATIONS = 5.0
SEEDS = 10**6
MEMORY, ROOM_BYTES = Path("/dev/shm"), 1 << 30
LAST_NOTES = 14
LARGE = 20_000  # documents above which only the fastest variant of the kernel runs


class Kind(NamedTuple):
    """A kind of case: its module, the steps of one case, its share of the cases, documents."""

    module: str
    steps: int
    share: int
    documents: tuple = (0,)


KINDS = {
    "session": Kind("session", 70, 40),
    "hashes": Kind("session", 70, 14, (0, 0, 0, 600)),
    "large": Kind("session", 0, 4, (300, 1000, 1000, 3000)),
    "burst": Kind("session", 2, 6, (300, 3000, 20_000)),
    "repeats": Kind("repeats", 40, 8),
    "damage": Kind("damage", 8, 8),
    "rescues": Kind("rescues", 6, 8),
    "inputs": Kind("inputs", 6, 8),
    "texts": Kind("texts", 1, 3),
    "decoders": Kind("mutating", 40, 6),
}


def parser():
    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = made.add_argument
    add("--seconds", type=float, help="begin no case after these")
    add("--cases", type=int, help="number of cases")
    add("--seed", type=int, help="of the first case; default: at random")
    add("--only", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    add("--steps", type=int, help="of each case; default: of its kind")
    add("--verbs", nargs="+", default=[], help="only these steps of sessions")
    add("--documents", type=int, help="with how many a database begins")
    add("--kernel", help="a variant of the kernel; default: seeds take turns")
    add("--tiny", type=float, help="share of tiny constants, see sizes.py; default: drawn")
    add("--no-callbacks", action="store_true", help="use no transaction in its own iterators")
    add("--limit", type=float, default=240, help="seconds after which a case counts as hanging")
    add("--inside", action="store_true", help="run cases in this process, for a debugger or TSan")
    return made


def main(arguments=None):
    given = parser().parse_args(arguments)
    if arguments is None:
        preload()
    first = random.randrange(SEEDS) if given.seed is None else given.seed
    count = given.cases or (math.inf if given.seconds else 1)
    until = time.monotonic() + (given.seconds or math.inf)
    counts, kinds, tally, failures, number = Counter(), Counter(), Tally(), 0, 0
    print(f"fuzzing with --seed {first}{'' if the_shim() else ', without faults'}", flush=True)
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM_BYTES
    place = MEMORY if has_room and (given.documents or 0) <= LARGE else None
    with tempfile.TemporaryDirectory(prefix="simdb-fuzz-", dir=place) as folder:
        os.environ["FAULT_DIRECTORY"] = folder
        while number < count and time.monotonic() < until:
            case, variant = drawn(first + number, given, Path(folder))
            error, done, more = tried(case, variant, given)
            kinds[case.kind] += 1
            counts.update(done)
            tally.join(more)
            if error:
                failures += 1
                print(report(case, variant, given, error), flush=True)
            number += 1
    print("cases: ", in_words(kinds), "\nsteps: ", in_words(counts), sep="")
    margin = DEVIATIONS * math.sqrt(tally.variance)
    print(
        f"{number} cases, {failures} failed; probabilistic answers found {tally.found:.0f} matches,"
        f" where {tally.promised:.0f} were promised, or {margin:.0f} fewer by chance",
        flush=True,
    )
    return int(failures > 0 or tally.found < tally.promised - margin)


def drawn(seed, given, folder):
    """Return the case of a seed, and the variant of the kernel that it runs with."""
    chance = random.Random(f"case {seed}")
    shares = [KINDS[name].share for name in given.only]
    [name] = chance.choices(given.only, shares)
    kind = KINDS[name]
    documents = random.Random(f"documents {seed}").choice(kind.documents)
    documents = documents if given.documents is None else given.documents
    case = Case(
        name, seed, kind.steps if given.steps is None else given.steps, folder / f"case {seed}",
        documents, given.tiny, not given.no_callbacks, not given.inside, tuple(given.verbs),
    )  # fmt: skip
    variants = kernel.variants()[-1:] if documents > LARGE else kernel.variants()
    return case, given.kernel or variants[seed % len(variants)]


def tried(case, variant, given):
    """Run a case; return its error, "" if there is none, its counts and its tally."""
    case.folder.mkdir()
    work = partial(run, case, variant)
    if given.inside:
        return "", *work()
    outcome = outcome_of(work, given.limit)
    shutil.rmtree(case.folder, ignore_errors=True)
    return outcome.error, *(outcome.value or (Counter(), Tally()))


def run(case, variant):
    kernel.select(variant)
    import_module(KINDS[case.kind].module).run(case)
    return case.counts, case.tally


def report(case, variant, given, error):
    """Return the report on a case that failed."""
    notes = case.notes.read_text(encoding="utf-8").splitlines() if case.notes.exists() else []
    steps = [int(each.split(":")[0]) for each in notes if each.split(":")[0].isdigit()]
    command = [sys.executable, __file__, "--only", case.kind, "--seed", case.seed]
    command += ["--steps", steps[-1] + 1 if steps else case.steps, "--kernel", variant]
    if case.documents:
        command += ["--documents", case.documents]
    if given.tiny is not None:
        command += ["--tiny", given.tiny]
    command += ["--no-callbacks"] * given.no_callbacks
    command += ["--verbs", *given.verbs] if given.verbs else []
    shown = [
        *(each[:600] for each in notes[:2]),
        *(f"  {each:.400}" for each in notes[2:][-LAST_NOTES:]),
    ]
    return "\n".join([
        f"FAILED: {case.kind}, seed {case.seed}", *shown, error, "run only this case by",
        f"  {' '.join(map(str, command))}",
    ])  # fmt: skip


def in_words(counts):
    return ", ".join(f"{count} {what}" for what, count in counts.most_common())


def preload():
    """Run this program again with shim.c between it and the disk, if that can be built."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux" or os.environ.get("LD_PRELOAD"):
        return
    built = ROOT / "build" / "fuzz" / "shim.so"
    built.parent.mkdir(parents=True, exist_ok=True)
    own = built.with_name(f"shim.{os.getpid()}.so")
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", own, SHIM, "-ldl", "-lpthread"]
    if subprocess.run(list(map(str, command)), check=False).returncode == 0:
        own.replace(built)
        environment = os.environ | {"LD_PRELOAD": str(built), "FAULT_DIRECTORY": "/nowhere"}
        os.execve(sys.executable, sys.orig_argv, environment)


if __name__ == "__main__":
    sys.exit(main())
