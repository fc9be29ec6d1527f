"""Texts: makes texts of about 1 KB with known near-duplicates, from passages of real texts.

A text joins 3 to 6 passages of one pool from places drawn at random, so 30 million texts from 60 MB
are still unrelated.  Of the texts, 15 % end with boilerplate, the same passage in many texts, and
10 % are edited copies of an earlier text.  Half of the copies have one of the last 10,000 texts as
their origin.  A copy is not copied again, so the copies of one text form a group.  Text i depends
only on the pools, the seed and i.

A pool is a corpus of the folder, NAME.jsonl.gz, or without a folder the sources and documents of
the running Python.  It has units of 40 to 240 characters, cut at the ends of lines and sentences.
A passage is a run of units, so it begins and ends where a writer did.

An edit aims at a cosine of the word 3-shingles.  Each of k replaced words among w words replaces up
to three shingles by others, so the cosine is about 1 - 3 k / w.

As a script, it writes JSON lines with `id`, `text` and `origin`.  The origin is the id of the text
that a copy is made from, or the text's own id:

    python tools/bench/texts.py 1M t1m.jsonl --corpora FOLDER
"""

import argparse
import json
import re
import sysconfig
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from random import Random

from corpus import read_corpus
from record import number

UNIT_MIN, UNIT_MAX = 40, 240  # characters
FILES_BYTES_MAX = 60_000_000  # read from this machine's files if no corpora are given
SAMPLED_UNITS = 5_000  # of a pool, for its words
ENDS = re.compile(r"(?<=[.!?])\s+|\s*\n\s*|(?<=[\u3002\uff01\uff1f])")
LONG = re.compile(rf".{{1,{UNIT_MAX}}}(?:\s|$)|.{{{UNIT_MAX}}}", re.DOTALL)
# A Chinese, Japanese or Korean character, or a row of others with the white space after it.
WORDS = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]\s*|[^\s\u3040-\u9fff\uac00-\ud7af]+\s*")
SIZE_MIN, SIZE_MAX = 600, 1400  # bytes
PASSAGES_MIN, PASSAGES_MAX = 3, 6
COPIES = 0.1  # share of texts that are edited copies
COSINE_MIN = 0.8  # of a copy and its origin, about
RECENT = 10_000  # texts before a copy among which half of the copies have their origin
BOILERPLATE = 0.15  # share of texts that end with boilerplate
BOILERPLATES = 200  # passages of each pool; the most frequent one ends 13 % of these texts
BOILERPLATE_BYTES = 300
ORIGIN, WRITTEN, EDIT = range(3)  # purposes of the random numbers of a text

Words = list[str]
Kind = Callable[[Words, Words, float, Random], Words]


class Pool:
    """Units of one corpus in their order."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Cut texts at the ends of lines and sentences; repeated units are dropped."""
        self.units = list(dict.fromkeys(unit for text in texts for unit in _units(text)))
        self._ends = list(accumulate(len(unit.encode()) for unit in self.units))
        self.size_bytes = self._ends[-1]

    def passage(self, start: int, wanted_bytes: float) -> list[str]:
        """Return the units of a passage of at least `wanted_bytes` that begins at unit `start`."""
        begun = self._ends[start - 1] if start else 0
        return self.units[start : bisect_left(self._ends, begun + wanted_bytes) + 1]

    @cached_property
    def words(self) -> Words:
        """Words of some units, the frequent ones often, each with the white space after it."""
        step = max(1, len(self.units) // SAMPLED_UNITS)
        return [word for unit in self.units[::step] for word in WORDS.findall(unit)]


def read_pools(folder: Path | None) -> list[Pool]:
    """Read the pools of all NAME.jsonl.gz in `folder`; without one, of the standard library."""
    if folder is None:
        return [Pool(python_texts(FILES_BYTES_MAX))]
    return [Pool(read_corpus(str(path))[1]) for path in sorted(folder.glob("*.jsonl.gz"))]


def python_texts(left: int) -> Iterator[str]:
    """Yield the sources and documents of the running Python, up to a number of characters."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*")):
        if path.suffix in (".py", ".txt", ".rst", ".md") and "site-packages" not in path.parts:
            with suppress(OSError, UnicodeDecodeError):
                text = path.read_text("utf-8")
                left -= len(text)
                if left < 0:
                    return
                yield text


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


def edited(text: str, words: Words, cosine: float, chance: Random) -> str:
    """Return a near-duplicate of `text`; new words come from `words`."""
    kind = chance.choices(list(EDITS), list(EDITS.values()))[0]
    old = WORDS.findall(text)
    return "".join(kind(old, words, 1 - cosine, chance)) if old else text


def at_places(part: float, change: Callable[[str, Words, Random], str]) -> Kind:
    """Return an edit that changes a `part` of 1 - cosine of the words of a text."""

    def kind(old: Words, new: Words, share: float, chance: Random) -> Words:
        count = int(share * part * len(old) + chance.random())
        for at in chance.sample(range(len(old)), min(count, len(old))):
            old[at] = change(old[at], new, chance)
        return old

    return kind


def moved(old: Words, new: Words, share: float, chance: Random) -> Words:
    """Move a sentence of 12 words, and edit other words as far as the share allows."""
    start, stop = chance.randrange(len(old)), chance.randrange(len(old))
    taken = old[start : start + 12]
    del old[start : start + 12]
    old[stop:stop] = [" ", *taken, " "]
    return mixed(old, new, max(0.0, share - 6 / len(old)), chance)


def truncated(old: Words, new: Words, share: float, chance: Random) -> Words:
    """Cut a text off: the first f of it has the cosine sqrt(f) with the whole."""
    kept = max(1, round(len(old) * (1 - share) ** 2))
    return old[:kept] if chance.random() < 0.7 else old[len(old) - kept :]


replaced = at_places(1 / 3, lambda word, new, chance: chance.choice(new))
deleted = at_places(1 / 2.5, lambda word, new, chance: "")
inserted = at_places(1 / 2.5, lambda word, new, chance: f"{word} {chance.choice(new)} ")
recased = at_places(1, lambda word, new, chance: f"{word.swapcase()} ")
swapped = at_places(1 / 5, lambda word, new, chance: f"{word[1:]} {word[:1]} ")
mixed = at_places(1 / 3, lambda word, new, chance: chance.choice(
    ("", chance.choice(new), f"{word} {chance.choice(new)} ")
))  # fmt: skip
EDITS: dict[Kind, float] = {
    lambda old, new, share, chance: old: 0.1, recased: 0.05, replaced: 0.2, deleted: 0.15,
    inserted: 0.15, swapped: 0.1, moved: 0.1, truncated: 0.1, mixed: 0.05,
}  # fmt: skip


class Texts:
    """An endless row of texts."""

    def __init__(self, pools: list[Pool], seed: int = 1) -> None:
        """Draw from pools in proportion to their bytes."""
        self._pools, self._seed = pools, seed
        self._shares = list(accumulate(pool.size_bytes for pool in pools))

    def between(self, start: int, stop: int) -> list[str]:
        """Make the texts from number `start` up to, not including, `stop`."""
        return [self.text(number) for number in range(start, stop)]

    def with_origins(self, count: int) -> Iterator[tuple[str, int]]:
        """Yield the first texts, each with the number of the text that it is a copy of."""
        return ((self.text(number), self.origin(number)) for number in range(count))

    def text(self, number: int) -> str:
        origin = self.origin(number)
        pool, text = self._original(origin)
        if origin == number:
            return text
        chance = self._chance(number, EDIT)
        return edited(text, pool.words, chance.uniform(COSINE_MIN, 1), chance)

    def origin(self, number: int) -> int:
        """Return the number of the text that a text is a copy of; its own if it is none."""
        chance = self._chance(number, ORIGIN)
        if not number or chance.random() >= COPIES:
            return number
        start = max(number - RECENT, 0) if chance.random() < 0.5 else 0
        # The drawn text may be a copy itself.
        return self.origin(chance.randrange(start, number))

    def _original(self, number: int) -> tuple[Pool, str]:
        """Make a text that is no copy, of passages of one pool."""
        chance = self._chance(number, WRITTEN)
        [pool] = chance.choices(self._pools, cum_weights=self._shares)
        size, count = chance.uniform(SIZE_MIN, SIZE_MAX), chance.randint(PASSAGES_MIN, PASSAGES_MAX)
        # The last unit goes beyond the length by half a unit on average.
        passages = [
            pool.passage(
                chance.randrange(len(pool.units)), size / count * (0.5 + chance.random()) - 50
            )
            for _ in range(count)
        ]
        if chance.random() < BOILERPLATE:
            # The rank of a boilerplate is distributed by Zipf's law, about.
            rank = int(BOILERPLATES ** chance.random())
            place = Random(rank).randrange(len(pool.units))
            passages[-1] = pool.passage(place, BOILERPLATE_BYTES)
        return pool, "\n".join(unit for passage in passages for unit in passage)

    def _chance(self, number: int, purpose: int) -> Random:
        return Random((self._seed << 2 | purpose) << 64 | number)


def lines_of(texts: Iterable[tuple[str, int]]) -> Iterator[bytes]:
    """Yield JSON lines with id, text and origin, of texts with the numbers of their origins."""
    for at, (text, origin) in enumerate(texts):
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
        file.writelines(lines_of(texts.with_origins(arguments.count)))


if __name__ == "__main__":
    main()
