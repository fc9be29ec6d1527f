"""The verbs of a write transaction that change or delete stored documents."""

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Protocol

import numpy as np

from simdb import kernel
from simdb.checks import shown
from simdb.engine.reading import Reading
from simdb.engine.search.where import Where, check_optional, check_where, satisfying
from simdb.engine.state import incoming
from simdb.engine.state.documents import known_ordinals
from simdb.engine.write import conflicts
from simdb.engine.write.write_state import WriteState
from simdb.errors import InputError, NotFoundError, OptionError
from simdb.ids import IdT
from simdb.storage.records.metadata import NO_METADATA


class Changing(Reading[IdT], Protocol[IdT]):
    """The verbs that change or delete stored documents, over the changes staged in `_writing`."""

    _writing: WriteState

    def update_metadata(self, id: IdT, metadata: Any) -> None:
        """Replace the metadata of one stored document; its sketch and its place in order stay.

        `metadata`: a plain object, or None to remove what is stored.  Raises NotFoundError if the
        id is unknown, InputError for metadata that cannot be stored.
        """
        with self._writing.alone("the transaction must be idle to change metadata"):
            packed = incoming.pack_one(metadata, id)
            ordinals = known_ordinals(self._writing.current(), [id])
            changed = packed[0][1] if packed else NO_METADATA
            self._writing.staging.metadata.change(int(ordinals[0]), changed)

    def delete(self, id: IdT) -> None:
        """Delete one document; NotFoundError if the id is unknown."""
        with self._writing.alone("the transaction must be idle to delete"):
            if not self._delete_ids([id]):
                raise NotFoundError(f"no document has the id {id!r}")

    def delete_many(self, ids: Iterable[IdT]) -> int:
        """Delete the documents with these ids; returns their number.  Unknown ids are ignored."""
        with self._writing.alone("the transaction must be idle to delete"):
            return self._delete_ids(ids)

    def delete_where(self, where: Where) -> int:
        """Delete each document for whose metadata `where(metadata)` is true; returns their number.

        The metadata of a document without any are None.  If `where` raises an exception, nothing is
        deleted.
        """
        check_where(where)
        with self._writing.alone("the transaction must be idle to delete"):
            state = self._writing.current()
            ordinals = satisfying(state, state.live(), where)
            conflicts.delete_all(self._writing.staging, state, ordinals)
            return len(ordinals)

    def expire(self, before: datetime, *, where: Where | None = None) -> int:
        """Delete the documents whose time is before `before`; returns their number.

        `where`: of these only the ones that `delete_where(where)` would delete.

        `Options.keep_times` of the database decides what the time of a document is: when it was
        inserted, or when it was inserted or last matched by a claim.  A datetime without a time
        zone is local time.  Times are stored in whole seconds, so a document of the same second as
        `before` stays.

        Raises OptionError if the database keeps no times.
        """
        if not self._store.options.keeps_times:
            raise OptionError(
                f"{self._store.environment.path} keeps no times of documents, so none can expire;"
                " create a database with Options(keep_times='inserted') or 'seen' and insert the"
                " documents there, or use delete_where with a date in their metadata"
            )
        seconds = _seconds_of(before)
        check_optional(where)
        with self._writing.alone("the transaction must be idle to delete"):
            state = self._writing.current()
            live, times = state.live(), state.times()
            ordinals = live[(times[live] > 0) & (times[live] < seconds)]
            if where is not None:
                ordinals = satisfying(state, ordinals, where)
            conflicts.delete_all(self._writing.staging, state, ordinals)
            return len(ordinals)

    def _delete_ids(self, ids: Iterable[IdT]) -> int:
        offsets, content, hashes = kernel.encode_ids(incoming.as_list(ids, "ids"))
        found = self._writing.current().find(offsets, content, hashes)
        ordinals = np.unique(found[found >= 0]).astype(np.uint32)
        conflicts.delete_all(self._writing.staging, self._writing.current(), ordinals)
        return len(ordinals)


def _seconds_of(before: Any) -> int:
    """Return the seconds since 1970 of a datetime, rounded down; InputError for anything else."""
    if not isinstance(before, datetime):
        raise InputError(
            "before must be a datetime, such as datetime.now() - timedelta(days=30), got"
            f" {shown(before)}"
        )
    try:
        return math.floor(before.timestamp())
    except (OverflowError, ValueError, OSError) as error:
        raise InputError(f"before cannot be turned into seconds: {error}") from error
