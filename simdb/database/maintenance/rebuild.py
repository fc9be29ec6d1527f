"""Rebuilding: all derived values are made again from the columns.

The columns by ordinal are the truth: fingerprints, states, ids, volatility vectors.  The tables of
fingerprints and of ids, the counters and the maintained clusters follow from them.  The documents
become one run, as after `compact`.  If a column itself is damaged, nothing changes unless the
caller gives up its documents.  A rebuild is one transaction: clusters are found in the new run
before it is committed, so no reader ever sees documents without their clusters.

A database that cannot be opened is rescued: the values that `Remains` finds in its pages become a
temporary database, which is rebuilt like any other.  Only then does its data file replace the
damaged one, while no other process has the database open.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import accumulate, groupby
from typing import Any

import numpy as np

from simdb import storage
from simdb.core import kernel, previews
from simdb.core.arrays import BARE, EMPTY, sorted_unique
from simdb.core.dtypes import U32
from simdb.core.errors import CorruptError, Error, FormatError
from simdb.core.options import Options
from simdb.core.reports import Rebuild
from simdb.core.stored_options import Resources, decode_options, decode_resources, moved
from simdb.core.text_sketch import IdfTable
from simdb.database.clusters.find import connected_labels
from simdb.database.maintenance import compaction
from simdb.database.maintenance.calibration import covered_of, covering, problem_of
from simdb.database.search.question import of_maintained
from simdb.database.state.kinds import kind_of
from simdb.database.state.state import State
from simdb.database.state.store import Store, open_aside, settled
from simdb.database.state.view import Kind, View
from simdb.database.write.commit import Writer, write, write_anew, write_notes
from simdb.plan import decode_calibration
from simdb.sketch import take_resources
from simdb.storage import (
    by_ordinal,
    codec,
    contents,
    idf_file,
    layout,
    merge as merges,
    metadata as records,
    rewriting,
    salvage,
)

SHOWN_LOSSES = 3


WAIT_SECONDS = 2.0
ROOM_FACTOR = 3  # the values, their tables, and a copy without free pages
WRITTEN_BYTES = 1 << 26  # in one commit
# Sub-databases that are made from the columns, or are copied in a way of their own.
DERIVED = (layout.META, layout.MANIFEST, layout.IDS, layout.FIELDS)

Value = tuple[bytes, bytes, Any]  # sub-database, key, value


def rebuild(
    store: Store,
    *,
    drop_damaged: bool,
    threads: int = 1,
    torn: Collection[bytes] = (),
    losses: Sequence[salvage.Loss] = (),
    polytopes: int | None = None,
) -> Rebuild:
    """Make all tables again; if documents would be lost, raise CorruptError and change nothing.

    `threads`: number of threads.  `torn`: see `salvaged`.  `losses`: losses known already.
    `polytopes`: the new number of cross-polytope tables; None for the number that `compact` makes.
    """
    with store.begin_write() as right:
        with suppress(CorruptError):
            store.take_options()
        options = store.options
        if polytopes is not None:
            options = replace(options, polytopes=polytopes)
        options = settled(options)
        before = compaction.file_bytes(store)
        store.forget_views()
        store.membership = None
        made = store.with_room(
            lambda: _try_to_rebuild(store, options, drop_damaged, (torn, losses), threads),
            right,
            before,
        )
        store.take_options()
        store.take_idf()
        note = _shrink(store, right)
        return replace(
            made, before_bytes=before, after_bytes=compaction.file_bytes(store), note=note
        )


def _shrink(store: Store, right: storage.WriteRight) -> str:
    """Shrink the file; return the reason if that fails.  The new tables are stored either way."""
    try:
        return compaction.shrink(store, right)
    except Error as error:
        return str(error)


def _try_to_rebuild(
    store: Store,
    options: Options,
    drop_damaged: bool,
    known: tuple[Collection[bytes], Sequence[salvage.Loss]],
    threads: int,
) -> Rebuild:
    """Rebuild and return the report; `MapFull` if the map has no space for it."""
    with store.source() as source:
        found = salvage.salvaged(store.environment, source, known[0])
        found.losses[:0] = known[1]
        options = _with_sound_idf(store, source, options, found)
        if found.losses and not drop_damaged:
            raise _refusal(found)
        found.notes += _other_damage(source, found)
        kept = _kept(found)
        dropped, unknown = _dropped(found, kept)
        most = len(dropped) + unknown
        missing = max(found.manifest.document_count - len(kept), 0)
        # If deletions are not known, `dropped` may contain ids of deleted documents.
        lost = most if found.is_guessed else min(missing, most)
        contents.make_room_for(store.environment, options)
        write(store, lambda writer: _write(writer, options, source, found, kept, threads))
        return Rebuild(
            document_count=len(kept),
            lost_count=lost,
            dropped=tuple(dropped),
            unknown_count=min(unknown, lost),
            losses=(
                *_lost_in_words(lost, dropped, unknown),
                *(loss.message for loss in found.losses),
            ),
            notes=tuple(found.notes),
            before_bytes=0,
            after_bytes=0,
            note="",
        )


def _refusal(found: salvage.Salvage) -> CorruptError:
    shown = "; ".join(loss.message for loss in found.losses[:SHOWN_LOSSES])
    more = len(found.losses) - SHOWN_LOSSES
    others = f"; and {more} more" if more > 0 else ""
    return CorruptError(
        f"some documents are damaged, and nothing was changed: {shown}{others}.  Restore the"
        " database from a copy or a dump, or drop the damaged documents:"
        " rebuild(drop_damaged=True), simdb rebuild --drop-damaged"
    )


def _with_sound_idf(
    store: Store, source: storage.Source, options: Options, found: salvage.Salvage
) -> Options:
    """Return the options with the usable part of the IDF table; note a loss if it is damaged."""
    checksum = contents.idf_checksum(store.environment, source.transaction)
    if checksum is None:
        return options
    table, problem = idf_file.salvaged_idf(store.environment.path, checksum)
    if not problem:
        return options
    found.losses.append(idf_loss(table, problem))
    return replace(options, sketch=replace(options.sketch, idf=table))


def idf_loss(table: IdfTable | None, problem: str) -> salvage.Loss:
    """Return the loss for a damaged IDF table; `table`: its usable part."""
    then = (
        "texts cannot be read until set_idf gives the database an equal table"
        if table is None
        else "its lost features now weigh like unknown ones"
    )
    return salvage.Loss(f"{problem}; documents keep their sketches, but {then}", 0, 0, False)


def _other_damage(source: storage.Source, found: salvage.Salvage) -> Iterator[str]:
    """Yield damage that does not affect any document."""
    stored, problem = _calibration(source)
    if stored is None and problem is None and found.manifest.calibration and not found.is_guessed:
        problem = "it is missing"
    if problem is not None:
        yield f"the calibration was removed, calibrate again: {problem}"
    for key, reason in records.damaged_notes(source):
        yield f"the note {records.note_name(key)!r} was removed: {reason}"


def _calibration(source: storage.Source) -> tuple[dict[str, Any] | None, str | None]:
    """Return the stored calibration, or why it cannot be read; both None if there is none."""
    kind, key = layout.CALIBRATION_KIND, layout.CALIBRATION_KEY
    value = source.find(layout.META, key)
    try:
        stored = None if value is None else codec.decode_object(kind, key, value)
    except (CorruptError, FormatError) as error:
        return None, str(error)
    problem = problem_of(stored)
    return (stored, None) if problem is None else (None, problem)


def _kept(found: salvage.Salvage) -> U32:
    """Return the ordinals of all documents that are kept."""
    is_kept = np.zeros(found.next_ordinal, np.bool_)
    for part in found.parts:
        is_kept[part.start : part.stop] = True
    for loss in found.losses:
        if loss.takes_documents:
            is_kept[loss.start : loss.stop] = False
    return np.flatnonzero(is_kept & ~found.is_dead).astype(np.uint32)


def _dropped(found: salvage.Salvage, kept: U32) -> tuple[list[Any], int]:
    """Return the known ids of the documents to drop, and the number of unknown ids."""
    is_lost = ~found.is_dead
    is_lost[kept] = False
    ids = []
    for part in found.named:
        chosen = np.flatnonzero(is_lost[part.start : part.stop])
        if len(chosen):
            known = salvage.ids_of(part)
            ids += [known[at] for at in chosen]
            is_lost[part.start : part.stop] = False
    return ids, int(np.count_nonzero(is_lost))


def _lost_in_words(lost: int, dropped: Sequence[Any], unknown: int) -> Iterator[str]:
    if lost:
        ids = f"the ids of {min(unknown, lost):,} of them are not known"
        if not unknown:
            ids = f"{previews.counted(len(dropped), 'id')} in `dropped`"
            if len(dropped) > lost:
                ids += ", some of documents that had been deleted before"
        yield f"{previews.counted(lost, 'document')} {'was' if lost == 1 else 'were'} lost: {ids}"


def _keep_meta(writer: Writer, source: storage.Source, options: Options) -> None:
    """Write only the sound options, calibration and notes again."""
    kept = {}
    for key, value in source.every(layout.META):
        is_known = key in (*layout.KEPT_TWICE, layout.CALIBRATION_KEY)
        if is_known or key.startswith(layout.NOTE_PREFIX):
            with suppress(CorruptError):
                codec.verify_value(key, value)
                kept[key] = bytes(value)
    for name in (layout.META, layout.MANIFEST):
        writer.clear(name)
    for key, value in kept.items():
        names = (layout.META, layout.MANIFEST) if key in layout.KEPT_TWICE else (layout.META,)
        for name in names:
            writer.put(name, key, value)
    if options.sketch.idf is not writer.store.options.sketch.idf:
        contents.put_options(writer.store.environment, writer.transaction, options)


def _write(
    writer: Writer,
    options: Options,
    source: storage.Source,
    found: salvage.Salvage,
    kept: U32,
    threads: int,
) -> None:
    store, kind = writer.store, kind_of(options)
    store.environment.watch.walk()
    if not found.manifest.id_key:  # an older version made the database, or the manifest is lost
        found.manifest = replace(found.manifest, id_key=kernel.new_id_key())
    manifest = found.manifest
    _keep_meta(writer, source, options)
    numbers = _readable_clusters(store, source, found, kept)
    times = salvage.sound_times(source, found.next_ordinal) if options.keeps_times else None
    for name in {*contents.all_names(store.options), *contents.all_names(options)}:
        if name not in (layout.META, layout.MANIFEST, layout.METADATA):
            writer.clear(name)
    states = np.empty(0, np.uint8)
    rows: tuple[storage.RunInfo, ...] = ()
    if len(kept):
        info, states = rewriting.write_one_run(
            found.parts, kept, manifest.next_run, writer.put, keying=kind.keying,
            offset=options.header_offset, id_key=manifest.id_key, threads=threads,
        )  # fmt: skip
        rows = (info,)
    writer.clear(layout.METADATA)
    compaction.renumber_metadata(writer, salvage.sound_metadata(source), kept)
    for column in by_ordinal.columns_of(options):
        blocks = column.blocks(source, skips_damage=True)
        writer.put_all(column.name, column.renumbered(blocks, kept, threads))
    if times is not None:
        compaction.put_times(writer, times[kept])
    write_notes(writer, dict.fromkeys(key for key, _ in records.damaged_notes(source)))
    manifest = _keep_calibration(writer, source, found, kept)
    if options.fields:
        every, key = records.read_all(writer.source()), manifest.id_key
        codes = storage.codes_of(every, options.fields, len(kept), key, "ordinal {}".format)
        manifest = compaction.put_codes(writer, manifest, codes)
    manifest = compaction.store_open(writer, manifest, options)
    moved = _move_passages(writer, source, found, kept) if options.passages else ()
    count = _write_clusters(writer, kind, manifest, rows, numbers) if options.keeps_clusters else 0
    # Checked last, since nothing may change the written values before they are committed.
    written = writer.source()
    merges.check_written(merges.differences(rows, written, contents.table_names(options)))
    writer.put_manifest(
        replace(
            manifest.renumbered(rows, len(kept)).with_passages(moved),
            document_count=len(kept),
            empty_count=int(np.count_nonzero(states == EMPTY)),
            bare_count=int(np.count_nonzero(states == BARE)),
            cluster_count=count,
            last_cluster=count,
        )
    )


def _move_passages(
    writer: Writer, source: storage.Source, found: salvage.Salvage, kept: U32
) -> tuple[storage.PassageInfo, ...]:
    """Store the sound passages of `kept` as one run, since only texts can create them again."""
    if not len(kept):
        return ()
    passages, number = storage.Passages.stored(found.passages), found.manifest.next_passage
    change, span = storage.renumbering(kept), (0, len(kept))
    row = passages.write(number, span, source, writer.put, change)
    storage.check_rewritten([row], writer.source())
    return (row,)


def _keep_calibration(
    writer: Writer, source: storage.Source, found: salvage.Salvage, kept: U32
) -> storage.Manifest:
    """Keep a readable calibration and remove a damaged one; return the manifest.

    If the manifest and thus the ordinals were guessed, the calibration covers no documents.
    """
    manifest = found.manifest
    stored, problem = _calibration(source)
    if problem is not None:
        writer.delete(layout.META, layout.CALIBRATION_KEY)
    if stored is None:
        return replace(manifest, calibration=0)
    covered = 0 if found.is_guessed else int(np.searchsorted(kept, covered_of(stored, manifest)))
    return writer.put_calibration(manifest, covering(stored, covered))


def _readable_clusters(
    store: Store, source: storage.Source, found: salvage.Salvage, kept: U32
) -> U32 | None:
    """Return the cluster number of each kept document; None if clusters must be found again.

    Clusters are always found again if they depend only on the documents, or if documents were lost.
    """
    options = store.options
    if not options.keeps_clusters or found.losses or layout.CLUSTERS in found.torn:
        return None
    if of_maintained(options).similarity is None or options.recall == 1.0:
        return None
    try:
        numbers, _ = storage.Membership(source).whole(found.next_ordinal)
    except (CorruptError, FormatError):
        return None
    numbers = numbers[kept]
    is_sound = len(sorted_unique(numbers[numbers > 0])) == found.manifest.cluster_count
    return numbers if is_sound else None


def _write_clusters(
    writer: Writer,
    kind: Kind,
    manifest: storage.Manifest,
    rows: Sequence[storage.RunInfo],
    numbers: U32 | None,
) -> int:
    """Store the clusters of the new run; return their number.

    If `numbers` is None, the clusters are searched for in the run, which is read through the
    transaction that has just written it.
    """
    store = writer.store
    written = writer.source()
    if numbers is None:
        count = rows[0].stop if rows else 0
        delta = storage.Delta(count, store.width, kind.keying).view()
        stored, _ = _calibration(written)
        calibration = None if stored is None else decode_calibration(stored)
        view = View([storage.Run(info) for info in rows], delta, None, kind, calibration)
        state = State(store, view, written, manifest)
        labels = connected_labels(state, of_maintained(store.options))
        sizes = np.bincount(labels, minlength=len(labels))
        numbers = np.where(sizes[labels] > 1, labels + 1, 0).astype(np.uint32)
    return write_anew(writer, written, numbers)


def page_problem_of(store: Store) -> CorruptError | None:
    """Return what is wrong with the pages of an open database; None if they are sound."""
    with store.environment.reading():
        for problem in storage.problems_of_pages(
            os.path.join(store.environment.path, storage.DATA_FILE)
        ):
            return CorruptError(problem)
    return None


def rescue(path: str, problem: Error, *, drop_damaged: bool, **asked: Any) -> Rebuild:
    """Rebuild the database in the directory `path`, which `problem` keeps from being opened.

    `asked`: see `rebuild`.  Raises `problem` if this is not a database of this version.  Raises
    CorruptError and changes nothing if documents would be lost and `drop_damaged` is False.
    """
    files = storage.OpenFiles(path, is_synced=True, timeout=WAIT_SECONDS)
    try:
        with files.alone():
            before = files.presence.data_bytes
            try:
                remains = salvage.Remains(os.path.join(path, storage.DATA_FILE))
            except CorruptError as error:
                raise problem from error
            options, resources, losses = _settings(path, remains, problem)
            store = open_aside(options, resources, ROOM_FACTOR * before)
            try:
                _fill(store, remains)
                made = rebuild(
                    store, drop_damaged=drop_damaged, torn=remains.torn, losses=losses, **asked
                )
                copy = os.path.join(path, storage.COPY_FILE)
                with storage.translated(path), compaction.copied(store.environment.copy_to, copy):
                    if losses and store.options.sketch.idf is not None:
                        idf_file.write_own_idf(path, store.options.sketch.idf)
                    files.put_in_place(copy)
            finally:
                store.close()
            said = f"the data file was made again from what its pages hold: {problem}"
            notes = tuple(each.replace(store.environment.path, path) for each in made.notes)
            return replace(
                made,
                notes=(said, *remains.notes, *notes),
                before_bytes=before,
                after_bytes=files.presence.data_bytes,
            )
    finally:
        files.close()


def _settings(
    path: str, remains: salvage.Remains, problem: Error
) -> tuple[Options, Resources, list[salvage.Loss]]:
    """Return options, resources and their losses."""
    form, stored, kept = map(remains.object, layout.KEPT_TWICE)
    if form is not None and form["version"] > codec.FORMAT_VERSION:
        raise problem
    has_documents = remains.values.get(layout.DOCUMENTS) or remains.values.get(layout.DELTA)
    if stored is None:
        if not has_documents:
            raise problem
        raise CorruptError(
            f"{path} has lost its options, without which documents cannot be read; restore it from"
            f" a copy or a dump: {problem}"
        ) from problem
    manifest = remains.value(layout.MANIFEST, layout.MANIFEST_KEY)
    if not has_documents and (manifest is None or storage.decode_manifest(manifest).next_ordinal):
        raise CorruptError(f"{path} has no document that can be read; restore it from a copy")
    losses: list[salvage.Loss] = []
    checksum = stored.get("sketch", {}).get("idf")
    table, wrong = (None, "") if checksum is None else idf_file.salvaged_idf(path, checksum)
    if wrong:
        losses.append(idf_loss(table, wrong))
    options = decode_options(moved(stored), table)
    try:
        resources = take_resources(options.sketch) if kept is None else decode_resources(kept)
    except Error as error:
        raise CorruptError(f"{path} has lost its stop words: {error}") from error
    return options, resources, losses


def _fill(store: Store, remains: salvage.Remains) -> None:
    """Store the values of `remains` in the new database of `store`, except derived ones."""
    values = [
        (layout.META, key, value)
        for key, value in remains.values.get(layout.META, {}).items()
        if key not in layout.KEPT_TWICE
    ]
    made_again = {*contents.table_names(store.options), *DERIVED}
    for name in contents.all_names(store.options):
        if name not in made_again:
            size = (
                salvage.COLUMN_KEY_BYTES if name in salvage.COLUMN_PLACES else layout.NUMBER_BYTES
            )
            found = remains.values.get(name, {}).items()
            values += [(name, key, each) for key, each in found if len(key) == size]
    manifest = remains.value(layout.MANIFEST, layout.MANIFEST_KEY)  # None removes it
    values.append((layout.MANIFEST, layout.MANIFEST_KEY, manifest))
    sizes = accumulate(len(value or b"") for _, _, value in values)
    with store.begin_write() as right:
        for _, part in groupby(zip(values, sizes, strict=True), lambda at: at[1] // WRITTEN_BYTES):
            put = partial(_put, [value for value, _ in part])
            store.with_room(partial(write, store, put), right, WRITTEN_BYTES)
    store.forget_views()


def _put(part: Sequence[Value], writer: Writer) -> None:
    for name, key, value in part:
        writer.put_all(name, [(key, value)])
