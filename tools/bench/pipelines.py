"""Pipelines: does the jobs of `job.py` with other libraries, each in its own process.

    python tools/bench/pipelines.py NAME FILE...

rensa, gaoya and duckdb print groups of near-duplicates of JSON lines like `simdb dedup --json`.  As
their documentation advises, they use word 3-shingles, Jaccard 0.8 and 128 minima, and measure each
candidate by its signature.  The library gaoya cuts the texts itself and uses all cores.  DuckDB
groups equal texts only, with its own reader, as SQL does for a large file.  The others:

read   json.loads of each line.

frame  A DataFrame: read, drop_duplicates of pandas, or deduplicate of simdb.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from typing import Any

try:
    from orjson import loads
except ImportError:
    from json import loads

SIMILARITY = 0.8
PERMUTATIONS = 128
BANDS = 16  # of 8 minima, as the documentation of rensa has it for a similarity of 0.8
BATCH = 10_000  # texts that are cut and signed at once
WORD = re.compile(r"\w+")
EQUAL = """
SELECT list(id ORDER BY place) FROM (
    SELECT id, md5_number(text) AS hash, row_number() OVER () AS place
    FROM read_json(?, format = 'newline_delimited', columns = {id: 'VARCHAR', text: 'VARCHAR'})
) GROUP BY hash HAVING count(*) > 1
"""
Found = Iterator[tuple[int, int]]


def read_batches(path: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield ids and texts of a file, BATCH at a time."""
    with open(path, "rb") as file:
        while lines := list(islice(file, BATCH)):
            records = list(map(loads, lines))
            yield [each["id"] for each in records], [each["text"] for each in records]


def shingles(text: str) -> list[str]:
    """Cut a text into word 3-shingles; a shorter text is one shingle."""
    words = WORD.findall(text.lower())
    return list(map(" ".join, zip(words, words[1:], words[2:], strict=False))) or words


def print_groups(names: list[str], pairs: list[tuple[int, int]]) -> None:
    """Print the groups that pairs of positions connect; the first member represents its group."""
    owner = list(range(len(names)))

    def root(at: int) -> int:
        while owner[at] != at:
            owner[at] = at = owner[owner[at]]
        return at

    for left, right in pairs:
        first, second = sorted((root(left), root(right)))
        owner[second] = first
    members: dict[int, list[int]] = {}
    for at in range(len(names)):
        if root(at) != at:
            members.setdefault(root(at), []).append(at)
    for first, others in members.items():
        row = {"representative": names[first], "duplicates": [{"id": names[at]} for at in others]}
        sys.stdout.write(json.dumps(row) + "\n")


def by_rensa(rensa: Any, path: str, names: list[str]) -> Found:
    index = rensa.RMinHashLSH(threshold=SIMILARITY, num_perm=PERMUTATIONS, num_bands=BANDS)
    signatures: list[Any] = []
    for ids, texts in read_batches(path):
        signed = rensa.RMinHash.from_token_sets(list(map(shingles, texts)), PERMUTATIONS, 42)
        index.insert_many(signed, len(names))
        signatures += signed
        for at, found in enumerate(index.query_all(signed), len(names)):
            for other in found:
                if other < at and signatures[at].jaccard(signatures[other]) >= SIMILARITY:
                    yield other, at
        names += ids


def by_gaoya(gaoya: Any, path: str, names: list[str]) -> Found:
    """Fill the index with all texts, then query it with each of them."""
    index = gaoya.MinHashStringIndex(
        hash_size=32, jaccard_threshold=SIMILARITY, num_bands=BANDS,
        band_size=PERMUTATIONS // BANDS, analyzer="word", lowercase=True, ngram_range=(3, 3),
        id_container="smallvec",
    )  # fmt: skip
    for ids, texts in read_batches(path):
        index.par_bulk_insert_docs(list(range(len(names), len(names) + len(ids))), texts)
        names += ids
    queried = (found for _, texts in read_batches(path) for found in index.par_bulk_query(texts))
    for at, found in enumerate(queried):
        yield from ((at, other) for other in found)


def by_duckdb(duckdb: Any, path: str, names: list[str]) -> Found:
    """Group by the hash of the text, with the cores that this process may use."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {len(os.sched_getaffinity(0))}")
    connection.execute("SET memory_limit = '2GB'")
    for (group,) in connection.execute(EQUAL, [path]).fetchall():
        yield from ((len(names), len(names) + at) for at in range(1, len(group)))
        names += group


PEERS: dict[str, Callable[[Any, str, list[str]], Found]] = {
    "rensa": by_rensa, "gaoya": by_gaoya, "duckdb": by_duckdb,
}  # fmt: skip


def read(path: str) -> None:
    with open(path, "rb") as file:
        for line in file:
            json.loads(line)


def frame(path: str, what: str, kind: str) -> None:
    """Read texts into a column of type "object" or "str", and remove duplicates."""
    pandas = import_module("pandas")
    texts = [text for _, some in read_batches(path) for text in some]
    made = pandas.DataFrame({"text": pandas.Series(texts, dtype=kind)})
    if what == "drop_duplicates":
        made = made.drop_duplicates("text")
    elif what == "deduplicate":
        made = import_module("simdb").deduplicate(made).data
    print(len(made))


def main() -> None:
    name, *given = sys.argv[1:]
    if name in PEERS:
        package, names = import_module("gaoya.minhash" if name == "gaoya" else name), list[str]()
        pairs = list(PEERS[name](package, given[0], names))  # which completes the names
        print_groups(names, pairs)
    else:
        {"read": read, "frame": frame}[name](*given)


if __name__ == "__main__":
    main()
