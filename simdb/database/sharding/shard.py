"""Shard: the rule that assigns documents to shards, an open shard, and a check of its content.

Every job and every reader computes the same number for a document.  When documents are divided by
fingerprints, shard 5 of 16 holds the fingerprints that begin with the bits 0101.  A query with few
flipped bits then reaches few shards.
"""

import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import database
from simdb.core import kernel
from simdb.core.arrays import WEIGHTED, Id, Sketches
from simdb.core.bits import fmix64
from simdb.core.checks import one_of, shown, whole
from simdb.core.choices import BY_FINGERPRINT, BY_ID, SHARD_BY, ShardByName
from simdb.core.dtypes import I64, U64
from simdb.core.errors import CorruptError, Error, FormatError, InputError, NotFoundError
from simdb.core.options import Options
from simdb.core.stored_options import POLYTOPES
from simdb.core.values import dataclass
from simdb.database.clusters import arrays
from simdb.database.state.documents import stored_sketches
from simdb.database.state.incoming import as_list
from simdb.database.state.store import Store
from simdb.storage import Shard, check_directory, contents, shards_file

READ_DOCUMENTS = 1 << 16
# Address space for each shard, or more if it is larger.  With the usual 1 TiB only 127 shards could
# be open at once.
MAP_BYTES = 1 << 30
NO_HASHES = np.empty(0, np.uint64)
# Possible numbers of shards with shard_by="fingerprint": each shard has one prefix of bits.
POWERS = tuple(1 << width for width in range(shards_file.SHARDS_MAX.bit_length()))


def shard_of(ids: Any, shards: int, *, shard_by: ShardByName = "id") -> npt.NDArray[np.int64]:
    """Compute the number of the shard to which each document belongs.

    The numbers are the same in every process, version and job.

    Parameters
    ----------
    ids : iterable of str, bytes or int
        The ids.  The ids 5, "5" and b"5" differ.  With shard_by="fingerprint", the fingerprints:
        uint64[n] or `Fingerprints`.
    shards : int
        Number of shards, 1 to 10,000; a power of two with shard_by="fingerprint".
    shard_by : {"id", "fingerprint"}, default "id"
        The value that assigns a document to a shard: a hash of the id, or the highest
        log2(`shards`) bits of the fingerprint.

    Returns
    -------
    ndarray
        The number of the shard of each document, 0 to `shards` - 1: int64[n].

    Raises
    ------
    OptionError
        If `shards` is out of range, or not a power of two with shard_by="fingerprint".
    InputError
        If an id or a fingerprint is invalid.

    Notes
    -----
    With shard_by="id", the number is a hash of the id modulo `shards`.  The hash is the first 64
    bits of MurmurHash3_x64_128 with seed 0, unsigned, over a tag and the content of the id
    (docs/FORMAT.md).

    Examples
    --------
    >>> simdb.shard_of(["a", "b", "c"], 4).dtype
    dtype('int64')
    """
    division = Division.checked(shards, shard_by)
    if division.by == BY_FINGERPRINT:
        bits = arrays.as_bits(ids)
        return division.numbers(bits, bits)
    hashes = kernel.encode_ids(as_list(ids, "ids"))[2]
    return division.numbers(hashes, hashes)


@dataclass(frozen=True, slots=True)
class Division:
    """A rule that divides documents among `count` shards: by id or by fingerprint."""

    count: int
    by: ShardByName = "id"

    @classmethod
    def checked(cls, shards: Any, shard_by: Any = BY_ID) -> "Division":
        """Return a division; raise OptionError if the arguments are invalid."""
        whole("shards", shards, 1, shards_file.SHARDS_MAX)
        one_of("shard_by", shard_by, SHARD_BY)
        if shard_by == BY_FINGERPRINT:
            one_of("shards", int(shards), POWERS)
        return cls(int(shards), shard_by)

    @property
    def width(self) -> int:
        """The number of leading fingerprint bits that form the number of the shard."""
        return self.count.bit_length() - 1

    def numbers(self, hashes: U64, bits: U64) -> I64:
        """Return the shard of each document, by its bits or the `encode_ids` hash of its id."""
        count, half = np.uint64(self.count), np.uint64(32)
        if self.by == BY_FINGERPRINT:
            return ((bits >> half) * count >> half).astype(np.int64)
        # The table of ids in each database is sorted by the highest bits, so the lowest bits
        # choose.
        return (hashes % count).astype(np.int64)

    def check(self, numbers: I64, ids: Any, allowed: Collection[int]) -> None:
        """Raise InputError for the first document that belongs to no shard of `allowed`."""
        for at in np.flatnonzero(~np.isin(numbers, list(allowed)))[:1].tolist():
            name = shards_file.shard_name(int(numbers[at]))
            raise InputError(
                f"the id {shown(ids[at])} belongs to {name} of {self.count} by its {self.by};"
                " distribute documents by"
                f" simdb.shard_of({self.by}s, {self.count}, shard_by={self.by!r})"
            )


class OpenShard:
    """One shard of a sharded database, open for reading."""

    def __init__(self, path: str, allow: Collection[str] = ()) -> None:
        """Open the database in the directory `path`, which is not a link."""
        if not check_directory(path):
            raise NotFoundError(f"{path} is missing")
        self.database = database.open(path, "r", allow=allow, map_size=MAP_BYTES)

    @property
    def store(self) -> Store:
        """The store of the database; in a forked child, the child's own."""
        return self.database._store


@dataclass(frozen=True, slots=True)
class Inspected:
    """A shard that was read completely: its content, its options and their digest.

    `hashes`: hashes of its ids, kept only if documents are divided by fingerprints, since an id can
    then be in two shards.
    """

    shard: Shard
    options: Options
    options_digest: str
    hashes: list[U64]


def inspect(
    directory: str, number: int, division: Division, *, deep: bool = False, place: str | None = None
) -> Inspected:
    """Read shard `number` in `directory` completely.

    Raises an error that names the shard if it is missing or damaged, or if an id belongs to another
    shard.  `deep`: compare every checksum and table too.  `place`: the directory of a shard that
    does not have its name yet.
    """
    name = shards_file.shard_name(number)
    with naming(name, directory, (CorruptError, FormatError, InputError)):
        shard = OpenShard(place or os.path.join(directory, name))
        with shard.database as opened:
            finding = next(opened.check(deep), None)
            if finding is not None:
                raise CorruptError(f"{finding.place}: {finding.message}; {finding.remedy}")
            found, hashes = content_of(shard, number, division)
            return Inspected(found, opened.options, options_digest(shard.store), hashes)


def content_of(shard: OpenShard, number: int, division: Division) -> tuple[Shard, list[U64]]:
    """Return the entry of shard `number`, computed from its documents.

    Raises InputError if a document belongs to another shard.  If documents are divided by
    fingerprints, also returns the hashes of their ids.
    """
    content, noted = ContentDigest(), []
    for hashes, ids, sketches in _documents(shard.store):
        division.check(division.numbers(hashes, sketches.bits), ids, [number])
        content.add(hashes, sketches)
        if division.by == BY_FINGERPRINT:
            noted.append(hashes)
    return content.shard(number), noted


def check_distinct(directory: str, shards: list[Inspected]) -> None:
    """Raise InputError if documents in two shards have the same id."""
    hashes = np.sort(np.concatenate([NO_HASHES, *chain(*(each.hashes for each in shards))]))
    twice = hashes[1:][hashes[1:] == hashes[:-1]]
    owners: dict[Id, str] = {}
    for name in [each.shard.name for each in shards if len(twice)]:
        with database.open(os.path.join(directory, name), "r") as opened:
            for own, ids, _ in _documents(opened._store):
                for at in np.flatnonzero(np.isin(own, twice)).tolist():
                    other = owners.setdefault(ids[at], name)
                    if other != name:
                        raise InputError(
                            f"the id {shown(ids[at])} is given twice, in {other} and {name}"
                        )


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
        # A run in which no document has weights stores no vectors.
        has_vector = sketches.states == WEIGHTED
        padded[has_vector, :width] = sketches.vectors[has_vector]
        padded[:, width] = sketches.states
        words = padded.view("<u8")
        for column in range(words.shape[1]):
            mixed = fmix64(mixed ^ words[:, column])
        self.count += len(hashes)
        self._sum = (self._sum + int(mixed.sum(dtype=np.uint64))) % (1 << 64)

    def shard(self, number: int) -> Shard:
        """Return the entry of a shard with all documents added so far."""
        return Shard(shards_file.shard_name(number), self.count, f"{self._sum:016x}")


@contextmanager
def naming(name: str, path: str, kinds: tuple[type[Error], ...]) -> Iterator[None]:
    """Put the name of the shard before the message of errors of these `kinds`."""
    try:
        yield
    except kinds as error:
        raise type(error)(f"{name} of {path}: {error}") from error


def options_digest(store: Store) -> str:
    """Return a digest of the options that decide which sketches a database makes and finds.

    It omits the options that `compact` and `rebuild` can change, which affect only speed.
    """
    with store.environment.reading() as transaction:
        plain, _ = contents.stored_options(store.environment, transaction)
    plain.pop(POLYTOPES, None)
    words = contents.read_resources(store.environment).stop_words
    return shards_file.digest_of(json.dumps([plain, words], sort_keys=True).encode())


def _documents(store: Store) -> Iterator[tuple[U64, list[Any], Sketches]]:
    """Yield all documents in batches: the hashes of their ids, the ids and the sketches."""
    with store.state() as state:
        ordinals = state.live()
        for start in range(0, len(ordinals), READ_DOCUMENTS):
            part = ordinals[start : start + READ_DOCUMENTS]
            ids = state.identifiers(part).decode(part)
            yield kernel.encode_ids(ids)[2], ids, stored_sketches(state, part)
