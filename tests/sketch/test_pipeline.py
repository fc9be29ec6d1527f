"""The whole way from texts to weights, against plain Python with a Counter."""

import re
from typing import get_args

import feature_oracle as oracle
import numpy as np
import pytest

import simdb
from simdb.core.choices import SimhashWeightingName
from simdb.sketch.sketcher import Sketcher

snowballstemmer = pytest.importorskip("snowballstemmer")
SEED = 9
TEXTS = [
    "The runner was running: the runners run, and THE RUN runs on and on and on!",
    "Cats, cat's and the cat; a caterpillar is no cat.",
    "and the of",
    "",
    "one_word",
    "Do not count the counts of counting, but count on: the count counts. " * 20,
]
STOP_WORDS = ("and", "The", "of", "on")


def features_of(text, shingle, *, stop_words, stemming):
    stops = {word.lower() for word in stop_words}
    words = [word for word in re.findall(r"\w+", text.lower()) if word not in stops]
    if stemming:
        words = filter(None, map(snowballstemmer.stemmer(stemming).stemWord, words))
    return oracle.features_of([word.encode() for word in words], shingle, SEED)


@pytest.mark.parametrize("weighting", get_args(SimhashWeightingName))
@pytest.mark.parametrize(
    "settings",
    [
        {"shingle": 1},
        {"shingle": 1, "stop_words": STOP_WORDS},
        {"shingle": 2, "stemming": "english"},
        {"shingle": 3, "stop_words": STOP_WORDS, "stemming": "english"},
    ],
    ids=str,
)
def test_weights_are_those_of_plain_python(weighting, settings):
    stop_words, stemming = settings.get("stop_words", ()), settings.get("stemming", "")
    features = [
        features_of(text, settings["shingle"], stop_words=stop_words, stemming=stemming)
        for text in TEXTS
    ]
    known = sorted({first >> 16 for each in features for first, _ in each.tolist()})[::2]
    idf = {tag: 1024 + 37 * at for at, tag in enumerate(known)}
    sketch = simdb.Simhash(seed=SEED, weighting=weighting, **settings)
    if sketch.uses_idf:
        table = oracle.table_of(idf, sketch.feature_settings)
        sketch = simdb.Simhash(seed=SEED, weighting=weighting, idf=table, **settings)

    weights = simdb.fingerprints(TEXTS, sketch).weights

    counting = weighting.removesuffix("-idf")
    known_idf = idf if sketch.uses_idf else None
    wanted = [oracle.weights_of(each, counting, known_idf)[0] for each in features]
    np.testing.assert_array_equal(weights, wanted)


def test_stop_words_are_spelled_as_tokens_are():
    sketch = simdb.Simhash(shingle=1, normalisation="nfkc", stop_words=["CAFE\u0301", "\uff54he"])

    found = simdb.fingerprint("The caf\u00e9 opens", sketch)

    assert found.bits == simdb.fingerprint("opens", simdb.Simhash(shingle=1)).bits


def test_weights_of_an_idf_table_are_asked_for_by_name():
    sketch = simdb.Simhash.paper()

    for document in ("text", ["tokens"]):
        with pytest.raises(simdb.OptionError, match=r"simdb\.fit_idf"):
            simdb.fingerprint(document, sketch)
    assert not simdb.fingerprint(simdb.Features(np.arange(3, dtype=np.uint64)), sketch).is_empty


def test_a_stop_word_that_is_no_text_is_refused():
    with pytest.raises(simdb.OptionError, match="surrogate"):
        simdb.fingerprint("text", simdb.Simhash(stop_words=["\ud800"]))


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"stop_words": "english"}, ()),
        ({"stemming": "english", "normalisation": "nfkc"}, ("normalisation", "stemming")),
        ({"marks": "drop"}, ("normalisation",)),
        ({"markup": "html", "tokeniser": "a:b"}, ("markup", "normalisation", "tokeniser")),
        ({"tokeniser": "a:b", "normalisation": "none", "clean": False}, ("tokeniser",)),
    ],
    ids=str,
)
def test_options_say_which_steps_run_in_python(settings, steps):
    assert simdb.Simhash(**settings).python_steps == steps


def test_a_plan_says_in_words_what_runs_in_python(open_database, tmp_path):
    plain = open_database(tmp_path / "plain").plan()
    stemmed = open_database(
        tmp_path / "stemmed",
        options=simdb.Options(sketch=simdb.Simhash(stemming="english", normalisation="nfkc")),
    ).plan()

    assert plain.sketching == "texts become fingerprints in the kernel"
    assert stemmed.sketching.endswith(
        "in Python: normalisation of texts that are not ASCII, stems, once for each distinct word"
    )


@pytest.mark.parametrize(
    "document",
    ["<p>The runner <b>run</b>s</p> on<br>running", ["The", "the", "running", "\ud83d", "\xe9"]],
    ids=["text", "tokens"],
)
def test_features_with_names_weigh_what_the_document_does(document):
    pytest.importorskip("selectolax")
    settings = {"markup": "html", "stop_words": ["the", "on"], "stemming": "english"}
    sketcher = Sketcher(simdb.Simhash(shingle=2, **settings))

    features = sketcher.features(document, errors="replace")

    words = np.array([features.hashes >> np.uint64(bit) & np.uint64(1) for bit in range(64)])
    weights = (np.where(words, 1.0, -1.0) * features.weights).sum(axis=1)
    assert np.array_equal(weights, sketcher.weights([document], errors="replace")[0, :64])
