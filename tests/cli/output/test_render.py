"""Result rows on a terminal and in a pipe."""

import io
import json

import pytest
from over import over

from simdb.cli.output import render
from simdb.cli.output.render import cell, plain, print_one, print_rows, shortened


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def show(monkeypatch):
    """Returns a function that makes standard output a terminal of 100 columns."""

    def start():
        stream = Terminal()
        monkeypatch.setattr("sys.stdout", stream)
        return stream

    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    return start


def test_a_note_on_a_terminal_is_cut_between_words_and_in_a_file_it_is_one_line(show, monkeypatch):
    """A terminal cuts a long line wherever its last column is."""
    note = "words of a long note " * 9 + "and /a/path/" + "without-an-end/" * 9
    terminal, file = Terminal(), io.StringIO()
    show()
    for stream in (terminal, file):
        monkeypatch.setattr("sys.stderr", stream)
        render.print_note(note)

    lines = terminal.getvalue().splitlines()
    assert file.getvalue() == f"{note}\n"
    assert " ".join(lines) == note
    assert len(lines) == 3
    assert [len(line) <= 100 for line in lines] == [True, True, False]
    assert lines[-1] == note.rsplit(maxsplit=1)[-1]


def row(id):
    return {"id": id, "distance": 3, "similarity": 0.9123456}


def test_a_terminal_shows_a_table(show):
    terminal = show()
    count = print_rows([row("a"), row("b")], ("id", "distance", "similarity"))

    lines = terminal.getvalue().splitlines()
    assert count == 2
    assert lines[0].split() == ["id", "distance", "similarity"]
    assert lines[1].split() == ["a", "3", "0.912"]


@over("as_json", [True, False])
def test_what_would_control_a_terminal_is_escaped_there(show, as_json, monkeypatch):
    terminal, odd = show(), "a\x9b31mb\u202ec\u2066d\x1b[2Je\U000e0001f"
    monkeypatch.setattr(render, "wants_json", lambda: as_json)
    print_rows([row(odd)], ("id",))

    shown = terminal.getvalue()
    assert shown.replace("\n", "").isprintable()
    assert not as_json or json.loads(shown) == row(odd)


def test_rows_are_shown_while_they_arrive(show, monkeypatch):
    terminal = show()
    monkeypatch.setattr(render, "TABLE_ROWS", 2)
    seen = []

    def rows():
        for at in range(5):
            seen.append(len(terminal.getvalue()))
            yield row(str(at))

    assert print_rows(rows(), ("id",)) == 5
    assert seen[0] == seen[1] == 0
    assert seen[4] > seen[2] > 0


@over(
    ("id", "shown"),
    [
        ("[red]no colour[/red]", "[red]no colour[/red]"),
        ("[/]", "[/]"),
        (":smile:", ":smile:"),
        ("a\x1b[31mb\x07\r\n", r"a\x1b[31mb\x07\r\n"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\udcff.txt", r"\udcff.txt"),
        ("\u660e\u6708", "\u660e\u6708"),
        (b"\xff", r"b'\xff'"),
        (7, "7"),
    ],
)
def test_control_characters_of_an_id_are_escaped(show, id, shown):
    terminal = show()
    print_rows([row(id)], ("id", "distance"))

    assert terminal.getvalue().splitlines()[1].split("  ")[0].strip() == shown


def test_a_very_long_id_loses_its_middle(show):
    terminal = show()
    long = "start-" + "x" * 5000 + "-end"

    print_rows([row(long)], ("id", "distance"))

    assert len(terminal.getvalue()) < 1000
    assert shortened(long).startswith("start-")
    assert shortened(long).endswith("-end")
    assert "\u2026" in shortened(long)


def test_a_group_takes_a_line_for_each_of_its_first_members(show):
    terminal = show()
    few = [{"id": "b", "distance": 1, "similarity": 0.9876, "text": "a fox"}]
    many = [{"id": f"d{at}", "distance": 1, "similarity": None} for at in range(1005)]
    rows = [
        {"representative": "a", "size": 2, "text": "the fox", "duplicates": few},
        {"representative": "c", "size": 1006, "duplicates": many},
    ]

    count = print_rows(rows, ("representative", "text", "size", "duplicates"))

    lines = [line.rstrip() for line in terminal.getvalue().splitlines()]
    assert count == 2
    assert lines == [
        "size  similarity  document",
        "   2              a",
        "                    the fox",
        "           0.988    b",
        "                      a fox",
        "1006              c",
        *[f"                    d{at}" for at in range(5)],
        "                    and 1,000 more",
    ]


def test_a_text_is_shown_as_far_as_it_was_asked_for_below_its_first_word(show):
    terminal, text = show(), " ".join(f"word{at}" for at in range(30))
    group = {"representative": "a", "size": 2, "text": text, "duplicates": []}

    print_rows([group], ("representative", "text", "size", "duplicates"))
    print_rows([{"id": "a", "text": text}], ("id", "text"))

    lines = terminal.getvalue().splitlines()
    shown = " ".join(" ".join(lines).split())
    assert [line[:12] for line in lines[2:4]] == [" " * 8 + "word"] * 2
    assert shown.count(text) == 2


def test_a_long_id_of_a_group_has_the_whole_width(show):
    terminal = show()
    path = "folder/" * 9 + "name.txt"
    rows = [{"representative": "first", "size": 2, "ids": ["first", path]}]

    print_rows(rows, ("representative", "size", "ids"))

    lines = [line.rstrip() for line in terminal.getvalue().splitlines()]
    assert lines == ["size  document", "   2  first", f"        {path}"]


def test_one_row_is_shown_field_by_field(show):
    terminal = show()
    print_one({"path": "db", "options": {"sketch": {"shingle": 3}}, "runs": []})

    assert ["options", "sketch", "shingle", "3"] in map(str.split, terminal.getvalue().splitlines())


def test_json_is_ascii_if_the_output_is_not_utf_8(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr("sys.stdout", stream)

    print_rows([row("\u660e")], ("id",))

    stream.flush()
    assert stream.buffer.getvalue().startswith(b'{"id": "\\u660e"')


def test_an_unknown_value_is_an_empty_cell():
    assert cell(None) == ""
    assert plain("") == ""
