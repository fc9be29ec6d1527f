"""Branches of the delta share their arrays and do not change each other."""

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import WEIGHTED
from simdb.plan.tables import Permutations
from simdb.storage.delta import Delta, StoredBatch


def batch_of(ids, state=WEIGHTED):
    offsets, content, hashes = kernel.encode_ids(ids)
    count = len(ids)
    return StoredBatch(
        np.arange(count, dtype=np.uint64),
        np.full(count, state, np.uint8),
        np.zeros((count, 3), np.uint8),
        hashes,
        offsets,
        content,
    )


def new_delta(start=10):
    return Delta(start, 3, Permutations(4, 1))


def ids_of(view):
    return kernel.decode_ids(view.batch.offsets, view.batch.content)


def hash_of(id):
    return int(kernel.encode_ids([id])[2][0])


def test_two_branches_grow_apart():
    origin = new_delta()
    origin.append(batch_of(["a"]))
    first, second = origin.branch(), origin.branch()

    first.append(batch_of(["b"]))
    second.append(batch_of(["x", "y"]))
    origin.append(batch_of(["o"]))
    first.append(batch_of(["c"]))

    assert ids_of(first.view()) == ["a", "b", "c"]
    assert ids_of(second.view()) == ["a", "x", "y"]
    assert ids_of(origin.view()) == ["a", "o"]


def test_a_hash_is_lacking_only_if_no_document_has_it():
    delta = new_delta()
    delta.append(batch_of(["a"]))
    assert delta.lacks(hash_of("b"))
    branch = delta.branch()
    branch.append(batch_of(["b"]))

    found = [branch.lacks(hash_of(id)) for id in "abc"]

    assert found == [False, False, True]
