"""Fitting: an IDF table, made from the number of documents in which each feature occurs.

The counts are kept in sorted columns, each for some batches of documents.  Two columns are merged
as soon as the older one is not much longer than the newer one.  So there are few columns, and each
count is copied only a few times.  Sums do not depend on the order of the documents, so the table
does not depend on the batches.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import check_many, is_first
from simdb.core.checks import whole
from simdb.core.decoding import as_text, text_column
from simdb.core.dtypes import U32, U64, Array
from simdb.core.errors import InputError
from simdb.core.progress import Progress, report_of
from simdb.core.text_sketch import WEIGHT_MASK, IdfTable, directory_bits, idf_weight
from simdb.core.values import dataclass
from simdb.sketch.sketcher import Sketcher

BATCH_DOCUMENTS = 4096
BATCH_LENGTH = 1 << 24  # characters or bytes; a token of a list counts as TOKEN_LENGTH of them
TOKEN_LENGTH = 8
FEATURES_MAX = 2**32 - 1  # positions in a directory are uint32
SORTED_FEATURES = 1 << 22  # features sorted together; sorting several batches at once saves merges
# A column is merged with the column before it, unless that column is longer by this factor.
GROWTH = 2
TAG_MASK = np.uint64(~WEIGHT_MASK & (2**64 - 1))


def fit(
    documents: Iterable[Any],
    sketcher: Sketcher,
    settings: Mapping[str, Any],
    *,
    features_max: int | None,
    errors: str,
    progress: Progress | None,
) -> IdfTable:
    """Return the IDF table of the features that `sketcher` finds in texts and lists of tokens.

    `features_max`: the number of features that the table keeps, the most frequent ones; None for
    all.  `progress`, if given, is called with the number of documents counted so far.  Counting
    needs 12 bytes of memory for each distinct feature, and briefly twice that.  Raises InputError
    if there are no documents.
    """
    report = report_of(progress)
    most = FEATURES_MAX
    if features_max is not None:
        most = whole("features_max", features_max, 1, FEATURES_MAX)
    counted = Frequencies()
    done = 0
    for batch in batches(documents, errors):
        _, hashes, _ = sketcher.count_features(batch, errors=errors, start=done)
        counted.add(hashes)
        done += len(batch)
        report(done)
    if not done:
        raise InputError("there are no documents; an IDF table needs at least one")
    return make_table(counted.total(), done, settings, most)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A sorted column of distinct features, with the number of documents that contain each.

    `tags` uint64[n]: hashes with their 16 lowest bits cleared.  `frequencies` uint32[n].
    """

    tags: U64
    frequencies: U32

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.tags)


class Frequencies:
    """A counter of the documents that contain each feature."""

    def __init__(self) -> None:
        """Start without features."""
        self._columns: list[Column] = []
        self._unsorted: list[U64] = []

    def add(self, hashes: U64) -> None:
        """Count the features of some documents, given as distinct hashes of each document."""
        self._unsorted.append(hashes & TAG_MASK)
        if sum(map(len, self._unsorted)) >= SORTED_FEATURES:
            self._sort()
            while self._is_last_large():
                self._merge_last()

    def total(self) -> Column:
        """Return all counts as one column."""
        self._sort()
        while len(self._columns) > 1:
            self._merge_last()
        return self._columns[0]

    def _is_last_large(self) -> bool:
        """Return whether the newest column is so long that it must be merged."""
        lengths = [len(column) for column in self._columns[-2:]]
        return len(lengths) > 1 and lengths[0] < GROWTH * lengths[1]

    def _sort(self) -> None:
        """Make a column of the features that are not in a column yet."""
        tags = np.concatenate([np.empty(0, np.uint64), *self._unsorted])
        kernel.sort(tags)
        self._columns.append(_counted(tags))
        self._unsorted = []

    def _merge_last(self) -> None:
        """Merge the two newest columns into one."""
        newer, older = self._columns.pop(), self._columns.pop()
        self._columns.append(_merged(older, newer))


def make_table(
    column: Column, document_count: int, settings: Mapping[str, Any], features_max: int
) -> IdfTable:
    """Return the IDF table for the counts of `document_count` documents.

    It keeps up to `features_max` features that occur in two or more documents: the most frequent
    ones, and at equal frequency the ones with smaller hashes.
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


def batches(documents: Iterable[Any], errors: str) -> Iterator[Sequence[Any]]:
    """Yield the documents of an iterable or an Arrow column in parts that need little memory."""
    check_many(documents, "documents")
    column = text_column(documents, errors=errors)
    if column is not None:
        for first in range(0, len(column), BATCH_DOCUMENTS):
            yield column[first : first + BATCH_DOCUMENTS]
        return
    batch: list[Any] = []
    length = 0
    for at, document in enumerate(getattr(documents, "to_pylist", lambda: documents)()):
        batch.append(as_text(document, errors=errors, where=f"document {at}"))
        length += _length(document)
        if len(batch) == BATCH_DOCUMENTS or length >= BATCH_LENGTH:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch


def _length(document: Any) -> int:
    """Return the approximate length of a document, in characters."""
    if isinstance(document, str):
        return len(document)
    return TOKEN_LENGTH * len(document) if isinstance(document, list | tuple) else 0


def _counted(tags: U64) -> Column:
    """Return the column of the distinct sorted tags and their numbers of occurrences."""
    is_new = is_first(tags)
    starts = np.flatnonzero(is_new)
    return Column(tags[is_new], np.diff(starts, append=len(tags)).astype(np.uint32))


def _merged(older: Column, newer: Column) -> Column:
    """Merge two columns, adding their counts."""
    tags = np.empty(len(older) + len(newer), np.uint64)
    frequencies = np.empty(len(tags), np.uint32)
    kernel.merge(older.tags, older.frequencies, newer.tags, newer.frequencies, tags, frequencies)
    # A feature of both columns is now in two adjacent rows.
    is_new = is_first(tags)
    again = np.flatnonzero(~is_new)
    frequencies[again - 1] += frequencies[again]
    return Column(tags[is_new], frequencies[is_new])


def _most_frequent(column: Column, count: int) -> Column:
    """Return the `count` most frequent features of a column, in the order of their tags."""
    if len(column) <= count:
        return column
    order = np.argsort(~column.frequencies, kind="stable")
    return _chosen(column, np.sort(order[:count]))


def _chosen(column: Column, which: Array) -> Column:
    """Return some rows of a column, by flags or positions."""
    return Column(column.tags[which], column.frequencies[which])
