import os

import numpy as np

from simdb.database.maintenance import compaction

TEXT = "one two three four five six seven eight nine ten"


def fill(database, count=100):
    database.insert_many(range(count), np.arange(count, dtype=np.uint64) << np.uint64(7))


def test_compaction_shrinks_the_file_when_alone(database):
    fill(database, 20_000)
    database.delete_many(range(10, 20_000))

    report = database.compact()

    assert report.note == ""
    assert report.after_bytes < report.before_bytes / 4
    assert list(database) == list(range(10))
    assert sorted(os.listdir(database.path)) == [
        "data.mdb", "lock.mdb", "presence.lock", "writer.lock",
    ]  # fmt: skip


def test_a_database_can_be_compacted_after_everything_was_deleted(database):
    fill(database)
    database.delete_many(range(100))

    database.compact()

    assert list(database) == []
    assert database.stats().runs == ()
    fill(database)
    assert len(database.query(7 << 7, distance=0)) == 1


def test_vectors_go_with_the_last_document_that_has_one(database):
    # Once, the value of their vectors stayed behind under a run that did not exist.
    database.insert_many(["t1", "t2", "bare"], [TEXT, TEXT + " more", 7])
    database.compact()
    database.delete_many(["t1", "t2"])
    database.compact()
    database.insert_many(range(5), [TEXT] * 5)
    database.compact()

    assert list(database) == ["bare", 0, 1, 2, 3, 4]
    assert len(database.query(TEXT)) == 5


def test_a_leftover_of_an_interrupted_compaction_is_replaced(database):
    fill(database)
    leftover = os.path.join(database.path, compaction.COPY_FILE)
    with open(leftover, "wb") as file:
        file.write(b"half a copy")

    report = database.compact()

    assert report.note == ""
    assert not os.path.exists(leftover)
    assert len(database) == 100
