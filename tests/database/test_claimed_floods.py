"""Claims against many near copies: few are looked at, and nothing that has a match is stored."""

from dataclasses import replace

import numpy as np
import pytest

import simdb
from simdb.database.search import lookup
from simdb.database.state import signature_kind
from simdb.database.write import claim

# One minimum is a band, so unlike documents share bands, too.
SHARING = simdb.Options(
    sketch=simdb.Minhash(permutations=32, shingle=1), bands=32, rows=1, delta_documents=16
)
FINGERPRINTS = simdb.Options(delta_documents=16)
PAGE = " ".join(f"word{at}" for at in range(200))


@pytest.fixture
def tiny(monkeypatch):
    """Let few documents be a flood."""
    monkeypatch.setattr(claim, "MATCHES_FIRST", 4)
    monkeypatch.setattr(claim, "COMPARED_FIRST", 3)
    monkeypatch.setattr(claim, "GROWTH", 2)
    monkeypatch.setattr(claim, "GROUP_FIRST", 40)
    monkeypatch.setattr(claim, "GROUP_DOCUMENTS", 40)
    monkeypatch.setattr(claim, "MATCHES_ENOUGH", 4)
    monkeypatch.setattr(claim, "JUDGED_FIRST", 2)
    monkeypatch.setattr(signature_kind, "TRIED", 2)


@pytest.fixture
def counts(monkeypatch):
    """Return a list that gets the number of matches of each search of a batch."""
    found = []
    method_of = lookup.method_of

    def noted(state, plan):
        method = method_of(state, plan)

        def search(*given):
            rows = method.search(*given)
            found.append(len(rows.ordinals))
            return rows

        return replace(method, search=search)

    monkeypatch.setattr(lookup, "method_of", noted)
    return found


def pages(count, copies, seed=1):
    """Return texts in random order: copies of some pages, each with up to 8 other words of 40."""
    generator = np.random.default_rng(seed)
    texts = []
    for page in range(count):
        for _ in range(copies):
            words = [f"p{page}w{place}" for place in range(40)]
            for place in generator.integers(0, 40, generator.integers(0, 9)):
                words[place] = f"n{generator.integers(10**6)}"
            texts.append(" ".join(words))
    return generator.permutation(texts).tolist()


def jaccard(left, right):
    one, other = set(left.split()), set(right.split())
    return len(one & other) / len(one | other)


def test_a_crowd_beside_chains_of_few_is_decided_as_one_by_one(open_database, tiny, monkeypatch):
    """Only what is in the crowd has too many matches for one list."""
    monkeypatch.setattr(claim, "MATCHES_FIRST", 40)
    monkeypatch.setattr(claim, "COMPARED_MOST", 70)
    monkeypatch.setattr(claim, "GROUP_FIRST", 600)
    monkeypatch.setattr(claim, "GROUP_DOCUMENTS", 600)
    generator = np.random.default_rng(2)
    crowd, chains = generator.integers(0, 2**64, (2, 90), dtype=np.uint64)
    centres = np.concatenate([np.repeat(crowd[:2], 140), np.repeat(chains, 4)])
    flips = np.uint64(1) << generator.integers(0, 6, (640, 2), dtype=np.uint64)
    bits = generator.permutation(centres ^ flips[:, 0] ^ flips[:, 1])
    database = open_database(options=FINGERPRINTS)

    found = database.add_many_if_new(range(640), bits, distance=2, threads=3)

    expected, matches = [], []
    for at, one in enumerate(bits.tolist()):
        near = [((one ^ int(bits[other])).bit_count(), other) for other in expected]
        best = min((each for each in near if each[0] <= 2), default=None)
        matches.append([] if best is None else [(best[1], best[0])])
        if best is None:
            expected.append(at)
    assert list(database) == expected
    assert [[(match.id, match.distance) for match in row] for row in found] == matches


def test_texts_decide_a_flood_of_signatures_as_one_by_one(open_database, tiny):
    """Every two copies share some of 32 minima: the chance that they do not is below 1e-12."""
    texts = pages(4, 40)
    database = open_database(options=SHARING)

    database.add_many_if_new(range(len(texts)), texts, similarity=0.7, texts=dict(enumerate(texts)))

    expected = []
    for at, text in enumerate(texts):
        if all(jaccard(text, texts[other]) < 0.7 for other in expected):
            expected.append(at)
    assert list(database) == expected
    assert len(expected) < len(texts)


@pytest.mark.parametrize("options", [FINGERPRINTS, SHARING], ids=["fingerprints", "signatures"])
@pytest.mark.parametrize("verify", ["estimate", "exact"])
def test_what_a_call_refuses_the_same_call_refuses_again(open_database, tiny, options, verify):
    texts = pages(4, 40)
    database = open_database(options=options)
    given = {"similarity": 0.75, "verify": verify, "texts": dict(enumerate(texts))}
    first = database.add_many_if_new(range(len(texts)), texts, recall=0.99, **given)
    stored = list(database)

    again = database.add_many_if_new(range(len(texts)), texts, recall=0.99, **given)

    assert list(database) == stored
    assert 0 < len(first) - sum(map(len, first)) == len(stored)
    assert all(map(len, again))


def test_a_match_behind_a_flood_of_candidates_that_are_none_is_found(open_database, tiny):
    """The texts differ in more than the sketches show, so only the last candidate is a match."""
    others = [f"alpha beta gamma delta epsilon zeta x{at} y{at} z{at}" for at in range(60)]
    claimed = "alpha beta gamma delta epsilon zeta eta theta iota kappa"
    texts = dict(enumerate([*others, claimed + " lambda", claimed]))
    database = open_database(options=SHARING)
    database.insert_many(range(61), [texts[at] for at in range(61)])

    matches = database.add_many_if_new([61], [claimed], similarity=0.9, texts=texts)

    assert [[match.id for match in row] for row in matches] == [[60]]
    assert len(database) == 61


@pytest.mark.parametrize("sketch", [simdb.Simhash(), simdb.Minhash(stored_bits=8)])
def test_a_flood_in_one_call_costs_few_comparisons_for_each_document(open_database, counts, sketch):
    database = open_database(options=simdb.Options(sketch=sketch))

    database.add_many_if_new(range(2000), [f"{PAGE} {at}" for at in range(2000)])

    assert len(database) == 1
    assert sum(counts) < 150 * 2000


@pytest.mark.parametrize(
    ("sketch", "documents", "share"),
    [
        (simdb.Minhash(), [f"{PAGE} {at}" for at in range(5000)], 2),
        (simdb.Simhash(), [5] * 20_000, 4),
    ],
    ids=["signatures", "fingerprints"],
)
def test_claims_against_a_stored_flood_look_at_few_of_it(
    open_database, counts, sketch, documents, share
):
    database = open_database(options=simdb.Options(sketch=sketch))
    database.insert_many(range(len(documents)), documents)

    found = database.add_many_if_new(["a", "b"], documents[:2])

    assert list(map(len, found)) == [1, 1]
    assert database.add_if_new("c", documents[0]) is not None
    assert len(database) == len(documents)
    assert 2 <= max(counts) <= 2 * share * claim.MATCHES_ENOUGH
