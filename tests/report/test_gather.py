"""The facts of a page equal what a double loop over all documents finds."""

import math
import os

import numpy as np
import pytest
from over import over

import simdb
from simdb.database.search.question import Question
from simdb.jobs.report import facts as facts_module
from simdb.jobs.report.facts import Limits, gather, next_size

DRAWN = Limits(grouped_documents=0)


def varied_texts(count, seed):
    """Texts of which some are the same and some differ in a few words."""
    generator = np.random.default_rng(seed)
    stems = [generator.choice(200, 60) for _ in range(count // 4)]
    texts = []
    for _ in range(count):
        words = stems[generator.integers(len(stems))].copy()
        changed = generator.integers(0, 5)
        words[generator.choice(60, changed, replace=False)] = generator.choice(200, changed)
        texts.append(" ".join(f"w{word}" for word in words))
    return texts


def similarities(database):
    """The similarity of each pair of stored documents, from a double loop."""
    ids = list(database)
    couples = [(ids[left], ids[right]) for right in range(len(ids)) for left in range(right)]
    pairs = database.compare([left for left, _ in couples], [right for _, right in couples])
    return dict(zip(couples, pairs.similarity.tolist(), strict=True))


def components(ids, links):
    """The sizes of connected groups of two or more, the largest first."""
    group = {id: {id} for id in ids}
    for left, right in links:
        if group[left] is not group[right]:
            group[left] |= group[right]
            for member in group[right]:
                group[member] = group[left]
    found = {frozenset(each) for each in group.values()}
    return sorted((len(each) for each in found if len(each) > 1), reverse=True)


def expected_bins(bins, sizes):
    """The groups and documents of each bin of sizes, counted one by one."""
    rows = []
    for each in bins:
        most = math.inf if each.most is None else each.most
        inside = [size for size in sizes if each.least <= size <= most]
        rows.append((len(inside), sum(inside)))
    return rows


@pytest.fixture
def varied(open_database):
    """A database of 80 texts, some of them near-duplicates, in several runs."""
    database = open_database(options=simdb.Options(delta_documents=16, growth=2))
    database.insert_many([f"id{at}" for at in range(80)], varied_texts(80, 3))
    return database


def test_pairs_and_groups_equal_a_double_loop(varied):
    threshold = 0.889
    measured = similarities(varied)
    links = [
        couple for couple, similarity in measured.items() if similarity >= np.float32(threshold)
    ]
    sizes = components(list(varied), links)

    facts = gather(varied, Question(similarity=threshold, recall=1.0))

    assert len(links) > 5
    assert (facts.drawn.documents, facts.drawn.of_documents, facts.drawn.reason) == (80, 80, "")
    assert (facts.drawn.pair_count, facts.drawn.total_pairs) == (2 * len(links), len(links))
    assert facts.drawn.matching_count == len({id for couple in links for id in couple})
    edges = [each.least for each in facts.drawn.bins]
    assert edges == [each / 100 for each in range(math.floor(100 * threshold + 1e-6) - 10, 100)]
    for each in facts.drawn.bins:
        inside = [
            similarity
            for similarity in measured.values()
            if each.least <= round(min(similarity, 1.0), 6) < each.most
            or (each.most == 1.0 and similarity >= 1.0)
        ]
        assert each.count == len(inside)
    assert facts.groups.is_complete
    assert facts.groups.group_count == len(sizes)
    assert facts.groups.grouped_count == sum(sizes)
    assert [group.size for group in facts.groups.largest] == sizes[:10]
    found = [(each.groups, each.documents) for each in facts.groups.sizes]
    assert found == expected_bins(facts.groups.sizes, sizes)


def test_a_group_shows_its_first_document_and_the_least_similar_ones(varied):
    measured = similarities(varied)

    facts = gather(varied, Question(recall=1.0))

    for group, cluster in zip(
        facts.groups.largest,
        sorted(varied.find_clusters(recall=1.0), key=len, reverse=True),
        strict=False,
    ):
        first, *shown = group.members
        assert first.id == cluster.ids[0]
        assert first.similarity is None
        least = sorted(min(measured[first.id, id], 1.0) for id in cluster.ids[1:])[: len(shown)]
        assert [member.similarity for member in shown] == pytest.approx(least)
        assert len(shown) == min(3, len(cluster) - 1)


def test_groups_of_copies_are_estimated_exactly_when_all_documents_are_drawn(
    open_database, monkeypatch
):
    # A member that is not among the compared ones makes no second group either.
    monkeypatch.setattr(facts_module, "COMPARED_MEMBERS", 1)
    database = open_database()
    texts = [f"{word} is a text of a few more words than that" for word in "abcdefgh"]
    copies = [5, 3, 2, 2, 1, 1, 1, 1]
    every = [text for text, number in zip(texts, copies, strict=True) for _ in range(number)]
    database.insert_many(range(len(every)), every)

    facts = gather(database, Question(similarity=0.999, recall=1.0), limits=DRAWN)

    assert not facts.groups.is_complete
    assert (facts.groups.group_count, facts.groups.grouped_count, facts.groups.copies) == (4, 12, 8)
    assert [(each.least, each.groups) for each in facts.groups.sizes] == [(2, 2), (3, 1), (4, 1)]
    assert [group.size for group in facts.groups.largest] == [5, 3, 2, 2]


def test_an_estimate_from_a_sample_is_near_the_truth(open_database):
    """400 of 2,000 documents; the share with a match is 0.5, and 4 deviations are 0.09."""
    database = open_database()
    texts = [f"text {at // 2 if at < 1000 else at} of {at // 2 if at < 1000 else at}"
             for at in range(2000)]  # fmt: skip
    database.insert_many(range(2000), texts)

    facts = gather(
        database, Question(similarity=0.999), limits=Limits(sample=400, grouped_documents=0)
    )

    assert (facts.drawn.documents, facts.drawn.of_documents) == (400, 2000)
    assert "--sample" in facts.drawn.reason
    assert facts.drawn.matching_share == pytest.approx(0.5, abs=0.09)
    assert facts.groups.group_count == pytest.approx(500, abs=90)
    assert facts.drawn.total_pairs == pytest.approx(500, abs=90)


def test_a_search_that_takes_too_long_ends_early_and_says_so(database):
    database.insert_many(range(50), ["the same text of some words"] * 50)

    for limits, reason in ((Limits(seconds=0), "0 seconds"), (Limits(pairs=1), "1 pairs")):
        facts = gather(database, Question(), limits=limits)

        assert facts.drawn.documents == 1
        assert facts.drawn.reason == f"the search ended after {reason}"


@over(
    ("size", "most", "seconds", "expected"),
    [(1, 0, 0.0, 2), (4096, 10, 0.0, 4096), (64, 1 << 18, 0.0, 4), (64, 1 << 24, 0.0, 1),
     (64, 0, 0.5, 4), (64, 0, 9.0, 1)],
)  # fmt: skip
def test_the_next_documents_are_few_if_the_last_had_many_matches_or_took_long(
    size, most, seconds, expected
):
    assert next_size(size, most, seconds) == expected


def test_fingerprints_match_by_distance(database):
    bits = [0, 1, 3, 2**40, 2**40 + 2**20, 2**63 - 1]
    database.insert_many(range(6), np.array(bits, np.uint64))
    distances = [(left ^ right).bit_count() for at, right in enumerate(bits) for left in bits[:at]]

    facts = gather(database, Question(distance=2))

    assert facts.drawn.measure == "distance"
    assert [each.count for each in facts.drawn.bins] == [
        distances.count(distance) for distance in range(3)
    ]
    assert [group.size for group in facts.groups.largest] == [5]
    assert facts.threshold.distance == 2


def test_signatures_match_by_their_similarity(open_database):
    database = open_database(options=simdb.Options(sketch=simdb.Minhash(), delta_documents=16))
    database.insert_many(range(80), varied_texts(80, 3))
    links = sum(value >= np.float32(0.8) for value in similarities(database).values())

    facts = gather(database, Question(recall=1.0, search="exhaustive"))

    assert facts.drawn.total_pairs == links > 5
    assert {each.name for each in facts.sections} >= {"Signatures", "Band tables"}


def test_kept_clusters_by_distance_are_the_groups(open_database):
    database = open_database(options=simdb.Options(keep_clusters="distance"))
    database.insert_many(["a", "b", "c"], ["some text of words", "some text of words", "another"])

    facts = gather(database, Question())

    assert facts.threshold.distance == database.options.distance
    assert [[member.id for member in group.members] for group in facts.groups.largest] == [
        ["a", "b"]
    ]


def test_an_empty_database_has_facts(database):
    facts = gather(database, Question())

    assert (facts.drawn.documents, facts.groups.group_count, facts.groups.sizes) == (0, 0, ())
    assert (facts.drawn.matching_share, facts.drawn.total_pairs) == (0.0, 0)


def test_sizes_and_times_are_those_of_the_database(varied):
    stats = varied.stats()

    facts = gather(varied, Question())

    assert sum(each.size_bytes for each in facts.sections) == sum(stats.section_bytes.values())
    assert facts.statistics.runs == stats.runs
    assert facts.headers == varied.header_fill()
    assert facts.advice == tuple(varied.advice())
    assert facts.written.timestamp() == pytest.approx(
        os.stat(os.path.join(varied.path, "data.mdb")).st_mtime
    )
    assert facts.created <= facts.written <= facts.made


def test_texts_are_asked_for_the_documents_that_are_shown(varied):
    texts = dict(zip(varied, varied_texts(80, 3), strict=True))
    asked = []

    def some(ids):
        asked.append(set(ids))
        return {id: texts[id] for id in ids if id != "id0"}

    facts = gather(varied, Question(), texts=some)

    members = [member for group in facts.groups.largest for member in group.members]
    assert asked == [{member.id for member in members}]
    assert facts.missing_texts == sum(member.id == "id0" for member in members)
    shown = [member for member in members if member.id != "id0"]
    assert all(member.pieces for member in shown)
    assert all(member.pieces[0].text.split()[0] in texts[member.id] for member in shown
               if member.pieces[0].kind == "same")  # fmt: skip
