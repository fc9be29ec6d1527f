"""Documents whose ids are stored already: what on_conflict= does, and claims that are repeated."""

import numpy as np
import pytest
from oracle import ConflictError, Oracle, Stored
from over import over

import simdb
from simdb.database.write import claim

FAR = 2**60 - 1
PAGE = "the quick brown fox jumps over the lazy dog and then it sleeps for a while"
OTHER = "nothing of the kind is told here, where a hen lays one egg on most mornings"


def test_the_same_claim_made_again_matches_itself_and_changes_nothing(database):
    database.add_if_new("page", PAGE, "first")

    found = database.add_if_new("page", PAGE, "second")

    assert found == simdb.Match("page", 0, 1.0)
    assert database.get("page").metadata == "first"
    assert database.stats().deleted_count == 0


def test_the_same_batch_claimed_again_matches_as_the_first_time_or_itself(database):
    ids, documents = ["a", "near a", "b", "empty"], [PAGE, PAGE + " again", OTHER, ""]
    first = database.add_many_if_new(ids, documents, similarity=0.7, recall=1.0)

    again = database.add_many_if_new(ids, documents, similarity=0.7, recall=1.0)

    assert [[match.id for match in row] for row in first] == [[], ["a"], [], []]
    assert [[match.id for match in row] for row in again] == [["a"], ["a"], ["b"], ["empty"]]
    assert again[0] == [simdb.Match("a", 0, 1.0)]
    assert again[3] == [simdb.Match("empty", 0)]
    assert list(database) == ["a", "b", "empty"]


def test_equal_bits_with_other_weights_are_another_document(database):
    database.insert("page", PAGE)
    bits = database.get("page").fingerprint.bits

    with pytest.raises(simdb.ExistsError, match=r"different document .* 'page'.*'replace'"):
        database.add_if_new("page", bits, distance=3)


@pytest.mark.parametrize(
    ("rule", "group"), [("skip", 1), ("same", 3), ("replace", 3), ("skip", 1024)]
)
def test_claims_equal_the_oracle_for_groups_of_any_size(open_database, monkeypatch, rule, group):
    monkeypatch.setattr(claim, "GROUP_FIRST", group)
    monkeypatch.setattr(claim, "GROUP_DOCUMENTS", group)
    generator = np.random.default_rng([group, len(rule)])
    centres = generator.integers(0, 2**64, 60, dtype=np.uint64)
    database, oracle = open_database(options=simdb.Options(delta_documents=16)), Oracle()
    refused, asked = 0, {"distance": 2, "on_conflict": rule}
    for turn in range(6):
        ids = generator.integers(0, 60, 40)
        flips = np.uint64(1) << generator.integers(0, 6, 40, dtype=np.uint64)
        strays = generator.integers(0, 60, 40) if rule != "same" else ids
        bits = centres[strays] ^ (flips if rule != "same" or turn == 5 else np.uint64(0))
        metadata = [f"{turn} {at}" for at in range(40)]
        entries = [
            (int(id), Stored(int(each), None, data))
            for id, each, data in zip(ids, bits, metadata, strict=True)
        ]
        after = oracle.copy()
        try:
            expected = after.claim_all(rule, entries, 2)
        except ConflictError:
            refused += 1
            with pytest.raises(simdb.ExistsError):
                database.add_many_if_new(ids, bits, metadata, **asked)
            continue

        found = database.add_many_if_new(ids, bits, metadata, **asked)

        rows = [(row[0].id, row[0].distance) if row else None for row in found]
        assert rows == expected
        assert [(id, each.metadata) for id, each in database.items()] == [
            (id, stored.metadata) for id, stored in after.documents.items()
        ]
        oracle = after
    assert refused == (rule == "same")


def test_texts_decide_about_the_documents_between_conflicts(database):
    texts = {"a": PAGE, "b": OTHER}
    database.insert_many(list(texts), list(texts.values()))
    documents = [PAGE, PAGE + " more", OTHER, "a third page of which nobody has ever heard before"]

    found = database.add_many_if_new(
        ["a", "x", "b", "y"], documents, similarity=0.7, recall=1.0, verify="exact", texts=texts
    )

    assert [[match.id for match in row] for row in found] == [["a"], ["a"], ["b"], []]
    assert found[0] == [simdb.Match("a", 0, 1.0)]
    assert 0.7 < found[1][0].similarity < 1


@over("rule", ["", "SAME", None, True, "upsert"])
def test_an_unknown_rule_is_refused_by_name_and_an_id_given_twice_by_error(database, rule):
    for store in (database.insert, database.add_if_new):
        with pytest.raises(simdb.OptionError, match="on_conflict must be one of 'same', 'skip'"):
            store("a", 1, on_conflict=rule)
    for store in (database.insert_many, database.add_many_if_new):
        with pytest.raises(simdb.InputError, match="given twice"):
            store(["a", "b", "a"], [1, 2, 1], on_conflict="error")
    assert len(database) == 0


def test_a_conflict_late_in_a_call_leaves_nothing(database):
    database.insert("taken", 0)
    with database.write() as transaction:
        transaction.insert("staged", FAR)

        with pytest.raises(simdb.ExistsError):
            transaction.add_many_if_new(
                [*range(2000), "taken"], [at << 40 for at in range(2001)], distance=0
            )

        assert list(transaction) == ["taken", "staged"]


def copy_of(group, copy):
    """Return a text of 40 words of its group; each copy has two other words of its own."""
    words = [f"{group}.{place}" for place in range(40)]
    words[copy] = words[copy + 20] = f"{group}.{copy}.own"
    return " ".join(words)


@pytest.mark.parametrize("method", ["polytope", "bphs"])
def test_a_batch_claimed_again_is_refused_again(open_database, method):
    """Comparing found all matches when everything was new; the tables find a part of them."""
    database = open_database(options=simdb.Options(delta_documents=4))
    texts = [copy_of(group, copy) for copy in range(6) for group in range(30)]
    asked = {"similarity": 2 / 3, "recall": 0.05, "search": method}
    first = database.add_many_if_new(range(180), texts, **asked)
    stored = list(database)

    again = database.add_many_if_new(range(180), texts, **asked)

    assert list(database) == stored == list(range(30))
    assert [len(row) for row in first] == [0] * 30 + [1] * 150
    assert [[match.id for match in row] for row in again] == [[at % 30] for at in range(180)]


def test_groups_grow_unless_many_are_candidates_by_chance(database, monkeypatch):
    monkeypatch.setattr(claim, "GROUP_FIRST", 100)
    few, many = [], []

    database.add_many_if_new(range(900), [0] * 900, distance=3, progress=few.append)
    database.add_many_if_new(range(900), [0] * 900, distance=30, progress=many.append)

    assert few == [100, 300, 700, 900]
    assert many == [*range(100, 901, 100)]
