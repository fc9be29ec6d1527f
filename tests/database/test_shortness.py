"""The advice on a database says if its documents are too short for the default threshold."""

import pytest

import simdb

COUNT = 150


def short_advice(path, options, texts):
    with simdb.open(path, "x", options=options, durability="none") as database:
        database.insert_many(range(len(texts)), texts)
        return [each for each in database.advice() if each.topic == "short documents"]


def texts_of(length, count=COUNT):
    return [" ".join(f"w{at}x{each}" for each in range(length)) for at in range(count)]


@pytest.mark.parametrize("sketch", [simdb.Simhash(), simdb.Simhash(shingle=1), simdb.Minhash()])
def test_short_documents_get_advice_that_names_tune(tmp_path, sketch):
    (found,) = short_advice(tmp_path / "db", simdb.Options(sketch=sketch), texts_of(9))

    assert "simdb tune" in found.remedy
    assert str(sketch.scale_of().usual) in found.reason


@pytest.mark.parametrize(
    "options",
    [
        simdb.Options(sketch=simdb.Simhash(store_volatility=False)),
        simdb.Options(sketch=simdb.Simhash(weighting="tf")),
        simdb.Options(sketch=simdb.Minhash(stored_bits=8)),
        simdb.Options(sketch=simdb.Simhash(shingle=1), similarity=0.7),  # which was chosen
    ],
)
def test_what_is_not_known_gets_none(tmp_path, options):
    assert short_advice(tmp_path / "db", options, texts_of(9)) == []


def test_deleted_documents_do_not_count(tmp_path):
    with simdb.open(tmp_path / "db", "x", durability="none") as database:
        database.insert_many(range(COUNT), texts_of(60))
        database.insert_many(range(COUNT, 3 * COUNT), texts_of(9, 2 * COUNT))
        database.delete_many(list(range(COUNT, 3 * COUNT)))

        assert [each.topic for each in database.advice()].count("short documents") == 0
