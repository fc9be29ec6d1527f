"""Arrays may have any layout in memory: odd addresses, strides, any byte order."""

import numpy as np
import pytest
from over import over
from soundness import TINY

import simdb

GENERATOR = np.random.default_rng(5)
WEIGHTS = GENERATOR.normal(size=(6, 128)).astype(np.float32)
BITS = np.packbits(WEIGHTS[:, :64] >= 0, axis=1, bitorder="little").view("<u8")[:, 0].copy()


def unaligned(array):
    buffer = np.empty(array.nbytes + 3, np.uint8)
    moved = buffer[3:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    assert not moved.flags.aligned
    return moved


def strided(array):
    wide = np.zeros((2 * array.shape[0], *array.shape[1:]), array.dtype)
    wide[::2] = array
    return wide[::2]


def read_only(array):
    locked = array.copy()
    locked.flags.writeable = False
    return locked


def swapped(array):
    return array.astype(array.dtype.newbyteorder())


LAYOUTS = [unaligned, strided, read_only, np.asfortranarray, lambda array: array[::-1][::-1]]


@over("laid_out", LAYOUTS)
@pytest.mark.parametrize("method", ["auto", "bphs", "exhaustive"])
def test_ready_fingerprints_are_taken_in_any_layout(method, laid_out):
    bits = laid_out(BITS)
    with simdb.open(None, options=TINY) as database:
        database.insert_many(range(6), simdb.Fingerprints(bits, laid_out(WEIGHTS)))
        database.insert_batch(range(10, 16), bits, distance=0)

        claimed = database.add_many_if_new(range(20, 26), bits, distance=0)
        found = database.query_many(bits, distance=3, search=method)

        assert len(database) == 12
        assert [each.fingerprint.bits for each in database.get_many(range(6))] == BITS.tolist()
        assert claimed.distances.tolist() == [0] * 6
        assert found.ids.tolist() == [at + more for at in range(6) for more in (0, 10)]
        assert found.distances.tolist() == [0] * 12


@over("laid_out", [*LAYOUTS, swapped])
def test_weights_vectors_and_features_are_taken_in_any_layout(laid_out):
    features = simdb.Features(BITS, WEIGHTS[:, 0].copy())
    moved = simdb.Features(BITS if laid_out is swapped else laid_out(BITS), laid_out(WEIGHTS[:, 0]))
    made = simdb.Fingerprints(BITS, WEIGHTS)

    assert simdb.similarities(simdb.Fingerprints(BITS, laid_out(WEIGHTS)), made).min() > 0.9
    vectors = simdb.fingerprints(laid_out(WEIGHTS)), simdb.fingerprints(WEIGHTS)
    assert np.array_equal(vectors[0].bits, vectors[1].bits)
    assert simdb.fingerprint(moved) == simdb.fingerprint(features)


@over("laid_out", [*LAYOUTS, swapped])
def test_pairs_and_clusters_of_an_array_are_those_in_any_layout(laid_out):
    bits = np.concatenate([BITS, BITS ^ np.uint64(5)])
    expected = {(at, at + 6) for at in range(6)}

    found = simdb.find_all(laid_out(bits), 4, 3)
    clusters = simdb.find_clusters(laid_out(bits), 4, 3)

    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == expected
    assert sorted(clusters.positions.tolist()) == list(range(12))


@over("laid_out", LAYOUTS)
def test_signatures_are_taken_in_any_layout(laid_out):
    sketch = simdb.Minhash()
    made = simdb.signatures(["red green", "blue white", "a b c"], sketch)
    moved = simdb.Signatures(laid_out(made.minima), sketch, made.is_empty)

    with simdb.open(None, options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(range(3), moved)

        assert database.query_many(moved, similarity=0.9).ids.tolist() == [0, 1, 2]
    assert simdb.similarities(moved, made).tolist() == [1.0, 1.0, 1.0]


def test_pairs_are_of_the_array_as_it_was_when_they_were_asked_for():
    bits = np.concatenate([BITS, BITS])

    pairs = simdb.find_all(bits, 4, 3)
    bits[:] = 0

    assert len(pairs.left) == 6
