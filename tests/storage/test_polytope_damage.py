"""Damage in cross-polytope tables is found and named, and a rebuild repairs it."""

import numpy as np
import polytope_tables
import pytest
from soundness import TINY, assert_sound
from stored_values import change_column, remove_value, swapped, zeros

import simdb
from simdb.storage import layout

NAME = layout.polytope_name(1)


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


@pytest.mark.parametrize(
    ("column", "change", "message"),
    [
        (layout.KEYS, swapped, "not sorted at entry"),
        (layout.ORDINALS, swapped, "keys that do not fit"),
        (layout.ORDINALS, lambda each: each + np.uint32(1), "lacks 20 live documents and has 20"),
        (layout.DIRECTORY, zeros, "directory does not fit"),
    ],
)
def test_the_deep_check_names_the_table_and_a_rebuild_repairs_it(damaged, column, change, message):
    wanted, path = list(damaged), damaged.path
    change_column(damaged, NAME, column, change)

    found = [each for each in damaged.check(deep=True) if message in each.message]
    # The sums of entries tell it without the deep check; a directory has no sum.
    is_told = bool(list(damaged.check()))
    report = damaged.rebuild()

    assert found[0].place.startswith("polytope/01")
    assert "rebuild" in found[0].remedy
    assert is_told == (column != layout.DIRECTORY)
    assert report.losses == report.dropped == ()
    assert list(damaged) == wanted
    assert polytope_tables.stored(damaged) == polytope_tables.expected(damaged)
    damaged.close()
    assert_sound(path)


@pytest.mark.parametrize(
    ("column", "change", "message"),
    [
        (layout.KEYS, lambda each: each[:-1], "19 entries, but the manifest says 20"),
        (layout.ORDINALS, lambda each: np.append(each, each[:1]), "21 entries, but the manifest"),
        (layout.DIRECTORY, lambda each: each[:65], "65 entries, which do not fit 20 keys"),
    ],
)
def test_a_wrong_length_is_found_without_deep(damaged, column, change, message):
    change_column(damaged, NAME, column, change)

    (found,) = damaged.check()

    assert found.place == "polytope/01"
    assert message in found.message
    assert "rebuild" in found.remedy


def test_documents_with_damaged_vectors_leave_the_tables_with_the_rest(damaged):
    key = layout.segment_key(damaged.stats().runs[0].run, layout.VECTOR, 0)
    damaged.insert_many(["late 1", "late 2"], ["some late text", "another late text"])
    remove_value(damaged, layout.VOLATILITY, key)

    report = damaged.rebuild(drop_damaged=True)

    assert len(report.dropped) == 40
    assert polytope_tables.stored(damaged) == polytope_tables.expected(damaged)
    assert list(damaged.check(deep=True)) == []
