"""Command dedup: finds near-duplicates within the input, or against all earlier runs.

Result rows wait in a spool, and the lines for --keep in a partial file, until all is stored.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress, islice
from tempfile import TemporaryDirectory
from typing import IO, Annotated

import simdb
from simdb.cli.options import arguments
from simdb.cli.options.declare import Option
from simdb.cli.options.match_options import MatchOptions
from simdb.cli.options.sketch_options import Given, allowed, check_given, make_sketch, sketched
from simdb.cli.output.exit_codes import FINDINGS, Exit
from simdb.cli.output.line_spool import LineSpool
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import Row, match_row, print_rows, quantity
from simdb.cli.output.spool import PARTIAL, Spool, write_lines, written
from simdb.cli.reading.batch import Batch
from simdb.cli.reading.intake import Intake
from simdb.cli.reading.short_hint import is_default
from simdb.cli.reading.sources import check_sources, read_sources
from simdb.cli.reading.unique_ids import UniqueIds
from simdb.engine.clusters.find import CONNECTED, check_policy
from simdb.errors import OptionError
from simdb.values import Id

GROUP_COLUMNS = ("representative", "size", "duplicates")
MATCH_COLUMNS = ("id", "match", "distance", "similarity")
# The members of so many documents of groups are compared with their representatives at a time.
COMPARED_DOCUMENTS = 1 << 14
# After so many documents a transaction commits, so that the memory stays bounded.
COMMITTED_DOCUMENTS = 1 << 18


@sketched
def dedup(
    sources: arguments.Sources,
    sketch: Given,
    db: Annotated[
        str | None, Option(metavar="DB", help="Also compare with earlier runs, stored in DB.")
    ] = None,
    similarity: arguments.Similarity = None,
    distance: arguments.Distance = None,
    recall: arguments.Recall = None,
    method: arguments.Method = None,
    policy: arguments.Policy = "connected",
    keep: Annotated[
        str | None, Option(metavar="FILE", help="Write the input without duplicates.")
    ] = None,
    groups: Annotated[
        str | None, Option(metavar="FILE", help="Also write the rows, as JSON lines.")
    ] = None,
    id_field: arguments.IdField = "id",
    text_field: arguments.TextField = "text",
    int_ids: arguments.IntIds = False,
    encoding: arguments.Encoding = "utf-8",
    errors: arguments.Errors = "strict",
    allow: arguments.Allow = None,
    json: arguments.Json = False,
) -> None:
    """Find near-duplicate documents in files, folders and records.

    Without --db, group near-duplicates within the inputs.  With --db, store documents not seen
    before and report what each duplicate matches.

    Exit code 1 if there are duplicates, or if files or records were skipped.
    """
    check_sources(sources)
    check_policy(policy)
    if db is not None and policy != CONNECTED:
        raise OptionError(f"--policy {policy} works only without --db, where documents are grouped")
    matching = MatchOptions(similarity, distance, recall, method)
    reading = arguments.make_reading(
        encoding, errors, id_field, text_field, has_int_ids=int_ids, has_lines=keep is not None
    )
    own_files = [
        path + end for path in (db, keep, groups) if path is not None for end in ("", PARTIAL)
    ]
    with Progress("reading") as progress, Spool() as rows:
        intake = Intake(read_sources(sources, reading, excluded=own_files), progress)
        with written(keep) as survivors, written(groups) as row_file:
            if db is None:
                outcome = _find_groups(intake, sketch, matching, policy, progress, rows, survivors)
            else:
                with _open_against(db, sketch, allow) as database:
                    outcome = _find_new(intake, database, matching, progress, rows, survivors)
            write_lines(rows, row_file)
        seconds = progress.elapsed_seconds
        progress.finish()
        print_rows(rows, GROUP_COLUMNS if db is None else MATCH_COLUMNS, as_json=json)
        progress.note(_summary(outcome, intake, seconds, is_against=db is not None))
    if outcome.duplicates or intake.skipped:
        raise Exit(FINDINGS)


@dataclass(slots=True)
class Outcome:
    """The counts of one run."""

    stored: int = 0
    groups: int = 0
    duplicates: int = 0
    empty: int = 0
    seen: int = 0
    renamed: int = 0


@contextmanager
def temporary_database(options: simdb.Options) -> Iterator[simdb.Database]:
    """Yield a new database in a temporary directory, which is removed afterwards."""
    with (
        TemporaryDirectory(prefix="simdb-", ignore_cleanup_errors=True) as folder,
        simdb.open(folder, "x", options=options, durability="none") as database,
    ):
        yield database


def _open_against(path: str, given: Given, allow: Sequence[str] | None) -> simdb.Database:
    """Open the database of earlier runs, or create it with the options `given`.

    Raises OptionError if the database exists with other options.
    """
    try:
        database = simdb.open(path, "w", allow=allowed(given, allow))
    except simdb.NotFoundError:
        return simdb.open(path, "c", options=simdb.Options(sketch=make_sketch(given)))
    try:
        check_given(given, database.options.sketch, path)
    except simdb.OptionError:
        database.close()
        raise
    return database


def _find_groups(
    intake: Intake,
    given: Given,
    matching: MatchOptions,
    policy: str,
    progress: Progress,
    rows: Spool,
    survivors: IO[bytes] | None,
) -> Outcome:
    """Put the groups of documents into `rows`, and write all other documents to `survivors`.

    The first document of each group survives, too.  `given` are the sketch options.
    """
    options = simdb.Options(sketch=make_sketch(given))
    with (
        temporary_database(options) as database,
        LineSpool(beside=survivors) as lines,
    ):
        ids = UniqueIds(progress, database.sketcher)
        notes_short = is_default(options, matching.similarity, matching.distance)
        batches = intake.batches(options.sketch, notes_short=notes_short)
        while _store_some(database, batches, ids, lines):
            pass
        progress.show("finding groups")
        outcome = Outcome(stored=len(database), renamed=ids.renamed)
        dropped: set[Id] = set()
        clusters = database.find_clusters(
            similarity=matching.similarity, distance=matching.distance, recall=matching.recall,
            method=matching.method, policy=policy,
        )  # fmt: skip
        for row in group_rows(database, clusters):
            rows.add(row)
            outcome.groups += 1
            outcome.duplicates += len(row["duplicates"])
            if survivors:
                dropped.update(each["id"] for each in row["duplicates"])
        if survivors:
            # The ids of a database are in the order of insertion.
            lines.copy((id not in dropped for id in database), survivors)
        outcome.empty = database.stats().empty_count
    return outcome


def _store_some(
    database: simdb.Database, batches: Iterator[Batch], ids: UniqueIds, lines: LineSpool
) -> bool:
    """Store some batches in one transaction, and their lines; return False after the last one."""
    count = 0
    with database.write() as transaction:
        for batch in batches:
            stored, _ = ids.store(
                batch, transaction, lambda some: transaction.insert_many(some.ids, some.texts)
            )
            lines.add(stored.lines or [])
            count += len(batch)
            if count >= COMMITTED_DOCUMENTS:
                return True
    return False


def _find_new(
    intake: Intake,
    database: simdb.Database,
    matching: MatchOptions,
    progress: Progress,
    rows: Spool,
    survivors: IO[bytes] | None,
) -> Outcome:
    """Store new documents and write them to `survivors`; put the match of each other into `rows`.

    All new documents are stored, or, after an error, none.
    """
    outcome = Outcome()
    empty = database.stats().empty_count
    with database.write() as transaction, database.read() as before:
        ids = UniqueIds(progress, database.sketcher, before)
        notes_short = is_default(database.options, matching.similarity, matching.distance)
        for batch in intake.batches(database.options.sketch, notes_short=notes_short):
            stored, matches = ids.store(
                batch, transaction, lambda some: _claim(transaction, some, matching)
            )
            has_match = matches.offsets[1:] > matches.offsets[:-1]
            for at in has_match.nonzero()[0].tolist():
                outcome.duplicates += 1
                rows.add({"id": stored.ids[at], **match_row(matches[at][0], "match")})
            if survivors and stored.lines:
                survivors.writelines(
                    line + b"\n" for line in compress(stored.lines, (~has_match).tolist())
                )
        outcome.stored = len(transaction) - len(before)
        outcome.seen, outcome.renamed = ids.seen, ids.renamed
        if survivors:
            survivors.flush()
    outcome.empty = database.stats().empty_count - empty
    return outcome


def _summary(outcome: Outcome, intake: Intake, seconds: float, *, is_against: bool) -> str:
    """Return the counts, the time and the speed as one line; `is_against` a database of --db."""
    parts = [quantity(intake.documents, "document")]
    if is_against:
        parts += [f"{outcome.stored:,} new", quantity(outcome.duplicates, "duplicate")]
    else:
        parts += [quantity(outcome.groups, "group"), quantity(outcome.duplicates, "duplicate")]
    counts = {"seen before": outcome.seen, "empty": outcome.empty, "renamed": outcome.renamed}
    parts += [f"{count:,} {name}" for name, count in counts.items() if count]
    speed = intake.size_bytes / 1e6 / max(seconds, 1e-9)
    return f"{', '.join(parts)}; {seconds:.2f} s, {speed:,.1f} MB/s{intake.skipped_note()}"


def group_rows(database: simdb.Database, clusters: simdb.Clusters) -> Iterator[Row]:
    """Yield a row for each cluster: its representative, its size and its other documents."""
    with database.read() as snapshot:
        for some in _portions(clusters):
            firsts = [cluster.representative for cluster in some for _ in cluster.ids[1:]]
            others = [id for cluster in some for id in cluster.ids[1:]]
            pairs = iter(snapshot.compare(firsts, others))
            for cluster in some:
                duplicates = list(islice(pairs, len(cluster) - 1))
                yield {
                    "representative": cluster.representative,
                    "size": len(cluster),
                    "duplicates": [
                        match_row(simdb.Match(pair.right, pair.distance, pair.similarity))
                        for pair in duplicates
                    ],
                }


def _portions(clusters: Iterable[simdb.Cluster]) -> Iterator[list[simdb.Cluster]]:
    """Yield clusters in lists of at least `COMPARED_DOCUMENTS` documents, until few are left."""
    portion: list[simdb.Cluster] = []
    count = 0
    for cluster in clusters:
        portion.append(cluster)
        count += len(cluster)
        if count >= COMPARED_DOCUMENTS:
            yield portion
            portion, count = [], 0
    if portion:
        yield portion


def _claim(
    transaction: simdb.WriteTransaction, batch: Batch, matching: MatchOptions
) -> simdb.Matches:
    return transaction.add_many_if_new(
        batch.ids, batch.texts,
        similarity=matching.similarity, distance=matching.distance, recall=matching.recall,
        method=matching.method,
    )  # fmt: skip
