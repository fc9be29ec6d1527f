"""progress=: a function, a bar on a terminal, or nothing; the stages of a job and their times."""

import io
import json
import time

import pytest
from rich.console import Console

import simdb
from simdb.cli.app import app
from simdb.cli.output.progress import stage_lines
from simdb.core import progress
from simdb.core.progress import Timings
from simdb.core.threads import mapped


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
    monkeypatch.setattr(progress, "Bar", lambda: drawn.append)
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
    assert progress.report_of(True) is progress.ignored


def test_a_bar_shows_what_is_done_and_goes_when_it_is_dropped():
    file = Terminal()
    bar = progress.Bar(Console(file=file, force_terminal=True, width=60))

    bar(12345)
    bar._bar.refresh()
    is_running = bar._bar.live.is_started
    live = bar._bar.live
    del bar

    assert is_running
    assert not live.is_started
    assert "12,345 documents" in file.getvalue()


def busy(seconds):
    """Use the processor for some time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_work_of_threads_can_be_shared_and_that_of_the_caller_cannot():
    timings = Timings()
    timings.begin("first")
    list(mapped(busy, [0.02] * 6, 1))
    timings.note = "a way"
    timings.begin("second")
    busy(0.05)
    timings.end()
    timings.end()

    first, second = timings.stages

    assert [(each.name, each.note) for each in timings.stages] == [
        ("first", "a way"),
        ("second", ""),
    ]
    assert first.parallel > 0.5
    assert second.parallel < 0.5
    assert first.processor_seconds > 0.11
    assert first.seconds + second.seconds == timings.whole().seconds
    assert second.parallel <= timings.whole().parallel <= first.parallel


def test_work_within_work_counts_once():
    timings = Timings()
    timings.begin("only")
    list(mapped(lambda seconds: list(mapped(busy, [seconds] * 2, 1)), [0.02] * 2, 2))
    timings.end()

    assert timings.stages[0].parallel <= 1
    assert timings.whole().processor_seconds == timings.stages[0].processor_seconds


def test_stages_are_lines_for_people_and_for_programs(monkeypatch):
    timings = Timings()
    timings.begin("reading")
    timings.note = "in blocks"
    timings.begin("writing")
    timings.end()

    shown = list(stage_lines(timings))
    monkeypatch.setattr("simdb.cli.output.progress.wants_json", lambda: True)
    rows = [json.loads(line) for line in stage_lines(timings)]

    assert [line.split("  ")[0] for line in shown] == ["reading (in blocks)", "writing", "whole"]
    assert [row["stage"] for row in rows] == ["reading", "writing", "whole"]
    assert set(rows[0]) == {"stage", "seconds", "processor_seconds", "parallel", "note"}


def test_dedup_says_how_long_its_parts_took(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"text": "one two three"}\n' * 3)
    with pytest.raises(SystemExit):
        app(["dedup", "a.jsonl", "-o", "k.jsonl", "--timings", "--json", "--quiet"])

    rows = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line[0] == "{"]
    assert rows[0]["stage"] == "reading"
    assert [row["stage"] for row in rows][-2:] == ["writing what is kept", "whole"]
    assert "minima in" in next(row["note"] for row in rows if row["stage"] == "finding groups")
