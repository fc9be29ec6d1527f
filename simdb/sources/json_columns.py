"""JSON columns: reads ids and texts out of blocks of JSON lines, without a Python object for each.

pyarrow parses a block, in any thread and without the interpreter lock.  What it refuses, or might
treat otherwise than the standard library does, is left to that: the block is then read record by
record.  pyarrow reads objects one after the other and takes a line feed for any other space, so a
line must begin and end with the braces of an object; as many objects as lines are then one in each.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.columns.arrow import TextColumn, listed, load_arrow, text_column
from simdb.ground.choices import KEEP
from simdb.running import kernel
from simdb.sources.records import SourceOptions

PURPOSE = "reading JSON lines"
DIGITS = b"0123456789"

Bools = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]


class LineColumns(NamedTuple):
    """The lines of a block: what their id fields hold, None for none, their texts and sizes."""

    ids: list[Any]
    texts: TextColumn
    sizes: I64  # with the line feed
    nulls: Bools | None  # which lines have no text, None if all have one


class ColumnParser:
    """Parses blocks of whole lines; several threads may use one."""

    def __init__(self, reading: SourceOptions) -> None:
        """Read the fields that `reading` names; OptionError if pyarrow is missing."""
        self._arrow = load_arrow(PURPOSE)
        self._json = load_arrow(PURPOSE, "pyarrow.json")
        self._id, self._text = reading.id_field, reading.text_field
        self._keeps_nulls = reading.on_null == KEEP and reading.has_absent
        # Most files have ids of one type.  What the last block had is tried first.
        self._kinds = [self._arrow.string(), self._arrow.int64()]

    def parse(self, block: bytes) -> LineColumns | None:
        """Return the columns of a block; None if it must be read record by record.

        Each line ends with a line feed, and has a text or a null that is kept; one has a text.
        """
        sizes = kernel.object_sizes(block)
        if sizes is None or not kernel.is_utf8(block) or has_number(block):
            return None
        table = self._table(block)
        if table is None or table.num_rows != len(sizes):
            return None
        texts = text_column(table.column(self._text))
        assert texts is not None, "the schema says so"
        nulls = texts.lengths < 0
        has_nulls = bool(nulls.any())
        # pyarrow does not tell a null from a field that is not there.
        if has_nulls and (not self._keeps_nulls or nulls.all()):
            return None
        texts = texts.filled() if has_nulls else texts
        ids = listed(table.column(self._id)) or []
        return LineColumns(ids, texts, sizes, nulls if has_nulls else None)

    def texts(self, block: bytes, count: int) -> TextColumn | None:
        """Return the texts of `count` lines with line feeds; None unless each line has one."""
        try:
            table = self._read(block, None)
        except self._arrow.ArrowException:
            return None
        found = text_column(table.column(self._text))
        if found is None or len(found) != count:
            return None
        return found.filled() if self._keeps_nulls or (found.lengths >= 0).all() else None

    def _table(self, block: bytes) -> Any:
        """Return the fields of a block; None if pyarrow refuses it."""
        for kind in list(self._kinds):
            try:
                found = self._read(block, kind)
            except self._arrow.ArrowException:
                continue
            if kind is not self._kinds[0]:
                self._kinds = [kind, *(each for each in self._kinds if each is not kind)]
            return found
        return None

    def _read(self, block: bytes, kind: Any) -> Any:
        """Return the fields of a block; `kind`: the type of the ids, None to leave them out."""
        # If one field is both, it is the text.
        fields = {} if kind is None else {self._id: kind}
        fields[self._text] = self._arrow.large_string()
        return self._json.read_json(
            self._arrow.BufferReader(block),
            # One block, so that nobody else looks for the ends of its lines.
            read_options=self._json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=self._json.ParseOptions(
                explicit_schema=self._arrow.schema(list(fields.items())),
                unexpected_field_behavior="ignore",
            ),
        )


def has_number(block: bytes, digits_max: int | None = None) -> bool:
    """Return whether more than `digits_max` digits follow each other; 0 is no limit.

    None means the limit of this process.  So many digits lie on a multiple of `digits_max`, so
    only those places are looked at.
    """
    if digits_max is None:
        digits_max = getattr(sys, "get_int_max_str_digits", int)()
    if not digits_max:
        return False
    for number, byte in enumerate(block[::digits_max]):
        if byte in DIGITS:
            place = number * digits_max
            before = block[max(0, place - digits_max) : place]
            after = block[place : place + digits_max + 1]
            rest = len(before.rstrip(DIGITS)) + len(after.lstrip(DIGITS))
            if len(before) + len(after) - rest > digits_max:
                return True
    return False
