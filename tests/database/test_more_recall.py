"""More recall, or less similarity, never finds less, whatever methods are chosen."""

import random

import pytest

import simdb
from simdb.plan import tables

RECALLS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)
SIMILARITIES = (0.95, 0.92, 0.889, 0.85, 0.8)
KINDS = {
    "fingerprints": simdb.Options(polytopes=4),
    "weights": simdb.Options(sketch=simdb.Simhash(weighting="tf", dimensions=64), polytopes=4),
    "blocks": simdb.Options(blocks=4, polytopes=0),
    "signatures": simdb.Options(sketch=simdb.Minhash()),
}


def drawn_copies(count):
    """Texts of 50 words in pairs, of which up to ten words in a row differ."""
    texts, rng = [], random.Random(3)
    for _ in range(count):
        words = [f"w{rng.randrange(30_000)}" for _ in range(50)]
        changed, at = rng.randrange(1, 10), rng.randrange(40)
        copy = [*words[:at], *(f"x{rng.randrange(30_000)}" for _ in range(changed))]
        texts += [" ".join(words), " ".join([*copy, *words[at + changed :]])]
    return texts


TEXTS = drawn_copies(2000)


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def path(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "db"
    with simdb.open(path, options=request.param) as db:
        db.insert_many(range(len(TEXTS)), TEXTS)
        db.compact()
    return path


@pytest.fixture(params=[1, 20], ids=["as it is", "as if larger"])
def filled(request, path, monkeypatch):
    """The database; as if there were 20 times the documents, comparing all is seldom cheapest."""
    monkeypatch.setattr(tables, "SWEPT_SECONDS", request.param * tables.SWEPT_SECONDS)
    with simdb.open(path) as db:
        yield db


@pytest.mark.parametrize("is_calibrated", [False, True], ids=["usual", "calibrated"])
def test_more_recall_never_finds_less(filled, is_calibrated):
    if is_calibrated and not filled.options.is_minhash:
        filled.calibrate()

    for similarity in SIMILARITIES:
        pairs = (filled.find_all(similarity=similarity, recall=each) for each in RECALLS)
        found = [len(each.distance) for each in pairs]
        assert found == sorted(found)
        matches = (
            filled.query_many(TEXTS[:500], similarity=similarity, recall=each) for each in RECALLS
        )
        found = [len(each.ids) for each in matches]
        assert found == sorted(found)


@pytest.mark.parametrize("recall", [0.5, 0.8, 0.95, 1.0])
def test_less_similarity_never_finds_less(filled, recall):
    every = [filled.find_all(similarity=each, recall=recall) for each in SIMILARITIES]

    found = [{*zip(pairs.left, pairs.right, strict=True)} for pairs in every]
    lost = [len(higher - more) for more, higher in zip(found[1:], found[:-1], strict=True)]
    assert list(map(len, found)) == sorted(map(len, found))
    if filled.options.polytopes or filled.options.is_minhash:  # whose probes are nested
        assert lost == [0] * len(lost)
