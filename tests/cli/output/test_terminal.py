"""Progress line: what it shows of the work that is done and left."""

import io

import pytest
from rich.console import Console

from simdb.cli.output import terminal
from simdb.cli.output.terminal import ProgressLine


@pytest.fixture
def shown(monkeypatch):
    """Returns the text of a line in which `show` was called with the arguments."""
    monkeypatch.setattr(terminal, "Console", lambda stderr: Console(file=io.StringIO(), width=120))

    def show(*calls, elapsed_seconds=0.0):
        line = ProgressLine(elapsed_seconds)
        for arguments in calls:
            line.show(*arguments)
        with line._bar.console.capture() as captured:
            line._bar.console.print(line._bar.get_renderable())
        line.stop()
        return captured.get()

    return show


def test_a_known_share_has_a_percentage_and_an_unknown_one_has_none(shown):
    known = shown(("reading: 5 documents", 0.25), elapsed_seconds=60)
    unknown = shown(
        ("reading: 5 documents", 0.25), ("reading: finding groups",), elapsed_seconds=60
    )

    assert "reading: 5 documents" in known
    assert " 25% " in known
    assert "reading: finding groups" in unknown
    assert "%" not in unknown
    assert known.count("0:01:00") == unknown.count("0:01:00") == 1


def test_the_time_left_of_another_part_counts_from_its_beginning(monkeypatch):
    clock = [1000.0]
    console = Console(file=io.StringIO(), width=120, get_time=lambda: clock[0])
    monkeypatch.setattr(terminal, "Console", lambda stderr: console)
    monkeypatch.setattr(terminal.time, "monotonic", lambda: clock[0])
    line = ProgressLine(600)
    line.show("reading: 1 document", 0.1)
    try:
        line.begin_part()
        for share in (0.25, 0.5, 0.75):
            clock[0] += 10
            line.show("writing: 5 documents", share)

        with console.capture() as captured:
            console.print(line._bar.get_renderable())
    finally:
        line.stop()

    assert "0:10:30 0:00:10" in captured.get()
