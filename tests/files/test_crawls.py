"""WARC: pages and texts are read, other records are counted, and what is damaged is named."""

import gzip
import io
import random
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from batches import records_of
from over import over

import simdb
from simdb.files import content, crawls
from simdb.files.records import Batch, InputProblem, SourceOptions
from simdb.files.sources import left_out_note, read_sources

pytest.importorskip("fastwarc")

PAGE = "<html><p>A page about a café, with words.</p></html>"
DATE = b"2026-01-02T03:04:05Z"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def brotli(text):
    return pytest.importorskip("brotli").compress(text)


def chunked(text, size=7):
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def response(body, kind=b"text/html; charset=utf-8", more=b"", newline=b"\r\n"):
    http = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%s\r\n" % (kind, more)
    return http.replace(b"\r\n", newline) + body


def record(address, body, kind=b"response", own=b"application/http; msgtype=response", more=b""):
    return (
        b"WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nWARC-Date: %s\r\n"
        b"Content-Type: %s\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n"
        % (kind, address, DATE, own, more, len(body), body)
    )


def page(name, text=PAGE, **settings):
    return record(b"http://a.org/" + name, response(text.encode(), **settings))


def written(name, records):
    """Write a file of records, each a member of gzip if the name says so."""
    packed = map(gzip.compress, records) if name.endswith(".gz") else records
    Path(name).write_bytes(b"".join(packed))
    return name


def read(name, **settings):
    """Return the records and the problems, and how many records were left out."""
    found = list(read_sources([name], replace(SourceOptions(), **settings)))
    records = [each for batch in found if isinstance(batch, Batch) for each in records_of(batch)]
    note = left_out_note()
    others = int(note.split()[0].replace(",", "")) if note else 0
    return records, [each for each in found if isinstance(each, InputProblem)], others


def texts(name, **settings):
    """Return the texts of a file without problems."""
    records, problems, _ = read(name, **settings)
    assert problems == []
    return [each.text for each in records]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    left_out_note()


@over("name", ["a.warc", "a.warc.gz"])
def test_pages_and_texts_are_documents_and_other_records_are_counted(name):
    others = [
        record(b"", b"software: x\r\n", b"warcinfo", b"application/warc-fields"),
        record(b"http://a.org/1", b"GET / HTTP/1.1\r\n\r\n", b"request"),
        record(b"http://a.org/i", response(b"\x89PNG\0", b"image/png")),
        record(b"http://a.org/1", response(b""), b"revisit"),
    ]
    text = record(b"http://a.org/t", response(b"plain", b"Text/Plain"))
    lone = record(b"<http://a.org/w>", "é".encode(), b"conversion", b"text/plain")
    written(name, [others[0], others[1], page(b"1"), others[2], text, others[3], lone])

    records, problems, left = read(name)

    assert (problems, left) == ([], 4)
    assert [(each.id, each.text, each.position, each.fields) for each in records] == [
        ("http://a.org/1", PAGE, 3, {"date": DATE.decode(), "type": "text/html", "status": 200}),
        ("http://a.org/t", "plain", 5, {"date": DATE.decode(), "type": "text/plain",
                                        "status": 200}),
        ("http://a.org/w", "é", 7, {"date": DATE.decode(), "type": "text/plain", "status": None}),
    ]  # fmt: skip


def test_what_the_writer_of_warcio_makes_is_read_as_warcio_reads_it():
    warcio = pytest.importorskip("warcio")
    drawn = random.Random(3)
    with open("w.warc.gz", "wb") as file:
        writer = warcio.WARCWriter(file, gzip=True)
        for at in range(200):
            headers = warcio.StatusAndHeaders(
                "200 OK",
                [("Content-Type", drawn.choice(["text/html", "text/plain", "image/gif"]))],
                protocol="HTTP/1.1",
            )
            body = io.BytesIO(f"<p>{at} {'word ' * drawn.choice([0, 9, 30000])}</p>".encode())
            kind = drawn.choice(["response", "response", "resource", "metadata"])
            given = {"http_headers": headers} if kind == "response" else {}
            writer.write_record(
                writer.create_warc_record(f"http://a/{at}", kind, payload=body, **given)
            )

    with open("w.warc.gz", "rb") as file:
        every = [
            (each.rec_headers["WARC-Target-URI"], each.content_stream().read().decode(),
             (each.http_headers or each.rec_headers)["Content-Type"], each.rec_type)
            for each in warcio.ArchiveIterator(file)
        ]  # fmt: skip
    records, problems, left = read("w.warc.gz")
    wanted = [
        (address, text)
        for address, text, kind, own in every
        if kind in ("text/html", "text/plain") and own in ("response", "resource")
    ]

    assert [(each.id, each.text) for each in records] == wanted
    assert (len(every), problems) == (200, [])
    assert len(wanted) + left == 200


@over(
    "encoding, pack",
    [
        ("gzip", gzip.compress), ("X-GZip", gzip.compress), ("deflate", zlib.compress),
        ("br", brotli), ("identity", bytes), ("", bytes),
        ("gzip, gzip", lambda text: gzip.compress(gzip.compress(text))),
        # The crawler has decoded it, and left the header as it was.
        ("gzip", bytes), ("deflate", bytes), ("br", bytes),
    ],
)  # fmt: skip
def test_what_servers_encode_is_decoded(encoding, pack):
    header, plain = b"Content-Encoding: %s\r\n" % encoding.encode(), PAGE.encode()
    written("a.warc", [
        record(b"1", response(pack(plain), more=header)),
        record(b"2", response(chunked(pack(plain)), more=CHUNKED + header)),
        record(b"3", response(pack(plain), more=CHUNKED + header)),
        record(b"4", response(pack(plain), more=header, newline=b"\n")),
    ])  # fmt: skip

    assert texts("a.warc") == [PAGE] * 4


@over(
    "encoding, body",
    [
        ("gzip", gzip.compress(PAGE.encode())[:-9]),
        ("gzip", gzip.compress(PAGE.encode())[:-9] + b"123456789"),
        ("gzip", gzip.compress(PAGE.encode())[:-2]),
        ("deflate", zlib.compress(PAGE.encode())[:-2]),
        ("br", b"\xff\xfe" + PAGE.encode()),
    ],
)
def test_a_page_whose_encoding_is_damaged_is_a_problem(encoding, body):
    header = b"Content-Encoding: %s\r\n" % encoding.encode()
    written("a.warc", [record(b"1", response(body, more=header)), page(b"2")])

    (after,), (problem,), _ = read("a.warc")

    assert (after.id, after.text) == ("http://a.org/2", PAGE)
    assert problem.where == "a.warc:1"
    assert f"cut off: its {encoding} is incomplete" in problem.reason


def test_an_empty_page_has_an_empty_text():
    header = b"Content-Encoding: gzip\r\n"
    empty = [record(b"1", response(body, more=header)) for body in (b"", gzip.compress(b""))]
    written("a.warc", empty)

    assert texts("a.warc") == ["", ""]


def test_a_page_whose_chunks_are_cut_off_is_a_problem():
    body = chunked(PAGE.encode())[:-20]
    written("a.warc", [record(b"1", response(body, more=CHUNKED)), page(b"2")])

    (after,), (problem,), _ = read("a.warc")

    assert after.id == "http://a.org/2"
    assert "chunks" in problem.reason


@over(
    "kind, body, text",
    [
        (b"text/html; charset=iso-8859-1", "<p>é".encode("latin-1"), "<p>é"),
        (b'text/html; Charset="windows-1251"', "<p>ю".encode("cp1251"), "<p>ю"),
        # The header of the server counts more than the page, and what is valid UTF-8 is UTF-8.
        (b"text/html; charset=koi8-r", '<meta charset="cp1251">ю'.encode("koi8-r"),
         '<meta charset="cp1251">ю'),
        (b"text/html; charset=koi8-r", "<p>ю".encode(), "<p>ю"),
        (b"text/html", '<meta charset="cp1251">ю'.encode("cp1251"), '<meta charset="cp1251">ю'),
        # A label that cannot be right, and one that nobody knows.
        (b"text/html; charset=utf-8", '<meta charset="cp1251">ю'.encode("cp1251"),
         '<meta charset="cp1251">ю'),
        (b"text/html; charset=none", "<p>é".encode(), "<p>é"),
        (b"text/plain; charset=utf-16", "two words".encode("utf-16-le"), "two words"),
        (b"text/plain", "two words".encode("utf-16"), "two words"),
        (b"text/html; charset=Shift_JIS", "<p>日本語".encode("cp932"), "<p>日本語"),
    ],
)  # fmt: skip
def test_charsets_are_those_of_the_server_and_then_of_the_page(kind, body, text):
    written("a.warc", [record(b"1", response(body, kind))])

    assert texts("a.warc") == [text]


def test_a_page_that_cannot_be_decoded_is_a_problem_or_is_replaced():
    written("a.warc", [record(b"1", response(b"<p>\xff\xff", b"text/html")), page(b"2")])

    (after,), (problem,), _ = read("a.warc")

    assert after.id == "http://a.org/2"
    assert (problem.where, "invalid utf-8 at byte 3" in problem.reason) == ("a.warc:1", True)
    assert texts("a.warc", errors="replace") == ["<p>\ufffd\ufffd", PAGE]
    assert texts("a.warc", encoding="latin-1") == ["<p>ÿÿ", PAGE]


def test_binary_content_under_the_name_of_a_page_is_a_problem():
    written("a.warc", [record(b"1", response(bytes(range(9)) * 99, b"text/html"))])

    records, (problem,), _ = read("a.warc")

    assert records == []
    assert "binary content" in problem.reason


@over("settings", [{"id_field": "date", "text_field": "id"}, {"fields": ("status", "type")}])
def test_fields_are_named_as_in_other_records(settings):
    written("a.warc", [page(b"1")])

    (found,), _, _ = read("a.warc", **settings)

    if "fields" in settings:
        assert found.fields == {"status": 200, "type": "text/html"}
    else:
        assert (found.id, found.text) == (DATE.decode(), "http://a.org/1")


def test_a_field_that_crawls_do_not_have_is_an_error():
    written("a.warc", [page(b"1")])

    with pytest.raises(simdb.InputError, match="no field 'body'"):
        read("a.warc", text_field="body", given=("body",))


def test_a_record_that_is_cut_off_anywhere_is_a_problem_and_those_before_it_are_read():
    records = [page(b"1"), page(b"2"), record(b"x", b"GET", b"request"), page(b"3")]
    whole = b"".join(records)
    ends = [sum(map(len, records[:at])) for at in range(5)]

    for stop in range(len(whole)):
        Path("a.warc").write_bytes(whole[:stop])
        found, problems, left = read("a.warc", format="warc")

        # The two empty lines after a record may be missing.
        complete = sum(end - 4 <= stop for end in ends[1:])
        assert len(found) + left == complete, stop
        is_between = any(end <= stop <= end or end - 4 <= stop <= end for end in ends)
        assert len(problems) == (0 if is_between else 1), stop


def test_a_member_that_is_cut_off_anywhere_costs_itself_alone():
    packed = [gzip.compress(page(b"%d" % at, PAGE + str(at))) for at in range(3)]

    for stop in range(1, len(packed[1])):
        Path("a.warc.gz").write_bytes(packed[0] + packed[1][:stop] + packed[2])
        found, problems, _ = read("a.warc.gz")

        assert [(each.id, each.text) for each in found] == [
            ("http://a.org/0", PAGE + "0"), ("http://a.org/2", PAGE + "2"),
        ], stop  # fmt: skip
        assert problems, stop
        assert all(each.where.startswith("a.warc.gz:") for each in problems)


def test_a_member_in_which_any_byte_is_changed_costs_itself_alone():
    drawn = random.Random(5)
    packed = [gzip.compress(page(b"%d" % at, PAGE + str(at)), mtime=0) for at in range(3)]

    for at in range(len(packed[1])):
        changed = bytearray(packed[1])
        changed[at] ^= drawn.randrange(1, 256)
        Path("a.warc.gz").write_bytes(packed[0] + changed + packed[2])
        found, problems, _ = read("a.warc.gz")

        others = [each.text for each in found if each.id != "http://a.org/1"]
        own = [each.text for each in found if each.id == "http://a.org/1"]
        assert others == [PAGE + "0", PAGE + "2"], at
        # The header of a member has bytes that say nothing, such as the time.
        assert (own == [PAGE + "1"] and not problems) or (own == [] and problems), at


def test_a_record_in_which_any_byte_is_changed_is_read_or_named():
    drawn = random.Random(5)
    records = [page(b"%d" % at, PAGE + str(at)) for at in range(3)]
    whole, start = b"".join(records), len(records[0])

    for at in range(start, start + len(records[1])):
        changed = bytearray(whole)
        changed[at] ^= drawn.randrange(1, 256)
        Path("a.warc").write_bytes(changed)
        found, problems, left = read("a.warc")

        assert found[0].text == PAGE + "0", at
        assert len(found) + len(problems) + left >= 3 or problems, at


def test_a_record_in_which_bytes_are_missing_does_not_swallow_the_next_one():
    whole = page(b"1", PAGE + "x" * 2000)
    records = [whole, page(b"2"), page(b"3"), page(b"4")]
    for count in range(5, 2000):  # with fewer, it reaches to the beginning of the next one
        short = whole.replace(b"x" * count, b"", 1)
        Path("a.warc").write_bytes(b"".join([short, *records[1:]]))

        found, problems, _ = read("a.warc")

        assert problems, count
        assert all(each.text == PAGE for each in found), count


def test_bytes_between_records_are_one_problem():
    written("a.warc", [page(b"1"), b"some\r\nother\r\nlines\r\n", page(b"2")])

    found, (problem,), _ = read("a.warc")

    # The first record does not end where its header says, as far as anybody can tell.
    assert [each.id for each in found] == ["http://a.org/1", "http://a.org/2"]
    assert problem.where == "a.warc:2"
    assert "no record" in problem.reason


def test_records_without_a_length_or_with_too_small_a_one_are_problems():
    short = page(b"1").replace(PAGE.encode(), PAGE.encode() + b"a\nb")
    written("a.warc.gz", [short, page(b"2"), page(b"3").replace(b"-Length", b"-Lengte")])

    (found,), problems, _ = read("a.warc.gz")

    assert found.id == "http://a.org/2"
    assert [each.where for each in problems] == ["a.warc.gz:1", "a.warc.gz:3"]


def test_a_record_that_is_too_long_is_a_problem_if_it_is_a_page(monkeypatch):
    monkeypatch.setattr(crawls, "DOCUMENT_BYTES_MAX", 500_000)
    long = PAGE + "x" * 600_000
    image = record(b"i", response(b"x" * 600_000, b"image/png"))
    packed = record(
        b"p", response(gzip.compress(long.encode()), more=b"Content-Encoding: gzip\r\n")
    )
    written("a.warc.gz", [page(b"1", long), image, packed, page(b"2")])

    found, problems, left = read("a.warc.gz")

    assert ([each.id for each in found], left) == (["http://a.org/2"], 1)
    assert [each.where for each in problems] == ["a.warc.gz:1", "a.warc.gz:3"]
    assert all("too long" in each.reason for each in problems)


@over("pack", [bytes, gzip.compress])
def test_the_first_bytes_say_that_a_file_without_an_ending_is_a_crawl(pack):
    Path("crawl").write_bytes(pack(page(b"1")))

    assert texts("crawl") == [PAGE]


@over("size", [1, 7, content.BUFFER_BYTES - 1, content.BUFFER_BYTES, 3 * content.BUFFER_BYTES + 1])
def test_members_of_gzip_of_any_size_are_read(size):
    drawn = random.Random(size)
    parts = [drawn.randbytes(size), b"", b"\n" * size, drawn.randbytes(size)]
    packed = [gzip.compress(part) for part in parts]
    Path("a.gz").write_bytes(packed[0] + packed[1] + bytes(9) + packed[2] + packed[3])

    for step in (1000, content.BUFFER_BYTES, 10**6):
        with content.opened("a.gz") as stream:
            found = b"".join(iter(lambda step=step, stream=stream: stream.read(step), b""))
        assert found == b"".join(parts)


def test_a_damaged_member_is_followed_by_the_next_one():
    drawn = random.Random(1)
    parts = [drawn.randbytes(3 * content.BUFFER_BYTES) for _ in range(3)]
    packed = [bytearray(gzip.compress(part)) for part in parts]
    packed[1][content.BUFFER_BYTES] ^= 1
    Path("a.gz").write_bytes(b"".join(packed))

    with content.opened("a.gz") as stream:
        first = stream.read(len(parts[0]))
        with pytest.raises(simdb.InputError, match="damaged gzip data"):
            stream.read(len(parts[1]))
        last = stream.read()

    assert (first, last) == (parts[0], parts[2])


def test_without_the_package_an_error_names_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fastwarc.warc", None)
    written("a.warc", [page(b"1")])

    with pytest.raises(simdb.OptionError, match="pip install fastwarc"):
        read("a.warc")
