"""Families: draws texts in families of near copies, and finds survivors by a double loop."""

import random
from functools import cache

from hypothesis import strategies as st

LEAST = 0.8
SHINGLE = 3
# The words of the first text of each family.  A change of one word of 41 leaves a Jaccard
# similarity of .86 and two changes mostly .73; a longer family matches with more changes.
SIZES = (41, 41, 60, 90)
NEW_WORDS = 3
WITHOUT_WORDS = (None, "", "!?")


@st.composite
def texts(draw, most=40):
    """Draw texts: families of near copies, equal texts, nulls, empty and wordless ones."""
    count = draw(st.integers(0, most))
    kinds = st.sampled_from(["family"] * 8 + ["without"])
    return [
        draw(st.sampled_from(WITHOUT_WORDS)) if kind == "without" else draw(near_copies())
        for kind in draw(st.lists(kinds, min_size=count, max_size=count))
    ]


@st.composite
def near_copies(draw):
    """Draw a text of one family, with a few changed words and perhaps others at its end."""
    family = draw(st.integers(0, len(SIZES) - 1))
    changes = st.tuples(st.integers(0, SIZES[family] - 1), st.integers(0, NEW_WORDS - 1))
    return text_of(family, draw(st.lists(changes, max_size=4)), draw(st.integers(0, 3)))


def text_of(family, changes, ends):
    """Return the first text of a family with changes (place, number) and `ends` words more."""
    words = [f"f{family}w{at}" for at in range(SIZES[family])]
    for at, number in changes:
        words[at] = f"new{number}"
    return " ".join([*words, *["end"] * ends])


def survivors(texts, order, on_null="keep", reference=()):
    """Return whether each text is kept: it matches no kept text before it in `order`.

    Nor does it match a text of the `reference`.
    """
    kept = [False] * len(texts)
    for at, row in enumerate(order):
        earlier = [*reference, *(texts[other] for other in order[:at] if kept[other])]
        kept[row] = not any(is_alike(texts[row], other) for other in earlier)
        if on_null == "drop" and texts[row] is None:
            kept[row] = False
    return kept


def connected(texts, order):
    """Return whether each text is kept: it is the first in `order` of its connected texts."""
    kept = [True] * len(texts)
    left = list(order)
    while left:
        group = [left.pop(0)]
        for member in group:
            near = [other for other in left if is_alike(texts[member], texts[other])]
            left = [other for other in left if other not in near]
            group += near
        for member in group[1:]:
            kept[member] = False
    return kept


def order_of(texts, keep):
    """Return the places of texts as `keep` prefers them; texts of equal size in their order."""
    places = list(range(len(texts)))
    sizes = [len(text or "") for text in texts]
    if keep == "last":
        return places[::-1]
    if keep in ("longest", "shortest"):
        return sorted(places, key=lambda at: sizes[at] if keep == "shortest" else -sizes[at])
    return places


def is_alike(one, other):
    """Return whether two texts have a similarity of LEAST or more; without words, never."""
    return jaccard(one or "", other or "") >= LEAST


def jaccard(one, other):
    """Return the share of the shingles of two texts that both have; 0 without words."""
    left, right = shingles(one), shingles(other)
    return len(left & right) / max(len(left | right), 1)


@cache
def shingles(text):
    """Return the set of windows of words of a text."""
    words = [word for word in text.split() if any(map(str.isalnum, word))]
    size = min(SHINGLE, len(words))
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)} if words else set()


def drawn_families(count, seed):
    """Return `count` families of four texts by id, whose members have a similarity near LEAST."""
    chance = random.Random(seed)
    found = {}
    for family in range(count):
        words = [f"w{chance.randrange(500)}" for _ in range(chance.randrange(20, 120))]
        for member in range(4):
            edited = list(words)
            for _ in range(chance.randrange(0, 6) if member else 0):
                edited[chance.randrange(len(edited))] = f"w{chance.randrange(500)}"
            found[f"{family}-{member}"] = " ".join(edited)
    return found
