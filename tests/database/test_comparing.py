"""Comparing stored documents pair by pair: what a search measures, for any pair."""

import numpy as np
import pytest

import simdb
from simdb.core.errors import InputError, NotFoundError

TEXTS = {
    "fox": "the quick brown fox jumps over the lazy dog and runs away",
    "cat": "the quick brown cat jumps over the lazy dog and runs away",
    "sea": "waves roll over the sea all night long until the morning comes",
    "empty": "",
}
KINDS = {
    "fingerprints": simdb.Options(delta_documents=2),
    "one bit": simdb.Options(sketch=simdb.Simhash(store_volatility=False), delta_documents=2),
    "signatures": simdb.Options(sketch=simdb.Minhash(permutations=64), delta_documents=2),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["database", "snapshot", "transaction"])
def test_pairs_have_the_numbers_that_an_explanation_gives(open_database, kind, where):
    database = open_database(options=KINDS[kind])
    database.insert_many(list(TEXTS)[:2], list(TEXTS.values())[:2])
    database.insert_many(list(TEXTS)[2:], list(TEXTS.values())[2:])
    left, right = ["fox", "cat", "sea", "fox", "empty"], ["cat", "fox", "fox", "fox", "sea"]

    with database.read() as snapshot, database.write() as transaction:
        reader = {"database": database, "snapshot": snapshot, "transaction": transaction}[where]
        found = reader.compare(left, right)
        wanted = [reader.explain(*pair) for pair in zip(left, right, strict=True)]

    assert found.left.tolist() == left
    assert found.right.tolist() == right
    assert found.distance.tolist() == [each.distance for each in wanted]
    assert found.similarity.tolist() == pytest.approx(
        [np.nan if each.similarity is None else each.similarity for each in wanted], nan_ok=True
    )


def test_no_pairs_give_empty_arrays_and_what_is_no_pair_is_refused(database):
    database.insert("fox", TEXTS["fox"])

    found = database.compare([], [])

    assert (len(found), found.distance.dtype, found.similarity.dtype) == (0, np.uint8, np.float32)
    with pytest.raises(InputError, match="left and right must have as many ids, got 2 and 1"):
        database.compare(["fox", "fox"], ["fox"])
    with pytest.raises(NotFoundError, match="'wolf'"):
        database.compare(["fox"], ["wolf"])
