"""Indexes of hashes: runs simdb and its peers, each in its own process.

simdb           Exact: `simdb.Bits` in a database on disk, with one query a call or `query_many`.

flat            Exact: faiss IndexBinaryFlat, which compares all.

multihash       Exact: faiss IndexBinaryMultiHash with hashes of 16 bits and enough flips.  For 256
                bits within 31 these are 16 x 16 and one flip, as in python-threatexchange.

ivf             faiss IndexBinaryIVF with sqrt(n) lists, of which PROBES are searched.

usearch         Its graph with default options, asked for the NEAREST 10.

threatexchange  Exact: PDQIndex of python-threatexchange, with one query a call.

As a script it is the process of one index: it reads (name of a method, arguments) and writes what
the method returns, both pickled.
"""

import itertools
import math
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from process import anonymous_bytes
from record import Timing, installed, measure

TURN_SECONDS = 0.5
TRANSACTION = 100_000  # documents
HASH_BITS, PROBES, NEAREST = 16, 16, 10
PDQ_BITS = 256
Numbers = npt.NDArray[Any]
Found = tuple[Any, Any]  # number of the query and id of each match


class Index:
    """An index; subclasses fill, query, save and reread it."""

    step = sys.maxsize  # hashes that are added at once
    package: Any  # the module of the peer
    index: Any

    def __init__(self, folder: Path, name: str, bits: int, distance: int | None) -> None:
        self.bits, self.distance, self.file, self.at = bits, distance, folder / name, 0
        self.stored = np.load(folder / "stored.npy", mmap_mode="r")
        self.queries, self.planted = (
            np.load(folder / f"{each}.npy") for each in ("queries", "planted")
        )

    def build(self) -> tuple[float, float, int, int]:
        """Add all; return seconds, seconds of the processor, bytes of memory and of files."""
        before, timing = anonymous_bytes(os.getpid()), Timing()
        measure(self.begin, timing)
        for start in range(0, len(self.stored), self.step):
            rows = np.array(self.stored[start : start + self.step])
            measure(partial(self.add, rows, start), timing)
            del rows
        memory = anonymous_bytes(os.getpid()) - before
        self.save()
        files = self.file.iterdir() if self.file.is_dir() else [self.file]
        size = sum(each.stat().st_blocks for each in files) * 512
        return sum(timing.wall), sum(timing.processor), memory, size

    def turn(self, size: int, distance: int) -> tuple[list[float], float, int, int, int]:
        """Ask batches; return seconds of each, processor time, planted, found, all matches."""
        marks, answers, spent = [time.perf_counter()], [], time.process_time()
        while marks[-1] < marks[0] + TURN_SECONDS:
            part = self.queries[self.at : self.at + size]
            found = self.find(part, distance) if size > 1 else self.one(part[0], distance)
            marks.append(time.perf_counter())
            answers.append((self.at, found))
            self.at = (self.at + size) % (len(self.queries) - size + 1)
        spent, planted, near, matches = time.process_time() - spent, 0, 0, 0
        for at, (rows, ids) in answers:
            nearest, flips = self.planted[at : at + size].T
            planted += int((flips <= distance).sum())
            is_near = (nearest[rows] == np.asarray(ids, np.int64)) & (flips[rows] <= distance)
            near, matches = near + int(is_near.sum()), matches + len(ids)
        return np.diff(marks).tolist(), spent, planted, near, matches

    def holds(self, row: Numbers, name: int) -> bool:
        return name in self.one(row, 0)[1]

    def one(self, query: Numbers, distance: int) -> Found:
        return self.find(query[None], distance)

    def refresh(self) -> None:
        """See what another process has saved."""
        self.load()

    def size(self) -> int:
        return len(self.index)


class Simdb(Index):
    step = TRANSACTION

    def begin(self) -> None:
        given = {} if self.distance is None else {"distance": self.distance}
        made = simdb.Options(sketch=simdb.Bits(self.bits), **given)
        self.index = simdb.open(self.file, "x", options=made, durability="process")

    def add(self, rows: Numbers, first: int) -> None:
        self.index.insert_many(range(first, first + len(rows)), rows)

    def find(self, queries: Numbers, distance: int) -> Found:
        found = self.index.query_many(queries, distance=distance, threads=1)
        return np.repeat(np.arange(len(found)), np.diff(found.offsets)), found.ids

    def one(self, query: Numbers, distance: int) -> Found:
        return 0, [match.id for match in self.index.query(query.tobytes(), distance=distance)]

    def save(self) -> None: ...

    def load(self) -> None:
        self.index = simdb.open(self.file, "r")

    def refresh(self) -> None: ...


class Flat(Index):
    """An index of faiss, by one thread."""

    def begin(self) -> None:
        self.package.omp_set_num_threads(1)
        self.index = self.made()

    def made(self) -> Any:
        return self.package.IndexBinaryFlat(self.bits)

    def add(self, rows: Numbers, _first: int) -> None:
        self.index.add(rows)

    def find(self, queries: Numbers, distance: int) -> Found:
        starts, _, ids = self.index.range_search(queries, distance + 1)
        return np.repeat(np.arange(len(queries)), np.diff(starts.astype(np.int64))), ids

    def save(self) -> None:
        self.package.write_index_binary(self.index, str(self.file))

    def load(self) -> None:
        self.begin()
        self.index = self.package.read_index_binary(str(self.file))

    def size(self) -> int:
        return int(self.index.ntotal)


class MultiHash(Flat):
    def made(self) -> Any:
        return self.package.IndexBinaryMultiHash(self.bits, self.bits // HASH_BITS, HASH_BITS)

    def find(self, queries: Numbers, distance: int) -> Found:
        self.index.nflip = distance // (self.bits // HASH_BITS)
        return super().find(queries, distance)


class Ivf(Flat):
    def made(self) -> Any:
        self.coarse, lists = self.package.IndexBinaryFlat(self.bits), math.isqrt(len(self.stored))
        index = self.package.IndexBinaryIVF(self.coarse, self.bits, lists)
        index.nprobe = PROBES
        return index

    def add(self, rows: Numbers, first: int) -> None:
        if not self.index.is_trained:
            self.index.train(rows[: 40 * self.index.nlist])
        super().add(rows, first)


class Usearch(Index):
    def begin(self) -> None:
        self.index = self.package.Index(ndim=self.bits, metric="hamming", dtype="b1")

    def add(self, rows: Numbers, first: int) -> None:
        self.index.add(np.arange(first, first + len(rows)), rows, threads=1)

    def find(self, queries: Numbers, distance: int) -> Found:
        found = self.index.search(queries, NEAREST, threads=1)
        rows, places = np.nonzero(found.distances.reshape(len(queries), -1) <= distance)
        return rows, found.keys.reshape(len(queries), -1)[rows, places]

    def save(self) -> None:
        self.index.save(str(self.file))

    def load(self) -> None:
        self.begin()
        self.index.load(str(self.file))


class ThreatExchange(Index):
    def begin(self) -> None:
        self.index = self.package.PDQIndex()

    def add(self, rows: Numbers, first: int) -> None:
        self.index.add_all((row.tobytes().hex(), at) for at, row in enumerate(rows, first))

    def find(self, queries: Numbers, distance: int) -> Found:
        found = [self.one(query, distance)[1] for query in queries]
        return np.repeat(np.arange(len(found)), list(map(len, found))), list(
            itertools.chain.from_iterable(found)
        )

    def one(self, query: Numbers, distance: int) -> Found:
        self.index.get_match_threshold = lambda: distance  # its own is 31
        return 0, [match.metadata for match in self.index.query(query.tobytes().hex())]

    def save(self) -> None:
        vars(self.index).pop("get_match_threshold", None)
        with self.file.open("wb") as file:
            self.index.serialize(file)

    def load(self) -> None:
        self.begin()
        with self.file.open("rb") as file:
            self.index = type(self.index).deserialize(file)


PEERS: dict[str, tuple[str, type[Index]]] = {
    "flat": ("faiss", Flat), "multihash": ("faiss", MultiHash), "ivf": ("faiss", Ivf),
    "usearch": ("usearch.index", Usearch),
    "threatexchange": ("threatexchange.signal_type.pdq.pdq_index", ThreatExchange),
}  # fmt: skip


class Keeper:
    """A process that has one index, and calls its methods."""

    def __init__(self, *made: Any) -> None:
        """Start the process; `made` are the arguments of `Index`."""
        command, pipe = [sys.executable, __file__], subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        self._call(made)

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Call a method; EOFError if the process ends."""
        return self._call((name, arguments))

    def _call(self, message: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        pickle.dump(message, self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def usable(names: Iterable[str], bits: int) -> list[str]:
    """Return the installed peers that take hashes of `bits` bits."""
    fitting = [name for name in names if name != "threatexchange" or bits == PDQ_BITS]
    return [name for name in fitting if installed(PEERS[name][0])]


def keep() -> None:
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # for the output of libraries
    folder, name, *made = pickle.load(source)
    module, kind = PEERS.get(name, ("simdb", Simdb))
    index, answer = kind(folder, name, *made), None
    index.package = installed(module)
    while True:
        pickle.dump(answer, target)
        target.flush()
        try:
            method, arguments = pickle.load(source)
        except EOFError:
            return
        answer = getattr(index, method)(*arguments)


if __name__ == "__main__":
    keep()
