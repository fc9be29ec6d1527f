"""A set of keys in sorted arrays answers as a set does."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from over import over

from simdb.deduplication.minima import SortedKeys

KEYS = st.integers(0, 30) | st.integers(2**64 - 3, 2**64 - 1)


@given(st.lists(st.lists(KEYS, max_size=12), max_size=12))
def test_what_is_new_is_what_a_set_does_not_have(batches):
    seen, known = SortedKeys(), set()

    for batch in batches:
        expected = []
        for key in batch:
            expected.append(key not in known)
            known.add(key)
        assert seen.add(np.array(batch, np.uint64)).tolist() == expected
        assert len(seen) == len(known)

    assert seen.all().tolist() == sorted(known)


def test_many_batches_are_in_few_arrays():
    seen = SortedKeys()

    for start in range(0, 5000, 10):
        seen.add(np.arange(start, start + 10, dtype=np.uint64))

    assert len(seen._parts) <= 10
    assert len(seen) == 5000


@over("seed", range(5))
def test_keys_are_held_once_they_were_appended(seed):
    generator = random.Random(seed)
    every, known = SortedKeys(), set()

    for size in generator.choices([0, 1, 2, 7, 50, 400], k=40):
        some = [generator.randrange(3000) for _ in range(size)]
        every.append(np.sort(np.array(some, np.uint64)))
        known.update(some)
        asked = [generator.randrange(3000) for _ in range(50)]

        assert every.holds(np.array(asked, np.uint64)).tolist() == [at in known for at in asked]
