"""Document kind: tells of what kind a document is, which decides how it is sketched."""

from typing import Any

import numpy as np

from simdb.columns.text_column import TextColumn
from simdb.ground.bits import ALL_BITS
from simdb.ground.checks import shown
from simdb.ground.errors import InputError
from simdb.sketch.vectors import Vectors, is_vector
from simdb.values.arrays import Fingerprint, describe
from simdb.values.documents import Features

KINDS = (
    "str, bytes (UTF-8), a list of tokens, simdb.Features, a vector (a float array or a CSR row),"
    " simdb.Fingerprint or an int (a ready 64-bit fingerprint)"
)


def kind_of_all(documents: Any, vectors: Vectors | None) -> str:
    """Return the kind of documents that must be of one kind; "rows": of one array, `vectors`."""
    if vectors is not None:
        return "rows"
    is_text = isinstance(documents, TextColumn) or not len(documents)
    return "text" if is_text else kind_of(documents[0], 0)


def kind_of(document: Any, position: int) -> str:
    """Return the kind of a document, which decides how it is sketched; InputError for none."""
    if isinstance(document, str | bytes):
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
    raise InputError(f"document {position} is {describe(document)}; a document is {KINDS}")


def check_not_null(document: Any, position: int) -> None:
    """Raise InputError for None and NaN, which are what a column has where a text is missing."""
    if document is None or (isinstance(document, float) and document != document):
        kind = "NoneType" if document is None else "nan"
        raise InputError(
            f"document {position} is {kind} (a null); leave nulls out, or fill them with empty"
            " texts"
        )
