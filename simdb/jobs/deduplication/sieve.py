"""Sieve: the removal of parts that occurred earlier, in the same document or another one.

`SortedKeys` keeps the keys of distinct parts, and `UnitKeys` the keys in the notes of a database.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simdb.core import keeping, kernel
from simdb.core.arrays import flags_at, offsets_of, places_in, sums_of
from simdb.core.dtypes import I64, U8, U64, Bools
from simdb.core.errors import InputError, OptionError
from simdb.core.options import DOCUMENT, Options, Unit
from simdb.core.text_sketch import TextSketch
from simdb.core.threads import mapped
from simdb.database import EXACT, STAR, numbered
from simdb.jobs.deduplication.minima import SortedKeys
from simdb.jobs.deduplication.question import DedupQuestion, joined
from simdb.jobs.deduplication.repeat import Noted, name_of
from simdb.jobs.deduplication.result import Parts
from simdb.jobs.deduplication.rows import RowTexts
from simdb.jobs.deduplication.within import find_alike
from simdb.sketch import WordOrder

NOTE = "parts/"
# Keys per note, which has 8 MiB.
PIECE_KEYS = 1 << 20
# The name of a run that cannot be repeated.
NAMELESS = ""

Batch = Sequence[Any]  # str, or UTF-8 in bytes

# States of a part: too short to be dropped, first with its words, dropped.
SHORT, FIRST, DROPPED = 0, 1, 2
# Shorter parts are headings, brackets, "Read more" and "Yes", which repeat legitimately.
MIN_WORDS = 5


class UnitKeys:
    """The keys of parts of one unit in a database, for one run."""

    def __init__(self, transaction: Noted, unit: str, run: str | None) -> None:
        """Read the directory of runs that have stored keys.

        `run`: the name of this run; None for a name derived from all its keys.
        """
        self._transaction, self._name, self._run = transaction, NOTE + unit, run
        directory = transaction.note(self._name)
        self._runs: list[str] = [] if directory is None else directory["pieces"]
        self._known = len(self._runs)

    def settle(self, keys: U64) -> Bools:
        """Return whether another run has each of the distinct, ascending `keys`; store new ones."""
        run = name_of(keys) if self._run is None else self._run
        is_old = np.zeros(len(keys), np.bool_)
        is_own = np.zeros(len(keys), np.bool_)
        for number, name in enumerate(self._runs):
            piece = np.frombuffer(self._transaction.note(f"{self._name}/{number}"), "<u8")
            start, stop = np.searchsorted(keys, piece[0]), np.searchsorted(keys, piece[-1], "right")
            is_here = is_own if name == run and run != NAMELESS else is_old
            is_here[start:stop] |= places_in(piece, keys[start:stop]) >= 0
        self._add(keys[~is_old & ~is_own], run)
        return is_old

    def are_stored(self, note: Callable[[str], Any]) -> bool:
        """Return whether a reader's notes have the keys that this run has added."""
        directory = note(self._name)
        runs = [] if directory is None else directory["pieces"]
        return len(self._runs) > self._known and self._runs == runs

    def _add(self, keys: U64, run: str) -> None:
        for start in range(0, len(keys), PIECE_KEYS):
            piece = keys[start : start + PIECE_KEYS].astype("<u8").tobytes()
            self._transaction.set_note(f"{self._name}/{len(self._runs)}", piece)
            self._runs.append(run)
        if len(keys):
            self._transaction.set_note(self._name, {"pieces": self._runs})


class Cut(NamedTuple):
    """The parts of documents: the number in each, and the key and number of words of each part."""

    counts: I64
    keys: U64
    words: I64

    def sums(self, flags: Bools) -> I64:
        """Count the parts of each document that have a flag: int64[n]."""
        return sums_of(flags, offsets_of(self.counts))


class Dropped(NamedTuple):
    """The parts that a sieve drops from each document.

    `flags` bool[k]: whether each part is dropped; document i has
    `flags[offsets[i] : offsets[i + 1]]`.  `offsets`: int64[n + 1].  `counts` int64[n]: the number
    of dropped parts of each document.  `kept` bool[n]: whether the document lost no part or still
    has words.
    """

    offsets: I64
    flags: Bools
    counts: I64
    kept: Bools

    @property
    def changed(self) -> I64:
        """The positions of kept documents that lost parts."""
        return np.flatnonzero(self.kept & (self.counts > 0))

    def of(self, position: int) -> Bools:
        """Return whether each part of a document is dropped: bool[p]."""
        return self.flags[self.offsets[position] : self.offsets[position + 1]]


class Sieve:
    """The parts of all documents so far, which are equal if they have the same words.

    Memory holds a byte for each part, and 8 bytes for each distinct part that can be dropped.
    """

    def __init__(
        self,
        sketch: TextSketch,
        unit: Unit,
        question: DedupQuestion,
        stored: UnitKeys | None = None,
    ) -> None:
        """Cut texts into parts of one `unit`, and parts into words as `sketch` does.

        `stored`: the keys in a database, if there is one; then each distinct part takes 8 more
        bytes.  If `question` has a similarity, parts that are similar to an earlier part are also
        dropped, and memory holds the texts of all distinct parts until `decide`.  Raises
        OptionError for a sketch without words.
        """
        self._order, self._unit = WordOrder(sketch), unit.name
        self._min_words = unit.min_words or MIN_WORDS
        self._errors, self._threads, self._stored = question.errors, question.threads, stored
        self._sketch, self._alike = sketch, None
        if question.similarity is not None:
            self._alike = question.of(sketch)
            self._alike.check(sketch)
        self._seen = SortedKeys()
        self._counts: list[I64] = []  # numbers of parts
        self._spoken: list[I64] = []  # numbers of parts with words
        self._states: list[U8] = []
        self._firsts: list[U64] = []  # keys of all first parts, in order
        self._texts: list[str] = []  # of first parts, if they are compared
        self.documents = self.short = 0

    def read(self, batches: Iterable[Batch]) -> Iterator[int]:
        """Add all documents; yield the number of documents so far."""
        for found, texts in mapped(
            lambda some: (self._cut(*some), some[1]), numbered(batches), self._threads
        ):
            states = self._take(found)
            if self._alike is not None:
                self._keep_texts(texts, found.counts, states == FIRST)
            yield self.documents

    def decide(self) -> Dropped:
        """Return the dropped parts, and store the new keys."""
        if self._stored is not None:
            self._settle(self._stored)
        if self._alike is not None:
            self._settle_alike(self._alike)
        offsets = np.cumsum(joined([np.zeros(1, np.int64), *self._counts]))
        flags = np.concatenate([np.empty(0, np.bool_), *(each == DROPPED for each in self._states)])
        counts = sums_of(flags, offsets)
        return Dropped(offsets, flags, counts, (counts == 0) | (counts < self.spoken))

    def parts(self, dropped: Dropped) -> Parts:
        """Return the numbers of parts for a result."""
        return Parts(self._unit, int(self.spoken.sum()), self.short, dropped.counts)

    def _settle(self, stored: UnitKeys) -> None:
        """Drop the parts that other runs have stored, and store the new keys."""
        keys = self._seen.all()
        old = keys[stored.settle(keys)]
        for states, own in zip(self._states, self._firsts, strict=True):
            states[np.flatnonzero(states == FIRST)[places_in(old, own) >= 0]] = DROPPED
        self._firsts.clear()

    def _settle_alike(self, question: DedupQuestion) -> None:
        """Drop the parts that are similar to an earlier kept part."""
        texts = RowTexts(self._texts)
        options = Options(sketch=self._sketch)  # type: ignore[arg-type]
        found = find_alike(texts, np.arange(len(texts)), options, question)
        is_removed = flags_at(found.removed, len(texts))
        done = 0
        for states in self._states:
            firsts = np.flatnonzero(states == FIRST)
            states[firsts[is_removed[done : done + len(firsts)]]] = DROPPED
            done += len(firsts)
        self._texts.clear()

    @property
    def spoken(self) -> I64:
        """The number of parts with words of each document: int64[n]."""
        return joined(self._spoken)

    def rest(self, text: str, is_dropped: Bools) -> str:
        """Return a text without its dropped parts; raise InputError if the text has changed."""
        left: str | None = kernel.part_rest(text, self._unit, is_dropped)
        if left is None:
            raise InputError(
                f"the text {text[:40]!r} has changed since it was first read; do not change files"
                " while they are read"
            )
        return left

    def _cut(self, start: int, texts: Batch) -> Cut:
        """Return the parts of documents; messages number these from `start`."""
        return Cut(*self._order.parts(texts, self._unit, errors=self._errors, start=start))

    def _keep_texts(self, texts: Batch, counts: I64, flags: Bools) -> None:
        """Keep the texts of parts that have a flag."""
        offsets = offsets_of(counts)
        for at in np.flatnonzero(sums_of(flags, offsets)).tolist():
            whole = texts[at]
            bounds = kernel.part_bounds(whole, self._unit)[flags[offsets[at] : offsets[at + 1]]]
            self._texts += [whole[start:stop] for start, stop, _ in bounds.tolist()]

    def _take(self, cut: Cut) -> U8:
        """Add the parts of the next documents, and return their states."""
        can_go = np.flatnonzero(cut.words >= self._min_words)
        keys = cut.keys[can_go]
        is_new = self._seen.add(keys)
        states = np.full(len(cut.keys), SHORT, np.uint8)
        states[can_go] = np.where(is_new, FIRST, DROPPED)
        if self._stored is not None:
            self._firsts.append(keys[is_new])
        self._states.append(states)
        self._counts.append(cut.counts)
        self._spoken.append(cut.sums(cut.words > 0))
        self.documents += len(cut.counts)
        self.short += int(np.count_nonzero((cut.words > 0) & (cut.words < self._min_words)))
        return states


def checked_unit(
    unit: Any,
    question: DedupQuestion,
    keep: object,
    against: object,
    db: object,
    others: Mapping[str, bool] | None = None,
) -> Unit:
    """Return the argument `unit` of a call as a `Unit`.

    For a unit of parts, raises OptionError for any argument that concerns whole documents only.
    `others`: more such arguments by name, with whether they were given.
    """
    made = unit if isinstance(unit, Unit) else Unit(unit)
    refused = {
        "sketch=simdb.Bits()": question.hashes is not None,
        "similarity= with db=": question.similarity is not None and db is not None,
        "distance=": question.distance is not None,
        "recall=": question.recall is not None,
        "search=": question.search is not None,
        "max_share=": question.max_share is not None,
        "verify=": question.verify not in (None, EXACT),
        "rule=": question.lose is not None,
        "policy=": question.policy != STAR,
        "keep=": keep != keeping.FIRST,
        "against=": against is not None,
        **(others or {}),
    }
    for other, is_given in refused.items():
        if is_given and made.name != DOCUMENT:
            raise OptionError(
                f"{other} is for whole documents, but unit= cuts them into parts, and keeps the"
                " first of the parts with the same words; omit one of the two arguments"
            )
    return made
