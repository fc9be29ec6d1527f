"""Crawls and mail as sources of the commands, and of the verbs of Python that take paths."""

import gzip
import json
import os
from pathlib import Path

import pytest

import simdb

WORDS = [f"w{number}" for number in range(90)]
TEXTS = [" ".join(WORDS[start : start + 40]) for start in (0, 40)]
CHANGED = TEXTS[0].replace("w9 ", "")
LINE = "From a@b.org Thu Jan  1 10:00:00 2026\n"


def page(address, text, own="text/html"):
    body = f"HTTP/1.1 200 OK\r\nContent-Type: {own}\r\n\r\n<html><p>{text}</p>".encode()
    return (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {address}\r\n"
        f"WARC-Date: 2026-01-01T10:00:00Z\r\nContent-Type: application/http\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body + b"\r\n\r\n"  # fmt: skip


def message(name, text):
    return f"Message-ID: <{name}>\nSubject: {name}\n\n{text}\n"


@pytest.fixture
def run(simdb_run):
    """Run a command where two crawls and a mailbox are, each with one near-duplicate."""
    pages = [page("a.org/1", TEXTS[0]), page("a.org/i", "x", "image/png"), page("a.org/2", CHANGED)]
    Path("a.warc.gz").write_bytes(b"".join(map(gzip.compress, pages)))
    Path("b.warc").write_bytes(page("b.org/1", TEXTS[1]) + page("b.org/2", TEXTS[0]))
    mails = [message("1@c", TEXTS[0]), message("2@c", TEXTS[1]), message("3@c", CHANGED)]
    Path("c.mbox").write_text("".join(f"{LINE}{each}\n" for each in mails))
    os.mkdir("mails")
    for at, each in enumerate(mails):
        Path(f"mails/{at}.eml").write_text(each)
    return simdb_run


@pytest.fixture
def _has_library():
    pytest.importorskip("fastwarc")
    pytest.importorskip("selectolax")


def ids(name):
    return [json.loads(line)["id"] for line in Path(name).read_bytes().splitlines()]


@pytest.mark.usefixtures("_has_library")
def test_survivors_of_crawls_are_json_lines(run):
    ran = run("dedup", "a.warc.gz", "b.warc", "--markup", "html", "-o", "out.jsonl")

    assert ran.code == 0, ran.notes
    assert "1 record of crawls" in ran.notes
    assert ids("out.jsonl") == ["a.org/1", "b.org/1"]
    assert json.loads(Path("out.jsonl").read_bytes().splitlines()[0]) == {
        "id": "a.org/1", "text": f"<html><p>{TEXTS[0]}</p>", "date": "2026-01-01T10:00:00Z",
        "type": "text/html", "status": 200,
    }  # fmt: skip


@pytest.mark.usefixtures("_has_library")
def test_pages_of_a_crawl_that_are_read_as_text_get_the_hint(run):
    ran = run("dedup", "a.warc.gz", "-o", "out.jsonl")

    assert "--markup html" in ran.notes


@pytest.mark.usefixtures("_has_library")
def test_a_folder_gets_a_file_of_json_lines_for_each_crawl(run):
    ran = run("dedup", "a.warc.gz", "b.warc", "--markup", "html", "-o", "out/")

    assert ran.code == 0, ran.notes
    assert sorted(os.listdir("out")) == ["a.warc.jsonl.gz", "b.warc.jsonl"]
    assert ids("out/b.warc.jsonl") == ["b.org/1"]
    assert b'"a.org/1"' in gzip.decompress(Path("out/a.warc.jsonl.gz").read_bytes())


@pytest.mark.usefixtures("_has_library")
def test_a_damaged_member_is_named_and_the_exit_code_says_so(run):
    content = bytearray(Path("a.warc.gz").read_bytes())
    content[60] ^= 255
    Path("a.warc.gz").write_bytes(content)

    ran = run("dedup", "a.warc.gz", "-o", "out.jsonl")
    strict = run("dedup", "a.warc.gz", "-o", "other.jsonl", "--on-error", "raise")

    assert (ran.code, strict.code, os.path.exists("other.jsonl")) == (1, 2, False)
    assert "a.warc.gz:1: damaged gzip data" in ran.notes
    assert ids("out.jsonl") == ["a.org/2"]


@pytest.mark.usefixtures("_has_library")
def test_a_pipe_is_a_crawl_or_a_mailbox_by_its_first_bytes(run):
    crawl = run("dedup", "-", "-o", "a.jsonl", given=Path("a.warc.gz").read_bytes())
    mails = run("dedup", "-", "-o", "c.jsonl", given=Path("c.mbox").read_bytes())

    assert (crawl.code, mails.code) == (0, 0), crawl.notes + mails.notes
    assert (ids("a.jsonl"), ids("c.jsonl")) == (["a.org/1"], ["1@c", "2@c"])


@pytest.mark.usefixtures("_has_library")
def test_records_that_a_call_which_failed_left_out_are_not_counted_again(run):
    bad = page("a.org/3", "x").replace(b"<p>x", b"<p>\xff")
    Path("bad.warc").write_bytes(page("a.org/i", "x", "image/png") + bad)
    for _ in range(3):
        with pytest.raises(simdb.InputError, match="utf-8"):
            simdb.deduplicate("bad.warc")

    with pytest.warns(RuntimeWarning, match=r"^1 record of crawls left out"):
        simdb.deduplicate("a.warc.gz")


def test_an_id_that_repeats_ends_an_insertion_that_does_not_say_what_then(run):
    Path("d.mbox").write_text(Path("c.mbox").read_text() * 2)

    ran = run("insert", "db", "d.mbox")
    skipped = run("insert", "db", "d.mbox", "--on-conflict", "skip")
    deduplicated = run("dedup", "d.mbox", "-o", "d.jsonl")

    assert (ran.code, skipped.code, deduplicated.code) == (3, 0, 0)
    assert "'1@c' is taken, so nothing was inserted; use --on-conflict skip" in ran.notes
    with simdb.open("db", "r") as database:
        assert sorted(database) == ["1@c", "2@c", "3@c"]


@pytest.mark.parametrize(
    "command", [["dedup", "c.mbox"], ["decontaminate", "c.mbox", "--against", "mails"]]
)
def test_in_place_needs_an_output(run, command):
    ran = run(*command, "--in-place")

    assert (ran.code, ran.output) == (2, "")
    assert "--in-place says that -o may be one of the sources; give -o FILE" in ran.notes


def test_survivors_of_mail_are_json_lines_or_files(run):
    ran = run("dedup", "c.mbox", "-o", "c.jsonl")
    copied = run("dedup", "mails", "-o", "kept/")
    listed = run("dedup", "mails", "-o", "kept.jsonl")

    assert [each.code for each in (ran, copied, listed)] == [0, 0, 0], copied.notes
    assert ids("c.jsonl") == ids("kept.jsonl") == ["1@c", "2@c"]
    assert sorted(os.listdir("kept")) == ["0.eml", "1.eml"]
    assert Path("kept/0.eml").read_bytes() == Path("mails/0.eml").read_bytes()


def test_fields_of_mail_can_be_compared(run):
    ran = run("dedup", "c.mbox", "--text-field", "subject,text", "-o", "c.jsonl")

    assert ran.code == 0, ran.notes
    assert ids("c.jsonl") == ["1@c", "2@c"]


def test_python_reads_mail_by_its_path(run):
    result = simdb.deduplicate("c.mbox")
    folder = simdb.deduplicate("mails", id="subject")

    assert result.kept.tolist() == folder.kept.tolist() == [True, True, False]
    result.write("c.jsonl")
    assert ids("c.jsonl") == ["1@c", "2@c"]


def test_a_message_is_looked_up_by_its_text(run):
    run("dedup", "c.mbox", "--db", "seen")

    ran = run("query", "seen", "--file", "mails/1.eml")

    assert "2@c" in ran.output
