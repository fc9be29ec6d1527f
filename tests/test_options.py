"""Options: which values they take, and how they are stored; the types have the accepted words."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from over import over
from strategies import options

import simdb
from simdb.core import choices
from simdb.core.choices import ON_NULL
from simdb.core.options import (
    METHODS,
    MINHASH_METHODS,
)
from simdb.core.stored_options import (
    decode_dumped,
    decode_options,
    decode_settings,
    encode_options,
    moved,
)
from simdb.database.clusters.find import POLICIES
from simdb.database.search.judge import VERIFICATIONS
from simdb.database.search.many import MATCHED
from simdb.database.sharding.shards import MISSING
from simdb.database.state.store import MODES, settled
from simdb.database.write.conflicts import RULES
from simdb.sketch.pipeline import ERRORS
from simdb.storage.files import DURABILITIES

SKETCHES = simdb.Simhash, simdb.Minhash
TABLE = simdb.fit_idf(["a b"], simdb.Simhash(shingle=1))


@over(
    ("name", "values"),
    [
        ("blocks", [0, 65, 4.0, True]),
        ("polytopes", [-1, 17, 2.0, True]),
        ("leading", [0, 5]),
        ("similarity", [0, 1.01, "high", float("nan")]),
        ("distance", [-1, 65]),
        ("recall", [0.0, 2, True]),
        ("delta_documents", [0, 2**21]),
        ("growth", [1, 1001]),
        ("header_offset", [-5, 1]),
        ("sketch", [None, {"shingle": 3}]),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(name, values):
    for value in values:
        with pytest.raises(simdb.OptionError, match=name):
            simdb.Options(**{name: value})


@over(
    ("sketch", "name", "values"),
    [
        *((each, "unit", ["sentences", None]) for each in SKETCHES),
        *((each, "shingle", [0, 65, "3"]) for each in SKETCHES),
        *((each, "seed", [-1, 2**32]) for each in SKETCHES),
        (simdb.Simhash, "weighting", ["idf"]),
        (simdb.Simhash, "lowercase", [1]),
        (simdb.Simhash, "normalisation", ["nfd"]),
        (simdb.Simhash, "dimensions", [100]),
        (simdb.Simhash, "store_volatility", ["yes"]),
        (simdb.Minhash, "unit", ["moz"]),
        (simdb.Minhash, "weighting", ["binary"]),
        (simdb.Minhash, "permutations", [0, 1032, 100.5, "128"]),
        (simdb.Minhash, "stored_bits", [0, 4, 16]),
        (simdb.Minhash, "family", ["md5"]),
        (simdb.Minhash, "feature_bits", [16]),
        (simdb.Minhash, "stop_words", [5]),
    ],
)
def test_a_sketch_value_that_cannot_be_is_refused_by_name(sketch, name, values):
    for value in values:
        with pytest.raises(simdb.OptionError, match=name):
            sketch(**{name: value})


@over(
    ("options", "message"),
    [
        ({"weighting": "tf", "family": "mersenne"}, "family='mersenne' does not apply"),
        ({"unit": "characters", "stop_words": ("a",)}, "stop_words= needs unit="),
        ({"idf": TABLE}, "takes no idf"),
        ({"weighting": "tf-idf", "idf": TABLE}, "shingle was 1, not 3"),
    ],
)
def test_options_of_signatures_that_mean_nothing_together_are_refused(options, message):
    with pytest.raises(simdb.OptionError, match=message):
        simdb.Minhash(**options)
    assert simdb.Minhash(shingle=1, weighting="tf-idf", idf=TABLE).idf == TABLE


def test_a_shape_of_too_many_tables_says_how_many_it_makes():
    with pytest.raises(simdb.OptionError, match=r"blocks=8, leading=4 make 70 tables"):
        simdb.Options(blocks=8, leading=4)


@given(chosen=options())
def test_options_come_back_as_they_were_stored(chosen):
    assert decode_options(encode_options(chosen)) == chosen


def test_an_option_that_was_not_stored_yet_has_its_default():
    stored = encode_options(simdb.Options(blocks=6))
    del stored["growth"]
    del stored["header_offset"]
    del stored["sketch"]["seed"]

    assert decode_options(stored) == simdb.Options(blocks=6)


def test_options_that_were_not_released_are_refused_with_the_remedy():
    stored = encode_options(simdb.Options(blocks=6)) | {"distance_tables": "auto"}

    with pytest.raises(simdb.FormatError, match=r"distance_tables.*simdb rebuild"):
        decode_options(stored)

    assert decode_options(moved(stored)) == simdb.Options(blocks=1, header_offset=-1)
    del stored["distance_tables"]
    assert moved(stored) == stored


@pytest.mark.parametrize("stored", [{"turbo": 1}, {"sketch": {"turbo": 1}}])
def test_an_unknown_stored_option_asks_for_a_newer_version(stored):
    with pytest.raises(simdb.FormatError, match=r"turbo.*newer simdb"):
        decode_options(stored)


@pytest.mark.parametrize("stored", [{"blocks": 99}, {"sketch": {"shingle": 0}}])
def test_a_stored_value_of_a_newer_version_is_refused(stored):
    with pytest.raises(simdb.Error):
        decode_options(stored)


@over(
    ("dimensions", "stores", "width"),
    [(256, True, 128), (128, True, 64), (64, True, 32), (64, False, 0)],
)
def test_a_vector_takes_half_a_byte_a_dimension(dimensions, stores, width):
    sketch = simdb.Simhash(dimensions=dimensions, store_volatility=stores)

    assert sketch.vector_bytes == width
    assert simdb.Minhash().vector_bytes == 512
    assert simdb.Minhash(permutations=256, stored_bits=8).vector_bytes == 256
    assert simdb.Minhash(permutations=512, stored_bits=1).vector_bytes == 64
    assert simdb.Minhash(permutations=512, stored_bits=2).vector_bytes == 128


@over("size", [32, 64, 128, 256])
def test_a_sketch_is_chosen_for_so_many_bytes(size):
    options = simdb.Options(bytes=size, similarity=0.9)

    assert options.sketch.vector_bytes == size
    assert options == simdb.Options(sketch=options.sketch, similarity=0.9)
    assert replace(options, recall=0.5).sketch == options.sketch
    assert decode_options(encode_options(settled(options))) == settled(options)
    with pytest.raises(simdb.OptionError, match="leave out bytes= or sketch="):
        simdb.Options(bytes=size, sketch=simdb.Simhash())


def test_other_sizes_of_sketches_are_refused_with_those_there_are():
    for size in (0, 48, 64.0, "64", True):
        with pytest.raises(simdb.OptionError, match="bytes must be one of 32, 64, 128, 256, got"):
            simdb.Options(bytes=size)


@over("stored_bits", [1, 2])
def test_minima_of_few_bits_fill_bytes(stored_bits):
    with pytest.raises(simdb.OptionError, match=r"permutations must be a multiple of 8 .* 100"):
        simdb.Minhash(permutations=100, stored_bits=stored_bits)


def test_the_similarity_is_that_of_the_sketch_unless_it_is_given():
    tfidf = simdb.Simhash(shingle=1, weighting="tf-idf")

    assert simdb.Options().similarity == 0.8
    assert simdb.Options(sketch=simdb.Simhash(weighting="tf")).similarity == 0.889
    assert simdb.Options(sketch=tfidf).similarity == 0.909
    assert simdb.Options(sketch=tfidf, similarity=0.7).similarity == 0.7
    assert simdb.Options(sketch=replace(tfidf, shingle=3)).similarity == 0.889


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"kind": "other"}, simdb.FormatError),
        ({"kind": ["minhash"]}, simdb.CorruptError),
        ({"permutations": 7}, simdb.CorruptError),
        ({"dimensions": 64}, simdb.FormatError),
    ],
    ids=str,
)
def test_stored_sketches_that_cannot_be_are_refused(change, error):
    encoded = encode_options(simdb.Options(sketch=simdb.Minhash(), bands=9, rows=7))
    encoded["sketch"] |= change

    with pytest.raises(error):
        decode_options(encoded)


@pytest.mark.parametrize("names", [("bands",), ("rows",), ("bands", "rows")], ids=str)
def test_stored_signatures_without_bands_are_refused(names):
    encoded = encode_options(simdb.Options(sketch=simdb.Minhash(), bands=9, rows=7))
    for name in names:
        del encoded[name]

    with pytest.raises(simdb.CorruptError):
        decode_options(encoded)


def without(name, options):
    """Return the stored options without one of the values that all databases have since 0.2."""
    stored = encode_options(options)
    del (stored if name in stored else stored["sketch"])[name]
    return stored


SIGNED = simdb.Options(sketch=simdb.Minhash(by_character="cjk"), bands=9, rows=7)


@pytest.mark.parametrize(
    ("options", "name"),
    [(simdb.Options(), "corrected"), (simdb.Options(), "by_character"), (SIGNED, "by_character")],
)
def test_options_from_before_the_first_release_are_refused_with_the_remedy(options, name):
    with pytest.raises(simdb.FormatError, match=rf"'{name}'; dump it with the version that wrote"):
        decode_options(without(name, options))


def test_options_that_deny_the_correction_are_refused():
    with pytest.raises(simdb.FormatError, match="without the option 'corrected'"):
        decode_options(encode_options(simdb.Options()) | {"corrected": False})


@pytest.mark.parametrize(
    "options", [simdb.Options(sketch=simdb.Simhash(by_character="cjk")), SIGNED]
)
def test_a_dump_from_before_the_first_release_cuts_texts_as_it_did(options):
    assert decode_dumped(without("by_character", options), None) == options


def test_a_dump_from_before_the_first_release_matches_the_same_documents():
    stored = without("corrected", simdb.Options()) | {"similarity": 0.88}

    found = decode_dumped(stored, None)

    assert found.similarity == pytest.approx(0.8, abs=0.001)
    assert found.scale.compared(found.similarity) == pytest.approx(0.88, abs=1e-6)
    assert decode_dumped(encode_options(found), None) == found


def test_settings_of_features_from_before_the_first_release_are_refused():
    with pytest.raises(simdb.FormatError, match="without the setting 'by_character'; make the"):
        decode_settings({"shingle": 2}, "here")


@pytest.mark.parametrize(("number", "stored"), [(None, None), (0, 0), (7, 7)])
def test_the_number_of_polytopes_is_stored_only_if_it_was_given(number, stored):
    options = simdb.Options(polytopes=number)

    encoded = encode_options(options)

    assert encoded.get("polytopes") == stored
    assert ("polytopes" in encoded) == (stored is not None)
    assert decode_options(encoded) == options
    assert options.polytope_count == (stored or 0)


@pytest.mark.parametrize(
    "sketch",
    [simdb.Minhash(), simdb.Simhash(store_volatility=False)],
    ids=["signatures", "no vectors"],
)
def test_without_volatility_vectors_there_are_no_polytopes(sketch):
    none = simdb.Options(sketch=sketch, polytopes=0)

    assert none == simdb.Options(sketch=sketch)
    assert settled(none).polytopes is None
    with pytest.raises(simdb.OptionError, match="polytopes=1 works only with fing"):
        simdb.Options(sketch=sketch, polytopes=1)


@pytest.mark.parametrize(("number", "chosen"), [(None, 4), (0, 0), (9, 9)])
def test_a_new_database_has_four_polytopes_unless_another_number_is_given(number, chosen):
    assert settled(simdb.Options(polytopes=number)).polytopes == chosen


@over(
    ("name", "accepted"),
    [
        (choices.MethodName, {*METHODS, *MINHASH_METHODS}),
        (choices.PolicyName, set(POLICIES)),
        (choices.MatchName, set(MATCHED)),
        (choices.VerifyName, set(VERIFICATIONS)),
        (choices.ErrorsName, set(ERRORS)),
        (choices.NullName, set(ON_NULL)),
        (choices.ModeName, set(MODES)),
        (choices.DurabilityName, set(DURABILITIES)),
        (choices.ConflictName, set(RULES)),
        (choices.MissingName, set(MISSING)),
    ],
)
def test_a_type_has_the_words_that_are_accepted(name, accepted):
    assert set(get_args(name)) == accepted
    assert all(f'"{word}"' in choices.__doc__ for word in accepted)


@over(
    ("options", "name", "accepted"),
    [
        (simdb.Options, "keep_times", choices.TimesName),
        (simdb.Options, "keep_clusters", choices.ClustersName),
        (simdb.Simhash, "markup", choices.MarkupName),
        (simdb.Simhash, "normalisation", choices.NormalisationName),
        (simdb.Simhash, "marks", choices.MarksName),
        (simdb.Minhash, "unit", choices.UnitName),
        (simdb.Minhash, "by_character", choices.ByCharacterName),
        (simdb.Simhash, "weighting", choices.SimhashWeightingName),
        (simdb.Minhash, "weighting", choices.MinhashWeightingName),
        (simdb.Minhash, "family", choices.FamilyName),
    ],
)
def test_an_option_takes_the_words_of_its_type_and_no_others(options, name, accepted):
    with pytest.raises(simdb.OptionError, match=f"^{name} must be one of") as refused:
        options(**{name: "unheard-of"})

    assert all(repr(word) in str(refused.value) for word in get_args(accepted))
    assert all(f'"{word}"' in choices.__doc__ for word in get_args(accepted))
