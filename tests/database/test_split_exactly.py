"""Clusters by similarity around `EXACT_MAX`: up to it they are split exactly, above with recall."""

import numpy as np
import pytest
from weighted import fingerprints

import simdb
from simdb.database.clusters import links

# Neighbours of a chain have the similarity STEP, others at most about its square.
STEP, THRESHOLD = 0.955, 0.935


def chain(count):
    """Return documents of which each is similar to the one before it and to the one after it."""
    generator = np.random.default_rng(5)
    rows = [generator.standard_normal(128)]
    rows[0] /= np.linalg.norm(rows[0])
    for _ in range(count - 1):
        other = generator.standard_normal(128)
        other -= other @ rows[-1] * rows[-1]
        rows.append(STEP * rows[-1] + np.sqrt(1 - STEP**2) * other / np.linalg.norm(other))
    return fingerprints(np.array(rows, np.float32))


def split_after(database, count, removed):
    """Store a chain, remove some documents of it; return the clusters and those expected."""
    documents = chain(count)
    # So few at a time are compared with each other, and the delta is compared one by one.
    for start in range(0, count, links.COMPARED_MAX):
        some = slice(start, min(start + links.COMPARED_MAX, count))
        database.insert_many(range(some.start, some.stop), documents.taken(some))
    assert database.find_clusters().sizes.tolist() == [count]
    database.delete_many(removed)
    found = [set(each.ids) for each in database.find_clusters()]
    left = [set(range(removed[0])), set(range(removed[-1] + 1, count))]
    return found, left


# A few lost members start a short search, more of them a comparison of all that are left.
FEW, MANY = range(6, 7), range(40, 40 + links.REMOVED_MAX + 1)


@pytest.mark.parametrize("removed", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("more", [0, 1])
def test_up_to_exact_max_clusters_are_split_exactly_and_larger_ones_with_the_recall(
    open_database, monkeypatch, removed, more
):
    asked, among = [], links._links_among

    def spied(state, criterion, sketches):
        asked.append(criterion.recall)
        return among(state, criterion, sketches)

    monkeypatch.setattr(links, "_links_among", spied)
    options = simdb.Options(
        sketch=simdb.Simhash(weighting="tf"),
        keep_clusters="similarity",
        similarity=THRESHOLD,
        recall=0.05,
        delta_documents=10_000,
    )
    database = open_database(options=options)

    found, left = split_after(database, links.EXACT_MAX + more + len(removed), removed)

    # The short search compares the recent documents one by one.
    assert more == 1 or found == left
    if removed == MANY:
        assert asked[-1] == (0.05 if more else 1.0)
    assert all(any(each <= half for half in left) for each in found)
    assert list(database.check(deep=True)) == []
