"""Documents that come to a database stay if they are like none that is stored, or that stays."""

import numpy as np
import pyarrow as pa
import pytest

import simdb
from simdb.core import memory
from simdb.core.decoding import text_column
from simdb.jobs.deduplication import claims
from simdb.jobs.deduplication.claims import Arrivals
from simdb.jobs.deduplication.minima import Minima
from simdb.jobs.deduplication.question import DedupQuestion

SKETCHES = {
    "simhash": simdb.Simhash(),
    "minhash": simdb.Minhash(),
    "tf": simdb.Simhash(weighting="tf"),
}


def texts_at(places):
    return [GIVEN[at] for at in places]


def text_of(kind, changed=0):
    return " ".join(f"t{kind}w{at}" if at >= changed else f"new{at}" for at in range(60))


STORED = [text_of(0), text_of(1)]
# Like a stored one; new; like the second; nothing; stored; nothing; like the second; new.
GIVEN = [text_of(0, 1), text_of(2), text_of(2, 2), "", text_of(1), " ", text_of(2, 1), text_of(3)]


def question_of(verify="exact", **given):
    asked = {"similarity": None, "distance": None, "recall": None, "search": None, **given}
    return DedupQuestion(
        **asked, verify=verify, policy="star", max_share=None, errors="strict", threads=2,
        progress=None,
    )  # fmt: skip


def decided(database, question, *, size=3, order=None, column=list):
    """Returns what is refused and stored of the given texts, and the latter in the database."""
    parts = [column(GIVEN[start : start + size]) for start in range(0, len(GIVEN), size)]
    names = lambda places: [f"g{at}" for at in places.tolist()]  # noqa: E731
    with (
        database.write() as transaction,
        Arrivals(database, transaction, question) as given,
    ):
        counts = list(given.add_all(parts, lambda: len(GIVEN), lambda ids: [None] * len(ids)))
        refused = given.decide(order, texts_at, names)
        stored = [at for places, _ in given.store(names, texts_at) for at in places.tolist()]
    assert counts == [min(start + size, len(GIVEN)) for start in range(0, len(GIVEN), size)]
    return refused, stored


@pytest.fixture(params=SKETCHES)
def database(request):
    with simdb.open(None, options=simdb.Options(sketch=SKETCHES[request.param])) as held:
        held.insert_many(["s0", "s1"], STORED)
        yield held


def column_of(texts):
    return text_column(pa.array(texts))


@pytest.mark.parametrize("verify", ["exact", "estimate"])
@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("column", [list, column_of])
def test_what_is_like_a_stored_one_or_one_that_stays_is_refused(
    database, monkeypatch, verify, size, column
):
    monkeypatch.setattr(claims, "STORED_DOCUMENTS", 2)
    monkeypatch.setattr(memory, "COLUMN_BYTES", 0 if size == 1 else 1 << 20)

    refused, stored = decided(database, question_of(verify), size=size, column=column)

    assert refused.places.tolist() == [0, 2, 4, 6]
    assert refused.found.matches.tolist() == ["s0", "g1", "s1", "g1"]
    assert refused.earlier == 2
    assert stored == [1, 3, 5, 7]
    assert list(database) == ["s0", "s1", "g1", "g3", "g5", "g7"]


def test_the_preferred_document_of_a_group_stays(database):
    refused, stored = decided(database, question_of(), order=np.arange(len(GIVEN))[::-1])

    assert refused.places.tolist() == [0, 1, 2, 4]
    assert refused.found.matches.tolist() == ["s0", "g6", "g6", "s1"]
    assert stored == [3, 5, 6, 7]


def test_what_is_stored_has_the_sketches_of_its_text(database):
    decided(database, question_of())

    with simdb.open(None, options=database.options) as other:
        other.insert_many(["g1", "g3", "g7"], [GIVEN[1], GIVEN[3], GIVEN[7]])
        for id in other:
            assert database[id] == other[id]
    assert database.stats().empty_count == 2


def test_what_cannot_be_asked_is_refused_before_anything_is_read(database):
    with database.write() as transaction, pytest.raises(simdb.OptionError, match="recall"):
        Arrivals(database, transaction, question_of(recall=7.0))


@pytest.mark.parametrize("database", ["simhash"], indirect=True)
def test_columns_are_cut_and_hashed_once(database, monkeypatch):
    monkeypatch.setattr(Minima, "sign", None)

    refused, stored = decided(database, question_of(), column=column_of)

    assert refused.places.tolist() == [0, 2, 4, 6]
    assert stored == [1, 3, 5, 7]
