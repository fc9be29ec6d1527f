"""Strategies for hypothesis: draws near fingerprints, ids of all kinds, and options."""

from hypothesis import strategies as st

import simdb

ALL_BITS = 2**64 - 1
# With few centres and few flipped bits where blocks meet, most fingerprints are near or equal.
CENTRES = (0, ALL_BITS, 0x0123456789ABCDEF, 0x0123456789ABCDEF ^ (0xFF << 28))
PLACES = (0, 1, 15, 16, 31, 32, 47, 48, 62, 63)

SHAPES = ((1, 1), (2, 1), (4, 1), (4, 2), (5, 2), (6, 3), (7, 7), (13, 1), (64, 1))

WORDS = ("red", "green", "blue", "grey", "pink", "\u9ed1", "\u767d")

fingerprints = st.builds(
    lambda centre, places: centre ^ sum(1 << place for place in places),
    st.sampled_from(CENTRES),
    st.sets(st.sampled_from(PLACES), max_size=5),
)

texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)

ids = st.one_of(
    st.integers(0, 9),
    st.sampled_from([-1, 2**63 - 1, -(2**63), 2**64 - 1, "a", "b", "\u00e9\U0001f600", "a\0b"]),
    st.sampled_from([b"a", b"\0", b"\xff\xfe", "x" * 600, "1", b"1"]),
)

metadata = st.one_of(
    st.none(), st.integers(-5, 5), st.dictionaries(st.text(max_size=3), st.booleans(), max_size=2)
)


@st.composite
def options(draw, **settings):
    """Draw options with limits so small that a few documents fill runs and merge them."""
    blocks, leading = draw(st.sampled_from(SHAPES))
    sketch = simdb.Simhash(
        shingle=1,
        dimensions=draw(st.sampled_from([64, 128, 256])),
        store_volatility=draw(st.booleans()),
    )
    chosen = {
        "blocks": blocks,
        "leading": leading,
        "delta_documents": draw(st.integers(1, 8)),
        "growth": draw(st.integers(2, 4)),
        "header_offset": draw(st.integers(-4, 0)),
        "sketch": sketch,
    }
    return simdb.Options(**{**chosen, **settings})
