"""Ranges of lines hold every line of a file once and whole, wherever a range or a piece ends."""

import io
import os
import tempfile

import pytest
from hypothesis import example, given, strategies as st

from simdb.core import memory
from simdb.files import json_records
from simdb.files.content import AMOUNT, open_counted
from simdb.files.json_records import blocks, read_lines, read_range
from simdb.files.records import InputProblem, SourceOptions

LINES = st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line), max_size=30)


def written(content):
    """Return a file that holds some bytes, from whose beginning it is read."""
    file = tempfile.TemporaryFile("w+b", buffering=0)  # noqa: SIM115 - the test's `with` closes it
    file.write(content)
    file.seek(0)
    return file


@given(LINES, st.booleans(), st.integers(1, 40), st.integers(1, 9))
@example([b"", b""], False, 1, 1)
def test_ranges_hold_all_lines_once(lines, is_ended, size, sought):
    content = b"\n".join(lines) + b"\n" * is_ended
    with pytest.MonkeyPatch.context() as patch, written(content) as file:
        patch.setattr(json_records, "SOUGHT_BYTES", sought)
        ranges = list(json_records.line_ranges(file.fileno(), size))
        found = [read_range(file.fileno(), each) for each in ranges]

    whole = content if content.endswith(b"\n") or not content else content + b"\n"
    assert b"".join(each for each, _ in found) == whole
    assert all(each.endswith(b"\n") and failure is None for each, failure in found)
    assert [each.start for each in ranges] == [0, *(each.stop for each in ranges)][:-1]
    assert all(len(each) >= size for each, _ in found[:-1])


@given(LINES, st.booleans(), st.integers(1, 40), st.integers(1, 20))
def test_a_file_is_read_like_a_stream(lines, is_ended, size, longest):
    """Lines that are bad, empty or too long, too; the stream is cut into blocks in another way."""
    lines = [b'{"text": "%d"}' % at if b"1" in line else line for at, line in enumerate(lines)]
    content = b"\n".join(lines) + b"\n" * is_ended
    with pytest.MonkeyPatch.context() as patch, written(content) as file:
        patch.setattr(memory, "BLOCK_BYTES", size)
        patch.setattr(json_records, "DOCUMENT_BYTES_MAX", longest)
        reading = SourceOptions(text_field="text", threads=2)
        stream = io.BufferedReader(io.BytesIO(content))

        from_file = list(read_lines(io.BufferedReader(file), "a.jsonl", reading))
        from_stream = list(read_lines(stream, "a.jsonl", reading))

    assert documents(from_file) == documents(from_stream)


def documents(found):
    """Return each problem, and the place, the id and the text of each document."""
    every = []
    for each in found:
        if isinstance(each, InputProblem):
            every.append((each.where, each.reason))
        else:
            every += zip(each.positions.tolist(), each.ids, each.texts, strict=True)
    return every


def test_of_a_line_that_is_too_long_no_more_is_read_than_shows_it(monkeypatch):
    monkeypatch.setattr(json_records, "DOCUMENT_BYTES_MAX", 100)
    with written(b"a\n" + b"x" * 1000 + b"\nb\n") as file:
        ranges = list(json_records.line_ranges(file.fileno(), 2))
        found = [read_range(file.fileno(), each)[0] for each in ranges]

    assert found == [b"a\n", b"x" * 103 + b"\n", b"b\n"]


def test_the_lines_before_a_failure_are_returned_with_it(monkeypatch):
    content = b"".join(b"line %d\n" % at for at in range(100))
    real = os.pread

    def failing(descriptor, size, start):
        if start + size > 300:
            raise OSError(5, "Input/output error")
        return real(descriptor, size, start)

    monkeypatch.setattr(json_records, "PIECE_BYTES", 10)
    with written(content) as file:
        (wanted,) = json_records.line_ranges(file.fileno(), len(content))
        monkeypatch.setattr(json_records.os, "pread", failing)
        lines, failure = read_range(file.fileno(), wanted)

    assert lines == content[: content.rindex(b"\n", 0, 300) + 1]
    assert failure.errno == 5


def test_every_byte_is_counted_once(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\n' * 20_000)
    AMOUNT.begin()
    AMOUNT.expect([str(path)])
    with open_counted(str(path)) as stream:
        stream.peek(10)

        for _ in read_lines(stream, "a.jsonl", SourceOptions(text_field="text")):
            pass

    assert AMOUNT.share() == 1.0


def test_blocks_of_a_stream_are_cut_in_another_way():
    """Otherwise the comparison of files with streams would compare one way with itself."""
    content = b"a\nbb\nccc\n"
    with written(content) as file:
        ranges = [each.stop - each.start for each in json_records.line_ranges(file.fileno(), 3)]

    assert ranges != [len(block) for _, block in blocks(io.BytesIO(content).read1, 3)]
