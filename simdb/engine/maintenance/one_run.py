"""One run: documents written as one run with new ordinals, and every table made anew.

The tables are made from the columns alone.  So they can be made after the old ones were damaged, or
for options that ask for other tables than are stored.  In memory are the keys of all documents: 8
bytes each for the block permutations and for each cross-polytope table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from simdb.engine.write.writer import Writer
from simdb.ground.dtypes import U8, U32, U64
from simdb.running import kernel
from simdb.settings.options import Options
from simdb.storage import codec, contents, layout
from simdb.storage.records.delta import Keying
from simdb.storage.records.manifest import Manifest, RunInfo
from simdb.storage.runs.merge import joined, taken
from simdb.storage.runs.run import Segment, put_segment
from simdb.storage.runs.table import (
    Put,
    directory_bits,
    entries_of,
    make_table,
    put_table,
    run_info,
)
from simdb.storage.salvage import ReadablePart, ids_of
from simdb.storage.transfer import parts_of
from simdb.values.arrays import EMPTY, WEIGHTED

HASHED_DOCUMENTS = 1 << 16

# The sub-database of a table, the keys of its entries, and their ordinals.
Keyed = tuple[bytes, U64, U32]


def write_one_run(
    parts: Sequence[ReadablePart],
    kept: U32,
    number: int,
    put: Put,
    *,
    keying: Keying,
    header_offset: int,
) -> tuple[RunInfo, U8]:
    """Write run `number` of the documents `kept`; return its row and the states of its documents.

    `parts` hold at least the documents `kept`, which are ordinals in ascending order.
    """
    weighted_count = _weighted_count(parts, kept)
    columns = _TableSources(keying)
    for at, segment in enumerate(_segments(parts, kept)):
        put_segment(number, at, segment, put, has_vectors=weighted_count > 0)
        columns.add(segment)
    states = np.concatenate(columns.states)
    entries = {}
    for name, keys, ordinals in columns.keyed(states):
        entries[name] = entries_of(keys, ordinals)
        table = make_table(keys, ordinals, directory_bits(name, len(keys), header_offset))
        put_table(name, number, table, put)
    return run_info(number, 0, len(kept), entries, weighted_count), states


def store_polytopes(writer: Writer, manifest: Manifest, options: Options) -> Manifest:
    """Store the number of cross-polytope tables of `options`, if the stored one is another.

    Returns the manifest, which tells every process that has the database open to read the options
    again.
    """
    environment = writer.store.environment
    if not contents.replace_polytopes(environment, writer.transaction, options.polytopes):
        return manifest
    return replace(manifest, options_version=manifest.options_version + 1)


class _TableSources:
    """What the tables of documents are made from, segment by segment."""

    def __init__(self, keying: Keying) -> None:
        self._keying = keying
        self.states: list[U8] = []
        self._searchable: list[U64] = []
        self._weighted: list[U64] = []
        self._hashes: list[U64] = []

    def add(self, segment: Segment) -> None:
        """Add the next documents."""
        states, vectors = segment.columns[layout.STATE], segment.columns[layout.VECTOR]
        fingerprints = segment.columns[layout.FINGERPRINT]
        chosen = states != EMPTY
        self._searchable.append(self._keying.searchable(fingerprints[chosen], vectors[chosen]))
        self._weighted.append(self._keying.polytopes.keys(vectors[states == WEIGHTED]))
        self._hashes += _hashes(segment)
        self.states.append(states)

    def keyed(self, states: U8) -> Iterator[Keyed]:
        """Yield the keys of each table, not yet sorted; `states` of all documents."""
        searchable = np.concatenate(self._searchable)
        ordinals = np.flatnonzero(states != EMPTY).astype(np.uint32)
        for table in range(self._keying.table_count):
            keys = codec.allocate(np.uint64, len(ordinals))
            self._keying.write_keys(searchable, keys, table)
            yield layout.table_name(table), keys, codec.allocated(ordinals)
        ordinals = np.flatnonzero(states == WEIGHTED).astype(np.uint32)
        for table in range(self._keying.polytopes.table_count):
            keys = np.concatenate([each[table] for each in self._weighted])
            yield layout.polytope_name(table), codec.allocated(keys), codec.allocated(ordinals)
        every = np.arange(len(states), dtype=np.uint32)
        yield layout.IDS, codec.allocated(np.concatenate(self._hashes)), codec.allocated(every)


def _segments(parts: Sequence[ReadablePart], kept: U32) -> Iterator[Segment]:
    """Yield the documents `kept`, renumbered from 0, in segments as they are stored."""
    for first in range(0, len(kept), layout.SEGMENT_ORDINALS):
        chosen = kept[first : first + layout.SEGMENT_ORDINALS]
        found = []
        for part in parts:
            low, high = np.searchsorted(chosen, [part.start, part.stop])
            if low < high:
                found.append(taken(part.segment, chosen[low:high] - np.uint32(part.start)))
        yield joined(found, first)


def _weighted_count(parts: Sequence[ReadablePart], kept: U32) -> int:
    count = 0
    for part in parts:
        low, high = np.searchsorted(kept, [part.start, part.stop])
        states = part.segment.columns[layout.STATE][kept[low:high] - np.uint32(part.start)]
        count += int(np.count_nonzero(states == WEIGHTED))
    return count


def _hashes(segment: Segment) -> Iterator[U64]:
    """Yield hashes of the ids, some thousands at a time, as each id becomes an object."""
    for part in parts_of(segment, HASHED_DOCUMENTS):
        yield kernel.encode_ids(ids_of(part))[2]
