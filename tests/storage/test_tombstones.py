"""Tombstones are changed in place only where nobody else can see them."""

import random

import numpy as np
from over import over

import simdb
from simdb.storage.layout import CHUNK_ORDINALS
from simdb.storage.tombstones import Spare, Tombstones, live_ordinals, with_deleted

COUNT = 20


def numbers(*ordinals):
    return np.array(ordinals, np.uint32)


def dead_of(bitmap):
    return sorted(set(range(COUNT)) - set(live_ordinals(bitmap, 0, COUNT).tolist()))


def committed(*ordinals):
    return with_deleted(None, numbers(*ordinals), COUNT)


@over("seed", range(8))
def test_each_bitmap_shows_what_was_deleted_whatever_is_done_later(seed):
    chance, spare, bitmap, dead, shown = random.Random(seed), Spare(), None, set(), []

    def show(bitmap):
        # Even a part of it keeps a bitmap as it is.
        if chance.random() < 0.4:
            held = bitmap[: chance.choice([1, None])]
            shown.append((held, held.copy()))

    for _ in range(6):
        if chance.random() < 0.2:  # another process has committed
            dead = set(chance.sample(range(COUNT), 3))
            bitmap = committed(*sorted(dead))
        tombstones, now = Tombstones(bitmap, spare), set(dead)
        for _ in range(chance.randrange(1, 4)):
            [new] = chance.sample(sorted(set(range(COUNT)) - now), 1)
            saved = tombstones.deleted, len(tombstones.deleted)
            tombstones.delete(numbers(new), COUNT)
            show(tombstones.bitmap)
            back = set()
            if chance.random() < 0.4:
                back = set(chance.sample(sorted({new} | now - dead), 1))
                tombstones.revive(numbers(*back))
                show(tombstones.bitmap)
            if chance.random() < 0.3:
                tombstones.restore(*saved)
                show(tombstones.bitmap)
            else:
                now = (now | {new}) - back
        assert dead_of(tombstones.bitmap) == sorted(now)
        assert sum(map(len, tombstones.deleted)) == len(now - dead)
        if chance.random() < 0.7:  # or the transaction is aborted
            tombstones.committed()
            bitmap, dead = tombstones.bitmap, now

        assert dead_of(bitmap) == sorted(dead)
        assert all((held == before).all() for held, before in shown)


def test_a_second_deletion_changes_the_bitmap_in_place():
    tombstones = Tombstones(committed(1), Spare())
    tombstones.delete(numbers(2), COUNT)
    place = tombstones.bitmap.__array_interface__["data"]

    tombstones.delete(numbers(3), COUNT)

    assert tombstones.bitmap.__array_interface__["data"] == place
    assert dead_of(tombstones.bitmap) == [1, 2, 3]


def test_the_spare_bitmap_is_used_in_turn():
    spare, bitmap, places = Spare(), committed(), set()

    for ordinal in range(6):
        tombstones = Tombstones(bitmap, spare)
        tombstones.delete(numbers(ordinal), COUNT)
        tombstones.committed()
        bitmap = tombstones.bitmap
        del tombstones
        places.add(bitmap.__array_interface__["data"][0])

    assert len(places) == 2
    assert dead_of(bitmap) == [0, 1, 2, 3, 4, 5]


def test_more_ordinals_make_a_longer_bitmap():
    tombstones = Tombstones(committed(1), Spare())
    tombstones.delete(numbers(2), COUNT)

    tombstones.make_room(10_000_000)
    tombstones.delete(numbers(9_999_999), 10_000_000)

    assert dead_of(tombstones.bitmap) == [1, 2]
    assert tombstones.bitmap[9_999_999 // 8] == 1 << 7


def test_deletions_in_every_chunk_are_stored(tmp_path):
    count = 3 * CHUNK_ORDINALS + 5
    dead = [0, CHUNK_ORDINALS - 1, CHUNK_ORDINALS, 2 * CHUNK_ORDINALS + 77, count - 1]
    with simdb.open(tmp_path / "db") as database:
        database.insert_many(range(count), np.arange(count, dtype=np.uint64))
        for id in dead:
            database.delete(id)

    with simdb.open(tmp_path / "db") as database:
        assert len(database) == count - len(dead)
        assert sorted(set(range(count)) - set(database)) == dead
