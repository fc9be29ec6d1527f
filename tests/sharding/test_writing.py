"""Shards are written completely or not at all, by one process or by the tasks of a job."""

import json
import os
import pickle
import signal
import threading
from functools import partial
from itertools import chain

import mmh3
import numpy as np
import pytest
import sharded
from over import over

import simdb
from simdb.database.write import write_state

SHARDS = 3


@pytest.fixture
def documents():
    return sharded.corpus()


def tasks(ids, texts, shards):
    """Return the batches of each shard, as an exchange by `shard_of` brings them together."""
    numbers = simdb.shard_of(ids, shards)
    return [
        [([ids[at] for at in np.flatnonzero(numbers == each)],
          [texts[at] for at in np.flatnonzero(numbers == each)])]
        for each in range(shards)
    ]  # fmt: skip


def written(path, documents, shards=SHARDS, options=sharded.SIMHASH):
    """Write all shards as a job does; return the reports."""
    return [
        simdb.write_shard(path, number, batches, shards, options=options)
        for number, batches in enumerate(tasks(*documents, shards))
    ]


def contents(path):
    """Return what a sharded database holds: id, fingerprint and metadata of each document."""
    with simdb.open_sharded(path) as database:
        assert list(database.check(deep=True)) == []
        found = database.get_many(list(database))
        return {(type(each.id), each.id): (each.fingerprint, each.metadata) for each in found}


def names(path):
    return sorted(os.listdir(path))


def test_a_job_of_tasks_writes_what_one_process_writes(tmp_path, documents):
    reports = written(tmp_path / "job", documents)
    left = tmp_path / "job" / "shard-00002.abc.writing"
    left.mkdir()
    (left / "data.mdb").write_bytes(b"half")
    seen = []

    count = simdb.finish_sharded(tmp_path / "job", SHARDS, reports=reports, deep=True)
    batches = sharded.batches(*documents, 10)
    simdb.write_sharded(
        tmp_path / "one", (batch[:2] for batch in batches), SHARDS, options=sharded.SIMHASH,
        progress=seen.append,
    )  # fmt: skip

    assert seen == [10, 20, 30, 35]
    assert count == 35 == sum(each.document_count for each in reports)
    shards = [f"shard-{number:05d}" for number in range(SHARDS)]
    assert names(tmp_path / "job") == names(tmp_path / "one") == [*shards, "shards.json"]
    assert contents(tmp_path / "job") == contents(tmp_path / "one")
    files = [tmp_path / name / "shards.json" for name in ("job", "one")]
    assert files[0].read_text() == files[1].read_text()


def test_batches_of_any_size_and_order_make_the_same_set(tmp_path, documents, monkeypatch):
    ids, texts = documents
    monkeypatch.setattr("simdb.database.sharding.writing.BUFFERED_DOCUMENTS", 5)
    found = []

    for size in (4, 100):
        batches = list(sharded.batches(ids, texts, size))
        simdb.write_sharded(tmp_path / f"{size}", batches[::-1], SHARDS, options=sharded.SIMHASH)
        found.append(contents(tmp_path / f"{size}"))

    assert found[0] == found[1]
    assert found[0][int, 9] == found[0][int, ids[9]]
    assert {key: value[1] for key, value in found[0].items()} == {
        (type(id), id): {"text": text} for id, text in zip(ids, texts, strict=True)
    }


@pytest.mark.parametrize(("more", "stored"), [(-1, [3, 3, 3]), (0, [3, 3, 3]), (1, [4, 4, 1])])
@pytest.mark.parametrize("limit", ["BUFFERED_DOCUMENTS", "BUFFERED_BYTES"])
def test_batches_are_stored_when_there_are_as_many_documents_or_bytes(
    tmp_path, monkeypatch, limit, more, stored
):
    sizes = {"BUFFERED_DOCUMENTS": 30, "BUFFERED_BYTES": 3 * 10 * (len(b"id") + 1 + 100)}
    monkeypatch.setattr(f"simdb.database.sharding.writing.{limit}", sizes[limit] + more)
    store_batch, counts = write_state.store_batch, []

    def noted(store, batch, *given):
        counts.append(len(batch) // 10)
        return store_batch(store, batch, *given)

    monkeypatch.setattr(write_state, "store_batch", noted)
    # An id is stored with a byte for its type, and bytes of up to 255 with two for their size.
    batches = [
        ([bytes([65 + at, 65 + each]) for each in range(10)], list(range(10)), [bytes(98)] * 10)
        for at in range(9)
    ]
    options = simdb.Options(sketch=simdb.Simhash(store_volatility=False))

    simdb.write_sharded(tmp_path / "db", batches, 1, options=options)

    assert counts == stored


def test_the_shard_of_an_id_is_fixed():
    """Jobs and readers of any version and machine, and in any language, must agree."""
    stored = {
        "a": b"sa", b"a": b"ba", "5": b"s5", "\u00e9": b"s\xc3\xa9",
        5: b"i" + (5).to_bytes(8, "little"), -1: b"i" + b"\xff" * 8, 2**64 - 1: b"u" + b"\xff" * 8,
    }  # fmt: skip
    hashes = [mmh3.hash64(each, seed=0, x64arch=True, signed=False)[0] for each in stored.values()]

    assert simdb.shard_of(list(stored), 1000).tolist() == [each % 1000 for each in hashes]
    assert simdb.shard_of(["a", b"a", 5, "5"], 1000).tolist() == [382, 312, 178, 100]
    assert simdb.shard_of([], 3).tolist() == []
    assert simdb.shard_of(np.arange(3), 1).tolist() == [0, 0, 0]


def test_a_set_without_documents_is_written_and_asked(tmp_path):
    assert simdb.write_sharded(tmp_path / "db", [], 2) == 0

    with simdb.open_sharded(tmp_path / "db") as database:
        assert len(database) == 0
        assert database.query("a text") == database.nearest("a text") == []
        assert list(database.query_many(["a text"])) == [[]]


@pytest.mark.parametrize("fault", ["batches", "twice", "twice later"])
def test_what_fails_leaves_nothing(tmp_path, documents, fault, monkeypatch):
    ids, texts = documents

    def failing():
        yield ids[:20], texts[:20]
        if fault == "batches":
            raise RuntimeError("the source failed")
        if fault == "twice":
            yield ["x", "y", "x"], texts[:3]
        if fault == "twice later":
            yield [ids[3]], ["another text"]

    for limit in (5, 1000):
        monkeypatch.setattr("simdb.database.sharding.writing.BUFFERED_DOCUMENTS", limit)
        with pytest.raises((simdb.InputError, RuntimeError)) as raised:
            simdb.write_sharded(tmp_path / "db", failing(), SHARDS)

        expected = {
            "batches": "the source failed",
            "twice": "'x' is given twice",
            "twice later": f"the id {ids[3]!r} is given twice",
        }[fault]
        assert expected in str(raised.value)
        assert names(tmp_path) == []


GOOD = [sharded.corpus()]
NO_BATCH = r"many documents, got the id .*: \[\(ids, docum"


@over(
    ("batches", "given", "message"),
    [
        (None, {}, "batch"),
        (sharded.corpus(), {}, "batch"),
        ([("a", "x y")], {}, NO_BATCH),
        ([["a", "x y"]], {}, NO_BATCH),
        ([(7, "x y", None)], {}, NO_BATCH),
        (GOOD, {"shards": 0}, "shards must be a whole number from 1 to 10000, got 0"),
        (GOOD, {"options": simdb.Options(keep_clusters="distance")}, "shards cannot keep"),
        (GOOD, {"options": 5}, "options must be a simdb.Options"),
        (GOOD, {"errors": "ignore"}, "errors must be 'strict' or 'replace'"),
        (GOOD, {"threads": 0}, "threads"),
        (GOOD, {"progress": 1}, "progress"),
    ],
)
def test_impossible_arguments_are_refused_and_leave_nothing(tmp_path, batches, given, message):
    with pytest.raises((simdb.OptionError, simdb.InputError), match=message):
        simdb.write_sharded(tmp_path / "db", batches, **{"shards": 2, **given})

    assert names(tmp_path) == []


def test_a_task_that_runs_twice_changes_nothing(tmp_path, documents):
    (batches, *_) = tasks(*documents, SHARDS)
    first = simdb.write_shard(tmp_path / "db", 0, batches, SHARDS)
    ((ids, texts),) = batches

    second = simdb.write_shard(tmp_path / "db", 0, [(ids[::-1], texts[::-1])], SHARDS)

    assert first == second == pickle.loads(pickle.dumps(first))
    assert names(tmp_path / "db") == ["shard-00000"]


def test_two_attempts_at_once_leave_one_good_shard(tmp_path, documents):
    reports = written(tmp_path / "db", documents)
    batches = tasks(*documents, SHARDS)
    target = tmp_path / "race"
    gate = threading.Barrier(2)
    found = []

    def attempt():
        def waiting():
            yield from batches[1]
            gate.wait(60)

        found.append(simdb.write_shard(target, 1, waiting(), SHARDS, options=sharded.SIMHASH))

    attempts = [threading.Thread(target=attempt) for _ in range(2)]
    for each in attempts:
        each.start()
    for each in attempts:
        each.join()

    assert found == [reports[1], reports[1]]
    assert names(target) == ["shard-00001"]


def test_an_attempt_that_is_killed_leaves_no_shard_and_can_be_repeated(
    tmp_path, documents, monkeypatch
):
    batches = tasks(*documents, 1)[0]
    child = os.fork()
    if child == 0:
        die = partial(os.kill, os.getpid(), signal.SIGKILL)
        monkeypatch.setattr("simdb.database.sharding.writing._as_written", lambda *_: die())
        simdb.write_shard(tmp_path / "db", 0, batches, 1)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    (left,) = names(tmp_path / "db")
    assert left.endswith(".writing")

    report = simdb.write_shard(tmp_path / "db", 0, batches, 1)
    simdb.finish_sharded(tmp_path / "db", 1, reports=[report])

    assert len(contents(tmp_path / "db")) == len(documents[0])
    assert names(tmp_path / "db") == ["shard-00000", "shards.json"]


@pytest.mark.parametrize("change", ["fewer", "another text", "other options"])
def test_a_task_with_other_documents_is_refused_and_the_shard_stays(tmp_path, documents, change):
    ((ids, texts),) = tasks(*documents, SHARDS)[0]
    first = simdb.write_shard(tmp_path / "db", 0, [(ids, texts)], SHARDS, options=sharded.SIMHASH)
    options = sharded.SIMHASH
    if change == "fewer":
        ids, texts = ids[1:], texts[1:]
    if change == "another text":
        texts = ["another text", *texts[1:]]
    if change == "other options":
        options = sharded.BARE

    with pytest.raises(simdb.ExistsError, match=r"shard-00000 of .*db was written before"):
        simdb.write_shard(tmp_path / "db", 0, [(ids, texts)], SHARDS, options=options)

    assert names(tmp_path / "db") == ["shard-00000"]
    with simdb.open(tmp_path / "db" / "shard-00000", "r") as database:
        assert len(database) == first.document_count
    others = tasks(*documents, SHARDS)[1]
    with pytest.raises(simdb.InputError, match=f"{others[0][0][0]!r} belongs to shard-00001"):
        simdb.write_shard(tmp_path / "other", 0, others, SHARDS)
    assert not names(tmp_path / "other")


def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path, documents):
    bystander = tmp_path / "db.mine.writing"
    bystander.mkdir()
    child = os.fork()
    if child == 0:
        die = partial(os.kill, os.getpid(), signal.SIGKILL)
        simdb.write_sharded(tmp_path / "db", chain([documents], iter(die, 0)), SHARDS)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert len(names(tmp_path)) == 2

    simdb.write_sharded(tmp_path / "db", [documents], SHARDS)

    assert names(tmp_path) == ["db", bystander.name]


def test_what_another_writer_is_still_writing_is_not_removed(tmp_path, documents):
    seen = []

    def batches():
        before = names(tmp_path)
        simdb.write_sharded(tmp_path / "db", [documents], SHARDS)
        seen.append((before, names(tmp_path)))
        yield documents

    with pytest.raises(simdb.ExistsError):
        simdb.write_sharded(tmp_path / "db", batches(), SHARDS)

    ((before, during),) = seen
    assert during == ["db", *before]
    assert names(tmp_path) == ["db"]


def test_finishing_names_a_missing_shard(tmp_path, documents):
    written(tmp_path / "db", documents)
    os.rename(tmp_path / "db" / "shard-00001", tmp_path / "elsewhere")

    with pytest.raises(simdb.NotFoundError, match=r"shard-00001 of .* is missing; write it with"):
        simdb.finish_sharded(tmp_path / "db", SHARDS)
    with pytest.raises(simdb.NotFoundError, match=r"no shards.json .* not complete"):
        simdb.open_sharded(tmp_path / "db")
    os.rename(tmp_path / "elsewhere", tmp_path / "db" / "shard-00001")
    os.makedirs(tmp_path / "db" / "shard-00003")  # of an earlier job with more shards
    with pytest.raises(simdb.FormatError, match="'shard-00003' that is none of its 3 shards"):
        simdb.finish_sharded(tmp_path / "db", SHARDS)


def test_finishing_names_a_shard_of_another_number_of_shards(tmp_path, documents):
    """A shard of an earlier job with fewer shards has ids that belong elsewhere now."""
    written(tmp_path / "db", documents)
    os.rename(tmp_path / "db" / "shard-00001", tmp_path / "old")
    written(tmp_path / "two", documents, shards=2)
    os.rename(tmp_path / "two" / "shard-00001", tmp_path / "db" / "shard-00001")

    with pytest.raises(simdb.InputError, match=r"shard-00001 of .* belongs to shard-0000"):
        simdb.finish_sharded(tmp_path / "db", SHARDS)


def test_finishing_names_a_shard_with_other_options(tmp_path, documents):
    written(tmp_path / "db", documents)
    other = simdb.Options(sketch=simdb.Simhash(shingle=5), delta_documents=4, growth=2)
    written(tmp_path / "other", documents, options=other)
    os.rename(tmp_path / "db" / "shard-00002", tmp_path / "old")
    os.rename(tmp_path / "other" / "shard-00002", tmp_path / "db" / "shard-00002")

    with pytest.raises(
        simdb.OptionError, match=r"shard-00002 .* than shard-00000: sketch.shingle is 3, not 5"
    ):
        simdb.finish_sharded(tmp_path / "db", SHARDS)


def test_finishing_names_a_shard_that_is_not_what_its_task_reported(tmp_path, documents):
    reports = written(tmp_path / "db", documents)
    with simdb.open(tmp_path / "db" / "shard-00001") as database:
        database.delete(next(iter(database)))

    with pytest.raises(simdb.CorruptError, match=r"shard-00001 of .* its task reported"):
        simdb.finish_sharded(tmp_path / "db", SHARDS, reports=reports)
    with pytest.raises(simdb.InputError, match=r"3 shards, but shard-00002 is missing"):
        simdb.finish_sharded(tmp_path / "db", SHARDS, reports=reports[:2])

    data = tmp_path / "db" / "shard-00001" / "data.mdb"
    half = data.stat().st_size // 2
    data.write_bytes(data.read_bytes()[:half] + bytes(half))
    with pytest.raises((simdb.CorruptError, simdb.FormatError), match=r"shard-00001"):
        simdb.finish_sharded(tmp_path / "db", SHARDS)

    assert "shards.json" not in names(tmp_path / "db")


def test_a_changed_shard_is_taken_by_finishing_again(tmp_path, documents):
    reports = written(tmp_path / "db", documents)
    simdb.finish_sharded(tmp_path / "db", SHARDS, reports=reports)
    with simdb.open(tmp_path / "db" / "shard-00001") as database:
        gone = next(iter(database))
        database.delete(gone)
    with pytest.raises(simdb.CorruptError, match=r"shard-00001 of .* finished with"):
        simdb.open_sharded(tmp_path / "db")

    assert simdb.finish_sharded(tmp_path / "db", SHARDS) == len(documents[0]) - 1

    with simdb.open_sharded(tmp_path / "db") as database:
        assert gone not in database


def test_the_file_is_json_with_a_checksum_and_is_not_written_over(tmp_path, documents):
    simdb.write_sharded(tmp_path / "db", [documents], 2)
    path = tmp_path / "db" / "shards.json"
    stored = json.loads(path.read_text())

    # Laid out anew, the file is the same.
    path.write_text(json.dumps(stored))
    simdb.open_sharded(tmp_path / "db").close()
    with pytest.raises(simdb.ExistsError, match="exists already"):
        simdb.write_sharded(tmp_path / "db", [documents], 2)

    assert (stored["format"], stored["version"]) == ("simdb-shards", 1)
    assert [each["name"] for each in stored["shards"]] == ["shard-00000", "shard-00001"]
    assert sum(each["documents"] for each in stored["shards"]) == stored["documents"] == 35
