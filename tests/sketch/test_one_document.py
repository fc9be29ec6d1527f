"""A document that is sketched alone has the sketch that it has among others."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simdb
from simdb.sketch.minhash_sketcher import MinHashSketcher
from simdb.sketch.sketcher import Sketcher

WORDS = ["red", "Green", "\u00e9t\u00e9", "\u4e2d\u6587", ",", " ", "\n", "running", "<b>x</b>"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
DOCUMENTS = st.one_of(
    TEXTS,
    st.text(max_size=12),
    TEXTS.map(str.encode),
    st.binary(max_size=8),
    st.lists(TEXTS, max_size=4),
    TEXTS.map(lambda text: simdb.Features(np.arange(len(text), dtype=np.uint64))),
)
SIMHASHES = (
    simdb.Simhash(weighting="tf", dimensions=64),
    simdb.Simhash(store_volatility=False, unit="whitespace", lowercase=False),
    simdb.Simhash(markup="html", normalisation="nfkc"),
    simdb.Simhash.moz(),
)
MINHASHES = (
    simdb.Minhash(permutations=16, stored_bits=8),
    simdb.Minhash(permutations=16, stored_bits=2),
    simdb.Minhash(permutations=24, stored_bits=1),
    simdb.Minhash(permutations=16, family="one-permutation", feature_bits=64),
    simdb.Minhash(permutations=16, weighting="bag"),
)


def outcome(sketcher: Any, documents: list[Any], errors: str, is_query: bool) -> Any:
    """Return the columns of the first document, or the message of the error."""
    try:
        found = sketcher.sketch(documents, errors=errors, start=3, is_query=is_query)
    except simdb.Error as error:
        return str(error)
    levels = None if found.levels is None else found.levels[0].tolist()
    row = found.bits[0], found.vectors[0].tolist(), found.states[0], levels
    shapes = found.vectors.shape[1:], found.bits.dtype, found.vectors.dtype, found.states.dtype
    return row, shapes


@pytest.mark.parametrize("sketch", SIMHASHES + MINHASHES, ids=str)
@given(
    document=st.one_of(DOCUMENTS, st.integers(0, 2**64 - 1)),
    errors=st.sampled_from(["strict", "replace"]),
    is_query=st.booleans(),
)
def test_a_sketch_made_alone_is_the_same(
    sketch: simdb.Simhash | simdb.Minhash, document: Any, errors: str, is_query: bool
) -> None:
    is_minhash = isinstance(sketch, simdb.Minhash)
    sketcher = MinHashSketcher(sketch) if is_minhash else Sketcher(sketch)

    alone = outcome(sketcher, [document], errors, is_query)

    assert alone == outcome(sketcher, [document, "other"], errors, is_query)


@pytest.mark.parametrize("sketch", SIMHASHES, ids=str)
@given(document=DOCUMENTS, errors=st.sampled_from(["strict", "replace"]))
def test_the_fingerprint_of_one_document_is_that_of_many(
    sketch: simdb.Simhash, document: Any, errors: str
) -> None:
    def first_of(many: list[Any]) -> Any:
        try:
            return simdb.fingerprints(many, sketch, errors=errors)[0]
        except simdb.Error as error:
            return str(error)

    try:
        alone: Any = simdb.fingerprint(document, sketch, errors=errors)
    except simdb.Error as error:
        alone = str(error)

    assert alone == first_of([document])


def test_fingerprints_of_changing_sketches_do_not_mix() -> None:
    other = simdb.Simhash(seed=5)
    expected = simdb.fingerprints(["one two"])[0], simdb.fingerprints(["one two"], other)[0]

    found = [simdb.fingerprint("one two", each) for each in (None, other, None, other, other)]

    assert found == [expected[0], expected[1], expected[0], expected[1], expected[1]]
