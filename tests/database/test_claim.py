"""Claims of whole texts again, groups of documents, and a claim that its caller ends."""

import pytest

import simdb
from simdb.database.write import claim


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
