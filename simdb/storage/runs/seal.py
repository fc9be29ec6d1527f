"""Sealing: a run in memory made of the documents of the delta."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.storage import codec, layout
from simdb.storage.records.batch import Batch
from simdb.storage.records.delta import DeltaView, Keying
from simdb.storage.records.manifest import RunInfo
from simdb.storage.runs.run import ID_HEADER_OFFSET, Run, Segment, as_segment, make_table
from simdb.values import WEIGHTED


def seal(delta: DeltaView, keying: Keying, number: int, header_offset: int) -> Run:
    """Make a run in memory of all documents of the delta; `header_offset`: see `header_bits`."""
    batch = delta.batch
    tables = []
    for table in range(keying.table_count):
        keys = codec.allocate(np.uint64, len(delta.searchable))
        keying.write_keys(delta.searchable, keys, table)
        ordinals = _allocated(delta.ordinals, np.uint32)
        tables.append(make_table(keys, ordinals, header_offset))
    every = np.arange(delta.start, delta.stop, dtype=np.uint32)
    id_table = make_table(
        _allocated(batch.hashes, np.uint64), _allocated(every, np.uint32), ID_HEADER_OFFSET
    )
    segments = list(_cut(delta.start, batch))
    weighted_count = int(np.count_nonzero(batch.states == WEIGHTED))
    entry_count = len(delta.searchable)
    info = RunInfo(number, delta.start, delta.stop, entry_count, len(batch), weighted_count)
    return Run(info, tables, id_table, segments)


def _cut(start: int, batch: Batch) -> Iterator[Segment]:
    """Cut any number of documents into segments.

    All segments together may have more bytes of ids than one value can hold.
    """
    for first in range(0, len(batch), layout.SEGMENT_ORDINALS):
        stop = min(first + layout.SEGMENT_ORDINALS, len(batch))
        yield as_segment(start + first, batch.part(first, stop))


def _allocated(values: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    copied = codec.allocate(dtype, len(values))
    copied[...] = values
    return copied
