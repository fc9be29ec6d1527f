"""CSV and TSV: blocks parsed by pyarrow give what the standard library gives, row by row."""

import csv
import gzip
import io
from dataclasses import replace

import pytest
from batches import records_of
from hypothesis import example, given, strategies as st

from simdb.core import memory
from simdb.files import table_records
from simdb.files.content import CONTENT_ERRORS, opened, settled_encoding
from simdb.files.origins import Origins
from simdb.files.records import Batch, SourceOptions
from simdb.files.table_records import TableBlocks, TableParser, quoted, rows_of

SOME = SourceOptions(has_lines=False, has_fields=False)
ROWS = b'a,"x\n""y""\r\n"\r\n,two\n\nb"c,5" wide\n"d"e"f,"g"\n"h","open'

cells = st.text(st.sampled_from('ab",\n\r\t \u00e9\ufeff\u660e'), max_size=6)
usual = st.builds(
    lambda rows, delimiter, end: written(rows, delimiter, end),
    st.lists(st.lists(cells, min_size=1, max_size=3)), st.sampled_from(",\t"),
    st.sampled_from(["\n", "\r\n"]),
)  # fmt: skip
odd = st.lists(
    st.sampled_from([
        b'"', b'""', b",", b"\n", b"\r", b"\r\n", b"a", b"7", b'",', b',"', b'"\n', b'\n"', b" ",
        b"\t", b"\xe9", b"\xc3\xa9", b"\0", b"\xef\xbb\xbf", b"x,y\n", b"1,2\n",
    ]),
    max_size=30,
).map(b"".join)  # fmt: skip
heads = st.sampled_from([
    b"id,text\n", b"text\n", b"id,text,text\r\n", b'"i,\nd","text"\n', b"\xef\xbb\xbftext,id\n",
    b'\xef\xbb\xbf"text",id\r\n', b"id,text\r", b"id,body\n", b"\n", b"", b"id\ttext\n",
    b"t\xe9,text\n", b'id,text,"open\n',
])  # fmt: skip
readings = st.builds(
    lambda errors, has_int_ids: replace(SOME, errors=errors, has_int_ids=has_int_ids),
    st.sampled_from(["strict", "replace"]), st.booleans(),
)  # fmt: skip


def written(rows, delimiter, end):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=end).writerows(rows)
    return text.getvalue().encode()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("tables") / "a.csv"


def read_table(path, reading, delimiter):
    with opened(str(path)) as stream:
        encoding = settled_encoding(stream, reading.encoding)
        own = replace(reading, encoding=encoding)
        yield from table_records.read_table(stream, "a.csv", own, delimiter=delimiter)


def read(path, reading=SOME, delimiter=","):
    """Return the records and the problems of a table, in order, and its error if it has one."""
    found = []
    try:
        for each in read_table(path, reading, delimiter):
            found += records_of(each) if isinstance(each, Batch) else [each]
    except CONTENT_ERRORS as error:
        found.append(str(error))
    return found


def read_row_by_row(path, reading=SOME, delimiter=","):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_records, "_table", lambda *given: None)
        return read(path, reading, delimiter)


@given(
    head=heads, body=st.one_of(usual, odd), reading=readings, delimiter=st.sampled_from(",\t"),
    size=st.integers(1, 20), refused=st.sampled_from([0, 8, 1 << 14]),
)  # fmt: skip
@example(b"id,text\n", ROWS, SOME, ",", 1, 0)
@example(b"id,text\n", ROWS, SOME, ",", 20, 1 << 14)
@example(b"text\n", b'\xef\xbb\xbfa\n\xef\xbb\xbf"b"\n\n\r\n""\n', SOME, ",", 3, 0)
@example(b"id,text\n", b'1,a\n2,"b\rc"\n3\n4,d,e\n5,f\r6,g\n7,h\n', SOME, ",", 9, 0)
def test_pyarrow_finds_what_the_standard_library_finds(
    path, head, body, reading, delimiter, size, refused
):
    path.write_bytes(head + body)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "BLOCK_BYTES", size)
        patch.setattr(table_records, "REFUSED_BYTES", refused)
        found = read(path, reading, delimiter)

    assert found == read_row_by_row(path, reading, delimiter)


def test_a_row_that_pyarrow_refuses_has_few_neighbours(monkeypatch):
    monkeypatch.setattr(table_records, "REFUSED_BYTES", 64)
    content = b"1,aaaa\n" * 100 + b"one\n" + b"2,bbbb\n" * 100
    parser = TableParser(("id", "text"), SOME, ",")

    ((_, *block),) = TableBlocks([(0, content)], ",")
    parts = [*parser.parts(*block)]

    assert b"".join(part for part, _ in parts) == content
    assert sum(len(part) for part, columns in parts if columns is None) <= 64


@given(content=st.one_of(usual, odd), delimiter=st.sampled_from(",\t"))
def test_rows_end_where_those_of_the_standard_library_end(content, delimiter):
    content = content.replace(b"\r", b"").replace(b"\0", b"") + b'"\n"\n'
    lines = io.TextIOWrapper(io.BytesIO(content), "latin-1", newline="")

    rows = rows_of(content, quoted(content, delimiter))

    reader, line, firsts = csv.reader(lines, delimiter=delimiter), 0, []
    for row in reader:
        firsts += [line] if row else []
        line = reader.line_num
    # Only the last row can be without an end.
    assert firsts[: len(rows.lines)] == rows.lines.tolist()
    assert len(firsts) - len(rows.lines) <= 1


def test_a_row_without_an_end_leaves_the_rest_to_the_standard_library(path, monkeypatch):
    monkeypatch.setattr("simdb.files.table_records.DOCUMENT_BYTES_MAX", 64)
    monkeypatch.setattr(memory, "BLOCK_BYTES", 16)
    path.write_bytes(b'id,text\n1,a\n2,"b\n' + b"c,d\n" * 60 + b'3,"\n4,e\n')

    found = read(path)

    assert found == read_row_by_row(path)
    first, problem, last = found
    assert (first.id, last.id) == ("1", "4")
    assert problem.reason == "the row is longer than 0 MiB; split it"


def test_a_quote_that_is_never_closed_is_told_where_its_row_begins(path):
    # All rows after it were its text, without a word.
    path.write_bytes(b'id,text\n1,"a\nb"\n2,"c\n3,d\n4,e')

    first, problem = read(path)

    assert (first.id, first.text) == ("1", "a\nb")
    assert problem.where == "a.csv:4"
    assert problem.reason == "a quote in the row is never closed; close it"

    path.write_bytes(b'id,text\n1,a\n2,"b\nc"')
    assert [record.text for record in read(path)] == ["a", "b\nc"]


@pytest.mark.parametrize("is_packed", [False, True])
def test_texts_of_a_table_are_read_again_where_they_are(path, is_packed):
    content = b'id,text\n1,a\n2,"b\n""c"""\n3,d\n4,"e"'
    path = path.with_name("a.csv.gz") if is_packed else path
    path.write_bytes(gzip.compress(content, mtime=0) if is_packed else content)
    with Origins() as origins:
        origins.need()
        reading = replace(SOME, has_lines=True, origins=origins)
        (batch,) = read_table(path, reading, ",")

        texts = origins.texts(batch.origins[[1, 3]], batch.sizes[[1, 3]])

    assert [*texts] == ['b\n"c"', "e"]
    assert batch.lines is None
