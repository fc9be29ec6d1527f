"""Incoming documents: checks and sketches them and lays them out in columns for staging.

A call can skip documents that cannot be read or stored: `Skipped` finds these documents, and keeps
the reasons.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from operator import length_hint
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb import storage
from simdb.core import arrays, kernel
from simdb.core.arrow import TextColumn, as_column, listed, texts_behind
from simdb.core.checks import shown
from simdb.core.decoding import UTF8, as_texts, byte_column, known_encoding
from simdb.core.documents import Signatures
from simdb.core.dtypes import I64, U8, U64
from simdb.core.errors import InputError
from simdb.core.options import Bits
from simdb.core.progress import Progress, report_of
from simdb.core.skipped import Skipped, part_of
from simdb.core.text_sketch import threads_for
from simdb.core.threads import begun, mapped, parts_of, thread_count
from simdb.database.state.store import Beside
from simdb.sketch import AnySketcher, as_vectors, check_content
from simdb.storage import StoredBatch, codec, metadata as records

SKETCHED_DOCUMENTS = 8192
SKETCHED_READY = 1 << 16  # for ready sketches in arrays, if the caller limits memory


def both_columns(ids: Any, documents: Any) -> tuple[Any, Any]:
    """Return ids and documents, also from a mapping; raise InputError if there are no documents."""
    if documents is not None:
        return ids, documents
    if isinstance(ids, Mapping):
        return list(ids.keys()), list(ids.values())
    raise InputError(
        "documents are missing; give ids and documents, or a mapping from ids to documents; of a"
        " table give both columns: table['id'], table['text']"
    )


def as_list(values: Any, what: str) -> list[Any]:
    """Return an iterable, array or Arrow column as a list.

    A mapping gives its keys, for example the ids of documents by id.  Raises InputError for one
    value or a table.
    """
    if isinstance(values, list):
        return values
    if isinstance(values, Mapping):
        return list(values)
    arrays.check_many(values, what)
    if isinstance(values, np.ndarray) and values.ndim:
        return list(values.tolist())
    objects = listed(values)
    if objects is not None:
        return objects
    return list(values)


def as_lists(left: Any, right: Any) -> tuple[list[Any], list[Any]]:
    """Return the ids on both sides of pairs as lists.

    Raises InputError unless their lengths are equal.
    """
    first, second = as_list(left, "ids"), as_list(right, "ids")
    if len(first) != len(second):
        raise InputError(
            f"left and right must have equal numbers of ids, got {len(first)} and {len(second)}"
        )
    return first, second


def as_ids(values: Any) -> Any:
    """Return ids of documents as int64[n], as a pyarrow.ChunkedArray of texts, or as a list.

    Raises InputError for one value or a table.
    """
    found = as_column(values)
    return as_list(values, "ids") if found is None else found


class EncodedIds:
    """Ids in their stored form: `offsets`, `content` and `hashes` from `kernel.encode_ids`."""

    def __init__(self, ids: Any, key: bytes = b"") -> None:
        """Encode ids from `as_ids`, under the key of a database.

        The ids of a `StoredBatch` are taken unchanged, with their hashes.  Raises InputError for an
        invalid id.
        """
        if isinstance(ids, StoredBatch):
            form = ids.offsets, ids.content, ids.hashes
        else:
            form = _columns_of(ids, key) or kernel.encode_ids(as_list(ids, "ids"), key)
        self.offsets, self.content, self.hashes = form
        self._previous: dict[int, int] | None = None

    def __len__(self) -> int:
        """Return the number of ids."""
        return len(self.hashes)

    def __getitem__(self, at: int) -> Any:
        """Return one id."""
        start, stop = self.offsets[at : at + 2]
        return kernel.decode_ids(np.array([0, stop - start]), self.content[start:stop])[0]

    @property
    def previous(self) -> dict[int, int]:
        """The position of the previous equal id, for each id that appeared before."""
        if self._previous is None:
            self._previous = repeated(self.hashes, self.offsets, self.content)
        return self._previous

    def check_distinct(self) -> None:
        """Raise InputError if an id appears twice."""
        for second, first in self.previous.items():
            raise InputError(
                f"the id {shown(self[second])} is given twice in one call, at positions {first}"
                f" and {second}; nothing was inserted"
            )


def _columns_of(ids: Any, key: bytes) -> tuple[I64, U8, U64] | None:
    """Return the stored form of ids in an array; None if each id must be encoded."""
    if isinstance(ids, np.ndarray):
        forms = np.empty((len(ids), 1 + ids.itemsize), np.uint8)
        forms[:, 0] = ord("i")
        forms[:, 1:] = ids.astype("<i8", copy=False).view(np.uint8).reshape(-1, ids.itemsize)
        offsets, content = np.arange(len(ids) + 1) * forms.shape[1], forms.ravel()
        return offsets, content, kernel.hash_ids(offsets, content, key)
    if isinstance(ids, list) or not len(ids):
        return None
    offsets, content = texts_behind("s", ids)
    lengths = np.diff(offsets)
    if not 1 < lengths.min() <= lengths.max() <= 1 + arrays.ID_BYTES_MAX:
        return None
    return offsets, content, kernel.hash_ids(offsets, content, key)


def repeated(hashes: U64, offsets: I64, content: U8) -> dict[int, int]:
    """Return the position of the previous equal id, for each id that appeared before.

    The ids are in their stored form.  Positions ascend; ids with equal hashes can be different.
    """
    ordered, order = hashes.copy(), np.arange(len(hashes), dtype=np.uint32)
    kernel.sort(ordered, order)
    twins = np.flatnonzero(ordered[1:] == ordered[:-1])
    found: dict[int, int] = {}
    latest: dict[bytes, int] = {}
    for at in arrays.sorted_unique(np.concatenate([order[twins], order[twins + 1]])).tolist():
        stored = bytes(content[offsets[at] : offsets[at + 1]])
        if stored in latest:
            found[at] = latest[stored]
        latest[stored] = at
    return found


class Sketching(NamedTuple):
    """The settings by which documents become sketches.

    `skipped` takes documents that cannot be read; without it they raise InputError.  `fields`: the
    fields of metadata that must have codes.
    """

    sketcher: AnySketcher
    errors: str = "strict"
    threads: int = 1
    encoding: str = UTF8
    beside: Beside | None = None
    skipped: Skipped | None = None
    fields: tuple[str, ...] = ()


def sketch_all(
    sketcher: AnySketcher, documents: Any, count: int, *, errors: str, threads: int,
    beside: Beside | None = None,
) -> arrays.Sketches:  # fmt: skip
    """Return sketches of exactly `count` documents; see `sketched` and `collected`."""
    how = Sketching(sketcher, errors, threads, beside=beside)
    with closing(sketched(how, documents, begins=True)) as parts:
        return collected(sketcher, parts, count, None)


def collected(
    sketcher: AnySketcher, parts: Iterable[arrays.Sketches], count: int, progress: Progress | None
) -> arrays.Sketches:
    """Return sketches of exactly `count` documents as one object, in arrays that can be stored.

    The parts are copied while threads make the next ones.
    """
    report = report_of(progress)
    extras: list[arrays.Extras] = []
    whole, done = sketcher.sketch([]), 0
    for part in parts:
        start, done = done, done + len(part)
        if done > count:
            break
        report(done)
        if len(part) == count:
            return part
        if not start:
            make, width = codec.allocate, part.vectors.shape[1]
            whole = arrays.Sketches(
                make(np.uint64, count), make(np.uint8, (count, width)), make(np.uint8, count)
            )
        inside = slice(start, done)
        whole.bits[inside], whole.states[inside] = part.bits, part.states
        whole.vectors[inside] = part.vectors
        check_content(whole.content, part)
        whole.content = whole.content or part.content
        extras.append(part.extras)
    check_count(done, count)
    return replace(whole, extras=arrays.Extras.joined(extras))


def sketch_slices(
    how: Sketching, documents: Any, size: int | None, count: int | None = None
) -> Iterator[arrays.Sketches]:
    """Yield query sketches of documents, at most `size` at a time or, if None, all at once.

    There is always one slice.  `count`: the required number of documents, None for any.
    """
    held: list[arrays.Sketches] = []
    done = 0
    for sketches in sketched(how, documents, size, is_query=True):
        if held and size is not None and sum(map(len, held)) + len(sketches) > size:
            yield joined(how.sketcher, held, is_query=True)
            held = []
        held.append(sketches)
        done += len(sketches)
        if count is not None and done > count:
            break
    check_count(done, done if count is None else count)
    yield joined(how.sketcher, held, is_query=True)


def as_inserted(sketcher: AnySketcher, queries: arrays.Sketches) -> arrays.Sketches:
    """Return query sketches as stored: without levels, and bare if no vectors are stored."""
    states = queries.states
    if not sketcher.options.vector_bytes:
        states = np.where(states == arrays.EMPTY, arrays.EMPTY, arrays.BARE).astype(np.uint8)
    return replace(queries, states=states, levels=None)


def sketch_queries(sketcher: AnySketcher, documents: Any, errors: str) -> arrays.Sketches:
    """Return the sketches of all queries in an iterable or an array."""
    how = Sketching(sketcher, errors, thread_count())
    return joined(sketcher, list(sketched(how, documents, is_query=True)), is_query=True)


def joined(
    sketcher: AnySketcher, parts: list[arrays.Sketches], is_query: bool = False
) -> arrays.Sketches:
    """Return consecutive sketches as one object."""
    if len(parts) == 1:
        return parts[0]
    parts = [sketcher.sketch([], is_query=is_query), *parts]
    levels = [part.levels for part in parts if part.levels is not None]
    content = max(part.content for part in parts)
    for part in parts:
        check_content(content, part)
    return arrays.Sketches(
        np.concatenate([part.bits for part in parts]),
        np.concatenate([part.vectors for part in parts]),
        np.concatenate([part.states for part in parts]),
        np.concatenate(levels) if levels else None,
        arrays.Extras.joined([part.extras for part in parts]),
        content,
    )


def make_batch(ids: EncodedIds, sketches: arrays.Sketches) -> StoredBatch:
    """Return the columns of these documents."""
    form = ids.offsets, ids.content, ids.hashes
    # The bits can be the caller's own array, so they are copied.
    return batch_of_one(form, replace(sketches, bits=codec.allocated(sketches.bits)))


def rehashed(batch: StoredBatch, key: bytes) -> StoredBatch:
    """Return documents with the hashes of their ids under the key of a database."""
    return replace(batch, hashes=kernel.hash_ids(batch.offsets, batch.content, key))


def batch_of_one(form: tuple[Any, Any, Any], sketches: arrays.Sketches) -> StoredBatch:
    """Return the columns of one document, whose id `kernel.encode_ids` has encoded as `form`."""
    offsets, content, hashes = form
    return StoredBatch(
        sketches.bits, sketches.states, sketches.vectors, hashes, offsets, content, sketches.extras
    )


def pack_all(metadata: Any, ids: Sequence[Any] | EncodedIds) -> list[tuple[int, bytes]]:
    """Return (position, stored form) of the metadata of each document that has metadata."""
    if metadata is None:
        return []
    if isinstance(metadata, Mapping):
        raise InputError(
            "metadata of many documents must be a list with an object or None for each id, got"
            f" {type(metadata).__name__}; if its keys are ids, pass [metadata.get(id) for id in"
            " ids]"
        )
    values = as_list(metadata, "metadata")
    if len(values) != len(ids):
        raise InputError(f"there are {len(ids)} ids but metadata of {len(values)} document(s)")
    return records.pack_every(values, lambda at: f"document {ids[at]!r}")


def moved(
    metadata: Sequence[tuple[int, bytes]], chosen: npt.NDArray[np.integer]
) -> list[tuple[int, bytes]]:
    """Return the metadata of the documents at the ascending positions `chosen`, renumbered."""
    if not metadata:
        return []
    places = {position: at for at, position in enumerate(chosen.tolist())}
    return [(places[at], packed) for at, packed in metadata if at in places]


def chosen_batch(batch: StoredBatch, chosen: npt.NDArray[np.integer]) -> StoredBatch:
    """Return only the documents at the ascending positions `chosen`."""
    lengths = np.diff(batch.offsets)
    is_chosen = arrays.flags_at(chosen, len(batch))
    return StoredBatch(
        batch.fingerprints[chosen],
        batch.states[chosen],
        batch.vectors[chosen],
        batch.hashes[chosen],
        arrays.offsets_of(lengths[chosen]),
        batch.content[np.repeat(is_chosen, lengths)],
        batch.extras.taken(chosen),
    )


def check_count(done: int, count: int) -> None:
    """Raise InputError unless the number of documents, `done`, is the number of ids, `count`."""
    if done != count:
        found = f"more than {count}" if done > count else str(done)
        raise InputError(f"there are {count} ids but {found} documents")


def sketched(
    how: Sketching,
    documents: Any,
    most: int | None = None,
    *,
    is_query: bool = False,
    begins: bool = False,
) -> Generator[arrays.Sketches]:
    """Yield the sketches of consecutive documents, of at most `most` at a time.

    Documents can be `Sketches` that the same sketcher has made; an iterable is read in parts.
    `begins`: threads begin before the first result is asked for, except with an iterator; the
    caller then closes the result.
    """
    sketcher, errors, threads, encoding, beside, skipped, _ = how
    are_hashes = isinstance(sketcher.options, Bits)  # whose bytes are not text
    if isinstance(documents, arrays.Sketches):
        return (each for each in [documents])
    known_encoding(encoding, is_hashes=are_hashes)

    def make(start: int, chunk: Any) -> arrays.Sketches:
        chunk = chunk if are_hashes else as_texts(chunk, encoding, errors, start)
        made = sketcher.sketch(chunk, errors=errors, start=start, is_query=is_query)
        return made if beside is None else beside.added(made, chunk, errors=errors, start=start)

    def sketch(some: tuple[int, Any]) -> arrays.Sketches:
        if skipped is None:
            return make(*some)
        return joined(sketcher, list(skipped.readable(make, *some)), is_query)

    threads = threads_for(sketcher.options, threads)
    share = begun if begins and not isinstance(documents, Iterator) else mapped
    chunks = _chunks(documents, most, threads, are_hashes=are_hashes)
    return share(sketch, numbered(chunks), threads)


def numbered(chunks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Yield each chunk with the position of its first document."""
    start = 0
    for chunk in chunks:
        yield start, chunk
        start += len(chunk)


def _chunks(
    documents: Any, most: int | None, threads: int, *, are_hashes: bool = False
) -> Iterator[Any]:
    """Yield the documents in parts: a few thousand at a time, ready sketches in arrays at once.

    `most`: the largest number of documents in any part.  If the number of documents is known, each
    of several `threads` gets some parts.
    """
    few = min(most or SKETCHED_DOCUMENTS, SKETCHED_DOCUMENTS)
    count = length_hint(documents)
    if count:
        few = parts_of(count, threads, most=few)[0].stop
    many = None if most is None else min(most, SKETCHED_READY)
    if isinstance(documents, arrays.Fingerprints | Signatures):
        step = many or max(len(documents), 1)
        for first in range(0, max(len(documents), 1), step):
            yield part_of(documents, slice(first, first + step))
        return
    vectors = None if are_hashes else as_vectors(documents)
    if vectors is not None:
        for first in range(0, len(vectors), few):
            yield vectors[first : first + few]
        return
    arrays.check_many(documents, "documents")
    column = documents if isinstance(documents, TextColumn) else byte_column(documents)
    if column is not None:
        for first in range(0, len(column), few):
            yield column[first : first + few]
        return
    if isinstance(documents, np.ndarray):
        if documents.dtype == np.uint64 and documents.ndim == 1:
            documents = arrays.aligned(documents, np.uint64)
            for first in range(0, len(documents), many or max(len(documents), 1)):
                yield documents[first : first + (many or len(documents))]
            return
        if are_hashes:
            for first in range(0, len(documents), few):
                yield documents[first : first + few]
            return
        if documents.dtype.kind not in "OUS" or documents.ndim != 1:
            raise InputError(
                "documents must be texts, ready fingerprints uint64[n] or vectors float[n, d], got"
                f" an array of {documents.dtype} with shape {documents.shape}; hashes need"
                " Options(sketch=simdb.Bits(256))"
            )
    if hasattr(documents, "to_pylist"):
        documents = documents.to_pylist()
    iterator = iter(documents)
    while chunk := list(islice(iterator, few)):
        yield chunk


def readable(
    how: Sketching, given: tuple[Any, Any, Any], skipped: Skipped, progress: Progress | None = None
) -> tuple[Any, arrays.Sketches, Any]:
    """Return the ids, sketches and metadata of the documents that can be read and stored.

    `given`: ids, documents, which are read once, and metadata.  `skipped` takes the rest.
    """
    how, sketcher = how._replace(skipped=skipped), how.sketcher
    ids, documents, metadata = as_list(given[0], "ids"), given[1], given[2]
    report, parts, done = report_of(progress), [], 0
    if metadata is not None and not isinstance(metadata, Mapping):
        metadata = as_list(metadata, "metadata")
    if metadata is not None and (isinstance(metadata, Mapping) or len(metadata) != len(ids)):
        pack_all(metadata, ids)  # which refuses it
    note_unstorable(ids, skipped)
    if metadata is not None:
        skipped.note(partial(_check_metadata, ids, how.fields), 0, metadata)
    for part in sketched(how, documents):
        parts.append(part)
        done += len(part)
        report(done)
        if done > len(ids):
            break
    check_count(done + len(skipped), len(ids))
    if not len(skipped):
        return given[0], joined(sketcher, parts), metadata
    rows = np.flatnonzero(~skipped.flags(len(ids)))
    chosen = None if metadata is None else part_of(metadata, rows)
    return part_of(ids, rows), joined(sketcher, parts), chosen


def _check_metadata(ids: Any, fields: tuple[str, ...], at: int, some: Any) -> None:
    """Raise InputError unless some metadata, starting at position `at`, can be stored."""
    packed = pack_all(some, ids[at : at + len(some)])
    storage.codes_of(packed, fields, len(some), b"", lambda place: f"document {ids[at + place]!r}")


def note_unstorable(ids: Any, skipped: Skipped) -> None:
    """Let `skipped` take the documents whose ids cannot be stored, if skipping is allowed."""
    if skipped.is_allowed:
        skipped.note(lambda at, some: kernel.encode_ids(some), 0, as_list(ids, "ids"))


def listed_documents(documents: Any) -> Any:
    """Return documents as an object that can be read twice and in parts."""
    is_array = isinstance(documents, np.ndarray) and (
        documents.dtype == np.uint64 or documents.dtype.kind == "S" or documents.ndim > 1
    )
    if is_array or isinstance(documents, arrays.Fingerprints | Signatures):
        return documents
    if as_vectors(documents) is not None:
        return documents
    column = documents if isinstance(documents, TextColumn) else byte_column(documents)
    return as_list(documents, "documents") if column is None else column


def without_unreadable(
    how: Sketching,
    skipped: Skipped,
    documents: Any,
    accept: Callable[[int, Any], Any] | None = None,
) -> tuple[Any, Callable[[int, Any], Any] | None]:
    """Return the documents that can be read; `skipped` takes the rest, if skipping is allowed.

    The second result calls `accept` with the position of a query among all documents.
    """
    if not skipped.is_allowed or documents is None:
        return documents, accept
    documents = listed_documents(documents)
    for _ in sketched(how._replace(skipped=skipped), documents):
        pass
    rows = np.flatnonzero(~skipped.flags(len(documents)))
    by_row = None if accept is None else lambda at, id: accept(int(rows[at]), id)
    return part_of(documents, rows), by_row
