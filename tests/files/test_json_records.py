"""JSON lines: the kernel and the standard library give the same documents and messages.

Blocks hold every line once and whole, wherever a block or a piece ends.
"""

import io
import json
import os
import tempfile
import time
from dataclasses import replace

import pytest
from batches import records_of
from hypothesis import example, given, strategies as st
from over import over

from simdb.core import memory
from simdb.core.choices import DROP, KEEP
from simdb.files import json_records
from simdb.files.content import AMOUNT, CountedFile
from simdb.files.json_records import ColumnParser, FileRange, blocks, read_lines
from simdb.files.records import Batch, InputProblem, SourceOptions
from simdb.files.sources import read_sources

SOME = SourceOptions(has_lines=True, has_fields=False)
LONG_ID = b'{"id": "' + b"x" * 1024 + b'", "text": "x"}'
WIDE_ID = '{"id": "' + "\u660e" * 400 + '", "text": "x"}'
HUGE = b'{"text": "a", "n": ' + b"9" * 5000 + b"}"

numbers = st.one_of(
    st.integers(), st.floats(), st.sampled_from([2**63, 2**64, 10**30, -0.0, 1e308, True, False])
)
values = st.recursive(
    st.one_of(st.none(), numbers, st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner)),
    max_leaves=5,
)
names = st.sampled_from(["id", "text", "more", "te\\u0078t", "\u00e9", ""])
fields = st.lists(st.tuples(names, values), max_size=4)
good = st.builds(
    lambda id, text, rest: encoded([("id", id), ("text", text), *rest]),
    st.one_of(st.text(), st.integers(), st.none(), st.floats()), st.text(), fields,
)  # fmt: skip
broken = st.sampled_from([
    b"", b" ", b"\r", b"\x0c", b"null", b"[]", b'"text"', b"{", b"}", b"{}", b"\xef\xbb\xbf{}",
    b'\xef\xbb\xbf{"text": "a"}', b'{"text": "a"} {"text": "b"}', b'{"text": "a"}{"text": "b"}',
    b'{"text":', b'"a"}', b'{"text": "a"}\r', b'\x0b{"text": "a"}', b'{"text": "a"}\xc2\xa0',
    b'{"text": "\\ud800"}', b'{"text": "a", "n": "\\udfff"}', b'{"id": "\\ud800", "text": "a"}',
    b'{"text": "caf\xe9"}', b'{"text": "a", "n": "caf\xe9"}', b'{"text": "a", "\xff": 1}',
    b'{"text": "\xed\xa0\x80"}', b'{"text": "a\x00b"}', b'{"text": "a\\u0000b"}',
    b'{"id": NaN, "text": "a"}', b'{"id": 1e400, "text": "a"}', b'{"text": "a", "n": -Infinity}',
    b'{"id": 1.5, "text": "a"}', b'{"id": true, "text": "a"}', b'{"id": [1], "text": "a"}',
    b'{"id": "", "text": "a"}', b'{"id": null, "text": "a"}', b'{"id": -7, "text": "a"}',
    b'{"id": " 7 ", "text": "a"}', b'{"id": "seven", "text": "a"}', b'{"text": 3}',
    b'{"text": 3, "text": "b"}', b'{"text": "b", "text": 3}', b'{"text": "a", "n": 01}',
    b'{"text": "a",}', b'{"text": "a", "n": [1, 2}', b'{"body": "a"}', HUGE, LONG_ID,
    WIDE_ID.encode(), b'{"text": "' + b"long " * 2000 + b'"}', b"[" * 100_000,
])  # fmt: skip
settings = st.builds(
    lambda errors, has_int_ids, has_lines: replace(
        SOME, errors=errors, has_int_ids=has_int_ids, has_lines=has_lines
    ),
    st.sampled_from(["strict", "replace"]), st.booleans(), st.booleans(),
)  # fmt: skip


def encoded(pairs):
    """Write an object that can have a name twice, and surrogates as they are or escaped."""
    written = ", ".join(
        f"{json.dumps(name).replace(chr(92) * 2, chr(92))}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in pairs
    )
    return f"{{{written}}}".encode("utf-8", "surrogatepass").replace(b"\n", b" ")


def read(content, reading=SOME, name="a.jsonl"):
    """Return the records and the problems of JSON lines, in order."""
    found = []
    for each in json_records.read_lines(io.BufferedReader(io.BytesIO(content)), name, reading):
        found += records_of(each) if isinstance(each, Batch) else [each]
    return found


def read_line_by_line(content, reading=SOME, name="a.jsonl"):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ColumnParser, "parts", lambda self, block: [(block, None)])
        return read(content, reading, name)


@given(
    lines=st.lists(st.one_of(good, broken, st.binary()), max_size=12),
    ending=st.sampled_from([b"", b"\n", b"\r\n"]),
    reading=settings,
)
@example(lines=[b'{"text": "x", "n": 1', b'}{"text": "y"}'], ending=b"\n", reading=SOME)
@example(lines=[b'{"text": "a"} {"text": "b"}', b""], ending=b"\n", reading=SOME)
@example(lines=[b'{"text": "a", "n": [', b'], "id": 1}'], ending=b"\n", reading=SOME)
@example(lines=[HUGE, b'{"text": "a", "n": "caf\xe9"}'], ending=b"", reading=SOME)
@example(lines=[b'{"text": "a"}', b"", b'{"text": "b"}'], ending=b"\n", reading=SOME)
def test_the_kernel_finds_what_the_standard_library_finds(lines, ending, reading):
    content = b"\n".join(lines) + ending

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_records, "RUN_LINES", 1)
        found = read(content, reading)

    assert found == read_line_by_line(content, reading)


@over("named", [("text", "text"), ('t"', "id"), ("\\", "\x01"), ("\u00e9", "")])
def test_fields_have_any_names(named):
    text_field, id_field = named
    reading = replace(SOME, text_field=text_field, id_field=id_field)
    content = json.dumps({text_field: "a", id_field: "b"}).encode()

    (record,) = read(content, reading)

    assert [record] == read_line_by_line(content, reading)
    assert record.id == "b"


def test_lines_become_columns_between_lines_that_are_refused(monkeypatch):
    monkeypatch.setattr(json_records, "RUN_LINES", 2)
    good, two = b'{"text": "a"}\n', b'{"text": "a"} {"text": "b"}\n'
    parser = ColumnParser(SOME)

    def cut(*lines):
        parts = parser.parts(b"".join(lines))
        return [(len(part), None if batch is None else list(batch.texts)) for part, batch in parts]

    size, other = len(good), len(two)
    assert cut(good, good) == [(2 * size, ["a", "a"])]
    assert cut(good) == [(size, ["a"])]
    assert cut(good, two) == [(size + other, None)]
    assert cut(two, good, good, two) == [(other, None), (2 * size, ["a", "a"]), (other, None)]
    assert cut(good, b"\n", good, two) == [(2 * size + 1, ["a", "a"]), (other, None)]
    assert cut(good, b'{"text": 1}\n', good, b"{}\n") == [(2 * size + 15, None)]
    assert cut(b"\n", b" \n") == [(3, None)]


def test_texts_are_there_if_each_line_has_one():
    parser = ColumnParser(SOME)
    good = b'{"text": "a"}\n'

    assert list(parser.texts(good + good, 2)) == ["a", "a"]
    for other in (b'{"text": "a"} {"text": "b"}\n', b"\n", b"{}\n", b'{"text": 1}\n'):
        assert parser.texts(good + other, 2) is None


@given(st.lists(st.sampled_from([b"\n", b" \n", b'{"text": "a"}\n']), min_size=1))
def test_a_block_of_little_but_line_feeds_is_cut(lines):
    content = b"".join(lines)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_records, "HOLLOW_BYTES", 10)
        patch.setattr(json_records, "RUN_LINES", 1)
        parts = [part for part, _ in ColumnParser(SOME).parts(content)]
        cut = list(ColumnParser(SOME).parts(b"\n" * 40 + b'{"text": "a"}\n'))

    assert b"".join(parts) == content
    assert [batch is None for _, batch in cut] == [True] * (len(cut) - 1) + [False]
    assert len(cut) == 2


PLACES = [("t", "i"), ("m.b", "i.j"), ("t,u", "i"), ("t|u", "i|j"), (("t", "m.b"), "t")]
few = st.one_of(st.text(max_size=3), st.none())
some = st.one_of(
    few, st.integers(), st.floats(), st.lists(few, max_size=2),
    st.dictionaries(st.sampled_from(["b", "j"]), few),
)  # fmt: skip
records = st.dictionaries(st.sampled_from(["t", "u", "i", "j", "m", "m.b", "i.j"]), some)


@given(
    st.sampled_from(PLACES), st.lists(records, max_size=8), st.sampled_from([KEEP, DROP]),
    st.booleans(),
)  # fmt: skip
@example(("t,u", "i"), [{"t": "one", "u": "two"}, {"t": "three"}], KEEP, True)
@example(("t", "i,j"), [{"t": "one", "i": "x", "j": "y"}], KEEP, False)
@example(("|".join(f"t{at}" for at in range(40)), "i"), [{"t39": "one", "i": "x"}], KEEP, False)
def test_fields_are_found_as_by_the_standard_library(names, records, on_null, has_absent):
    """Paths, joined fields and alternatives."""
    text, id = names
    reading = replace(
        SOME, text_field=text, id_field=id, on_null=on_null, has_absent=has_absent, has_lines=True
    )
    content = b"".join(json.dumps(record).encode() + b"\n" for record in records)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_records, "RUN_LINES", 1)
        found = read(content, reading)

    assert found == read_line_by_line(content, reading)


@pytest.mark.parametrize("size", [1, 50, 1000])
def test_a_line_that_is_too_long_is_not_held_in_memory(monkeypatch, size):
    monkeypatch.setattr(memory, "BLOCK_BYTES", size)
    monkeypatch.setattr(json_records, "PIECE_BYTES", 10)
    monkeypatch.setattr(json_records, "DOCUMENT_BYTES_MAX", 100)
    content = b'{"text": "a"}\n' + b"x" * 1000 + b'\n{"text": "b"}\n' + b"y" * 500

    parts = [part for _, part in json_records.blocks(io.BytesIO(content).read1, size, 10)]
    found = read(content)

    assert max(map(len, parts)) < 300
    assert [each.where for each in found if isinstance(each, InputProblem)] == [
        "a.jsonl:2",
        "a.jsonl:4",
    ]
    assert [each.text for each in found if not isinstance(each, InputProblem)] == ["a", "b"]


def test_blank_lines_cost_little_and_count_as_lines(tmp_path):
    """400 MB of line feeds in a small gzip file took 100 seconds, a Python object for each line."""
    path = tmp_path / "a.jsonl"
    line = b'{"id": 1, "text": "one"}\n'
    path.write_bytes(b"\n" * 3_000_000 + line + b" \n" + b"\r\n" * 500_000 + b"[]")

    start = time.process_time()
    every = list(read_sources([str(path)], SourceOptions(threads=1)))
    seconds = time.process_time() - start

    batch, problem = every
    assert [(each.id, each.position) for each in records_of(batch)] == [("1", 3_000_001)]
    assert problem.where == f"{path}:3500003"
    assert seconds < 1


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


@given(LINES, st.booleans(), st.integers(1, 40), st.integers(1, 9), st.integers(4, 40))
@example([b"a" * 30, b"b"], True, 1, 1, 4)
def test_blocks_of_a_file_hold_all_lines_once(lines, is_ended, size, piece, longest):
    content = b"\n".join(lines) + b"\n" * is_ended
    whole = content if content.endswith(b"\n") or not content else content + b"\n"
    with pytest.MonkeyPatch.context() as patch, written(content) as file:
        patch.setattr(json_records, "PIECE_BYTES", piece)
        patch.setattr(json_records, "DOCUMENT_BYTES_MAX", longest)
        every = json_records.file_blocks(io.BufferedReader(file), size)
        found = [
            (at, each.read()[0] if isinstance(each, FileRange) else each) for at, each in every
        ]

    is_cut = max(map(len, content.split(b"\n"))) > longest
    assert is_cut or b"".join(block for _, block in found) == whole
    assert all(block.endswith(b"\n") for _, block in found)
    assert [content[at : at + 1] for at, _ in found] == [block[:1] for _, block in found] or is_cut
    assert is_cut or all(len(block) >= size for _, block in found[:-1])


def test_the_lines_of_a_range_before_a_failure_are_kept(monkeypatch):
    content = b"".join(b"line %d\n" % at for at in range(100))
    read = os.pread

    def failing(descriptor, size, start):
        if start >= 300:
            raise OSError(5, "Input/output error")
        return read(descriptor, min(size, 300 - start), start)

    monkeypatch.setattr(os, "pread", failing)
    with written(content) as file:
        found, failure = FileRange(file.fileno(), 0, len(content)).read()

    assert found == content[: content.rindex(b"\n", 0, 300) + 1]
    assert failure.errno == 5


def test_a_failure_in_a_file_is_a_problem_after_the_lines_before_it(monkeypatch, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "one"}\n' * 100)
    read = os.pread

    def failing(descriptor, size, start):
        if start >= 808:
            raise OSError(5, "Input/output error")
        return read(descriptor, min(size, 808 - start), start)

    monkeypatch.setattr(json_records, "_line_end", lambda descriptor, at, size: size)
    monkeypatch.setattr(os, "pread", failing)

    batch, problem = read_sources([str(path)], SourceOptions())

    assert len(batch) == 50
    assert "Input/output error" in problem.reason


def test_a_file_that_became_shorter_is_no_whole_file(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "one"}\n' * 100)
    monkeypatch.setattr(memory, "BLOCK_BYTES", 100)
    found = read_sources([str(path)], SourceOptions(threads=1))
    first = next(found)

    os.truncate(path, 1000)
    *batches, problem = found

    assert len(first) + sum(map(len, batches)) == 1000 // 16
    assert problem.reason == "it became shorter while it was read; read it again unchanged"


def test_what_follows_the_known_size_of_a_file_is_read(tmp_path):
    """Files of /proc have the size 0."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "one"}\n')
    with io.BufferedReader(CountedFile(str(path))) as stream, open(path, "ab") as more:
        every = json_records.file_blocks(stream, 1000)
        first = next(every)
        more.write(b'{"text": "two"}\n')
        more.flush()

        assert first == (0, FileRange(stream.fileno(), 0, 16))
        assert list(every) == [(16, b'{"text": "two"}\n')]
    assert list(read_sources(["/proc/self/comm"], SourceOptions(format="jsonl")))


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
