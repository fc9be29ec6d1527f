"""Documents whose ids are stored already: what on_conflict= of the writing verbs does."""

import numpy as np
import pytest
from oracle import ConflictError, Oracle, Stored

import simdb
from simdb.database.write import claim

FAR = 2**60 - 1
PAGE = "the quick brown fox jumps over the lazy dog and then it sleeps for a while"
OTHER = "nothing of the kind is told here, where a hen lays one egg on most mornings"
RULES = ["same", "skip", "replace", "error"]


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


def test_a_signature_claimed_again_matches_itself(open_database):
    database = open_database(options=simdb.Options(sketch=simdb.Minhash()))
    database.add_many_if_new(["a", "b"], [PAGE, OTHER])

    found = database.add_many_if_new(["b", "a"], [OTHER, PAGE])

    assert list(found) == [[simdb.Match("b", 0, 1.0)], [simdb.Match("a", 0, 1.0)]]
    assert database.add_if_new("a", PAGE) == simdb.Match("a", 0, 1.0)


@pytest.mark.parametrize("store", ["add_if_new", "insert"])
def test_another_document_with_a_stored_id_is_refused_by_same(database, store):
    database.insert("page", PAGE)

    with pytest.raises(simdb.ExistsError, match=r"'page' is stored already.*'replace'.*'skip'"):
        getattr(database, store)("page", OTHER, on_conflict="same")

    assert database.query(PAGE, similarity=0.99)[0].id == "page"


def test_equal_bits_with_other_weights_are_another_document(database):
    database.insert("page", PAGE)
    bits = database.get("page").fingerprint.bits

    with pytest.raises(simdb.ExistsError, match="different document"):
        database.add_if_new("page", bits, distance=3)


def test_skip_keeps_the_stored_document_and_tells_how_far_the_given_one_is(database):
    database.insert("page", 0b1, "stored")

    found = database.add_if_new("page", 0b111, "given", on_conflict="skip")

    assert found == simdb.Match("page", 2)
    assert database.get("page").fingerprint.bits == 1
    assert database.get("page").metadata == "stored"


def test_replace_claims_as_if_the_id_had_not_been_stored(database):
    database.insert_many(["page", "other"], [0, FAR], ["old", None])

    stored = database.add_if_new("page", 1, "new", on_conflict="replace")
    assert database.get("page").metadata == "new"
    matched = database.add_if_new("page", FAR - 1, on_conflict="replace")

    assert stored is None
    assert matched == simdb.Match("other", 1)
    assert list(database) == ["other"]


@pytest.mark.parametrize("rule", ["same", "skip"])
def test_insert_many_stores_the_rest_and_counts_it(database, rule):
    database.insert_many(["a", "b"], [1, 2], ["old a", "old b"])

    stored = database.insert_many(
        ["c", "a", "d", "b"], [3, 1, 4, 2], ["c", "a", None, "b"], on_conflict=rule
    )

    assert stored == 2
    assert list(database) == ["a", "b", "c", "d"]
    assert [database.get(id).metadata for id in database] == ["old a", "old b", "c", None]


def test_replace_by_its_older_name_is_the_same(database):
    database.insert_many([1, 2], [1, 2])

    database.insert_many([2, 3], [20, 30], on_conflict="replace")
    database.insert(1, 10, on_conflict="replace")

    assert [(id, database.get(id).fingerprint.bits) for id in database] == [
        (2, 20), (3, 30), (1, 10),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "expected"), [("skip", [("a", 1), ("b", 2)]), ("replace", [("b", 2), ("a", 3)])]
)
def test_an_id_given_twice_to_insert_many_meets_itself(database, rule, expected):
    stored = database.insert_many(["a", "b", "a"], [1, 2, 3], [1, 2, 3], on_conflict=rule)

    assert stored == 2
    held = [(each.id, each.fingerprint.bits) for each in database.get_many(database)]
    assert held == expected
    assert [(each.id, each.metadata) for each in database.get_many(database)] == expected


def test_an_id_given_twice_for_different_documents_is_refused_by_same(database):
    assert database.insert_many(["a", "b", "a"], [1, 2, 1], on_conflict="same") == 2

    for store in (database.insert_many, database.add_many_if_new):
        with pytest.raises(simdb.ExistsError, match="'x'"):
            store(["w", "x", "y", "x"], [2**20 - 1, FAR, 2**40 - 1, FAR - 2], on_conflict="same")

    assert list(database) == ["a", "b"]


def test_an_id_given_twice_to_claims_meets_itself_only_if_it_was_stored(database):
    database.insert("near", 0)
    ids = ["x", "y", "x", "y"]

    found = database.add_many_if_new(ids, [1, FAR, FAR << 3, FAR], distance=1)

    # x was not stored the first time, so its other document is claimed for the first time.
    assert [[match.id for match in row] for row in found] == [["near"], [], [], ["y"]]
    assert list(database) == ["near", "y", "x"]


@pytest.mark.parametrize("verb", ["insert_many", "add_many_if_new", "insert_batch"])
def test_an_id_given_twice_is_refused_by_error(database, verb):
    named = {} if verb == "insert_batch" else {"on_conflict": "error"}

    with pytest.raises(simdb.InputError, match="given twice"):
        getattr(database, verb)(["a", "b", "a"], [1, 2, 1], **named)

    assert len(database) == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("group", [1, 3, 1024])
@pytest.mark.parametrize("rule", RULES[:3])
def test_claims_equal_the_oracle_for_groups_of_any_size(open_database, monkeypatch, rule, group):
    monkeypatch.setattr(claim, "GROUP_FIRST", group)
    monkeypatch.setattr(claim, "GROUP_DOCUMENTS", group)
    generator = np.random.default_rng([group, len(rule)])
    centres = generator.integers(0, 2**64, 60, dtype=np.uint64)
    database, oracle = open_database(options=simdb.Options(delta_documents=16)), Oracle()
    refused = 0
    for turn in range(8):
        ids = generator.integers(0, 60, 40)
        flips = np.uint64(1) << generator.integers(0, 6, 40, dtype=np.uint64)
        strays = generator.integers(0, 60, 40) if rule != "same" else ids
        bits = centres[strays] ^ (flips if rule != "same" or turn == 5 else np.uint64(0))
        entries = [(int(id), Stored(int(each))) for id, each in zip(ids, bits, strict=True)]
        after = oracle.copy()
        try:
            expected = after.claim_all(rule, entries, 2)
        except ConflictError:
            refused += 1
            with pytest.raises(simdb.ExistsError):
                database.add_many_if_new(ids, bits, distance=2, on_conflict=rule)
            continue

        found = database.add_many_if_new(ids, bits, distance=2, on_conflict=rule)

        rows = [(row[0].id, row[0].distance) if row else None for row in found]
        assert rows == expected
        assert list(database) == list(after.documents)
        oracle = after
    assert refused == (rule == "same")


def test_metadata_stays_with_its_documents_between_conflicts(database):
    database.insert_many(["b", "d"], [2**10 - 1, 2**30 - 1], ["b", "d"])

    database.add_many_if_new(
        list("abcde"), [0, 2**10 - 1, 2**20 - 1, 2**30 - 1, 2**40 - 1], ["A", "B", "C", "D", "E"]
    )

    assert {id: database.get(id).metadata for id in database} == {
        "a": "A", "b": "b", "c": "C", "d": "d", "e": "E",
    }  # fmt: skip


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


@pytest.mark.parametrize("rule", ["", "SAME", None, True, "upsert"])
def test_an_unknown_rule_is_refused_by_name(database, rule):
    for store in (database.insert, database.add_if_new):
        with pytest.raises(simdb.OptionError, match="on_conflict must be one of 'same', 'skip'"):
            store("a", 1, on_conflict=rule)


def test_a_conflict_late_in_a_call_leaves_nothing(database):
    database.insert("taken", 0)
    with database.write() as transaction:
        transaction.insert("staged", FAR)

        with pytest.raises(simdb.ExistsError):
            transaction.add_many_if_new(
                [*range(2000), "taken"], [at << 40 for at in range(2001)], distance=0
            )

        assert list(transaction) == ["taken", "staged"]
