"""Shard: which one an id belongs to, one that is open, and what one holds or what is wrong with it.

The number of a shard is the same for every job and every reader.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import database
from simdb.core import kernel
from simdb.core.arrays import WEIGHTED, Id, Sketches
from simdb.core.bits import fmix64
from simdb.core.checks import whole
from simdb.core.dtypes import I64, U64
from simdb.core.errors import CorruptError, Error, FormatError, InputError, NotFoundError
from simdb.core.options import Options
from simdb.core.stored_options import POLYTOPES
from simdb.database.state.documents import stored_sketches
from simdb.database.state.incoming import as_list
from simdb.database.state.store import Store
from simdb.storage import (
    Shard,
    check_directory,
    contents,
    shards_file,
)

READ_DOCUMENTS = 1 << 16


def shard_of(ids: Iterable[Id], shards: int) -> npt.NDArray[np.int64]:
    """Return the number of the shard that each of `ids` belongs to: int64[n], 0 to `shards` - 1.

    It is a hash of the id modulo `shards`: the first 64 bits of MurmurHash3_x64_128 with seed 0,
    unsigned, over a tag and the content of the id; see docs/FORMAT.md.  So it is the same in every
    process, version and job.  The ids 5, "5" and b"5" differ.
    """
    check_shards(shards)
    return numbers_of(kernel.encode_ids(as_list(ids, "ids"))[2], shards)


def numbers_of(hashes: U64, shards: int) -> I64:
    """Return the number of the shard of each id, by the hashes that `kernel.encode_ids` gives."""
    # The highest bits lead the headers of a database's table of ids, so the lowest ones choose.
    return (hashes % np.uint64(shards)).astype(np.int64)


def check_shards(shards: Any) -> None:
    """Raise OptionError unless `shards` can be a number of shards."""
    whole("shards", shards, 1, shards_file.SHARDS_MAX)


class OpenShard:
    """One shard of a sharded database, open for reading."""

    def __init__(self, path: str, allow: Collection[str] = ()) -> None:
        """Open the database in the directory `path`, which is not a link."""
        if not check_directory(path):
            raise NotFoundError(f"{path} is missing")
        self.database = database.open(path, "r", allow=allow)

    @property
    def store(self) -> Store:
        """The store of the database; in a forked child, the one of the child."""
        return self.database._store


@dataclass(frozen=True, slots=True)
class Inspected:
    """A shard that was read completely: what it holds, and its options with their digest."""

    shard: Shard
    options: Options
    options_digest: str


def inspect(
    directory: str, number: int, shards: int, *, deep: bool = False, place: str | None = None
) -> Inspected:
    """Read shard `number` of `shards` in `directory` completely.

    Raises an error that names the shard if it is missing or damaged, or if an id belongs to another
    shard.  `deep`: compare every checksum and table too.  `place`: the directory of a shard that
    does not have its name yet.
    """
    name = shards_file.shard_name(number)
    try:
        shard = OpenShard(place or os.path.join(directory, name))
        with shard.database as opened:
            finding = next(opened.check(deep), None)
            if finding is not None:
                raise CorruptError(f"{finding.place}: {finding.message}; {finding.remedy}")
            found = content_of(shard, number, shards)
            return Inspected(found, opened.options, options_digest(shard.store))
    except (CorruptError, FormatError, InputError) as error:
        raise named(error, name, directory) from error


def content_of(shard: OpenShard, number: int, shards: int) -> Shard:
    """Return what shard `number` of `shards` holds; InputError if an id belongs to another."""
    content = ContentDigest()
    for hashes, ids, sketches in _documents(shard.store):
        _check_numbers(numbers_of(hashes, shards), ids, number, shards)
        content.add(hashes, sketches)
    return Shard(shards_file.shard_name(number), content.count, content.digest)


class ContentDigest:
    """A digest of ids and sketches that does not depend on the order of documents."""

    def __init__(self) -> None:
        """Begin without documents."""
        self.count = 0
        self._sum = 0

    def add(self, hashes: U64, sketches: Sketches) -> None:
        """Add documents: the hashes of their ids, and their sketches."""
        mixed = fmix64(fmix64(hashes) ^ sketches.bits)
        width = sketches.vectors.shape[1]
        padded = np.zeros((len(hashes), -(-(width + 1) // 8) * 8), np.uint8)
        # A run without any document with weights stores no vectors.
        has_vector = sketches.states == WEIGHTED
        padded[has_vector, :width] = sketches.vectors[has_vector]
        padded[:, width] = sketches.states
        words = padded.view("<u8")
        for column in range(words.shape[1]):
            mixed = fmix64(mixed ^ words[:, column])
        self.count += len(hashes)
        self._sum = (self._sum + int(mixed.sum(dtype=np.uint64))) % (1 << 64)

    @property
    def digest(self) -> str:
        """The digest of all documents so far: 16 hexadecimal digits."""
        return f"{self._sum:016x}"


def named(error: Error, name: str, path: str) -> Error:
    """Return an error of the same class that names the shard."""
    return type(error)(f"{name} of {path}: {error}")


def options_digest(store: Store) -> str:
    """Return the digest of everything that decides which sketches a database makes and finds.

    What `compact` and `rebuild` can change is left out: it decides only how fast a search is.
    """
    with store.environment.reading() as transaction:
        plain, _ = contents.stored_options(store.environment, transaction)
    plain.pop(POLYTOPES, None)
    words = contents.read_resources(store.environment).stop_words
    return shards_file.digest_of(json.dumps([plain, words], sort_keys=True).encode())


def _documents(store: Store) -> Iterator[tuple[U64, list[Any], Sketches]]:
    """Yield the hashes of ids, the ids and the sketches of all documents, some at a time."""
    with store.state() as state:
        ordinals = state.live()
        for start in range(0, len(ordinals), READ_DOCUMENTS):
            part = ordinals[start : start + READ_DOCUMENTS]
            ids = state.identifiers(part).decode(part)
            yield kernel.encode_ids(ids)[2], ids, stored_sketches(state, part)


def _check_numbers(numbers: I64, ids: list[Any], number: int, shards: int) -> None:
    wrong = np.flatnonzero(numbers != number)
    if len(wrong):
        at = int(wrong[0])
        raise InputError(
            f"the id {ids[at]!r} belongs to {shards_file.shard_name(int(numbers[at]))} of {shards};"
            f" distribute ids by simdb.shard_of(ids, {shards})"
        )
