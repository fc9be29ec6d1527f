"""Bulk loading: stores ready columns of many new documents, each batch in a commit of its own."""

from collections.abc import Sequence

import numpy as np

from simdb.engine.state.store import Store
from simdb.engine.write.write_state import WriteState
from simdb.ground.errors import InputError
from simdb.running import kernel
from simdb.storage.records.batch import StoredBatch


def store_batch(
    store: Store, batch: StoredBatch, metadata: Sequence[tuple[int, bytes]], threads: int
) -> None:
    """Store new documents and commit; `metadata`: position in the batch and stored form.

    InputError naming an id that is stored already, or that is in the batch twice.
    """
    _check_distinct(batch)
    writing = WriteState(store)
    try:
        with writing.alone("the transaction must be idle to insert"):
            writing.staging.threads = threads
            found = writing.current().find(batch.offsets, batch.content, batch.hashes)
            taken = np.flatnonzero(found >= 0)
            if len(taken):
                _refuse(batch, int(taken[0]))
            writing.staging.insert(batch, metadata)
        writing.commit()
    except BaseException:
        writing.abort()
        raise


def _check_distinct(batch: StoredBatch) -> None:
    """Raise InputError if two ids are equal; ids with equal hashes can be different."""
    _, positions, counts = np.unique(batch.hashes, return_inverse=True, return_counts=True)
    seen: set[bytes] = set()
    for at in np.flatnonzero(counts[positions] > 1).tolist():
        stored = batch.content[batch.offsets[at] : batch.offsets[at + 1]].tobytes()
        if stored in seen:
            _refuse(batch, at)
        seen.add(stored)


def _refuse(batch: StoredBatch, at: int) -> None:
    part = batch.part(at, at + 1)
    (id,) = kernel.decode_ids(part.offsets, part.content)
    raise InputError(f"the id {id!r} is given twice; each document needs an id of its own")
