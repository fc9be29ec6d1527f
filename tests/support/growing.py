"""Growing: writes some dozens of documents as millions are written: ahead, in pieces."""

from contextlib import contextmanager

import pytest

from simdb.database.write import commit
from simdb.plan import compaction


@contextmanager
def writing_ahead(least=10, staged=8, longest=16, compacted=24):
    """Write more than `least` documents ahead of the commit, for a `with` block.

    A transaction has runs of `staged` documents.  No merge makes a run of more than `longest`
    documents, and no compaction one of more than `compacted`.  Each value gets its own commit.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "AHEAD_LEAST", least)
        patch.setattr(compaction, "STAGED_MOST", staged)
        patch.setattr(compaction, "LENGTH_MOST", longest)
        patch.setattr(compaction, "BULK_MOST", longest)
        patch.setattr(compaction, "COMPACTED_MOST", compacted)
        patch.setattr(commit, "WAITING_BYTES", 1)
        yield
