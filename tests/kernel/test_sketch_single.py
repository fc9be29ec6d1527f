"""One text at a time gives what the texts of a batch give, in every variant."""

import numpy as np
import pytest
from over import over

from simdb.core import kernel
from simdb.core.options import FAMILIES, Minhash
from simdb.core.vector_form import pack_minima
from simdb.sketch.minhash_sketcher import narrowed, permutations_of

SETTINGS = {"unit": "words", "shingle": 2, "lowercase": True, "seed": 7, "vocabulary": None}
TEXTS = (
    "", " .,", "a", "One two", "one two one two three", "\u00c4gypten \u4e2d\u6587 caf\u00e9",
    b"bytes of ASCII", "b\u00fctes of UTF-8".encode(), "x" * 300, "q w " * 5000,
    " ".join(f"word{number}" for number in range(9000)),
)  # fmt: skip


@over("dimensions", [64, 128, 256])
@over("counting", ["tf", "binary", "log-tf"])
def test_a_fingerprint_is_that_of_the_batch(sketch, counting, dimensions):
    width = dimensions // 2
    weights, features = sketch.project_texts(
        TEXTS, replace=False, start=0, counting=counting, dimensions=max(dimensions, 128),
        **SETTINGS,
    )  # fmt: skip
    weights = np.ascontiguousarray(weights[:, :dimensions])
    bits, vectors = sketch.quantise(weights)
    levels = kernel.levels(weights)

    maker = sketch.TextFingerprinter(
        counting=counting, idf=None, dimensions=dimensions, width=width, **SETTINGS
    )

    for at, text in enumerate(TEXTS):
        found = maker.sketch(text, False, 0, True)
        assert found[0].tolist() == [int(bits[at])]
        assert found[1].tolist() == [vectors[at].tolist()]
        assert found[2].tolist() == [levels[at].tolist()]
        assert found[3] == features[at]
        assert maker.sketch(text, False, 0, False)[2] is None


def test_a_stem_function_can_sketch_with_the_same_object(sketch):
    makers = []

    def stem(tokens):
        taken, makers[:] = makers[:], []
        inner = [maker.sketch("inner text", False, 0, False)[3] for maker in taken]
        return [f"{token}{sum(inner)}" for token in tokens]

    known = SETTINGS | {"vocabulary": sketch.Vocabulary(7, [], stem)}
    maker = sketch.TextFingerprinter(counting="tf", idf=None, dimensions=128, width=64, **known)
    makers.append(maker)
    maker.sketch("outer words here", False, 0, False)

    again = maker.sketch("outer words here", False, 0, False)

    expected, _ = sketch.project_texts(
        ["outer words here"], replace=False, start=0, counting="tf", **known
    )
    assert again[0].tolist() == sketch.quantise(expected)[0].tolist()


@over("stored_bits", [1, 2, 8, 32])
@over("family", FAMILIES)
def test_a_signature_is_that_of_the_batch(sketch, family, stored_bits):
    permutations = permutations_of(Minhash(permutations=24, family=family, seed=5))
    minima, features = sketch.sign_texts(
        TEXTS, replace=False, start=0, family=permutations, feature_bits=32, **SETTINGS
    )
    stored = narrowed(minima, permutations, stored_bits) if stored_bits < 32 else minima
    words = stored if stored_bits == 32 else pack_minima(stored, stored_bits)
    keys = sketch.band_keys(words, bands=1, rows=words.shape[1])

    signer = sketch.TextSigner(
        family=permutations, feature_bits=32, stored_bits=stored_bits, **SETTINGS
    )

    for at, text in enumerate(TEXTS):
        bits, packed, count = signer.sign(text, False, 0)
        assert bits.tolist() == keys[at].tolist()
        assert packed.tolist() == pack_minima(stored[at : at + 1], stored_bits).tolist()
        assert count == features[at]


@over("stored_bits", [1, 2, 8, 32])
@over(("bands", "rows"), [(1, 1), (1, 24), (3, 8), (5, 4), (24, 1)])
def test_keys_of_one_signature_are_those_of_many(sketch, bands, rows, stored_bits):
    generator = np.random.default_rng(bands)
    kind = np.uint32 if stored_bits == 32 else np.uint8
    minima = generator.integers(0, 2**stored_bits, (1, 24), kind)
    packed = pack_minima(minima, stored_bits)

    keys = sketch.keys_of_one(packed, stored_bits=stored_bits, bands=bands, rows=rows)

    assert keys.tolist() == sketch.band_keys(minima, bands=bands, rows=rows)[0].tolist()


@over("dimensions", [64, 128, 256])
@over("length", [64, 100, 256])
def test_given_weights_have_the_sketch_of_the_batch(sketch, length, dimensions):
    weights = np.random.default_rng(length).normal(size=length).astype(np.float32)
    wide = weights[np.arange(dimensions) % length]
    bits, vectors = sketch.quantise(wide[None])
    asked = {"dimensions": dimensions, "width": dimensions // 2, "is_rounded": False}

    found = sketch.quantise_one(weights, is_query=True, **asked)

    assert found[0].tolist() == bits.tolist()
    assert found[1].tolist() == vectors.tolist()
    assert found[2].tolist() == kernel.levels(wide[None]).tolist()
    assert found[3] == length


def test_given_weights_of_other_types_and_sizes_are_refused():
    weights = np.ones(128, np.float32)
    asked = {"dimensions": 128, "width": 64, "is_rounded": False, "is_query": False}

    for wrong, settings in [
        (weights.astype(np.float64), {}),
        (weights[None], {}),
        (weights[:0], {}),
        (weights * np.float32(np.inf), {}),
        (weights, {"dimensions": 100}),
        (weights, {"width": 32}),
    ]:
        with pytest.raises(ValueError, match=r"weights|dimensions"):
            kernel.quantise_one(wrong, **(asked | settings))
