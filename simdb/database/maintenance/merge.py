"""Merge: stores documents of other databases with the same sketch, without sketching them again.

Documents are copied in columns, some thousands at a time, and staged in one write transaction like
insertions.  So its commit also updates the clusters that the database maintains.
"""

import os
from collections.abc import Sequence
from dataclasses import replace

from simdb.core.arrays import Extras, Sketches
from simdb.core.errors import OptionError, undoing
from simdb.core.progress import Progress, Report, report_of
from simdb.core.stored_options import differences
from simdb.core.threads import crew
from simdb.database.maintenance.dump import document_groups
from simdb.database.state import incoming
from simdb.database.state.state import State
from simdb.database.state.store import Store
from simdb.database.write import conflicts
from simdb.database.write.write_state import WriteState
from simdb.storage import read_resources, transfer

ORDER = "sketch.order "  # in a difference: the order of bits in the blocks of hashes


def merge(
    store: Store, others: Sequence[Store], on_conflict: str, progress: Progress | None, threads: int
) -> int:
    """Store all documents of `others`, or none of them; return the number stored."""
    conflicts.check_rule(on_conflict)
    for other in others:
        _check_fits(store, other)
    report, count = report_of(progress), 0
    writing = WriteState(store)
    with undoing(writing.abort):
        with crew(), writing.alone("the transaction must be idle to merge"):
            writing.staging.threads = threads
            for other in others:
                count += _take(writing, other, on_conflict, report)
        writing.commit()
    return count


def _check_fits(store: Store, other: Store) -> None:
    """Raise OptionError unless the documents of `other` can be stored in `store`."""
    into, of = store.environment.path, other.environment.path
    if os.path.samefile(into, of):
        raise OptionError(f"{of} cannot be merged into itself; give another database")
    # Tables, blocks and thresholds may differ: they are made anew, or concern only queries.
    every = differences(store.options, other.options)
    differing = [each for each in every if each.startswith("sketch") and ORDER not in each]
    own, its = read_resources(store.environment), read_resources(other.environment)
    if own.stop_words != its.stop_words:
        differing.append("the stored stop words differ")
    for name in ("passages", "features"):
        if getattr(store.options, name) and not getattr(other.options, name):
            differing.append(f"{name} is True, not False, and {name} are made of texts")
    if differing:
        raise OptionError(
            f"{of} cannot be merged into {into}, whose documents are stored differently:"
            f" {'; '.join(differing)}. Insert its texts, or merge both into a new database"
        )


def _take(writing: WriteState, other: Store, rule: str, report: Report) -> int:
    """Stage the documents of one database; return their number."""
    count, done, before = 0, 0, writing.current(writing.staging.threads)
    with other.state() as state:
        source = state.source
        contents = other.contents(source)
        for group in document_groups(other, source, contents):
            count += _stage(writing, before, group, rule, contents.manifest.content)
            done += len(group.batch)
            report(done)
    return count


def _stage(
    writing: WriteState, before: State, group: transfer.DumpedDocuments, rule: str, content: int
) -> int:
    """Stage documents with a rule for stored ids; `before`: the state without this database."""
    staging, options, extras = writing.staging, writing.store.options, group.batch.extras
    batch = replace(
        incoming.rehashed(group.batch, staging.id_key),
        extras=Extras(
            extras.grains if options.passages else None,
            extras.features if options.features else None,
            extras.texts if options.texts else None,
        ),
    )
    sketches = Sketches(batch.fingerprints, batch.vectors, batch.states, content=content)
    staging.settle(sketches)
    ids, times = incoming.EncodedIds(batch), group.times
    given = conflicts.arriving_in(before, ids, group.metadata, rule, ())
    chosen, replaced = conflicts.to_insert(before, given, sketches)
    conflicts.delete_all(staging, before, replaced)
    if len(chosen):
        # Copied, since the state of the other database ends before the commit.
        staging.insert(
            incoming.chosen_batch(batch, chosen),
            incoming.moved(group.metadata, chosen),
            None if times is None else times[chosen],
        )
    return len(chosen)
