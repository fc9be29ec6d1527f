"""Command report: writes a page about a database, for people."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import simdb
from simdb import core, database as databases, files, jobs, sketch as sketching
from simdb.cli.options.declare import Natural, Positive
from simdb.cli.options.intake import Intake
from simdb.cli.options.option_groups import ReadingOptions, SearchOptions
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import print_one
from simdb.core.values import replace


def report(
    db: str,
    *,
    output: str | None = None,
    texts: list[str] | None = None,
    wanted: SearchOptions,
    groups: Natural = 10,
    sample: Positive = 10_000,
    seed: Natural = 0,
    all: bool = False,
    inputs: ReadingOptions,
) -> None:
    """Write a page about a database for people: sizes, groups, similarities and advice."""
    if output is None:
        raise simdb.OptionError("-o FILE names the page, such as -o report.html; - prints it")
    jobs.check_page(output)
    files.check_outputs({"--output": output}, (), {"in --texts": texts}, [db])
    reading = inputs.reading()
    files.check_sources(texts or [], reading)
    limits = jobs.Limits(sample=sample, seed=seed, groups=groups)
    if all:
        limits = replace(limits, grouped_documents=core.arrays.ORDINALS_MAX)
    with Progress("reporting") as progress, simdb.open(db, "r") as database:
        intake = Intake.of(texts or [], reading, progress, excluded=[db, output])
        facts = jobs.gather(
            database, databases.Question(**wanted.criterion), limits=limits,
            texts=partial(chosen_texts, intake) if texts else None, show=progress.show,
        )  # fmt: skip
        progress.begin("drawing figures")
        page = jobs.render(facts, is_minhash=database.options.is_minhash)
    size_bytes = jobs.write_page(page, output)
    if output != files.STANDARD_OUTPUT:
        count = facts.statistics.document_count
        print_one({"path": output, "documents": count, "bytes": size_bytes})
    if intake.skipped:
        progress.note(intake.skipped_note().removeprefix("; "))
    intake.end()


def chosen_texts(intake: Intake, wanted: Collection[core.arrays.Id]) -> dict[core.arrays.Id, str]:
    """Return the texts of the `wanted` ids that are in the sources.

    A later text of an id replaces an earlier one.
    """
    chosen = frozenset(wanted)
    found: dict[core.arrays.Id, str] = {}
    # Texts are only shown, so no hint about mark-up is needed.
    for batch in intake.batches(simdb.Simhash(markup="html")):
        for at, id in enumerate(batch.ids):
            if id in chosen:
                found[id] = sketching.as_text(batch.texts[at], str(id))
    return found
