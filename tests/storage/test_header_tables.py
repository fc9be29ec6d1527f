"""Header tables: tags in place of keys, which are gathered from the columns."""

import mmap
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from merging import merging_slowly, unfinished
from over import over
from soundness import TINY, assert_sound, everything
from stored_values import (
    change_array,
    change_column,
    change_tags,
    change_value,
    flip_byte,
    swapped,
    zeros,
)

import simdb
from simdb.core import kernel
from simdb.core.errors import CorruptError
from simdb.plan.tables import Permutations
from simdb.storage import codec, file_map, layout, merge
from simdb.storage.merge import TableMerge, merge_tables
from simdb.storage.table import PART_ENTRIES, entries_of, header_table, make_table, tags_of
from simdb.storage.tombstones import with_deleted

ONE = replace(TINY, blocks=1, leading=1, sketch=simdb.Simhash(store_volatility=False))
IN_MEMORY = SimpleNamespace(pages_of=lambda array: None)
TABLE = layout.table_name(0)


def bits_of(count, seed=3):
    """Return fingerprints of which a third are equal or near to others, some at header borders."""
    chance = np.random.default_rng(seed)
    found = chance.integers(0, 2**64, count, np.uint64)
    copied = chance.integers(0, count, count // 3)
    places = chance.integers(40, 64, len(copied), np.uint64)
    found[: len(copied)] = found[copied] ^ (np.uint64(1) << places)
    found[count // 2 :: 5] = found[count // 2]
    found[:4] = [0, 2**64 - 1, 2**63, 2**63 - 1]
    return found


def both(fingerprints, width, start=7):
    """Return the table of some fingerprints with whole keys, and the header table."""
    keys, ordinals = fingerprints.copy(), np.arange(start, start + len(fingerprints), dtype="u4")
    whole = make_table(keys, ordinals, width)
    tags = np.array([key << width & (1 << 64) - 1 for key in keys.tolist()], np.uint64)
    cuts = range(0, len(fingerprints), 16)
    segments = [fingerprints[at : at + 16].copy() for at in cuts]
    return whole, header_table(
        (tags >> np.uint64(48)).astype(np.uint16), ordinals, whole.directory, start, segments
    )


@over("width", [0, 1, 5, 16, 28])
def test_tags_are_the_bits_after_the_header(width):
    keys = np.sort(bits_of(PART_ENTRIES + 9))

    tags = tags_of(keys, width)

    assert tags.tolist() == [(key >> (48 - width)) & 0xFFFF for key in keys.tolist()]


@pytest.mark.parametrize("blocks", [1, 2, 7, 64])
def test_keys_of_the_one_table_are_fingerprints(blocks):
    bits, keying = bits_of(100), Permutations(blocks, blocks)
    keys = np.empty_like(bits)

    keying.write_keys(bits, keys, 0)

    assert keying.has_header_table
    assert keys.tolist() == bits.tolist()
    assert not Permutations(65 - blocks, 1).has_header_table or blocks == 64


@over("width", [0, 4, 9])
@over("count", [1, 16, 100])
def test_keys_are_gathered_for_any_part(width, count):
    whole, table = both(bits_of(count + 4), width)

    assert len(table.keys) == len(whole.keys)
    assert table.keys[3:-1].tolist() == whole.keys[3:-1].tolist()
    assert table.keys[np.array([2, 0, 2])].tolist() == whole.keys[[2, 0, 2]].tolist()
    assert table.keys[:].tolist() == whole.keys.tolist()
    assert table.entries == whole.entries == entries_of(whole.keys, whole.ordinals)


@pytest.mark.parametrize("ordinal", [6, 47, 2**32 - 1])
def test_an_ordinal_of_no_document_is_refused(ordinal):
    _, table = both(bits_of(40), 4)
    table.ordinals[5] = ordinal

    with pytest.raises(CorruptError, match=str(ordinal)):
        _ = table.keys[:]
    assert len(table.keys[:5]) == 5


@over("width", [0, 3, 7])
@over("side", ["left", "right"])
def test_places_are_those_of_a_search_in_all_keys(width, side):
    whole, table = both(bits_of(300), width)
    steps = np.array([0, 1, 2**64 - 1], np.uint64)
    wanted = (whole.keys[:, None] + steps).ravel()

    found = table.places_of(wanted, side)

    assert found.tolist() == np.searchsorted(whole.keys, wanted, side).tolist()
    assert whole.places_of(wanted, side).tolist() == found.tolist()


@pytest.mark.parametrize("change", [zeros, lambda each: each + np.uint32(2**31), np.flip])
def test_a_damaged_directory_gives_places_inside_the_table(change):
    whole, table = both(bits_of(300), 7)
    damaged = table._replace(directory=change(table.directory))

    found = damaged.places_of(whole.keys, "right")

    assert ((found >= 0) & (found <= 300)).all()


def tables_of(counts):
    """Return tables with whole keys that follow each other, and the same as header tables."""
    starts = np.cumsum([0, *counts]).tolist()
    every = bits_of(starts[-1])
    cut = [every[start:stop] for start, stop in pairwise(starts)]
    made = [both(part, 5, start) for part, start in zip(cut, starts, strict=False)]
    return zip(*made, strict=True)


def merged_in_windows(tables, most, dead):
    merge = TableMerge([len(table.keys) for table in tables])
    while not merge.is_complete:
        merge.advance(tables, IN_MEMORY, dead, most)
    return merge


@over("most", [1, 3, 50, 10_000])
@over("counts", [[90], [90, 30], [5, 200, 40, 4]])
@over("dead", [None, with_deleted(None, np.arange(0, 90, 7, dtype=np.uint32), 300)])
def test_windows_of_header_tables_are_merged_like_whole_keys(counts, most, dead):
    whole, headers = tables_of(counts)

    expected, found = (merged_in_windows(each, most, dead) for each in (whole, headers))

    assert found.merged.keys.tolist() == expected.merged.keys.tolist()
    assert found.merged.ordinals.tolist() == expected.merged.ordinals.tolist()
    assert (found.read, found.kept) == (expected.read, expected.kept)


@pytest.mark.parametrize("threads", [1, 3])
@over("counts", [[90], [90, 30], [5, 200, 40, 4]])
def test_merged_in_memory_all_keys_are_whole(counts, threads, monkeypatch):
    monkeypatch.setattr(merge, "RANGE_ENTRIES", 7)
    whole, headers = tables_of(counts)

    found = merge_tables(headers, threads=threads)

    expected = merge_tables(whole)
    assert isinstance(found.keys, np.ndarray)
    assert found.keys.tolist() == expected.keys.tolist()
    assert found.ordinals.tolist() == expected.ordinals.tolist()


def test_a_damaged_directory_ends_a_merge_too():
    _, headers = tables_of([60, 50])
    damaged = [table._replace(directory=zeros(table.directory)) for table in headers]

    merged = merged_in_windows(damaged, 9, None)

    assert len(merged.merged.keys) == 110


def kinds_of(database):
    """Return the kinds of the values in each table of keys, and of ids."""
    store = database._store
    with store.source() as source:
        return {
            name.decode(): {bytes(value[4:8]).decode() for _, value in source.every(name)}
            for name in [*simdb.storage.table_names(store.options), layout.IDS]
        }


WHOLE, TAGGED = {"keys", "ords", "dire"}, {"tags", "ords", "dire"}


@pytest.mark.parametrize("verb", ["insert_many", "compact", "rebuild"])
def test_only_the_one_table_of_fingerprints_has_tags(open_database, tmp_path, verb):
    several = replace(ONE, blocks=4)
    signatures = simdb.Options(
        sketch=simdb.Minhash(permutations=16), bands=1, rows=8, delta_documents=4, growth=2
    )
    weighted = replace(ONE, sketch=simdb.Simhash(), polytopes=1)
    found = []
    for number, options in enumerate((ONE, several, signatures, weighted)):
        database = open_database(tmp_path / str(number), options=options)
        documents = range(40) if not options.is_minhash else [f"text {at}" for at in range(40)]
        if options is weighted:
            documents = [f"some words of text {at}" for at in range(40)]
        for at in range(0, 40, 8):
            database.insert_many(range(at, at + 8), documents[at : at + 8])
        if verb != "insert_many":
            getattr(database, verb)()
        found.append({name: kinds for name, kinds in kinds_of(database).items() if name != "ids"})

    assert found == [
        {"table/00": TAGGED},
        {f"table/0{at}": WHOLE for at in range(4)},
        {"table/00": WHOLE},
        {"table/00": TAGGED, "polytope/00": WHOLE},
    ]


@pytest.fixture
def database(open_database):
    """A database with several runs and a delta, tombstones, and documents without features."""
    database = open_database(options=ONE)
    fill(database)
    assert len(database.stats().runs) > 1
    return database


def fill(database):
    bits = bits_of(180)
    for at in range(0, 170, 10):
        database.insert_many(range(at, at + 10), bits[at : at + 10])
    database.insert("empty", "")
    database.delete_many([3, 40, 77])
    database.insert_many(range(170, 180), bits[170:])


@pytest.mark.parametrize("verb", [None, "compact", "rebuild"])
def test_it_answers_as_with_four_tables(open_database, tmp_path, database, verb):
    other = open_database(tmp_path / "four", options=replace(ONE, blocks=4))
    fill(other)
    if verb is not None:
        getattr(database, verb)()

    found, expected = everything(database), everything(other)

    assert found == {**expected, "options": database.options}


@pytest.mark.parametrize(
    ("place", "change", "is_told"),
    [
        ("tags", lambda tags: tags ^ np.uint16(1), False),
        ("tags", np.flip, False),
        (layout.ORDINALS, swapped, False),
        (layout.ORDINALS, zeros, True),
        (layout.ORDINALS, lambda each: each + np.uint32(1000), True),
        (layout.DIRECTORY, zeros, False),
        ("fingerprints", lambda each: each ^ np.uint64(1), True),
    ],
)
def test_tags_ordinals_and_fingerprints_verify_each_other(database, place, change, is_told):
    before = everything(database)
    if place == "tags":
        change_tags(database, change)
    elif place == "fingerprints":
        change_fingerprints(database, change)
    else:
        change_column(database, TABLE, place, change)

    told = [each.place for each in database.check()]
    deep = [each.place.split()[0] for each in database.check(deep=True)]

    assert ("table/00" in told) == is_told
    assert "table/00" in deep
    database.rebuild()
    assert list(database.check(deep=True)) == []
    # A changed fingerprint whose checksum is right is what is stored.
    assert (everything(database) == before) == (place != "fingerprints")


def change_fingerprints(database, change):
    key = layout.segment_key(database.stats().runs[0].run, layout.FINGERPRINT, 0)
    kind = layout.COLUMN_KINDS[layout.FINGERPRINT]
    change_array(database, layout.DOCUMENTS, kind, key, change, "<u8")


@pytest.mark.parametrize("place", [5, 20, codec.HEADER_BYTES, -1])
def test_a_flipped_bit_of_the_tags_is_found(database, place):
    key = layout.table_key(database.stats().runs[0].run, layout.KEYS)
    flip_byte(database, TABLE, key, place)

    assert {each.place for each in database.check()} == {"table/00"}
    database.rebuild()
    assert list(database.check(deep=True)) == []


@pytest.mark.parametrize("name", [layout.table_name(1), layout.IDS])
def test_tags_in_a_table_of_whole_keys_are_refused(open_database, name):
    database = open_database(options=replace(ONE, blocks=4))
    database.insert("no int", 7)
    fill(database)
    number = database.stats().runs[0].run
    key = layout.table_key(number, layout.KEYS)

    def as_tags(value):
        return bytes(codec.encode_array(codec.TAGS_KIND, key, np.zeros(10, np.uint16)))

    change_value(database, name, key, as_tags)

    assert any("starts with b'smdbtags'" in each.message for each in database.check())
    database.rebuild()


def test_a_table_with_whole_keys_opens_and_gets_tags_when_it_is_merged(tmp_path, monkeypatch):
    path = tmp_path / "db"
    with monkeypatch.context() as patch:
        patch.setattr(Permutations, "has_header_table", False)
        with simdb.open(path, options=ONE) as database:
            fill(database)
            expected = everything(database)
            assert kinds_of(database)["table/00"] == WHOLE

    with simdb.open(path) as database:
        assert everything(database) == expected
        assert list(database.check(deep=True)) == []
        database.insert_many(range(1000, 1040), bits_of(40, 5))
        assert "tags" in kinds_of(database)["table/00"]
        assert list(database.check(deep=True)) == []
        database.delete_many(range(1000, 1040))
        database.compact()
        assert kinds_of(database)["table/00"] == TAGGED
        assert everything(database) == expected
    assert_sound(path)


@over("step", range(1, 8))
def test_a_merge_is_carried_on_by_another_process_from_any_step(tmp_path_factory, step):
    path, bits, stop = tmp_path_factory.mktemp("merge") / "db", bits_of(2000), 0

    def insert_until(database, is_reached):
        nonlocal stop
        while not is_reached(unfinished(database)):
            ids = [f"{at}" for at in range(stop, stop + 3)]
            database.insert_many(ids, bits[stop : stop + 3])
            stop += 3
        return unfinished(database)

    with merging_slowly(longest=1 << 10):
        with simdb.open(path, options=ONE) as database:
            begun = insert_until(database, lambda merge: merge is not None and merge.done == step)
        with simdb.open(path) as database:
            insert_until(database, lambda merge: merge is None or merge.run != begun.run)
            found = database.query_many(bits[:stop], distance=2, recall=1.0)

    differing = np.bitwise_count(bits[:stop, None] ^ bits[:stop])
    expected = [np.flatnonzero(row <= 2).tolist() for row in differing]
    assert [sorted(int(match.id) for match in row) for row in found] == expected
    assert_sound(path)


def test_columns_are_read_in_a_row_before_keys_are_gathered_from_them(open_database, monkeypatch):
    database = open_database(options=ONE)
    bits, read = bits_of(30_000), []
    for start in range(0, 30_000, 15_000):
        database.insert_many(range(start, start + 15_000), bits[start : start + 15_000])
    database.delete(5)
    with database._store.state() as state:
        columns = [
            run.column(layout.FINGERPRINT, 0, state.source).ctypes.data for run in state.runs
        ]
    fetch, gather = file_map.fetch, kernel.gather
    monkeypatch.setattr(file_map, "fetch", lambda pages: read.append(pages) or fetch(pages))
    monkeypatch.setattr(kernel, "gather", lambda *given: read.append(None) or gather(*given))

    database.compact()

    first = {pages.start for pages in read[: read.index(None)]}
    assert {-(-start // mmap.PAGESIZE) * mmap.PAGESIZE for start in columns} <= first
