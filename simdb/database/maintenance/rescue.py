"""Rescue: rebuilds a database that cannot be opened, from whatever its pages still hold.

What `Remains` finds becomes a temporary database, which is rebuilt like any other.  Only then does
its data file take the place of the damaged one, while no other process has the database open.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from simdb.core.errors import BusyError, CorruptError, Error
from simdb.core.options import Options
from simdb.core.reports import Rebuild
from simdb.core.stored_options import Resources, decode_options, decode_resources
from simdb.database.maintenance.rebuild import idf_loss, rebuild
from simdb.database.state.opening import open_aside
from simdb.database.state.store import Store
from simdb.database.write.writer import Writer, write
from simdb.sketch import take_resources
from simdb.storage import (
    COLUMN_KEY_BYTES,
    COLUMN_PLACES,
    COPY_FILE,
    DATA_FILE,
    Loss,
    OpenFiles,
    Remains,
    codec,
    contents,
    decode_manifest,
    layout,
    problems_of_pages,
    salvaged_idf,
    translate,
    write_own_idf,
)

WAIT_SECONDS = 2.0
ROOM_FACTOR = 3  # the values, the tables made of them, and a copy without free pages
WRITTEN_BYTES = 1 << 26  # in one commit
# What is made again from the columns, or has a form of its own.
DERIVED = (layout.META, layout.MANIFEST, layout.IDS)

Value = tuple[bytes, bytes, Any]  # sub-database, key, value


def problem_of(store: Store) -> CorruptError | None:
    """Return what is wrong with the pages of an open database; None if they are sound."""
    with store.environment.reading():
        for problem in problems_of_pages(os.path.join(store.environment.path, DATA_FILE)):
            return CorruptError(problem)
    return None


def rescue(path: str, problem: Error, *, drop_damaged: bool, **asked: Any) -> Rebuild:
    """Rebuild the database in the directory `path`, which `problem` keeps from being opened.

    `asked`: see `rebuild`.  Raises `problem` if this is no database of this version, and
    CorruptError, with everything as it was, if documents would be lost and `drop_damaged` is False.
    """
    files = OpenFiles(path, is_read_only=False, is_synced=True, timeout=WAIT_SECONDS)
    try:
        assert files.writer_lock is not None
        files.writer_lock.take(WAIT_SECONDS)
        with files.presence.alone() as is_alone:
            if not is_alone:
                raise BusyError(
                    f"{path} is damaged, and other processes or handles have it open; close the"
                    " database everywhere, then rebuild it"
                ) from problem
            before = files.presence.data_bytes
            try:
                remains = Remains(os.path.join(path, DATA_FILE))
            except CorruptError as error:
                raise problem from error
            options, resources, losses = _settings(path, remains, problem)
            store = open_aside(options, resources, ROOM_FACTOR * before)
            try:
                _fill(store, remains)
                made = rebuild(
                    store, drop_damaged=drop_damaged, torn=remains.torn, losses=losses, **asked
                )
                _put_in_place(store, path, files, has_new_idf=bool(losses))
            finally:
                store.close()
            said = f"the data file was made anew of what its pages hold: {problem}"
            notes = tuple(each.replace(store.environment.path, path) for each in made.notes)
            return replace(
                made,
                notes=(said, *remains.notes, *notes),
                before_bytes=before,
                after_bytes=files.presence.data_bytes,
            )
    finally:
        files.close()


def _settings(path: str, remains: Remains, problem: Error) -> tuple[Options, Resources, list[Loss]]:
    """Return options and resources, and what of them is lost."""
    kinds = (layout.FORMAT_KIND, layout.OPTIONS_KIND, layout.RESOURCES_KIND)
    found: list[Any] = []
    for kind, key in zip(kinds, layout.KEPT_TWICE, strict=True):
        value = remains.value(layout.META, key)
        found.append(None if value is None else codec.decode_object(kind, key, value))
    form, stored, kept = found
    if form is not None and form["version"] > codec.FORMAT_VERSION:
        raise problem
    if stored is None:
        if not remains.values.get(layout.DOCUMENTS) and not remains.values.get(layout.DELTA):
            raise problem
        raise CorruptError(
            f"{path} has lost its options, without which no document can be told; restore it from"
            f" a copy or a dump: {problem}"
        ) from problem
    manifest = remains.value(layout.MANIFEST, layout.MANIFEST_KEY)
    has_documents = remains.values.get(layout.DOCUMENTS) or remains.values.get(layout.DELTA)
    if not has_documents and (manifest is None or decode_manifest(manifest).next_ordinal):
        raise CorruptError(f"{path} has no document that can be read; restore it from a copy")
    losses: list[Loss] = []
    checksum = stored.get("sketch", {}).get("idf")
    table, wrong = (None, "") if checksum is None else salvaged_idf(path, checksum)
    if wrong:
        losses.append(idf_loss(table, wrong))
    options = decode_options(stored, table)
    try:
        resources = take_resources(options.sketch) if kept is None else decode_resources(kept)
    except Error as error:
        raise CorruptError(f"{path} has lost its stop words: {error}") from error
    return options, resources, losses


def _fill(store: Store, remains: Remains) -> None:
    """Store what `remains` has in the new database of `store`, except what can be made again."""
    values = [
        (layout.META, key, value)
        for key, value in remains.values.get(layout.META, {}).items()
        if key not in layout.KEPT_TWICE
    ]
    for name in contents.all_names(store.options):
        if name not in contents.table_names(store.options) and name not in DERIVED:
            size = COLUMN_KEY_BYTES if name in COLUMN_PLACES else layout.NUMBER_BYTES
            found = remains.values.get(name, {}).items()
            values += [(name, key, each) for key, each in found if len(key) == size]
    manifest = remains.value(layout.MANIFEST, layout.MANIFEST_KEY)  # None removes it
    values.append((layout.MANIFEST, layout.MANIFEST_KEY, manifest))
    with store.begin_write() as right:
        for part in _parts(values):
            store.with_room(partial(write, store, partial(_put, part)), right, WRITTEN_BYTES)
    store.forget_views()


def _put(part: Sequence[Value], writer: Writer) -> None:
    for name, key, value in part:
        writer.put_all(name, [(key, value)])


def _parts(values: Sequence[Value]) -> Iterator[list[Value]]:
    """Yield the values in parts of about WRITTEN_BYTES."""
    part: list[Value] = []
    size = 0
    for each in values:
        part.append(each)
        size += len(each[2] or b"")
        if size >= WRITTEN_BYTES:
            yield part
            part, size = [], 0
    yield part


def _put_in_place(store: Store, path: str, files: OpenFiles, *, has_new_idf: bool) -> None:
    """Replace the damaged data file, and the IDF table if it was damaged."""
    copy = os.path.join(path, COPY_FILE)
    try:
        with suppress(FileNotFoundError):
            os.unlink(copy)
        store.environment.copy_to(copy)
        if has_new_idf and store.options.sketch.idf is not None:
            write_own_idf(path, store.options.sketch.idf)
        files.put_in_place(copy)
    except OSError as error:
        translate(error, path)
    finally:
        with suppress(OSError):
            os.unlink(copy)
