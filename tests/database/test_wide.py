"""A database of 256 weights keeps them through every conversion, and answers by all of them."""

import io

import numpy as np
import pytest
from oracle import quantised

import simdb

SKETCH = simdb.Simhash(shingle=1, dimensions=256)
OPTIONS = simdb.Options(sketch=SKETCH, delta_documents=20, growth=2, polytopes=3)
COUNT = 90


@pytest.fixture(scope="module")
def texts():
    """Texts of a few kinds, each with some words of its own."""
    generator = np.random.default_rng(3)
    words = [f"word{number}" for number in range(200)]
    bases = [generator.choice(words, 40) for _ in range(5)]
    made = []
    for number in range(COUNT):
        chosen = bases[number % 5].copy()
        chosen[generator.integers(0, 40, 6)] = generator.choice(words, 6)
        made.append(" ".join(chosen))
    return made


@pytest.fixture
def filled(open_database, texts):
    database = open_database(options=OPTIONS)
    for start in range(0, COUNT, 30):
        database.insert_many(range(start, start + 30), texts[start : start + 30])
    return database


def answers(database):
    """Return the weights of all documents, and the pairs that are found."""
    documents = database.get_many(range(COUNT))
    pairs = database.find_all(similarity=0.5, recall=1.0)
    found = zip(pairs.left, pairs.right, pairs.similarity.tolist(), strict=True)
    return [each.fingerprint.weights.tolist() for each in documents], sorted(found)


def test_a_document_has_the_rounded_weights_of_its_text(filled, texts):
    weights, _ = answers(filled)

    exact = simdb.fingerprints(texts, SKETCH).weights
    assert weights == [quantised(row).tolist() for row in exact]
    assert len(filled) == COUNT


@pytest.mark.few(1)
@pytest.mark.parametrize("convert", ["compact", "rebuild", "dump", "copy", "calibrate"])
def test_a_conversion_keeps_weights_and_answers(filled, open_database, tmp_path, convert):
    before = answers(filled)
    converted = filled
    if convert == "dump":
        stream = io.BytesIO()
        filled.dump(stream)
        stream.seek(0)
        simdb.load(stream, tmp_path / "loaded")
        converted = open_database(tmp_path / "loaded")
    elif convert == "copy":
        filled.copy(tmp_path / "copied")
        converted = open_database(tmp_path / "copied")
    else:
        getattr(filled, convert)()

    assert converted.options.sketch.dimensions == 256
    assert answers(converted) == before
    assert len(before[1]) > COUNT
