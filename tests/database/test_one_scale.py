"""`similarity=` is one scale: what every door says of two documents, and from which number on."""

import numpy as np
import pytest

import simdb

WORDS = [f"word{number}" for number in range(60)]
WHOLE = " ".join(WORDS)
CHANGED = " ".join([*WORDS[:30], "other", *WORDS[31:]])
# 58 shingles each, of which three differ.
EXACT = 55 / 61
ERROR = 0.12  # ten standard deviations of an estimate from 128 weights, at this similarity


def both(database, ids=("whole", "changed")):
    """Return what each door says of two stored documents."""
    left, right = ids
    one = database.query(id=left, similarity=0.2)[0]
    document = database.query(database[left].fingerprint, similarity=0.2)
    many = database.query_many(ids=[left], similarity=0.2)
    pairs = database.find_all(similarity=0.2)
    return {
        "query": (one.similarity, one.measure),
        "document": (next(m for m in document if m.id == right).similarity, document[0].measure),
        "first": (database.first(id=left, similarity=0.2).similarity, one.measure),
        "many": (float(many.similarities[0]), many.measure),
        "match of many": (many[0][0].similarity, many[0][0].measure),
        "nearest": (database.nearest(id=left, k=1)[0].similarity, one.measure),
        "pairs": (float(pairs.similarity[0]), pairs.measure),
        "pair": (pairs[0].similarity, pairs[0].measure),
        "compare": (
            float(database.compare([left], [right]).similarity[0]),
            database.compare([left], [right]).measure,
        ),
        "explain": (database.explain(left, right).similarity, database.explain(*ids).measure),
        "stored": (
            simdb.similarity(database[left].fingerprint, database[right].fingerprint),
            database[left].fingerprint.measure,
        ),
    }


@pytest.mark.parametrize(
    ("sketch", "measure", "wanted"),
    [
        (simdb.Simhash(), "jaccard", EXACT),
        (simdb.Simhash(weighting="tf"), "cosine", 55 / 58),
    ],
)
def test_every_door_gives_one_number_and_says_what_it_is(open_database, sketch, measure, wanted):
    database = open_database(options=simdb.Options(sketch=sketch))
    database.insert_many(["whole", "changed"], [WHOLE, CHANGED])

    said = both(database)

    assert {each for _, each in said.values()} == {measure}
    numbers = [number for number, _ in said.values()]
    assert numbers == pytest.approx([numbers[0]] * len(numbers), abs=1e-6)
    assert numbers[0] == pytest.approx(wanted, abs=ERROR)
    assert database.find_clusters(similarity=0.2).measure == measure
    assert database.options.measure == database.stats().options["measure"] == measure


def test_what_a_verb_says_is_the_threshold_from_which_it_is_found(open_database):
    database = open_database()
    database.insert_many(["whole", "changed"], [WHOLE, CHANGED])
    said = database.query(id="whole", similarity=0.2)[0].similarity
    more = float(np.nextafter(np.float32(said), np.float32(1)))

    for least, found in ((said, 1), (more, 0)):
        assert len(database.query(id="whole", similarity=least, recall=1.0)) == found
        assert len(database.find_all(similarity=least, recall=1.0)) == found
        assert database.explain("whole", "changed", similarity=least).is_match == bool(found)
        assert f"{least:g}" in database.plan(similarity=least).__repr__()
    claimed = database.add_many_if_new(["again"], [CHANGED], similarity=1.0)
    assert (claimed.measure, claimed[0][0].similarity) == ("jaccard", 1.0)


def test_estimates_and_exact_similarities_are_of_one_scale(open_database):
    database = open_database()
    texts = {"whole": WHOLE, "changed": CHANGED}
    database.insert_many(texts.keys(), texts.values())

    estimated = database.compare(["whole"], ["changed"]).similarity[0]
    exact = database.compare(["whole"], ["changed"], texts=texts, verify="exact").similarity[0]

    assert exact == pytest.approx(EXACT)
    assert estimated == pytest.approx(exact, abs=ERROR)
    judged = database.find_all(texts=texts).verification
    assert judged.least == database.options.similarity == 0.8
    assert simdb.similarity(WHOLE, CHANGED) == pytest.approx(EXACT)
    sketched = simdb.similarity(simdb.fingerprint(WHOLE), simdb.fingerprint(CHANGED))
    assert sketched == pytest.approx(EXACT, abs=ERROR)
    rows = simdb.similarities(simdb.fingerprints([WHOLE]), simdb.fingerprints([CHANGED]))
    assert rows[0] == pytest.approx(float(estimated), abs=1e-6)


@pytest.mark.parametrize("options", [{}, {"sketch": simdb.Simhash(vector_length=48)}], ids=str)
def test_vectors_keep_their_cosine(open_database, options):
    database = open_database(options=simdb.Options(**options))
    generator = np.random.default_rng(5)
    vectors = generator.standard_normal((2, 48))
    vectors[1] = vectors[0] + 0.3 * vectors[1]
    cosine = float(vectors[0] @ vectors[1] / np.prod(np.linalg.norm(vectors, axis=1)))
    database.insert_many(["whole", "changed"], vectors)

    said = both(database)

    assert {each for _, each in said.values()} == {"cosine"}
    numbers = [number for number, _ in said.values()]
    assert numbers == pytest.approx([numbers[0]] * len(numbers), abs=1e-6)
    # Ten standard deviations.
    assert numbers[0] == pytest.approx(cosine, abs=10 * (1 - cosine**2) / 128**0.5)
    assert database.plan().similarity == 0.889
    assert len(database.find_all(similarity=numbers[0] - 1e-4, recall=1.0)) == 1
    assert len(database.find_all(similarity=numbers[0] + 1e-4, recall=1.0)) == 0
    assert database.nearest(vectors[0], 2)[1].measure == "cosine"


def test_hashes_have_no_measure(open_database):
    database = open_database(options=simdb.Options(sketch=simdb.Bits(64)))
    database.insert_many(["a", "b"], [1, 3])

    assert database.query(1, distance=3)[0].measure is None
    assert database.query_many([1], distance=3).measure is None
    assert database.find_all(distance=3).measure is None
    assert database.find_clusters(distance=3).measure is None


def test_deduplicated_rows_say_their_measure():
    vectors = np.eye(3, dtype=np.float32)[[0, 0, 1]] + np.float32(0.01)

    assert simdb.deduplicate([WHOLE, CHANGED]).measure == "jaccard"
    assert simdb.deduplicate([WHOLE, CHANGED], verify="estimate").measure == "jaccard"
    assert simdb.deduplicate([WHOLE], sketch=simdb.Simhash(weighting="tf")).measure == "cosine"
    assert simdb.deduplicate(vectors).measure == "cosine"
    assert simdb.deduplicate(vectors, verify="estimate").measure == "cosine"
    assert simdb.deduplicate(vectors).kept.tolist() == [True, False, True]
    assert simdb.deduplicate([3, 3], sketch=simdb.Bits(64), distance=1).measure is None


def test_both_ways_to_decide_have_one_threshold(open_database):
    # Sets of one size: the estimate and the texts disagree by chance alone.
    generator = np.random.default_rng(3)
    texts = []
    for number in range(300):
        own = [f"w{number}x{at}" for at in range(40)]
        copy = list(own)
        copy[int(generator.integers(40))] = "changed"
        texts += [" ".join(own), " ".join(copy)]

    exact = simdb.deduplicate(texts)
    estimated = simdb.deduplicate(texts, verify="estimate")
    database = open_database()
    claimed = database.add_many_if_new(range(len(texts)), texts)

    # A changed word leaves 35 to 37 of 38 shingles, a similarity of .85 or more; an estimate
    # of this is below .8 once in 40.
    assert len(exact.removed_ids) == 300
    assert len(estimated.removed_ids) == len(claimed.ids)
    assert 270 <= len(claimed.ids) <= 300
