"""Every method that a caller can name is planned by one way and carried out by one method."""

import numpy as np
import pytest
from over import over

import simdb
from simdb.core import options
from simdb.database.search.lookup import METHODS
from simdb.database.state.kinds import kind_of
from simdb.database.state.store import settled
from simdb.plan.planner import WAYS

KINDS = {
    "fingerprints": simdb.Options(),
    "signatures": simdb.Options(sketch=simdb.Minhash()),
}
CALLED = {"fingerprints": options.METHODS, "signatures": options.MINHASH_METHODS}


@over("kind", KINDS)
def test_the_methods_of_a_kind_are_those_of_its_ways_and_of_its_register(kind):
    found = kind_of(settled(KINDS[kind]))
    population = found.empty_population(has_weights=True)

    planned = [name for way in WAYS[type(population)] for name in way.METHODS]

    assert found.stores == kind
    assert sorted(planned) == sorted(METHODS[kind]) == sorted(set(CALLED[kind]) - {options.AUTO})


@pytest.mark.parametrize(
    ("kind", "method"), [("fingerprints", "polytope"), ("signatures", "banding")]
)
def test_a_method_finds_what_exhaustive_search_finds(open_database, kind, method):
    generator = np.random.default_rng(5)
    words = [f"word{at}" for at in range(40)]
    texts = [" ".join(generator.choice(words, 30)) for _ in range(60)]
    texts += [f"{text} more" for text in texts]
    database = open_database(options=KINDS[kind])
    database.insert_many(range(len(texts)), texts)
    database.compact()
    exact = pairs_of(database.find_all(similarity=0.9, search="exhaustive"))

    found = pairs_of(database.find_all(similarity=0.9, recall=0.9, search=method))

    assert len(exact) >= 50
    assert found <= exact
    # Each of 60 independent pairs is found with probability .9; fewer than 40 found has a chance
    # below 1e-6.
    assert len(found) >= 0.66 * len(exact)


def pairs_of(pairs):
    return set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
