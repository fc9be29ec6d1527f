"""The order in which documents stand for a cluster: of insertion, or by a field of their metadata.

Documents without the field, and with None or a number that is none (NaN) there, come last.  Ties
are broken by insertion.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.checks import shown
from simdb.engine.state.state import State
from simdb.errors import InputError, OptionError
from simdb.storage import codec
from simdb.storage.records.tombstones import is_deleted

FIRST = "first"  # instead of a field: the document that was inserted first

U32 = npt.NDArray[np.uint32]


def places_by_field(state: State, field: str) -> U32:
    """The place of every ordinal in the order by `field`: uint32[next ordinal].

    Raises OptionError when no live document has the
    field, InputError for values that cannot be compared with each other.
    """
    ordinals, values = _field_values(state, field)
    if not values and len(state.live()):
        raise OptionError(
            f"no document has {shown(field)} in its metadata, so it cannot choose representatives;"
            f" give another field, or {FIRST!r}"
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
    """Live documents with a value, and their values, which are all of one kind."""
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
    """What values it can be compared with; None where with none."""
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__ if isinstance(value, str | bytes) else None


def _unordered(state: State, field: str, ordinal: int, value: Any, others: list[Any]) -> InputError:
    seen = f", and {type(others[0]).__name__} in others" if others else ""
    return InputError(
        f"documents are ordered by numbers, or by text, or by bytes; the field {field!r} of"
        f" document {state.id_of(ordinal)!r} holds {type(value).__name__}{seen}"
    )
