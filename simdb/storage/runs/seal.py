"""Sealing: a run in memory made of the documents of the delta."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import numpy as np
import numpy.typing as npt

from simdb.running.threads import mapped, parts_of
from simdb.storage import codec, layout
from simdb.storage.records.batch import StoredBatch
from simdb.storage.records.delta import DeltaView, Keying
from simdb.storage.runs.run import Run, Segment, as_segment
from simdb.storage.runs.table import (
    Entries,
    Table,
    directory_bits,
    entries_of,
    make_table,
    run_info,
)
from simdb.values.arrays import WEIGHTED

# Documents whose keys in the cross-polytope tables are made at a time.
KEYED_DOCUMENTS = 1 << 16
# The sub-database of a table, the keys of its entries, and their ordinals.
Columns = tuple[bytes, npt.NDArray[np.uint64], npt.NDArray[np.uint32]]
# Makes the columns of one table, not yet sorted.
Making = Callable[[], Columns]


def seal(
    delta: DeltaView, keying: Keying, number: int, header_offset: int, threads: int = 1
) -> Run:
    """Make a run in memory of all documents of the delta; `header_offset`: see `header_bits`."""
    batch = delta.batch
    every = np.arange(delta.start, delta.stop, dtype=np.uint32)
    weighted = np.flatnonzero(batch.states == WEIGHTED)

    def make(columns: Making) -> tuple[bytes, Entries, Table]:
        name, keys, ordinals = columns()
        entries, bits = entries_of(keys, ordinals), directory_bits(name, len(keys), header_offset)
        return name, entries, make_table(keys, ordinals, bits)

    makings = chain(
        _keyed(delta, keying),
        _keyed_by_weights(batch.vectors[weighted], every[weighted], keying, threads),
        [lambda: (layout.IDS, codec.allocated(batch.hashes), codec.allocated(every))],
    )
    made = list(mapped(make, makings, threads))
    entries = {name: each for name, each, _ in made}
    info = run_info(number, delta.start, delta.stop, entries, len(weighted))
    return Run(info, {name: table for name, _, table in made}, list(_cut(delta.start, batch)))


def _keyed(delta: DeltaView, keying: Keying) -> Iterator[Making]:
    """Yield what makes the columns of each table of all documents with features."""

    def columns(table: int) -> Columns:
        keys = codec.allocate(np.uint64, len(delta.searchable))
        keying.write_keys(delta.searchable, keys, table)
        return layout.table_name(table), keys, codec.allocated(delta.ordinals)

    return (partial(columns, table) for table in range(keying.table_count))


def _keyed_by_weights(
    vectors: npt.NDArray[np.uint8],
    ordinals: npt.NDArray[np.uint32],
    keying: Keying,
    threads: int,
) -> Iterator[Making]:
    """Yield what makes the columns of each cross-polytope table of documents with weights."""
    if not len(vectors):
        return
    every = np.empty((keying.polytopes.table_count, len(vectors)), np.uint64)

    def fill(part: slice) -> None:
        every[:, part] = keying.polytopes.keys(vectors[part])

    for _ in mapped(fill, parts_of(len(vectors), threads, most=KEYED_DOCUMENTS), threads):
        pass

    def columns(table: int) -> Columns:
        return layout.polytope_name(table), codec.allocated(every[table]), codec.allocated(ordinals)

    for table in range(len(every)):
        yield partial(columns, table)


def _cut(start: int, batch: StoredBatch) -> Iterator[Segment]:
    """Cut any number of documents into segments.

    All segments together may have more bytes of ids than one value can hold.
    """
    for first in range(0, len(batch), layout.SEGMENT_ORDINALS):
        stop = min(first + layout.SEGMENT_ORDINALS, len(batch))
        yield as_segment(start + first, batch.part(first, stop))
