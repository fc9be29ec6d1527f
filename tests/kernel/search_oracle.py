"""The contract of `_search` in plain loops over Python integers, and cases to test it on."""

import random
import struct
from functools import cache
from itertools import pairwise

import numpy as np

from simdb.core.bits import ALL_BITS

SEGMENT = 16


@cache
def permute(fingerprint, mask):
    """Return the key of `fingerprint` in the table of `mask`, made bit by bit."""
    leading = [bit for bit in range(63, -1, -1) if mask >> bit & 1]
    following = [bit for bit in range(63, -1, -1) if not mask >> bit & 1]
    key = 0
    for bit in leading + following:
        key = key << 1 | (fingerprint >> bit & 1)
    return key


def column(entries, mask, header_bits):
    """Return keys, ordinals and directory of (fingerprint, ordinal) entries, at odd addresses."""
    rows = sorted((permute(fingerprint, mask), ordinal) for fingerprint, ordinal in entries)
    keys = np.array([key for key, _ in rows], np.uint64)
    ordinals = np.array([ordinal for _, ordinal in rows], np.uint32)
    headers = [key >> (64 - header_bits) for key, _ in rows]
    directory = np.searchsorted(headers, np.arange((1 << header_bits) + 1)).astype(np.uint32)
    return displaced(keys), displaced(ordinals), displaced(directory)


def header_column(entries, mask, header_bits):
    """Return a table of headers of (fingerprint, ordinal) entries, at odd addresses."""
    keys, ordinals, directory = column(entries, mask, header_bits)
    start = min((ordinal for _, ordinal in entries), default=0)
    stop = max((ordinal for _, ordinal in entries), default=-1) + 1
    fingerprints = np.zeros(stop - start, np.uint64)
    for fingerprint, ordinal in entries:
        fingerprints[ordinal - start] = fingerprint
    tags = np.array([int(key) >> (48 - header_bits) & 0xFFFF for key in keys], np.uint16)
    segments = [fingerprints[at : at + SEGMENT] for at in range(0, len(fingerprints), SEGMENT)]
    return displaced(tags), ordinals, directory, start, [displaced(each) for each in segments]


def pair(entries):
    """Return fingerprints and ordinals of entries of the delta."""
    fingerprints = np.array([fingerprint for fingerprint, _ in entries], np.uint64)
    return fingerprints, np.array([ordinal for _, ordinal in entries], np.uint32)


def distance(left, right):
    """Return the Hamming distance."""
    return bin(left ^ right).count("1")


def neighbourhood(seed, count, centres, spread):
    """Make fingerprints within `spread` bits of one of a few, so that many match."""
    generator = random.Random(seed)
    middles = [generator.getrandbits(64) for _ in range(centres)]
    result = []
    for _ in range(count):
        bits = generator.sample(range(64), generator.randint(0, spread))
        result.append(generator.choice(middles) ^ sum(1 << bit for bit in bits))
    return result


def matches(query, stored, delta, masks, *, distance_max, flips, dead=(), after=-1):
    """Return (ordinal, distance) of each match of a look-up; masks None compares with all.

    `flips`: one number for all masks, or a list of one for each.
    """
    limits = flips if isinstance(flips, list) else [flips] * len(masks or ())
    found = []
    for is_in_delta, entries in ((False, stored), (True, delta)):
        for fingerprint, ordinal in entries:
            difference = query ^ fingerprint
            reached = is_in_delta or masks is None
            reached = reached or is_reached(difference, masks, limits)
            measured = distance(query, fingerprint)
            if reached and measured <= distance_max and ordinal not in dead and ordinal > after:
                found.append((measured, ordinal))
    return [(ordinal, measured) for measured, ordinal in sorted(found)]


def is_reached(difference, masks, flips):
    """Return whether some table reaches a fingerprint with this difference."""
    return any(
        distance(difference & mask, 0) <= most for mask, most in zip(masks, flips, strict=True)
    )


def rows(found):
    """Return the result of a batch as lists of (ordinal, distance), one for each query."""
    offsets, ordinals, distances = found
    assert offsets.dtype == np.int64
    assert ordinals.dtype == np.uint32
    assert distances.dtype == np.uint8
    assert offsets[0] == 0
    assert offsets[-1] == len(ordinals) == len(distances)
    entries = list(zip(ordinals.tolist(), distances.tolist(), strict=True))
    return [entries[a:b] for a, b in pairwise(offsets)]


def pairs(entries, masks, table, distance_max):
    """Return what a sweep of (fingerprint, ordinal) entries writes, in that order."""
    flips = (0,) * len(masks)
    return flipped_pairs(tuple(entries), tuple(masks), table, distance_max, flips, 0, 0)


@cache
def flipped_pairs(entries, masks, table, distance_max, flips, flipped, width):
    """Return what a sweep with flips writes: headers differ in the bits `flipped` exactly."""
    ordered = sorted((permute(f, masks[table]), ordinal, f) for f, ordinal in entries)
    found = []
    for i, (_, one, left) in enumerate(ordered):
        for _, other, right in ordered[i + 1 :]:
            difference = left ^ right
            measured = distance(left, right)
            if measured > distance_max:
                continue
            header = permute(difference ^ flipped, masks[table]) >> (64 - width)
            is_first = is_reached(difference, masks[: table + 1], flips[: table + 1])
            is_first &= not is_reached(difference, masks[:table], flips[:table])
            if not header and is_first:
                found.append((min(one, other), max(one, other), measured))
    return found


def displaced(array, offset=1):
    """Return a read-only copy at an address that is aligned to the dtype only."""
    raw = np.zeros(array.nbytes + 128, np.uint8)
    start = -raw.ctypes.data % 64 + offset * array.itemsize
    raw[start : start + array.nbytes] = np.ascontiguousarray(array).view(np.uint8).ravel()
    copy = np.frombuffer(memoryview(raw).toreadonly(), array.dtype, array.size, start)
    return copy.reshape(array.shape)


def cosine(left, right):
    """Return the similarity of two packed vectors, as the exact float32 value."""
    return cosine_of_bytes(left.tobytes(), right.tobytes())


@cache
def cosine_of_bytes(left, right):
    """Return `cosine` from a cache: every variant is tested on the same data."""
    one, other = unpacked(left), unpacked(right)
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    norms = sum(a * a for a in one) * sum(b * b for b in other)
    return struct.unpack("f", struct.pack("f", dot / float(norms) ** 0.5))[0]


@cache
def unpacked(vector):
    """Return the integer weights of one packed vector, given as bytes."""
    return [2 * (byte & 15) - 15 for byte in vector] + [2 * (byte >> 4) - 15 for byte in vector]


def flipped(fingerprint, *bits):
    """Return `fingerprint` with these bits inverted."""
    return fingerprint ^ sum(1 << bit for bit in bits) & ALL_BITS
