"""Explanations: distances, tables, volatility and features, checked against counts by hand."""

import itertools
from importlib.util import find_spec
from statistics import NormalDist

import numpy as np
import pytest
from empty import explained
from over import over

import simdb

FOX = "the quick brown fox jumps over the lazy dog, and the lazy dog, and the lazy dog sleeps on"
CAT = "the quick brown fox jumps over the lazy cat, and the lazy cat, and the lazy dog sleeps on"
SONG = "\u660e\u6708\u5e7e\u6642\u6709\uff0c\u628a\u9152\u554f\u9752\u5929"
DOGS = f"{FOX} jumping dogs"
PAGE = f"<p>{FOX} jumping dogs</p><script>the fox</script>"
TF = simdb.Simhash(weighting="tf")
WEIGHTED = simdb.Options(sketch=simdb.Simhash(shingle=2, weighting="tf"))


@pytest.fixture
def database(tmp_path):
    with simdb.open(tmp_path / "db", options=WEIGHTED) as opened:
        opened.insert_many(["fox", "cat", "nothing"], [FOX, CAT, ""])
        yield opened


def bag_of_pairs(text):
    words = text.replace(",", "").split()
    return [" ".join(pair) for pair in itertools.pairwise(words)]


def moved(explanation, position):
    return sum(each.moves(position) for each in explanation.features)


def test_the_differing_bits_are_those_of_the_fingerprints():
    first, second = (simdb.fingerprint(text) for text in (FOX, CAT))

    found = explained(FOX, CAT)

    differing = first.bits ^ second.bits
    assert sorted(bit.position for bit in found.bits) == [
        j for j in range(64) if differing >> j & 1
    ]
    assert found.distance == differing.bit_count() == len(found.bits)
    assert found.similarity == pytest.approx(simdb.similarity(first, second))
    for bit in found.bits:
        assert bit.left_weight == first.weights[bit.position]
        assert bit.right_weight == second.weights[bit.position]
        assert first.volatility[bit.left_rank - 1] == bit.position
        assert second.volatility[bit.right_rank - 1] == bit.position
    assert [bit.left_rank for bit in found.bits] == sorted(bit.left_rank for bit in found.bits)


def test_features_are_the_shingles_that_are_not_shared():
    sketch = simdb.Simhash(shingle=2, weighting="tf")
    left, right = bag_of_pairs(FOX), bag_of_pairs(CAT)

    found = explained(FOX, CAT, sketch)

    expected = {
        pair: (left.count(pair), right.count(pair))
        for pair in set(left) | set(right)
        if left.count(pair) != right.count(pair)
    }
    assert {each.shingle: (each.left, each.right) for each in found.features} == expected
    assert found.shared_count == len(set(left) | set(right)) - len(expected)
    changes = [abs(each.change) for each in found.features]
    assert changes == sorted(changes, reverse=True)


@over(
    ("sketch", "text", "package"),
    [
        (simdb.Simhash(shingle=1, weighting="tf"), CAT, "simdb"),
        (simdb.Simhash(seed=7), "", "simdb"),
        (simdb.Simhash(unit="characters", shingle=5), SONG, "simdb"),
        (simdb.Simhash(unit="whitespace", shingle=2, lowercase=False), FOX + FOX, "simdb"),
        (
            simdb.Simhash(stop_words=("the",), normalisation="nfkc", weighting="binary"),
            CAT,
            "simdb",
        ),
        (simdb.Simhash(stemming="english", shingle=2), DOGS, "snowballstemmer"),
        (simdb.Simhash(stemming="english", stop_words=("the", "and")), DOGS, "snowballstemmer"),
        (simdb.Simhash(markup="html", shingle=2), PAGE, "selectolax"),
    ],
)
def test_features_account_for_every_bit(sketch, text, package):
    if find_spec(package) is None:
        return
    before, after = (simdb.fingerprint(each, sketch).weights for each in (FOX, text))

    found = explained(FOX, text, sketch)

    assert [moved(found, position) for position in range(64)] == (after - before)[:64].tolist()
    for bit in found.bits:
        towards = 1 if bit.right_weight >= 0 else -1
        assert bit.features
        assert all(towards * each.moves(bit.position) > 0 for each in bit.features)


@over("weighting", ["log-tf", "binary-idf", "tf-idf", "log-tf-idf"])
def test_weighted_features_account_for_every_bit_but_for_rounding(weighting):
    table = simdb.fit_idf([FOX, CAT, FOX], simdb.Simhash(shingle=1))
    idf = table if weighting.endswith("idf") else None
    sketch = simdb.Simhash(shingle=1, weighting=weighting, idf=idf)
    before, after = (simdb.fingerprint(each, sketch).weights for each in (FOX, CAT))

    found = explained(FOX, CAT, sketch)

    expected = (after - before)[:64]
    assert [moved(found, position) for position in range(64)] == pytest.approx(expected, abs=1e-4)


def test_windows_of_moz_account_for_every_bit_but_for_ties():
    sketch = simdb.Simhash.moz(window=2)
    before, after = (simdb.fingerprint(each, sketch).weights for each in (FOX, CAT))

    found = explained(FOX, CAT, sketch)

    # A weight that becomes 0 is stored as -1, in either document.
    expected = np.where(after == -1, 0, after) - np.where(before == -1, 0, before)
    assert [moved(found, position) for position in range(64)] == expected.tolist()
    assert {each.shingle for each in found.features} == {
        "dog and", "cat and", "lazy dog", "lazy cat"
    }  # fmt: skip


def test_tokens_and_ready_features_are_named_too():
    tokens = explained(["a", "b", b"\xff"], ["a", "b", "c"], simdb.Simhash(shingle=3))
    hashes = np.array([5, 9, 5], np.uint64)
    ready = explained(
        simdb.Features(hashes, np.array([1, 2, 3], np.float32)), simdb.Features(hashes[:2])
    )

    assert {each.shingle for each in tokens.features} == {"a b \\xff", "a b c"}
    assert [(each.shingle, each.left, each.right) for each in ready.features] == [
        ("0x0000000000000005", 4.0, 1.0), ("0x0000000000000009", 2.0, 1.0)
    ]  # fmt: skip


def test_volatility_is_the_chance_to_change_sign_at_that_similarity():
    weights = simdb.fingerprint(FOX).weights.astype(float)
    normal, similarity = NormalDist(), 2 * 0.8 / (1 + 0.8)

    found = explained(FOX, CAT)

    spread = np.sqrt(np.mean(weights**2))
    chances = [
        normal.cdf(-similarity * abs(weight) / spread / np.sqrt(1 - similarity**2))
        for weight in weights[:64]
    ]
    differing = {bit.position for bit in found.bits}
    for bit in found.bits:
        assert bit.left_volatility == pytest.approx(chances[bit.position])
    assert found.probability == pytest.approx(
        np.prod([p if j in differing else 1 - p for j, p in enumerate(chances)])
    )


def test_a_document_with_weights_is_explained_beside_a_ready_fingerprint_as_a_query_finds_it(
    database,
):
    # The query has weights, so it asks by similarity, which a ready fingerprint does not have.
    database.insert("ready", database["fox"].fingerprint.bits)

    for asked in ({}, {"similarity": 0.3}, {"similarity": 0.3, "search": "psm"}):
        for told in (
            database.explain("fox", "ready", **asked),
            database.explain("ready", document=FOX, **asked),
        ):
            assert "ready" not in [each.id for each in database.query(id="fox", **asked)]
            assert (told.is_match, told.is_found, told.similarity) == (False, False, None)
            assert "document has no weights, so its similarity is not known" in told.reason
    probed = {"distance": 3, "search": "psm"}
    assert [each.id for each in database.query(id="fox", **probed)] == ["ready"]
    assert database.explain("fox", "ready", **probed).is_found
    # A ready fingerprint as the query asks by distance.
    assert [each.id for each in database.query(id="ready")] == ["fox"]
    assert database.explain("ready", "fox").is_found


def test_the_criterion_decides_and_says_why(database):
    (match,) = database.query(id="fox", similarity=0.3)
    usual = database.explain("fox", "cat")
    near = database.explain("fox", "cat", similarity=0.3)
    far = database.explain("fox", "cat", distance=3)
    empty = database.explain("fox", "nothing")

    assert (usual.left, usual.right, usual.features) == ("fox", "cat", None)
    assert usual.distance == match.distance
    assert usual.similarity == pytest.approx(match.similarity)
    assert (usual.is_match, usual.is_found) == (False, False)
    assert usual.reason == f"no match: similarity {usual.similarity:.3f} is less than 0.889"
    assert (near.is_match, near.is_found) == (True, True)
    assert near.reason.startswith(f"a match: similarity {usual.similarity:.3f} is at least 0.3;")
    assert far.reason == f"no match: distance {far.distance} is more than 3"
    assert (empty.is_match, empty.similarity) == (False, None)
    assert empty.reason == "no match: the right document has no features, so it matches nothing"
    with pytest.raises(simdb.OptionError, match="weights"):
        database.explain("fox", document=7, similarity=0.5)


def test_a_text_that_is_given_shows_its_features(database):
    weights = simdb.fingerprint(CAT, WEIGHTED.sketch).weights

    found = database.explain("fox", document=CAT)

    assert (found.left, found.right) == ("fox", None)
    assert found.distance == database.explain("fox", "cat").distance
    assert {each.shingle for each in found.features} == set(bag_of_pairs(CAT))
    assert {each.left for each in found.features} == {None}
    assert [moved(found, position) for position in range(64)] == weights[:64].tolist()


def test_tables_are_those_whose_leading_bits_agree(tmp_path):
    with simdb.open(tmp_path / "db", options=simdb.Options(sketch=TF, blocks=4)) as database:
        # Blocks are counted from the highest bits; one bit differs in the first and the last block.
        database.insert_many(["a", "b"], np.array([0, 1 << 63 | 1], np.uint64))

        found = database.explain("a", "b")
        other = database.explain("a", document=0x0001_0001_0001_0001)

    assert (found.tables, found.table_count, found.flips) == ((1, 2), 4, 0)
    assert (found.similarity, found.probability, found.features) == (None, None, None)
    assert found.bits[0].left_weight is None
    assert (found.is_match, found.plan.distance) == (True, 3)
    assert (other.tables, other.flips, other.is_match) == ((), 1, False)


def test_a_pair_that_the_tables_do_not_reach_is_a_match_that_may_be_missed(tmp_path):
    asked = {"similarity": 0.3, "recall": 0.0001, "search": "bphs"}
    with simdb.open(tmp_path / "db", options=simdb.Options(sketch=TF, blocks=4)) as database:
        database.insert("a", FOX)

        far = database.explain("a", document=FOX.replace("fox", "cat"), **asked)
        near = database.explain("a", document=FOX, **asked)

    assert (near.is_match, near.is_found, len(near.tables)) == (True, True, 4)
    assert (far.is_match, far.is_found, far.tables) == (True, False, ())
    assert "a query (bphs) may miss it" in far.reason


@over(
    "wrong",
    [
        {},
        {"id": "fox"},
        {"document": CAT},
        {"id": "fox", "other_id": "cat", "document": CAT},
        {"id": "fox", "document": CAT, "other_document": FOX},
    ],
)
def test_explain_takes_two_documents(database, wrong):
    with pytest.raises(simdb.InputError, match="explain needs two documents"):
        database.explain(**wrong)
