"""Ready fingerprints are stored as they are given: their packed vectors to the last bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simdb
from simdb.core import kernel
from simdb.core.arrays import EMPTY, WEIGHTED
from simdb.core.vector_form import fingerprints_of, has_features, unpack
from simdb.sketch import sketcher as sketching
from simdb.sketch.sketcher import Sketcher

TEXTS = [
    "the quick brown fox jumps over the lazy dog and runs away from it",
    "a completely other sentence about ships and the sea",
    "",
    "the quick brown fox jumps over the lazy dog and runs away from him",
]


@pytest.fixture(params=[64, 128, 256])
def sketch(request):
    return simdb.Simhash(dimensions=request.param)


def stored(path, documents, sketch):
    """Return what a new database stores of some documents, and their matches with each other."""
    options = simdb.Options(sketch=sketch)
    with simdb.open(path, "x", options=options) as database:
        database.insert_many(range(len(documents)), documents)
        with database.read() as snapshot:
            every = [snapshot.get(id).fingerprint for id in range(len(documents))]
        pairs = [(p.left, p.right, p.similarity) for p in database.find_all(similarity=0.5)]
    return every, pairs


def test_vectors_are_stored_bit_for_bit(tmp_path, sketch):
    made = simdb.fingerprints(TEXTS, sketch)
    packed = simdb.Fingerprints.from_vectors(made.bits, made.vectors)

    from_texts = stored(tmp_path / "texts", TEXTS, sketch)
    from_vectors = stored(tmp_path / "vectors", packed, sketch)

    assert from_vectors == from_texts
    assert from_texts[1]


def test_a_stored_fingerprint_is_stored_again_as_it_is(tmp_path):
    weights = np.random.default_rng(2).normal(size=(500, 128)).astype(np.float32)
    first, _ = stored(tmp_path / "a", simdb.Fingerprints(*kernel_form(weights)), simdb.Simhash())

    again, _ = stored(tmp_path / "b", first, simdb.Simhash())
    one_by_one = [stored_one(tmp_path / f"c{at}", first[at]) for at in (3, 4)]

    assert again == first
    assert one_by_one == first[3:5]


def kernel_form(weights):
    return kernel.quantise(weights)[0], weights


def stored_one(path, document):
    return stored(path, [document], simdb.Simhash())[0][0]


def test_weights_that_only_say_they_are_rounded_are_rounded(tmp_path):
    weights = np.random.default_rng(3).normal(size=(1, 128)).astype(np.float32)
    bits, vectors = kernel.quantise(weights)
    claimed = simdb.Fingerprint(int(bits[0]), weights[0], is_rounded=True)

    kept = stored_one(tmp_path / "x", claimed)

    assert kept.weights.tolist() == unpack(vectors)[0].tolist()


def test_queries_take_levels_from_the_weights(sketch):
    made = simdb.fingerprints(TEXTS, sketch)
    sketcher = Sketcher(sketch)
    whole = sketcher.sketch(made, is_query=True)
    plain = sketcher.sketch(replace(made, vectors=None), is_query=True)
    packed = sketcher.sketch(replace(made, weights=None), is_query=True)

    assert whole.levels.tolist() == plain.levels.tolist()
    assert packed.levels.tolist() == kernel.levels_of_vectors(made.vectors).tolist()
    for each in (whole, packed):
        assert each.vectors.tolist() == plain.vectors.tolist()
        assert each.states.tolist() == plain.states.tolist() == [WEIGHTED] * 2 + [EMPTY, WEIGHTED]


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_rows_are_quantised_in_portions_as_each_alone(over):
    count = sketching.CACHED_ROWS + over
    weights = np.random.default_rng(4).normal(size=(count, 128)).astype(np.float32)

    whole = sketching.columns_of(weights, 64, is_query=True)

    for at in (0, sketching.CACHED_ROWS - 2, count - 1):
        alone = sketching.columns_of(weights[at : at + 1], 64, is_query=True)
        for one, other in zip(whole, alone, strict=True):
            np.testing.assert_array_equal(one[at : at + 1], other)


def test_documents_without_features_are_known_by_their_vectors(sketch):
    made = simdb.fingerprints(TEXTS, sketch)

    assert has_features(made.vectors).tolist() == [True, True, False, True]
    assert made.is_empty().tolist() == [False, False, True, False]
    packed = simdb.Fingerprints.from_vectors(made.bits, made.vectors)
    assert packed.is_empty().tolist() == [False, False, True, False]
    assert simdb.Fingerprints(made.bits).is_empty().tolist() == [False] * 4
    assert [packed[at].is_empty for at in range(4)] == [False, False, True, False]
    assert not has_features(np.zeros((2, 64), np.uint8)).any()


def test_a_packed_fingerprint_has_rounded_weights():
    made = simdb.fingerprints(TEXTS)
    packed = simdb.Fingerprints.from_vectors(made.bits, made.vectors)

    assert packed[0].is_rounded
    assert packed[0].weights.tolist() == unpack(made.vectors)[0].tolist()
    assert simdb.similarity(packed[0], packed[3]) == pytest.approx(
        simdb.similarity(made[0], made[3]), abs=0.06
    )
    taken = made.taken([3, 0])
    assert taken.bits.tolist() == made.bits[[3, 0]].tolist()
    assert taken.vectors.tolist() == made.vectors[[3, 0]].tolist()


def test_wrong_vectors_are_refused(tmp_path):
    made = simdb.fingerprints(TEXTS)
    bits, vectors = made.bits, made.vectors

    for bad, message in [
        (vectors.astype(np.int8), "uint8 array of two dimensions"),
        (vectors[0], "uint8 array of two dimensions"),
        (vectors[:3], "one for each"),
        (vectors[:, :33], "one for each"),
        (vectors[::-1], "the signs of its vector"),
    ]:
        with pytest.raises(simdb.InputError, match=message):
            simdb.Fingerprints.from_vectors(bits, bad)
    narrow = simdb.fingerprints(TEXTS, simdb.Simhash(dimensions=64))
    packed = simdb.Fingerprints.from_vectors(narrow.bits, narrow.vectors)
    with (
        simdb.open(tmp_path / "x", "x") as database,
        pytest.raises(simdb.InputError, match="dimensions=128"),
    ):
        database.insert_many(range(4), packed)


@given(
    kind=st.sampled_from(["drawn", "rounded", "zeros", "ones", "sparse"]),
    length=st.sampled_from([64, 100, 128, 256]),
    store=st.booleans(),
    is_query=st.booleans(),
    claims=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    seed=st.integers(0, 99),
)
def test_a_ready_fingerprint_made_alone_is_the_same(kind, length, store, is_query, claims, seed):
    generator = np.random.default_rng(seed)
    weights = {
        "drawn": generator.normal(size=length) * 10.0 ** generator.integers(-20, 20),
        "rounded": 2.0 * generator.integers(0, 16, length) - 15,
        "zeros": np.zeros(length),
        "ones": np.ones(length) if seed % 2 else np.full(length, -15.0),
        "sparse": np.where(np.arange(length) < length - 1, 0, -1.0),
    }[kind].astype(np.float32)
    is_rounded, is_empty, is_other = claims
    bits = int(fingerprints_of(weights[None])[0])
    bits = seed % 2 if is_other else bits
    document = simdb.Fingerprint(bits, weights, is_empty, is_rounded)
    sketcher = Sketcher(simdb.Simhash(store_volatility=store))

    assert made(sketcher, [document], is_query) == made(sketcher, [document] * 2, is_query)


def made(sketcher, documents, is_query):
    """Return the sketch of the first document, or the message of the error."""
    try:
        found = sketcher.sketch(documents, is_query=is_query)
    except simdb.InputError as error:
        return str(error)
    levels = None if found.levels is None else found.levels[0].tolist()
    return int(found.bits[0]), found.vectors[0].tolist(), int(found.states[0]), levels
