"""Command report: writes a page about a database, for people."""

from collections.abc import Collection
from functools import partial

import simdb
from simdb.cli.options.declare import Natural, Positive
from simdb.cli.options.intake import Intake
from simdb.cli.options.option_groups import ReadingOptions, SearchOptions
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import print_one
from simdb.core.arrays import ORDINALS_MAX, Id
from simdb.core.options import Simhash
from simdb.database import Question
from simdb.files import STANDARD_OUTPUT, check_outputs, check_sources
from simdb.jobs import Limits, check_page, gather, render, write_page
from simdb.sketch import as_text

USUAL = Limits()
# Texts are only shown, so there is nothing to say about mark-up.
READ_AS = Simhash(markup="html")


def report(
    db: str,
    *,
    output: str | None = None,
    texts: list[str] | None = None,
    wanted: SearchOptions,
    groups: Natural = USUAL.groups,
    sample: Positive = USUAL.sample,
    seed: Natural = USUAL.seed,
    all: bool = False,
    inputs: ReadingOptions,
) -> None:
    """Write a page about a database for people: sizes, groups, similarities and advice."""
    if output is None:
        raise simdb.OptionError("-o FILE names the page, such as -o report.html; - prints it")
    check_page(output)
    check_outputs({"--output": output}, (), {"in --texts": texts}, [db])
    reading = inputs.reading()
    check_sources(texts or [], reading)
    grouped = ORDINALS_MAX if all else USUAL.grouped_documents
    limits = Limits(sample=sample, seed=seed, groups=groups, grouped_documents=grouped)
    with Progress("reporting") as progress, simdb.open(db, "r") as database:
        intake = Intake.of(texts or [], reading, progress, excluded=[db, output])
        facts = gather(
            database, Question(**wanted.criterion), limits=limits,
            texts=partial(chosen_texts, intake) if texts else None, show=progress.show,
        )  # fmt: skip
        progress.begin("drawing figures")
        page = render(facts, is_minhash=database.options.is_minhash)
    size_bytes = write_page(page, output)
    if output != STANDARD_OUTPUT:
        count = facts.statistics.document_count
        print_one({"path": output, "documents": count, "bytes": size_bytes})
    if intake.skipped:
        progress.note(intake.skipped_note().removeprefix("; "))
    intake.end()


def chosen_texts(intake: Intake, wanted: Collection[Id]) -> dict[Id, str]:
    """Return the texts of the ids that are `wanted`, as far as the sources have them.

    A later text of an id replaces an earlier one.
    """
    chosen = frozenset(wanted)
    found: dict[Id, str] = {}
    for batch in intake.batches(READ_AS):
        for at, id in enumerate(batch.ids):
            if id in chosen:
                found[id] = as_text(batch.texts[at], str(id))
    return found
