"""Claims by the rule "contained": what is stored keeps out only what it has wholly."""

import pytest
from over import over

import simdb

BASE = " ".join(f"w{at}" for at in range(60))
LONGER, SHORTER = f"{BASE} a b", BASE.replace(" w59", "")
OTHER = f"{BASE} c"
FEATURES = simdb.Options(features=True)


def claimed(db, documents, **more):
    ids = [f"{len(db)}-{at}" for at in range(len(documents))]
    return [bool(row) for row in db.add_many_if_new(ids, documents, rule="contained", **more)]


@pytest.fixture(params=["features", "texts"])
def db(request, tmp_path):
    options = simdb.Options(**{request.param: True})
    with simdb.open(tmp_path / "texts.simdb", options=options) as held:
        yield held
        assert not list(held.check())


def test_a_document_is_refused_only_if_one_before_it_has_all_its_3_grams(db):
    assert claimed(db, [BASE, SHORTER, LONGER, OTHER, BASE]) == [False, True, False, False, True]


def test_stored_features_decide(db):
    db.insert("stored", BASE)

    assert claimed(db, [SHORTER, LONGER, OTHER, BASE]) == [True, False, False, True]
    assert claimed(db, [SHORTER, f"{LONGER} d"]) == [True, False]


def test_texts_decide_without_features_and_unknown_ones_refuse_nothing(tmp_path):
    with simdb.open(tmp_path / "texts.simdb") as held:
        held.insert_many(["known", "unknown"], [BASE, f"other {BASE}"])
        texts = {"known": BASE}

        assert claimed(held, [SHORTER, LONGER], texts=texts) == [True, False]
        assert claimed(held, [f"other {SHORTER}"], texts=texts) == [False]


def test_a_similar_document_is_no_copy_by_the_rule(db):
    db.insert("stored", BASE)

    found = db.add_many_if_new(["new"], [OTHER])

    assert len(found[0]) == 1


@over(
    ("options", "more"),
    [
        (simdb.Options(), {}),
        (FEATURES, {"verify": "estimate"}),
        (FEATURES, {"distance": 3}),
        (simdb.Options(features=True, sketch=simdb.Simhash(shingle=2)), {}),
        (simdb.Options(sketch=simdb.Simhash(weighting="tf")), {"texts": {}}),
        (FEATURES, {"rule": "same"}),
    ],
)
def test_what_cannot_tell_what_is_lost_is_refused(tmp_path, options, more):
    with (
        simdb.open(tmp_path / str(id(more)), options=options) as held,
        pytest.raises(simdb.OptionError, match="rule"),
    ):
        held.add_many_if_new(["new"], [BASE], **{"rule": "contained", **more})


def test_deduplicate_stores_features_and_lets_nothing_be_lost(tmp_path):
    path = tmp_path / "texts.simdb"

    first = simdb.deduplicate([SHORTER, BASE], rule="contained", db=path)
    more = [SHORTER + " z", BASE, LONGER, "w0 " + BASE]
    second = simdb.deduplicate(more, rule="contained", db=path)

    assert first.kept.tolist() == [False, True]
    assert second.kept.tolist() == [True, False, True, True]
    assert second.removed.column("lost").to_pylist() == [0]
    with simdb.open(path) as held:
        assert held.options.features
    with pytest.raises(simdb.OptionError, match="lose="):
        simdb.deduplicate([BASE], rule="contained", lose=1, db=path)


def test_a_database_as_a_reference_must_have_features(tmp_path):
    plain, path = tmp_path / "plain.simdb", tmp_path / "texts.simdb"
    with simdb.open(plain) as held:
        held.insert("stored", BASE)
    with simdb.open(path, options=FEATURES) as held:
        held.insert("stored", BASE)

    found = simdb.deduplicate([SHORTER, LONGER, OTHER, LONGER], rule="contained", against=path)

    assert found.kept.tolist() == [False, True, True, False]
    assert found.lost.tolist() == [0, 0]
    with pytest.raises(simdb.OptionError, match="features"):
        simdb.deduplicate([SHORTER], rule="contained", against=plain)
