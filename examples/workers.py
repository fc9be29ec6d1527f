"""Let several processes claim documents in one database, so that each text is stored once.

    python workers.py claims.simdb

Every worker opens the directory for itself.  `add_many_if_new` searches and stores in one
transaction, so no two workers can store the same text.
"""

import multiprocessing
import sys

import simdb

WORKERS = 3
TEXTS = [
    f"report {number}: the ship number {number * 7919} carried {number * 31} tons of salt to the "
    f"port {number * 104729} and came back with {number * 17} barrels"
    for number in range(200)
]


def claim(task):
    """Offer all texts under the name of one worker; return how many were new."""
    path, worker = task
    ids = [f"worker {worker}, report {number}" for number in range(len(TEXTS))]
    with simdb.open(path, timeout=60) as database:
        matches = database.add_many_if_new(ids, TEXTS)
        return sum(1 for found in matches if not found)


def main(path):
    """Run the workers at the same time, and count."""
    simdb.open(path).close()
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        new = pool.map(claim, [(path, worker) for worker in range(WORKERS)])
    with simdb.open(path, "r") as database:
        print(f"{WORKERS * len(TEXTS)} offered, {sum(new)} new, {len(database)} stored")


if __name__ == "__main__":
    main(*sys.argv[1:])
