"""What do clusters cost that are kept up to date with every commit, beside plain inserts?"""

import argparse
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import simdb
from record import Record, Timing, in_turns, measure, number, options, short
from workload import ids, pieces, planted, scratch

KINDS = ("none", "distance", "similarity")
ASKED = 2_000
NOVELTY = 0.3  # share of the texts that are not copies with some words changed
CHANGED_WORDS = 6


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=200_000, help="documents")
    parser.add_argument("--batch", type=number, default=1_000, help="documents in each transaction")
    parser.add_argument("--durability", choices=("full", "process", "none"), default="full")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    with scratch(arguments.directory) as directory:
        compare(record, arguments, directory, "fingerprints", fingerprints(arguments))
        compare(record, arguments, directory, "texts", texts(arguments))
    record.finish()


def fingerprints(arguments: argparse.Namespace) -> Any:
    """Make fingerprints in random order, uint64[n].

    Half are random, a third are near one of these, and a sixth are equal to one of these.
    """
    count = arguments.n
    truth = planted(count // 2, 2 * (count // 3), arguments.seed)
    random = np.random.default_rng(arguments.seed)
    near = truth.queries[truth.asked]
    copies = random.choice(truth.stored, count - len(truth.stored) - len(near))
    return random.permutation(np.concatenate([truth.stored, near, copies]))


def texts(arguments: argparse.Namespace) -> list[str]:
    """Cut installed Python files into pieces, and copy some pieces with a few words replaced."""
    random = np.random.default_rng(arguments.seed)
    bases = [piece.split()[:100] for piece in pieces([], arguments.n * NOVELTY * 3e-3)]
    bases = bases[: int(arguments.n * NOVELTY)]
    made = [" ".join(words) for words in bases]
    for at in random.integers(0, len(bases), arguments.n - len(bases)):
        words = list(bases[at])
        for place in random.integers(0, max(len(words), 1), random.integers(0, CHANGED_WORDS)):
            if words:
                words[place] = f"other{place}"
        made.append(" ".join(words))
    return [made[at] for at in random.permutation(len(made))]


def compare(
    record: Record, arguments: argparse.Namespace, directory: Path, what: str, documents: Any
) -> None:
    """Insert in small transactions with and without kept clusters, then query and delete."""
    kinds = KINDS if what == "texts" else KINDS[:2]
    tasks = {kind: partial(fill, arguments, directory / kind, kind, documents) for kind in kinds}
    timings = in_turns(tasks, arguments.repeats)
    label = f"{short(arguments.n)} {what}"
    plain = median(timings["none"])
    for kind in kinds:
        name = "plain inserts" if kind == "none" else f"clusters kept by {kind}"
        ratio = median(timings[kind]) / plain
        note = "" if kind == "none" else f"{ratio:.2f} times the time of plain inserts"
        record.add_rate(
            f"{label}: {name}, transactions of {arguments.batch}",
            len(documents), "docs/s", timings[kind], note,
        )  # fmt: skip
    for kind in kinds[1:]:
        use(record, f"{label}, by {kind}", directory / kind)


def fill(arguments: argparse.Namespace, path: Path, kind: str, documents: Any) -> None:
    """Make a new database and insert all documents."""
    shutil.rmtree(path, ignore_errors=True)
    names = ids("int", 0, len(documents))
    settings = simdb.Options(keep_clusters=kind)
    with simdb.open(path, "x", options=settings, durability=arguments.durability) as database:
        for start in range(0, len(documents), arguments.batch):
            part = slice(start, start + arguments.batch)
            database.insert_many(names[part], documents[part])


def use(record: Record, label: str, path: Path) -> None:
    """Compare kept clusters with searched ones, then query some clusters and delete documents."""
    with simdb.open(path, "w") as database:
        kept, searched = Timing(), Timing()
        found = measure(database.find_clusters, kept)
        wanted = measure(partial(database.find_clusters, search=exact(database)), searched)
        note = difference(found, wanted, is_exact=database.options.keep_clusters == "distance")
        sizes = np.diff(found.offsets)
        note = f"{len(found)} clusters, the largest of {sizes.max()}; {note}"
        record.add_rate(f"{label}: find_clusters, kept", len(database), "docs/s", kept, note)
        record.add_rate(f"{label}: find_clusters, searched", len(database), "docs/s", searched)
        asked = np.random.default_rng(0).integers(0, len(database), ASKED).tolist()
        timing = Timing()
        measure(partial(each, database.cluster, asked), timing)
        record.add_rate(f"{label}: cluster(id)", ASKED, "calls/s", timing)
        timing = Timing()
        measure(partial(database.delete_many, asked), timing)
        record.add_rate(f"{label}: delete_many of {ASKED}, in one", ASKED, "docs/s", timing)
        if list(database.check(deep=True)):
            raise ValueError("the clusters are wrong after deleting")


def exact(database: simdb.Database) -> str:
    """Return a method that makes the database search, instead of reading the kept clusters."""
    return "bphs" if database.options.keep_clusters == "distance" else "multiprobe"


def difference(found: simdb.Clusters, wanted: simdb.Clusters, *, is_exact: bool) -> str:
    """Say how kept and searched clusters differ; raise ValueError if they must not differ."""
    kept = {tuple(cluster.ids) for cluster in found}
    same = len(kept & {tuple(cluster.ids) for cluster in wanted})
    if is_exact and not same == len(found) == len(wanted):
        raise ValueError("kept and searched clusters differ")
    return f"{same} equal to searched ones, of which there are {len(wanted)}"


def each(call: Callable[[Any], object], arguments: list[Any]) -> None:
    for argument in arguments:
        call(argument)


def median(timing: Timing) -> float:
    return float(np.median(timing.wall))


if __name__ == "__main__":
    main()
