"""Mail: the texts of mailboxes and of single messages, by their ids; what is damaged is named."""

import email.message
import gzip
import mailbox
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from batches import records_of
from over import over

import simdb
from simdb.files import mail
from simdb.files.records import Batch, InputProblem, SourceOptions
from simdb.files.sources import read_one, read_sources

LINE = b"From a@b.org Thu Jan  1 10:00:00 2026\n"
HEADER = b"Message-ID: <1@b.org>\nDate: Thu, 1 Jan 2026 12:00:00 +0200\nFrom: A <a@b.org>\n"
FIELDS = {"date": "2026-01-01T10:00:00Z", "from": "A <a@b.org>", "subject": None}


def read(*names, **settings):
    """Return the records and the problems of sources."""
    found = list(read_sources(names, replace(SourceOptions(), **settings)))
    records = [each for batch in found if isinstance(batch, Batch) for each in records_of(batch)]
    return records, [each for each in found if isinstance(each, InputProblem)]


def text_of(content, **settings):
    """Return the text of one message."""
    Path("a.eml").write_bytes(content)
    (found,), problems = read("a.eml", **settings)
    assert problems == []
    return found.text


def parts(*every, kind="mixed", boundary=b"XX", is_closed=True):
    """Return a message of parts, each a header and a body."""
    body = b"".join(b"--%s\n%s\n\n%s\n" % (boundary, *each) for each in every)
    end = b"--%s--\n" % boundary if is_closed else b""
    return b"Content-Type: multipart/%s; boundary=%s\n\n%s%s" % (
        kind.encode(), boundary, body, end,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_messages_of_a_mailbox_are_documents():
    Path("a.mbox").write_bytes(
        LINE + HEADER + b"Subject: =?utf-8?q?caf=C3=A9?= and\n tea\n\nOne.\n\n"
        + LINE + b"Subject: none\n\nFrom here on, no line.\n>From a\n"
    )  # fmt: skip

    (first, second), problems = read("a.mbox")

    assert problems == []
    assert (first.id, first.text, first.position) == ("1@b.org", "One.\n", 1)
    assert first.fields == {**FIELDS, "subject": "café and tea"}
    assert (second.id, second.text) == ("a.mbox:2", "From here on, no line.\nFrom a\n")
    assert second.fields == {"date": None, "from": None, "subject": "none"}


def test_what_the_standard_library_writes_is_read_as_it_reads_it():
    drawn = random.Random(2)
    box = mailbox.mbox("a.mbox")
    wanted = []
    for at in range(100):
        message = email.message.EmailMessage()
        text = "".join(drawn.choices(["From me\n", "words\n", "\n", "äöü\n", "=20\n"], k=20)) + "\n"
        message["Message-ID"] = f"<{at}@b.org>"
        message.set_content(text, cte=drawn.choice(["base64", "quoted-printable", "8bit"]))
        if at % 3 == 0:
            message.add_attachment("an attachment", filename="a.txt")
        if at % 3 == 1:
            message.add_alternative("<p>words</p>", subtype="html")
        box.add(message)
        wanted.append((f"{at}@b.org", text.strip()))
    box.close()

    found, problems = read("a.mbox")

    assert problems == []
    assert [(each.id, each.text.strip()) for each in found] == wanted


@over("name", ["a.mbox.gz", "mailbox", "2026-January.txt"])
def test_the_first_bytes_say_that_a_file_is_a_mailbox(name):
    content = LINE + HEADER + b"\nOne.\n"
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)

    (found,), _ = read(name)

    assert (found.id, found.text) == ("1@b.org", "One.\n")


@over("content", [b"From Rome at 10:30, in 2026, he wrote\nthat all is well.\n", b"From a\nb: c\n"])
def test_a_text_that_begins_like_a_mailbox_is_one_document(content):
    Path("a.txt").write_bytes(content)

    (found,), _ = read("a.txt")

    assert found.text == content.decode()


@over(
    "content, text",
    [
        (parts((b"Content-Type: text/html", b"<p>a"), (b"X: y", b"footer")), "<p>a\n\nfooter"),
        (parts((b"Content-Type: text/html", b"<p>a")), "<p>a"),
        (parts((b"Content-Disposition: attachment", b"a"), (b"X: y", b"b")), "b"),
        (parts((b"Content-Type: text/plain; name=a.patch", b"a"), (b"X: y", b"b")), "a\n\nb"),
        (
            parts((b"X: y", b"a\n\n"), (b"Content-Type: image/png", b"x"), (b"X: y", b"\nb\n")),
            "a\n\nb",
        ),
        (parts((b"X: y", b"a"), (b"X: y", b""), (b"Content-Type: text/x-patch", b"b")), "a\n\nb"),
        (parts((b"X: y", b""), (b"X: y", b"\n")), ""),
        (parts((b"Content-Type: message/rfc822", b"Subject: a\n\na"), (b"X: y", b"b")), "b"),
        (
            parts((parts((b"X: y", b"a"), boundary=b"Y").split(b"\n\n", 1)), (b"X: y", b"b")),
            "a\n\nb",
        ),
        (b"Content-Type: multipart/mixed; boundary=X\n\nno part\n", "no part\n"),
        (b"Content-Type: text/plain; charset=koi8-r\n\n" + "ю".encode("koi8-r"), "ю"),
        (b"Content-Type: text/plain; charset=x-unknown\n\n" + "ю".encode(), "ю"),
        (b"Content-Transfer-Encoding: base64\n\nw6k=\n", "é"),
        (b"Content-Transfer-Encoding: quoted-printable\n\n=C3=\n=A9", "é"),
        (b"Subject: a\r\n\r\nlines\r\n", "lines\r\n"),
        # Another part than the text has no end.
        (parts((b"X: y", b"a"), (b"Content-Type: image/png", b"b"), is_closed=False), "a"),
    ],
)
def test_the_text_is_all_parts_that_are_text(content, text):
    assert text_of(b"From: a\n" + content) == text


PLAIN, HTML = (b"Content-Type: text/plain", b"a"), (b"Content-Type: text/html", b"<p>a")
OTHER, EMPTY = (b"Content-Type: text/calendar", b"c"), (b"Content-Type: text/plain", b"\n")


@over(
    "every, text",
    [
        ([PLAIN, HTML], "a"), ([HTML, PLAIN], "a"), ([OTHER, HTML], "<p>a"), ([OTHER], "c"),
        ([EMPTY, HTML], "<p>a"), ([EMPTY], "\n"), ([(b"Content-Type: image/png", b"x")], None),
    ],
)  # fmt: skip
def test_of_alternatives_one_is_the_text_and_a_footer_follows_it(every, text):
    inner = parts(*every, kind="alternative", boundary=b"Y")
    whole = parts(tuple(inner.split(b"\n\n", 1)), (b"X: y", b"footer"))
    footed = "footer" if text is None else f"{text}\n\nfooter".lstrip("\n")

    assert text_of(b"From: a\n" + whole) == footed
    assert text is None or text_of(b"From: a\n" + inner) == text


def test_a_mailbox_has_the_texts_of_its_messages():
    """Lines like those before a message have `>`, and an empty line follows each message."""
    drawn = random.Random(5)
    for _ in range(60):
        lines = [b"From a\n", b">From a\n", b">>From a\n", b"> From a\n", b"\n", b"words\n", b" \n"]
        bodies = [b"".join(drawn.choices(lines, k=drawn.randrange(6))) for _ in range(3)]
        quoted = [re.sub(rb"^(>*From )", rb">\1", each, flags=re.MULTILINE) for each in bodies]
        newline = drawn.choice([b"\n", b"\r\n"])
        box = b"".join(LINE + HEADER + b"\n" + each + b"\n" for each in quoted)
        Path("a.mbox").write_bytes(box.replace(b"\n", newline))

        found, problems = read("a.mbox")

        single = [text_of((HEADER + b"\n" + each).replace(b"\n", newline)) for each in bodies]
        assert ([each.text for each in found], problems) == (single, [])


@over(
    "header, shown",
    [
        (b"=?iso-8859-1?q?=E9?= =?utf-8?b?w6k=?=", "éé"), (b"plain", "plain"), (b"", ""),
        (b"=?utf-8?b?w?=", "w"), (b"=?none?q?a?=", "a"), (b"\xff", "\ufffd"),
    ],
)  # fmt: skip
def test_headers_are_decoded_as_far_as_they_can_be(header, shown):
    Path("a.eml").write_bytes(b"Subject: " + header + b"\n\na")

    (found,), _ = read("a.eml")

    assert found.fields["subject"] == shown


@over("date", [b"yesterday", b"Thu, 99 Jan 2026 12:00:00 +0200", b"", b"\xff"])
def test_a_date_that_is_none_is_null(date):
    Path("a.eml").write_bytes(b"Date: " + date + b"\n\na")

    (found,), _ = read("a.eml")

    assert found.fields["date"] is None


def test_a_message_without_a_text_is_a_null():
    Path("a.eml").write_bytes(
        HEADER + parts((b"Content-Disposition: attachment; filename=a", b"a"))
    )

    (kept,), _ = read("a.eml", on_null="keep")
    none, (problem,) = read("a.eml")

    assert (kept.id, kept.text, none) == ("1@b.org", "", [])
    assert "null" in problem.reason


@over(
    "content, reason",
    [
        (b"no header at all\n", "header"), (b"", "header"),
        (b"Subject: a\nno field\n\nb", "header"),
        (b"Content-Type: text/plain; charset=utf-8\n\n\xff\xff\xff", "utf-8"),
        (b"Content-Transfer-Encoding: base64\n\nw6kx\nw6", "cut off"),
        (parts((b"X: y", b"a"), is_closed=False), "cut off"),
        (b"X: y\n\n" + b"\0\1\2" * 99, "binary"),
        (b"Content-Type: text/plain; charset*=a\0b''x\n\na", "damaged"),
    ],
)  # fmt: skip
def test_damaged_messages_are_problems_and_the_others_are_read(content, reason):
    Path("a.mbox").write_bytes(LINE + content + b"\n\n" + LINE + HEADER + b"\nOne.\n")
    Path("a.eml").write_bytes(content)

    (found,), (problem,) = read("a.mbox")
    _, (single,) = read("a.eml")

    assert (found.id, problem.where, single.where) == ("1@b.org", "a.mbox:1", "a.eml")
    assert reason in problem.reason
    assert reason in single.reason


def test_any_bytes_are_read_or_named():
    drawn = random.Random(4)
    whole = HEADER + parts(
        (b"Content-Type: text/plain; charset=utf-8; name*=utf-8''a", "é".encode()),
        (b"Content-Type: text/html\nContent-Transfer-Encoding: base64", b"w6k="),
    )

    for at in range(len(whole)):
        changed = bytearray(whole[: drawn.choice([at, len(whole)])])
        changed[at : at + 1] = drawn.choice([b"", b"\xff", b"\0", b"\n", b"*"])
        Path("a.mbox").write_bytes(LINE + changed + b"\n\n" + LINE + HEADER + b"\nOne.\n")

        found, problems = read("a.mbox", on_null="keep")

        assert len(found) + len(problems) == 2, changed
        assert found[-1].text == "One.\n", changed


def test_a_message_that_is_too_long_is_a_problem(monkeypatch):
    monkeypatch.setattr(mail, "DOCUMENT_BYTES_MAX", 1000)
    Path("a.mbox").write_bytes(LINE + HEADER + b"\n" + b"words\n" * 999 + b"\n" + LINE + HEADER)

    (found,), (problem,) = read("a.mbox")

    assert (found.position, problem.where) == (2, "a.mbox:1")
    assert "split it" in problem.reason


def test_a_folder_of_messages_has_a_document_in_each():
    Path("mails/sub").mkdir(parents=True)
    Path("mails/a.eml").write_bytes(HEADER + b"\nOne.\n")
    Path("mails/sub/b.EML").write_bytes(b"Subject: b\n\nTwo.\n")
    Path("mails/c.txt").write_bytes(b"Three.\n")

    found, problems = read("mails")

    assert problems == []
    assert [(each.id, each.text) for each in found] == [
        ("1@b.org", "One.\n"), ("mails/c.txt", "Three.\n"), ("mails/sub/b.EML", "Two.\n"),
    ]  # fmt: skip


def test_a_message_is_a_query():
    Path("a.eml").write_bytes(HEADER + b"\nOne.\n")
    Path("b.eml").write_bytes(b"none")

    assert read_one("a.eml", SourceOptions()) == "One.\n"
    with pytest.raises(simdb.InputError, match=r"b\.eml: a mail"):
        read_one("b.eml", SourceOptions())
