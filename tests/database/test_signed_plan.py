"""Databases of MinHash signatures: options, plans, explanations, and arguments they refuse."""

import pytest
from empty import explained, planned
from over import over

import simdb

SKETCH = simdb.Minhash(shingle=1, permutations=64)
OPTIONS = simdb.Options(sketch=SKETCH, bands=12, rows=5)


@over(
    ("settings", "message"),
    [
        ({"blocks": 4}, "blocks"),
        ({"leading": 1}, "leading"),
        ({"distance": 3}, "distance"),
        ({"keep_clusters": "distance"}, "similarity"),
        ({"bands": 4}, "together"),
        ({"bands": 0, "rows": 4}, "bands"),
        ({"bands": 65, "rows": 1}, "bands"),
        ({"bands": 13, "rows": 5}, "65 minima"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(settings, message):
    with pytest.raises(simdb.OptionError, match=message):
        simdb.Options(sketch=SKETCH, **settings)
    with pytest.raises(simdb.OptionError, match="rows"):
        simdb.Options(rows=4)


def test_a_similarity_that_the_permutations_cannot_serve_is_refused_and_nothing_made(tmp_path):
    options = simdb.Options(sketch=simdb.Minhash(permutations=16), similarity=0.01, recall=0.99)

    with pytest.raises(simdb.OptionError, match="permutations"):
        simdb.open(tmp_path / "db", options=options)

    assert not (tmp_path / "db").exists()


def test_other_options_than_the_stored_ones_are_named(open_database, tmp_path):
    open_database(options=OPTIONS).close()

    for options, name in [
        (simdb.Options(), "sketch"),
        (simdb.Options(sketch=SKETCH, bands=10, rows=5), "bands"),
        (simdb.Options(sketch=simdb.Minhash(shingle=2, permutations=64)), "sketch.shingle"),
    ]:
        with pytest.raises(simdb.OptionError, match=name):
            simdb.open(tmp_path / "db", options=options)


@over(
    ("asked", "message"),
    [
        ({"distance": 3}, "similarity="),
        ({"search": "bphs"}, "banding"),
        ({"search": "psm"}, "banding"),
        ({"search": "rotation"}, "banding"),
        ({"search": "best"}, "banding"),
        ({"similarity": 1.5}, "similarity"),
        ({"similarity": 0.5, "search": "banding", "recall": 1.0}, "exhaustive"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_can(open_database, asked, message):
    database = open_database(options=OPTIONS)

    for verb, *given in [
        (database.query, "a text"), (database.first, "a text"), (database.find_all,),
        (database.add_if_new, "new", "a text"), (database.plan,),
    ]:  # fmt: skip
        with pytest.raises(simdb.OptionError, match=message):
            verb(*given, **asked)
    with pytest.raises(simdb.OptionError, match="calibrate"):
        database.calibrate()


def test_a_plan_tells_bands_recall_and_candidates(open_database):
    database = open_database(options=OPTIONS)
    database.insert_many(range(20), [f"one two three {at}" for at in range(20)])

    stored = database.stats().options
    assert (stored["bands"], stored["sketch"]["permutations"]) == (12, 64)
    plan = database.plan(n=1e6)
    exact = database.plan(n=1e6, recall=1.0)
    far = database.plan(n=1e6, similarity=0.2)
    low = database.plan(n=1e6, similarity=0.2, search="banding")

    assert (plan.method, plan.tables, plan.probes, plan.similarity) == ("banding", 12, 12, 0.8)
    assert 0.95 < plan.recall < 1
    assert "12 bands of 5 minima" in plan.reason
    assert "signatures" in plan.sketching
    assert [way.method for way in plan.considered] == ["banding", "exhaustive"]
    assert (exact.method, exact.recall) == ("exhaustive", 1.0)
    assert far.method == "exhaustive"
    assert low.recall < 0.95
    assert database.plan(pairs=True).method == database.find_all().plan.method
    assert planned(1e6, OPTIONS) == plan


def test_an_explanation_tells_minima_bands_and_shingles(open_database):
    database = open_database(options=OPTIONS)
    left, right = "one two three four five six seven", "one two three four five six eight"
    database.insert_many(["left", "right", "empty"], [left, right, ""])
    first, second = simdb.signatures([left, right], SKETCH)
    agreeing = int((first.minima == second.minima).sum())

    stored = database.explain("left", "right")
    given = database.explain("left", document=right)
    texts = explained(left, right, SKETCH)
    empty = database.explain("left", "empty")

    for each in (stored, given, texts):
        assert (each.agreeing, each.permutations) == (agreeing, 64)
        assert each.similarity == pytest.approx(agreeing / 64)
        assert each.distance == 64 - agreeing
        assert each.is_match == (agreeing / 64 >= 0.8)
    assert stored.tables == tuple(
        band for band in range(12) if (first.minima == second.minima)[5 * band : 5 * band + 5].all()
    )
    assert {each.shingle for each in texts.features} == {"seven", "eight"}
    assert texts.shared_count == 6
    assert given.features is not None
    assert not empty.is_match
    assert "no features" in empty.reason


def test_a_match_that_no_band_has_is_told_as_missed(open_database):
    database = open_database(options=simdb.Options(sketch=SKETCH, bands=1, rows=64))
    database.insert_many([0, 1], ["one two three four five six", "one two three four five seven"])

    explanation = database.explain(0, 1, similarity=0.1, search="banding")

    assert explanation.is_match
    assert not explanation.is_found
    assert "misses it" in explanation.reason
    assert database.query(id=0, similarity=0.1, search="banding") == []
