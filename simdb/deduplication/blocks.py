"""Blocks: a column of the documents of a run, in memory or, if it is large, in a temporary file."""

import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.running.memory import column_bytes


class Blocks:
    """Arrays, one after the other, in memory or, if they are large, in a temporary file."""

    def __init__(self, memory: int | None) -> None:
        """Begin without arrays; `memory`: that of the run, see `simdb.running.memory`."""
        self._held_bytes = column_bytes(memory)
        self._held: list[npt.NDArray[Any]] = []
        self._waiting: list[tuple[int, tuple[int, ...]]] = []  # places and shapes in the file
        self._size = 0
        self._file: Any = None

    def add(self, block: npt.NDArray[Any]) -> None:
        """Append an array."""
        self._held.append(block)
        self._size += block.nbytes
        if self._size > self._held_bytes:
            self._spill()

    def row(self, number: int) -> npt.NDArray[Any]:
        """Return one row of each array, one after the other; several threads may call this."""
        parts = [np.empty(0, np.uint32)]
        for place, (_, count) in self._waiting:
            size = count * self._dtype.itemsize
            content = os.pread(self._file.fileno(), size, place + number * size)
            parts.append(np.frombuffer(content, self._dtype))
        return np.concatenate([*parts, *(block[number] for block in self._held)])

    def whole(self) -> npt.NDArray[Any]:
        """Return the arrays, of rows of one width, as one."""
        if self._waiting:
            self._spill()
            every: npt.NDArray[Any] = np.memmap(self._file, self._dtype, "r")
            return every.reshape(-1, *self._waiting[0][1][1:])
        if len(self._held) > 1:
            self._held = [np.concatenate(self._held)]
        return self._held[0]

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()

    def _spill(self) -> None:
        """Move what is in memory into the file."""
        if self._file is None:
            # `close` closes it.
            self._file = tempfile.TemporaryFile("w+b")  # noqa: SIM115
        for block in self._held:
            self._dtype = block.dtype
            self._waiting.append((self._file.tell(), block.shape))
            self._file.write(block.data)
        self._file.flush()
        self._held, self._size = [], 0
