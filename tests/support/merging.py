"""Merging over several commits, made to happen in databases of some dozens of documents."""

from contextlib import contextmanager

import pytest

from simdb.plan import compaction


@contextmanager
def merging_slowly(is_so=True, pace=1, longest=1 << 24, bulk=None):
    """Merge nothing larger than a full delta at once, for a `with` block.

    A merge ends when 1 / `pace` as many documents were inserted as it merges; no merge makes a run
    of more than `longest` documents; `bulk`: beside large transactions, if not so many either.
    """
    with pytest.MonkeyPatch.context() as patch:
        if is_so:
            patch.setattr(compaction, "AT_ONCE_DELTAS", 1)
            patch.setattr(compaction, "PACE", pace)
            patch.setattr(compaction, "LENGTH_MOST", longest)
            patch.setattr(compaction, "BULK_MOST", bulk or longest)
        yield


def unfinished(database):
    """Return the row of the merge that is unfinished; None if there is none."""
    return manifest_of(database).unfinished


def manifest_of(database):
    """Return the manifest of the committed state."""
    store = database._store
    with store.state() as state:
        return store.contents(state.source).manifest
