"""Documents of every kind to signatures."""

import numpy as np
import pytest

import simdb
from simdb.core import kernel
from simdb.core.bits import fmix64
from simdb.sketch.minhash_sketcher import MinHashSketcher

TEXT = "a rose is a rose is a rose"


def hashes_of(*words):
    _, hashes, _ = kernel.count_tokens(
        [[word] for word in words], shingle=1, seed=0, replace=False, start=0
    )
    return hashes


def signed(document, **options):
    return simdb.signature(document, simdb.Minhash(shingle=1, **options))


@pytest.mark.parametrize("family", ["stratified", "multiply-shift", "mersenne", "one-permutation"])
@pytest.mark.parametrize("stored_bits", [1, 2, 8, 32])
def test_every_kind_of_a_document_has_one_signature(family, stored_bits):
    sketch = simdb.Minhash(shingle=1, family=family, stored_bits=stored_bits)
    features = simdb.Features(hashes_of("a", "rose", "is"))
    documents = [TEXT, TEXT.encode(), TEXT.split(), tuple(TEXT.split()), features]

    signatures = simdb.signatures([*documents, simdb.signature(TEXT, sketch)], sketch)

    assert signatures.minima.dtype == (np.uint32 if stored_bits == 32 else np.uint8)
    assert signatures.minima.shape == (6, 128)
    assert (signatures.minima == signatures.minima[0]).all()
    assert not signatures.is_empty.any()


def test_a_bag_counts_each_occurrence_as_a_feature():
    once, twice, both = (signed(text, weighting="bag") for text in ("a b", "a a b", "b a a"))

    assert twice == both
    assert twice != once
    features = simdb.Features(hashes_of("a", "b", "a"))
    assert signed(features, weighting="bag") == twice


def test_weights_are_counts_of_occurrences_or_those_given():
    features = simdb.Features(hashes_of("a", "b", "a"), np.array([1.5, 2, 1.5]))

    assert signed("a b a a b", weighting="tf") == signed(features, weighting="tf")


def test_many_documents_are_counted_some_at_a_time(monkeypatch):
    texts = ["a a b", "", "b", "a b c", "c c"]
    sketch = simdb.Minhash(shingle=1, weighting="bag")
    whole = simdb.signatures(texts, sketch)
    monkeypatch.setattr("simdb.sketch.minhash_sketcher.COUNTED_DOCUMENTS", 2)

    parts = simdb.signatures(texts, sketch)

    np.testing.assert_array_equal(parts.minima, whole.minima)
    assert parts.is_empty.tolist() == [False, True, False, False, False]


@pytest.mark.parametrize("weighting", ["set", "bag", "tf"])
def test_features_of_32_bits_are_the_highest_of_the_mixed_hash(weighting):
    word = np.array([0x0123456789ABCDEF], np.uint64)
    # Hashes whose mixed ones differ in the lowest bits only, and in the lowest bit that counts.
    mixed = int(fmix64(word)[0])
    other, next_one = (np.array([unmixed(mixed ^ bit)], np.uint64) for bit in (0xFFFF, 1 << 32))

    narrow = [
        signed(simdb.Features(each), weighting=weighting, feature_bits=32)
        for each in (word, other, next_one)
    ]
    wide = [signed(simdb.Features(each), weighting=weighting) for each in (word, other)]

    assert narrow[0] == narrow[1]
    assert narrow[0] != narrow[2]
    assert wide[0] != wide[1]


def unmixed(word):
    mask = 2**64 - 1
    for factor in (0xC4CEB9FE1A85EC53, 0xFF51AFD7ED558CCD):
        word ^= word >> 33
        word = word * pow(factor, -1, 2**64) & mask
    return word ^ word >> 33


@pytest.mark.parametrize("weighting", ["set", "bag", "tf"])
@pytest.mark.parametrize(
    "empty", ["", " .,", b"", [], simdb.Features(np.empty(0, np.uint64))], ids=repr
)
def test_a_document_without_features_is_empty(weighting, empty):
    sketch = simdb.Minhash(weighting=weighting)

    signatures = simdb.signatures([empty, "some words", empty], sketch)

    assert signatures.is_empty.tolist() == [True, False, True]
    assert (signatures.minima[[0, 2]] == 2**32 - 1).all()
    assert simdb.similarity(signatures[0], signatures[2]) == 0
    assert simdb.similarity(signatures[0], signatures[1]) == 0


def test_documents_may_come_from_an_iterator():
    assert simdb.signatures(iter([TEXT]))[0] == simdb.signature(TEXT)


def test_kinds_that_make_no_sense_are_named():
    for document in (1, np.zeros(3), simdb.Fingerprint(1)):
        with pytest.raises(simdb.InputError, match=r"document 1 is .*MinHash sketch takes str"):
            simdb.signatures(["a", document])
    with pytest.raises(
        simdb.InputError, match=r"document 1 is NoneType \(a null\); leave nulls out"
    ):
        simdb.signatures(["a", None])
    with pytest.raises(simdb.InputError, match="put a single one into a list"):
        simdb.signatures("text")


def test_weights_that_would_be_lost_are_refused():
    weighted = simdb.Features(hashes_of("a"), np.ones(1))

    for weighting in ("set", "bag"):
        with pytest.raises(simdb.InputError, match=r"document 1 .* Minhash\(weighting='tf'\)"):
            simdb.signatures(["a", weighted], simdb.Minhash(weighting=weighting))
    with pytest.raises(simdb.InputError, match="document 0 has a feature of weight -1"):
        signed(simdb.Features(hashes_of("a"), -np.ones(1)), weighting="tf")


def test_ready_signatures_of_another_sketch_are_refused():
    ready = simdb.signatures(["a"], simdb.Minhash(seed=1))

    for documents in (ready, [ready[0]]):
        with pytest.raises(simdb.OptionError, match="signatures of different options"):
            simdb.signatures(documents)
    assert simdb.signatures(ready, ready.sketch) is ready


def test_features_are_told_by_name():
    signer = MinHashSketcher(simdb.Minhash(weighting="bag", shingle=1))

    named = signer.features("b a b")

    assert named.shingles == ["b", "a"]
    assert named.weights.tolist() == [2, 1]
    assert signer.features(simdb.signature("a")) is None


@pytest.mark.parametrize("stored_bits", [8, 32])
@pytest.mark.parametrize("weighting", ["set", "bag", "tf"])
def test_fewer_permutations_are_the_first_of_more(stored_bits, weighting):
    documents = ["a rose is a rose", "", TEXT.split(), *(f"w{at} v{at}" for at in range(9))]
    some, more = (
        simdb.signatures(documents, simdb.Minhash(
            shingle=1, permutations=count, stored_bits=stored_bits, weighting=weighting
        ))
        for count in (17, 24)
    )  # fmt: skip

    assert some.minima.shape == (len(documents), 17)
    assert (some.minima == more.minima[:, :17]).all()
    assert (some.is_empty == more.is_empty).all()
    assert simdb.signature(TEXT.split(), some.sketch).minima.tolist() == some.minima[2].tolist()
