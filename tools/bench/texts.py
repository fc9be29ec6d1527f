"""Texts: any number of texts of about 1 KB with known near-duplicates, from passages of real ones.

A text joins 3 to 6 passages of one pool from places drawn at random, so 30 million texts from 60 MB
are still unrelated; 15 % end with boilerplate, the same passage in many texts.  10 % are edited
copies of an earlier text: half of them of one of the last 10,000.  Copies of one text are not
edited further, so the copies of one text form a group; in every fourth bunch of 64 texts all copies
are of the same text.  Text i depends only on the pools, the seed and i.

A pool has units of 40 to 240 characters, cut at the ends of lines and sentences; a passage is some
of them in a row, so it begins and ends where a writer did.  Small corpora share one pool.  Without
a folder of corpora the texts are the sources and documents of the running Python.

An edit aims at a cosine of the word 3-shingles: with w words, each of k replaced words takes up to
three shingles from the text and brings three others, so the cosine is about 1 - 3 k / w.

As a script it writes JSON lines with id, text, and `origin`, the id of the text that it is a copy
of, its own if it is none:

    python tools/bench/texts.py 1M t1m.jsonl --corpora FOLDER
"""

import argparse
import json
import os
import re
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

from corpus import read_corpus
from record import number

UNIT_MIN = 40  # characters
UNIT_MAX = 240
POOL_BYTES_MIN = 2_000_000  # of the units of a corpus that has a pool of its own
FILES_BYTES_MAX = 60_000_000  # read from this machine's files if no corpora are given
SAMPLED_UNITS = 5_000  # of a pool, for its words
ENDS = re.compile(r"(?<=[.!?])\s+|\s*\n\s*|(?<=[\u3002\uff01\uff1f])")
LONG = re.compile(rf".{{1,{UNIT_MAX}}}(?:\s|$)|.{{{UNIT_MAX}}}", re.DOTALL)
# A Chinese, Japanese or Korean character, or a row of others with the white space after it.
WORDS = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]\s*|[^\s\u3040-\u9fff\uac00-\ud7af]+\s*")

TEXT_SUFFIXES = (".py", ".txt", ".rst", ".md")

# Number of words to edit, as a share of 1 - cosine of the words of the text.
REPLACED = 1 / 3
DELETED = 1 / 2.5
INSERTED = 1 / 2.5
SWAPPED = 1 / 4
MIXED = 1 / 3
SENTENCE = 12  # words that are moved together


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
Words = list[str]


@dataclass(frozen=True)
class Pool:
    """Units of one corpus in their order; `ends[i]` counts the bytes of all units up to unit i."""

    name: str
    units: list[str]
    ends: I64

    @property
    def size_bytes(self) -> int:
        return int(self.ends[-1])

    def stops(self, starts: I64, wanted_bytes: I64) -> I64:
        """Return where passages of at least so many bytes end that begin at units `starts`."""
        begun = np.where(starts > 0, self.ends[starts - 1], 0)
        stops = np.searchsorted(self.ends, begun + wanted_bytes) + 1
        return np.minimum(stops, len(self.units))

    @cached_property
    def words(self) -> list[str]:
        """Words of some units, the frequent ones often, each with the white space after it."""
        step = max(1, len(self.units) // SAMPLED_UNITS)
        return [word for unit in self.units[::step] for word in WORDS.findall(unit)]


def read_pools(folder: Path | None) -> list[Pool]:
    """Read the pools of all NAME.jsonl.gz in `folder`; without one, of the standard library."""
    seen: set[str] = set()
    pools, small = [], []
    for name, texts in _collections(folder):
        units = [unit for text in texts for unit in _units(text) if _is_new(unit, seen)]
        if sum(len(unit.encode()) for unit in units) < POOL_BYTES_MIN:
            small += units
        else:
            pools.append(_pool(name, units))
    if small:
        pools.append(_pool("small corpora", small))
    if not pools:
        raise ValueError(f"{folder} must have corpora, NAME.jsonl.gz, got none")
    return pools


def _collections(folder: Path | None) -> Iterator[tuple[str, Iterable[str]]]:
    if folder is None:
        yield "standard library", _installed()
        return
    for path in sorted(folder.glob("*.jsonl.gz")):
        yield path.name.removesuffix(".jsonl.gz"), read_corpus(str(path))[1]


def _installed() -> Iterator[str]:
    """Yield the sources and documents of the running Python, FILES_BYTES_MAX at most."""
    left = FILES_BYTES_MAX
    for folder, below, names in os.walk(sysconfig.get_path("stdlib")):
        below[:] = sorted({*below} - {"site-packages"})
        for name in sorted(names):
            if name.endswith(TEXT_SUFFIXES):
                try:
                    text = Path(folder, name).read_text("utf-8")
                except (OSError, UnicodeDecodeError):
                    continue
                left -= len(text)
                if left < 0:
                    return
                yield text


def _is_new(unit: str, seen: set[str]) -> bool:
    if unit in seen:
        return False
    seen.add(unit)
    return True


def _units(text: str) -> Iterator[str]:
    """Cut a text at the ends of lines and sentences; short pieces are joined, long ones cut."""
    unit = ""
    for piece in ENDS.split(text):
        unit = f"{unit} {piece}" if unit else piece
        if len(unit) > UNIT_MAX:
            yield from (part.strip() for part in LONG.findall(unit) if len(part) >= UNIT_MIN)
            unit = ""
        elif len(unit) >= UNIT_MIN:
            yield unit
            unit = ""


def _pool(name: str, units: list[str]) -> Pool:
    return Pool(name, units, np.cumsum([len(unit.encode()) for unit in units], dtype=np.int64))


def edited(text: str, words: Words, cosine: float, chance: Random) -> str:
    """Return a near-duplicate of `text`; new words come from `words`."""
    kind = chance.choices(KINDS, SHARES)[0]
    old = WORDS.findall(text)
    return "".join(kind(old, words, 1 - cosine, chance)) if old else text


def copied(old: Words, new: Words, share: float, chance: Random) -> Words:
    return old


def recased(old: Words, new: Words, share: float, chance: Random) -> Words:
    """Change case and white space, which no default feature sees."""
    if chance.random() < 0.5:
        return [word.upper() for word in old]
    return [word.swapcase() if chance.random() < share else word + " " for word in old]


def replaced(old: Words, new: Words, share: float, chance: Random) -> Words:
    for at in _places(old, share * REPLACED, chance):
        old[at] = chance.choice(new)
    return old


def deleted(old: Words, new: Words, share: float, chance: Random) -> Words:
    for at in _places(old, share * DELETED, chance):
        old[at] = ""
    return old


def inserted(old: Words, new: Words, share: float, chance: Random) -> Words:
    for at in _places(old, share * INSERTED, chance):
        old[at] += f" {chance.choice(new)} "
    return old


def swapped(old: Words, new: Words, share: float, chance: Random) -> Words:
    for at in _places(old[1:], share * SWAPPED, chance):
        old[at], old[at + 1] = f"{old[at + 1]} ", f"{old[at]} "
    return old


def moved(old: Words, new: Words, share: float, chance: Random) -> Words:
    """Move a sentence, and edit other words as far as the share allows."""
    start, stop = chance.randrange(len(old)), chance.randrange(len(old))
    taken = old[start : start + SENTENCE]
    del old[start : start + SENTENCE]
    old[stop:stop] = [" ", *taken, " "]
    return mixed(old, new, max(0.0, share - 6 / len(old)), chance)


def truncated(old: Words, new: Words, share: float, chance: Random) -> Words:
    """Cut a text off: the first f of it has the cosine sqrt(f) with the whole."""
    kept = max(1, round(len(old) * (1 - share) ** 2))
    return old[:kept] if chance.random() < 0.7 else old[len(old) - kept :]


def mixed(old: Words, new: Words, share: float, chance: Random) -> Words:
    for at in _places(old, share * MIXED, chance):
        old[at] = chance.choice(("", chance.choice(new), f"{old[at]} {chance.choice(new)} "))
    return old


def _places(words: Words, share: float, chance: Random) -> list[int]:
    """Choose a share of the places, different ones; a share between two numbers by chance."""
    count = int(share * len(words) + chance.random())
    return chance.sample(range(len(words)), min(count, len(words)))


Kind = Callable[[Words, Words, float, Random], Words]
EDITS: dict[Kind, float] = {
    copied: 0.1, recased: 0.05, replaced: 0.2, deleted: 0.15, inserted: 0.15, swapped: 0.1,
    moved: 0.1, truncated: 0.1, mixed: 0.05,
}  # fmt: skip
KINDS, SHARES = list(EDITS), list(EDITS.values())


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

    def between(self, start: int, stop: int) -> list[str]:
        return [text for batch in self.batches(start, stop) for text in batch]

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


def lines_of(texts: Texts, start: int, stop: int) -> Iterator[bytes]:
    """Yield JSON lines with id, text and origin."""
    for first in range(start, stop, BATCH):
        numbers = np.arange(first, min(first + BATCH, stop))
        every = texts.texts(numbers), numbers.tolist(), texts.origins(numbers).tolist()
        for text, at, origin in zip(*every, strict=True):
            row = {"id": str(at), "text": text, "origin": str(origin)}
            yield json.dumps(row, ensure_ascii=False).encode() + b"\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=number, help="number of texts, such as 200k or 10M")
    parser.add_argument("path", type=Path, help="the file to write")
    parser.add_argument("--corpora", type=Path, help="folder of corpora, NAME.jsonl.gz")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    texts = Texts(read_pools(arguments.corpora), arguments.seed)
    with arguments.path.open("wb") as file:
        file.writelines(lines_of(texts, 0, arguments.count))


if __name__ == "__main__":
    main()
