"""Blocks of lines hold every line of a file once and whole, wherever a block or a piece ends."""

import io
import tempfile

import pytest
from hypothesis import example, given, strategies as st

from simdb.core import memory
from simdb.files import json_records
from simdb.files.content import AMOUNT, CountedFile
from simdb.files.json_records import blocks, read_lines
from simdb.files.records import InputProblem, SourceOptions

LINES = st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line), max_size=30)


def written(content):
    """Return a file that holds some bytes, from whose beginning it is read."""
    file = tempfile.TemporaryFile("w+b", buffering=0)  # noqa: SIM115 - the test's `with` closes it
    file.write(content)
    file.seek(0)
    return file


@given(LINES, st.booleans(), st.integers(1, 40), st.integers(1, 9), st.integers(0, 3))
@example([b"", b""], False, 1, 1, 0)
def test_blocks_hold_all_lines_once(lines, is_ended, size, piece, start):
    content = b"\n".join(lines) + b"\n" * is_ended

    found = list(blocks(io.BytesIO(content).read1, size, piece, start=start))

    whole = content if content.endswith(b"\n") or not content else content + b"\n"
    assert b"".join(block for _, block in found) == whole
    assert all(block.endswith(b"\n") for _, block in found)
    stops = [at + len(block) for at, block in found]
    assert [at for at, _ in found] == [start, *stops][: len(found)]
    assert all(len(block) >= size for _, block in found[:-1])


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


def test_the_lines_before_a_failure_are_read_before_it_is_raised():
    content = b"".join(b"line %d\n" % at for at in range(100))
    stream = io.BytesIO(content)

    def failing(size):
        if stream.tell() + size > 300:
            raise OSError(5, "Input/output error")
        return stream.read1(size)

    found = blocks(failing, 1000, 10)

    assert next(found) == (0, content[: content.rindex(b"\n", 0, 300) + 1])
    with pytest.raises(OSError, match="Input/output error"):
        next(found)


def test_every_byte_is_counted_once(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\n' * 20_000)
    AMOUNT.begin()
    AMOUNT.expect([str(path)])
    with io.BufferedReader(CountedFile(str(path))) as stream:
        stream.peek(10)

        for _ in read_lines(stream, "a.jsonl", SourceOptions(text_field="text")):
            pass

    assert AMOUNT.share() == 1.0
