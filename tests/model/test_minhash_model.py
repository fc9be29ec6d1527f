"""Random operations on databases of MinHash signatures agree with a dict and double loops."""

import random

import pytest
from oracle import components
from signature_oracle import WORDS, SignedOracle
from soundness import assert_sound

import simdb

pytestmark = pytest.mark.usefixtures("any_limit")

LEAST = 0.5


def some_options(chance):
    permutations = chance.choice([16, 32, 48])
    rows = chance.randint(1, 5)
    return simdb.Options(
        sketch=simdb.Minhash(
            shingle=1,
            permutations=permutations,
            stored_bits=chance.choice([1, 2, 8, 32]),
            weighting=chance.choice(["set", "bag", "tf"]),
            seed=chance.randrange(5),
        ),
        similarity=LEAST,
        recall=1.0,
        bands=chance.randint(1, permutations // rows),
        rows=rows,
        delta_documents=chance.randint(1, 8),
        growth=chance.randint(2, 4),
        header_offset=chance.randint(-4, 0),
        keep_clusters=chance.choice(["none", "similarity"]),
    )


def some_text(chance):
    return " ".join(chance.choices(WORDS[:12], k=chance.choice([0, 1, 4, 6, 8])))


def assert_equal(reader, oracle, banded, chance):
    """Assert that both methods agree with the loops, for some documents, pairs and clusters."""
    ids = list(oracle.documents)

    assert list(reader) == ids
    for id in chance.sample(ids, min(4, len(ids))):
        minima = oracle.documents[id]
        for method, each in (("exhaustive", oracle), ("banding", banded)):
            recall = 1.0 if method == "exhaustive" else 0.9
            found = reader.query(id=id, search=method, recall=recall)
            wanted = each.query(minima, LEAST, without=id)
            assert [(match.id, match.distance) for match in found] == [row[:2] for row in wanted]
    pairs = oracle.find_all(LEAST)
    assert {(pair.left, pair.right) for pair in reader.find_all()} == set(pairs)
    assert [cluster.ids for cluster in reader.find_clusters()] == components(ids, pairs)


def operate(transaction, oracles, sketch, chance):
    """Apply an operation to the transaction and to both oracles."""
    documents = oracles[0].documents
    verb = chance.choice(["insert", "insert", "replace", "delete", "claim", "batch"])
    taken = list(documents)
    fresh = [f"d{chance.randrange(10**9)}" for _ in range(chance.randint(1, 6))]
    texts = [some_text(chance) for _ in fresh]
    signatures = list(simdb.signatures(texts, sketch))
    if verb == "delete" and taken:
        gone = chance.sample(taken, min(2, len(taken)))
        transaction.delete_many(gone)
        for oracle in oracles:
            for id in gone:
                oracle.delete(id)
        return
    if verb == "claim":
        found = transaction.add_many_if_new(fresh, texts)
        kept = [at for at, row in enumerate(found) if not row]
        for at, signature in enumerate(signatures):
            minima = None if signature.is_empty else signature.minima.tolist()
            assert (at in kept) == (not oracles[0].query(minima, LEAST))
            for oracle in oracles if at in kept else ():
                oracle.insert(fresh[at], signature)
        return
    if verb == "batch":
        transaction.insert_batch(fresh, texts, search=simdb.Search(memory_limit=2000))
    elif verb == "replace" and taken:
        fresh = chance.sample(taken, min(len(fresh), len(taken)))
        signatures = signatures[: len(fresh)]
        transaction.insert_many(fresh, texts[: len(fresh)], on_conflict="replace")
    else:
        transaction.insert_many(fresh, texts)
    for id, signature in zip(fresh, signatures, strict=True):
        for oracle in oracles:
            oracle.insert(id, signature)


def run(path, seed, rounds):
    chance = random.Random(seed)
    options = some_options(chance)
    oracle = SignedOracle(options.sketch)
    banded = SignedOracle(options.sketch, options.bands, options.rows)
    database = simdb.open(path, options=options, durability="none")
    for _ in range(rounds):
        before = dict(oracle.documents)
        transaction = database.write()
        for _ in range(chance.randint(1, 3)):
            operate(transaction, (oracle, banded), options.sketch, chance)
        if chance.random() < 0.5:
            assert_equal(transaction, oracle, banded, chance)
        if chance.random() < 0.2:
            transaction.abort()
            oracle.documents, banded.documents = dict(before), dict(before)
        else:
            transaction.commit()
        after = chance.choice(["go on", "go on", "compact", "reopen"])
        if after == "compact":
            database.compact()
        elif after == "reopen":
            database.close()
            database = simdb.open(path, durability="none")
        assert_equal(database, oracle, banded, chance)
    database.close()
    assert_sound(path)


MANY = [pytest.param(seed, 20, marks=pytest.mark.slow) for seed in range(100, 160)]


@pytest.mark.few(3)
@pytest.mark.parametrize(("seed", "rounds"), [*((seed, 8) for seed in range(12)), *MANY])
def test_databases_of_signatures_follow_the_loops(tmp_path, seed, rounds):
    run(tmp_path / "db", seed, rounds)
