"""Stored documents: finds their ordinals by id, draws some at random, and reads their sketches."""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine.state.state import State
from simdb.ground.errors import NotFoundError
from simdb.running import kernel
from simdb.storage import layout
from simdb.storage.records.metadata import unpacked
from simdb.values.arrays import EMPTY, WEIGHTED, Sketches
from simdb.values.document_like import Document

U32 = npt.NDArray[np.uint32]


def find_ids(state: State, ids: list[Any]) -> Any:
    """Return the int64 ordinals of ids; -1 for an id that is not stored."""
    offsets, content, hashes = kernel.encode_ids(ids)
    return state.find(offsets, content, hashes)


def known_ordinals(state: State, ids: list[Any]) -> Any:
    """Return the uint32 ordinals of ids; NotFoundError if an id is not stored."""
    found = find_ids(state, ids)
    missing = np.flatnonzero(found < 0)
    if len(missing):
        raise NotFoundError(f"no document has the id {ids[int(missing[0])]!r}")
    return found.astype(np.uint32)


def stored_sketches(state: State, ordinals: npt.NDArray[np.uint32]) -> Sketches:
    """Return the sketches of stored documents, for use as queries."""
    if state.width:
        vectors = state.vectors(ordinals).gather(ordinals)
    else:
        vectors = np.empty((len(ordinals), 0), np.uint8)
    return Sketches(
        state.column(layout.FINGERPRINT, ordinals),
        vectors,
        state.column(layout.STATE, ordinals),
    )


def with_features(state: State, *, is_weighted: bool) -> npt.NDArray[np.uint32]:
    """Return the ordinals of live documents with features, or only of those with weights."""
    ordinals = state.live()
    counts = state.counts
    if counts.empty_count or (is_weighted and counts.bare_count):
        states = state.column(layout.STATE, ordinals)
        ordinals = ordinals[states == WEIGHTED if is_weighted else states != EMPTY]
    return ordinals


def drawn(total: int, count: int, seed: int) -> npt.NDArray[np.int64]:
    """Draw `count` of the numbers below `total` at random, in random order, or all of them."""
    generator = np.random.default_rng(seed)
    places: npt.NDArray[np.int64] = generator.choice(total, min(count, total), replace=False)
    return places


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
            unpacked(packed, ordinal),
            state.kind.signature_of(sketches, at),
        )
        for at, (id, ordinal) in enumerate(zip(ids, listed, strict=True))
    ]
