"""The progress of a command that has several parts."""

import pytest

from simdb.cli.output import progress, terminal
from simdb.cli.output.progress import Progress


class Line:
    """Takes the place of the line on a terminal, and remembers what it is told."""

    def __init__(self, elapsed_seconds):
        self.told = LINES
        self.told.append(("made", None))

    def show(self, text, share=None):
        self.told.append((text, share))

    def begin_part(self):
        self.told.append(("another part", None))

    def stop(self):
        pass


LINES = []


@pytest.fixture
def told(monkeypatch):
    """What the line of a progress is told, on a terminal and without patience."""
    LINES.clear()
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(terminal, "ProgressLine", Line)
    return LINES


def test_each_part_is_shown_by_its_own_name(told):
    with Progress("reading") as shown:
        shown.show("5 documents", 0.5)
        shown.begin("finding groups")
        shown.begin("writing")
        shown.show("1 document", 0.25)

    assert [text for text, _ in told] == [
        "made", "reading: 5 documents", "another part", "finding groups", "another part",
        "writing", "writing: 1 document",
    ]  # fmt: skip
    assert told[-1] == ("writing: 1 document", 0.25)


def test_a_run_waits_for_a_writer_where_the_system_has_no_thread_to_say_so(monkeypatch):
    # A run of `dedup --db` under a limit of memory ended with "can't start new thread".
    def fail(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", fail)
    done = []
    with Progress("reading") as shown, shown.waiting("waiting for a writer"):
        done.append(1)

    assert done == [1]
