"""Races: threads that sketch, insert, query and delete in one process, to run under TSan.

    python tools/torture/races.py --seconds 20

ThreadSanitizer prints the races that it finds and sets the exit code; see `make sanitize-threads`.
"""

import argparse
import random
import sys
import tempfile
import time
from threading import Thread

import simdb
from drawn import some_text


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    errors, counts = [], []
    for is_minhash in (False, True):
        with tempfile.TemporaryDirectory() as directory:
            use(directory, is_minhash, given, errors, counts)
    print(f"{sum(counts)} verbs, {len(errors)} errors", *errors[:3], sep="\n")
    return int(bool(errors))


def use(directory, is_minhash, given, errors, counts):
    """Let all threads use one database at the same time."""
    sketch = simdb.Minhash(shingle=1) if is_minhash else simdb.Simhash(shingle=1)
    options = simdb.Options(sketch=sketch, delta_documents=20, growth=2, keep_clusters="similarity")
    until = time.monotonic() + given.seconds / 2
    with simdb.open(f"{directory}/db", options=options, durability="none") as database:
        arguments = [
            (database, at, f"{given.seed} {at}", until, errors, counts)
            for at in range(given.threads)
        ]
        threads = [Thread(target=work, args=each) for each in arguments]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        errors += database.check(deep=True)


def work(database, number, seed, until, errors, counts):
    """Call verbs in one thread until the time is over."""
    chance, done = random.Random(seed), 0
    sketch = database.options.sketch
    make = simdb.signatures if isinstance(sketch, simdb.Minhash) else simdb.fingerprints
    while time.monotonic() < until and not errors:
        texts = [some_text(chance) for _ in range(20)]
        ids = [f"{number}-{chance.randrange(200)}" for _ in range(5)]
        verbs = [
            lambda texts=texts: make(texts, sketch),
            lambda texts=texts: database.query(texts[0], recall=0.9),
            lambda texts=texts: database.query_many(texts),
            lambda texts=texts: database.query_many(texts, search="exhaustive"),
            lambda: list(database.find_all(similarity=0.9)),
            lambda ids=ids, texts=texts: database.insert_many(
                set(ids), texts[: len(set(ids))], on_conflict="replace"
            ),
            lambda ids=ids: database.delete_many(ids),
        ]
        try:
            chance.choice(verbs)()
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
        done += 1
    counts.append(done)


if __name__ == "__main__":
    sys.exit(main())
