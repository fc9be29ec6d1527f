"""Unreadable documents: leaves out of a call what cannot be read or stored, and keeps the rest.

`Skipped` finds the documents that are to blame, and takes them with the reasons.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Fingerprints, Sketches
from simdb.core.arrow import TextColumn
from simdb.core.decoding import UTF8, byte_column
from simdb.core.documents import Signatures
from simdb.core.progress import Progress, report_of
from simdb.core.skipped import Skipped, part_of
from simdb.database.state import incoming
from simdb.database.state.store import Beside
from simdb.sketch import AnySketcher, as_vectors


def readable(
    sketcher: AnySketcher,
    given: tuple[Any, Any, Any],
    skipped: Skipped,
    *,
    errors: str,
    threads: int,
    encoding: str = UTF8,
    beside: Beside | None = None,
    progress: Progress | None = None,
) -> tuple[Any, Sketches, Any]:
    """Return the ids, sketches and metadata of the documents that can be read and stored.

    `given`: ids, documents, which are read once, and metadata.  `skipped` takes the others.
    """
    ids, documents, metadata = incoming.as_list(given[0], "ids"), given[1], given[2]
    report, parts, done = report_of(progress), [], 0
    if metadata is not None and not isinstance(metadata, Mapping):
        metadata = incoming.as_list(metadata, "metadata")
    if metadata is not None and (isinstance(metadata, Mapping) or len(metadata) != len(ids)):
        incoming.pack_all(metadata, ids)  # which refuses it
    note_unstorable(ids, skipped)
    if metadata is not None:
        pack = lambda at, some: incoming.pack_all(some, ids[at : at + len(some)])  # noqa: E731
        skipped.note(pack, 0, metadata)
    for part in incoming.sketched(
        sketcher, documents, None, errors, threads, beside, encoding=encoding, skipped=skipped
    ):
        parts.append(part)
        done += len(part)
        if report is not None:
            report(done)
        if done > len(ids):
            break
    incoming.check_count(done + len(skipped), len(ids))
    if not len(skipped):
        return given[0], incoming.joined(sketcher, parts), metadata
    rows = np.flatnonzero(~skipped.flags(len(ids)))
    chosen = None if metadata is None else part_of(metadata, rows)
    return part_of(ids, rows), incoming.joined(sketcher, parts), chosen


def note_unstorable(ids: Any, skipped: Skipped) -> None:
    """Let `skipped` take the documents whose ids cannot be stored, if it is allowed."""
    if skipped.is_allowed:
        skipped.note(lambda at, some: kernel.encode_ids(some), 0, incoming.as_list(ids, "ids"))


def listed_documents(documents: Any) -> Any:
    """Return documents as an object that can be read twice, and of which there are parts."""
    is_bits = isinstance(documents, np.ndarray) and documents.dtype == np.uint64
    if is_bits or isinstance(documents, Fingerprints | Signatures):
        return documents
    if as_vectors(documents) is not None:
        return documents
    column = documents if isinstance(documents, TextColumn) else byte_column(documents)
    return incoming.as_list(documents, "documents") if column is None else column


def without_unreadable(
    sketcher: AnySketcher,
    documents: Any,
    skipped: Skipped,
    errors: str,
    threads: int,
    accept: Callable[[int, Any], Any] | None = None,
    encoding: str = UTF8,
) -> tuple[Any, Callable[[int, Any], Any] | None]:
    """Return the documents that can be read; `skipped` takes the others, if it is allowed.

    The second result calls `accept` with the position of a query among all documents.
    """
    if not skipped.is_allowed or documents is None:
        return documents, accept
    documents = listed_documents(documents)
    given = sketcher, documents, None, errors, threads
    for _ in incoming.sketched(*given, encoding=encoding, skipped=skipped):
        pass
    rows = np.flatnonzero(~skipped.flags(len(documents)))
    by_row = None if accept is None else lambda at, id: accept(int(rows[at]), id)
    return part_of(documents, rows), by_row
