"""Maintained clusters are always those that a double loop over the documents makes."""

import random
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from oracle import Oracle, Stored
from pricing import tables_first
from soundness import TINY, assert_sound
from strategies import fingerprints

import simdb
from simdb.database.clusters import links, maintain
from simdb.database.search import couples
from simdb.storage import membership

WORDS = [f"word{number}" for number in range(30)]
BY_DISTANCE = simdb.Options(delta_documents=4, growth=2, keep_clusters="distance")
BY_SIMILARITY = simdb.Options(
    sketch=simdb.Simhash(shingle=1),
    delta_documents=4,
    growth=2,
    similarity=2 / 3,
    recall=1.0,
    keep_clusters="similarity",
)
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "batch", "claim", "delete", "replace", "ask"]),
        st.lists(st.tuples(st.integers(0, 30), fingerprints), min_size=1, max_size=8),
    ),
    max_size=4,
)
TRANSACTIONS = st.lists(
    st.tuples(OPERATIONS, st.sampled_from(["commit", "commit", "abort", "compact", "reopen"])),
    max_size=7,
)


def ids_of(clusters):
    return [cluster.ids for cluster in clusters]


def assert_kept(reader, clusters):
    """Assert that every document is in its cluster, by `cluster` and by `find_clusters`."""
    inside = {id: cluster for cluster in clusters for id in cluster}

    assert ids_of(reader.find_clusters()) == clusters
    for id in reader:
        assert reader.cluster(id) == inside.get(id, [id])


def chained(count):
    """Make fingerprints of which only neighbours are within distance 3."""
    generator = random.Random(5)
    bits, chain = 0, []
    while len(chain) < count:
        bits ^= sum(1 << at for at in generator.sample(range(64), 3))
        if all((bits ^ other).bit_count() > 3 for other in chain[:-1]):
            chain.append(bits)
        else:
            bits = chain[-1]
    return chain


def counted(monkeypatch):
    """Count the stored documents in each search that follows the loss of a member."""
    asked = []
    reached, parts_of = links._reached, maintain.parts_of

    def counting(state, criterion, members, chosen):
        asked.append(len(chosen))
        return reached(state, criterion, members, chosen)

    def comparing(state, criterion, members, numbers):
        asked.extend([len(members)] * (len(members) > 0))
        return parts_of(state, criterion, members, numbers)

    monkeypatch.setattr(links, "_reached", counting)
    monkeypatch.setattr(maintain, "parts_of", comparing)
    return asked


def apply(transaction, oracle, verb, documents, distance):
    """Apply the same change to the database and to the oracle."""
    documents = dict(documents)
    if verb == "delete":
        transaction.delete_many(documents)
        for id in documents:
            oracle.delete(id)
    elif verb == "ask":
        clusters = oracle.find_clusters(distance)
        for id in set(documents) & set(oracle.documents):
            assert transaction.cluster(id) in [*clusters, [id]]
    else:
        if verb != "replace":
            documents = {id: bits for id, bits in documents.items() if id not in oracle.documents}
        if verb == "batch":
            transaction.insert_batch(list(documents), list(documents.values()), distance=2)
        for id, bits in documents.items():
            if verb == "batch":
                oracle.insert(id, Stored(bits))
            elif verb == "claim":
                transaction.add_if_new(id, bits, distance=1)
                oracle.add_if_new(id, Stored(bits), 1)
            else:
                transaction.insert(id, bits, on_conflict="replace")
                oracle.insert(id, Stored(bits))


@given(
    transactions=TRANSACTIONS,
    distance=st.sampled_from([0, 1, 3, 9]),
    compared=st.sampled_from([1, 2, 128]),
    swept=st.sampled_from([1, 4096]),
    walked=st.sampled_from([1, 100]),
    whole=st.sampled_from([1, 2, 128]),
    hubs=st.sampled_from([0, 1, 16]),
    prefers_tables=st.booleans(),
)
def test_kept_clusters_are_those_of_a_double_loop(
    tmp_path_factory, transactions, distance, compared, swept, walked, whole, hubs, prefers_tables
):
    path = tmp_path_factory.mktemp("kept") / "db"
    options = simdb.Options(
        delta_documents=4, growth=2, distance=distance, keep_clusters="distance"
    )
    oracle = Oracle()
    database = simdb.open(path, options=options, durability="none")
    with pytest.MonkeyPatch.context() as patch, tables_first(prefers_tables):
        patch.setattr(links, "COMPARED_MAX", compared)
        patch.setattr(maintain, "SWEPT_LEAST", swept)
        patch.setattr(membership, "WALKED_MAX", walked)
        patch.setattr(maintain, "WHOLE_MAX", whole)
        patch.setattr(links, "COMPARED_NEIGHBOURS_MAX", hubs)
        patch.setattr(links, "ROUND_MEMBERS", 1)
        patch.setattr(links, "QUERIES_AT_ONCE", max(hubs, 1))
        patch.setattr(couples, "CHUNK_PAIRS", 3)
        for operations, end in transactions:
            after = oracle.copy()
            transaction = database.write()
            for verb, documents in operations:
                apply(transaction, after, verb, documents, distance)
            if end == "abort":
                transaction.abort()
            else:
                transaction.commit()
                oracle = after
            if end == "compact":
                database.compact()
            if end == "reopen":
                database.close()
                database = simdb.open(path, durability="none")

            assert_kept(database, oracle.find_clusters(distance))
    database.close()
    assert_sound(path)


@pytest.mark.parametrize(("recall", "seed", "whole"), [(0.9, 2, 2), (1.0, 0, 128)])
def test_kept_clusters_by_similarity_are_what_the_insertions_found(
    open_database, monkeypatch, recall, seed, whole
):
    monkeypatch.setattr(maintain, "WHOLE_MAX", whole)
    generator = random.Random(seed)
    bases = [generator.choices(WORDS, k=20) for _ in range(6)]
    database = open_database(options=replace(BY_SIMILARITY, recall=recall))
    left = []
    for start in range(0, 150, 10):
        texts = []
        for _ in range(10):
            words = list(generator.choice(bases))
            for _ in range(generator.randrange(5)):
                words[generator.randrange(20)] = generator.choice(WORDS)
            texts.append(" ".join(words))
        with database.write() as transaction:
            transaction.insert_many(range(start, start + 10), [*texts[:-1], ""])
            left += range(start, start + 10)
            gone = generator.sample(left, 3)
            transaction.delete_many(gone)
        left = [id for id in left if id not in gone]

        every = ids_of(database.find_clusters(search="exhaustive"))

        whole = {id: set(cluster) for cluster in every for id in cluster}
        for id in left:
            assert set(database.cluster(id)) <= whole.get(id, {id})
        if recall == 1.0:
            assert_kept(database, every)


def test_a_chain_that_is_cut_falls_into_two_and_a_small_part_costs_no_look_at_the_rest(
    open_database, monkeypatch
):
    chain = chained(1000)
    database = open_database(options=replace(BY_DISTANCE, delta_documents=100))
    order = np.random.default_rng(3).permutation(1000)
    for start in range(0, 1000, 250):
        part = order[start : start + 250]
        database.insert_many(part.tolist(), [chain[at] for at in part])
    assert sorted(database.cluster(0)) == list(range(1000))

    database.delete(400)
    asked = counted(monkeypatch)
    database.delete(3)

    assert sorted(database.cluster(0)) == [0, 1, 2]
    assert sorted(database.cluster(4)) == list(range(4, 400))
    assert sorted(database.cluster(999)) == list(range(401, 1000))
    assert database.stats().cluster_count == 3
    assert sum(asked) < 30


def test_a_document_among_a_thousand_neighbours_leaves_without_a_search(open_database, monkeypatch):
    database = open_database(options=replace(BY_SIMILARITY, delta_documents=100))
    words = [WORDS[at % 3] for at in range(20)]
    texts = [" ".join([*words, WORDS[at % 30]]) for at in range(1000)]
    database.insert_many(range(1000), texts)
    asked = counted(monkeypatch)

    database.delete_many([0, 500, 999])

    assert database.cluster(1) == [id for id in range(999) if id not in (0, 500)]
    assert asked == []


def test_equal_documents_are_looked_up_once(open_database, monkeypatch):
    asked = []
    look_up = links.look_up
    monkeypatch.setattr(
        links,
        "look_up",
        lambda state, criterion, plan, ordinals, **others: (
            asked.extend(ordinals) or look_up(state, criterion, plan, ordinals, **others)
        ),
    )
    database = open_database(options=BY_DISTANCE)
    for start in range(0, 90, 30):
        database.insert_many(range(start, start + 30), [77] * 30)

    assert asked == [0]


def test_another_bound_is_searched_for(open_database):
    database = open_database(options=BY_DISTANCE)
    ranks = [{"rank": 3}, {"rank": 1}, None]
    database.insert_many(["a", "b", "c"], [1, 1 << 40, 0b11111], ranks)

    assert ids_of(database.find_clusters()) == [["a", "b"]]
    assert ids_of(database.find_clusters(keep="min:rank")) == [["b", "a"]]
    assert ids_of(database.find_clusters(distance=4)) == [["a", "b", "c"]]
    assert ids_of(database.find_clusters(policy="star")) == [["a", "b"]]


def test_another_option_and_an_unknown_document_are_refused(open_database, tmp_path):
    database = open_database(options=BY_DISTANCE)
    assert len(database.find_clusters()) == 0

    with pytest.raises(simdb.NotFoundError, match="no document has the id 'a'"):
        database.cluster("a")
    with pytest.raises(simdb.OptionError, match="keep_clusters is 'distance', not 'none'"):
        simdb.open(tmp_path / "db", options=TINY)
    plain = open_database(tmp_path / "plain", options=TINY)
    with pytest.raises(simdb.OptionError, match="keep_clusters='distance'"):
        plain.cluster("a")
    assert plain.stats().cluster_count is None
    with pytest.raises(simdb.OptionError, match="keep_clusters must be one of"):
        simdb.Options(keep_clusters=True)
    with pytest.raises(simdb.OptionError, match="store_volatility"):
        simdb.Options(keep_clusters="similarity", sketch=simdb.Simhash(store_volatility=False))


@pytest.mark.parametrize(
    ("options", "linked", "documents", "message"),
    [
        (BY_DISTANCE, ([], []), [1, 1], "not in the clusters of"),
        (
            replace(BY_SIMILARITY, recall=0.9),
            ([0], [1]),
            ["one two three", "four five six"],
            "not connected",
        ),
    ],
    ids=["too small", "too large"],
)
def test_the_check_finds_a_cluster_that_is_too_small_or_too_large(
    open_database, monkeypatch, options, linked, documents, message
):
    database = open_database(options=options)
    with monkeypatch.context() as patch:
        patch.setattr(maintain, "links_of", lambda *given: [np.array(linked, np.uint32)])
        database.insert_many(["a", "b"], documents)

    (finding,) = database.check(deep=True)

    assert finding.place == "clusters"
    assert message in finding.message
    assert list(database.check()) == []
    database.delete_many(["a", "b"])


def test_the_check_finds_a_ring_that_does_not_close(open_database, monkeypatch):
    database = open_database(options=BY_DISTANCE)
    with monkeypatch.context() as patch:
        patch.setattr(maintain, "rings", lambda members, offsets: np.minimum(members + 1, 2))
        database.insert_many(["a", "b", "c"], [1, 1, 1])

    (finding,) = database.check()

    assert "is not followed by another member" in finding.message
    assert database.cluster("a") == ["a", "b", "c"]
    with pytest.raises(simdb.CorruptError, match="not a ring"):
        database.delete("a")
    rebuild(database)


def rebuild(database):
    """Rebuild a database that a test has damaged."""
    with database.write() as transaction:
        maintainer = transaction._writing.staging.maintainer
        maintainer._sweep(transaction._writing.current())
        transaction.insert("more", 99 << 50)


def test_groups_that_have_met_are_one_and_the_others_stay():
    # A group in front of the one that had grown was put into a wrong place, and another was lost.
    groups = [{1, 7}, {2}, {9}, {2, 7}]
    waiting = [[1], [2], [9], [7]]

    links._unite(groups, waiting, 3)

    assert groups == [{9}, {1, 2, 7}]
    assert [sorted(queue) for queue in waiting] == [[9], [1, 2, 7]]
