"""Every harness of tools/fuzz, driven by hypothesis: only errors of simdb, whatever the bytes."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from over import over

from targets import TARGETS

# Numbers and bytes that make a decoder branch.
TELLING = (b"\0" * 8, b"\xff" * 8, b"\xff\xff\xff\x7f", b"\x80", b"\xc0", b"\xdd\xff\xff\xff\xff")
SLOW = {"database": 8, "passages": 8, "idf": 12, "parquet": 12}


@st.composite
def damaged(draw, seeds):
    """Draw a seed with some places overwritten, removed or inserted into, or any bytes at all."""
    data = bytearray(draw(st.one_of(st.sampled_from(seeds), st.binary(max_size=300))))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        new = draw(st.one_of(st.sampled_from(TELLING), st.binary(max_size=9)))
        replaced = draw(st.sampled_from([len(new), 0, 1, 40]))
        data[at : at + replaced] = new
    return bytes(data)


@over("name", TARGETS)
def test_any_bytes_give_an_answer_or_an_error_of_simdb(name):
    target = TARGETS[name]

    @given(data=damaged(target.seeds()))
    @settings(max_examples=SLOW.get(name, 12) // 2)
    def run(data):
        target(data)

    run()


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_many_bytes_give_an_answer_or_an_error_of_simdb(name):
    target = TARGETS[name]

    @given(data=damaged(target.seeds()))
    @settings(max_examples=50 * SLOW.get(name, 40))
    def run(data):
        target(data)

    run()
