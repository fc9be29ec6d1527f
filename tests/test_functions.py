"""The functions of the package, and arrays of any layout in memory that they and verbs take."""

from random import Random

import numpy as np
import pytest
from forked import code_of_child
from over import over
from soundness import TINY

import simdb
from simdb.database import functions

TEXT = "the quick brown fox jumps over the lazy dog"


def test_many_texts_have_the_fingerprints_of_each():
    texts = [TEXT, "", "another text altogether", TEXT.encode()]

    many = simdb.fingerprints(texts)

    assert list(many) == [simdb.fingerprint(text) for text in texts]
    assert many[1].is_empty
    assert many.bits[0] == many.bits[3]


def test_the_distance_counts_differing_bits():
    assert simdb.distance(0, 2**64 - 1) == 64
    assert simdb.distance(simdb.Fingerprint(5), np.uint64(4)) == 1
    with pytest.raises(simdb.InputError):
        simdb.distance(-1, 0)
    with pytest.raises(simdb.InputError):
        simdb.distance("a", 0)


def test_the_similarity_is_a_cosine():
    left, right = simdb.fingerprint(TEXT), simdb.fingerprint(TEXT + " again")

    assert simdb.similarity(left, left) == pytest.approx(1)
    assert 0.5 < simdb.similarity(left, right) < 1
    assert simdb.similarity(left, simdb.fingerprint("")) == 0
    with pytest.raises(simdb.InputError, match="with weights"):
        simdb.similarity(left, simdb.Fingerprint(5))


@pytest.mark.parametrize("dimensions", [64, 128, 256])
def test_stored_fingerprints_are_as_similar_as_the_database_says(tmp_path, dimensions):
    sketch = simdb.Simhash(dimensions=dimensions)
    options = simdb.Options(sketch=sketch)
    with simdb.open(tmp_path / "db", options=options) as database:
        database.insert_many(["plain", "longer"], [TEXT, TEXT + " again"])
        found = database.query(id="plain", similarity=0.1, recall=1.0)
        plain, longer = (each.fingerprint for each in database.get_many(["plain", "longer"]))

    assert plain.is_rounded
    made = simdb.fingerprint(TEXT + " again", sketch)
    for pair in ((plain, longer), (plain, made), (made, plain)):
        assert simdb.similarity(*pair) == pytest.approx(found[0].similarity, abs=1e-6)


@pytest.mark.parametrize("dimensions", [64, 128, 256])
def test_similarities_of_fingerprints_are_those_of_a_database(dimensions, tmp_path):
    sketch = simdb.Simhash(dimensions=dimensions)
    texts = [" ".join(f"w{at}" for at in range(start, start + 60)) for start in range(12)] + [""]
    made = simdb.fingerprints(texts, sketch)
    packed = simdb.Fingerprints.from_vectors(made.bits, made.vectors)
    bare = simdb.Fingerprints(made.bits, made.weights)
    with simdb.open(tmp_path / "x", "x", options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(range(13), texts)
        to_one = np.nan_to_num(database.compare([3] * 13, range(13)).similarity)
        pairwise = np.nan_to_num(database.compare(range(13), range(12, -1, -1)).similarity)
        document = database[3].fingerprint
    turned = np.arange(12, -1, -1)

    assert simdb.similarities(packed[3], packed).tolist() == to_one.tolist()
    assert simdb.similarities(document, bare).tolist() == to_one.tolist()
    assert simdb.similarities(packed, packed.taken(turned)).tolist() == pairwise.tolist()
    assert simdb.similarities(bare, packed.taken(turned)).tolist() == pairwise.tolist()
    assert to_one[12] == 0 < to_one[0] < to_one[2] < to_one[3] == 1


def test_similarities_need_weights_and_as_many():
    made = simdb.fingerprints(["a b c", "d e f"])

    with pytest.raises(simdb.InputError, match="left has 1 fingerprints and right 2"):
        simdb.similarities(made.taken([0]), made)
    with pytest.raises(simdb.InputError, match="bits alone"):
        simdb.similarities(made, simdb.Fingerprints(made.bits))
    with pytest.raises(simdb.InputError, match="Fingerprints"):
        simdb.similarities(made, simdb.signatures(["a", "b"]))


def test_a_child_forked_while_a_thread_learns_stems_does_not_wait():
    sketch = simdb.Simhash(stemming="english")
    simdb.fingerprint(TEXT, sketch)

    def learn(wait):
        with functions._sketcher_of(sketch)._pipeline._vocabulary.lock:
            wait()

    assert code_of_child(lambda: simdb.fingerprint(TEXT, sketch), meanwhile=learn) == 0


def test_the_similarity_of_two_texts_is_that_of_the_sets_of_their_shingles():
    random = Random(3)
    for _ in range(40):
        left, right = ([random.choice("abcd") for _ in range(random.randrange(9))] for _ in "lr")
        sets = [{tuple(each[at : at + 3]) for at in range(len(each) - 2)} for each in (left, right)]
        for side, words in zip(sets, (left, right), strict=True):
            if words and not side:
                side.add(tuple(words))
        shared, every = len(sets[0] & sets[1]), len(sets[0] | sets[1])

        for form in (list, " ".join, lambda words: " ".join(words).encode()):
            found = simdb.similarity(form(left), form(right))
            assert found == pytest.approx(shared / every if every else 0, abs=1e-6)


def test_two_texts_are_alike_from_the_similarity_on_that_they_are_said_to_have():
    words = [f"word{number}" for number in range(14)]
    texts = [" ".join(words[:count]) for count in range(3, 14)]
    pairs = [(left, right) for right in texts for left in texts if len(left) < len(right)]

    every = [(simdb.similarity(*pair), pair) for pair in pairs]
    missed = [
        (value, pair)
        for value, pair in every
        if len(simdb.deduplicate(list(pair), similarity=value).removed) != 1
    ]

    assert [value for value, _ in every if len(f"{value:.3g}") < 5]  # 0.5 is shown as 0.5
    assert missed == []


def test_a_sketch_says_how_two_texts_are_compared():
    left, right = "One two three", "<b>one</b> two four"

    assert simdb.similarity(left, right, simdb.Simhash(shingle=1, markup="html")) == 0.5
    assert simdb.similarity(left, right, simdb.Minhash(shingle=1, markup="html")) == 0.5
    tf = simdb.similarity("a a b", "a b", simdb.Simhash(shingle=1, weighting="tf"))
    assert tf == pytest.approx(3 / 10**0.5, abs=1e-6)
    with pytest.raises(simdb.OptionError, match="sketch must be"):
        simdb.similarity(left, right, 3)


def test_the_distance_of_two_texts_is_that_of_their_fingerprints():
    left, right = "one two three four", "one two three five"

    expected = simdb.distance(simdb.fingerprint(left), simdb.fingerprint(right))
    assert simdb.distance(left, right) == simdb.distance(left.encode(), right.split()) == expected


@over("other", [3, None, simdb.Fingerprint(5)])
def test_a_text_and_anything_else_are_refused(other):
    for call in (simdb.similarity, simdb.distance):
        with pytest.raises(simdb.InputError):
            call("a text", other)


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
