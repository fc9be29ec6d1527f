"""Arrays may have any layout in memory: odd addresses, strides, any byte order."""

import numpy as np
import pytest

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


@pytest.fixture
def filled(database):
    database.insert_many(range(6), simdb.Fingerprints(BITS, WEIGHTS))
    return database


@pytest.mark.parametrize("laid_out", LAYOUTS)
@pytest.mark.parametrize("method", ["auto", "bphs", "exhaustive"])
def test_ready_fingerprints_are_taken_in_any_layout(filled, laid_out, method):
    expected = filled.query_many(BITS, distance=3, search=method)

    found = filled.query_many(laid_out(BITS), distance=3, search=method)

    assert found.ids.tolist() == expected.ids.tolist()
    assert found.distances.tolist() == expected.distances.tolist()


@pytest.mark.few(1)
@pytest.mark.parametrize("laid_out", LAYOUTS)
def test_every_writing_verb_takes_any_layout(database, laid_out):
    bits = laid_out(BITS)

    database.insert_many(range(6), bits)
    database.insert_batch(range(10, 16), bits, distance=0)
    claimed = database.add_many_if_new(range(20, 26), bits, distance=0)

    assert len(database) == 12
    assert [each.fingerprint.bits for each in database.get_many(range(6))] == BITS.tolist()
    assert claimed.distances.tolist() == [0] * 6


@pytest.mark.few(1)
@pytest.mark.parametrize("laid_out", [*LAYOUTS, swapped])
def test_weights_vectors_and_features_are_taken_in_any_layout(filled, laid_out):
    fingerprints = simdb.Fingerprints(BITS, laid_out(WEIGHTS))
    features = simdb.Features(BITS, WEIGHTS[:, 0].copy())
    moved = simdb.Features(BITS if laid_out is swapped else laid_out(BITS), laid_out(WEIGHTS[:, 0]))

    found = filled.query_many(fingerprints, similarity=0.9)

    assert found.ids.tolist() == list(range(6))
    assert np.array_equal(
        simdb.fingerprints(laid_out(WEIGHTS)).bits, simdb.fingerprints(WEIGHTS).bits
    )
    assert simdb.fingerprint(moved) == simdb.fingerprint(features)


@pytest.mark.parametrize("laid_out", [*LAYOUTS, swapped])
def test_pairs_and_clusters_of_an_array_are_those_in_any_layout(laid_out):
    bits = np.concatenate([BITS, BITS ^ np.uint64(5)])
    expected = simdb.find_all(bits, 4, 3)

    found = simdb.find_all(laid_out(bits), 4, 3)
    clusters = simdb.find_clusters(laid_out(bits), 4, 3)

    assert set(zip(found.left, found.right, strict=True)) == set(
        zip(expected.left, expected.right, strict=True)
    )
    assert len(found.left) == 6
    assert sorted(clusters.positions.tolist()) == list(range(12))


@pytest.mark.parametrize("laid_out", LAYOUTS)
def test_signatures_are_taken_in_any_layout(open_database, laid_out):
    sketch = simdb.Minhash()
    database = open_database(options=simdb.Options(sketch=sketch))
    made = simdb.signatures(["red green", "blue white", "a b c"], sketch)
    moved = simdb.Signatures(laid_out(made.minima), sketch, made.is_empty)

    database.insert_many(range(3), moved)

    assert database.query_many(moved, similarity=0.9).ids.tolist() == [0, 1, 2]
    assert simdb.similarities(moved, moved).tolist() == [1.0, 1.0, 1.0]


def test_pairs_are_of_the_array_as_it_was_when_they_were_asked_for():
    bits = np.concatenate([BITS, BITS])

    pairs = simdb.find_all(bits, 4, 3)
    bits[:] = 0

    assert len(pairs.left) == 6
