"""Groups: finds the groups of near-duplicates within the input, in a temporary database."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from tempfile import TemporaryDirectory

import simdb
from simdb.choices import PolicyName, VerifyName
from simdb.cli.duplicates.preference import Preference
from simdb.cli.duplicates.read_again import LinesAgain, TextsAgain
from simdb.cli.duplicates.work import Outcome, Work
from simdb.cli.options.sketch_options import Given, make_sketch
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import match_row, quantity
from simdb.cli.reading.short_hint import is_default
from simdb.cli.reading.unique_ids import UniqueIds
from simdb.engine.search.judge import ESTIMATE, EXACT, ByOrdinal
from simdb.engine.search.remembered import Remembered
from simdb.outputs.rows import Row
from simdb.sources.batch import Batch
from simdb.values import Id

# The members of so many documents of groups are compared with their representatives at a time.
COMPARED_DOCUMENTS = 1 << 14
# After so many documents a transaction commits, so that the memory stays bounded.
COMMITTED_DOCUMENTS = 1 << 18
# After so many documents the progress is shown again.
SHOWN_DOCUMENTS = 1 << 12


@contextmanager
def temporary_database(options: simdb.Options) -> Iterator[simdb.Database]:
    """Yield a new database in a temporary directory, which is removed afterwards."""
    with (
        TemporaryDirectory(prefix="simdb-", ignore_cleanup_errors=True) as folder,
        simdb.open(folder, "x", options=options, durability="none") as database,
    ):
        yield database


def find_groups(work: Work, given: Given, policy: PolicyName) -> Outcome:
    """Put the groups of documents into the rows, and write all other documents to the survivors.

    The representative of each group survives, too.  `given` are the sketch options.
    """
    options = simdb.Options(sketch=make_sketch(given))
    is_exact = work.is_exact(options.sketch)
    matching = work.matching
    with (
        temporary_database(options) as database,
        LinesAgain(work.origins, work.folder) as lines,
        TextsAgain(work.origins) if is_exact else nullcontext() as texts,
    ):
        ids = UniqueIds(work.progress, database.sketcher)
        preference = Preference(work.keep)
        notes_short = is_default(options, matching.similarity, matching.distance)
        # The texts are added in the order in which the documents are stored.
        documents = None if texts is None else ByOrdinal(texts.texts, remembered=Remembered())

        def find_clusters() -> simdb.Clusters:
            return database.find_clusters(
                similarity=matching.similarity, distance=matching.distance, recall=matching.recall,
                search=matching.search, policy=policy, verify=EXACT if is_exact else ESTIMATE,
                keep=preference.stored_rule(), texts=documents,
            )  # fmt: skip

        find_clusters()  # of nothing, so that wrong options are found before anything is read
        batches = work.intake.batches(options.sketch, notes_short=notes_short)
        while _store_some(work, database, batches, ids, lines, texts, preference):
            pass
        work.progress.begin("finding groups")
        outcome = Outcome(stored=len(database), renamed=ids.renamed)
        clusters = find_clusters()
        outcome.add_verification(clusters.verification)
        for cluster in clusters:
            outcome.add_group(len(cluster), cluster.representative)
        work.check_share(outcome)
        work.progress.begin("comparing the documents of groups")
        dropped: set[Id] = set()
        for row in group_rows(database, clusters, documents):
            work.rows.add(row)
            if work.survivors:
                dropped.update(each["id"] for each in row["duplicates"])
        if work.survivors:
            work.progress.begin("writing what is kept")
            lines.copy(_decisions(database, dropped, work.progress), work.survivors)
            work.survivors.finish()
        outcome.empty = database.stats().empty_count
    return outcome


def _store_some(
    work: Work,
    database: simdb.Database,
    batches: Iterator[Batch],
    ids: UniqueIds,
    lines: LinesAgain,
    texts: TextsAgain | None,
    preference: Preference,
) -> bool:
    """Store some batches in one transaction, with their lines and texts; False after the last."""
    count = 0
    with database.write() as transaction:
        for batch in batches:
            settled, _ = ids.store(
                batch, transaction,
                lambda some: transaction.insert_many(
                    some.ids, some.texts, preference.metadata(some)
                ),
            )  # fmt: skip
            stored = settled.batch
            lines.add(stored, work.lines(stored))
            if texts is not None:
                texts.add(stored)
            if work.beginnings is not None:
                work.beginnings.add(stored.ids, stored.texts)
            count += len(batch)
            if count >= COMMITTED_DOCUMENTS:
                return True
    return False


def _decisions(database: simdb.Database, dropped: set[Id], progress: Progress) -> Iterator[bool]:
    """Yield whether each document is kept, in the order of insertion, which the ids have."""
    total = len(database)
    for count, id in enumerate(database):
        if count % SHOWN_DOCUMENTS == 0:
            progress.show(quantity(count, "document"), count / total)
        yield id not in dropped


def group_rows(
    database: simdb.Database, clusters: simdb.Clusters, documents: ByOrdinal | None = None
) -> Iterator[Row]:
    """Yield a row for each cluster: its representative, its size and its other documents.

    `documents`: the texts by which documents are compared; None to compare by estimate.
    """
    verify: VerifyName = ESTIMATE if documents is None else EXACT
    with database.read() as snapshot:
        for some in _portions(clusters):
            firsts = [cluster.representative for cluster in some for _ in cluster.ids[1:]]
            others = [id for cluster in some for id in cluster.ids[1:]]
            pairs = iter(snapshot.compare(firsts, others, verify=verify, texts=documents))
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
