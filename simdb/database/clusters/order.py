"""Order: the documents as a rule prefers them, as the places of their ordinals.

The first member of a cluster in that order is the one that is kept; see `simdb.core.keeping`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from simdb.core import keeping
from simdb.core.arrow import TextColumn
from simdb.core.dtypes import I64, U32
from simdb.core.errors import OptionError
from simdb.database.search.judge import Judge
from simdb.database.state.state import State
from simdb.storage import codec

# The texts of so many documents are read at a time.
READ_TOGETHER = 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """An order that is known already, in place of a rule: the place of each ordinal, uint32[n]."""

    of_each: U32


def check_keep(keep: object, *, has_texts: bool) -> None:
    """Raise OptionError unless `keep` is a rule, and one that needs no texts where none are."""
    if isinstance(keep, Places):
        return
    rule = keeping.parse(keep)
    if rule.kind in keeping.BY_SIZE and not has_texts:
        raise OptionError(
            f"keep={keep!r} compares texts, and a database stores none; give texts=, or store"
            " sizes as metadata and give keep='max:FIELD' or 'min:FIELD'"
        )


def places_by(state: State, keep: "keeping.Keep | Places", judge: Judge | None) -> U32 | None:
    """Return the place of every ordinal in the order by `keep`: uint32[next ordinal].

    None for the order of insertion.  `keep` can be `Places`.  `judge` has the texts.  Raises
    OptionError if no live document has the field of a rule, InputError for values that cannot be
    compared with each other.
    """
    if isinstance(keep, Places):
        return keep.of_each
    rule, count = keeping.parse(keep), state.next_ordinal
    if rule.kind == keeping.FIRST:
        return None
    order = keeping.order_of(
        rule, count,
        sizes=lambda: _sizes(state, judge), values=lambda: _values(state, rule, keep),
        where=lambda ordinal: f"document {state.id_of(ordinal)!r}",
    )  # fmt: skip
    places = np.empty(count, np.uint32)
    places[order] = np.arange(count, dtype=np.uint32)
    return places


def _values(state: State, rule: keeping.KeepRule, keep: keeping.Keep) -> Sequence[Any]:
    """Return what a rule compares, by ordinal; None for deleted documents."""
    get = partial(_field, rule.field) if isinstance(keep, str) else keep
    values: list[Any] = [None] * state.next_ordinal
    is_left = np.zeros(state.next_ordinal, np.bool_)
    is_left[state.live()] = True
    for ordinal, packed in state.all_metadata():
        if is_left[ordinal]:
            is_left[ordinal] = False
            values[ordinal] = get(codec.unpack(packed, f"metadata of ordinal {ordinal}"))
    for ordinal in np.flatnonzero(is_left).tolist():
        values[ordinal] = get(None)
    if isinstance(keep, str) and len(state.live()) and all(map(keeping.is_missing, values)):
        raise keeping.no_value(rule)
    return values


def _field(name: str, metadata: Any) -> Any:
    return metadata.get(name) if isinstance(metadata, dict) else None


def _sizes(state: State, judge: Judge | None) -> I64:
    """Return the bytes in UTF-8 of the text of every ordinal, -1 where it is not known."""
    assert judge is not None, "check_keep has refused that"
    sizes = np.full(state.next_ordinal, -1, np.int64)
    live = state.live()
    for start in range(0, len(live), READ_TOGETHER):
        some = live[start : start + READ_TOGETHER]
        texts = judge.texts(state, some)
        if isinstance(texts, TextColumn):
            sizes[some] = texts.lengths
        else:
            sizes[some] = list(map(_size, texts))
    return sizes


def _size(text: Any) -> int:
    """Return the bytes of a text, or of all tokens of one; -1 for None."""
    if text is None:
        return -1
    if isinstance(text, str):
        return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return len(text) if isinstance(text, bytes) else sum(map(_size, text))
