"""Id tables: finds stored documents by their ids.

A run has a table of the hashes of its ids.  Different ids can have the same hash, so the id of each
document that the tables find is compared, too.
"""

from typing import Any

import numpy as np

from simdb.engine.state.view import View
from simdb.ground.bits import ALL_BITS
from simdb.ground.dtypes import I64, U8, U32, U64, Bools
from simdb.running import kernel
from simdb.storage.records.delta import NO_DOCUMENTS
from simdb.storage.runs.source import Source
from simdb.values.arrays import offsets_of


def find_ordinals(view: View, source: Source, offsets: I64, content: U8, hashes: U64) -> I64:
    """Return the ordinal of each id (in its stored form, with its hash); -1 if not stored."""
    tables = _id_tables(view, source)
    if len(hashes) == 1:
        return _find_one(view, source, tables, content, hashes)
    starts, ordinals, _ = tables.lookup(hashes, distance=0, flips=0, first=False, after=None)
    found = np.full(len(hashes), -1, np.int64)
    if len(ordinals):
        queries = np.repeat(np.arange(len(hashes)), np.diff(starts))
        first, last = offsets[queries], offsets[queries + 1]
        same = _equal_ids(view, source, ordinals, first, last, content)
        found[queries[same]] = ordinals[same]
    return found


def _id_tables(view: View, source: Source) -> Any:
    """Return the hashes of all ids, ready for look-up."""
    if view.id_tables is None:
        sealed = view.sealed
        if sealed.id_tables is None:
            parts = [run.id_table(source) for run in sealed.runs]
            rows = [[(part.keys, part.ordinals, part.directory)] for part in parts]
            sealed.id_tables = kernel.Tables([ALL_BITS], rows, NO_DOCUMENTS, None)
        delta = view.delta
        view.id_tables = sealed.id_tables.over((delta.batch.hashes, delta.every), view.dead)
    return view.id_tables


def _find_one(view: View, source: Source, tables: Any, content: U8, hashes: U64) -> I64:
    """Return what `find_ordinals` returns for a single id."""
    found = -1
    for ordinal, _ in tables.lookup_one(int(hashes[0]), 0, 0, False):
        ordinals = np.array([ordinal], np.uint32)
        offsets = np.array([0, len(content)], np.int64)
        if view.identifiers.over(source, ordinals).equal(ordinals, offsets, content)[0]:
            found = ordinal
    return np.array([found], np.int64)


def _equal_ids(
    view: View, source: Source, ordinals: U32, first: I64, last: I64, content: U8
) -> Bools:
    """Return whether content[first:last] is the id of each ordinal, not only its hash."""
    lengths = last - first
    offsets = offsets_of(lengths)
    positions = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, lengths)
    wanted = np.ascontiguousarray(content[positions])
    same = view.identifiers.over(source, ordinals).equal(ordinals, offsets, wanted)
    return np.asarray(same, np.bool_)
