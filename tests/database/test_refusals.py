"""What one call refuses it refuses again, wherever its match has gone meanwhile."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from weighted import fingerprints

import simdb
from simdb.database.write import claim
from simdb.database.write.claim import Refusals

FINGERPRINTS = simdb.Options(sketch=simdb.Simhash(shingle=1), delta_documents=16)
BANDS = simdb.Options(sketch=simdb.Minhash(shingle=1), bands=1, rows=32, delta_documents=16)
WAYS = [(FINGERPRINTS, "polytope"), (FINGERPRINTS, "bphs"), (BANDS, "banding")]


@pytest.fixture
def small_groups(monkeypatch):
    """Let runs be sealed between the groups of one call."""
    monkeypatch.setattr(claim, "GROUP_FIRST", 60)
    monkeypatch.setattr(claim, "GROUP_DOCUMENTS", 60)


def copies(groups, count):
    """Return texts of 40 words: a page of each group, then copies that have other words."""
    texts = []
    for copy in range(count):
        for group in range(groups):
            words = [f"g{group}w{place}" for place in range(40)]
            if copy:
                words[copy] = words[copy + 20] = f"g{group}c{copy}"
            texts.append(" ".join(words))
    return texts


def stored_of(found):
    return np.flatnonzero(np.diff(found.offsets) == 0).tolist()


@pytest.mark.parametrize(("options", "search"), WAYS)
@pytest.mark.parametrize("is_exact", [False, True], ids=["estimate", "exact"])
def test_a_copy_of_a_refused_document_is_refused(
    open_database, small_groups, options, search, is_exact
):
    """The first copies are compared with pages of their group, later ones find pages by tables."""
    database = open_database(options=options)
    texts = [*copies(30, 2), *copies(30, 2), *copies(30, 2)]
    asked = {"similarity": 0.8, "recall": 0.05, "search": search}
    if is_exact:
        asked |= {"texts": lambda ids: [texts[id] for id in ids]}

    found = database.add_many_if_new(range(180), texts, **asked)

    assert stored_of(found) == list(range(30))
    assert [row[0].id for row in found if row] == [at % 30 for at in range(30, 180)]


def test_what_was_refused_for_a_document_that_is_replaced_is_new(open_database, small_groups):
    """Each page is stored with the id that its last copy replaces, and then has no match left."""
    database = open_database(options=FINGERPRINTS)
    pages, others = copies(30, 2)[:30], copies(60, 1)[30:]
    ids = [*range(30), *range(100, 130), *range(30), *range(200, 230)]

    found = database.add_many_if_new(
        ids, [*pages, *pages, *others, *pages], on_conflict="replace", similarity=0.8
    )

    assert stored_of(found) == [*range(30), *range(60, 120)]
    assert sorted(database) == [*range(30), *range(200, 230)]


def test_an_equal_fingerprint_alone_refuses_nothing(open_database, small_groups):
    """The last documents have the fingerprints of refused ones, and other weights."""
    generator = np.random.default_rng(7)
    pages = generator.standard_normal((60, 128)).astype(np.float32)
    near = (0.3 * np.sign(pages) + pages).astype(np.float32)
    other = np.sign(pages) * generator.standard_exponential(pages.shape, np.float32) ** 3
    other[:, 64:] *= -1
    weights = np.concatenate([pages, near, other])
    database = open_database(options=simdb.Options(delta_documents=16))

    found = database.add_many_if_new(
        range(180),
        fingerprints(weights),
        similarity=0.9,
        recall=0.999,
        search="polytope",
    )

    assert stored_of(found) == [*range(60), *range(120, 180)]


@given(
    calls=st.lists(
        st.lists(st.tuples(st.integers(0, 7), st.integers(0, 5)), max_size=9), max_size=9
    ),
    most=st.sampled_from([1, 2, 100]),
)
def test_the_leaders_of_a_fingerprint_are_those_noted_with_it(calls, most):
    noted, expected = Refusals(), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claim, "LEADERS_MOST", most)
        for call in calls:
            noted.note(
                np.array([fingerprint for fingerprint, _ in call], np.uint64),
                np.array([ordinal for _, ordinal in call], np.uint32),
            )
            for fingerprint, ordinal in call:
                expected.setdefault(fingerprint, set()).add(ordinal)
        found = {at: noted.leaders(np.array([9, at, 9], np.uint64)) for at in range(8)}

    assert {at: again.tolist() for at, (again, _) in found.items()} == {
        at: [1] if at in expected else [] for at in range(8)
    }
    for at, (_, leaders) in found.items():
        of_it = expected.get(at, set())
        assert set(leaders.tolist()) <= of_it
        assert len(leaders) >= min(len(of_it), most)
