"""Merging: makes databases of some dozens of documents merge over several commits."""

from contextlib import contextmanager

import pytest

from simdb.plan import compaction


@contextmanager
def merging_slowly(is_so=True, pace=1, longest=1 << 24, bulk=None):
    """Merge nothing larger than a full delta at once, for a `with` block.

    A merge of n documents ends when n / `pace` documents were inserted.  No merge makes a run of
    more than `longest` documents, or `bulk` documents during large transactions.
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
