"""Documents on their way in: checked, sketched and laid out in columns, not yet staged."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.checks import called, shown
from simdb.errors import InputError
from simdb.signatures import Signatures
from simdb.sketch.kinds import AnySketcher
from simdb.sketch.vectors import as_vectors
from simdb.storage.records.batch import Batch
from simdb.storage.records.metadata import pack_every
from simdb.values import BARE, EMPTY, Fingerprints, Sketches, aligned, offsets_of

SKETCHED_DOCUMENTS = 8192
SKETCHED_READY = 1 << 16  # of what is ready in arrays, where it must not go all at once

Progress = Callable[[int], None]


def as_list(values: Any, what: str) -> list[Any]:
    """An iterable, array or Arrow column as a list; InputError for a single value or None."""
    if isinstance(values, list):
        return values
    if values is None or isinstance(values, str | bytes | int):
        raise InputError(
            f"{what} are many, in a list, an array or an iterator, not {shown(values)}"
        )
    if hasattr(values, "to_pylist"):
        return list(values.to_pylist())
    if isinstance(values, np.ndarray) and values.ndim:
        return list(values.tolist())
    try:
        return list(values)
    except TypeError as error:
        raise InputError(f"{what} are {type(values).__name__}, which is no iterable") from error


class EncodedIds:
    """Ids in their stored form: `offsets`, `content` and `hashes` as from `kernel.encode_ids`."""

    def __init__(self, ids: list[Any]) -> None:
        """Raise InputError for an id that cannot be, or that stands twice in `ids`."""
        self.ids = ids
        self.offsets, self.content, self.hashes = kernel.encode_ids(ids)
        self._check_distinct()

    def __len__(self) -> int:
        """How many."""
        return len(self.ids)

    def _check_distinct(self) -> None:
        ordered = self.hashes.copy()
        order = np.arange(len(ordered), dtype=np.uint32)
        kernel.sort(ordered, order)
        for at in np.flatnonzero(ordered[1:] == ordered[:-1]):
            first, second = int(order[at]), int(order[at + 1])
            if self._stored(first) == self._stored(second):
                raise InputError(
                    f"the id {self.ids[second]!r} stands twice in one call, at {first} and"
                    f" {second}; nothing was inserted"
                )

    def _stored(self, position: int) -> bytes:
        return bytes(self.content[self.offsets[position] : self.offsets[position + 1]])


def sketch_all(
    sketcher: AnySketcher, documents: Any, count: int, *, errors: str, progress: Progress | None
) -> Sketches:
    """Sketches of exactly `count` documents, taken from an iterable a few thousand at a time."""
    called("progress", progress)
    parts: list[Sketches] = []
    done = 0
    for chunk in _chunks(documents):
        parts.append(sketcher.sketch(chunk, errors=errors, start=done))
        done += len(chunk)
        if done > count:
            break
        if progress is not None:
            progress(done)
    _check_count(done, count)
    return joined(sketcher, parts)


def sketch_slices(
    sketcher: AnySketcher, documents: Any, count: int | None, size: int | None, *, errors: str
) -> Iterator[Sketches]:
    """Sketches, as of queries, `size` at a time or all at once; one slice or more.

    `count`: how many documents there must be, None for any number.
    """
    held: list[Sketches] = []
    done = 0
    for chunk in _chunks(documents, size):
        if held and size is not None and sum(map(len, held)) + len(chunk) > size:
            yield joined(sketcher, held, is_query=True)
            held = []
        held.append(sketcher.sketch(chunk, errors=errors, start=done, is_query=True))
        done += len(chunk)
        if count is not None and done > count:
            break
    _check_count(done, done if count is None else count)
    yield joined(sketcher, held, is_query=True)


def as_inserted(sketcher: AnySketcher, queries: Sketches) -> Sketches:
    """Sketches of queries as they are stored: without levels, and bare where no vectors are."""
    states = queries.states
    if not sketcher.options.vector_bytes:
        states = np.where(states == EMPTY, EMPTY, BARE).astype(np.uint8)
    return Sketches(queries.bits, queries.vectors, states)


def sketch_queries(sketcher: AnySketcher, documents: Any, errors: str) -> Sketches:
    """Sketches of all queries of an iterable or an array."""
    parts: list[Sketches] = []
    for chunk in _chunks(documents):
        start = sum(len(part) for part in parts)
        parts.append(sketcher.sketch(chunk, errors=errors, start=start, is_query=True))
    return joined(sketcher, parts, is_query=True)


def joined(sketcher: AnySketcher, parts: list[Sketches], is_query: bool = False) -> Sketches:
    """Sketches that follow each other, as one."""
    if len(parts) == 1:
        return parts[0]
    parts = [sketcher.sketch([], is_query=is_query), *parts]
    levels = [part.levels for part in parts if part.levels is not None]
    return Sketches(
        np.concatenate([part.bits for part in parts]),
        np.concatenate([part.vectors for part in parts]),
        np.concatenate([part.states for part in parts]),
        np.concatenate(levels) if levels else None,
    )


def make_batch(ids: EncodedIds, sketches: Sketches) -> Batch:
    """The columns of these documents."""
    return Batch(
        sketches.bits.copy(),  # they may be the caller's own array
        sketches.states,
        sketches.vectors,
        ids.hashes,
        ids.offsets,
        ids.content,
    )


def pack_all(metadata: Any, ids: Sequence[Any]) -> list[tuple[int, bytes]]:
    """Position and stored form of the metadata of each document that has any."""
    if metadata is None:
        return []
    if isinstance(metadata, Mapping):
        raise InputError(
            "metadata of many documents is a list with an object or None for each of the ids, not"
            f" a {type(metadata).__name__}; if its keys are ids, pass [metadata.get(id) for id in"
            " ids]"
        )
    values = as_list(metadata, "metadata")
    if len(values) != len(ids):
        raise InputError(f"there are {len(ids)} ids but metadata of {len(values)} documents")
    return pack_every(values, lambda at: f"document {ids[at]!r}")


def chosen_batch(batch: Batch, chosen: npt.NDArray[np.integer]) -> Batch:
    """Only the documents at the positions `chosen`, in that order."""
    lengths = np.diff(batch.offsets)
    content = [batch.content[batch.offsets[at] : batch.offsets[at + 1]] for at in chosen]
    return Batch(
        batch.fingerprints[chosen],
        batch.states[chosen],
        batch.vectors[chosen],
        batch.hashes[chosen],
        offsets_of(lengths[chosen]),
        np.concatenate([np.empty(0, np.uint8), *content]),
    )


def _check_count(done: int, count: int) -> None:
    """Raise InputError unless there were as many documents as ids."""
    if done != count:
        found = f"more than {count}" if done > count else str(done)
        raise InputError(f"there are {count} ids but {found} documents")


def _chunks(documents: Any, most: int | None = None) -> Iterator[Any]:
    """Documents a few thousand at a time, slices of matrices; arrays of fingerprints whole.

    `most`: no more than so many at a time, of any kind.
    """
    few = min(most or SKETCHED_DOCUMENTS, SKETCHED_DOCUMENTS)
    many = None if most is None else min(most, SKETCHED_READY)
    if isinstance(documents, Fingerprints | Signatures):
        for first in range(0, max(len(documents), 1), many or max(len(documents), 1)):
            yield _slice(documents, first, many)
        return
    vectors = as_vectors(documents)
    if vectors is not None:
        for first in range(0, len(vectors), few):
            yield vectors[first : first + few]
        return
    if isinstance(documents, np.ndarray):
        if documents.dtype == np.uint64 and documents.ndim == 1:
            documents = aligned(documents, np.uint64)
            for first in range(0, len(documents), many or max(len(documents), 1)):
                yield documents[first : first + (many or len(documents))]
            return
        if documents.dtype.kind not in "OUS" or documents.ndim != 1:
            raise InputError(
                f"documents are an array of {documents.dtype} with shape {documents.shape}; ready"
                " fingerprints are uint64[n], vectors float[n, d]"
            )
    if isinstance(documents, str | bytes | int) or not isinstance(documents, Iterable):
        raise InputError(
            f"documents are many, in a list, an array or an iterator, not"
            f" {type(documents).__name__}"
        )
    if hasattr(documents, "to_pylist"):
        documents = documents.to_pylist()
    iterator = iter(documents)
    while chunk := list(islice(iterator, few)):
        yield chunk


def _slice(
    documents: Fingerprints | Signatures, first: int, most: int | None
) -> Fingerprints | Signatures:
    if most is None:
        return documents
    part = slice(first, first + most)
    if isinstance(documents, Signatures):
        return Signatures(documents.minima[part], documents.sketch, documents.is_empty[part])
    weights = documents.weights
    return Fingerprints(documents.bits[part], None if weights is None else weights[part])
