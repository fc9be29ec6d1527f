"""MinHash in the simplest way: whole numbers, sets and loops, one feature at a time."""

import math

from feature_oracle import GOLDEN as STEP, MASK, fmix64

PRIME = 2**61 - 1
NOTHING = 2**32 - 1


def signature(hashes, family, feature_bits=64):
    """Return the minima of the features with these hashes."""
    name, multipliers, increments = family[0], family[1].tolist(), family[2].tolist()
    features = {fmix64(each & MASK) for each in hashes}
    if feature_bits == 32:
        features = {(each >> 32) * (2**32 + 1) for each in features}
    if not features:
        return [NOTHING] * len(multipliers)
    if name == "one-permutation":
        return binned(features, increments)
    coefficients = list(zip(multipliers, increments, strict=True))
    if name == "mersenne":
        return [min((a * (x >> 3) + b) % PRIME >> 29 for x in features) for a, b in coefficients]
    if name == "stratified":
        return [min((a * (x | 1) + (x >> 32)) % 2**32 for x in features) for a in multipliers]
    return [
        min((a * (x >> 32 * (place % 2)) + b) % 2**32 for x in features)
        for place, (a, b) in enumerate(coefficients)
    ]


def binned(features, increments):
    count = len(increments)
    bins = {}
    for feature in features:
        word = fmix64((feature + increments[0]) & MASK)
        place, value = count * (word >> 32) >> 32, word & 0xFFFFFFFF
        bins[place] = min(value, bins.get(place, value))
    row = []
    for place in range(count):
        other, draw = place, (increments[1] + (place << 32)) & MASK
        while other not in bins:
            other, draw = count * (fmix64(draw) >> 32) >> 32, (draw + 1) & MASK
        row.append(bins[other])
    return row


def uniform(half):
    return (half + 0.5) / 2**32


def gamma(word):
    return -math.log(uniform(word & 0xFFFFFFFF) * uniform(word >> 32))


def samples(weighted, keys):
    """Return the consistent samples of {hash: weight}, with the library's logarithm."""
    row = []
    for key in keys:
        drawn = [sample(fmix64(each), weight, key) for each, weight in weighted.items()]
        row.append(min(drawn)[1] if drawn else NOTHING)
    return row


def sample(feature, weight, key):
    draw = fmix64(feature ^ key)
    rate = gamma(fmix64((draw + STEP) & MASK))
    cost = math.log(gamma(fmix64((draw + 2 * STEP) & MASK)))
    shift = uniform(fmix64((draw + 3 * STEP) & MASK) >> 32)
    step = math.floor(math.log(weight) / rate + shift)
    return cost - rate * (step - shift + 1), fmix64((feature + step * STEP) & MASK) >> 32


def band_key(minima, band):
    key = fmix64((band + STEP) & MASK)
    for each in minima:
        key = fmix64(key ^ each)
    return key
