import numpy as np
from hypothesis import given, strategies as st
from over import over
from strategies import SHAPES, fingerprints

from simdb.plan.tables import Permutations


def keys_of(permutations, values, table):
    keys = np.empty(len(values), np.uint64)
    permutations.write_keys(np.array(values, np.uint64), keys, table)
    return keys.tolist()


@given(shape=st.sampled_from(SHAPES), value=fingerprints)
def test_the_leading_bits_come_first_in_their_old_order(shape, value):
    permutations = Permutations(*shape)

    for table, mask in enumerate(permutations.masks):
        width = mask.bit_count()
        places = [place for place in range(63, -1, -1) if mask >> place & 1]
        expected = 0
        for place in places:
            expected = expected << 1 | (value >> place & 1)
        assert keys_of(permutations, [value], table)[0] >> (64 - width) == expected


@given(shape=st.sampled_from(SHAPES), value=fingerprints, places=st.sets(st.integers(0, 63)))
def test_within_the_distance_served_some_table_has_the_same_header(shape, value, places):
    permutations = Permutations(*shape)
    served = permutations.distance_served(0)
    other = value ^ sum(1 << place for place in sorted(places)[:served])

    headers_agree = [not (value ^ other) & mask for mask in permutations.masks]

    assert any(headers_agree)


@over(("shape", "width"), [((4, 1), 16), ((6, 3), 31), ((64, 1), 1), ((1, 1), 64)])
def test_the_header_has_the_bits_of_the_narrowest_table(shape, width):
    assert Permutations(*shape).header_bits == width
