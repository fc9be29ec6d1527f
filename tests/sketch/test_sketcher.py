import numpy as np
import pytest
from oracle import quantised
from over import over

import simdb
from simdb.core.arrays import BARE, EMPTY, WEIGHTED
from simdb.sketch.sketcher import Sketcher

TEXT = "The quick brown fox \u2014 jumps over the LAZY dog"


def sketch(documents, errors="strict", **options):
    return Sketcher(simdb.Simhash(**options)).sketch(documents, errors=errors)


def test_every_kind_of_document_has_its_state():
    documents = [
        TEXT,
        "",
        5,
        np.uint64(5),
        ["token", "list"],
        [],
        simdb.Fingerprint(5),
        simdb.Fingerprint(5, is_empty=True),
        simdb.fingerprint(TEXT),
        simdb.Features(np.arange(4, dtype=np.uint64)),
        simdb.Features(np.empty(0, np.uint64)),
    ]

    states = sketch(documents).states.tolist()

    assert states == [
        WEIGHTED, EMPTY, BARE, BARE, WEIGHTED, EMPTY, BARE, EMPTY, WEIGHTED, WEIGHTED, EMPTY,
    ]  # fmt: skip


def test_without_stored_volatility_texts_are_bare():
    sketches = sketch([TEXT, "", 5], store_volatility=False)

    assert sketches.vectors.shape == (3, 0)
    assert sketches.states.tolist() == [BARE, EMPTY, BARE]


def test_an_arrow_column_is_taken(database):
    pyarrow = pytest.importorskip("pyarrow")

    database.insert_many(pyarrow.array([1, 2]), pyarrow.array([TEXT, "other words"]))

    assert database.query(TEXT)[0].id == 1
    found = database.query_many(pyarrow.chunked_array([["other words"], [TEXT]]))
    assert [row[0].id for row in found] == [2, 1]


@over(("given", "dimensions"), [(64, 128), (64, 256), (128, 256), (256, 128), (256, 64)])
def test_weights_serve_a_database_with_another_number_of_them(given, dimensions):
    fingerprints = simdb.fingerprints([TEXT, "other words"], simdb.Simhash(dimensions=given))
    sketcher = Sketcher(simdb.Simhash(dimensions=dimensions))

    sketches = sketcher.sketch(fingerprints, is_query=True)

    assert sketches.vectors.shape == (2, dimensions // 2)
    for packed, weights in zip(sketches.vectors, fingerprints.weights, strict=True):
        halves = np.concatenate([packed & 15, packed >> 4]).astype(int)
        assert np.array_equal(2 * halves - 15, quantised(np.tile(weights, 4)[:dimensions]))
    assert sketches.bits.tolist() == fingerprints.bits.tolist()
    assert sketches.states.tolist() == [WEIGHTED, WEIGHTED]
    assert sketches.levels.shape == (2, 64)


FEATURES = simdb.Features(np.array([3, 5, 8], np.uint64), np.array([1, 2, 3], np.float32))


@pytest.mark.parametrize("document", [TEXT, TEXT.split(), FEATURES], ids=type)
def test_fewer_weights_are_the_first_ones(document):
    all_weights = [
        simdb.fingerprint(document, simdb.Simhash(dimensions=each)).weights
        for each in (64, 128, 256)
    ]

    for weights in all_weights:
        assert np.array_equal(weights, all_weights[-1][: len(weights)])


def test_fingerprints_with_weights_of_zeros_have_no_features():
    empty = simdb.fingerprints(["", TEXT])

    assert sketch(empty).states.tolist() == [EMPTY, WEIGHTED]
    assert sketch(list(empty)).states.tolist() == [EMPTY, WEIGHTED]
    assert sketch(empty, store_volatility=False).states.tolist() == [EMPTY, BARE]
    assert sketch(list(empty), store_volatility=False).states.tolist() == [EMPTY, BARE]
