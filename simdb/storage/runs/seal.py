"""Sealing: a run in memory made of the documents of the delta."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.storage import codec, layout
from simdb.storage.records.batch import Batch
from simdb.storage.records.delta import DeltaView, Keying
from simdb.storage.runs.run import Run, Segment, as_segment
from simdb.storage.runs.table import directory_bits, make_table, run_info
from simdb.values import WEIGHTED

# The sub-database of a table, the keys of its entries, and their ordinals.
Columns = tuple[bytes, npt.NDArray[np.uint64], npt.NDArray[np.uint32]]


def seal(delta: DeltaView, keying: Keying, number: int, header_offset: int) -> Run:
    """Make a run in memory of all documents of the delta; `header_offset`: see `header_bits`."""
    batch = delta.batch
    every = np.arange(delta.start, delta.stop, dtype=np.uint32)
    weighted = np.flatnonzero(batch.states == WEIGHTED)
    tables = {
        name: make_table(keys, ordinals, directory_bits(name, len(keys), header_offset))
        for name, keys, ordinals in chain(
            _keyed(delta, keying),
            _keyed_by_weights(batch.vectors[weighted], every[weighted], keying),
            [(layout.IDS, _allocated(batch.hashes), _allocated(every))],
        )
    }
    counts = {name: len(table.keys) for name, table in tables.items()}
    info = run_info(number, delta.start, delta.stop, counts, len(weighted))
    return Run(info, tables, list(_cut(delta.start, batch)))


def _keyed(delta: DeltaView, keying: Keying) -> Iterator[Columns]:
    """Yield the keys of all documents with features in each table, not yet sorted."""
    for table in range(keying.table_count):
        keys = codec.allocate(np.uint64, len(delta.searchable))
        keying.write_keys(delta.searchable, keys, table)
        yield layout.table_name(table), keys, _allocated(delta.ordinals)


def _keyed_by_weights(
    vectors: npt.NDArray[np.uint8], ordinals: npt.NDArray[np.uint32], keying: Keying
) -> Iterator[Columns]:
    """Yield the keys of documents with weights in each cross-polytope table, not yet sorted."""
    if len(vectors):
        for table, keys in enumerate(keying.polytopes.keys(vectors)):
            yield layout.polytope_name(table), _allocated(keys), _allocated(ordinals)


def _cut(start: int, batch: Batch) -> Iterator[Segment]:
    """Cut any number of documents into segments.

    All segments together may have more bytes of ids than one value can hold.
    """
    for first in range(0, len(batch), layout.SEGMENT_ORDINALS):
        stop = min(first + layout.SEGMENT_ORDINALS, len(batch))
        yield as_segment(start + first, batch.part(first, stop))


def _allocated(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    copied = codec.allocate(values.dtype, len(values))
    copied[...] = values
    return copied
