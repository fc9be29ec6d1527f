"""Texts: any number of texts of about 1 KB with known near-duplicates, for benchmarks.

A text joins 3 to 6 passages of one pool (`passages.py`) from places drawn at random, so 30 million
texts from 60 MB are still unrelated; 15 % end with boilerplate, the same passage in many texts.
10 % are edited copies (`edits.py`) of an earlier text: half of them of one of the last 10,000.
Copies of one text are not edited further, so the copies of one text form a group; in every fourth
bunch of 64 texts all copies are of the same text.

Text i depends only on the pools, the seed and i: the first texts of a million are the same as those
of ten thousand, and any text can be made alone.

As a script: writes PREFIX.jsonl (id, text, and `origin`, the id of the text that it is a copy of,
its own if it is none), PREFIX.bits.npy (uint64[n]) and PREFIX.vectors.npy (uint8[n, 64]).
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

import simdb
from edits import edited
from passages import Pool, read_pools
from record import number
from simdb.sketch.sketcher import Sketcher

BATCH = 4096
SIZE_MIN, SIZE_MAX = 600, 1400  # bytes
PASSAGES_MIN, PASSAGES_MAX = 3, 6
COPIES = 0.1  # share of texts that are edited copies
COSINE_MIN = 0.8  # of a copy and its origin, about
BUNCH = 64  # texts; all copies of a bunch can have the same origin
JOINT = 0.25  # share of bunches in which they have
RECENT = 10_000  # texts; half of the copies have their origin among so many before them
BOILERPLATE = 0.15  # share of texts that end with boilerplate
BOILERPLATES = 200  # passages of each pool; the most frequent one ends 13 % of these texts
BOILERPLATE_BYTES = 300

# What a random number is for; each purpose has numbers of its own.
COPY, JOINED, NEAR, ORIGIN, EDIT, POOL, SIZE, COUNT, TAIL, PLACE = range(10)
LENGTH = PLACE + PASSAGES_MAX
BOILERPLATE_PLACE = LENGTH + PASSAGES_MAX

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
F64 = npt.NDArray[np.float64]
Spans = list[tuple[int, int]]


@dataclass(frozen=True)
class Texts:
    """An endless row of texts."""

    pools: list[Pool]
    seed: int = 1
    copies: float = COPIES
    _shares: F64 = field(init=False)

    def __post_init__(self) -> None:
        sizes = np.array([pool.size_bytes for pool in self.pools], np.float64)
        object.__setattr__(self, "_shares", np.cumsum(sizes) / sizes.sum())

    def batches(self, start: int, stop: int, size: int = BATCH) -> Iterator[list[str]]:
        """Yield the texts from `start` up to, not including, `stop`, `size` at a time."""
        for first in range(start, stop, size):
            yield self.texts(np.arange(first, min(first + size, stop)))

    def texts(self, numbers: I64) -> list[str]:
        """Make the texts with these numbers."""
        origins = self.origins(numbers)
        pools = self._pools(origins)
        edits, made = self._draw(numbers, EDIT).tolist(), self._originals(origins, pools)
        for at in np.flatnonzero(origins != numbers).tolist():
            chance = Random(edits[at])
            cosine = COSINE_MIN + (1 - COSINE_MIN) * chance.random()
            made[at] = edited(made[at], self.pools[pools[at]].words, cosine, chance)
        return made

    def origins(self, numbers: I64) -> I64:
        """Return the number of the text that each text is a copy of; its own if it is none."""
        origins = numbers.copy()
        left = np.flatnonzero(self._is_copy(origins))
        while len(left):
            origins[left] = self._sources(origins[left])
            left = left[self._is_copy(origins[left])]
        return origins

    def _is_copy(self, numbers: I64) -> npt.NDArray[np.bool_]:
        return (self._share(numbers, COPY) < self.copies) & (numbers >= BUNCH)

    def _sources(self, numbers: I64) -> I64:
        """Return the text, perhaps itself a copy, that each copy is drawn from."""
        bunches = numbers // BUNCH
        key = np.where(self._share(bunches, JOINED) < JOINT, -bunches, numbers)
        stops = bunches * BUNCH
        starts = np.where(self._share(key, NEAR) < 0.5, np.maximum(stops - RECENT, 0), 0)
        return starts + (self._share(key, ORIGIN) * (stops - starts)).astype(np.int64)

    def _pools(self, numbers: I64) -> I64:
        return np.searchsorted(self._shares[:-1], self._share(numbers, POOL), "right")

    def _originals(self, numbers: I64, pools: I64) -> list[str]:
        """Make texts that are no copies: the passages of each from its pool."""
        made = [""] * len(numbers)
        for at, pool in enumerate(self.pools):
            chosen = np.flatnonzero(pools == at)
            spans = self._passages(pool, numbers[chosen])
            for place, each in zip(chosen.tolist(), spans, strict=True):
                made[place] = "\n".join(
                    unit for start, stop in each for unit in pool.units[start:stop]
                )
        return made

    def _passages(self, pool: Pool, numbers: I64) -> Iterator[Spans]:
        """Yield for each text its passages, as the first unit and the unit after the last."""
        sizes = SIZE_MIN + self._share(numbers, SIZE) * (SIZE_MAX - SIZE_MIN)
        counts = PASSAGES_MIN + (
            self._share(numbers, COUNT) * (PASSAGES_MAX - PASSAGES_MIN + 1)
        ).astype(np.int64)
        starts = np.empty((len(numbers), PASSAGES_MAX), np.int64)
        stops = np.empty_like(starts)
        for at in range(PASSAGES_MAX):
            starts[:, at] = self._share(numbers, PLACE + at) * len(pool.units)
            # The last unit goes beyond the length by half a unit on average.
            wanted = sizes / counts * (0.5 + self._share(numbers, LENGTH + at)) - 50
            stops[:, at] = pool.stops(starts[:, at], np.maximum(wanted, 1).astype(np.int64))
        tails = self._share(numbers, TAIL) / BOILERPLATE
        chosen = np.flatnonzero(tails < 1)
        # The rank of a boilerplate is distributed by Zipf's law, about.
        ranks = np.int64(BOILERPLATES ** tails[chosen]) - 1
        places = np.int64(self._share(ranks, BOILERPLATE_PLACE) * len(pool.units))
        starts[chosen, counts[chosen] - 1] = places
        wanted_bytes = np.full(len(places), BOILERPLATE_BYTES, np.int64)
        stops[chosen, counts[chosen] - 1] = pool.stops(places, wanted_bytes)
        every = zip(starts.tolist(), stops.tolist(), counts.tolist(), strict=True)
        for first, last, count in every:
            yield list(zip(first[:count], last[:count], strict=True))

    def _share(self, numbers: I64, purpose: int) -> F64:
        """Draw random numbers from 0 up to 1."""
        return (self._draw(numbers, purpose) >> np.uint64(11)) * 2.0**-53

    def _draw(self, numbers: I64, purpose: int) -> U64:
        """Draw random numbers of 64 bits that depend on the seed, `numbers` and `purpose` only."""
        key = np.random.SeedSequence([self.seed, purpose]).generate_state(1, np.uint64)
        mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + key
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        return mixed ^ (mixed >> np.uint64(31))


def load_sketches(prefix: str) -> tuple[U64, npt.NDArray[np.uint8]]:
    """Map the fingerprints uint64[n] and packed vectors uint8[n, 64] of written texts."""
    return np.load(f"{prefix}.bits.npy", "r"), np.load(f"{prefix}.vectors.npy", "r")


def load_texts(prefix: str, start: int = 0, stop: int | None = None) -> Iterator[str]:
    """Yield written texts, from `start` up to, not including, `stop`."""
    with open(f"{prefix}.jsonl", encoding="utf-8") as file:
        for at, line in enumerate(file):
            if stop is not None and at >= stop:
                return
            if at >= start:
                yield json.loads(line)["text"]


def lines_of(texts: Texts, start: int, stop: int) -> Iterator[str]:
    """Yield the lines of a file that `write` writes, without the texts before `start`."""
    for first in range(start, stop, BATCH):
        numbers = np.arange(first, min(first + BATCH, stop))
        yield from _lines(texts.texts(numbers), numbers, texts.origins(numbers))


def write(texts: Texts, count: int, prefix: str, *, has_texts: bool = True) -> None:
    """Write texts and their sketches by the default options."""
    Path(prefix).parent.mkdir(parents=True, exist_ok=True)
    sketcher = Sketcher(simdb.Simhash())
    bits = np.lib.format.open_memmap(f"{prefix}.bits.npy", "w+", np.uint64, (count,))
    vectors = np.lib.format.open_memmap(
        f"{prefix}.vectors.npy", "w+", np.uint8, (count, simdb.Simhash().vector_bytes)
    )
    with open(f"{prefix}.jsonl" if has_texts else "/dev/null", "w", encoding="utf-8") as file:
        for start in range(0, count, BATCH):
            numbers = np.arange(start, min(start + BATCH, count))
            batch = texts.texts(numbers)
            sketches = sketcher.sketch(batch)
            bits[numbers], vectors[numbers] = sketches.bits, sketches.vectors
            if has_texts:
                file.writelines(_lines(batch, numbers, texts.origins(numbers)))
    bits.flush()
    vectors.flush()


def _lines(batch: list[str], numbers: I64, origins: I64) -> Iterator[str]:
    for text, at, origin in zip(batch, numbers.tolist(), origins.tolist(), strict=True):
        record = {"id": str(at), "text": text, "origin": str(origin)}
        yield json.dumps(record, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=number, help="number of texts, such as 200k or 10M")
    parser.add_argument("prefix", help="path of the files without what differs in their names")
    parser.add_argument("--corpora", type=Path, help="folder of corpora, NAME.jsonl.gz")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sketches-only", action="store_true", help="write no PREFIX.jsonl")
    arguments = parser.parse_args()
    texts = Texts(read_pools(arguments.corpora), arguments.seed)
    write(texts, arguments.count, arguments.prefix, has_texts=not arguments.sketches_only)


if __name__ == "__main__":
    main()
