"""The IDF table of a database: set once, before any document is inserted.

A database may be created without the table that its weighting needs, so that documents can be read
with its options to fit the table.  Fingerprints made before and after a change of weights would not
agree, so a table cannot change after it is set.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from simdb.core.checks import instance
from simdb.core.errors import OptionError
from simdb.core.options import Options
from simdb.core.progress import Progress
from simdb.core.text_sketch import IdfTable
from simdb.database.state.store import Store
from simdb.sketch import fit
from simdb.storage import contents, idf_file

ALREADY = "has an IDF table already, which cannot change; for another table create another database"
# Enough for the options, which are one small value.
GROWTH_BYTES = 1 << 16


def fit_own_idf(
    store: Store,
    documents: Iterable[Any],
    *,
    features_max: int | None,
    errors: str,
    progress: Progress | None,
) -> IdfTable:
    """Fit the IDF table of the database to documents, and set it; see `set_idf`.

    If the table cannot be set, no document is read.
    """
    sketch = store.options.sketch
    if store.options.is_hashes:
        raise OptionError(f"{store.environment.path} has hashes; an IDF table needs texts")
    if not sketch.uses_idf:
        raise OptionError(
            f"weighting={sketch.weighting!r} takes no idf table; create the database with 'tf-idf'"
        )
    with store.environment.reading() as transaction:
        if contents.idf_checksum(store.environment, transaction) is not None:
            raise OptionError(f"{store.environment.path} {ALREADY}")
        _check_unused(store, transaction)
    table = fit(
        documents,
        store.counter,
        sketch.feature_settings,
        features_max=features_max,
        errors=errors,
        progress=progress,
    )
    set_idf(store, table)
    return table


def set_idf(store: Store, table: IdfTable) -> None:
    """Make `table` the IDF table of the database; setting an equal table again does nothing.

    Raises OptionError if the weighting needs no table, if the table was fitted with other options,
    if the database has another table, or if documents were inserted before.
    """
    instance("table", table, IdfTable, "simdb.fit_idf(documents)")
    wanted = replace(store.options, sketch=replace(store.options.sketch, idf=table))
    with store.begin_write() as right:
        store.with_room(
            lambda: store.environment.write(lambda writer: _set_in(store, writer, wanted)),
            right,
            GROWTH_BYTES,
        )
    store.look_for_idf()


def copy_idf(store: Store, target: str) -> None:
    """Copy the IDF table of the database, if it has one, into the directory of its copy.

    The data file was copied before, so a table set meanwhile does no harm.
    """
    with store.environment.reading() as transaction:
        checksum = contents.idf_checksum(store.environment, transaction)
    if checksum is not None:
        table = idf_file.read_own_idf(store.environment.path, checksum, is_verified=True)
        idf_file.write_own_idf(target, table)


def _set_in(store: Store, transaction: Any, wanted: Options) -> None:
    """Store options with the table in a transaction, unless they have an equal one."""
    environment = store.environment
    stored = contents.read_options(environment, transaction)
    if stored.sketch.idf is not None:
        if stored.sketch.idf != wanted.sketch.idf:
            raise OptionError(f"{environment.path} {ALREADY}")
        return
    _check_unused(store, transaction)
    # The other options may have been replaced since the database was opened.
    contents.put_options(environment, transaction, replace(stored, sketch=wanted.sketch))


def _check_unused(store: Store, transaction: Any) -> None:
    """Raise OptionError if documents were ever inserted, unless some have weights.

    Documents with weights mean that their IDF table was lost.  An equal table may then be set
    again.
    """
    manifest = contents.read_manifest(store.environment, transaction)
    if manifest.document_count > manifest.bare_count + manifest.empty_count:
        return
    # A compaction gives new ordinals, but never uses the number of a run again.
    if manifest.next_ordinal or manifest.live_next_run:
        raise OptionError(
            f"documents were inserted into {store.environment.path} before, and an IDF table can"
            " only be set before the first; create another database"
        )
