"""Preparation of how-to pages: makes the files and names that a page takes for granted."""

import gzip
import json

HARBOUR = "the harbour master of Ostrand counts the ships that wait for the tide to turn at noon"
BREAD = "the town of Penby has found a third way to bake bread which needs neither salt nor oven"
NEST = "an entirely different text about birds which build their nests in the spring of the year"
LETTER = "my dear Ann the garden has been under water since the storm and no boat has come"
PAGES = [
    {"url": "a.org/1", "body": HARBOUR, "score": 1},
    {"url": "b.org/1", "body": HARBOUR + " today", "score": 5},
    {"url": "c.org/1", "body": NEST, "score": 2},
]


def write_lines(path, rows, opened=open):
    """Write records as JSON lines."""
    with opened(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def records(*texts, first=1):
    """Return records with numbers as ids."""
    return [{"id": str(first + at), "text": text} for at, text in enumerate(texts)]


def folder(place):
    """Make a folder with four letters, of which two are nearly the same, and one with two more."""
    (place / "letters" / "copies").mkdir(parents=True)
    for name, text in (
        ("ann", HARBOUR), ("copies/ann-2", HARBOUR + " today"), ("bob", BREAD), ("cleo", NEST),
    ):  # fmt: skip
        (place / "letters" / f"{name}.txt").write_text(text + "\n", encoding="utf-8")
    (place / "letters-2").mkdir()
    (place / "letters-2" / "ann.txt").write_text(f"{HARBOUR} tomorrow\n", encoding="utf-8")
    (place / "letters-2" / "dora.txt").write_text(f"{LETTER}\n", encoding="utf-8")


def large(place):
    """Make a file of records, and two compressed parts of a collection."""
    write_lines(place / "pages.jsonl", PAGES)
    for number, texts in ((1, (HARBOUR, BREAD)), (2, (HARBOUR + " today", NEST))):
        write_lines(
            place / f"part-{number}.jsonl.gz", records(*texts, first=number * 10), gzip.open
        )


def files(place):
    """Make the folders, the file and the parts."""
    folder(place)
    large(place)


def days(place):
    """Make the deliveries of four days."""
    write_lines(place / "monday.jsonl", records(HARBOUR, HARBOUR + " today", BREAD))
    write_lines(place / "tuesday.jsonl", records(BREAD + " at all", NEST, first=5))
    write_lines(place / "wednesday.jsonl", records(NEST, first=9))
    rows = [*records(LETTER, HARBOUR, first=11), *records(HARBOUR)]
    write_lines(place / "thursday.jsonl", rows)


def night(place):
    """Make two compressed parts of a crawl, in which one page of four repeats another."""
    (place / "night").mkdir()
    for number, texts in ((1, (HARBOUR, BREAD)), (2, (HARBOUR + " today", NEST))):
        rows = [{"url": f"a.org/{number}{at}", "text": text} for at, text in enumerate(texts)]
        write_lines(place / "night" / f"part-{number}.jsonl.gz", rows, gzip.open)


def crawls(place):
    """Make two compressed crawls, and three messages as a mailbox and in a folder.

    One page, and one message, is nearly the same as another.
    """
    texts = [HARBOUR, BREAD, f"{HARBOUR} today", NEST]
    pages = [
        ("response", "application/http", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
         f"<p>{text}</p>") for text in texts
    ]  # fmt: skip
    asked = ("request", "application/http", "GET / HTTP/1.1\r\n\r\n")
    about = ("warcinfo", "application/warc-fields", "software: a crawler\r\n")
    for number, records in ((1, [about, asked, *pages[:2]]), (2, [asked, *pages[2:]])):
        with open(place / f"night-{number}.warc.gz", "wb") as file:
            for kind, own, content in records:
                address = 2 * number - 1 + (content.endswith(("oven</p>", "year</p>")))
                head = (
                    f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://a.org/{address}\r\n"
                    f"WARC-Date: 2026-01-02T03:04:05Z\r\nContent-Type: {own}\r\n"
                    f"Content-Length: {len(content)}\r\n\r\n"
                )
                file.write(gzip.compress(f"{head}{content}\r\n\r\n".encode()))
    (place / "mails").mkdir()
    with open(place / "list.mbox", "w", encoding="utf-8") as box:
        for number, text in enumerate([HARBOUR, f"{HARBOUR} today", NEST], 1):
            message = (
                f"Message-ID: <{number}@ostrand.org>\nDate: Fri, 2 Jan 2026 03:04:05 +0000\n"
                "From: Ann <ann@ostrand.org>\n"
                f"Subject: =?utf-8?q?The_caf=C3=A9_at_the_harbour?=\n\n{text}\n"
            )
            box.write(f"From ann@ostrand.org Fri Jan  2 03:04:05 2026\n{message}\n")
            name = {1: "1", 2: "copy", 3: "2"}[number]
            (place / "mails" / f"{name}.eml").write_text(message, encoding="utf-8")


def parts(place):
    """Make pages that share lines, and one more."""
    harbour, letter = "the harbour master of Ostrand counts the ships", "to our weekly letter"
    texts = [
        f"{harbour}\nSubscribe {letter} now!\nHome",
        f"Subscribe {letter} now\nan entirely different text about birds\nHome",
        f"SUBSCRIBE {letter}, now!\n{harbour}\n",
    ]
    write_lines(place / "pages.jsonl", records(*texts))
    bread = "the town of Penby has found a third way to bake bread"
    write_lines(place / "more.jsonl", records(f"{bread}\nSubscribe {letter} now!", first=4))
    start, end = (
        "the office at the harbour will be closed for repairs from the morning of",
        "on until",
    )
    monday, friday = (
        f"{start} {day} {end} further notice by the board" for day in ("Monday", "Friday")
    )
    hours = "new opening hours are to be found at the gate"
    write_lines(place / "notices.jsonl", records(monday, f"{friday}\n{hours}"))


def thresholds(place):
    """Make records of which two are similar and others less similar."""
    half = HARBOUR.replace("wait for the tide", "lie at the quay")
    write_lines(place / "pages.jsonl", records(HARBOUR, HARBOUR + " today", half, BREAD, NEST))


def pages_database(place, simdb):
    """Make a database of two pages."""
    with simdb.open(place / "pages.simdb") as database:
        database.insert_many(["a", "b"], [HARBOUR, BREAD])


def led(place):
    """Make an old collection, and a new one with a copy of an old text and a new text."""
    write_lines(
        place / "old.jsonl",
        ({"id": f"old{at}", "text": text} for at, text in enumerate((HARBOUR, BREAD), 1)),
    )
    texts = (f"{HARBOUR} today", NEST, f"{NEST} again", LETTER)
    write_lines(
        place / "new.jsonl", ({"id": f"new{at}", "text": text} for at, text in enumerate(texts, 1))
    )


def leaking(place):
    """Make training data that contain two of three items of a test."""
    train = (
        "a train leaves the station at noon with ninety passengers and stops at every village until"
        " dusk how many get off at each stop if four are left"
    )
    planet = (
        "which planet of our system has the shortest day and why is it not the one that is nearest"
        " to the sun as most people would guess"
    )
    bakers = "how many loaves does a baker bake in nine days who bakes a dozen and a half each day"
    items = ((train, "ten or eleven"), (planet, "Jupiter"), (bakers, "one hundred and sixty-two"))
    write_lines(
        place / "test.jsonl",
        (
            {"id": f"q{at}", "question": question, "answer": answer}
            for at, (question, answer) in enumerate(items, 1)
        ),
    )
    wrapped = train.replace("every village", "every\nvillage").replace("at noon", "at ten")
    pages = (HARBOUR, f"{BREAD}\n{wrapped}\n{NEST}", NEST, f"Quiz: {planet.upper()}?")
    write_lines(
        place / "train.jsonl",
        ({"id": f"page{at}", "text": text} for at, text in enumerate(pages, 1)),
    )


def library(place):
    """Make a letter, and books of which two contain it: whole, and with a changed sentence."""
    letter = (
        "My dear Ann, the garden has been under water since the storm, and no boat has come. The"
        " roses stand in the sea up to their necks and the hens have moved into the church."
    )
    changed = letter.replace("the hens have moved", "three geese went away")
    more = " ".join(f"And chapter {number} tells of {BREAD}." for number in range(3))
    books = {
        "letters": f"{BREAD}. {letter} {HARBOUR}.",
        "novel": f"{more} He wrote: {changed} {HARBOUR} again.",
        "note": letter.partition(". ")[0] + ".",
        "birds": NEST,
    }
    (place / "letter.txt").write_text(f"{letter}\n", encoding="utf-8")
    write_lines(place / "library.jsonl", ({"id": id, "text": text} for id, text in books.items()))
