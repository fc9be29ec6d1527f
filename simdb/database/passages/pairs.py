"""Pairs by containment: every stored document with the documents that contain it.

Of a document with n grains of which m must be shared, any n - m + 1 grains must be enough to find
each match, because a match lacks at most n - m.  So a document looks for matches by its rarest ones
alone, and what very many documents have, such as a footer, costs nothing unless it is much of the
document.  Nothing is lost by that.  (Chaudhuri, Ganti and Kaushik 2006 call it prefix filtering.)

Documents are taken in blocks, whose grains are in memory: those of a block on the left are looked
up in one block on the right after the other.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Grains, is_first, ranges
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.dtypes import F64, I64, U32, U64, Bools
from simdb.core.errors import InputError
from simdb.core.matches import PairArrays
from simdb.core.reports import Plan
from simdb.database.passages.queries import ContainedQuestion, measured, texts_of
from simdb.database.search.couples import as_pairs, compared
from simdb.database.search.pairs import FoundPairs
from simdb.database.state.state import State
from simdb.sketch import asked_of
from simdb.storage import GrainsByOrdinal, is_deleted

# So many candidates are found at a time, before each counts once, and so many are compared.
FOUND_TOGETHER = 1 << 20
COMPARED_TOGETHER = 1 << 16
# So many documents are measured by their texts before their pairs are given out.
MEASURED_TOGETHER = 256


class _Block(NamedTuple):
    """The grains of live documents: document i is `ordinals`[i].

    `keys`: all grains, ascending; `places` uint32: where each of them is in `grains`.
    """

    ordinals: U32
    grains: Grains
    keys: U64
    places: U32

    @property
    def owners(self) -> I64:
        """The document of each grain: int64[k]."""
        return np.repeat(np.arange(len(self.ordinals)), np.diff(self.grains.offsets))


PLAN = Plan(
    method="passages", tables=0, flips=0, probes=0, distance=FINGERPRINT_BITS, similarity=None,
    recall=1.0, cost_seconds=0.0,
    reason="the rarest grains of each document are looked up among those of all others",
)  # fmt: skip


def pairs_of(state: State, question: ContainedQuestion) -> FoundPairs:
    """Return the pairs of which the left document is contained in the right one."""
    found = (
        _estimated(state, question.least) if question.texts is None else _measured(state, question)
    )
    chunks = (_pairs(state, *each) for each in found)
    return FoundPairs(chunks, PLAN, None, question.least)


def _pairs(state: State, left: U32, right: U32, values: F64) -> PairArrays:
    found = as_pairs(state, compared(state, left, right))
    return PairArrays(found.left, found.right, found.distance, found.similarity, values)


def needed(counts: I64, least: float) -> I64:
    """Return of how many things the share `least` is reached, for each number of them."""
    some = np.maximum(np.ceil(least * counts), 1)
    some[(some > 1) & ((some - 1) / np.maximum(counts, 1) >= least)] -= 1
    return np.asarray(some + (some / np.maximum(counts, 1) < least), np.int64)


def _measured(state: State, question: ContainedQuestion) -> Iterator[tuple[U32, U32, F64]]:
    """Yield the pairs by the texts of both: a query of each document by its text."""
    assert question.texts is not None
    live = state.live()
    for start in range(0, len(live), MEASURED_TOGETHER):
        part = live[start : start + MEASURED_TOGETHER]
        texts = texts_of(state, part, question.texts)
        if any(text is None for text in texts):
            missing = next(at for at, text in enumerate(texts) if text is None)
            (id,) = state.identifiers(part).decode(part[missing : missing + 1])
            raise InputError(f"texts= has no text of {id!r}; find_all needs the text of each left")
        offsets, words = question.winnower.words(texts, errors="replace")
        lefts, rights, values = [], [np.empty(0, np.uint32)], [np.empty(0)]
        for at, ordinal in enumerate(part.tolist()):
            asked = asked_of(words[offsets[at] : offsets[at + 1]])
            found = measured(state, asked, question, ordinal)
            lefts += [ordinal] * len(found.ordinals)
            rights.append(found.ordinals)
            values.append(found.containments)
        if lefts:
            yield np.array(lefts, np.uint32), np.concatenate(rights), np.concatenate(values)


def _estimated(state: State, least: float) -> Iterator[tuple[U32, U32, F64]]:
    """Yield the pairs by their grains."""
    stored, stop = state.passages(), state.next_ordinal
    lefts, rights = (GrainsByOrdinal(stored, stop, state.source) for _ in range(2))
    size = lefts.block_documents
    for start in range(0, stop, size):
        left = _block(state, lefts, start, min(start + size, stop))
        is_new = is_first(left.keys)
        counts = stored.counts(left.keys[is_new], state.source)
        chosen = _rarest(left, counts[np.cumsum(is_new) - 1], least)
        for other in range(0, stop, size):
            right = left if other == start else None
            if right is None:
                right = _block(state, rights, other, min(other + size, stop))
            for first, second in _candidates(left, chosen, right):
                values = _shares(left, first, right, second)
                is_match = values >= least
                if is_match.any():
                    both = left.ordinals[first[is_match]], right.ordinals[second[is_match]]
                    yield *both, values[is_match]


def _block(state: State, grains: GrainsByOrdinal, start: int, stop: int) -> _Block:
    every = np.arange(start, stop, dtype=np.uint32)
    live = np.flatnonzero(~is_deleted(state.dead, every))
    own = grains.grains(start, stop).taken(live)
    keys, places = own.values.copy(), np.arange(len(own.values), dtype=np.uint32)
    kernel.sort(keys, places)
    return _Block(every[live], own, keys, places)


def _rarest(left: _Block, counts: I64, least: float) -> Bools:
    """Return which grains each document looks for: bool for each grain.

    `counts`: how many documents have each of the ascending `left.keys`.
    """
    owners, sizes = left.owners, np.diff(left.grains.offsets)
    ranked = owners.astype(np.uint64) << np.uint64(32)
    ranked[left.places] |= counts.astype(np.uint64)
    order = np.arange(len(owners), dtype=np.uint32)
    kernel.sort(ranked, order)  # stable
    most = sizes - needed(sizes, least) + 1
    ranks = np.arange(len(owners)) - left.grains.offsets[:-1][owners]
    is_chosen = np.zeros(len(owners), np.bool_)
    is_chosen[order] = ranks < most[owners]
    return is_chosen


def _candidates(left: _Block, is_chosen: Bools, right: _Block) -> Iterator[tuple[I64, I64]]:
    """Yield pairs of documents of two blocks, by position, that share a chosen grain.

    Each pair comes once.
    """
    owners = right.owners[right.places]
    is_wanted = is_chosen[left.places]
    wanted, places = left.keys[is_wanted], left.places[is_wanted]
    firsts = np.zeros((2, len(is_chosen)), np.int64)
    firsts[0, places] = np.searchsorted(right.keys, wanted)
    firsts[1, places] = np.searchsorted(right.keys, wanted, side="right")
    starts, stops = firsts[:, is_chosen]
    lefts, sizes = left.owners[is_chosen], stops - starts
    if not len(lefts):
        return
    # All grains of a document are in one part, so that its pairs are, too.
    of_each = np.bincount(lefts, sizes, minlength=len(left.ordinals)).astype(np.int64)
    parts = (np.cumsum(of_each) - of_each) // FOUND_TOGETHER
    bounds = np.flatnonzero(np.diff(parts[lefts], prepend=-1)).tolist()
    for first, last in zip(bounds, [*bounds[1:], len(lefts)], strict=True):
        at = ranges(starts[first:last], sizes[first:last])
        pairs = np.repeat(lefts[first:last], sizes[first:last]) << 32 | owners[at]
        pairs.sort()
        pairs = pairs[is_first(pairs)]
        some, others = pairs >> 32, pairs & (2**32 - 1)
        is_other = left.ordinals[some] != right.ordinals[others]
        some, others = some[is_other], others[is_other]
        for start in range(0, len(some), COMPARED_TOGETHER):
            stop = start + COMPARED_TOGETHER
            yield some[start:stop], others[start:stop]


def _shares(left: _Block, first: I64, right: _Block, second: I64) -> F64:
    """Return which share of the grains of each document on the left is in the one on the right."""
    asked = left.grains.taken(first)
    sizes = np.diff(asked.offsets)
    low = np.repeat(right.grains.offsets[second], sizes)
    stop = np.repeat(right.grains.offsets[second + 1], sizes)
    high, hashes = stop.copy(), right.grains.values
    while (low < high).any():  # a binary search in the grains of each right document at once
        middle = (low + high) >> 1
        is_less = (low < high) & (hashes[np.minimum(middle, len(hashes) - 1)] < asked.values)
        high = np.where(is_less | (low >= high), high, middle)
        low = np.where(is_less, middle + 1, low)
    is_shared = low < stop
    is_shared[is_shared] = hashes[low[is_shared]] == asked.values[is_shared]
    pairs = np.repeat(np.arange(len(first)), sizes)
    return np.bincount(pairs[is_shared], minlength=len(first)) / np.maximum(sizes, 1)
