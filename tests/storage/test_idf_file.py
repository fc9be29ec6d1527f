"""IDF table files are read as they were written, or refused with a reason."""

import errno
import os

import numpy as np
import pytest
import xxhash
from hypothesis import given, strategies as st

import simdb
from simdb.storage import idf_file
from simdb.storage.idf_file import problems_of

SKETCH = simdb.Simhash(shingle=1, stop_words=("the", "a"))
# Each word in another number of documents, so that tables of a few dozen entries have slots.
DOCUMENTS = [[f"word{number}" for number in range(at, 60)] for at in range(50)]
TABLE = simdb.fit_idf(DOCUMENTS, SKETCH)
COUNT = len(TABLE.entries)


@pytest.fixture
def path(tmp_path):
    simdb.save_idf(TABLE, tmp_path / "words.idf")
    return tmp_path / "words.idf"


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("idf") / "words.idf"
    simdb.save_idf(TABLE, path)
    return path.read_bytes()


def with_true_checksums(content):
    """The bytes with the checksums that they would have had, if they had been written so."""
    content = bytearray(content)
    settings_bytes = int.from_bytes(content[36:40], "little")
    start = -(-(64 + settings_bytes) // 64) * 64
    content[40:48] = xxhash.xxh3_64_intdigest(content[start:]).to_bytes(8, "little")
    head = bytes(content[:56] + content[64:start])
    content[56:64] = xxhash.xxh3_64_intdigest(head).to_bytes(8, "little")
    return bytes(content)


def test_a_table_comes_back_as_it_was(path):
    loaded = simdb.load_idf(path)

    assert loaded == TABLE
    assert np.array_equal(loaded.directory, TABLE.directory)
    assert loaded.document_count == TABLE.document_count
    assert loaded.settings == SKETCH.feature_settings
    assert simdb.Simhash(shingle=1, stop_words=("a", "the"), weighting="tf-idf", idf=loaded).idf
    assert list(problems_of(str(path), None)) == []


def test_the_file_is_laid_out_as_documented(content):
    count = len(TABLE)

    assert content[:8] == b"simdbidf"
    assert content[8:12] == (1).to_bytes(4, "little")
    assert int.from_bytes(content[24:32], "little") == count
    assert content[-8 * count :] == TABLE.entries.astype("<u8").tobytes()
    assert (len(content) - 8 * count) % 64 == 0
    assert with_true_checksums(content) == content


def test_a_save_that_fails_leaves_the_old_file(path, monkeypatch):
    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(idf_file.os, "fsync", fail)
    with pytest.raises(simdb.FullError, match=r"words\.idf"):
        simdb.save_idf(simdb.fit_idf(["red"]), path)

    assert simdb.load_idf(path) == TABLE
    assert os.listdir(path.parent) == [path.name]


def test_a_table_that_is_not_there_is_not_found_and_a_directory_is_none(tmp_path):
    with pytest.raises(simdb.NotFoundError, match=r"no IDF table at .*none\.idf"):
        simdb.load_idf(tmp_path / "none.idf")
    with pytest.raises(simdb.InputError, match="not a regular file"):
        simdb.load_idf(tmp_path)


def test_a_table_is_not_called_damaged_for_want_of_a_descriptor(path, monkeypatch):
    """A rebuild that could open no more files offered to drop what it took for damaged."""

    def refuse(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(idf_file, "open", refuse, raising=False)

    with pytest.raises(simdb.Error, match="Too many open files") as caught:
        list(problems_of(path, None))

    assert type(caught.value) is simdb.Error


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 64, b"{}" * 500])
def test_another_kind_of_file_is_no_table(tmp_path, content):
    (tmp_path / "other").write_bytes(content)

    with pytest.raises(simdb.FormatError, match="is not an IDF table"):
        simdb.load_idf(tmp_path / "other")


def test_a_later_version_asks_for_a_newer_program(path, content):
    path.write_bytes(with_true_checksums(content[:8] + b"\2" + content[9:]))

    with pytest.raises(simdb.FormatError, match=r"version 2; .*newer"):
        simdb.load_idf(path)


def test_options_of_a_later_version_ask_for_a_newer_program(path):
    settings = {**TABLE.settings, "turbo": True}
    table = simdb.IdfTable(TABLE.entries, TABLE.directory, TABLE.default, 50, settings)
    simdb.save_idf(table, path)

    with pytest.raises(simdb.FormatError, match=r"turbo.*newer"):
        simdb.load_idf(path)


@given(data=st.data())
def test_no_flipped_bit_goes_unnoticed(tmp_path_factory, content, data):
    at = data.draw(st.integers(0, 8 * len(content) - 1))
    damaged = bytearray(content)
    damaged[at // 8] ^= 1 << at % 8
    path = tmp_path_factory.getbasetemp() / "flipped.idf"
    path.write_bytes(damaged)

    with pytest.raises((simdb.CorruptError, simdb.FormatError), match=r"flipped\.idf"):
        simdb.load_idf(path)
    assert list(problems_of(str(path), None)) != []


@given(
    at=st.integers(8, 63),
    value=st.sampled_from([b"\0", b"\xff", b"\xff" * 4, b"\xff" * 8, b"\x7f\xff\xff\xff"]),
)
def test_a_header_that_lies_is_refused_even_under_a_true_checksum(
    tmp_path_factory, content, at, value
):
    lying = content[:at] + value + content[at + len(value) :]
    lying = with_true_checksums(lying[: len(content)])
    path = tmp_path_factory.getbasetemp() / "lying.idf"
    path.write_bytes(lying)

    try:
        table = simdb.load_idf(path)
    except (simdb.CorruptError, simdb.FormatError):
        return
    # What cannot be told from a table is one.
    assert np.array_equal(table.entries, TABLE.entries)
    assert 0 < table.default < 1 << 16


@given(data=st.data())
def test_a_directory_that_lies_never_points_outside(tmp_path_factory, content, data):
    slots = len(TABLE.directory)
    start = len(content) - 8 * len(TABLE) - -(-4 * slots // 64) * 64
    at = start + 4 * data.draw(st.integers(0, slots - 1))
    value = data.draw(st.integers(0, 2**32 - 1)).to_bytes(4, "little")
    path = tmp_path_factory.getbasetemp() / "slots.idf"
    path.write_bytes(with_true_checksums(content[:at] + value + content[at + 4 :]))

    try:
        table = simdb.load_idf(path)
    except simdb.CorruptError:
        return
    assert (np.diff(table.directory.astype(np.int64)) >= 0).all()
    assert (table.directory[0], table.directory[-1]) == (0, len(TABLE))
    is_right = np.array_equal(table.directory, TABLE.directory)
    assert (list(problems_of(str(path), None)) == []) == is_right


def write_entries(path, content, entries):
    path.write_bytes(with_true_checksums(content[: -8 * COUNT] + entries.astype("<u8").tobytes()))


@pytest.mark.parametrize("part", [1, 2, 7, COUNT - 1, COUNT, COUNT + 1])
@pytest.mark.parametrize("place", [1, COUNT // 2, COUNT - 1])
def test_entries_are_in_order_from_one_part_to_the_next(path, content, monkeypatch, part, place):
    monkeypatch.setattr(idf_file, "CHECKED_ENTRIES", part)
    assert list(problems_of(str(path), None)) == []
    entries = TABLE.entries.copy()
    entries[[place, place - 1]] = entries[[place - 1, place]]
    write_entries(path, content, entries)

    assert "out of order, at entry" in next(problems_of(str(path), None))


def test_entries_without_weight_are_problems(path, content):
    write_entries(path, content, TABLE.entries & np.uint64(2**64 - 2**16))

    assert any("without weight" in problem for problem in problems_of(str(path), None))
