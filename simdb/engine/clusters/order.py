"""Order of representatives: documents by insertion, or by a field of their metadata.

Documents without the field come last, and so do documents whose field is None or NaN. Ties are
broken by insertion.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.checks import shown
from simdb.engine.state.state import State
from simdb.errors import InputError, OptionError
from simdb.storage import codec
from simdb.storage.records.tombstones import is_deleted

FIRST = "first"  # instead of the name of a field: by insertion

U32 = npt.NDArray[np.uint32]


def places_by_field(state: State, field: str) -> U32:
    """Return the place of every ordinal in the order by `field`: uint32[next ordinal].

    Raises OptionError if no live document has the field, InputError for values that cannot be
    compared with each other.
    """
    ordinals, values = _field_values(state, field)
    if not values and len(state.live()):
        raise OptionError(
            f"representative must be {FIRST!r} or a field of the metadata, and no document has the"
            f" field {shown(field)}"
        )
    order = sorted(range(len(values)), key=lambda at: (values[at], ordinals[at]))
    ranked = np.array(ordinals, np.uint32)[order]
    others = np.ones(state.next_ordinal, np.bool_)
    others[ranked] = False
    places = np.empty(state.next_ordinal, np.uint32)
    places[ranked] = np.arange(len(ranked), dtype=np.uint32)
    places[others] = np.arange(len(ranked), state.next_ordinal, dtype=np.uint32)
    return places


def _field_values(state: State, field: str) -> tuple[list[int], list[Any]]:
    """Return the live documents that have a value, and the values, which are all of one kind."""
    live = ~is_deleted(state.dead, np.arange(state.next_ordinal, dtype=np.uint32))
    ordinals: list[int] = []
    values: list[Any] = []
    for ordinal, packed in state.all_metadata():
        if not live[ordinal]:
            continue
        metadata = codec.unpack(packed, f"metadata of ordinal {ordinal}")
        value = metadata.get(field) if isinstance(metadata, dict) else None
        if value is None or value != value:
            continue
        kind = _kind(value)
        if kind is None or (values and kind != _kind(values[0])):
            raise _unordered(state, field, ordinal, value, values[:1])
        ordinals.append(ordinal)
        values.append(value)
    return ordinals, values


def _kind(value: Any) -> str | None:
    """Return the kind of values that can be compared with `value`; None if it has no order."""
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__ if isinstance(value, str | bytes) else None


def _unordered(state: State, field: str, ordinal: int, value: Any, others: list[Any]) -> InputError:
    seen = f", and in earlier documents {type(others[0]).__name__}" if others else ""
    return InputError(
        f"representative={field!r} needs a field of numbers only, of text only or of bytes only;"
        f" in document {state.id_of(ordinal)!r} it holds {type(value).__name__}{seen}"
    )
