"""Ids that are ints are stored in few bytes or none, and are found like all other ids."""

import random
from dataclasses import replace

import numpy as np
import pytest
from merging import merging_slowly
from over import over
from stored_values import flip_byte, put_value, remove_value

import simdb
from simdb.core import kernel
from simdb.core.errors import CorruptError, ExistsError
from simdb.storage import codec, layout, rewriting
from simdb.storage.manifest import Manifest, RunInfo, decode_manifest, encode_manifest

MOST, LEAST = 2**63 - 1, -(2**63)
HASHED, INTS = None, ()  # see `RunInfo.ids`
ROWS = {
    "from 0": range(900),
    "by 3": range(5, 5 + 3 * 900, 3),
    "downwards": range(100, -800, -1),
    "large steps": range(-(2**62), 2**62, 2**53),
    "unsigned": range(2**64 - 1, 2**64 - 1801, -2),
}
OPTIONS = simdb.Options(delta_documents=8, growth=2, polytopes=0)


def insert_all(database, ids, most=23):
    """Insert ids some at a time, so that runs are sealed and merged."""
    ids = list(ids)
    for at in range(0, len(ids), most):
        database.insert_many(ids[at : at + most], bits_of(ids[at : at + most]))


def bits_of(ids):
    return [hash((id, "bits")) % 2**64 for id in ids]


def oracle_of(ids):
    return {id: bits_of([id])[0] for id in ids}


def forms_of(database):
    with database._store.state() as state:
        return [run.info.ids for run in state.runs]


def bytes_of_ids(database):
    """Return the bytes of all values that ids take in runs, without those of their headers."""
    with database._store.state() as state:
        values = [value for _, value in state.source.every(layout.IDS)]
        for key, value in state.source.every(layout.DOCUMENTS):
            if key[4] in layout.ID_COLUMNS:
                values.append(value)
    return sum(len(value) - codec.HEADER_BYTES for value in values)


def assert_holds(database, oracle, others=()):
    """Compare every way to ask for ids with a dict from id to bits."""
    ids = list(oracle)
    asked = [*ids, *others]
    is_stored = [id in oracle for id in asked]
    assert list(database) == ids
    assert len(database) == len(ids)
    assert {type(id) for id in database} <= {int, str, bytes}
    assert [each.fingerprint.bits for each in database.get_many(ids)] == list(oracle.values())
    assert database.contains_many(asked).tolist() == is_stored
    some = random.Random(7).sample(range(len(asked)), min(len(asked), 40))
    assert [asked[at] in database for at in some] == [is_stored[at] for at in some]
    assert [database.get(asked[at]) is not None for at in some] == [is_stored[at] for at in some]
    assert list(database.check(deep=True)) == []


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_ints_takes_no_bytes_and_stays_one_through_every_merge(open_database, name):
    ids = [*ROWS[name]]
    step = ids[1] - ids[0]
    near = [ids[0] - step, ids[-1] + step, ids[0] + 1, -7]
    others = ["a", b"i2345678", *({id for id in near if LEAST <= id < 2**64} - {*ids})]
    oracle = oracle_of(ids)
    database = open_database(options=OPTIONS)

    insert_all(database, ids)

    tag = 117 if ids[0] > MOST else 105
    with database._store.state() as state:
        rows = [(run.info.ids, ids[run.info.start]) for run in state.runs]
    assert len(rows) > 1
    assert rows == [((tag, first % 2**64, step % 2**64), first) for _, first in rows]
    assert bytes_of_ids(database) == len(rows) * (24 + 16)
    assert_holds(database, oracle, others)
    database.compact()
    assert forms_of(database) == [(tag, ids[0] % 2**64, step % 2**64)]
    assert bytes_of_ids(database) == 24 + 16
    assert_holds(database, oracle, others)


def test_documents_that_were_deleted_leave_a_bitmap_behind_and_then_no_row(open_database):
    ids, gone = [*range(900)], [*range(3, 800, 40), 899]
    database = open_database(options=OPTIONS)
    insert_all(database, ids)
    first = forms_of(database)

    database.delete_many(gone)
    oracle = oracle_of(id for id in ids if id not in gone)
    assert forms_of(database) == first
    assert_holds(database, oracle, gone)
    insert_all(database, range(900, 1500))
    oracle.update(oracle_of(range(900, 1500)))

    with database._store.state() as state:
        infos = [run.info for run in state.runs]
    assert all(info.ids for info in infos)
    assert infos[0].id_count < len(infos[0])
    assert bytes_of_ids(database) < len(oracle) / 7 + 50 * len(infos)
    assert_holds(database, oracle, gone)
    database.insert_many(gone, bits_of(gone))
    oracle.update(oracle_of(gone))
    assert_holds(database, oracle)
    database.compact()
    assert forms_of(database) == [INTS]
    assert_holds(database, oracle)


def test_other_ints_take_few_bytes(open_database):
    generator = random.Random(1)
    ids = generator.sample(range(2**32), 5000)
    oracle = oracle_of(ids)
    database = open_database(options=OPTIONS)

    insert_all(database, ids, most=700)

    assert set(forms_of(database)) == {INTS}
    assert_holds(database, oracle, [-1, 2**32, 2**63, "a", b"12345678", *range(30)])
    database.compact()
    assert bytes_of_ids(database) <= 10 * len(ids) + 100
    assert_holds(database, oracle, [-1, 2**32, 2**63, "a", b"12345678", *range(30)])


@pytest.mark.parametrize("other", ["a", b"i2345678", "i2345678", 2**63])
def test_one_id_of_another_kind_is_stored_as_before(open_database, other):
    ids = [*range(500), other]
    database = open_database(options=OPTIONS)

    database.insert_many(ids, bits_of(ids))
    database.compact()

    assert forms_of(database) == [INTS if isinstance(other, int) else HASHED]
    assert_holds(database, oracle_of(ids), ["b", -1, 500, 2**64 - 1])


def drawn_ids(generator, count, known):
    """Draw ids of one kind that are not known."""
    kind = generator.choice(["row", "row", "ints", "strings", "mixed"])
    last = max([each for each in known if isinstance(each, int)], default=-1)
    if kind == "row":
        return [last + 1 + at for at in range(count)]
    draw = generator.getrandbits
    drawn = {
        "ints": lambda: generator.choice([draw(20), draw(64)]),
        "strings": lambda: f"{draw(40)}",
        "mixed": lambda: generator.choice([f"{draw(40)}", -draw(9)]),
    }[kind]
    return [*{drawn() for _ in range(count)} - {*known}]


@over("seed", range(12))
def test_runs_of_all_forms_answer_like_a_dict(tmp_path, seed):
    generator = random.Random(seed)
    oracle, gone = {}, []
    options = replace(OPTIONS, delta_documents=generator.choice([1, 4, 16]))
    is_only_rows = seed % 3 == 0
    with merging_slowly(seed % 2 == 1, pace=generator.choice([1, 4])):
        database = simdb.open(tmp_path / f"{seed}", options=options, durability="none")
        for step in range(60):
            ids = [*range(40 * step, 40 * step + generator.randrange(1, 40))]
            if not is_only_rows:
                ids = drawn_ids(generator, generator.randrange(1, 40), oracle)
            ids = [id for id in ids if id not in oracle]
            verb = generator.choice(["insert"] * 3 + ["one", "delete", "again", "replace"])
            if verb == "insert":
                database.insert_many(ids, bits_of(ids))
                oracle.update(oracle_of(ids))
            elif verb == "one":
                for id in ids[:5]:
                    database.insert(id, bits_of([id])[0])
                    oracle[id] = bits_of([id])[0]
            elif verb == "delete":
                some = generator.sample([*oracle], len(oracle) // 9)
                database.delete_many(some)
                for id in some:
                    del oracle[id]
                gone += some
            elif verb == "again":
                some = [id for id in gone[:10] if id not in oracle]
                database.insert_many(some, bits_of(some))
                oracle.update(oracle_of(some))
            elif oracle:
                known = generator.choice([*oracle])
                with pytest.raises(ExistsError):
                    database.insert(known, 1)
                with pytest.raises(ExistsError):
                    database.insert_many(["never", known], [1, 1])
                database.insert(known, bits_of([known])[0], on_conflict="replace")
                oracle[known] = oracle.pop(known)
            if generator.random() < 0.05:
                database.compact()
            if step % 10 == 9:
                assert_holds(database, oracle, [*gone[:50], -1, 2**63, "never"])
            if generator.random() < 0.1:
                database.close()
                database = simdb.open(tmp_path / f"{seed}", durability="none")
        assert_holds(database, oracle, [*gone, -1, 2**63, "never"])
        if generator.random() < 0.5:
            database.rebuild()
            assert_holds(database, oracle, [*gone, -1, 2**63, "never"])
        database.close()


def stored_infos(database):
    with database._store.state() as state:
        return [run.info for run in state.runs]


def findings(database, *, deep=True):
    return [f"{each.place}: {each.message}" for each in database.check(deep=deep)]


@pytest.mark.parametrize("name", ["row", "ints", "bitmap"])
def test_damage_of_ids_is_found_and_built_again(open_database, name):
    database = open_database(options=OPTIONS)
    insert_all(database, range(4000), most=1000)
    database.delete_many([3, 4])
    database.compact()
    insert_all(database, range(4000, 5000), most=1000)
    ints, row = stored_infos(database)[:2]
    assert ints.ids == INTS
    assert row.ids
    if name == "row":
        wrong = kernel.row_ids((105, 7, 1), len(row))
        key = layout.segment_key(row.number, layout.ID, 0)
        put_value(database, layout.DOCUMENTS, key, codec.encode_packed(key, wrong))
        message = f"ids run {row.number}: the ids differ from the row in the manifest"
        assert message in findings(database)
        right = kernel.row_ids(row.ids, len(row))
        put_value(database, layout.DOCUMENTS, key, codec.encode_packed(key, right))
    elif name == "ints":
        key = layout.table_key(ints.number, layout.ORDINALS)
        flip_byte(database, layout.IDS, key, codec.HEADER_BYTES + 5)
        assert "checksum differs" in findings(database, deep=False)[0]
    else:
        key = layout.table_key(row.number, layout.ORDINALS)
        put_value(database, layout.IDS, key, codec.encode_bytes(b"ords", key, 0, b""))
        assert findings(database) == [f"ids: the value under key {key.hex()} belongs to no run"]
    database.rebuild()
    assert_holds(database, oracle_of(id for id in range(5000) if id not in (3, 4)), [3, 4])


def test_a_bitmap_that_does_not_fit_is_found(open_database):
    database = open_database(options=OPTIONS)
    insert_all(database, range(300))
    database.delete_many([5, 8])
    insert_all(database, range(300, 900))
    info = stored_infos(database)[0]
    key = layout.table_key(info.number, layout.ORDINALS)
    assert info.id_count == len(info) - 2

    def put(is_out):
        bits = np.packbits(is_out, bitorder="little")
        value = codec.encode_array(layout.DELETED_KIND, key, bits)
        put_value(database, layout.IDS, key, value)

    assert info.start == 0
    every = np.arange(len(info))
    put(np.isin(every, [5, 9]))
    assert f"ids run {info.number}: leaves out live documents" in findings(database)
    put(np.isin(every, [5, 8, 9]))
    assert "do not fit" in findings(database, deep=False)[0]
    put(np.isin(every[:-9], [5, 8]))
    assert "do not fit" in findings(database, deep=False)[0]
    remove_value(database, layout.IDS, key)
    assert "is missing from ids" in findings(database, deep=False)[0]
    database.rebuild()
    assert_holds(database, oracle_of(id for id in range(900) if id not in (5, 8)), [5, 8])


def test_runs_written_with_hashes_are_read_and_merged_with_others(open_database, monkeypatch):
    database = open_database(options=OPTIONS)
    with monkeypatch.context() as patch:
        patch.setattr(rewriting, "joined_ids", lambda _: HASHED)
        insert_all(database, range(300))
    assert forms_of(database)[0] == HASHED
    oracle = oracle_of(range(300))
    assert_holds(database, oracle, [-1, 300])

    insert_all(database, range(300, 420))
    oracle.update(oracle_of(range(300, 420)))

    assert {form is None for form in forms_of(database)} == {True, False}
    assert_holds(database, oracle, [-1, 420])
    database.compact()
    assert forms_of(database) == [HASHED]
    assert_holds(database, oracle, [-1, 420])
    database.rebuild()
    assert_holds(database, oracle, [-1, 420])
    assert forms_of(database)[0] == (105, 0, 1)


@pytest.mark.parametrize("form", [INTS, (117, 2**64 - 1, 2**64 - 2), HASHED])
def test_the_manifest_says_how_ids_are_found(form):
    run = RunInfo(3, 0, 5, 5, 5, 0, ids=form, sums=b"12345678")
    manifest = Manifest((run,), 4, 5, 5, document_count=5)

    assert decode_manifest(encode_manifest(manifest)) == manifest


@pytest.mark.parametrize("row", [[1], [1, 2, 3, 4], [1, 2, -3], [1, 2, 0.5], ["i", 1, 2]])
def test_a_row_that_nobody_wrote_is_refused(row):
    info = [3, 0, 5, 5, 5, 0, 0, row, b""]
    stored = {"runs": [info], "next_run": 4, "next_ordinal": 5, "delta_start": 5}
    value = codec.encode_object(layout.MANIFEST_KIND, layout.MANIFEST_KEY, stored)

    with pytest.raises(CorruptError):
        decode_manifest(value)
