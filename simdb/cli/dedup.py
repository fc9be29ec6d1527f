"""simdb dedup: near-duplicates in files, folders and records, once or against all earlier runs."""

from typing import Annotated

import typer

from simdb.cli.deduplication import find_groups, find_new, open_against, summary
from simdb.cli.options import arguments
from simdb.cli.options.sketch_options import Given, sketched
from simdb.cli.output.exit_codes import FINDINGS
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import print_rows
from simdb.cli.output.spool import PARTIAL, Spool, write_lines, written
from simdb.cli.reading.intake import Intake
from simdb.cli.reading.sources import check_sources, read_sources
from simdb.engine.clusters.find import CONNECTED, check_policy
from simdb.errors import OptionError

GROUP_COLUMNS = ("representative", "size", "duplicates")
MATCH_COLUMNS = ("id", "match", "distance", "similarity")


@sketched
def dedup(
    sources: arguments.Sources,
    sketch: Given,
    db: Annotated[
        str | None,
        typer.Option(metavar="DB", help="Compare with all earlier runs on DB, and store the new."),
    ] = None,
    similarity: arguments.Similarity = None,
    distance: arguments.Distance = None,
    recall: arguments.Recall = None,
    method: arguments.Method = None,
    policy: arguments.Policy = "connected",
    keep: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the documents that are kept.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the rows as JSON lines, too.")
    ] = None,
    id_field: arguments.IdField = "id",
    text_field: arguments.TextField = "text",
    int_ids: arguments.IntIds = False,
    encoding: arguments.Encoding = "utf-8",
    errors: arguments.Errors = "strict",
    allow: arguments.Allow = None,
    json: arguments.Json = False,
) -> None:
    """Find near-duplicate documents.  Exit code 1 when there are any, or when files were skipped.

    Without --db, groups among the sources.  With it, the new is stored, the rest has a match.
    """
    check_sources(sources)
    check_policy(policy)
    if db is not None and policy != CONNECTED:
        raise OptionError(f"--policy {policy} is about groups; with --db there are none")
    asked = {"similarity": similarity, "distance": distance, "recall": recall, "method": method}
    reading = arguments.make_reading(
        encoding, errors, id_field, text_field, has_int_ids=int_ids, is_whole=keep is not None
    )
    own = [path + end for path in (db, keep, groups) if path is not None for end in ("", PARTIAL)]
    with Progress("reading") as progress, Spool() as rows:
        intake = Intake(read_sources(sources, reading, excluded=own), progress)
        with written(keep) as kept, written(groups) as listed:
            if db is None:
                grouping = asked | {"policy": policy}
                outcome = find_groups(intake, sketch, grouping, progress, rows, kept)
            else:
                with open_against(db, sketch, allow) as database:
                    outcome = find_new(intake, database, asked, progress, rows, kept)
            write_lines(rows, listed)
        seconds = progress.elapsed_seconds
        progress.finish()
        print_rows(rows, GROUP_COLUMNS if db is None else MATCH_COLUMNS, as_json=json)
        progress.note(summary(outcome, intake, seconds, is_against=db is not None))
    if outcome.duplicates or intake.skipped:
        raise typer.Exit(FINDINGS)
