"""Stored documents: their ordinals by id, random draws, and their sketches as columns."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import BARE, EMPTY, WEIGHTED, Sketches, object_array, random_numbers
from simdb.core.arrow import Columns, load_arrow
from simdb.core.checks import shown
from simdb.core.documents import Document
from simdb.core.dtypes import I64, U32, U64, Bools
from simdb.core.errors import NotFoundError
from simdb.core.vector_form import NO_WEIGHTS, signs_of
from simdb.database.state.state import State
from simdb.database.state.view import HASHES, SIGNATURES
from simdb.storage import layout, metadata as records

# Least number of bytes of a vector.
WIDTH_LEAST = 32


def find_ids(state: State, ids: list[Any]) -> Any:
    """Return the int64 ordinals of ids; -1 for an id that is not stored."""
    offsets, content, hashes = kernel.encode_ids(ids, state.counts.id_key)
    return state.find(offsets, content, hashes)


def known_ordinals(state: State, ids: list[Any]) -> Any:
    """Return the uint32 ordinals of ids; raise NotFoundError if an id is not stored."""
    found = find_ids(state, ids)
    # A query by id has a single id, for which the first comparison is faster.
    if found[0] < 0 if len(found) == 1 else (found < 0).any():
        refuse_unknown(ids[int(np.argmax(found < 0))])
    return found.astype(np.uint32)


def refuse_unknown(id: Any) -> NoReturn:
    """Raise NotFoundError for an id that is not stored."""
    raise NotFoundError(f"no document has the id {shown(id)}")


def stored_sketches(state: State, ordinals: U32) -> Sketches:
    """Return the sketches of stored documents, for use as queries."""
    if state.width:
        vectors = state.vectors(ordinals).gather(ordinals)
    else:
        vectors = np.empty((len(ordinals), 0), np.uint8)
    return Sketches(
        state.column(layout.FINGERPRINT, ordinals), vectors, state.column(layout.STATE, ordinals),
        content=state.counts.content,
    )  # fmt: skip


def with_features(state: State, *, is_weighted: bool) -> U32:
    """Return the ordinals of live documents with features, or only of those with weights."""
    ordinals = state.live()
    counts = state.counts
    if counts.empty_count or (is_weighted and counts.bare_count):
        states = state.column(layout.STATE, ordinals)
        ordinals = ordinals[states == WEIGHTED if is_weighted else states != EMPTY]
    return ordinals


def feature_count(state: State, *, is_weighted: bool) -> int:
    """Return the number of documents that `with_features` returns."""
    counts = state.counts
    return counts.document_count - counts.empty_count - counts.bare_count * is_weighted


def drawn(total: int, count: int, seed: int) -> I64:
    """Draw `count` distinct numbers below `total` in random order, or all of them."""
    return random_numbers(seed).choice(total, min(count, total), replace=False)


def ids_of(state: State, ordinals: U32) -> list[Any]:
    """Return the ids of some documents."""
    return list(state.identifiers(ordinals).decode(ordinals))


def items_of(state: State, ordinals: U32) -> list[tuple[Any, Document[Any]]]:
    """Return some documents with their ids."""
    ids = ids_of(state, ordinals)
    return list(zip(ids, documents_of(state, ids, ordinals), strict=True))


def documents_of(state: State, ids: list[Any], ordinals: U32) -> list[Document[Any]]:
    """Return the stored documents with these ids and ordinals."""
    sketches = stored_sketches(state, ordinals)
    listed = ordinals.tolist()
    packed = state.metadata_of_many(listed)
    return [
        Document(
            id,
            state.kind.fingerprint_of(sketches, at),
            records.unpacked(packed, ordinal),
            state.kind.signature_of(sketches, at),
        )
        for at, (id, ordinal) in enumerate(zip(ids, listed, strict=True))
    ]


def known_documents(state: State, ids: list[Any]) -> list[Document[Any]]:
    """Return the stored documents with these ids; raise NotFoundError if an id is not stored."""
    return documents_of(state, ids, known_ordinals(state, ids))


def known_times(state: State, ids: list[Any]) -> U32:
    """Return the times of documents in seconds, 0 for none.

    Raises NotFoundError for an unknown id.
    """
    times: U32 = state.times()[known_ordinals(state, ids)]
    return times


def known_texts(
    state: State, ids: list[Any], read: Callable[[State, U32], Sequence[Any]] = State.texts
) -> list[Any]:
    """Return the texts of documents, None for a non-text; raise NotFoundError for an unknown id."""
    ordinals, which = np.unique(known_ordinals(state, ids), return_inverse=True)
    texts = list(read(state, ordinals))
    return [texts[at] for at in which]


def are_stored(state: State, ids: list[Any]) -> Bools:
    """Return whether each id is stored."""
    return np.asarray(find_ids(state, ids) >= 0)


def stored_bits(state: State, ids: list[Any]) -> U64:
    """Return uint64[n, 2]: whether each id is stored, and the bits of its fingerprint."""
    ordinals = find_ids(state, ids)
    found = np.zeros((len(ids), 2), np.uint64)
    found[:, 0] = is_stored = ordinals >= 0
    found[is_stored, 1] = state.column(layout.FINGERPRINT, ordinals[is_stored].astype(np.uint32))
    return found


def document_count(state: State) -> int:
    """Return the number of documents."""
    return state.counts.document_count


def sketch_columns(state: State, ordinals: U32) -> list[Columns]:
    """Return the columns of documents in chunks, each with documents of one kind."""
    sketches = stored_sketches(state, ordinals)
    ids = object_array(ids_of(state, ordinals))
    kinds = sketches.states == BARE
    if not state.width:
        kinds = sketches.states == EMPTY
    chunks = []
    for is_other in (False, True):
        places = np.flatnonzero(kinds == is_other)
        if len(places):
            chunks.append({"id": ids[places], **_columns(state, sketches.taken(places))})
    return chunks


def no_sketches(state: State) -> Columns:
    """Return the columns of no documents."""
    sketches = stored_sketches(state, np.empty(0, np.uint32))
    return {"id": object_array([]), **_columns(state, sketches)}


def _columns(state: State, sketches: Sketches) -> Columns:
    is_empty = sketches.states == EMPTY
    vectors, bits = sketches.vectors, sketches.bits.copy()
    if state.kind.stores == SIGNATURES:
        return {"is_empty": is_empty, "signature": vectors}
    if state.kind.stores == HASHES:
        return {"is_empty": is_empty, "bits": vectors}
    width = vectors.shape[1]
    none = np.full((1, width or WIDTH_LEAST), NO_WEIGHTS, np.uint8)
    bits[is_empty] = signs_of(none)[0]
    columns: Columns = {"is_empty": is_empty, "bits": bits}
    if width:
        vectors = vectors.copy()
        vectors[is_empty] = none
        is_bare = len(sketches) > 0 and bool((sketches.states == BARE).all())
        arrow = load_arrow("an Arrow table")
        columns["vector"] = arrow.nulls(len(sketches), arrow.binary(width)) if is_bare else vectors
    return columns
