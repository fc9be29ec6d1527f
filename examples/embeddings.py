"""Find groups of near-duplicate embeddings, and the neighbours of a new one.

    python embeddings.py

The vectors here are random, with copies that have a little noise; a model would make them.
"""

import numpy as np

import simdb

COUNT, LENGTH = 2_000, 384


def main():
    """Store the rows of a matrix in a temporary database, and search it."""
    random = np.random.default_rng(1)
    vectors = random.normal(size=(COUNT, LENGTH)).astype(np.float32)
    copies = vectors[:50] + random.normal(scale=0.05, size=(50, LENGTH)).astype(np.float32)

    options = simdb.Options(sketch=simdb.Simhash(vector_length=LENGTH), similarity=0.95)
    with simdb.open(None, options=options) as database:
        database.insert_many(range(COUNT), vectors)
        database.insert_many(range(COUNT, COUNT + 50), copies)

        clusters = database.find_clusters(recall=0.99)
        print(f"{len(clusters)} groups; the first: {clusters[0].ids}")
        found = database.query(vectors[7] + random.normal(scale=0.05, size=LENGTH))
        print(f"like a new copy of document 7: {sorted(match.id for match in found)}")


if __name__ == "__main__":
    main()
