"""Command spark: removes near-duplicates from files with Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import permutations
from typing import Annotated, Any

import click

from simdb import core, spark as door
from simdb.cli.options.declare import Positive, command_of, described
from simdb.cli.options.sketch_options import SketchOptions, make_sketch
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import FINDINGS, Exit, quantity
from simdb.core.choices import SKIP, NullName, OnErrorName, PolicyName, RuleName, VerifyName
from simdb.core.errors import ExistsError, OptionError
from simdb.core.values import dataclass

JSON, PARQUET = "json", "parquet"
JSON_ENDS = (".jsonl", ".ndjson", ".json")
REPORTED_ROWS = 20
PACKED_ENDS = (".gz", ".zst", ".bz2")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """The options about where and how the job runs."""

    master: str | None = None
    conf: list[str] | None = None
    checkpoint: str | None = None
    partitions: Positive | None = None

    @property
    def settings(self) -> dict[str, str]:
        """The settings of Spark by name."""
        pairs = [each.partition("=") for each in self.conf or []]
        for name, mark, value in pairs:
            if not mark or not name:
                raise OptionError(f"--conf takes NAME=VALUE, got {name + mark + value!r}")
        return {name: value for name, _, value in pairs}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions:
    """The options about rows: which ones match, and which of them is kept."""

    similarity: float | None = None
    distance: int | None = None
    recall: float | None = None
    rule: RuleName = "similar"
    lose: int = 0
    verify: VerifyName | None = None
    policy: PolicyName = "star"
    keep: str = "first"
    on_null: NullName = "keep"
    on_error: OnErrorName = SKIP
    bits: int | None = None
    id_field: str = "id"
    text_field: str = "text"
    max_share: float | None = None


def dedup(
    source: Annotated[str, "IN"],
    target: Annotated[str, "OUT"],
    *,
    removed: str | None = None,
    rows: RowOptions,
    cluster: ClusterOptions,
    chosen: SketchOptions,
) -> None:
    """Write a table without near-duplicates, and the removed rows with reasons, by Spark."""
    settings, made = cluster.settings, make_sketch(chosen.given(rows.bits))
    core.keeping.parse(rows.keep, "--keep")
    _check_apart({"IN": source, "OUT": target, "--removed": removed})
    with Progress("searching") as progress:

        def report(stage: int, done: int, tasks: int) -> None:
            progress.show(f"stage {stage}, {done:,} of {tasks:,} tasks", done / max(tasks, 1))

        with door.session(cluster.master, settings, report) as spark:
            for path in (target, removed):
                if path is not None and door.exists(spark, path):
                    raise ExistsError(f"{path} exists; remove it, or name another place")
            frame = spark.read.format(_format(source)).load(source)
            kept = door.drop_duplicates(
                frame, sketch=made, id=rows.id_field, text=rows.text_field, rule=rows.rule,
                lose=rows.lose, similarity=rows.similarity, distance=rows.distance,
                recall=rows.recall, verify=rows.verify, policy=rows.policy, keep=rows.keep,
                on_null=rows.on_null, on_error=rows.on_error, max_share=rows.max_share,
                checkpoint=cluster.checkpoint, partitions=cluster.partitions,
            )  # fmt: skip
            _write(kept, target)
            if removed is not None:
                _write(kept.removed, removed)
            count = kept.removed.count()
            groups = kept.removed.select("kept").distinct().count()
            skipped, notes = _left_out(kept, source)
        progress.finish()
        for note in notes:
            progress.note(note)
        more = f"; {quantity(skipped, 'row')} skipped" if skipped else ""
        progress.note(
            f"{quantity(count, 'row')} removed, of {quantity(groups, 'group')}; the others are in"
            f" {target}{more}"
        )
    if skipped:
        raise Exit(FINDINGS)


def _left_out(kept: Any, source: str) -> tuple[int, list[str]]:
    """Return the number of rows that could not be read, and lines about the first ones."""
    skipped = getattr(kept, "skipped", None)
    if skipped is None:
        return 0, []
    first = skipped.take(REPORTED_ROWS)
    lines = [f"{source}: row {row['id']!r}: {row['reason']}" for row in first]
    return skipped.count(), lines


def _check_apart(places: Mapping[str, str | None]) -> None:
    """Raise OptionError if a place is the same as another or lies in it, by its name."""
    given = [(name, os.path.normpath(path)) for name, path in places.items() if path is not None]
    for (name, path), (other, place) in permutations(given, 2):
        if path == place or path.startswith(os.path.join(place, "")):
            raise OptionError(f"{name} {path} lies in {other} {place}; name separate places")


def _format(path: str) -> str:
    """Return the format in which a path is read or written."""
    name = path.rstrip("/").lower()
    for end in PACKED_ENDS:
        name = name.removesuffix(end)
    return JSON if name.endswith(JSON_ENDS) else PARQUET


def _write(frame: Any, path: str) -> None:
    frame.write.format(_format(path)).save(path)


spark = click.Group("spark", help=described("spark")[0], no_args_is_help=True)
spark.add_command(command_of(dedup, "spark dedup", has_json=False))
