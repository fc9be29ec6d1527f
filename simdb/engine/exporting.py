"""Exporting: the sketches of stored documents as columns, for a database or a job elsewhere."""

import numpy as np
import numpy.typing as npt

from simdb.columns.arrow import Columns, load_arrow
from simdb.columns.vector_form import NO_WEIGHTS, signs_of
from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.state import State
from simdb.values.arrays import BARE, EMPTY, Sketches, object_array

# Vectors have at least so many bytes.
WIDTH_LEAST = 32

U32 = npt.NDArray[np.uint32]


def sketch_columns(is_minhash: bool, state: State, ordinals: U32) -> list[Columns]:
    """Return the columns of documents, one chunk for each kind: what a chunk holds is all alike."""
    sketches = stored_sketches(state, ordinals)
    ids = object_array(list(state.identifiers(ordinals).decode(ordinals)))
    kinds = sketches.states == BARE
    if not state.width:
        kinds = sketches.states == EMPTY
    chunks = []
    for is_other in (False, True):
        places = np.flatnonzero(kinds == is_other)
        if len(places):
            chunks.append({"id": ids[places], **_columns(is_minhash, sketches.taken(places))})
    return chunks


def no_sketches(is_minhash: bool, state: State) -> Columns:
    """Return the columns of no documents."""
    sketches = stored_sketches(state, np.empty(0, np.uint32))
    return {"id": object_array([]), **_columns(is_minhash, sketches)}


def _columns(is_minhash: bool, sketches: Sketches) -> Columns:
    is_empty = sketches.states == EMPTY
    vectors, bits = sketches.vectors, sketches.bits.copy()
    if is_minhash:
        return {"is_empty": is_empty, "signature": vectors}
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
