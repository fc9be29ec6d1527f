"""Contents: the state that a transaction sees, which is manifest, runs, delta and tombstones.

`load` starts from the contents of an older transaction and reads only the changes since.  So after
a commit of one document, a reader reads one document.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import lmdb

from simdb.core import kernel
from simdb.core.checks import a_map, a_whole, expecting
from simdb.core.dtypes import U8
from simdb.core.errors import CorruptError, FormatError
from simdb.core.options import Options
from simdb.core.stored_options import (
    POLYTOPES,
    Resources,
    decode_options,
    decode_resources,
    encode_options,
    encode_resources,
)
from simdb.storage import codec, layout
from simdb.storage.delta import Delta, DeltaView, decode_batch
from simdb.storage.environment import Environment, Source
from simdb.storage.file_map import get_value
from simdb.storage.idf_file import read_own_idf, write_own_idf
from simdb.storage.manifest import Manifest, decode_manifest, encode_manifest
from simdb.storage.run import Run
from simdb.storage.tombstones import read_tombstones


class Contents(NamedTuple):
    """One state of the database.

    `delta` is a view of `buffer`, which must not grow; a branch of it can hold more documents.
    `dead` is None while nothing is deleted.  `calibration`: plain types, as stored; None if there
    is none.
    """

    transaction_number: int
    generation: int
    manifest: Manifest
    runs: tuple[Run, ...]
    delta: DeltaView
    dead: U8 | None
    buffer: Delta
    calibration: dict[str, Any] | None

    @property
    def stamp(self) -> tuple[int, int]:
        """Number of the transaction and generation of the map."""
        return self.transaction_number, self.generation

    @staticmethod
    def load(source: Source, previous: "Contents | None") -> "Contents":
        """Return the state that `source` sees."""
        environment, manifest = (
            source.environment,
            read_manifest(source.environment, source.transaction),
        )
        if previous is not None and previous.generation != environment.generation:
            previous = None
        buffer = _load_delta(source, manifest, previous)
        delta = buffer.view()
        if delta.stop != manifest.next_ordinal:
            raise CorruptError(
                f"the delta ends at ordinal {delta.stop}, but the manifest says"
                f" {manifest.next_ordinal}"
            )
        return Contents(
            source.transaction.id(),
            environment.generation,
            manifest,
            _known_runs(manifest, previous),
            delta,
            _load_dead(source, manifest, previous),
            buffer,
            _load_calibration(source, manifest, previous),
        )

    def after(self, number: int, manifest: Manifest, buffer: Delta, dead: U8 | None) -> "Contents":
        """Return the state that the transaction `number` has written on top of this one."""
        runs, dead = _known_runs(manifest, self), dead if manifest.deleted_count else None
        return self._replace(
            transaction_number=number, manifest=manifest, runs=runs, delta=buffer.view(), dead=dead,
            buffer=buffer,
        )  # fmt: skip


def create(
    environment: Environment, transaction: Any, options: Options, resources: Resources
) -> bool:
    """Write the values of a new, empty database; return False if a database exists.

    Raises FormatError if the environment had other content before.
    """
    if transaction.stat()["entries"]:
        return False
    if environment.last_number:
        raise FormatError(
            f"{environment.path} is an LMDB directory of another program, although it is empty"
            " now; a database needs a directory of its own"
        )
    environment.create_subdatabases(all_names(options), transaction)
    stored = {"version": codec.FORMAT_VERSION, "engine": ".".join(map(str, lmdb.version()))}
    put_twice(environment, transaction, layout.FORMAT_KEY, stored)
    put_twice(environment, transaction, layout.RESOURCES_KEY, encode_resources(resources))
    put_options(environment, transaction, options)
    manifest = environment.subdatabase(layout.MANIFEST)
    value = encode_manifest(Manifest(id_key=kernel.new_id_key()))
    transaction.put(layout.MANIFEST_KEY, value, db=manifest)
    return True


def put_twice(environment: Environment, transaction: Any, key: bytes, content: Any) -> None:
    """Store an object that cannot be derived from other data in two places; see `Remains`."""
    value = codec.encode_object(layout.OBJECT_KINDS[key], key, content)
    for name in (layout.META, layout.MANIFEST):
        transaction.put(key, value, db=environment.subdatabase(name))


def make_room_for(environment: Environment, options: Options) -> None:
    """Create the sub-databases that these options need and that are missing, in their own commit.

    They are empty until the options are stored.
    """
    missing = [name for name in all_names(options) if name not in environment.handles]
    if missing:
        try:
            environment.write(lambda writer: environment.create_subdatabases(missing, writer))
        except BaseException:
            environment.handles.forget(missing)
            raise


def table_names(options: Options) -> list[bytes]:
    """Return the names of the sub-databases of all tables of keys."""
    polytopes = map(layout.polytope_name, range(options.polytope_count))
    return [*map(layout.table_name, range(options.table_count)), *polytopes]


def all_names(options: Options) -> list[bytes]:
    """Return the name of every sub-database of a database with these options."""
    kept = {
        layout.CLUSTERS: options.keeps_clusters, layout.TIMES: options.keeps_times,
        layout.PASSAGES: options.passages, layout.FEATURES: options.features,
        layout.TEXTS: options.texts, layout.FIELDS: options.fields,
    }  # fmt: skip
    optional = (name for name, is_kept in kept.items() if is_kept)
    return [*layout.ALWAYS, *optional, *table_names(options)]


def put_options(environment: Environment, transaction: Any, options: Options) -> None:
    """Write the IDF table of the options to its file, then store the options.

    The caller's write transaction keeps other processes from doing this at the same time.
    """
    idf = options.sketch.idf
    checksum = None if idf is None else write_own_idf(environment.path, idf)
    put_twice(environment, transaction, layout.OPTIONS_KEY, encode_options(options, checksum))


def with_stored(environment: Environment, transaction: Any, options: Options) -> Options:
    """Return the options with the stored number of cross-polytope tables."""
    stored, _ = stored_options(environment, transaction)
    with expecting("the options of the database"):
        return replace(options, polytopes=stored.get(POLYTOPES))


def has_open(environment: Environment, transaction: Any) -> bool:
    """Return whether a number of cross-polytope tables is stored."""
    return POLYTOPES in stored_options(environment, transaction)[0]


def replace_open(environment: Environment, transaction: Any, wanted: Options) -> bool:
    """Store the number of cross-polytope tables; return False if it is already stored."""
    options, _ = stored_options(environment, transaction)
    if options.get(POLYTOPES) == wanted.polytopes:
        return False
    options[POLYTOPES] = wanted.polytopes
    if wanted.polytopes is None:
        del options[POLYTOPES]
    put_twice(environment, transaction, layout.OPTIONS_KEY, options)
    return True


def attach(environment: Environment) -> Options:
    """Open the sub-databases and return the options.

    Raises FormatError if this is not a simdb database, or has a newer format.
    """
    environment.attach([layout.META])
    with environment.reading() as transaction:
        options = read_options(environment, transaction)
    environment.attach(all_names(options))
    return options


def read_resources(environment: Environment) -> Resources:
    """Return the stored data of packages; empty if an older simdb created the database."""
    with environment.reading() as transaction:
        stored = _stored(environment, transaction, layout.RESOURCES_KEY)
        return Resources() if stored is None else decode_resources(stored)


def read_options(environment: Environment, transaction: Any) -> Options:
    """Return the stored options with the IDF table mapped; raise FormatError or CorruptError."""
    stored, checksum = stored_options(environment, transaction)
    idf = None if checksum is None else read_own_idf(environment.path, checksum)
    return decode_options(stored, idf)


def idf_checksum(environment: Environment, transaction: Any) -> int | None:
    """Return the checksum of the database's IDF table; None if it has none."""
    return stored_options(environment, transaction)[1]


def read_manifest(environment: Environment, transaction: Any) -> Manifest:
    """Return the manifest that `transaction` sees."""
    handle = environment.subdatabase(layout.MANIFEST)
    value = get_value(transaction, handle, layout.MANIFEST_KEY)
    if value is None:
        raise CorruptError(f"{environment.path} has lost its manifest")
    manifest = decode_manifest(value)
    if manifest.next_ordinal * layout.DOCUMENT_BYTES_LEAST > environment.used_bytes:
        raise CorruptError(
            f"{environment.path} is too small for the {manifest.next_ordinal} documents that its"
            " manifest counts"
        )
    return manifest


def stored_options(environment: Environment, transaction: Any) -> tuple[dict[str, Any], int | None]:
    """Return the options in their stored form, and the checksum of the IDF table or None."""
    with expecting("the format of the database"):
        stored = _stored(environment, transaction, layout.FORMAT_KEY)
        if stored is None:
            raise FormatError(f"{environment.path} is an LMDB directory, but not a simdb database")
        version = a_map(stored)["version"]
    if not isinstance(version, int) or version > codec.FORMAT_VERSION:
        raise FormatError(
            f"{environment.path} has format version {version}; this simdb reads up to"
            f" {codec.FORMAT_VERSION}: open it with a newer simdb"
        )
    with expecting("the options of the database"):
        stored = _stored(environment, transaction, layout.OPTIONS_KEY)
        if stored is None:
            raise CorruptError(f"{environment.path} has lost its options")
        options = a_map(stored)
        checksum = a_map(options.get("sketch", {})).get("idf")
        return dict(options), None if checksum is None else a_whole(checksum, 1 << 64)


def _stored(environment: Environment, transaction: Any, key: bytes) -> Any:
    """Return an object of the sub-database `meta`; None if it is missing."""
    value = get_value(transaction, environment.subdatabase(layout.META), key)
    return None if value is None else codec.decode_object(layout.OBJECT_KINDS[key], key, value)


def _known_runs(manifest: Manifest, previous: Contents | None) -> tuple[Run, ...]:
    """Return the runs of a manifest; reuse the objects of runs that `previous` also has."""
    known = {run.info.number: run for run in previous.runs} if previous else {}
    return tuple(known.get(info.number) or Run(info) for info in manifest.runs)


def _load_calibration(
    source: Source, manifest: Manifest, previous: Contents | None
) -> dict[str, Any] | None:
    if manifest.calibration == 0:
        return None
    if previous is not None and previous.manifest.calibration == manifest.calibration:
        return previous.calibration
    with expecting("the stored calibration"):
        stored = _stored(source.environment, source.transaction, layout.CALIBRATION_KEY)
        if stored is None:
            raise CorruptError(f"{source.environment.path} has lost its calibration")
        return dict(a_map(stored))


def _load_delta(source: Source, manifest: Manifest, previous: Contents | None) -> Delta:
    """Return the delta: a new one, or a branch of the delta of `previous` with later documents."""
    goes_on = (
        previous is not None
        and previous.manifest.delta_version == manifest.delta_version
        and previous.manifest.next_ordinal <= manifest.next_ordinal
    )
    if goes_on and previous is not None:
        buffer = previous.buffer.branch()
    else:
        buffer = Delta(manifest.delta_start, source.width, source.keying)
    at = buffer.start + len(buffer)
    if at == manifest.next_ordinal:
        return buffer
    for key, value in source.every(layout.DELTA, layout.number_key(at)):
        batch = decode_batch(key, value)
        if layout.key_number(key) != at or batch.vectors.shape[1] != source.width:
            raise CorruptError(f"the delta has no documents at ordinal {at}")
        buffer.append(batch)
        at += len(batch)
    return buffer


def _load_dead(source: Source, manifest: Manifest, previous: Contents | None) -> U8 | None:
    if manifest.deleted_count == 0:
        return None
    if previous is not None and previous.manifest.deleted_version == manifest.deleted_version:
        bitmap = previous.dead
        if bitmap is not None and 8 * len(bitmap) >= manifest.next_ordinal:
            return bitmap
    return read_tombstones(source.every(layout.DELETED), manifest.next_ordinal)
