"""Stages of a job: their order, their times, and what several threads could share of them."""

import json
import time

import pytest

from simdb.cli.app import app
from simdb.cli.output.progress import stage_lines
from simdb.running.threads import mapped
from simdb.running.timings import Timings


def busy(seconds):
    """Use the processor for some time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@pytest.mark.few(1)
@pytest.mark.parametrize("threads", [1, 3])
def test_work_of_threads_can_be_shared_and_that_of_the_caller_cannot(threads):
    timings = Timings()
    timings.begin("first")
    list(mapped(busy, [0.02] * 6, threads))
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


def test_stages_are_lines_for_people_and_for_programs():
    timings = Timings()
    timings.begin("reading")
    timings.note = "in blocks"
    timings.begin("writing")
    timings.end()

    shown = list(stage_lines(timings, as_json=False))
    rows = [json.loads(line) for line in stage_lines(timings, as_json=True)]

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
