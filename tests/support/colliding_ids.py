"""Colliding ids: makes many ids that have one MurmurHash3_x64_128 under every seed.

Two blocks of 16 bytes with chosen differences lead to the same state of the hash as two others.  So
each pair of such blocks doubles the number of ids.  Words are drawn until both are
UTF-8, so that the ids are texts, too.
"""

import random
from contextlib import suppress
from functools import cache

WORD = 2**64 - 1
FIRST, SECOND = 0x87C37B91114253D5, 0x4CF5AD432745937F
# Bits to change in the first three words after mixing.  The changes meet in the highest bits of the
# state and cancel each other.
CHANGES = (1 << 36, 1 << 32, 1 << 63)
PAIRS = 14  # 2^14 ids
HEAD = "x" * 15  # with the tag of a stored id, one block


def rotated(word, turn):
    return (word << turn | word >> (64 - turn)) & WORD


def mixed(word, turn, before, after):
    """Return a word of a block as it is mixed before it is combined with the state."""
    return rotated(word * before & WORD, turn) * after & WORD


def unmixed(word, turn, before, after):
    """Return the word that is mixed to `word`."""
    turned = rotated(word * pow(after, -1, WORD + 1) & WORD, 64 - turn)
    return turned * pow(before, -1, WORD + 1) & WORD


def twins(chance, change, *mixing):
    """Return two words of UTF-8 whose mixed forms differ in the bits of `change`."""
    while True:
        word = bytes(chance.randrange(33, 127) for _ in range(8))
        other = unmixed(mixed(int.from_bytes(word, "little"), *mixing) ^ change, *mixing)
        with suppress(UnicodeDecodeError):
            found = other.to_bytes(8, "little")
            found.decode()
            return word, found


def colliding_ids(count):
    """Return `count` different texts, at most 2^14, whose stored forms have one hash."""
    pairs = pairs_of_blocks()
    return [HEAD + "".join(pairs[at][n >> at & 1] for at in range(PAIRS)) for n in range(count)]


@cache
def pairs_of_blocks():
    """Return PAIRS pairs of blocks; both blocks of a pair lead to the same state."""
    chance = random.Random(5)
    first, second = (31, FIRST, SECOND), (33, SECOND, FIRST)
    pairs = []
    for _ in range(PAIRS):
        words = [
            twins(chance, change, *mixing)
            for change, mixing in zip(CHANGES, (first, second, first), strict=True)
        ]
        pairs.append([b"".join(each).decode() + "lastword" for each in zip(*words, strict=True)])
    return pairs
