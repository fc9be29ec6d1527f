"""Document kind: tells of what kind a document is, and reads and checks those that are vectors.

Vectors are float arrays or CSR matrices.
A CSR matrix is recognised by the attributes that scipy's have, so scipy is never imported.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.core.arrays import Fingerprint, Sketches, describe, offsets_of
from simdb.core.arrow import TextColumn
from simdb.core.bits import ALL_BITS
from simdb.core.checks import shown
from simdb.core.documents import Features
from simdb.core.dtypes import F64, I64
from simdb.core.errors import InputError

KINDS = (
    "str, bytes (UTF-8), a list of tokens, simdb.Features, a vector (a float array or a CSR row),"
    " simdb.Fingerprint or an int (a ready 64-bit fingerprint)"
)
# Weights are float32; of vectors within these bounds, no weight overflows or loses digits.
PEAK_MIN, PEAK_MAX = 2.0**-90, 2.0**90
# See `Sketches.content`.
TEXT_CONTENT = 1


def kind_of_all(documents: Any, vectors: "Vectors | None") -> str:
    """Return the kind of documents that must be of one kind; "rows": of one array, `vectors`."""
    if vectors is not None:
        return "rows"
    is_text = isinstance(documents, TextColumn) or not len(documents)
    return "text" if is_text else kind_of(documents[0], 0)


def kind_of(document: Any, position: int) -> str:
    """Return the kind of a document, which decides how it is sketched; InputError for none."""
    if isinstance(document, str):
        return "text"
    if isinstance(document, Fingerprint):
        return "fingerprint"
    if isinstance(document, Features):
        return "features"
    if isinstance(document, bool | np.bool_):
        raise InputError(f"document {position} is a bool; a document is {KINDS}")
    if isinstance(document, int | np.integer):
        if not 0 <= document <= ALL_BITS:
            raise InputError(
                f"document {position} is {shown(document)}; a ready fingerprint is 0 .. 2**64 - 1"
            )
        return "bits"
    if isinstance(document, list | tuple):
        return "tokens"
    if is_vector(document, position):
        return "dense" if isinstance(document, np.ndarray) else "sparse"
    check_not_null(document, position)
    assert not isinstance(document, bytes), "whoever takes documents has decoded them"
    raise InputError(f"document {position} is {describe(document)}; a document is {KINDS}")


def stretches(
    documents: Sequence[Any], start: int, kind_of: Callable[[Any, int], str] = kind_of
) -> Iterator[tuple[str, Sequence[Any], int]]:
    """Yield each stretch of documents of one kind: kind, documents, position of the first."""
    if isinstance(documents, TextColumn):
        documents.check_known(start)
    if isinstance(documents, TextColumn) or set(map(type, documents)) == {str}:
        if len(documents):
            yield "text", documents, start
        return
    for kind, group in groupby(enumerate(documents, start), lambda each: kind_of(each[1], each[0])):
        positions, chosen = zip(*group, strict=True)
        yield kind, chosen, positions[0]


def check_not_null(document: Any, position: int) -> None:
    """Raise InputError for None and NaN, which are what a column has where a text is missing."""
    if document is None or (isinstance(document, float) and document != document):
        kind = "NoneType" if document is None else "nan"
        raise InputError(
            f"document {position} is {kind} (a null); leave nulls out, or fill them with empty"
            " texts"
        )


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Sparse vectors of `length`: the entries of row i are at offsets[i] .. offsets[i + 1].

    `offsets` int64[n + 1], `columns` integer[k], `values` real[k].  They are the caller's arrays
    and must not be changed.
    """

    offsets: I64
    columns: npt.NDArray[np.integer]
    values: npt.NDArray[Any]
    length: int

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.offsets) - 1

    def __getitem__(self, rows: slice) -> "SparseRows":
        """Return some consecutive rows."""
        start, stop, _ = rows.indices(len(self))
        offsets = self.offsets[start : stop + 1]
        entries = slice(int(offsets[0]), int(offsets[-1]))
        return SparseRows(
            offsets - offsets[0], self.columns[entries], self.values[entries], self.length
        )


Vectors = npt.NDArray[np.floating] | SparseRows


def as_vectors(documents: Any) -> Vectors | None:
    """Return many vectors given as one object, float[n, d] or CSR; None for other objects."""
    if isinstance(documents, SparseRows):
        return documents
    if is_csr(documents):
        return read_csr(documents)
    if isinstance(documents, np.ndarray) and documents.dtype.kind == "f" and documents.ndim == 2:
        return documents
    if hasattr(documents, "tocsr"):
        raise InputError(f"documents are a {describe(documents)}; pass its .tocsr()")
    return None


def is_vector(document: Any, position: int) -> bool:
    """Return whether a document is a vector: a float array or a CSR row.

    Raises InputError for an array or a sparse matrix that is not a vector but looks meant as one.
    """
    if is_csr(document):
        if len(document.shape) == 2 and document.shape[0] != 1:
            raise InputError(
                f"document {position} is a CSR matrix of {document.shape[0]} rows; a document is"
                " one row; pass many to insert_many, query_many or simdb.fingerprints"
            )
        return True
    if hasattr(document, "tocsr"):
        raise InputError(f"document {position} is a {describe(document)}; pass its .tocsr()")
    if not isinstance(document, np.ndarray):
        return False
    if document.dtype.kind == "f" and document.ndim == 1:
        return True
    wanted = "a vector is a float array of one dimension"
    if document.dtype.kind in "iub":
        wanted += (
            " (whole numbers could be counts, hashes or tokens; if they are coordinates, use"
            " .astype(numpy.float32))"
        )
    raise InputError(f"document {position} is {describe(document)}; {wanted}")


def check_content(known: int, sketches: Sketches) -> None:
    """Raise InputError for texts among vectors, vectors among texts, or other vectors.

    `known`: the `content` of the first document; 0 if that does not say.
    """
    given = sketches.content
    if known and given and known != given:
        kinds = [
            "a text" if each == TEXT_CONTENT else f"a vector of {each - TEXT_CONTENT} coordinates"
            for each in (known, given)
        ]
        raise InputError(
            f"the first document was {kinds[0]}, and this is {kinds[1]}, which is similar to none"
            " of them; keep such documents in a database of their own"
        )


def join_vectors(documents: Sequence[Any], start: int) -> Vectors:
    """Join vectors of one kind to one array or `SparseRows`; InputError if lengths differ."""
    if is_csr(documents[0]):
        parts = [read_csr(document) for document in documents]
        _check_lengths([part.length for part in parts], start)
        return SparseRows(
            offsets_of([len(part.values) for part in parts]),
            np.concatenate([part.columns for part in parts]),
            np.concatenate([part.values for part in parts]),
            parts[0].length,
        )
    _check_lengths([len(document) for document in documents], start)
    return np.stack(documents)


def check_vectors(vectors: Vectors, *, length: int, start: int) -> None:
    """Raise InputError unless all vectors are finite, in range and of `length` (0: any)."""
    found = vectors.length if isinstance(vectors, SparseRows) else vectors.shape[1]
    if not found or length not in (0, found):
        wanted = f"the option vector_length is {length}" if length else "it needs 1 or more"
        raise InputError(f"document {start} is a vector of {found} coordinates, but {wanted}")
    if len(vectors) == 0:
        return
    peaks = peaks_of(vectors)
    wrong = np.flatnonzero(~np.isfinite(peaks))
    if len(wrong):
        raise InputError(f"document {start + wrong[0]} is a vector with a NaN or an infinity")
    wrong = np.flatnonzero((peaks > PEAK_MAX) | ((peaks < PEAK_MIN) & (peaks > 0)))
    if len(wrong):
        raise InputError(
            f"document {start + wrong[0]} is a vector whose largest magnitude is"
            f" {peaks[wrong[0]]:.3g}; scale it, so that its weights fit into float32"
        )


def is_csr(value: Any) -> bool:
    """Return whether a value is a matrix, or a row, in compressed sparse row format."""
    names = ("indptr", "indices", "data", "shape")
    return getattr(value, "format", None) == "csr" and all(hasattr(value, name) for name in names)


def read_csr(matrix: Any) -> SparseRows:
    """Read a CSR matrix of real numbers; InputError if its arrays do not fit together."""
    values = np.asarray(matrix.data)
    if values.dtype.kind not in "fiub":
        raise InputError(f"a CSR matrix has values of {values.dtype}; use real numbers")
    offsets = np.asarray(matrix.indptr).astype(np.int64)
    columns = np.asarray(matrix.indices)
    length = int(matrix.shape[-1])
    # The arrays of a matrix can have unused memory after its last entry.
    stop = int(offsets[-1]) if len(offsets) else -1
    is_laid_out = 0 <= stop <= min(len(columns), len(values)) and offsets[0] == 0
    columns, values = columns[: max(stop, 0)], values[: max(stop, 0)]
    if not is_laid_out or (np.diff(offsets) < 0).any():
        raise InputError(
            "the indptr of a CSR matrix is not an ascending division of its indices and data"
        )
    if len(columns) and not 0 <= columns.min() <= columns.max() < length:
        raise InputError(f"a CSR matrix of {length} columns has an index outside 0 .. {length - 1}")
    return SparseRows(offsets, columns, values, length)


def peaks_of(vectors: Vectors) -> F64:
    """Return the largest magnitude of each row; NaN or infinite if a coordinate is."""
    if isinstance(vectors, SparseRows):
        return reduced(np.maximum, np.abs(vectors.values), vectors.offsets).astype(np.float64)
    if len(vectors) == 0:
        return np.empty(0)
    return np.asarray(np.maximum(vectors.max(axis=1), -vectors.min(axis=1)), np.float64)


def reduced(operation: np.ufunc, values: npt.NDArray[Any], offsets: I64) -> npt.NDArray[Any]:
    """Reduce the values of each row by `operation`; 0 for a row without values."""
    result = np.zeros(len(offsets) - 1, values.dtype)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        result[filled] = operation.reduceat(values, offsets[filled])
    return result


def _check_lengths(lengths: list[int], start: int) -> None:
    """Raise InputError unless all vectors have the same length."""
    for at, length in enumerate(lengths):
        if length != lengths[0]:
            raise InputError(
                f"document {start + at} is a vector of {length} coordinates, but document {start}"
                f" has {lengths[0]}; vectors of one call must have one length"
            )
