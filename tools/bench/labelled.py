"""How right is `simdb.deduplicate` where people have labelled the duplicates: CORE and NEWS-COPY?

Neither comes with simdb, and nothing is fetched: give files that you have.

    python tools/bench/labelled.py core core.jsonl --similarity 0.7
    python tools/bench/labelled.py news test_inf_data.json full_test_gt.json --characters 5

CORE is JSON lines, with `core_id`, a title, an abstract and `labelled_duplicates`, a list of ids.
NEWS-COPY is an object of articles by their ids, and a list of pairs of ids; articles that a chain
of pairs connects are one group.
"""

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from math import comb
from pathlib import Path
from typing import IO, Any, NamedTuple

import simdb

TITLES = ("processed_title", "original_title")
ABSTRACTS = ("processed_abstract", "original_abstract")


class Labelled(NamedTuple):
    """Texts by their ids, and the number of the group that people put each of them into."""

    texts: dict[str, str]
    groups: dict[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=("core", "news"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--similarity", type=float)
    parser.add_argument("--shingle", type=int, default=3)
    parser.add_argument("--characters", type=int, help="shingles of so many characters")
    arguments = parser.parse_args()
    read = read_core if arguments.kind == "core" else read_news_copy
    labelled = read(*arguments.files)
    sketch = simdb.Simhash(shingle=arguments.shingle)
    if arguments.characters:
        sketch = simdb.Simhash(unit="characters", shingle=arguments.characters)
    for policy in ("star", "connected"):
        found = grouped(labelled.texts, sketch, arguments.similarity, policy)
        scores = {"ari": rand_index(labelled.groups, found), **pair_scores(labelled.groups, found)}
        print(policy, " ".join(f"{name} {value:.3f}" for name, value in scores.items()))


def read_core(path: Path) -> Labelled:
    """Read CORE; documents that name each other as duplicates, in a chain too, are one group."""
    texts, links = {}, []
    with _opened(path) as file:
        for line in file:
            record = json.loads(line)
            id = str(record["core_id"])
            texts[id] = " ".join(filter(None, (_first(record, TITLES), _first(record, ABSTRACTS))))
            links += [(id, str(other)) for other in record["labelled_duplicates"] or ()]
    return Labelled(texts, components(texts, links))


def read_news_copy(articles: Path, pairs: Path) -> Labelled:
    """Read NEWS-COPY."""
    with _opened(articles) as file:
        texts = {id: str(article["article"]) for id, article in json.load(file).items()}
    with _opened(pairs) as file:
        links = [(str(left), str(right)) for left, right in json.load(file)]
    return Labelled(texts, components(texts, links))


def components(ids: Iterable[str], links: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the group of each id: connected by links are the ids of one group."""
    parents = {id: id for id in ids}

    def root(id: str) -> str:
        while parents[id] != id:
            parents[id] = id = parents[parents[id]]
        return id

    for left, right in links:
        if left not in parents or right not in parents:
            raise ValueError(f"a label names {left!r} and {right!r}, but not both are documents")
        parents[root(left)] = root(right)
    numbers: dict[str, int] = {}
    return {id: numbers.setdefault(root(id), len(numbers)) for id in parents}


def grouped(
    texts: dict[str, str], sketch: simdb.Simhash, similarity: float | None, policy: Any
) -> dict[str, int]:
    """Return the group of each id, as `simdb.deduplicate` finds them."""
    result = simdb.deduplicate(texts, sketch=sketch, similarity=similarity, policy=policy)
    numbers = {id: number for number, group in enumerate(result.groups) for id in group}
    alone = (id for id in texts if id not in numbers)
    return numbers | {id: len(result.groups) + at for at, id in enumerate(alone)}


def rand_index(truth: dict[str, int], found: dict[str, int]) -> float:
    """Return the adjusted Rand index of two groupings (Hubert and Arabie 1985): 1 if they agree."""
    both, left, right = _pair_counts(truth, found)
    every = comb(len(truth), 2)
    expected = left * right / every if every else 0.0
    most = (left + right) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def pair_scores(truth: dict[str, int], found: dict[str, int]) -> dict[str, float]:
    """Return precision, recall and F1 over pairs of documents in one group."""
    both, left, right = _pair_counts(truth, found)
    precision, recall = (both / count if count else 1.0 for count in (right, left))
    total = precision + recall
    return {
        "precision": precision, "recall": recall,
        "f1": 2 * precision * recall / total if total else 0.0,
    }  # fmt: skip


def _pair_counts(truth: dict[str, int], found: dict[str, int]) -> tuple[int, int, int]:
    """Count the pairs that are together in both groupings, in the first, and in the second."""
    counts: Sequence[Counter[Any]] = (
        Counter((truth[id], found[id]) for id in truth), Counter(truth.values()),
        Counter(found[id] for id in truth),
    )  # fmt: skip
    both, left, right = (sum(comb(size, 2) for size in each.values()) for each in counts)
    return both, left, right


def _first(record: dict[str, Any], names: Sequence[str]) -> str:
    return next((str(record[name]) for name in names if record.get(name)), "")


def _opened(path: Path) -> IO[str]:
    opened: Any = gzip.open if path.suffix == ".gz" else open
    return opened(path, "rt", encoding="utf-8")


if __name__ == "__main__":
    main()
