"""A caller that has the documents decides on every match by `verify`."""

import pytest

import simdb

TEXTS = {
    "one": "the quick brown fox jumps over the lazy dog near the river bank today",
    "two": "the quick brown fox jumps over the lazy dog near the river bank tonight",
    "three": "the quick brown fox jumps over the lazy cat near the river bank tonight",
    "other": "a completely different sentence with nothing in common at all with those",
}
ASKED = TEXTS["one"]


def shingles(text):
    words = text.split()
    return {tuple(words[at : at + 3]) for at in range(len(words) - 2)}


def jaccard(left, right):
    ours, theirs = shingles(left), shingles(right)
    return len(ours & theirs) / len(ours | theirs)


@pytest.fixture(params=[simdb.Simhash(), simdb.Minhash()], ids=["simhash", "minhash"])
def database(request, tmp_path):
    options = simdb.Options(sketch=request.param, similarity=0.2)
    with simdb.open(tmp_path / "db", options=options) as database:
        database.insert_many(list(TEXTS), list(TEXTS.values()))
        yield database


def exact(id):
    return jaccard(ASKED, TEXTS[id])


def test_a_number_is_the_similarity_and_the_order(database):
    found = database.query(ASKED, similarity=0.3, accept=exact)

    expected = sorted((id for id in TEXTS if exact(id) >= 0.3), key=exact, reverse=True)
    assert [match.id for match in found] == expected == ["one", "two", "three"]
    assert [match.similarity for match in found] == [exact(id) for id in expected]
    assert database.query(ASKED, similarity=0.3, limit=2, accept=exact) == found[:2]


def test_what_is_less_similar_than_asked_is_no_match(database):
    least = (exact("two") + exact("three")) / 2

    found = database.query(ASKED, similarity=0.3, accept=lambda id: exact(id) if id != "one" else 0)
    strict = database.query_many(
        [ASKED], similarity=least, recall=1.0, accept=lambda _, id: exact(id)
    )

    assert [match.id for match in found] == ["two", "three"]
    assert all(match.similarity >= least for match in strict[0])
    assert "three" not in strict.ids


def test_the_first_is_the_best_that_is_confirmed_and_no_other_is_looked_at(database):
    seen = []

    def verify(id):
        seen.append(id)
        return id != "one"

    assert database.first(ASKED, similarity=0.3, accept=verify).id == "two"
    assert seen == ["one", "two"]
    assert database.first(ASKED, similarity=0.3, accept=lambda id: False) is None


@pytest.mark.parametrize("verdict", [None, "yes", float("nan"), [1]])
def test_any_other_verdict_is_refused(database, verdict):
    with pytest.raises(simdb.InputError, match="accept must return"):
        database.query(ASKED, similarity=0.3, accept=lambda id: verdict)
    with pytest.raises(simdb.OptionError, match="accept must be a callable"):
        database.query(ASKED, accept="exact")
