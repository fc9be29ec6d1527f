"""A set of hashes holds what was added, as a set of Python does."""

import random

import numpy as np
from over import over

from simdb.cli.duplicates.unique_ids import Hashes


@over("seed", range(5))
def test_hashes_are_held_once_they_were_added(seed):
    generator = random.Random(seed)
    every, known = Hashes(), set()

    for size in generator.choices([0, 1, 2, 7, 50, 400], k=40):
        some = [generator.randrange(3000) for _ in range(size)]
        every.add(np.array(some, np.uint64))
        known.update(some)
        asked = [generator.randrange(3000) for _ in range(50)]

        assert every.holds(np.array(asked, np.uint64)).tolist() == [at in known for at in asked]


def test_a_hash_is_copied_as_often_as_the_set_has_doubled():
    every = Hashes()

    for at in range(1000):
        every.add(np.array([at], np.uint64))

    assert len(every._sorted) <= 10
