"""Vectors: measures similarities of packed volatility vectors, in numpy."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.errors import CorruptError
from simdb.vector_form import unpack

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

WIDTH_MAX = 65536  # bytes of a packed vector; sums of its weights then stay far below 2**31
ORDINALS = 1 << 32
SLICE = 1 << 20  # fingerprints or dimensions measured at a time, to bound memory


class Vectors:
    """A look-up of packed volatility vectors by ordinal, in segments of consecutive ordinals."""

    def __init__(self, width: int, segments: Sequence[tuple[int, U8]]) -> None:
        """Take segments, sorted and disjoint: the first ordinal and the vectors of each."""
        if not 0 < width <= WIDTH_MAX:
            raise ValueError(f"a packed vector has 1 to {WIDTH_MAX} bytes, not {width}")
        self.width = width
        self._segments = [(start, _packed(part, width)) for start, part in segments]
        self._starts = np.array([start for start, _ in segments], np.int64)
        self._stops = np.array([start + len(part) for start, part in segments], np.int64)
        limits = np.stack([self._starts, self._stops], axis=1).ravel()
        limits = np.concatenate([[0], limits, [ORDINALS]])
        if (np.diff(limits) < 0).any():
            raise ValueError("segments are not sorted, disjoint and of 32-bit ordinals")

    def followed_by(self, first: int, vectors: U8) -> "Vectors":
        """Return the same segments and one more, from the ordinal `first` on."""
        return Vectors(self.width, [*self._segments, (first, vectors)])

    def similarity(self, queries: U8, offsets: I64, ordinals: U32) -> F32:
        """Return the similarity of queries[i] to each of ordinals[offsets[i]:offsets[i + 1]].

        `queries`: uint8[m, width].
        """
        _packed(queries, self.width)
        if len(offsets) != len(queries) + 1 or offsets[0] != 0 or offsets[-1] != len(ordinals):
            raise ValueError("offsets do not divide the ordinals among the queries")
        if (np.diff(offsets) < 0).any():
            raise ValueError("offsets descend")
        numbers = np.repeat(np.arange(len(queries)), np.diff(offsets))
        result = np.empty(len(ordinals), np.float32)
        for part in self._slices(len(ordinals)):
            one, other = queries[numbers[part]], self.gather(ordinals[part])
            result[part] = _cosine(_weights(one), _weights(other))
        return result

    def measure_one(
        self, query: U8, found: list[tuple[int, int]], similarity: float
    ) -> list[tuple[int, int, float]]:
        """Return (ordinal, distance, similarity) of all similar (ordinal, distance), best first."""
        ordinals = np.array([ordinal for ordinal, _ in found], np.uint32)
        whole = np.array([0, len(found)], np.int64)
        measured = self.similarity(query.reshape(1, -1), whole, ordinals)
        chosen = np.flatnonzero(measured >= np.float32(similarity))
        rows = [(*found[at], float(measured[at])) for at in chosen]
        return sorted(rows, key=lambda row: (-row[2], row[0]))

    def agree_one(self, query: U8, ordinals: U32, size: int, least: int) -> list[tuple[int, int]]:
        """Return (ordinal, number of equal minima of `size` bytes), if `least` or more."""
        if size not in (1, 4):
            raise ValueError(f"size is {size}, not 1 or 4")
        _packed(query.reshape(1, -1), self.width)
        same = self.gather(ordinals) == query.reshape(1, -1)
        same = same.reshape(len(ordinals), self.width // size, size).all(axis=2)
        rows = zip(ordinals.tolist(), same.sum(axis=1).tolist(), strict=True)
        return sorted((row for row in rows if row[1] >= least), key=lambda row: -row[1])

    def between(self, left: U32, right: U32) -> F32:
        """Return the similarity of the stored vectors left[i] and right[i]."""
        if len(left) != len(right):
            raise ValueError("left and right differ in length")
        result = np.empty(len(left), np.float32)
        for part in self._slices(len(left)):
            one, other = self.gather(left[part]), self.gather(right[part])
            result[part] = _cosine(_weights(one), _weights(other))
        return result

    def scan(
        self, queries: U8, *, similarity: float, skip: U8 | None, after: U32 | None
    ) -> tuple[I64, U32, F32]:
        """Find all stored vectors of at least `similarity` to each query, by comparing with all."""
        _packed(queries, self.width)
        if after is not None and len(after) != len(queries):
            raise ValueError("after needs one ordinal for each query")
        least = np.float32(similarity)
        rows = []
        for number, query in enumerate(_weights(queries)):
            ordinals, scores = self._scan_one(query, least)
            is_found = ~marked(skip, ordinals)
            if after is not None:
                is_found &= ordinals > after[number]
            ordinals, scores = ordinals[is_found], scores[is_found]
            order = np.lexsort((ordinals, -scores))
            rows.append((ordinals[order], scores[order]))
        offsets = np.zeros(len(queries) + 1, np.int64)
        np.cumsum([len(ordinals) for ordinals, _ in rows], out=offsets[1:])
        return (
            offsets,
            np.concatenate([np.empty(0, np.uint32), *(row[0] for row in rows)]),
            np.concatenate([np.empty(0, np.float32), *(row[1] for row in rows)]),
        )

    def nearest(self, queries: U8, k: int, skip: U8 | None) -> tuple[I64, U32, F32]:
        """Find the `k` most similar stored vectors of each query, by comparing with all."""
        each = [
            self.scan(query, similarity=-2, skip=skip, after=None) for query in queries[:, None]
        ]
        return best_of_each(each, k, np.float32)

    def gather(self, ordinals: U32) -> U8:
        """Copy the vectors of `ordinals`: uint8[len(ordinals), width]."""
        array(ordinals, np.uint32)
        result = np.empty((len(ordinals), self.width), np.uint8)
        numbers = np.searchsorted(self._stops, ordinals, side="right")
        present = numbers < len(self._starts)
        present[present] = self._starts[numbers[present]] <= ordinals[present]
        if not present.all():
            raise CorruptError(f"ordinal {ordinals[~present][0]} has no vector")
        for number in np.unique(numbers):
            start, part = self._segments[number]
            chosen = numbers == number
            result[chosen] = part[ordinals[chosen] - np.int64(start)]
        return result

    def _scan_one(self, query: F64, least: np.float32) -> tuple[U32, F32]:
        """Return ordinals and similarities of the vectors at least `least` similar to one query."""
        ordinals, scores = [np.empty(0, np.uint32)], [np.empty(0, np.float32)]
        for start, vectors in self._segments:
            for part in self._slices(len(vectors)):
                measured = _cosine(query[None, :], _weights(vectors[part]))
                positions = np.flatnonzero(measured >= least)
                ordinals.append((positions + (start + part.start)).astype(np.uint32))
                scores.append(measured[positions])
        return np.concatenate(ordinals), np.concatenate(scores)

    def _slices(self, count: int) -> Iterator[slice]:
        """Return slices of `count` vectors; each has at most `SLICE` dimensions in all."""
        step = max(1, SLICE // (2 * self.width))
        return (slice(start, min(start + step, count)) for start in range(0, count, step))


def best_of_each(
    found: Sequence[tuple[I64, U32, Any]], k: int, dtype: npt.DTypeLike
) -> tuple[I64, U32, Any]:
    """Return the best `k` matches of each query, from the sorted matches of one query each."""
    if k < 1:
        raise ValueError(f"k is {k}, below 1")
    offsets = np.zeros(len(found) + 1, np.int64)
    np.cumsum([min(len(ordinals), k) for _, ordinals, _ in found], out=offsets[1:])
    return (
        offsets,
        np.concatenate([np.empty(0, np.uint32), *(ordinals[:k] for _, ordinals, _ in found)]),
        np.concatenate([np.empty(0, dtype), *(nearness[:k] for _, _, nearness in found)]),
    )


def array(values: Any, dtype: npt.DTypeLike) -> Any:
    """Return the array if the compiled kernel would accept it; TypeError or ValueError if not."""
    if not isinstance(values, np.ndarray):
        raise TypeError(f"wanted an array, not {type(values).__name__}")
    if (
        values.dtype != dtype
        or values.ndim != 1
        or not (values.flags.c_contiguous and values.flags.aligned)
    ):
        raise ValueError(f"wanted a contiguous {np.dtype(dtype)} vector, not {values.dtype}")
    return values


def _packed(vectors: U8, width: int) -> U8:
    """Return the vectors if they are uint8[n, width]; TypeError or ValueError if not."""
    if not isinstance(vectors, np.ndarray):
        raise TypeError(f"wanted an array, not {type(vectors).__name__}")
    if vectors.dtype != np.uint8 or vectors.ndim != 2 or vectors.shape[1] != width:
        raise ValueError(f"wanted uint8[n, {width}], not {vectors.dtype}{vectors.shape}")
    return vectors


def marked(bits: U8 | None, ordinals: U32) -> Flags:
    """Return whether the bit of each ordinal is set; a bit beyond the end is not."""
    if bits is None or len(bits) == 0:
        return np.zeros(len(ordinals), np.bool_)
    places = ordinals >> 3
    inside = np.minimum(places, len(bits) - 1)
    flags: Flags = ((bits[inside] >> (ordinals & 7)) & 1).astype(np.bool_)
    return flags & (places < len(bits))


def _weights(vectors: U8) -> F64:
    """Return the weights of packed vectors, [n, 2 * width]; float64 holds their sums exactly."""
    return unpack(vectors).astype(np.float64)


def _cosine(left: F64, right: F64) -> F32:
    """Return the cosine of each row of `right` with its row of `left`, or with a single one.

    All sums are of whole numbers and exact.
    """
    products = np.einsum("ij,ij->i", left, left) * np.einsum("ij,ij->i", right, right)
    dots = (right @ left[0]) if len(left) == 1 else np.einsum("ij,ij->i", left, right)
    return np.asarray(dots / np.sqrt(products), np.float32)
