"""A set of keys in sorted arrays answers as a set does."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simdb.deduplication.sieve import SeenKeys

KEYS = st.integers(0, 30) | st.integers(2**64 - 3, 2**64 - 1)


@given(st.lists(st.lists(KEYS, max_size=12), max_size=12))
def test_what_is_new_is_what_a_set_does_not_have(batches):
    seen, known = SeenKeys(), set()

    for batch in batches:
        expected = []
        for key in batch:
            expected.append(key not in known)
            known.add(key)
        assert seen.add(np.array(batch, np.uint64)).tolist() == expected
        assert len(seen) == len(known)

    assert seen.all().tolist() == sorted(known)


def test_many_batches_are_in_few_arrays():
    seen = SeenKeys()

    for start in range(0, 5000, 10):
        seen.add(np.arange(start, start + 10, dtype=np.uint64))

    assert len(seen._parts) <= 10
    assert len(seen) == 5000
