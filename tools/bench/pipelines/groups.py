"""Groups: what every pipeline shares, from the lines of a file to the rows of groups.

Each script of this folder does the job of `simdb dedup` with another library, as its documentation
advises, in a process of its own: it reads JSON lines with the fields id and text, and prints the
groups of near-duplicates in the form that `simdb dedup --json` prints.  A text is compared by its
word 3-shingles, at a Jaccard similarity of 0.8, with signatures of 128 minima.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

try:
    from orjson import loads
except ImportError:
    from json import loads

SIMILARITY = 0.8
PERMUTATIONS = 128
BATCH = 10_000  # texts that are cut and signed at once
WORD = re.compile(r"\w+")

Batch = tuple[list[str], list[str]]


def read_batches(path: str, parse: Callable[[bytes], Any] = loads) -> Iterator[Batch]:
    """Yield ids and texts of a file, BATCH at a time."""
    with open(path, "rb") as file:
        while lines := list(islice(file, BATCH)):
            records = list(map(parse, lines))
            yield [each["id"] for each in records], [each["text"] for each in records]


def shingles(text: str) -> list[str]:
    """Cut a text into word 3-shingles; a shorter text is one shingle."""
    words = WORD.findall(text.lower())
    return list(map(" ".join, zip(words, words[1:], words[2:], strict=False))) or words


def print_groups(names: list[str], pairs: Iterable[tuple[int, int]]) -> None:
    """Print the groups that pairs of positions connect; the first member represents its group."""
    owner = list(range(len(names)))
    for left, right in pairs:
        first, second = sorted((root(owner, left), root(owner, right)))
        owner[second] = first
    members: dict[int, list[int]] = {}
    for at in range(len(names)):
        first = root(owner, at)
        if first != at:
            members.setdefault(first, []).append(at)
    for first, others in members.items():
        row = {"representative": names[first], "duplicates": [{"id": names[at]} for at in others]}
        sys.stdout.write(json.dumps(row) + "\n")


def root(owner: list[int], at: int) -> int:
    """Return the first member of the group of `at`, and shorten the way to it."""
    while owner[at] != at:
        owner[at] = at = owner[owner[at]]
    return at
