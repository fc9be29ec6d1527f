"""Fitting: from many documents to an IDF table.

How many documents have a feature is counted in sorted columns, one for some batches of documents.
Two columns are merged as soon as the older is not much longer than the newer, so that there are
few and each count moves a few times only.  Sums do not depend on what was added first, and so the
table does not depend on the batches.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.checks import called, shown
from simdb.errors import InputError, OptionError
from simdb.idf import WEIGHT_MASK, IdfTable, directory_bits, idf_weight
from simdb.sketch.sketcher import Sketcher

BATCH_DOCUMENTS = 4096
BATCH_LENGTH = 1 << 24  # characters, bytes or, for lists, TOKEN_LENGTH a token
TOKEN_LENGTH = 8
# Positions in a directory are uint32.
FEATURES_MAX = 2**32 - 1
# Features that are sorted at once: a few batches of documents together need fewer merges.
SORTED_FEATURES = 1 << 22
# A column is merged with the one before it unless that is longer by this factor.
GROWTH = 2
TAG_MASK = np.uint64(~WEIGHT_MASK & (2**64 - 1))

U64 = npt.NDArray[np.uint64]
U32 = npt.NDArray[np.uint32]


def fit(
    documents: Iterable[Any],
    sketcher: Sketcher,
    settings: Mapping[str, Any],
    *,
    features_max: int | None,
    errors: str,
    progress: Callable[[int], None] | None,
) -> IdfTable:
    """The table of the features that `sketcher` finds in texts and lists of tokens.

    Takes 12 bytes for each distinct feature, and twice as much for a moment.  InputError when
    there are no documents.
    """
    called("progress", progress)
    most = FEATURES_MAX if features_max is None else features_max
    if not isinstance(most, int) or isinstance(most, bool) or not 0 < most <= FEATURES_MAX:
        raise OptionError(
            f"features_max is 1 to {FEATURES_MAX}, or None, not {shown(features_max)}"
        )
    counted = Frequencies()
    done = 0
    for batch in batches(documents):
        _, hashes, _ = sketcher.count_features(batch, errors=errors, start=done)
        counted.add(hashes)
        done += len(batch)
        if progress is not None:
            progress(done)
    if not done:
        raise InputError("there are no documents to fit an IDF table to")
    return make_table(counted.total(), done, settings, most)


@dataclass(frozen=True, slots=True)
class Column:
    """Features, each once and in order, and in how many documents each was found.

    `tags` uint64[n]: hashes without their lowest bits; `frequencies` uint32[n].
    """

    tags: U64
    frequencies: U32

    def __len__(self) -> int:
        """Number of features."""
        return len(self.tags)


class Frequencies:
    """In how many documents each feature was found."""

    def __init__(self) -> None:
        """No features yet."""
        self._columns: list[Column] = []
        self._unsorted: list[U64] = []

    def add(self, hashes: U64) -> None:
        """Count the distinct features of some documents, those of one after those of another."""
        self._unsorted.append(hashes & TAG_MASK)
        if sum(map(len, self._unsorted)) >= SORTED_FEATURES:
            self._sort()
            while self._is_last_large():
                self._merge_last()

    def total(self) -> Column:
        """All counts in one column."""
        self._sort()
        while len(self._columns) > 1:
            self._merge_last()
        return self._columns[0]

    def _is_last_large(self) -> bool:
        lengths = [len(column) for column in self._columns[-2:]]
        return len(lengths) > 1 and lengths[0] < GROWTH * lengths[1]

    def _sort(self) -> None:
        """Make a column of what is not in one."""
        tags = np.concatenate([np.empty(0, np.uint64), *self._unsorted])
        kernel.sort(tags, np.empty(len(tags), np.uint32))
        self._columns.append(_counted(tags))
        self._unsorted = []

    def _merge_last(self) -> None:
        newer, older = self._columns.pop(), self._columns.pop()
        self._columns.append(_merged(older, newer))


def make_table(
    column: Column, document_count: int, settings: Mapping[str, Any], features_max: int
) -> IdfTable:
    """The table of what `document_count` documents have, the most frequent features first.

    Of features that are equally frequent those of smaller hashes stay.
    """
    default = idf_weight(document_count, 1)
    column = _most_frequent(_chosen(column, column.frequencies > 1), features_max)
    distinct, which = np.unique(column.frequencies, return_inverse=True)
    weights = [idf_weight(document_count, int(frequency)) for frequency in distinct]
    entries = column.tags | np.array(weights, np.uint64)[which]
    bits = directory_bits(len(entries))
    directory = np.empty((1 << bits) + 1, np.uint32)
    kernel.directory(entries, bits, directory)
    for array in (entries, directory):
        array.flags.writeable = False
    return IdfTable(entries, directory, default, document_count, dict(settings))


def batches(documents: Iterable[Any]) -> Iterator[list[Any]]:
    """Documents of an iterable or an Arrow column, so many at a time that they take little room."""
    is_many = isinstance(documents, Iterable) and not isinstance(documents, str | bytes)
    if not is_many or getattr(documents, "ndim", 1) == 0:
        raise InputError(
            f"documents are many, in a list or an iterator, not {type(documents).__name__}"
        )
    batch: list[Any] = []
    length = 0
    for document in getattr(documents, "to_pylist", lambda: documents)():
        batch.append(document)
        length += _length(document)
        if len(batch) == BATCH_DOCUMENTS or length >= BATCH_LENGTH:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch


def _length(document: Any) -> int:
    if isinstance(document, str | bytes):
        return len(document)
    return TOKEN_LENGTH * len(document) if isinstance(document, list | tuple) else 0


def _counted(tags: U64) -> Column:
    """A column of sorted tags, some of them equal."""
    is_first = np.ones(len(tags), np.bool_)
    np.not_equal(tags[1:], tags[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    return Column(tags[is_first], np.diff(starts, append=len(tags)).astype(np.uint32))


def _merged(older: Column, newer: Column) -> Column:
    tags = np.empty(len(older) + len(newer), np.uint64)
    frequencies = np.empty(len(tags), np.uint32)
    kernel.merge(older.tags, older.frequencies, newer.tags, newer.frequencies, tags, frequencies)
    # What both have stands twice now.
    is_first = np.ones(len(tags), np.bool_)
    np.not_equal(tags[1:], tags[:-1], out=is_first[1:])
    again = np.flatnonzero(~is_first)
    frequencies[again - 1] += frequencies[again]
    return Column(tags[is_first], frequencies[is_first])


def _most_frequent(column: Column, count: int) -> Column:
    if len(column) <= count:
        return column
    order = np.argsort(~column.frequencies, kind="stable")
    return _chosen(column, np.sort(order[:count]))


def _chosen(column: Column, which: npt.NDArray[Any]) -> Column:
    return Column(column.tags[which], column.frequencies[which])
