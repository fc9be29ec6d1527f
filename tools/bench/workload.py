"""Workloads: random fingerprints with planted neighbours, and texts, to store and look up.

Stored fingerprints are uniform 64-bit numbers.  Every second query is a stored fingerprint with d
random bits flipped, d uniform on 0 .. 3 or another limit, so that the right answer is known.  The
other queries are uniform; at these sizes, at most a few in a million have a neighbour within 3.
"""

import os
import site
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

DISTANCE = 3
TEXT_SUFFIXES = (".py", ".txt", ".rst", ".md")
PIECE_CHARACTERS = 3000

U64 = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Planted:
    """`queries`; query `asked[i]` has the stored `neighbour[i]` at `distance[i]`.

    No distance is above `distance_max`.
    """

    stored: U64
    queries: U64
    asked: npt.NDArray[np.int64]
    neighbour: npt.NDArray[np.int64]
    distance: npt.NDArray[np.int64]
    distance_max: int = DISTANCE


def planted(
    stored_count: int, query_count: int, seed: int, distance_max: int = DISTANCE
) -> Planted:
    """Draw stored fingerprints and queries as the module describes.

    The stored fingerprints depend only on their number and the seed.
    """
    random = np.random.default_rng([seed, stored_count])
    stored = random.integers(0, 2**64, stored_count, np.uint64)
    queries = random.integers(0, 2**64, query_count, np.uint64)
    asked = np.arange(0, query_count, 2)
    neighbour = random.integers(0, stored_count, len(asked))
    distance = random.integers(0, distance_max + 1, len(asked))
    bits = np.argsort(random.random((len(asked), 64)), axis=1)[:, :distance_max].astype(np.uint64)
    flipped = np.arange(distance_max) < distance[:, None]
    flips = np.where(flipped, np.uint64(1) << bits, np.uint64(0))
    queries[asked] = stored[neighbour] ^ np.bitwise_xor.reduce(flips, axis=1)
    return Planted(stored, queries, asked, neighbour, distance, distance_max)


def check_found(
    truth: Planted, queries: npt.NDArray[np.int64], ordinals: npt.NDArray[np.int64]
) -> None:
    """Raise unless (queries[i], ordinals[i]) hold every planted pair and no wrong pair."""
    differing = truth.queries[queries] ^ truth.stored[ordinals]
    if len(differing) and int(np.bitwise_count(differing).max()) > truth.distance_max:
        raise ValueError("a reported pair is farther apart than the query allows")
    size = len(truth.stored)
    found = queries.astype(np.int64) * size + ordinals.astype(np.int64)
    lost = ~np.isin(truth.asked * size + truth.neighbour, found)
    if lost.any():
        raise ValueError(f"{np.count_nonzero(lost)} of {len(lost)} planted pairs were not found")
    if len(np.unique(found)) != len(found):
        raise ValueError("a pair was reported twice")


def ids(kind: str, start: int, stop: int) -> list[str] | list[int]:
    """Make ids of documents: whole numbers, or str of 20 bytes."""
    if kind == "int":
        return list(range(start, stop))
    return [f"document-{number:011d}" for number in range(start, stop)]


def pieces(paths: list[str], megabytes: float) -> list[str]:
    """Cut text files at line ends into pieces of about 3 KB, `megabytes` of UTF-8 at most."""
    found: list[str] = []
    room = int(megabytes * 1e6)
    for path in text_files(paths or _installed()):
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        for piece in _cut(text):
            found.append(piece)
            room -= len(piece.encode())
            if room <= 0:
                return found
    return found


@contextmanager
def scratch(directory: str | None) -> Iterator[Path]:
    """Make a directory for databases, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="simdb-bench-", dir=directory) as made:
        yield Path(made)


def _installed() -> list[str]:
    return [sysconfig.get_path("stdlib"), *site.getsitepackages()]


def text_files(paths: list[str]) -> Iterator[Path]:
    for start in paths:
        if os.path.isfile(start):
            yield Path(start)
        for folder, folders, names in os.walk(start):
            folders.sort()
            for name in sorted(names):
                if name.endswith(TEXT_SUFFIXES):
                    yield Path(folder, name)


def _cut(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        stop = text.find("\n", start + PIECE_CHARACTERS) + 1
        stop = stop or len(text)
        if text[start:stop].strip():
            yield text[start:stop]
        start = stop
