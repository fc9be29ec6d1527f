"""Stages: how long the parts of a command took, as lines for people or as JSON lines."""

import json
from collections.abc import Iterator
from dataclasses import asdict

from simdb.running.timings import Stage, Timings

DIGITS = 4


def stage_lines(timings: Timings, *, as_json: bool) -> Iterator[str]:
    """Yield a line for each stage, and one for the whole."""
    every = [*timings.stages, timings.whole()]
    if as_json:
        yield from (json.dumps(_rounded(stage)) for stage in every)
        return
    names = [f"{each.name} ({each.note})" if each.note else each.name for each in every]
    width = max(map(len, names))
    for name, stage in zip(names, every, strict=True):
        processor = f"{stage.processor_seconds:8.2f} s of processor"
        parallel = f"{stage.parallel:4.0%} of it in parallel"
        yield f"{name:<{width}}  {stage.seconds:8.2f} s {processor}, {parallel}"


def _rounded(stage: Stage) -> dict[str, str | float]:
    row = {"stage": stage.name, **asdict(stage)}
    del row["name"]
    return {
        name: round(value, DIGITS) if isinstance(value, float) else value
        for name, value in row.items()
    }
