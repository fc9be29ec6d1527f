"""Passages: places in texts that people wrote, from which `texts.py` joins new texts.

The texts of a corpus are cut at line ends and at the ends of sentences into units of 40 to 240
characters.  A unit that occurs twice is kept once.  A passage is some consecutive units of one
corpus, so it begins and ends where a writer did.  Small corpora share one pool, since one text
takes all its passages from the same pool.
"""

import re
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from corpus import read_corpus
from workload import text_files

UNIT_MIN = 40  # characters
UNIT_MAX = 240
POOL_BYTES_MIN = 2_000_000  # of the units of a corpus that has a pool of its own
FILES_BYTES_MAX = 60_000_000  # read from this machine's files if no corpora are given
SAMPLED_UNITS = 5_000  # of a pool, for its words
ENDS = re.compile(r"(?<=[.!?])\s+|\s*\n\s*|(?<=[\u3002\uff01\uff1f])")
LONG = re.compile(rf".{{1,{UNIT_MAX}}}(?:\s|$)|.{{{UNIT_MAX}}}", re.DOTALL)
# A Chinese, Japanese or Korean character, or a row of others with the white space after it.
WORDS = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]\s*|[^\s\u3040-\u9fff\uac00-\ud7af]+\s*")

I64 = npt.NDArray[np.int64]


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
    for path in text_files([sysconfig.get_path("stdlib")]):
        if "site-packages" in path.parts:
            continue
        try:
            text = path.read_text("utf-8")
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
