"""The reading verbs by id: whether a document is stored, and what is stored of it."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar, overload

import numpy as np
import numpy.typing as npt

from simdb.arrow import checked_arrow, read_batches
from simdb.documents import Document
from simdb.engine import exporting
from simdb.engine import state as states
from simdb.engine.pairing import Pairing
from simdb.engine.state.documents import find_ids, known_ordinals, stored_sketches
from simdb.engine.state.state import State
from simdb.errors import OptionError
from simdb.ids import IdT
from simdb.storage import layout
from simdb.storage.records.metadata import unpacked

ITERATED_IDS = 4096
ITERATED_DOCUMENTS = 1024
EXPORTED_DOCUMENTS = 1 << 14

Default = TypeVar("Default")
Read = TypeVar("Read")

U32 = npt.NDArray[np.uint32]


class ById(Pairing[IdT], Protocol[IdT]):
    """The verbs by id, and those of a mapping from id to document."""

    @overload
    def get(self, id: IdT) -> Document[IdT] | None: ...

    @overload
    def get(self, id: IdT, default: Default) -> Document[IdT] | Default: ...

    def get(self, id: IdT, default: Any = None) -> Any:
        """Return the stored document `id`, or `default` if no document has this id.

        `database[id]` raises NotFoundError instead.
        """
        with self._state() as state:
            found = find_ids(state, [id])
            return default if found[0] < 0 else _documents(state, [id], found.astype(np.uint32))[0]

    def get_many(self, ids: Iterable[IdT]) -> list[Document[IdT]]:
        """Return the stored documents `ids`, in order; NotFoundError for the first unknown id."""
        listed = states.incoming.as_list(ids, "ids")
        with self._state() as state:
            return _documents(state, listed, known_ordinals(state, listed))

    def keys(self) -> Iterator[IdT]:
        """Yield the ids of the documents stored now, in the order of insertion."""
        return self._each_part(ITERATED_IDS, _ids)

    def items(self) -> Iterator[tuple[IdT, Document[IdT]]]:
        """Yield the id and the document of each document stored now, in the order of insertion.

        A thousand documents are in memory at a time.  Later changes to the database are not seen.
        """
        return self._each_part(ITERATED_DOCUMENTS, _items)

    def sketches(self, *, ids: str = "auto") -> Any:
        """Return the sketches of all stored documents: a pyarrow.RecordBatchReader.

        The columns are `id`, `is_empty` and, of fingerprints, `bits` uint64 and `vector`, the bytes
        of the stored weights, null for a document without weights; or `signature`, the bytes of
        the stored minima.  Another database stores them again, bit for bit, with

            for batch in database.sketches():
                other.insert_many(batch["id"], simdb.Fingerprints.from_arrow(batch))

        or `simdb.Signatures.from_arrow(batch, sketch)`.  Some ten thousand documents are in memory
        at a time, in the order of insertion, of which those without weights come last.  Later
        changes to the database are not seen.  The bits of a document without features are all set.
        Raises OptionError without pyarrow.  `ids`: see `Pairs.to_arrow`.
        """
        checked_arrow(ids)
        is_minhash = self._store.options.is_minhash
        with self._state() as state:
            empty = exporting.no_sketches(is_minhash, state)
        columns = partial(exporting.sketch_columns, is_minhash)
        chunks = self._each_part(EXPORTED_DOCUMENTS, columns)
        return read_batches(chunks, empty, id_columns=["id"], ids=ids)

    def contains_many(self, ids: Iterable[IdT]) -> npt.NDArray[np.bool_]:
        """Return whether each of `ids` is the id of a stored document: bool[n]."""
        listed = states.incoming.as_list(ids, "ids")
        with self._state() as state:
            found: npt.NDArray[np.int64] = find_ids(state, listed)
            return found >= 0

    def bits_many(self, ids: Iterable[IdT]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
        """Return whether each of `ids` is stored, bool[n], and its fingerprint's bits, uint64[n].

        It is much faster than `get_many`.  The bits of an unknown id are 0.
        """
        listed = states.incoming.as_list(ids, "ids")
        with self._state() as state:
            found: npt.NDArray[np.int64] = find_ids(state, listed)
            is_stored = found >= 0
            bits = np.zeros(len(found), np.uint64)
            ordinals = found[is_stored].astype(np.uint32)
            bits[is_stored] = state.column(layout.FINGERPRINT, ordinals)
            return is_stored, bits

    def times_many(self, ids: Iterable[IdT]) -> npt.NDArray[np.datetime64]:
        """Return the time of each of the stored documents `ids`: datetime64[s][n], in UTC.

        It is when the document was inserted or, with `Options(keep_times="seen")`, inserted or last
        matched by a claim; NaT for a document without a time.  Raises OptionError if the database
        keeps no times, NotFoundError for the first unknown id.
        """
        if not self._store.options.keeps_times:
            raise OptionError(
                f"{self._store.environment.path} keeps no times of documents; create a database"
                " with Options(keep_times='inserted') or 'seen' and insert the documents there"
            )
        listed = states.incoming.as_list(ids, "ids")
        with self._state() as state:
            seconds = state.times()[known_ordinals(state, listed)]
        times: npt.NDArray[np.datetime64] = seconds.astype("datetime64[s]")
        times[seconds == 0] = np.datetime64("NaT")
        return times

    def __getitem__(self, id: IdT) -> Document[IdT]:
        """Return the stored document `id`; NotFoundError, a KeyError, if no document has this id.

        A document is a copy: to change what is stored, use `update_metadata` or `insert`.
        """
        return self.get_many([id])[0]

    def __contains__(self, id: object) -> bool:
        """Return whether a document with this id is stored."""
        with self._state() as state:
            return bool(find_ids(state, [id])[0] >= 0)

    def __len__(self) -> int:
        """Return the number of stored documents."""
        with self._state() as state:
            return state.counts.document_count

    def __iter__(self) -> Iterator[IdT]:
        """Yield the ids of the documents stored now, in the order of insertion."""
        return self._each_part(ITERATED_IDS, _ids)

    # Without this, reversed() would take whole numbers from the length downward as ids.
    __reversed__: ClassVar[None] = None

    def __bool__(self) -> bool:
        """Return True, even if no document is stored."""
        return True

    def _each_part(self, size: int, read: Callable[[State, U32], list[Read]]) -> Iterator[Read]:
        """Yield what `read` returns for the documents stored now, `size` documents at a time."""
        owner, end = self._lasting()
        with owner._state() as state:
            ordinals = state.live()
        for start in range(0, len(ordinals), size):
            part = ordinals[start : start + size]
            with owner._hold():
                state.source.check_open()
                found = read(state, part)
            yield from found
        if end is not None:
            end()


def _ids(state: State, ordinals: U32) -> list[Any]:
    return list(state.identifiers(ordinals).decode(ordinals))


def _items(state: State, ordinals: U32) -> list[tuple[Any, Document[Any]]]:
    ids = _ids(state, ordinals)
    return list(zip(ids, _documents(state, ids, ordinals), strict=True))


def _documents(state: State, ids: list[Any], ordinals: U32) -> list[Document[Any]]:
    """Return the stored documents with these ids and ordinals."""
    sketches = stored_sketches(state, ordinals)
    listed = ordinals.tolist()
    packed = state.metadata_of_many(listed)
    return [
        Document(
            id,
            state.kind.fingerprint_of(sketches, at),
            unpacked(packed, ordinal),
            state.kind.signature_of(sketches, at),
        )
        for at, (id, ordinal) in enumerate(zip(ids, listed, strict=True))
    ]
