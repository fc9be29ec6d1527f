"""progress=: a function, a bar on a terminal, or nothing."""

import io

import pytest
from rich.console import Console

import simdb
from simdb.running import progress, progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def verbs(database, tmp_path):
    """Yield each verb with progress=, as a function of that argument, which may be called once."""
    ids = iter(range(10**6))
    texts = ["one two three", "four five six"]

    def some():
        return [next(ids), next(ids)]

    yield lambda shown: database.insert_many(some(), texts, progress=shown)
    yield lambda shown: database.add_many_if_new(some(), texts, progress=shown)
    yield lambda shown: database.insert_batch(some(), texts, progress=shown)
    yield lambda shown: simdb.fit_idf(texts, progress=shown)
    yield lambda shown: database.dump(tmp_path / f"dump{next(ids)}", progress=shown)
    database.dump(tmp_path / "dump")
    yield lambda shown: simdb.load(tmp_path / "dump", tmp_path / f"{next(ids)}", progress=shown)
    yield lambda shown: simdb.deduplicate(texts, progress=shown)
    yield lambda shown: simdb.write_sharded(
        tmp_path / f"s{next(ids)}", [(some(), texts)], 2, progress=shown
    )


def test_every_verb_takes_a_function_true_or_nothing(database, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr(progress_bar, "Bar", lambda: drawn.append)
    for verb in verbs(database, tmp_path):
        counts = []

        verb(counts.append)
        verb(None)
        verb(False)
        assert not drawn
        verb(True)

        assert counts
        assert drawn
        drawn.clear()
        with pytest.raises(simdb.OptionError, match="progress must be True for a bar, a function"):
            verb("yes")


def test_no_bar_is_drawn_where_no_terminal_is():
    assert progress.report_of(True) is None


def test_a_bar_shows_what_is_done_and_goes_when_it_is_dropped():
    file = Terminal()
    bar = progress_bar.Bar(Console(file=file, force_terminal=True, width=60))

    bar(12345)
    bar._bar.refresh()
    is_running = bar._bar.live.is_started
    live = bar._bar.live
    del bar

    assert is_running
    assert not live.is_started
    assert "12,345 documents" in file.getvalue()
