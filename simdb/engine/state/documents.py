"""Stored documents by id: their ordinals and what is kept of them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.engine.state.view import View
from simdb.errors import NotFoundError
from simdb.index.bands import Bands
from simdb.index.keying import Keying
from simdb.signatures import Signature
from simdb.storage import layout
from simdb.storage.runs.run import Source
from simdb.values import EMPTY, WEIGHTED, Fingerprint, Sketches


def find_ids(view: View, source: Source, ids: list[Any]) -> Any:
    """int64 ordinals of ids, -1 for those that are not there."""
    offsets, content, hashes = kernel.encode_ids(ids)
    return view.find(offsets, content, hashes, source)


def known_ordinals(view: View, source: Source, ids: list[Any]) -> Any:
    """uint32 ordinals of ids that must all be there."""
    found = find_ids(view, source, ids)
    missing = np.flatnonzero(found < 0)
    if len(missing):
        raise NotFoundError(f"no document has the id {ids[int(missing[0])]!r}")
    return found.astype(np.uint32)


def fingerprint_of(sketches: Sketches, at: int, keying: Keying | None) -> Fingerprint:
    """The fingerprint of one of some documents, with its weights if any are kept.

    `keying`: of a database; what has bands has no weights.
    """
    state = int(sketches.states[at])
    bits = int(sketches.bits[at])
    has_weights = state == WEIGHTED and sketches.vectors.shape[1] > 0
    if not has_weights or isinstance(keying, Bands):
        return Fingerprint(bits, None, is_empty=state == EMPTY)
    return Fingerprint(bits, weights_of(sketches, at))


def weights_of(sketches: Sketches, at: int) -> npt.NDArray[np.float32]:
    """The weights of one of some documents as they are stored."""
    halves = np.concatenate([sketches.vectors[at] & 15, sketches.vectors[at] >> 4])
    return np.asarray(2.0 * halves - 15.0, np.float32)


def signature_of(sketches: Sketches, at: int, keying: Keying) -> Signature | None:
    """The signature of one of some stored documents; None where they have fingerprints."""
    if not isinstance(keying, Bands):
        return None
    minima = keying.minima_of(sketches.vectors[at : at + 1])[0]
    return Signature(minima, keying.sketch, bool(sketches.states[at] == EMPTY))


def stored_sketches(view: View, source: Source, ordinals: npt.NDArray[np.uint32]) -> Sketches:
    """What is stored of some documents, as queries."""
    if source.width:
        vectors = view.vectors(source, ordinals).gather(ordinals)
    else:
        vectors = np.empty((len(ordinals), 0), np.uint8)
    return Sketches(
        view.column(layout.FINGERPRINT, ordinals, source),
        vectors,
        view.column(layout.STATE, ordinals, source),
    )
