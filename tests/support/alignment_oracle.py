"""Alignment oracle: finds passages of a document and an item by loops, to check `align`.

A shared n-gram is a seed.  It grows on both sides while words are equal.  It also grows over a few
changed, inserted or omitted words, if two equal words follow them.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

# Words in a row that may differ in a passage, on either side.
CHANGED_WORDS = 3
# Words that must be equal after a change.
EQUAL_AGAIN = 2

Words = Sequence[int]


class Passage(NamedTuple):
    """Positions of words in a document and an item that are equal, except for a few changes.

    `stop` is the position after the last word.  `equal`: the words of the item that are equal.
    """

    document_start: int
    document_stop: int
    item_start: int
    item_stop: int
    equal: frozenset[int]


class Seed(NamedTuple):
    """A run of equal words: where it begins in the document and in the item, and its length."""

    document: int
    item: int
    length: int


def seeds(document: Words, item: Words, length: int) -> list[Seed]:
    """Return all runs of `length` equal words."""
    return [
        Seed(x, y, length)
        for x in range(len(document) - length + 1)
        for y in range(len(item) - length + 1)
        if document[x : x + length] == item[y : y + length]
    ]


def passages(document: Words, item: Words, runs: Sequence[Seed]) -> list[Passage]:
    """Return the passages that grow from runs, in their order."""
    found: list[Passage] = []
    for seed in runs:
        if not any(_holds(passage, seed) for passage in found):
            found.append(_grown(document, item, seed))
    return found


def joined(seeds: Sequence[Seed]) -> list[Seed]:
    """Join seeds that overlap at the same distance; return the seeds."""
    runs: list[Seed] = []
    for seed in sorted(seeds, key=lambda each: (each.document - each.item, each.item)):
        last = runs[-1] if runs else None
        if (
            last is not None
            and last.document - last.item == seed.document - seed.item
            and seed.item <= last.item + last.length
        ):
            length = max(last.length, seed.item + seed.length - last.item)
            runs[-1] = Seed(last.document, last.item, length)
        else:
            runs.append(seed)
    return sorted(runs, key=lambda run: (run.item, run.document))


def _holds(passage: Passage, seed: Seed) -> bool:
    return (
        passage.document_start <= seed.document
        and seed.document + seed.length <= passage.document_stop
        and passage.item_start <= seed.item
        and seed.item + seed.length <= passage.item_stop
    )


def _grown(document: Words, item: Words, seed: Seed) -> Passage:
    """Return the passage around one seed."""
    equal = set(range(seed.item, seed.item + seed.length))
    stop = seed.document + seed.length, seed.item + seed.length
    for stop_before in matches(document, item, *stop, 1):
        equal.add(stop_before[1])
        stop = stop_before[0] + 1, stop_before[1] + 1
    start = seed.document, seed.item
    for start in matches(document, item, seed.document - 1, seed.item - 1, -1):
        equal.add(start[1])
    return Passage(start[0], stop[0], start[1], stop[1], frozenset(equal))


def matches(
    document: Words, item: Words, at: int, own: int, step: int
) -> Iterator[tuple[int, int]]:
    """Yield the positions of equal words from two positions on, forwards or backwards."""
    while True:
        while 0 <= at < len(document) and 0 <= own < len(item) and document[at] == item[own]:
            yield at, own
            at, own = at + step, own + step
        resumed = next(
            (
                (at + step * x, own + step * y)
                for x, y in CHANGES
                if _is_equal_again(document, item, at + step * x, own + step * y, step)
            ),
            None,
        )
        if resumed is None:
            return
        at, own = resumed


def _is_equal_again(document: Words, item: Words, at: int, own: int, step: int) -> bool:
    """Return whether enough words are equal from two positions on, or up to the end of an item."""
    for _ in range(EQUAL_AGAIN):
        is_inside = 0 <= at < len(document) and 0 <= own < len(item)
        if not is_inside or document[at] != item[own]:
            return False
        at, own = at + step, own + step
    return True


# Words to skip in the document and in the item, the smallest changes first.
CHANGES = sorted(
    (
        (x, y)
        for x in range(CHANGED_WORDS + 1)
        for y in range(CHANGED_WORDS + 1)
        if (x, y) != (0, 0)
    ),
    key=lambda change: (max(change), sum(change)),
)
