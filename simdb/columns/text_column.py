"""Text columns: texts in memory that Arrow owns, by the address and the length of each.

The kernel reads the texts where they are, without a Python object for each of them.  Slices of a
column share its memory.
"""

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.ground.errors import InputError

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

CHARACTER_BYTES = 4  # of a character in UTF-8, at most


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn(Sequence[str | bytes | None]):
    """Texts in UTF-8, str unless the column `is_binary`, or None for null.

    `addresses` and `lengths`, in bytes, describe the memory that `owners` keep; both arrays are
    contiguous.  A length of -1 is null.  Whoever makes a column has checked that all texts lie in
    that memory.
    """

    addresses: U64
    lengths: I64
    owners: tuple[Any, ...]
    is_binary: bool = False

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.lengths)

    def __getitem__(self, at: Any) -> Any:
        """Return one text, or a column of some consecutive texts."""
        if isinstance(at, slice):
            start, stop, _ = at.indices(len(self))
            part = slice(start, stop)
            return TextColumn(self.addresses[part], self.lengths[part], self.owners, self.is_binary)
        return self._text(int(self.addresses[at]), int(self.lengths[at]))

    def __iter__(self) -> Iterator[str | bytes | None]:
        """Yield each text."""
        for address, length in zip(self.addresses.tolist(), self.lengths.tolist(), strict=True):
            yield self._text(address, length)

    def chosen(self, positions: Any) -> "TextColumn":
        """Return the texts at some positions, in that order."""
        places = np.asarray(positions, np.intp)
        return TextColumn(self.addresses[places], self.lengths[places], self.owners, self.is_binary)

    def contents(self) -> Iterator[bytes]:
        """Yield the UTF-8 of each text, nothing of a null."""
        for address, length in zip(self.addresses.tolist(), self.lengths.tolist(), strict=True):
            yield ctypes.string_at(address, length) if length > 0 else b""

    def memory(self) -> Iterator[Any]:
        """Yield the UTF-8 of all texts, one after the other, where it is: buffers to be read."""
        known = np.flatnonzero(self.lengths > 0)
        starts, sizes = self.addresses[known], self.lengths[known]
        stops = starts + sizes.astype(np.uint64)
        # Texts that touch each other, as those of one Arrow array do, are one buffer.
        firsts = np.flatnonzero(np.append(True, starts[1:] != stops[:-1])) if len(known) else known
        lasts = np.append(firsts[1:], len(known)) - 1 if len(known) else known
        for start, stop in zip(starts[firsts].tolist(), stops[lasts].tolist(), strict=True):
            yield (ctypes.c_char * (stop - start)).from_address(start)

    def filled(self) -> "TextColumn":
        """Return the column with an empty text in place of each null."""
        return TextColumn(self.addresses, np.maximum(self.lengths, 0), self.owners, self.is_binary)

    def heads(self) -> Iterator[str]:
        """Yield at least the first character of each text, and at most its first four bytes."""
        lengths = np.minimum(self.lengths, CHARACTER_BYTES)
        for address, length in zip(self.addresses.tolist(), lengths.tolist(), strict=True):
            yield ctypes.string_at(address, length).decode("utf-8", "ignore") if length > 0 else ""

    def check_known(self, start: int) -> None:
        """Raise InputError for a null; the message numbers the texts from `start`."""
        places = np.flatnonzero(self.lengths < 0)
        if len(places):
            raise InputError(
                f"document {start + int(places[0])} is NoneType (a null); leave nulls out, or fill"
                " them with empty texts"
            )

    def _text(self, address: int, length: int) -> str | bytes | None:
        """Return one text; bytes also if a text is not valid UTF-8."""
        if length < 0:
            return None
        content = ctypes.string_at(address, length) if length else b""
        if self.is_binary:
            return content
        try:
            return content.decode()
        except UnicodeDecodeError:
            return content


def joined(columns: list[TextColumn]) -> TextColumn:
    """Return consecutive columns, at least one, all binary or none, as one column."""
    if len(columns) == 1:
        return columns[0]
    return TextColumn(
        np.concatenate([column.addresses for column in columns]),
        np.concatenate([column.lengths for column in columns]),
        tuple(owner for column in columns for owner in column.owners),
        columns[0].is_binary,
    )


def encoded(texts: Iterable[Any]) -> Iterator[bytes]:
    """Yield texts in UTF-8; those of a list can be str or bytes."""
    if isinstance(texts, TextColumn):
        yield from texts.contents()
        return
    for text in texts:
        yield text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
