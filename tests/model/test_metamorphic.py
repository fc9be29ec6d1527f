"""The same operations give the same exact answers, with all options and kernels."""

import random
from itertools import pairwise

import pytest
from pricing import tables_first
from soundness import everything
from strategies import CENTRES, PLACES, SHAPES, WORDS

import simdb
from simdb.core import kernel

DURABILITIES = ("full", "process", "none")


def some_document(chance):
    if chance.random() < 0.3:
        return " ".join(chance.choices(WORDS, k=chance.randrange(6)))
    flipped = sum(1 << place for place in chance.sample(PLACES, chance.randrange(5)))
    return chance.choice(CENTRES) ^ flipped


def some_options(chance):
    """Draw options that decide how answers are found, but not which answers."""
    blocks, leading = chance.choice(SHAPES)
    return simdb.Options(
        blocks=blocks,
        leading=leading,
        delta_documents=chance.randrange(1, 20),
        growth=chance.randrange(2, 5),
        header_offset=chance.randrange(-4, 1),
        keep_clusters=chance.choice(["none", "distance"]),
        sketch=simdb.Simhash(shingle=1),
    )


def answers(path, chance, options, durability):
    """Return the answers of a database to some operations, which `chance` alone decides."""
    told = []
    with simdb.open(path, "x", options=options, durability=durability) as database:
        for turn in range(8):
            ids = range(100 * turn, 100 * turn + chance.randrange(1, 30))
            database.insert_many(ids, [some_document(chance) for _ in ids], list(ids))
            database.delete_many([chance.randrange(100 * turn + 30) for _ in range(5)])
            database.insert(turn, some_document(chance), on_conflict="replace")
            claims = [some_document(chance) for _ in range(4)]
            taken = database.add_many_if_new(range(-4 * turn - 4, -4 * turn), claims, distance=2)
            told.append([[(each.id, each.distance) for each in row] for row in taken])
            if chance.random() < 0.2:
                database.compact()
            told.append(asked(database, chance))
    return told


def asked(database, chance):
    """Return the answers to every kind of exact question."""
    exact = {"distance": chance.randrange(9), "recall": 1.0}
    rows = database.query_many([some_document(chance) for _ in range(6)], **exact)
    pairs = database.find_all(**exact)
    told = [database.explain(*each, **exact).distance for each in pairwise([*database][:4])]
    return [
        {**everything(database), "options": None},
        [[(each.id, each.distance) for each in row] for row in rows],
        sorted(zip(pairs.left, pairs.right, pairs.distance.tolist(), strict=True)),
        told,
    ]


def compare(path, seed):
    """Run the same operations with options of their own; returns the answers of each run."""
    variants, found = [*kernel.variants(), kernel.variants()[-1]], []
    for number, variant in enumerate(variants):
        chance = random.Random(1000 * seed + number)
        kernel.select(variant)
        with tables_first(number % 2 == 0):
            found.append(
                answers(
                    path / f"{seed}-{number}",
                    random.Random(seed),
                    some_options(chance),
                    chance.choice(DURABILITIES),
                )
            )
    kernel.select(kernel.CHOSEN or kernel.variants()[-1])
    return found


MANY = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(100, 160)]


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", [*range(4), *MANY])
def test_options_and_kernels_do_not_change_exact_answers(tmp_path, seed):
    first, *others = compare(tmp_path, seed)

    for other in others:
        assert other == first
