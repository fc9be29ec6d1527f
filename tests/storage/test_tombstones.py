"""Tombstones are changed in place only where nobody else can see them."""

import numpy as np

from simdb.storage.tombstones import Spare, Tombstones, live_ordinals, with_deleted

COUNT = 20


def numbers(*ordinals):
    return np.array(ordinals, np.uint32)


def dead_of(bitmap):
    return sorted(set(range(COUNT)) - set(live_ordinals(bitmap, 0, COUNT).tolist()))


def committed(*ordinals):
    return with_deleted(None, numbers(*ordinals), COUNT)


def test_a_second_deletion_changes_the_bitmap_in_place():
    tombstones = Tombstones(committed(1), Spare())
    tombstones.delete(numbers(2), COUNT)
    place = tombstones.bitmap.__array_interface__["data"]

    tombstones.delete(numbers(3), COUNT)

    assert tombstones.bitmap.__array_interface__["data"] == place
    assert dead_of(tombstones.bitmap) == [1, 2, 3]


def test_a_bitmap_that_somebody_holds_does_not_change():
    tombstones = Tombstones(committed(1), Spare())
    tombstones.delete(numbers(2), COUNT)
    held, part = tombstones.bitmap, tombstones.bitmap[:2]

    tombstones.delete(numbers(3), COUNT)

    assert dead_of(held) == [1, 2]
    assert part[0] == 0b110


def test_taking_back_deletions_restores_the_bits():
    tombstones = Tombstones(committed(1), Spare())
    tombstones.delete(numbers(2), COUNT)

    tombstones.delete(numbers(3, 4), COUNT)
    tombstones.restore(1)

    assert dead_of(tombstones.bitmap) == [1, 2]
    assert len(tombstones.deleted) == 1


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


def test_a_spare_bitmap_that_a_snapshot_shows_does_not_change():
    spare, bitmap, shown = Spare(), committed(), []

    for ordinal in range(4):
        tombstones = Tombstones(bitmap, spare)
        tombstones.delete(numbers(ordinal), COUNT)
        tombstones.committed()
        shown.append(bitmap)
        bitmap = tombstones.bitmap

    assert [dead_of(each) for each in shown] == [[], [0], [0, 1], [0, 1, 2]]


def test_the_spare_of_an_aborted_transaction_is_not_used():
    spare, bitmap = Spare(), committed()
    first = Tombstones(bitmap, spare)
    first.delete(numbers(1), COUNT)
    first.committed()
    Tombstones(first.bitmap, spare).delete(numbers(2), COUNT)

    last = Tombstones(first.bitmap, spare)
    last.delete(numbers(3), COUNT)

    assert dead_of(last.bitmap) == [1, 3]


def test_more_ordinals_make_a_longer_bitmap():
    tombstones = Tombstones(committed(1), Spare())
    tombstones.delete(numbers(2), COUNT)

    tombstones.make_room(10_000_000)
    tombstones.delete(numbers(9_999_999), 10_000_000)

    assert dead_of(tombstones.bitmap) == [1, 2]
    assert tombstones.bitmap[9_999_999 // 8] == 1 << 7
