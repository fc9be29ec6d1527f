"""Opening a sharded database: what is missing, damaged or strange is named, or left out."""

import json
import os
import pickle
import shutil

import pytest
import sharded
from over import over

import simdb
from simdb.database.maintenance import advice
from simdb.storage import shards_file

SHARDS = 4


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "db"
    batches = sharded.batches(*sharded.corpus(), 10)
    simdb.write_sharded(path, batches, SHARDS, options=sharded.SIMHASH)
    return path


@pytest.fixture
def path(made, tmp_path):
    """Return a sharded database that a test may damage."""
    return shutil.copytree(made, tmp_path / "db")


def change_file(path, **changes):
    """Change fields of the shards file, and make its checksum right again."""
    file = path / "shards.json"
    stored = {**json.loads(file.read_text()), **changes}
    del stored["checksum"]
    file.write_text(json.dumps({**stored, "checksum": shards_file._checksum(stored)}))


def damage(path):
    data = path / "data.mdb"
    data.write_bytes(b"\0" * os.path.getsize(data))


def lost(path):
    shutil.rmtree(path / "shard-00001")
    return simdb.NotFoundError, "shard-00001 of .* is missing; restore it"


def damaged(path):
    damage(path / "shard-00001")
    return (simdb.CorruptError, simdb.FormatError), "shard-00001 of "


def other_count(path):
    with simdb.open(path / "shard-00001") as database:
        database.insert("one more", "a text")
    return simdb.CorruptError, "shard-00001 of .* has .* documents, and the set was finished with"


def other_options(path):
    shutil.rmtree(path / "shard-00001")
    simdb.open(path / "shard-00001").close()
    return simdb.OptionError, "the options of shard-00001 of .* differ"


def a_link(path):
    os.rename(path / "shard-00001", path.parent / "moved")
    os.symlink(path.parent / "moved", path / "shard-00001")
    return simdb.FormatError, "shard-00001 is a symbolic link"


BROKEN = [lost, damaged, other_count, other_options, a_link]


@pytest.mark.parametrize("break_it", BROKEN)
def test_a_broken_shard_is_named_and_left_out_with_a_warning_when_asked(path, break_it):
    ids, texts = sharded.corpus()
    errors, message = break_it(path)
    numbers = simdb.shard_of(ids, SHARDS).tolist()
    left = [id for id, number in zip(ids, numbers, strict=True) if number != 1]
    gone = [id for id, number in zip(ids, numbers, strict=True) if number == 1]

    with pytest.raises(errors, match=message):
        simdb.open_sharded(path)
    with pytest.warns(RuntimeWarning, match=message):
        database = simdb.open_sharded(path, missing="skip")

    with database:
        assert list(database.skipped) == ["shard-00001"]
        assert database.skipped == database.stats().skipped
        assert set(database) == set(left)
        assert len(database) == len(left)
        found = database.query_many(texts, distance=0)
        assert {match.id for matches in found for match in matches} == set(left) - {ids[-1]}
        assert database.contains_many(left).all()
        for verb in (database.get, database.__contains__, lambda id: database.query(id=id)):
            with pytest.raises(simdb.Error, match="shard-00001"):
                verb(gone[0])
        assert [finding.place for finding in database.check()] == ["shard-00001"]


def test_shards_that_changed_places_are_named(tmp_path):
    """With as many documents each they were opened, and ids were looked up in the wrong one."""
    path, ids = tmp_path / "db", list(range(20))
    chosen = [simdb.shard_of(ids, 2).tolist().index(number) for number in range(2)]
    simdb.write_sharded(path, [(chosen, ["one text", "another text"])], 2)
    os.rename(path / "shard-00000", tmp_path / "other")
    os.rename(path / "shard-00001", path / "shard-00000")
    os.rename(tmp_path / "other", path / "shard-00001")

    with pytest.raises(simdb.CorruptError, match=r"shard-00000 of .* has documents of shard-00001"):
        simdb.open_sharded(path)


def test_check_names_a_shard_that_holds_other_documents_than_the_set_was_finished_with(path):
    """Only the number of documents and the first id are looked at when a set is opened."""
    ids = sharded.corpus()[0]
    numbers = simdb.shard_of(ids, SHARDS).tolist()
    own, foreign = [[id for id, at in zip(ids, numbers, strict=True) if at == n] for n in (1, 2)]
    changes = {
        "belongs to shard-00002 of 4": foreign[0],
        "documents changed after finish_sharded": own[-1],
    }

    for message, added in changes.items():
        with simdb.open(path / "shard-00001", "w") as shard:
            shard.delete(own[-1])
            shard.insert(added, "another text")
        with simdb.open_sharded(path) as database:
            (finding,) = database.check()

            assert (finding.place, message in finding.message) == ("shard-00001", True)
        with simdb.open(path / "shard-00001", "w") as shard:
            shard.delete(added)
            shard.insert(own[-1], "another text")


def test_a_shard_that_fails_later_is_named_or_left_out(path):
    """The manifest of the second shard is replaced under the open database."""
    texts = sharded.corpus()[1]
    with simdb.open_sharded(path) as strict, simdb.open_sharded(path, missing="skip") as lenient:
        before = len(lenient)
        data = path / "shard-00001" / "data.mdb"
        with open(data, "r+b") as file:
            content = bytearray(file.read())
            file.seek(0)
            file.write(spoilt(content))
        os.utime(data)

        with pytest.raises(simdb.CorruptError, match="shard-00001 of "):
            strict.query_many(texts)
        with pytest.warns(RuntimeWarning, match="left out: shard-00001 of "):
            found = lenient.query_many(texts)
        assert len(found) == len(texts)
        assert list(lenient.skipped) == ["shard-00001"]
        assert len(lenient) < before


def spoilt(content):
    """Return a data file whose pages, except the first two, are not what was written."""
    return content[:8192] + bytes(255 - byte for byte in content[8192:])


@over(
    ("changes", "error", "message"),
    [
        ({"version": 3}, simdb.FormatError, "has version 3, .* open it with a newer simdb"),
        ({"format": "other"}, simdb.FormatError, "is not the shards file"),
        ({"documents": 1}, simdb.CorruptError, "do not add up"),
        ({"shards": []}, simdb.CorruptError, "1 to 10000 shards"),
        ({"shards": [{"name": "../x", "documents": 1, "content": "0" * 16}]}, simdb.CorruptError,
         "must have the name 'shard-00000'"),
        ({"shard_by": "text"}, simdb.CorruptError, "shard_by must be 'fingerprint'"),
        ({"options": "x"}, simdb.CorruptError, "16 hexadecimal digits"),
    ],
)  # fmt: skip
def test_a_prepared_file_is_refused(path, changes, error, message):
    file = path / "shards.json"
    whole = file.read_bytes()
    change_file(path, **changes)

    with pytest.raises(error, match=message):
        simdb.open_sharded(path)
    file.write_bytes(whole)


def test_a_file_with_any_byte_changed_is_refused_or_means_the_same(path):
    file = path / "shards.json"
    whole = file.read_bytes()
    for at in range(0, len(whole), 2):
        changed = bytearray(whole)
        changed[at] ^= 1
        file.write_bytes(changed)
        try:
            simdb.open_sharded(path).close()
        except simdb.Error:
            continue
        assert json.loads(bytes(changed)) == json.loads(whole)


def test_a_tokeniser_is_imported_only_if_it_is_allowed(tmp_path):
    options = simdb.Options(sketch=simdb.Simhash(tokeniser="shlex:split"))
    texts = [f"{number} or 'a b c' of {number}" for number in range(9)]
    simdb.write_sharded(tmp_path / "own", [(range(9), texts)], 2, options=options)

    with (
        simdb.open_sharded(tmp_path / "own") as database,
        pytest.raises(simdb.OptionError, match="needs the tokeniser 'shlex:split'"),
    ):
        database.query(texts[3])
    with simdb.open_sharded(tmp_path / "own", allow=["shlex:split"]) as database:
        assert database.query(texts[3])[0].id == 3


def test_what_lies_beside_shards_is_named_if_it_could_be_one(path):
    (path / "_SUCCESS").touch()
    (path / "shard-00001.x.writing").mkdir()
    with simdb.open_sharded(path) as database:
        assert len(database) == 35
    os.makedirs(path / "shard-00009")

    with pytest.raises(simdb.FormatError, match="'shard-00009' that is none of its 4 shards"):
        simdb.open_sharded(path)


def test_what_is_no_sharded_database_is_named(path, tmp_path):
    with pytest.raises(simdb.NotFoundError, match="no sharded database at"):
        simdb.open_sharded(tmp_path / "nothing")
    with pytest.raises(simdb.FormatError, match="one database and not sharded"):
        simdb.open_sharded(path / "shard-00000")
    with pytest.raises(simdb.ReadOnlyError, match="mode 'r', got 'w'"):
        simdb.open_sharded(path, "w")
    with pytest.raises(simdb.InputError, match="path must be"):
        simdb.open_sharded(None)
    with pytest.raises(simdb.OptionError, match="missing must be one of 'error', 'skip'"):
        simdb.open_sharded(path, missing="ignore")
    for allow, missing in [("package.module:function", "error"), (None, "skip"), ([5], "skip")]:
        with pytest.raises(simdb.OptionError, match="allow must be a list of names"):
            simdb.open_sharded(path, missing=missing, allow=allow)
    for mode in ("r", "c", "w", "x"):
        with pytest.raises(simdb.FormatError, match=r"open it with simdb\.open_sharded"):
            simdb.open(path, mode)
    for number in range(SHARDS):
        shutil.rmtree(path / f"shard-{number:05d}")
    with pytest.raises(simdb.NotFoundError), pytest.warns(RuntimeWarning):
        simdb.open_sharded(path, missing="skip")


def test_a_shard_that_cannot_be_closed_is_named(path):
    database = simdb.open_sharded(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simdb.Database, "close", broken)
        with pytest.raises(simdb.BusyError, match=r"shard-00000 of .*still read"):
            database.close()

    database.close()
    assert database.is_closed


def broken(_):
    raise simdb.BusyError("a snapshot is still read")


def test_a_database_is_opened_again_by_unpickling_and_says_when_it_is_closed(path):
    database = simdb.open_sharded(path)
    with pickle.loads(pickle.dumps(database)) as again:
        assert list(again) == list(database)
    database.close()
    database.close()

    assert database.is_closed
    assert "closed" in repr(database)
    for verb in (database.stats, lambda: database.query("a"), lambda: list(database)):
        with pytest.raises(simdb.ClosedError):
            verb()


def test_pickled_matches_have_their_ids(path):
    """A worker that asked all shards could not return what it found."""
    texts = sharded.corpus()[1][:20]
    with simdb.open_sharded(path) as database:
        found = database.query_many(texts, distance=9)
        parts = database.query_many(iter(texts), distance=9)

        for each in (found, parts):
            again = pickle.loads(pickle.dumps(each))

            assert list(again) == list(found)
            assert again.to_arrow(ids="text").equals(found.to_arrow(ids="text"))


def test_advice_names_its_shard(path, monkeypatch):
    monkeypatch.setattr(advice, "file_system", lambda path: "nfs")
    with simdb.open_sharded(path) as database:
        messages = [each.message for each in database.advice()]
    with simdb.open(path / "shard-00002") as shard:
        single = [each.message for each in shard.advice()]

    assert [message for message in messages if message.startswith("shard-00002: ")] == [
        f"shard-00002: {message}" for message in single
    ]
    assert len(messages) >= SHARDS


def test_a_child_process_reads_with_the_parents_database(path):
    text = sharded.corpus()[1][0]
    with simdb.open_sharded(path) as database:
        wanted = database.query(text, distance=9)
        child = os.fork()
        if child == 0:
            try:
                found = [database.query(text, distance=9), *database.query_many([text], distance=9)]
                is_right = found == [wanted] * 2 and len(database) == 35
                database.close()
                os._exit(7 * is_right)
            finally:
                os._exit(1)

        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert database.query(text, distance=9) == wanted
