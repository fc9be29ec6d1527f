"""Command report: writes a page about a database, for people."""

from collections.abc import Collection
from functools import partial
from typing import Annotated

import simdb
from simdb.cli.options import arguments
from simdb.cli.options.declare import Option
from simdb.cli.options.intake import Intake
from simdb.cli.options.option_groups import ReadingOptions, SearchOptions
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import FINDINGS, Exit, print_one
from simdb.engine.search.question import Question
from simdb.outputs.formats import STANDARD_OUTPUT
from simdb.report.facts import GROUPED_DOCUMENTS, Limits
from simdb.report.gather import gather
from simdb.report.page import check_libraries, render
from simdb.report.template import check_page, write_page
from simdb.settings.options import Simhash
from simdb.sources.reading import check_sources, read_sources
from simdb.tuning.sample import as_text
from simdb.values.arrays import ORDINALS_MAX, Id

USUAL = Limits()
Output = Annotated[
    str, Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output.")
]
GroupCount = Annotated[int, Option(min=0, help="Show this many of the largest groups.")]
Sample = Annotated[
    int, Option(min=1, help="Look up the matches of this many documents, drawn at random.")
]
Seed = Annotated[int, Option(min=0, help="Seed of the random draw.")]
All = Annotated[
    bool,
    Option(
        "--all", help=f"Group all documents, also if there are more than {GROUPED_DOCUMENTS:,}."
    ),
]
# Texts are only shown, so there is nothing to say about mark-up.
READ_AS = Simhash(markup="html")

Texts = Annotated[
    list[str] | None, Option(metavar="SOURCE", help="Texts, by id, of the stored documents.")
]


def report(
    db: arguments.Database,
    *,
    output: Output = STANDARD_OUTPUT,
    texts: Texts = None,
    wanted: SearchOptions,
    groups: GroupCount = USUAL.groups,
    sample: Sample = USUAL.sample,
    seed: Seed = USUAL.seed,
    all: All = False,
    inputs: ReadingOptions,
    json: arguments.Json = False,
) -> None:
    """Write a page about a database for people: sizes, groups, similarities and advice.

    The page is one HTML file that loads nothing and runs no scripts.
    It needs the packages jinja2 and matplotlib.

    Exit code 1 if files or records of --texts were skipped.
    """
    check_libraries()
    check_page(output)
    check_sources(texts or [])
    reading = inputs.reading()
    grouped = ORDINALS_MAX if all else USUAL.grouped_documents
    limits = Limits(sample=sample, seed=seed, groups=groups, grouped_documents=grouped)
    with Progress("reporting") as progress, simdb.open(db, "r") as database:
        intake = Intake(read_sources(texts or [], reading, excluded=[db, output]), progress)
        facts = gather(
            database, Question(**wanted.criterion), limits=limits,
            texts=partial(chosen_texts, intake) if texts else None, show=progress.show,
        )  # fmt: skip
        progress.begin("drawing figures")
        page = render(facts, is_minhash=database.options.is_minhash)
    size_bytes = write_page(page, output)
    if output != STANDARD_OUTPUT:
        count = facts.headline.document_count
        print_one({"path": output, "documents": count, "bytes": size_bytes}, as_json=json)
    if intake.skipped:
        progress.note(intake.skipped_note().removeprefix("; "))
        raise Exit(FINDINGS)


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
