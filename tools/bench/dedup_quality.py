"""How long does `simdb dedup` take on a corpus, and how right is the default criterion?"""

import json
import subprocess
import sys

import simdb
from corpus import MEASURES, Couple, couple, read_corpus, read_truth
from record import Record, Timing, measure, options
from workload import scratch


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("corpus", help="JSON lines with id and text, gzipped or not")
    parser.add_argument("--truth", help="table of truly similar pairs")
    parser.set_defaults(repeats=3)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    ids, texts = read_corpus(arguments.corpus)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    record.add("text", megabytes, "MB", note=f"{len(ids)} documents")

    timing = Timing()
    for _ in range(arguments.repeats):
        groups = measure(lambda: command_line(arguments.corpus), timing)
    copies = sum(len(group["duplicates"]) for group in groups)
    record.add_rate("simdb dedup, the whole process", len(ids), "docs/s", timing)
    record.add("groups", len(groups), "", note=f"{copies} documents beside their representatives")

    exact: set[Couple] = set()
    with scratch(arguments.directory) as directory:
        stages = {name: Timing() for name in ("insert_many", "find_all", "find_clusters")}
        for turn in range(arguments.repeats):
            with simdb.open(directory / str(turn), "x", durability="none") as database:
                measure(lambda: database.insert_many(ids, texts), stages["insert_many"])
                found = measure(lambda: pairs_of(database), stages["find_all"])
                measure(database.find_clusters, stages["find_clusters"])
                if turn == 0:
                    exact = pairs_of(database, search="exhaustive", recall=1.0)
    for name, timing in stages.items():
        record.add_rate(name, len(ids), "docs/s", timing)
    criterion = f"similarity {simdb.Options().similarity}, recall {simdb.Options().recall}"
    record.add("pairs", len(found), "", note=criterion)
    record.add("pairs of exhaustive search that were found", share(found & exact, exact), "")
    for name in MEASURES if arguments.truth else ():
        truth = read_truth(arguments.truth, name)
        note = f"{len(truth)} pairs at {name} >= {MEASURES[name][1]}"
        record.add(f"precision against {name}", share(found & truth, found), "", note=note)
        record.add(f"recall against {name}", share(found & truth, truth), "", note=note)
    record.finish()


def command_line(corpus: str) -> list[dict[str, list[str]]]:
    """Return the groups that the program prints."""
    command = [sys.executable, "-m", "simdb", "dedup", corpus, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Exit code 1 says that there are duplicates.
    if done.returncode not in (0, 1):
        raise RuntimeError(f"simdb dedup failed with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def pairs_of(database: simdb.Database, **criterion: object) -> set[Couple]:
    """Return all pairs by the default criterion, or by the given one."""
    pairs = database.find_all(**criterion)
    return {couple(left, right) for left, right in zip(pairs.left, pairs.right, strict=True)}


def share(part: set[Couple], whole: set[Couple]) -> float:
    return len(part) / len(whole) if whole else 1.0


if __name__ == "__main__":
    main()
