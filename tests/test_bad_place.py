"""Paths and files without a database of this version are refused and not changed."""

import lmdb
import pytest

import simdb
from simdb.storage import codec, layout


def test_a_file_is_no_database(tmp_path):
    (tmp_path / "file").write_text("text")

    for mode in "rwcx":
        with pytest.raises(simdb.FormatError, match="is a file"):
            simdb.open(tmp_path / "file", mode)


def test_a_directory_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("text")

    with pytest.raises(simdb.FormatError, match=r"thesis.txt.*directory of its own"):
        simdb.open(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("path", ["file/db", "a\0b", "x" * 300])
def test_a_path_that_cannot_be_is_refused(tmp_path, path):
    (tmp_path / "file").write_text("text")

    with pytest.raises(simdb.InputError):
        simdb.open(f"{tmp_path}/{path}")


def test_a_path_that_is_none_is_refused():
    with pytest.raises(simdb.InputError, match="int"):
        simdb.open(5)
    with pytest.raises(simdb.NotFoundError, match="empty"):
        simdb.open("")


@pytest.mark.parametrize("mode", ["c", "x"])
@pytest.mark.parametrize(
    ("path", "remedy"),
    [(":memory:", r"simdb.open\(None\)"), ("s3://bucket/pages", "local disk"),
     ("file:///tmp/pages", "local disk")],
)  # fmt: skip
def test_a_name_that_means_something_else_makes_no_directory(
    tmp_path, monkeypatch, path, remedy, mode
):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(simdb.OptionError, match=remedy):
        simdb.open(path, mode)

    assert list(tmp_path.iterdir()) == []


def test_a_database_that_has_such_a_name_already_is_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "s3:"):
        simdb.open("made").close()
        (tmp_path / "made").rename(tmp_path / name)

    for path in (":memory:", "s3://"):
        with simdb.open(path) as database:
            assert len(database) == 0


@pytest.mark.parametrize("content", [b"text" * 5000, bytes(20_000)])
def test_a_data_file_of_something_else_is_refused(tmp_path, content):
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "data.mdb").write_bytes(content)

    for mode in "rwc":
        with pytest.raises(simdb.FormatError):
            simdb.open(tmp_path / "db", mode)


@pytest.mark.parametrize("name", [None, b"meta", b"other"])
def test_an_lmdb_directory_of_somebody_else_is_refused(tmp_path, name):
    with lmdb.open(str(tmp_path / "db"), max_dbs=4) as environment:
        handle = environment.open_db(name)
        with environment.begin(write=True) as transaction:
            transaction.put(b"format", b"theirs", db=handle)

    for mode in "rwc":
        with pytest.raises((simdb.FormatError, simdb.CorruptError)):
            simdb.open(tmp_path / "db", mode)


def test_a_plain_value_in_the_place_of_a_sub_database_is_refused(tmp_path):
    environment = lmdb.open(str(tmp_path / "db"))
    with environment, environment.begin(write=True) as transaction:
        transaction.put(b"meta", b"theirs")

    with pytest.raises(simdb.FormatError, match="no simdb database"):
        simdb.open(tmp_path / "db")


@pytest.mark.parametrize("version", [2, 99, "1", None])
def test_a_newer_format_version_is_refused_with_the_remedy(tmp_path, version):
    simdb.open(tmp_path / "db").close()
    stored = codec.encode_object(layout.FORMAT_KIND, layout.FORMAT_KEY, {"version": version})
    with lmdb.open(str(tmp_path / "db"), max_dbs=64) as environment:
        handle = environment.open_db(layout.META)
        with environment.begin(write=True) as transaction:
            transaction.put(layout.FORMAT_KEY, stored, db=handle)

    with pytest.raises(simdb.FormatError, match=f"version {version}.*newer simdb"):
        simdb.open(tmp_path / "db")
