"""The contract of `_arrange` in plain loops over Python integers, and cases to test it on."""

import random

import mmh3
import numpy as np

SIZES = [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 257, 1000]
ALL_ONES = 2**64 - 1


def odd(values, dtype):
    """Make a read-only array of `values` inside other bytes, aligned to its dtype only."""
    array = np.array(values, dtype)
    wide = np.full(array.nbytes + 128, 0xA5, np.uint8)
    start = (array.itemsize - wide.ctypes.data) % 64
    view = wide[start : start + array.nbytes].view(dtype)
    view[:] = array
    view.flags.writeable = False
    return view


def words(seed, count):
    """Make random 64-bit integers."""
    generator = random.Random(seed)
    return [generator.getrandbits(64) for _ in range(count)]


def entry_sum(keys, ordinals):
    """Return the checksum of entries by its definition."""
    total = 0
    for key, ordinal in zip(keys, ordinals, strict=True):
        low = (key + 0x9E3779B1 * ordinal) % 2**32
        high = ((key >> 32) + 0x85EBCA77 * ordinal) % 2**32
        total += key + low * high
    return total % 2**64


def components(count, pairs):
    """Return the smallest member of the component of each number."""
    labels = list(range(count))
    for left, right in pairs:
        low, high = sorted((labels[left], labels[right]))
        labels = [low if label == high else label for label in labels]
    return labels


def encode(id):
    """Return the stored form of an id."""
    if isinstance(id, str):
        return b"s" + id.encode()
    if isinstance(id, bytes):
        return b"b" + id
    number = int(id)
    if number < 2**63:
        return b"i" + number.to_bytes(8, "little", signed=True)
    return b"u" + number.to_bytes(8, "little")


def hash_form(form):
    """Return the hash of a stored form."""
    return mmh3.hash64(form, 0, signed=False)[0]


def siphash(form, key):
    """Return SipHash-1-3 of a stored form by its definition (Aumasson & Bernstein 2012)."""
    low, high = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    a, b, c, d = (
        int.from_bytes(b"somepseudorandomlygeneratedbytes"[at : at + 8], "big")
        for at in range(0, 32, 8)
    )
    a, b, c, d = a ^ low, b ^ high, c ^ low, d ^ high

    def turned(word, turn):
        return (word << turn | word >> (64 - turn)) & ALL_ONES

    def rounds(count):
        nonlocal a, b, c, d
        for _ in range(count):
            a, c = (a + b) & ALL_ONES, (c + d) & ALL_ONES
            b, d = turned(b, 13) ^ a, turned(d, 16) ^ c
            a, c = (turned(a, 32) + d) & ALL_ONES, (c + b) & ALL_ONES
            b, d = turned(b, 17) ^ c, turned(d, 21) ^ a
            c = turned(c, 32)

    padded = form + bytes(-(len(form) + 1) % 8) + bytes([len(form) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        d ^= word
        rounds(1)
        a ^= word
    c ^= 0xFF
    rounds(3)
    return a ^ b ^ c ^ d


def stored(ids):
    """Return offsets and content of the stored forms of `ids`."""
    forms = [encode(id) for id in ids]
    offsets = [sum(map(len, forms[:i])) for i in range(len(forms) + 1)]
    return offsets, list(b"".join(forms))
