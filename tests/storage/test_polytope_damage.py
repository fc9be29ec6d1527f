"""Damage in cross-polytope tables is found and named, and a rebuild repairs it."""

import numpy as np
import polytope_tables
import pytest
from soundness import TINY, assert_sound

import simdb
from simdb.storage import codec, layout

NAME = layout.polytope_name(1)
KINDS = {layout.KEYS: "<u8", layout.ORDINALS: "<u4", layout.DIRECTORY: "<u4"}


@pytest.fixture
def damaged(tmp_path):
    """Return a database of one run, of which every second document has weights; it may break."""
    with simdb.open(tmp_path / "db", options=TINY) as database:
        for at in range(20):
            database.insert(f"text {at}", f"some words of text {at} and {at * at}")
            database.insert(f"bits {at}", 7919 * at)
        database.compact()
        assert list(database.check(deep=True)) == []
        yield database


def key_of(database, column):
    return layout.table_key(database.stats().runs[0].run, column)


def rewrite(database, column, change):
    """Put back what `change` makes of a stored column of one table, with its checksum."""
    environment = database._store.environment
    handle = environment.subdatabase(NAME)
    key, kind = key_of(database, column), layout.TABLE_KINDS[column]

    def write(transaction):
        value = transaction.get(key, db=handle)
        array = codec.decode_array(kind, key, value, KINDS[column]).copy()
        transaction.put(key, codec.encode_array(kind, key, change(array)), db=handle)

    environment.write(write)


def swapped(array):
    array[[2, 5]] = array[[5, 2]]
    return array


def moved(array):
    return array + np.uint32(1)


DEEP = {
    "keys out of order": (layout.KEYS, swapped, "not sorted at entry"),
    "other keys": (layout.KEYS, lambda keys: keys ^ np.uint64(1), "keys that do not fit"),
    "swapped documents": (layout.ORDINALS, swapped, "keys that do not fit"),
    "documents without weights": (layout.ORDINALS, moved, "lacks 20 live documents and has 20"),
    "documents that are not there": (
        layout.ORDINALS, lambda ordinals: ordinals + np.uint32(60), "ordinals outside 0 .. 40",
    ),
    "another directory": (layout.DIRECTORY, lambda starts: starts * 0, "directory does not fit"),
}  # fmt: skip
AT_ONCE = {
    "too few keys": (layout.KEYS, lambda keys: keys[:-1], "19 entries, but the manifest says 20"),
    "too many documents": (
        layout.ORDINALS, lambda each: np.append(each, each[:1]), "21 entries, but the manifest",
    ),
    "a directory of another width": (
        layout.DIRECTORY, lambda starts: starts[:65], "65 entries, which do not fit 20 keys",
    ),
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("case", DEEP)
def test_the_deep_check_names_the_table(damaged, case):
    column, change, message = DEEP[case]
    rewrite(damaged, column, change)

    found = [each for each in damaged.check(deep=True) if message in each.message]

    assert found[0].place.startswith("polytope/01")
    assert "rebuild" in found[0].remedy
    # The sums of entries tell it without the deep check; a directory has no sum.
    assert bool(list(damaged.check())) == (column != layout.DIRECTORY)


@pytest.mark.few(1)
@pytest.mark.parametrize("case", AT_ONCE)
def test_a_wrong_length_is_found_without_deep(damaged, case):
    column, change, message = AT_ONCE[case]
    rewrite(damaged, column, change)

    (found,) = damaged.check()

    assert found.place == "polytope/01"
    assert message in found.message
    assert "rebuild" in found.remedy


@pytest.mark.few(1)
@pytest.mark.parametrize("case", [*DEEP, *AT_ONCE])
def test_a_rebuild_repairs_it_and_loses_nothing(damaged, case):
    wanted = list(damaged)
    column, change, _ = {**DEEP, **AT_ONCE}[case]
    rewrite(damaged, column, change)

    report = damaged.rebuild()

    assert report.losses == report.dropped == ()
    assert list(damaged) == wanted
    assert polytope_tables.stored(damaged) == polytope_tables.expected(damaged)
    path = damaged.path
    damaged.close()
    assert_sound(path)


def test_documents_with_damaged_vectors_leave_the_tables_with_the_rest(damaged):
    environment = damaged._store.environment
    run = damaged.stats().runs[0].run
    key = layout.segment_key(run, layout.VECTOR, 0)
    damaged.insert_many(["late 1", "late 2"], ["some late text", "another late text"])
    handle = environment.subdatabase(layout.VOLATILITY)
    environment.write(lambda transaction: transaction.delete(key, db=handle))

    report = damaged.rebuild(drop_damaged=True)

    assert len(report.dropped) == 40
    assert polytope_tables.stored(damaged) == polytope_tables.expected(damaged)
    assert list(damaged.check(deep=True)) == []
