"""Following: updates a copy with the values that changed in its database.

Runs never change, and every other change gives a value another checksum.  The checksum is in the
header of each value, so headers alone show which values differ.

A copy may be written only by following its database.  Its value `copy` in `meta` has the number of
the transaction that wrote the copy, and the checksum of its manifest.  If either differs, something
else has written to the copy since.

The source may be a sibling that continued from an earlier state, and would remove values from the
copy that its own past lacks.  So no counter of the source may be lower than in the copy, and the
values that never change must be equal.
"""

import os
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any

import lmdb

from simdb.core.errors import CorruptError, ExistsError
from simdb.storage import codec, layout
from simdb.storage.contents import idf_checksum, read_manifest
from simdb.storage.environment import Source
from simdb.storage.files import translate
from simdb.storage.manifest import Manifest

# Sub-database, key and value; None as the value removes the key.
Change = tuple[bytes, bytes, Any]
Values = Iterator[tuple[bytes, Any]]
# Room in the map of a new copy for its note, which is written last.
NOTE_BYTES = 1 << 20
# Sorts after all keys of LMDB, which have at most 511 bytes.
END = b"\xff" * 512, b""


def changes(
    source: Source, names: Collection[bytes], copy: Source, copy_names: Collection[bytes]
) -> Iterator[Change]:
    """Yield the changes that give the copy the values of the source in the named sub-databases.

    The values remain valid until the source ends.  Raises CorruptError if a value is damaged.
    """
    for name in sorted({*names, *copy_names}):
        wanted: Values = source.unread_values(name) if name in names else iter(())
        stored: Values = copy.unread_values(name) if name in copy_names else iter(())
        for key, value in _differences(wanted, stored):
            if (name, key) == (layout.META, layout.COPY_KEY):
                continue
            if value is not None:
                try:
                    codec.verify_value(key, value)
                except CorruptError as error:
                    path = source.environment.path
                    raise CorruptError(f"{path} is damaged; copy unchanged: {error}") from error
            yield name, key, value


def check_follows(source: Source, copy: Source) -> None:
    """Raise ExistsError unless the copy was made from the database of `source` and not changed."""
    path, note = copy.environment.path, copy.find(layout.META, layout.COPY_KEY)
    manifest = bytes(copy.find(layout.MANIFEST, layout.MANIFEST_KEY))
    asked = [(each.environment, each.transaction) for each in (source, copy)]
    own, other = (read_manifest(*each) for each in asked)
    table, known = (idf_checksum(*each) for each in asked)
    what = ""
    if not own.id_key:
        what = f"{source.environment.path} has no mark to know its copies by until it is rebuilt"
    elif own.id_key != other.id_key or known not in (None, table):
        what = f"{path} is not a copy of {source.environment.path}, but another database"
    elif bytes(note or b"") != _note(copy.environment.last_number, manifest):
        what = f"{path} was written to after it was copied, or an older simdb has copied it"
    elif not _can_come_from(source, own, copy, other):
        what = f"{path} has data that {source.environment.path} never had"
    if what:
        raise ExistsError(f"{what}; give the path of a new directory, or remove this one first")


def note_copy(transaction: Any, meta: Any, manifest: Any) -> None:
    """Note in a write transaction that it makes a copy; `meta`, `manifest`: its sub-databases."""
    value = bytes(transaction.get(layout.MANIFEST_KEY, db=manifest))
    transaction.put(layout.COPY_KEY, _note(transaction.id(), value), db=meta)


def note_new_copy(path: str) -> None:
    """Note in the data file `path`, which no process has open, that it is a copy."""
    size, names = os.path.getsize(path) + NOTE_BYTES, (layout.META, layout.MANIFEST)
    try:
        opened = lmdb.open(os.fsencode(path), subdir=False, lock=False, map_size=size, max_dbs=2)
        with opened, opened.begin(write=True) as transaction:
            handles = (opened.open_db(each, transaction, create=False) for each in names)
            note_copy(transaction, *handles)
    except lmdb.Error as error:
        translate(error, path)


def _can_come_from(source: Source, now: Manifest, copy: Source, old: Manifest) -> bool:
    """Return whether the database may have been in the state of its copy.

    No two runs have the same number.  The delta is only appended to until it is emptied.  New
    tombstones change their version.
    """

    def held(of: Source, name: bytes) -> set[tuple[bytes, bytes]]:
        return {(key, bytes(value[: codec.HEADER_BYTES])) for key, value in of.unread_values(name)}

    delta = now.delta_version - old.delta_version
    deleted = now.deleted_version - old.deleted_version
    return (
        min(delta, deleted, now.live_next_run - old.live_next_run) >= 0
        and len({*now.runs, *old.runs}) == len({run.number for run in (*now.runs, *old.runs)})
        and (delta > 0 or held(copy, layout.DELTA) <= held(source, layout.DELTA))
        and (deleted > 0 or held(copy, layout.DELETED) == held(source, layout.DELETED))
    )


def _note(number: int, manifest: bytes) -> bytes:
    """Return the note of a copy written by the transaction `number`."""
    content = {"transaction": number, "manifest": codec.checksum_of(manifest)}
    return codec.encode_object(layout.COPY_KIND, layout.COPY_KEY, content)


def _differences(wanted: Values, stored: Values) -> Values:
    """Yield the keys whose values differ, in order; the value is None for a key not in `wanted`."""
    old = next(stored, END)
    for key, value in chain(wanted, [END]):
        while old[0] < key:
            yield old[0], None
            old = next(stored, END)
        if old[0] != key or old[1][: codec.HEADER_BYTES] != value[: codec.HEADER_BYTES]:
            yield key, value
        if old[0] == key:
            old = next(stored, END)
