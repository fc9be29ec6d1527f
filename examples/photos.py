"""Find near-duplicates among photos by perceptual hashes of 256 bits, made as PDQ makes them.

    python photos.py

The photos here are random; give `hash_of` the grey values of real ones.
"""

import numpy as np

import simdb

PHOTOS, COPIES = 500, 50
# The 16 slowest cosines along a side of 64 pixels, without the constant one.
WAVES = np.cos(np.pi / 64 * np.outer(np.arange(1, 17), np.arange(64) + 0.5))


def hash_of(photo):
    """Return bool[16, 16]: which waves of a square photo are stronger than the median wave."""
    step = len(photo) // 64
    small = photo.reshape(64, step, 64, step).mean(axis=(1, 3))
    waves = WAVES @ small @ WAVES.T
    return waves > np.median(waves)


def main():
    """Store the hashes in a temporary database, and find copies that are brighter and grainy."""
    random = np.random.default_rng(1)
    photos = np.kron(random.uniform(0, 200, (PHOTOS, 16, 16)), np.ones((8, 8)))
    copies = 1.2 * photos[:COPIES] + random.normal(10, 20, (COPIES, 128, 128))

    with simdb.open(None, options=simdb.Options(sketch=simdb.Bits(256))) as database:
        database.insert_many(range(PHOTOS), np.array([hash_of(photo) for photo in photos]))
        found = database.query(hash_of(copies[7]))
        print(f"like the copy of photo 7: {[match.id for match in found]}")
        print(f"of 256 bits {found[0].distance} differ")

        names = [f"copy {number}" for number in range(COPIES)]
        matches = database.add_many_if_new(names, [hash_of(copy) for copy in copies])
        print(f"{COPIES - sum(map(len, matches))} of {COPIES} copies were new")


if __name__ == "__main__":
    main()
