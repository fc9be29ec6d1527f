"""Taking: names harnesses, and turns the bytes of a fuzzer into a stream of numbers.

A harness takes any bytes, and returns or raises a `simdb.Error`; anything else is a bug.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import simdb

TARGETS = {}


@dataclass(frozen=True)
class Target:
    """A harness `run`, and `seeds`, which makes valid inputs."""

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]

    def __call__(self, data):
        try:
            self.run(data)
        except simdb.Error:
            return


def harness(seeds, name=None):
    """Return a decorator that enters a function as a harness, by default under its own name."""

    def enter(run):
        own = name or run.__name__
        TARGETS[own] = Target(own, run, seeds)
        return run

    return enter


class Taking:
    """A reader that takes bytes from the front, and zeros when they are used up."""

    def __init__(self, data):
        self._data = data
        self._at = 0

    def bytes(self, count):
        """Take the next bytes, `count` or fewer."""
        taken = self._data[self._at : self._at + count]
        self._at += len(taken)
        return taken

    def number(self, stop):
        """Take a number from 0 up to, not including, `stop`."""
        size = max(1, ((stop - 1).bit_length() + 7) // 8)
        return int.from_bytes(self.bytes(size), "little") % stop

    def flag(self):
        return self.number(2) == 1

    def array(self, dtype, count):
        """Take `count` numbers of any value."""
        size = np.dtype(dtype).itemsize
        taken = self.bytes(count * size).ljust(count * size, b"\0")
        return np.frombuffer(taken, dtype).copy()

    def rest(self):
        """Take all bytes that are left."""
        return self.bytes(len(self._data))
