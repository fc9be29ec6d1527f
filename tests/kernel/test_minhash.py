"""Signatures, comparisons and band keys: every variant against the plain oracle."""

import random
from itertools import pairwise

import minhash_oracle as oracle
import numpy as np
import pytest
from feature_oracle import features_of
from over import over

from simdb.core.options import FAMILIES, Minhash
from simdb.core.vector_form import pack_minima
from simdb.sketch.minhash_sketcher import permutations_of

COUNTS = [0, 1, 2, 7, 8, 9, 511, 512, 513]
TEXT = {"unit": "words", "lowercase": True, "seed": 0, "replace": False, "start": 0}


EVERY_FAMILY = [permutations_of(Minhash(permutations=24, family=each, seed=5)) for each in FAMILIES]
SIZES = [permutations_of(Minhash(permutations=each)) for each in (16, 104, 200)]


@pytest.fixture(params=EVERY_FAMILY, ids=FAMILIES)
def family(request):
    return request.param


def offsets_of(counts):
    return np.cumsum([0, *counts])


def random_hashes(count, seed=1):
    chance = random.Random(seed)
    return [chance.choice([0, 2**64 - 1, chance.getrandbits(64)]) for _ in range(count)]


@over(("family", "feature_bits"), [
    *((each, bits) for each in EVERY_FAMILY for bits in (32, 64)), *((each, 64) for each in SIZES),
])  # fmt: skip
def test_minima_of_features_are_those_of_the_definition(sketch, family, feature_bits):
    hashes = random_hashes(sum(COUNTS))
    offsets = offsets_of(COUNTS)

    rows = sketch.sign_features(
        offsets, np.array(hashes, np.uint64), None, family=family, feature_bits=feature_bits
    )

    assert rows.dtype == np.uint32
    bounds = pairwise(offsets.tolist())
    expected = [
        oracle.signature(hashes[start:stop], family, feature_bits) for start, stop in bounds
    ]
    assert rows.tolist() == expected


def test_the_largest_numbers_of_a_prime_field_are_reduced(sketch):
    largest = np.full(8, 2**61 - 2, np.uint64)
    hashes = random_hashes(200, seed=2)

    rows = sketch.sign_features(
        np.array([0, 200]),
        np.array(hashes, np.uint64),
        None,
        family=("mersenne", largest, largest),
        feature_bits=64,
    )

    assert rows[0].tolist() == oracle.signature(hashes, ("mersenne", largest, largest))


@over("family", EVERY_FAMILY)
def test_each_occurrence_of_a_feature_is_one_of_its_own(sketch, family):
    hashes = [11, 22, 33]

    rows = sketch.sign_features(
        np.array([0, 3]),
        np.array(hashes, np.uint64),
        np.array([1, 600, 0], np.uint32),
        family=family,
        feature_bits=64,
    )

    occurring = [11, *(22 + oracle.STEP * time for time in range(600))]
    assert rows[0].tolist() == oracle.signature(occurring, family)


@over("shingle", [1, 3])
@over("unit", ["words", "characters", "whitespace"])
def test_texts_have_the_minima_of_their_features(sketch, family, unit, shingle):
    texts = ["", "a", "the cat and the cat and the dog", "caf\u00e9 \u65e5\u672c", "x y " * 3000]
    settings = {**TEXT, "unit": unit, "shingle": shingle}

    rows, counts = sketch.sign_texts(texts, family=family, feature_bits=64, **settings)

    offsets, hashes, occurrences = sketch.count_texts(texts, **settings)
    expected = sketch.sign_features(offsets, hashes, None, family=family, feature_bits=64)
    np.testing.assert_array_equal(rows, expected)
    assert counts.tolist() == np.diff(offsets_of(occurrences)[offsets]).tolist()


@over("shingle", [1, 3, 64])
def test_given_tokens_of_every_length_keep_their_order(sketch, family, shingle):
    lengths = [*range(40), 1023, 1024, 1025, 3, 5000, *[1] * 5000, 1025, *[900] * 20]
    chance = random.Random(6)
    tokens = [chance.randbytes(length) for length in lengths]

    rows, counts = sketch.sign_tokens(
        [tokens], shingle=shingle, seed=7, replace=False, start=0, family=family, feature_bits=64
    )

    features = features_of(tokens, shingle, 7)[:, 0]
    expected = sketch.sign_features(
        np.array([0, len(features)]), np.array(features, np.uint64), None,
        family=family, feature_bits=64,
    )  # fmt: skip
    np.testing.assert_array_equal(rows, expected)
    assert counts.tolist() == [len(features)]


def test_weighted_samples_are_those_of_the_definition(sketch):
    chance = random.Random(3)
    keys = np.array([chance.getrandbits(64) for _ in range(24)], np.uint64)
    counts = [0, 1, 2, 300, 1000]
    weights = [float(np.float32(chance.lognormvariate(0, 8))) for _ in range(sum(counts))]
    weights[5:8] = [0.0, -1.0, float(np.float32(1e-30))]
    hashes = [chance.getrandbits(64) for _ in weights]
    offsets = offsets_of(counts)

    rows = sketch.sign_weighted(
        offsets, np.array(hashes, np.uint64), np.array(weights, np.float32), keys
    )

    for row, (start, stop) in zip(rows, pairwise(offsets.tolist()), strict=True):
        pairs = zip(hashes[start:stop], weights[start:stop], strict=True)
        expected = {feature: weight for feature, weight in pairs if weight > 0}
        assert row.tolist() == oracle.samples(expected, keys.tolist())


@over("dtype", [np.uint8, np.uint32])
@over("width", [1, 8, 24, 31, 32, 64, 72, 128, 200, 1024])
def test_equal_places_are_counted(sketch, dtype, width):
    chance = np.random.default_rng(width)
    left, right = (chance.integers(0, 3, (9, width)).astype(dtype) for _ in range(2))

    one_by_one = sketch.agreements(left, right)
    to_many = sketch.agreements(left[:1], right)

    pairs = list(zip(left.tolist(), right.tolist(), strict=True))
    assert one_by_one.tolist() == [sum(map(int.__eq__, *pair)) for pair in pairs]
    assert to_many.tolist() == [sum(map(int.__eq__, left[0].tolist(), each)) for _, each in pairs]
    assert sketch.agreements(left[:1], right[:0]).tolist() == []


@over("dtype", [np.uint8, np.uint32])
@over("count", [1, 3, 4, 9])
@over(("bands", "rows"), [(1, 1), (1, 16), (3, 5), (16, 1)])
def test_band_keys_are_those_of_the_definition(sketch, dtype, count, bands, rows):
    minima = np.random.default_rng(1).integers(0, 2**32, (count, 16), np.uint32).astype(dtype)

    keys = sketch.band_keys(minima, bands=bands, rows=rows)

    expected = [
        [oracle.band_key(row[band * rows :][:rows], band) for band in range(bands)]
        for row in minima.tolist()
    ]
    assert keys.tolist() == expected


@over("bits", [1, 2])
@over("width", [8, 16, 24, 64, 72, 128, 200, 512, 1024])
@over("offset", [0, 1, 3])
def test_minima_of_few_bits_count_and_have_keys_as_unpacked_ones(sketch, width, bits, offset):
    minima = np.random.default_rng(width).integers(0, 2**bits, (9, width), np.uint8)
    content = bytes(offset) + pack_minima(minima, bits).tobytes()
    packed = np.frombuffer(content, np.uint8, offset=offset).reshape(9, width * bits // 8)
    bands, rows = width // 5, 5

    one_by_one = sketch.agreements(packed, packed[::-1], bits=bits)
    to_many = sketch.agreements(packed[:1], packed, bits=bits)
    keys = sketch.band_keys(packed, bands=bands, rows=rows, bits=bits)

    assert one_by_one.tolist() == (minima == minima[::-1]).sum(axis=1).tolist()
    assert to_many.tolist() == (minima[0] == minima).sum(axis=1).tolist()
    assert keys.tolist() == sketch.band_keys(minima, bands=bands, rows=rows).tolist()


def test_minima_have_1_2_8_or_32_bits(sketch):
    packed = np.zeros((2, 8), np.uint8)

    for ask in (
        lambda: sketch.agreements(packed, packed, bits=4),
        lambda: sketch.band_keys(packed, bands=1, rows=1, bits=0),
        lambda: sketch.band_keys(packed, bands=5, rows=13, bits=1),
        lambda: sketch.band_keys(packed, bands=3, rows=11, bits=2),
        lambda: sketch.keys_of_one(packed[:1], stored_bits=16, bands=1, rows=1),
        lambda: sketch.keys_of_one(np.zeros((1, 256), np.uint8), stored_bits=1, bands=1, rows=1),
    ):
        with pytest.raises(ValueError, match=r"bits|bands"):
            ask()


@over("offset", [1, 2, 3])
def test_minima_at_odd_addresses_count_alike(sketch, offset):
    minima = np.random.default_rng(2).integers(0, 9, (6, 24), np.uint32)
    odd = np.frombuffer(bytes(offset) + minima.tobytes(), np.uint32, offset=offset).reshape(6, 24)
    assert not odd.flags.aligned

    keys = sketch.band_keys(odd, bands=4, rows=5)
    agreeing = sketch.agreements(odd[:5], odd[1:])

    assert (keys == sketch.band_keys(minima, bands=4, rows=5)).all()
    assert (agreeing == sketch.agreements(minima[:5], minima[1:])).all()


@over("counting", ["tf", "binary"])
@over("dimensions", [128, 256])
@over("feature_bits", [32, 64])
def test_texts_are_projected_and_signed_at_once_as_they_are_apart(
    sketch, family, counting, dimensions, feature_bits
):
    chance = random.Random(2)
    texts = ["", "a", "b a", *(" ".join(chance.choices("abcdefgh", k=40)) for _ in range(9))]
    texts += [b"x y z " * 900, "long " * 5000]
    own = TEXT | {"shingle": 2}
    signing = {"family": family, "feature_bits": feature_bits}

    weights, features, rows = sketch.project_and_sign_texts(
        texts, counting=counting, dimensions=dimensions, **signing, **own
    )

    wanted = sketch.project_texts(texts, counting=counting, dimensions=dimensions, **own)
    assert weights.tolist() == wanted[0].tolist()
    assert features.tolist() == wanted[1].tolist()
    assert rows.tolist() == sketch.sign_texts(texts, **signing, **own)[0].tolist()
