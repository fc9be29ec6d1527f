"""Keeping: which of the rows that are alike should survive, as an order of all rows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.checks import shown
from simdb.deduplication.rows import Rows
from simdb.deduplication.texts import Texts, is_null
from simdb.errors import InputError, OptionError

FIRST, LAST, LONGEST = "first", "last", "longest"
GREATEST, LEAST = "max:", "min:"

Keep = str | Callable[[Any], Any]
I64 = npt.NDArray[np.int64]


def check_keep(keep: object) -> None:
    """Raise OptionError unless `keep` is a rule."""
    if callable(keep) or (isinstance(keep, str) and keep in (FIRST, LAST, LONGEST)):
        return
    if isinstance(keep, str) and keep[: len(LEAST)] in (GREATEST, LEAST) and keep[len(LEAST) :]:
        return
    raise OptionError(
        "keep must be 'first', 'last', 'longest', 'max:FIELD', 'min:FIELD' or a function of a row,"
        f" got {shown(keep)}"
    )


def order_of(keep: Keep, rows: Rows, texts: Texts) -> I64:
    """Return the positions of all rows, those to be preferred first: int64[n]."""
    if not isinstance(keep, str):
        return _sorted([keep(row) for row in rows.records()], "keep", is_descending=True)
    if keep == FIRST:
        return np.arange(len(texts))
    if keep == LAST:
        return np.arange(len(texts))[::-1]
    if keep == LONGEST:
        return np.argsort(-texts.sizes(), kind="stable")
    name = keep[len(LEAST) :]
    return _sorted(rows.column(name), f"the field {name!r}", keep.startswith(GREATEST))


def _sorted(keys: Sequence[Any], name: str, is_descending: bool) -> I64:
    """Return the positions in the order of the keys, equal ones as they came, nulls last."""
    known: list[int] = []
    unknown: list[int] = []
    for row, key in enumerate(keys):
        (unknown if is_null(key) else known).append(row)
    try:
        known.sort(key=keys.__getitem__, reverse=is_descending)
    except (TypeError, ValueError) as error:
        raise InputError(f"the values of {name} cannot be ordered: {error}") from error
    return np.array([*known, *unknown], np.int64)
