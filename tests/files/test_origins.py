"""Origins: lines are read again from where they stood, or the change of a file is named."""

import gzip
import io
import os
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import simdb
from simdb.core import memory
from simdb.files import json_records, origins
from simdb.files.content import CountedFile, opened
from simdb.files.origins import NOWHERE, Origins
from simdb.files.pieces import contents, split_lines
from simdb.files.records import Batch, InputProblem, SourceOptions

LINES = [b'{"id": "%d", "text": "%s"}' % (at, b"word " * (at % 7)) for at in range(60)]


def batches_of(path, reading):
    """Return the batches of a file, with the lines that a reading without origins gives."""
    found = []
    for each in (reading, replace(reading, origins=None)):
        with opened(str(path)) as stream:
            read = json_records.read_lines(stream, str(path), each)
            found.append([batch for batch in read if not isinstance(batch, InputProblem)])
    return [replace(one, lines=other.lines) for one, other in zip(*found, strict=True)]


def places(batches):
    """Return for each document its text, its line, its origin and its size."""
    return [
        place
        for batch in batches
        for place in zip(
            batch.texts,
            batch.lines or lines_in(batch),
            [NOWHERE] * len(batch) if batch.origins is None else batch.origins.tolist(),
            batch.sizes.tolist(),
            strict=True,
        )
    ]


def lines_in(batch):
    """Return the lines of a batch from its file."""
    with open(batch.sources[0], "rb") as file:
        lines = file.read().split(b"\n")
    return [lines[position - 1] for position in batch.positions.tolist()]


def texts_of(row, starts, sizes):
    """Return the texts at these places."""
    return list(row.texts(np.array(starts, np.int64), np.array(sizes, np.int64)))


def lines_of(row, starts, sizes):
    """Return the lines at these places, which ascend, each with its line feed."""
    places = np.array(starts, np.int64), np.array(sizes, np.int64)
    return [*split_lines(block for some in row.spans(*places) for block in contents(some))]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(memory, "BLOCK_BYTES", 300)
    monkeypatch.setattr(json_records, "PIECE_BYTES", 70)
    monkeypatch.setattr(json_records, "RUN_LINES", 1)


@pytest.mark.parametrize("open_files", [0, 1, 64])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n \n"])
def test_lines_and_texts_are_read_again(tmp_path, small, monkeypatch, open_files, end):
    monkeypatch.setattr(origins, "OPEN_FILES", open_files)
    odd = [
        b"\xef\xbb\xbf" + LINES[0],
        b"",
        b"no JSON",
        b'{"id": 3, "text": "\\ud83d\\ude00"}',
        b" ",
    ]
    found = []
    with Origins() as row:
        for name, lines in (("a", LINES), ("b", odd + LINES), ("c", LINES[:1]), ("d", [])):
            (tmp_path / name).write_bytes(b"\n".join(lines) + end)
            found += places(
                batches_of(tmp_path / name, SourceOptions(origins=row, has_fields=False))
            )
        read = [place for place in found if place[2] != NOWHERE]
        # The line with a byte order mark is read by the standard library.
        assert len(read) == len(found) - 1 == 2 * len(LINES) + 2

        for some in (read, read[::7], read[:1], []):
            texts, lines, starts, sizes = map(list, zip(*some, strict=True)) if some else [[]] * 4
            assert texts_of(row, starts, sizes) == texts
            assert lines_of(row, starts, sizes) == [line + b"\n" for line in lines]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_cannot_be_read_again_waits(tmp_path, small, threads):
    content, wide = b"\n".join(LINES), b"\n".join(LINES[::-1]).decode().encode("utf-16-le")
    (tmp_path / "a").write_bytes(content)
    (tmp_path / "b.gz").write_bytes(gzip.compress(content + b"\nno JSON\n\n", mtime=0))
    (tmp_path / "wide").write_bytes(wide)
    (tmp_path / "waiting").mkdir()
    found, expected = [], []
    with Origins() as row:
        row.need()
        row.need(str(tmp_path / "waiting"))
        for name, encoding in (("b.gz", "utf-8"), ("a", "utf-8"), ("wide", "utf-16-le"),
                               ("a", "utf-8"), ("b.gz", "utf-8")):  # fmt: skip
            reading = SourceOptions(
                origins=row, has_fields=False, encoding=encoding, threads=threads
            )
            found += places(batches_of(tmp_path / name, reading))
            expected += LINES[::-1] if name == "wide" else LINES
        stream = io.BufferedReader(io.BytesIO(content))
        reading = SourceOptions(origins=row, has_fields=False)
        for batch in json_records.read_lines(stream, "-", reading):
            lines = [LINES[position - 1] for position in batch.positions.tolist()]
            found += places([replace(batch, lines=lines)])
        expected += LINES

        assert NOWHERE not in [place[2] for place in found]
        for step in (1, 7, 100):
            texts, lines, starts, sizes = map(list, zip(*found[::step], strict=True))
            assert lines == expected[::step]
            assert texts_of(row, starts, sizes) == texts
            assert lines_of(row, starts, sizes) == [line + b"\n" for line in lines]
        assert os.listdir(tmp_path / "waiting") == []  # the file has no name


def test_what_is_no_plain_file_has_no_origin_if_nobody_reads_it_again(tmp_path, monkeypatch):
    content = b"\n".join(LINES)
    (tmp_path / "a.gz").write_bytes(gzip.compress(content, mtime=0))
    (tmp_path / "a").write_bytes(content)
    with Origins() as row:
        reading = SourceOptions(origins=row, has_fields=False)
        assert {place[2] for place in places(batches_of(tmp_path / "a.gz", reading))} == {NOWHERE}
        stream = io.BufferedReader(io.BytesIO(content))
        piped = [*json_records.read_lines(stream, "-", reading)]
        assert {place[2] for place in places(piped)} == {NOWHERE}
        os.mkfifo(tmp_path / "pipe")
        both = os.open(tmp_path / "pipe", os.O_RDWR)  # so that the next open does not wait
        with io.BufferedReader(CountedFile(str(tmp_path / "pipe"))) as stream:
            assert not row.begin(stream, lambda block, count: None)
        os.close(both)
        (tmp_path / "wide").write_bytes(content.decode().encode("utf-16-le"))
        reading = SourceOptions(origins=row, has_fields=False, encoding="utf-16-le")
        wide = places(batches_of(tmp_path / "wide", reading))
        assert [place[1] for place in wide] == LINES
        assert {place[2] for place in wide} == {NOWHERE}
        for other in ({"encoding": "latin-1"}, {"has_fields": True}):
            reading = SourceOptions(**{"origins": row, "has_fields": False, **other})
            assert {place[2] for place in places(batches_of(tmp_path / "a", reading))} == {NOWHERE}


def test_after_a_line_that_is_too_long_origins_are_right(tmp_path, small, monkeypatch):
    monkeypatch.setattr(json_records, "DOCUMENT_BYTES_MAX", 400)
    monkeypatch.setattr(json_records, "PIECE_BYTES", 50)
    content = b"\n".join([*LINES[:20], b"x" * 2000, *LINES[20:40], b"y" * 777, *LINES[40:]])
    (tmp_path / "a").write_bytes(content)
    with Origins() as row:
        found = places(batches_of(tmp_path / "a", SourceOptions(origins=row, has_fields=False)))
        read = [place for place in found if place[2] != NOWHERE]
        texts, lines, starts, sizes = map(list, zip(*read, strict=True))

        assert [place[1] for place in found] == LINES
        assert len(read) > 20
        assert texts_of(row, starts, sizes) == texts
        assert lines_of(row, starts, sizes) == [line + b"\n" for line in lines]


def changed_later(path, changed):
    """Set other times, as a change after some seconds has them."""
    changed(path)
    if path.exists():
        os.utime(path, ns=(1, 1))


@pytest.mark.parametrize("open_files", [0, 64])
@pytest.mark.parametrize(
    ("change", "is_fine"),
    [
        (lambda path: None, True),
        (lambda path: path.open("ab").write(b'{"text": "more"}\n'), True),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"word", b"work")), False),
        (lambda path: path.write_bytes(path.read_bytes().replace(b'"59"', b'"95"')), True),
        (lambda path: path.write_bytes(b""), False),
        (lambda path: path.write_bytes(b"no JSON\n" * 999), False),
    ],
    ids=["touched", "longer", "other words", "another block", "cut", "other"],
)
def test_a_file_may_change_only_where_no_line_is_read(tmp_path, small, monkeypatch, open_files,
                                                      change, is_fine):  # fmt: skip
    monkeypatch.setattr(origins, "OPEN_FILES", open_files)
    path = tmp_path / "a"
    path.write_bytes(b"\n".join(LINES) + b"\n")
    with Origins() as row:
        found = places(batches_of(path, SourceOptions(origins=row, has_fields=False)))
        texts, lines, starts, sizes = map(list, zip(*found[:30], strict=True))
        changed_later(path, change)

        if is_fine:
            assert texts_of(row, starts, sizes) == texts
            assert lines_of(row, starts, sizes) == [line + b"\n" for line in lines]
            return
        for read in (partial(texts_of, row), partial(lines_of, row)):
            with pytest.raises(simdb.InputError, match="was changed while it was read; run the"):
                read(starts, sizes)


def overwritten(path):
    """Change a word in place, leave the size as it is, and put the time of the change back."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(LINES[2].replace(b"word", b"work"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("is_within_a_tick", [False, True])
def test_a_change_that_leaves_the_time_of_its_file_is_noticed(
    tmp_path, monkeypatch, is_within_a_tick
):
    monkeypatch.setattr(origins, "TICKS_NS", 60_000_000_000 if is_within_a_tick else 0)
    if is_within_a_tick:
        equal = (0, time.time_ns())
        monkeypatch.setattr(origins, "_identity", lambda descriptor: equal)
    path = tmp_path / "a"
    path.write_bytes(LINES[2] + b"\n")
    with Origins() as row:
        ((_, _, start, size),) = places(
            batches_of(path, SourceOptions(origins=row, has_fields=False))
        )
        time.sleep(0.05 * (not is_within_a_tick))  # longer than a tick, by which times are set
        overwritten(path)

        with pytest.raises(simdb.InputError, match="was changed while it was read; run the"):
            texts_of(row, [start], [size])


def test_a_file_that_was_replaced_or_removed_is_read_while_it_is_open(tmp_path, monkeypatch):
    for open_files in (64, 0):
        monkeypatch.setattr(origins, "OPEN_FILES", open_files)
        path = tmp_path / "a"
        path.write_bytes(b"\n".join(LINES))
        with Origins() as row:
            found = places(batches_of(path, SourceOptions(origins=row, has_fields=False)))
            texts, _, starts, sizes = map(list, zip(*found, strict=True))
            path.unlink()

            if open_files:
                assert texts_of(row, starts, sizes) == texts
                continue
            with pytest.raises(simdb.InputError, match=r"cannot be read again \(No such file"):
                texts_of(row, starts, sizes)


def test_a_document_with_an_origin_has_no_line(tmp_path, small):
    path = tmp_path / "a"
    path.write_bytes(b"\n".join([LINES[0], b"no JSON", LINES[1]]))
    with Origins() as row, opened(str(path)) as stream:
        reading = SourceOptions(origins=row, has_fields=False)
        found = [*json_records.read_lines(stream, str(path), reading)]

    assert [each.lines for each in found if isinstance(each, Batch)] == [None, None]
