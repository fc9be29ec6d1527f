"""Command dedup: finds near-duplicates within the input, or against all earlier runs.

Result rows wait in a spool, and the lines for --keep in a partial file, until all is stored.  The
texts wait in a spool, too: candidates that sketches find are decided by their texts.
"""

from simdb.choices import PolicyName
from simdb.cli.duplicates.groups import find_groups
from simdb.cli.duplicates.increment import find_new, open_against
from simdb.cli.duplicates.work import Outcome, Work, check_max_share
from simdb.cli.options import arguments
from simdb.cli.options.match_options import MatchOptions
from simdb.cli.options.sketch_options import Given, sketched
from simdb.cli.output.exit_codes import FINDINGS, Exit
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import print_rows, quantity
from simdb.cli.output.spool import PARTIAL, Spool, write_lines, written
from simdb.cli.reading.intake import Intake
from simdb.cli.reading.sources import check_sources, read_sources
from simdb.engine.clusters.find import CONNECTED, STAR, check_policy
from simdb.errors import OptionError

GROUP_COLUMNS = ("representative", "size", "duplicates")
MATCH_COLUMNS = ("id", "match", "distance", "similarity")


@sketched
def dedup(
    sources: arguments.Sources,
    sketch: Given,
    db: arguments.EarlierRuns = None,
    similarity: arguments.DecidedSimilarity = None,
    distance: arguments.Distance = None,
    recall: arguments.Recall = None,
    method: arguments.Method = None,
    policy: arguments.KeptPolicy = None,
    verify: arguments.Verify = None,
    texts: arguments.EarlierTexts = None,
    max_share: arguments.MaxShare = None,
    keep: arguments.Keep = None,
    groups: arguments.Groups = None,
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

    Sketches find candidates, and the texts decide: documents match if the exact Jaccard similarity
    of their shingles is at least 0.8.  What --db has from an earlier run is compared by estimate,
    unless --texts names a source with its texts.

    With --keep, every document that is left out matches the one that is kept for it, and not only
    another document of its group (--policy star).

    Exit code 1 if there are duplicates, or if files or records were skipped.
    """
    check_sources([*sources, *(texts or [])])
    policy = policy or (CONNECTED if keep is None or db is not None else STAR)
    _check(db, texts, policy, max_share)
    reading = arguments.make_reading(
        encoding, errors, id_field, text_field, has_int_ids=int_ids, has_lines=keep is not None
    )
    own = [path + end for path in (db, keep, groups) if path is not None for end in ("", PARTIAL)]
    with Progress("reading") as progress, Spool() as rows:
        intake = Intake(read_sources(sources, reading, excluded=own), progress)
        matching = MatchOptions(similarity, distance, recall, method)
        with written(keep) as survivors, written(groups) as row_file:
            work = Work(intake, matching, progress, rows, survivors, verify, max_share)
            if db is None:
                outcome = find_groups(work, sketch, policy)
            else:
                older = read_sources(texts, reading) if texts else None
                with open_against(db, sketch, allow) as database:
                    outcome = find_new(work, database, older)
            write_lines(rows, row_file)
        _report(work, outcome, is_against=db is not None, as_json=json)
    if outcome.duplicates or intake.skipped:
        raise Exit(FINDINGS)


def _check(
    db: str | None, texts: list[str] | None, policy: PolicyName, max_share: float | None
) -> None:
    """Raise OptionError for arguments that are invalid or do not go together."""
    check_policy(policy)
    check_max_share(max_share)
    if db is not None and policy != CONNECTED:
        raise OptionError(f"--policy {policy} works only without --db, where documents are grouped")
    if db is None and texts is not None:
        raise OptionError("--texts works only with --db; without --db all texts are in the input")


def _report(work: Work, outcome: Outcome, *, is_against: bool, as_json: bool) -> None:
    """Print the rows, and what came of the run as notes; `is_against` a database of --db."""
    seconds = work.progress.elapsed_seconds
    work.progress.finish()
    print_rows(work.rows, MATCH_COLUMNS if is_against else GROUP_COLUMNS, as_json=as_json)
    for note in (outcome.largest_note(), outcome.verification_note()):
        if note is not None:
            work.progress.note(note)
    work.progress.note(_summary(outcome, work.intake, seconds, is_against=is_against))


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
