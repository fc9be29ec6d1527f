"""Runs whose documents all have weights store no distance tables, and answer the same."""

import multiprocessing
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from pricing import tables_first
from weighted import bits_of

import simdb
from simdb.database.search import many
from simdb.database.state import view
from simdb.storage import layout
from simdb.storage.manifest import Manifest, RunInfo, decode_manifest, encode_manifest
from simdb.storage.run import ColumnParts, Run

COUNT = 120
GENERATOR = np.random.default_rng(9)
WEIGHTS = GENERATOR.normal(size=(COUNT, 128)).astype(np.float32)
WEIGHTS[COUNT // 2 :] = WEIGHTS[: COUNT // 2]
FLIPPED = GENERATOR.integers(0, 64, size=(COUNT // 2, 3))
np.put_along_axis(
    WEIGHTS[COUNT // 2 :], FLIPPED, -np.take_along_axis(WEIGHTS[: COUNT // 2], FLIPPED, 1), 1
)
SIGNS = WEIGHTS[:, :64] >= 0
BITS = bits_of(WEIGHTS)
DISTANCES = (SIGNS[:, None] != SIGNS[None, :]).sum(axis=2)
OPTIONS = {"delta_documents": 16, "growth": 2, "polytopes": 2}


def filled(open_database, ids=range(COUNT), **options):
    database = open_database(options=simdb.Options(**OPTIONS, **options))
    for at in range(0, COUNT, 24):
        part = slice(at, at + 24)
        database.insert_many(ids[part], simdb.Fingerprints(BITS[part], WEIGHTS[part]))
    return database


def lean_of(database):
    with database._store.state() as state:
        return [run.info.is_lean for run in state.runs]


def within(distance, left_out=()):
    live = [at for at in range(COUNT) if at not in left_out]
    return {at: {other for other in live if DISTANCES[at, other] <= distance} for at in live}


def check_answers(database, distance, left_out=()):
    expected = within(distance, left_out)
    for at in list(expected)[::7]:
        assert {each.id for each in database.query(int(BITS[at]), distance=distance)} == expected[
            at
        ]
    rows = database.query_many(BITS[list(expected)], distance=distance)
    assert [{each.id for each in row} for row in rows] == list(expected.values())
    pairs = database.find_all(distance=distance)
    found = {*map(frozenset, zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))}
    assert found == {frozenset((a, b)) for a in expected for b in expected[a] if a != b}


def kinds_of(path):
    """Return the kinds of the values of columns by ordinal."""
    with simdb.open(path, "r") as database, database._store.state() as state:
        return {bytes(value[4:8]) for _, value in state.source.every(layout.DOCUMENTS)}


ODD_IDS = [f"{'x' * (at % 5)}{at}" for at in range(COUNT)]


@pytest.mark.parametrize(
    ("options", "ids", "expected"),
    [
        ({}, range(COUNT), {b"fing", b"even", b"iden"}),
        ({}, ODD_IDS, {b"fing", b"even", b"offs", b"iden"}),
        ({"distance_tables": "always"}, range(COUNT), {b"fing", b"stat", b"offs", b"iden"}),
    ],
)
def test_states_and_ids_of_one_length_take_no_room_unless_older_versions_read_them(
    open_database, options, ids, expected
):
    database = filled(open_database, ids=ids, **options)

    for _ in range(2):
        assert kinds_of(database.path) == expected
        assert list(database) == list(ids)
        database.compact()


@pytest.mark.parametrize("asked", [1, 10**6])
def test_answers_by_distance_are_those_of_a_double_loop(open_database, monkeypatch, asked):
    monkeypatch.setattr(view, "ASKED_LEAST", asked)
    database = filled(open_database)
    assert any(lean_of(database))

    for distance in (0, 3, 12):
        check_answers(database, distance)
    database.delete_many([3, 50, 119])
    check_answers(database, 3, {3, 50, 119})
    database.compact()

    assert lean_of(database) == [True]
    for distance in (0, 3, 12):
        check_answers(database, distance, {3, 50, 119})


def test_tables_are_made_once_enough_is_asked_and_only_if_they_fit(open_database, monkeypatch):
    monkeypatch.setattr(view, "ASKED_LEAST", 20)
    database = filled(open_database)
    database.compact()

    with database._store.state() as state:
        sealed, (run,) = state.view.sealed, state.runs
        monkeypatch.setattr(view, "MADE_BYTES", 4 * 12 * COUNT - 1)
        state.tables(30)
        assert not run.has_tables
        monkeypatch.setattr(view, "MADE_BYTES", 4 * 12 * COUNT)
        sealed._asked = 0
        state.tables(19)
        state.tables()
        assert not run.has_tables
        state.tables(1)
        assert run.has_tables
        assert sealed.lean_count == 0
    check_answers(database, 3)


def test_a_document_without_weights_gives_its_run_all_tables(open_database):
    database = filled(open_database)
    database.compact()
    database.insert("bare", int(BITS[5]))
    database.compact()

    assert lean_of(database) == [False]
    assert {each.id for each in database.query(int(BITS[5]), distance=0)} >= {5, "bare"}
    assert not list(database.check(deep=True))
    database.delete("bare")
    database.compact()
    assert lean_of(database) == [True]


@pytest.mark.parametrize("options", [{"distance_tables": "always"}, {"keep_clusters": "distance"}])
def test_a_database_that_is_asked_by_distance_keeps_all_tables(open_database, options):
    database = filled(open_database, **options)

    assert not any(lean_of(database))
    check_answers(database, 3)


def test_a_rebuild_changes_which_tables_are_stored(open_database, tmp_path):
    database = filled(open_database)

    database.rebuild(distance_tables="always")
    assert lean_of(database) == [False]
    assert database.options.distance_tables == "always"
    check_answers(database, 3)
    database.rebuild(distance_tables="auto")

    assert lean_of(database) == [True]
    check_answers(database, 3)
    database.dump(tmp_path / "dump")
    assert simdb.load(tmp_path / "dump", tmp_path / "loaded") == COUNT
    with simdb.open(tmp_path / "loaded") as loaded:
        assert all(lean_of(loaded))
        check_answers(loaded, 3)


def test_a_manifest_with_a_lean_run_of_documents_without_weights_is_corrupt():
    run = RunInfo(0, 0, 9, 9, 9, 9, 9, is_lean=True)
    manifest = Manifest(runs=(run,), next_run=1, next_ordinal=9, delta_start=9)
    other = replace(manifest, runs=(replace(run, polytope_count=8),))

    assert decode_manifest(encode_manifest(manifest)) == manifest
    with pytest.raises(simdb.CorruptError, match="9 documents with features and 8 with weights"):
        decode_manifest(encode_manifest(other))


def test_a_limit_of_memory_hides_no_documents_of_lean_runs(open_database, monkeypatch):
    monkeypatch.setattr(view, "ASKED_LEAST", 1)
    database = filled(open_database)
    database.compact()

    with tables_first():
        rows = database.query_many(BITS, distance=3, search=simdb.Search(memory_limit=1))

    assert [{each.id for each in row} for row in rows] == list(within(3).values())


def test_tables_that_another_thread_makes_meanwhile_hide_no_documents(open_database, monkeypatch):
    database = filled(open_database)
    database.compact()
    found = ColumnParts.searchable_from

    def made_meanwhile(*arguments):
        with database._store.state() as state:
            state.view.sealed.make_tables(state.source, 10**6, 1)
        return found(*arguments)

    monkeypatch.setattr(ColumnParts, "searchable_from", made_meanwhile)

    for _ in range(2):
        check_answers(database, 3)


def test_chunks_that_were_cut_before_another_thread_makes_tables_hide_no_documents(
    open_database, monkeypatch
):
    database = filled(open_database)
    database.compact()
    chunks_of = many.chunks_of

    def made_meanwhile(state, *arguments):
        found = chunks_of(state, *arguments)
        assert state.view.sealed.make_tables(state.source, 10**6, 1)
        return found

    monkeypatch.setattr(many, "chunks_of", made_meanwhile)
    rows = database.query_many(BITS, distance=3, search=simdb.Search(memory_limit=10**9))

    assert [{each.id for each in row} for row in rows] == list(within(3).values())


def test_a_child_forked_while_tables_are_made_makes_tables_of_its_own(
    open_database, tmp_path, monkeypatch
):
    database = filled(open_database)
    database.compact()
    make, children = Run.make_tables, []

    def ask():
        monkeypatch.setattr(Run, "make_tables", make)
        other = filled(partial(simdb.open, tmp_path / "child"))
        assert other.query(int(BITS[0]), distance=3, search="bphs")

    def fork_meanwhile(self, *arguments):
        children.append(multiprocessing.get_context("fork").Process(target=ask))
        children[-1].start()
        children[-1].join(20)
        children[-1].kill()
        make(self, *arguments)

    monkeypatch.setattr(Run, "make_tables", fork_meanwhile)
    assert database.query(int(BITS[0]), distance=3, search="bphs")

    assert [child.exitcode for child in children] == [0]


@pytest.mark.parametrize("bare_first", [False, True])
def test_lean_runs_beside_runs_with_tables_hide_no_documents(
    open_database, monkeypatch, bare_first
):
    monkeypatch.setattr(view, "ASKED_LEAST", 10**9)  # their tables are never made
    database = open_database(options=simdb.Options(**OPTIONS))
    for part, is_bare in ((slice(0, 100), bare_first), (slice(100, COUNT), not bare_first)):
        weights = None if is_bare else WEIGHTS[part]
        database.insert_many(range(COUNT)[part], simdb.Fingerprints(BITS[part], weights))
    assert {*lean_of(database)} == {True, False}

    for distance in range(4):
        with tables_first():
            assert database.plan(distance=distance).method == "bphs"
            rows = database.query_many(BITS, distance=distance)
            singly = [database.query(int(each), distance=distance) for each in BITS]

        expected = [*within(distance).values()]
        assert [{each.id for each in row} for row in rows] == expected
        assert [{each.id for each in row} for row in singly] == expected
