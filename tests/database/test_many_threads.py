"""Threads of one process that use a database at the same time, with or without a global lock."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import simdb

THREADS = 4


def texts_of(seed, count):
    generator = np.random.default_rng(seed)
    words = [f"word{at}" for at in range(40)]
    texts = [" ".join(generator.choice(words, 30)) for _ in range(count)]
    return texts + [f"{text} more" for text in texts]


def in_threads(task):
    """Return what `task` returns to each thread, which gets its number."""
    barrier = Barrier(THREADS)

    def begin(number):
        barrier.wait(60)
        return task(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


@pytest.mark.parametrize("method", ["bphs", "multiprobe"])
def test_threads_that_query_at_once_get_the_answers_of_one_thread(open_database, method):
    database = open_database(options=simdb.Options(delta_documents=16))
    texts = texts_of(1, 60)
    database.insert_many(range(len(texts)), texts)
    asked = {"search": method, "recall": 0.9} | ({"distance": 3} if method == "bphs" else {})
    alone = [database.query(text, **asked) for text in texts]
    batch = database.query_many(texts, **asked).ordinals.tolist()

    found = in_threads(lambda _: [database.query(text, **asked) for text in texts])
    batches = in_threads(lambda _: [database.query_many(texts, **asked) for _ in range(10)])

    assert found == [alone] * THREADS
    assert all(each.ordinals.tolist() == batch for part in batches for each in part)
    assert sum(map(len, alone)) >= len(texts)


def test_threads_that_query_while_another_inserts_find_what_was_stored_before(open_database):
    database = open_database()
    texts = texts_of(5, 30)
    database.insert_many(range(len(texts)), texts)
    new = texts_of(6, 30)

    def task(number):
        if number == 0:
            return [database.insert(1000 + at, text) for at, text in enumerate(new)]
        return [{match.id for match in database.query(text)} for text in texts]

    found = in_threads(task)[1:]

    assert all(at in each for part in found for at, each in enumerate(part))
