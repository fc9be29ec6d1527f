"""The hint that a text looks like HTML."""

from over import over

import simdb
from simdb.sources.content import markup_hint

PLAIN = simdb.Simhash()
HTML = simdb.Simhash(markup="html")


@over(
    "text",
    [
        "<!DOCTYPE html>\n<html>", "<HTML lang=en>", " \n<!-- a\ncomment --> <head>", "<p>text</p>",
        '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml">',
    ],
)  # fmt: skip
def test_a_text_that_begins_like_html_gets_a_hint(text):
    hint = markup_hint(text, "page", PLAIN)

    assert hint is not None
    assert hint.startswith("page: this looks like HTML")
    assert markup_hint(text, "page", HTML) is None


@over("text", ["", "text <b>bold</b>", "<stdio.h>", "<pages>", "< p", "1 < 2"])
def test_other_text_gets_no_hint(text):
    assert markup_hint(text, "page", PLAIN) is None


def test_a_run_gives_the_hint_once(simdb_run, tmp_path):
    (tmp_path / "f").mkdir()
    for name in "abc":
        (tmp_path / "f" / name).write_text(f"<html><body>{name}</body></html>")

    ran = simdb_run("dedup", "f")

    assert ran.notes.count("looks like HTML") == 1
    assert "f/a: this looks like HTML" in ran.notes
    assert "HTML" not in simdb_run("dedup", "f", "--quiet").notes
