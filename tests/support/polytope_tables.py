"""Cross-polytope tables: reads the stored tables, and computes them from the documents."""

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import WEIGHTED
from simdb.core.vector_form import pack
from simdb.storage import layout


def expected(database):
    """Return {id: its keys in all tables} of the live documents with weights; {} without tables."""
    keys = {}
    if not database.options.polytope_count:
        return keys
    for id in database:
        weights = database.get(id).fingerprint.weights
        if weights is not None:
            vector = pack(weights.astype(np.int8))[None]
            keys[id] = kernel.polytope_keys(vector, database.options.polytope_count)[:, 0].tolist()
    return keys


def stored(reading):
    """Return {id: its keys in all tables}, with the delta sealed; `reading` has a state.

    A deleted document that still has entries is omitted.
    """
    with reading._state() as state:
        count = state.keying.polytopes.table_count
        live = state.live()
        keys = {}
        for run in state.runs if count else ():
            tables = [run.polytope_table(number, state.source) for number in range(count)]
            for table in tables:
                assert_sorted(table)
            for ordinal in np.intersect1d(tables[0].ordinals, live).tolist():
                keys[state.id_of(ordinal)] = [key_of(table, ordinal) for table in tables]
        for ordinal in state.delta.ordinals.tolist() if count else ():
            at = ordinal - state.delta.start
            is_weighted = state.delta.batch.states[at] == WEIGHTED
            if is_weighted and ordinal in live:
                vector = state.delta.batch.vectors[at : at + 1]
                keys[state.id_of(ordinal)] = kernel.polytope_keys(vector, count)[:, 0].tolist()
        return keys


def key_of(table, ordinal):
    """Return the key of the only entry of an ordinal."""
    (at,) = np.flatnonzero(table.ordinals == ordinal)
    return int(table.keys[at])


def assert_sorted(table):
    """Assert that a table is in the order of keys, then ordinals, and that its directory fits."""
    pairs = list(zip(table.keys.tolist(), table.ordinals.tolist(), strict=True))
    bits = (len(table.directory) - 1).bit_length() - 1
    starts = np.arange((1 << bits) + 1, dtype=object) << (64 - bits)

    assert pairs == sorted(pairs)
    assert table.directory.tolist() == [
        np.searchsorted(table.keys.astype(object), start) for start in starts
    ]


def stored_values(database):
    """Count the values in each sub-database of cross-polytope tables."""
    environment = database._store.environment
    names = [layout.polytope_name(table) for table in range(database.options.polytope_count)]
    with environment.reading() as transaction:
        return [transaction.stat(environment.subdatabase(name))["entries"] for name in names]
