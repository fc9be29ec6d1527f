from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracle import Oracle, Stored

import simdb
from simdb.core.arrays import offsets_of
from simdb.database.search import lookup
from simdb.database.search.rows import Rows
from simdb.database.write import claim
from simdb.plan.problem import Criterion


def test_a_new_document_is_stored_and_a_near_one_is_not(database):
    assert database.add_if_new("a", 0b1000, {"n": 1}) is None

    found = database.add_if_new("b", 0b1001)

    assert found == simdb.Match("a", 1)
    assert list(database) == ["a"]
    assert database.get("a").metadata == {"n": 1}


def test_claiming_the_id_of_another_document_is_an_error_and_changes_nothing(database):
    database.insert("a", 0)

    with pytest.raises(simdb.ExistsError, match="'a'"):
        database.add_many_if_new(["new", "a"], [2**60 - 1, 2**40 - 1])

    assert list(database) == ["a"]


def test_claiming_nothing_is_nothing(database):
    assert len(database.add_many_if_new([], [])) == 0
    assert len(database) == 0


def test_documents_without_features_are_always_new(database):
    found = database.add_many_if_new(["a", "b", "c"], ["", "  ", b""])

    assert [len(row) for row in found] == [0, 0, 0]
    assert list(database) == ["a", "b", "c"]


def test_each_document_sees_those_before_it_in_the_same_call(database):
    found = database.add_many_if_new(list("abcd"), [0b1, 0b11, 0b111111, 0b111], distance=1)

    # b is near a and so not stored; d is near b only, so d is new; c is new.
    assert [[match.id for match in row] for row in found] == [[], ["a"], [], []]
    assert list(database) == ["a", "c", "d"]


def test_the_best_match_is_returned_and_the_oldest_of_equals(database):
    database.insert_many(["far", "old", "new"], [0b111, 0b1, 0b10])

    found = database.add_if_new("x", 0, distance=3)

    assert found == simdb.Match("old", 1)


def rows_of(lists):
    """Return matches, given as a list of ordinals and distances for each document, as arrays."""
    every = np.array([match for row in lists for match in row], np.int64).reshape(-1, 2)
    return Rows(
        offsets_of(np.array([len(row) for row in lists], np.int64)),
        every[:, 0].astype(np.uint32),
        every[:, 1].astype(np.uint8),
        (1 - every[:, 1] / 8).astype(np.float32),
    )


def decided_one_by_one(stored, earlier, next_ordinal):
    """Return the positions of new documents, and ordinal and distance of the matches of others."""
    ordinals, matches = {}, []
    for at, (found, inside) in enumerate(zip(stored, earlier, strict=True)):
        matching = found[:1] + [(ordinals[each], far) for each, far in inside if each in ordinals]
        if matching:
            matches.append(min(matching, key=lambda match: match[1]))
        else:
            ordinals[at] = next_ordinal + len(ordinals)
    return list(ordinals), matches


@pytest.mark.few(1)
@pytest.mark.parametrize("similarity", [None, 0.5])
@given(chosen=st.data())
def test_arrays_decide_like_a_loop(similarity, chosen):
    far, criterion = st.integers(0, 3), Criterion(similarity, 3, 1.0, None)
    count = chosen.draw(st.integers(0, 9))
    stored = [chosen.draw(st.lists(st.tuples(st.just(7), far), max_size=1)) for _ in range(count)]
    earlier = [
        sorted(chosen.draw(st.dictionaries(st.integers(0, at - 1), far) if at else st.just({}))
               .items(), key=lambda match: (match[1], match[0]))
        for at in range(count)
    ]  # fmt: skip

    new, rows = claim._decide(rows_of(stored), rows_of(earlier), 100, criterion)

    expected, matches = decided_one_by_one(stored, earlier, 100)
    assert new.tolist() == expected
    assert rows.queries.tolist() == sorted(set(range(count)) - set(expected))
    assert list(zip(rows.ordinals.tolist(), rows.distances.tolist(), strict=True)) == matches
    assert rows.similarities.tolist() == [1 - distance / 8 for _, distance in matches]


@pytest.mark.few(1)
@pytest.mark.parametrize("group", [1, 3, 512])
def test_groups_do_not_show(database, monkeypatch, group):
    monkeypatch.setattr(claim, "GROUP_FIRST", group)
    monkeypatch.setattr(claim, "GROUP_DOCUMENTS", group)
    generator = np.random.default_rng(1)
    centres = generator.integers(0, 2**64, 5, dtype=np.uint64)
    flips = np.uint64(1) << generator.integers(0, 64, 200, dtype=np.uint64)
    bits = centres[generator.integers(0, 5, 200)] ^ flips
    oracle = Oracle()

    found = database.add_many_if_new(range(200), bits, distance=1)

    expected = [oracle.add_if_new(id, Stored(int(each)), 1) for id, each in enumerate(bits)]
    assert [(row[0].id, row[0].distance) if row else None for row in found] == expected
    assert list(database) == list(oracle.documents)


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
    asked = {"similarity": 0.8, "recall": 0.05, "search": method}
    first = database.add_many_if_new(range(180), texts, **asked)
    stored = list(database)

    again = database.add_many_if_new(range(180), texts, **asked)

    assert list(database) == stored == list(range(30))
    assert [len(row) for row in first] == [0] * 30 + [1] * 150
    assert [[match.id for match in row] for row in again] == [[at % 30] for at in range(180)]


def test_a_batch_is_compared_with_what_its_ids_have_stored_and_not_with_what_it_gives(database):
    database.insert("a", 0)

    found = database.add_many_if_new(
        ["a", "b", "c"], [2**40 - 1, 2**40 - 1, 1], on_conflict="skip", distance=1
    )

    assert [[match.id for match in row] for row in found] == [["a"], [], ["a"]]
    assert list(database) == ["a", "b"]


def test_metadata_goes_with_the_documents_that_are_stored(database):
    database.add_many_if_new([1, 2, 3], [0, 1, 2**40 - 1], ["first", "second", "third"])

    assert [database.get(id).metadata for id in database] == ["first", "third"]


def test_progress_ends_at_the_number_of_documents(database):
    reported = []

    bits = np.arange(2000, dtype=np.uint64)
    database.add_many_if_new(range(2000), bits, progress=reported.append)

    assert reported == [1024, 2000]


@pytest.mark.parametrize(
    ("distance", "expected"), [(3, [100, 300, 700, 900]), (30, [*range(100, 901, 100)])]
)
def test_groups_grow_unless_many_are_candidates_by_chance(
    database, monkeypatch, distance, expected
):
    monkeypatch.setattr(claim, "GROUP_FIRST", 100)
    reported = []

    database.add_many_if_new(range(900), [0] * 900, distance=distance, progress=reported.append)

    assert reported == expected


def test_text_is_claimed_by_similarity(database):
    text = "the quick brown fox jumps over the lazy dog and then it sleeps for a while"
    database.insert("a", text)

    near = database.add_if_new("b", text + " again", similarity=0.7, recall=1.0)
    far = database.add_if_new("c", "something else entirely, as far away as can be from it")

    assert near is not None
    assert (near.id, far) == ("a", None)
    assert list(database) == ["a", "c"]


def test_a_claim_whose_progress_raises_leaves_nothing_in_the_transaction(open_database):
    def progress(done):
        raise KeyError(done)

    database = open_database(options=simdb.Options(delta_documents=4, keep_clusters="distance"))
    database.insert("before", 1)
    with database.write() as transaction:
        transaction.insert("staged", 1 << 20)

        with pytest.raises(KeyError):
            transaction.add_many_if_new(
                range(2000), [at << 40 for at in range(2000)], range(2000), progress=progress
            )

        assert list(transaction) == ["before", "staged"]
        assert transaction.query(7 << 40, distance=0) == []
        transaction.insert(7, 5)
    assert list(database) == ["before", "staged", 7]
    assert database.get(7).metadata is None
    assert list(database.check(deep=True)) == []


@pytest.mark.few(1)
@pytest.mark.parametrize("document", [5, "one page that is copied again and again"])
def test_a_claim_against_many_copies_looks_at_few_of_them(open_database, monkeypatch, document):
    database = open_database()
    database.insert_many(range(20_000), [document] * 20_000)
    counts = []
    method_of = lookup.method_of

    def noted(state, plan):
        method = method_of(state, plan)

        def search(*given):
            rows = method.search(*given)
            counts.append(len(rows.ordinals))
            return rows

        return replace(method, search=search)

    monkeypatch.setattr(lookup, "method_of", noted)

    found = database.add_many_if_new(["a", "b"], [document] * 2)

    assert found.distances.tolist() == [0, 0]
    assert len(database) == 20_000
    assert 2 <= max(counts) <= 2 * 4 * claim.MATCHES_ENOUGH
    assert database.add_if_new("c", document).distance == 0
