import os
from collections import Counter

import numpy as np
import pytest
from over import over

import simdb
from simdb.database.maintenance import inspection
from simdb.database.search import couples
from simdb.storage.contents import table_names
from simdb.storage.table import stored_kinds

TEXT = "some text of several words"


def test_statistics_count_what_is_there(open_database):
    database = open_database(options=simdb.Options(delta_documents=10, growth=4))
    database.insert_many(range(100), np.zeros(100, np.uint64))
    database.insert_many(["a", "b", "c"], [TEXT, "", 5])
    database.delete_many([1, 2, "c"])

    stats = database.stats()

    assert stats.path == database.path
    assert stats.document_count == len(database) == 100
    assert (stats.empty_count, stats.bare_count) == (1, 98)
    assert (stats.deleted_count, stats.delta_count) == (3, 3)
    assert stats.largest_group == 98
    assert [run.document_count for run in stats.runs] == [100]
    assert stats.runs[0].size_bytes > 100 * (8 + 6)
    assert stats.options["delta_documents"] == 10
    assert stats.file_bytes >= os.path.getsize(f"{database.path}/data.mdb") // 2
    assert 0 < stats.live_bytes <= stats.file_bytes
    assert stats.map_bytes >= stats.file_bytes
    assert stats.format_version == 1
    assert set(stats.section_bytes) >= {"table/00", "ids", "documents", "delta", "manifest"}


def test_the_largest_group_is_found_in_parts(database, monkeypatch):
    monkeypatch.setattr(inspection, "GROUPED_DOCUMENTS", 7)
    monkeypatch.setattr(couples, "READ_DOCUMENTS", 7)
    generator = np.random.default_rng(7)
    few = generator.integers(0, 2**64, 20, np.uint64)
    stored = few[generator.integers(0, 20, 300)]
    database.insert_many(range(300), stored)
    database.delete_many(range(0, 300, 5))
    database.insert_many(range(300, 310), stored[:10])
    left = np.concatenate([np.delete(stored, range(0, 300, 5)), stored[:10]])

    assert database.stats().largest_group == max(Counter(left.tolist()).values())


def test_readers_are_listed_with_their_lag(database):
    assert (database.stats().document_count, database.stats().runs) == (0, ())
    assert {fill.counts for fill in database.header_fill()} == {()}
    database.insert(1, 1)
    with database.read():
        for number in range(5):
            database.insert(f"later{number}", number)

        readers = database.stats().readers

    assert max(reader.lag for reader in readers) == 5
    assert {reader.process for reader in readers} == {os.getpid()}


def test_the_fill_of_headers_equals_a_count_header_by_header(open_database, monkeypatch):
    monkeypatch.setattr(inspection, "COUNTED_HEADERS", 3)
    database = open_database(options=simdb.Options(delta_documents=16, growth=2))
    generator = np.random.default_rng(4)
    texts = [" ".join(generator.choice(list("abcdefgh"), 12)) for _ in range(300)]
    database.insert_many(range(300), texts)
    database.insert_many(range(300, 340), [texts[0]] * 40)
    expected = {}
    with database._store.state() as state:
        for name in table_names(database.options):
            sizes = [
                int(directory[at + 1]) - int(directory[at])
                for directory in (
                    run.named_table(name, state.source).directory
                    for run in state.runs
                    if stored_kinds(run.info, name)
                )
                for at in range(len(directory) - 1)
            ]
            expected[name.decode()] = sizes

    fills = database.header_fill()

    assert [fill.name for fill in fills] == list(expected)
    for fill in fills:
        sizes = expected[fill.name]
        assert (fill.header_count, fill.entry_count) == (len(sizes), sum(sizes))
        assert fill.largest == max(sizes, default=0)
        assert sum(fill.counts) == len(sizes)
        for at, count in enumerate(fill.counts):
            assert count == sum(size.bit_length() == at for size in sizes)


def test_drawing_is_uniform_and_of_documents_with_features_that_are_stored(database):
    """Each of 4 ids is drawn 600 times in the mean; 500 is nearly 5 standard deviations below."""
    database.insert_many(["gone", 0, 1, 2, "bare", "empty"], [TEXT] * 4 + [5, ""])
    database.delete("gone")

    drawn = [database.draw_ids(1, seed=seed)[0] for seed in range(2400)]

    assert set(drawn) == {0, 1, 2, "bare"}
    assert min(drawn.count(id) for id in set(drawn)) > 500
    assert sorted(database.draw_ids(9, weighted=True)) == [0, 1, 2]


@over("arguments", [{"count": -1}, {"count": 1.5}, {"count": 1, "seed": -1}])
def test_drawing_refuses_impossible_numbers(database, arguments):
    with pytest.raises(simdb.OptionError, match="must be a whole number"):
        database.draw_ids(**arguments)
