"""Similarities as users see them: Jaccard's of texts, the cosine of vectors and of weights."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simdb
from simdb.core.scales import COSINES, FEATURE_SETS, SIGNATURES, TEXT_CONTENT
from simdb.core.stored_options import decode_options, differences, encode_options
from simdb.core.vector_form import corrected

TEXT, VECTOR = TEXT_CONTENT, TEXT_CONTENT + 384


@pytest.mark.parametrize(("similarity", "cosine"), [(0.8, 8 / 9), (0.5, 2 / 3), (1.0, 1.0)])
def test_jaccard_similarities_of_sets_of_one_size_are_these_cosines(similarity, cosine):
    assert FEATURE_SETS.to_cosine(similarity) == pytest.approx(cosine)
    assert FEATURE_SETS.from_cosine(cosine) == pytest.approx(similarity)
    for scale in (SIGNATURES, COSINES):
        assert scale.to_cosine(similarity) == scale.from_cosine(similarity) == similarity


@given(st.floats(-1, 1, width=32), st.floats(-1, 1, width=32))
def test_what_is_shown_ascends_and_is_the_same_for_one_and_for_many(left, right):
    low, high = sorted([left, right])

    for scale in (FEATURE_SETS, COSINES, SIGNATURES):
        many = scale.shown(np.array([low, high], np.float32))
        assert many[0] <= many[1]
        assert [scale.shown_one(each) for each in (low, high)] == pytest.approx(many.tolist())


@given(st.floats(1 / 1024, 1, width=32))
def test_one_similarity_is_shown_to_the_bit_as_many_are(measured):
    for scale in (FEATURE_SETS, COSINES):
        assert scale.shown_one(measured) == float(scale.shown(np.array([measured], np.float32))[0])


@pytest.mark.parametrize("similarity", [0.01, 0.3, 2 / 3, 0.8, 0.95, 1.0])
def test_the_kernel_keeps_what_is_shown_as_similar_enough(similarity):
    least = np.float32(FEATURE_SETS.compared(similarity))
    below = np.nextafter(least, np.float32(0))

    shown = FEATURE_SETS.shown(np.array([below, least], np.float32))

    assert shown[0] < np.float32(similarity) <= shown[1]


def test_a_threshold_for_texts_is_that_of_their_cosine():
    for similarity in (0.3, 0.8, 0.95):
        cosine = 2 * similarity / (1 + similarity)
        # Both are rounded to float32, which may move them by one.
        assert FEATURE_SETS.compared(similarity) == pytest.approx(
            COSINES.compared(cosine), abs=2**-23
        )
        assert corrected(np.array([FEATURE_SETS.compared(similarity)]))[0] == pytest.approx(
            cosine, abs=1e-6
        )


@pytest.mark.parametrize(
    ("sketch", "content", "measure", "usual"),
    [
        (simdb.Simhash(), 0, "jaccard", 0.8),
        (simdb.Simhash(), TEXT, "jaccard", 0.8),
        (simdb.Simhash(), VECTOR, "cosine", 0.889),
        (simdb.Simhash(vector_length=384), 0, "cosine", 0.889),
        (simdb.Simhash(vector_length=384), TEXT, "jaccard", 0.8),
        (simdb.Simhash(weighting="tf"), TEXT, "cosine", 0.889),
        (simdb.Simhash(weighting="log-tf"), TEXT, "cosine", 0.889),
        (simdb.Minhash(), TEXT, "jaccard", 0.8),
        (simdb.Minhash(weighting="tf"), TEXT, "jaccard", 0.8),
        (simdb.Bits(256), 0, None, 1.0),
    ],
)
def test_the_measure_follows_from_what_documents_are(sketch, content, measure, usual):
    options = simdb.Options(sketch=sketch)

    assert sketch.scale_of(content).measure == measure
    assert options.similarity_in(measure) == usual


def test_a_default_that_was_given_is_converted_for_documents_with_another_measure():
    options = simdb.Options(similarity=0.5)

    assert options.similarity_in("jaccard") == 0.5
    assert options.similarity_in("cosine") == 0.667


@pytest.mark.parametrize("similarity", [0.8, 0.5, 0.123456789, 1.0])
def test_options_are_stored_as_cosines_and_read_as_they_were_given(similarity):
    options = simdb.Options(similarity=similarity, polytopes=4)

    stored = encode_options(options)

    assert stored["similarity"] == pytest.approx(2 * similarity / (1 + similarity))
    assert decode_options(stored) == options


def test_a_threshold_of_an_earlier_version_keeps_its_meaning():
    stored = encode_options(simdb.Options(polytopes=4)) | {"similarity": 0.889}

    found = decode_options(stored)

    assert found.similarity == pytest.approx(0.889 / (2 - 0.889), abs=1e-9)
    assert encode_options(found)["similarity"] == pytest.approx(0.889, abs=1e-12)
    # The default of today is nearly the same, and a database opens with it.
    assert differences(found, simdb.Options()) == []
    assert differences(found, simdb.Options(similarity=0.889)) != []
