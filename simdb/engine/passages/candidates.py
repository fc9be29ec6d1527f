"""Candidates: the documents that share grains with a query, and their containment.

Without texts the containment is estimated: it is the share of the query's grains that are grains of
the document.  With texts it is measured, of each document that can have enough by its grains.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.engine.passages.question import Question
from simdb.engine.state.state import State
from simdb.errors import InputError
from simdb.sketch.containment import Asked, containments, most_covered
from simdb.sketch.winnowing import Winnower
from simdb.storage.records.tombstones import is_deleted

# The texts of so many candidates are read at once.
READ_TOGETHER = 256

F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]


class Found(NamedTuple):
    """Documents with their containments, best first, and the texts that were read of them."""

    ordinals: U32
    containments: F64
    texts: dict[int, Any]

    def best(self) -> "Found":
        """Return the same documents, best first; of equal ones, the one inserted first."""
        order = np.lexsort((self.ordinals, -self.containments))
        return Found(self.ordinals[order], self.containments[order], self.texts)

    def chosen(self, which: Any) -> "Found":
        """Return the documents at some positions, or for which `which` is true."""
        return Found(self.ordinals[which], self.containments[which], self.texts)


def estimated(state: State, grains: U64, least: float) -> Found:
    """Return the documents that have a share of at least `least` of some grains, and one at least.

    `grains` ascend strictly.
    """
    _, ordinals = state.passages().find(grains, state.source)
    distinct, counts = np.unique(_living(state, ordinals), return_counts=True)
    found = Found(distinct, counts / max(len(grains), 1), {})
    return found.chosen(found.containments >= least).best()


def measured(
    state: State, asked: Asked, question: Question, winnower: Winnower, left_out: int | None
) -> Found:
    """Return the documents that contain enough of a query, measured by their texts.

    Of a document whose text is not known, the estimate decides.  No text is read of a document that
    cannot have enough.  `left_out`: the ordinal of the query itself.
    """
    assert question.texts is not None
    keys, ordinals = state.passages().find(asked.keys, state.source)
    is_live = ~is_deleted(state.dead, ordinals)
    if left_out is not None:
        is_live &= ordinals != left_out
    state.check_known(ordinals)
    distinct, rows = np.unique(ordinals[is_live], return_inverse=True)
    keys = keys[is_live]
    shared = np.bincount(rows[asked.is_grain[keys]], minlength=len(distinct))
    estimates = shared / max(int(np.count_nonzero(asked.is_grain)), 1)
    most = _most(asked, keys, rows, len(distinct)) / max(asked.gram_count, 1)
    order = np.argsort(-most, kind="stable")
    order = order[most[order] >= question.least]
    enough = question.limit if question.where is None and question.accept is None else None
    values = np.zeros(len(distinct))
    texts: dict[int, Any] = {}
    for start in range(0, len(order), READ_TOGETHER):
        part = order[start : start + READ_TOGETHER]
        if enough and enough <= len(values) and _rank(values, enough) > most[part[0]]:
            break
        part = np.sort(part)
        read = _texts_of(state, distinct[part], question.texts)
        known = [at for at, text in zip(part.tolist(), read, strict=True) if text is not None]
        kept = [text for text in read if text is not None]
        values[part] = estimates[part]
        values[known] = containments(asked, *winnower.words(kept, errors="replace"))
        texts.update(zip(distinct[known].tolist(), kept, strict=True))
    found = Found(distinct, values, texts)
    return found.chosen((values >= question.least) & (values > 0)).best()


def _most(asked: Asked, keys: npt.NDArray[np.int64], rows: Any, count: int) -> Any:
    """Return how many n-grams of the query each document can have, by their common grains."""
    order = np.argsort(asked.places, kind="stable")
    firsts = np.searchsorted(asked.places[order], np.arange(len(asked.keys) + 1))
    sizes = np.diff(firsts)[keys]
    before = np.cumsum(sizes) - sizes
    inside = np.arange(sizes.sum()) - np.repeat(before, sizes)
    positions = order[np.repeat(firsts[keys], sizes) + inside]
    owners = np.repeat(rows, sizes)
    by_row = np.lexsort((positions, owners))
    return most_covered(owners[by_row], positions[by_row], asked.gram_count, count)


def _rank(values: F64, rank: int) -> float:
    """Return the value of this rank, the greatest first."""
    return float(-np.partition(-values, rank - 1)[rank - 1])


def _living(state: State, ordinals: U32) -> U32:
    state.check_known(ordinals)
    return ordinals[~is_deleted(state.dead, ordinals)]


def _texts_of(
    state: State, ordinals: U32, texts: Callable[[list[Any]], Sequence[Any]]
) -> Sequence[Any]:
    """Return the texts of documents, None for one that is not known."""
    ids = list(state.identifiers(ordinals).decode(ordinals))
    read = list(texts(ids))
    for id, text in zip(ids, read, strict=True):
        if text is not None and not isinstance(text, str | bytes):
            raise InputError(f"texts= gave no text of {id!r} but {type(text).__name__}")
    return read
