"""Documents with one key are compared until all that match are connected, not pair by pair.

Documents in large groups, crowds, are put off, and come back group by group.
"""

import numpy as np
from near_copies import near_copies
from oracle import components, stars
from over import over

import simdb
from simdb.core import kernel
from simdb.database.search import buckets
from simdb.database.search.buckets import Buckets, unconnected_pairs
from simdb.database.search.methods import bands, exhaustive

SKETCH = simdb.Minhash(permutations=32, stored_bits=8, shingle=1)


def compared(sizes, matches, forest):
    """Return the pairs that are compared in buckets of these sizes, and join those that match."""
    numbers = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
    whole = Buckets(np.arange(len(numbers), dtype=np.uint32), numbers)
    every = []
    for left, right in unconnected_pairs(whole, forest):
        is_match = matches[left, right]
        forest.join(left[is_match], right[is_match])
        every += zip(left.tolist(), right.tolist(), strict=True)
    return every


def drawn_matches(count, share, seed):
    """Return a symmetric bool[count, count] in which about this share of all pairs is true."""
    drawn = np.random.default_rng(seed).random((count, count)) < share
    return drawn | drawn.T


def flood(pages, copies, *, words=40):
    """Return near copies of some pages, of which about half share most words, in mixed order."""
    texts = [
        " ".join(f"w{0 if word < 30 and page % 2 else page}x{word}" for word in range(words))
        + f" own{copy}"
        for page in range(pages)
        for copy in range(copies)
    ]
    return np.random.default_rng(1).permutation(texts).tolist()


@over(("share", "most"), [(0.02, 7), (0.1, 1 << 16), (0.6, 1), (1.0, 7)])
def test_what_is_compared_connects_what_all_pairs_connect(monkeypatch, share, most):
    monkeypatch.setattr(buckets, "COMPARED_PAIRS", most)
    sizes = [40, 2, 2, 3, 25, 9]
    matches = drawn_matches(sum(sizes), share, seed=3)
    forest = kernel.Forest(sum(sizes))
    ends = np.cumsum(sizes)
    inside = [
        (left, right)
        for start, stop in zip(ends - sizes, ends, strict=True)
        for left in range(start, stop)
        for right in range(left + 1, stop)
    ]

    every = compared(sizes, matches, forest)

    ordered = [tuple(sorted(pair)) for pair in every]
    expected = list(range(sum(sizes)))
    for group in components(expected, [pair for pair in inside if matches[pair]]):
        for member in group:
            expected[member] = group[0]
    assert forest.labels().tolist() == expected
    assert len(set(ordered)) == len(ordered)
    assert set(ordered) <= set(inside)


def test_documents_outside_a_flood_are_compared_with_all_of_it():
    matches = np.zeros((60, 60), np.bool_)
    matches[:58, :58] = True
    matches[59, 31] = matches[31, 59] = True
    forest = kernel.Forest(60)

    every = compared([60], matches, forest)

    assert compared([], matches, forest) == []
    assert forest.labels().tolist() == [*[0] * 58, 58, 0]
    assert len(every) < 4 * 60


def test_clusters_of_signatures_are_those_of_all_pairs(open_database, monkeypatch):
    monkeypatch.setattr(buckets, "COMPARED_PAIRS", 50)
    monkeypatch.setattr(bands, "COMPARED_PAIRS", 20)
    texts = flood(5, 30)
    database = open_database(options=simdb.Options(sketch=SKETCH, delta_documents=64))
    database.insert_many(range(100), texts[:100])
    database.insert_many(range(100, len(texts)), texts[100:])
    pairs = database.find_all(similarity=0.75)
    matching = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))

    connected = database.find_clusters(similarity=0.75, threads=3)
    star = database.find_clusters(similarity=0.75, policy="star", threads=3)

    assert [each.ids for each in connected] == components(range(len(texts)), matching)
    assert [each.ids for each in star] == stars(range(len(texts)), matching)
    assert max(map(len, connected)) >= 30


def test_a_flood_of_signatures_costs_its_members(open_database, monkeypatch):
    counted = []
    measure = bands.measured

    def counting(state, criterion, couples):
        counted.append(len(couples))
        return measure(state, criterion, couples)

    monkeypatch.setattr(bands, "measured", counting)
    database = open_database(options=simdb.Options(sketch=SKETCH))
    database.insert_many(range(600), flood(1, 600))

    clusters = database.find_clusters(similarity=0.6)

    assert list(map(len, clusters)) == [600]
    assert sum(counted) < 2 * 600


def test_texts_decide_about_a_flood_of_signatures_as_about_its_pairs(open_database):
    texts = flood(4, 25)
    database = open_database(options=simdb.Options(sketch=SKETCH))
    database.insert_many(range(len(texts)), texts)
    given = dict(enumerate(texts))
    pairs = database.find_all(similarity=0.9, texts=given)
    edges = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))

    clusters = database.find_clusters(similarity=0.9, texts=given)

    assert [each.ids for each in clusters] == components(range(len(texts)), edges)
    assert len(clusters) >= 4


def test_a_crowd_is_found_with_the_members_that_few_others_match(monkeypatch, tmp_path):
    """Copies in which one word differs: each matches most of the others, and none matches all."""
    monkeypatch.setattr(buckets, "CROWD_MIN", 64)
    monkeypatch.setattr(buckets, "CROWD_ROOTS", 0)
    monkeypatch.setattr(exhaustive, "PIVOTS", 8)
    texts, compared, sweep = near_copies(400, changes=1), [], exhaustive.sweep_table

    def swept(table, *arguments, rows, **options):
        compared.append(rows)
        return sweep(table, *arguments, rows=rows, **options)

    with simdb.open(tmp_path / "db") as database:
        database.insert_many(range(400), texts)
        database.insert_many(["far", "farther"], ["something else of its own", "and one more"])
        monkeypatch.setattr(exhaustive, "sweep_table", swept)

        found = database.find_clusters(verify="estimate")

        assert [cluster.ids for cluster in found] == [list(range(400))]
    assert sum(compared) < 40


def test_a_crowd_in_which_few_match_each_other_grows_while_it_is_compared(monkeypatch, tmp_path):
    """Copies in which two words differ: two in a hundred pairs match."""
    monkeypatch.setattr(buckets, "CROWD_MIN", 16)
    monkeypatch.setattr(buckets, "CROWD_ROOTS", 0)
    texts, compared, sweep = near_copies(400, changes=2), [], exhaustive.sweep_table

    def swept(table, *arguments, rows=None, **options):
        compared.append(rows)
        return sweep(table, *arguments, rows=rows, **options)

    monkeypatch.setattr(exhaustive, "sweep_table", swept)
    with simdb.open(tmp_path / "db") as database:
        database.insert_many(range(400), texts)
        pairs = database.find_all(verify="estimate")
        edges = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
        compared.clear()

        found = database.find_clusters(verify="estimate")

        assert [cluster.ids for cluster in found] == components(range(400), edges)
    assert len(edges) < 800
    assert len(compared) > 3
    assert sum(compared) < 320
