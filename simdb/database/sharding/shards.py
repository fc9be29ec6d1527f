"""Shards: the open databases of a sharded database; asks all, or one by an id, and finds documents.

An error of a shard names it.  With missing="skip", a shard that cannot be opened or read is left
out: a warning says so, once, and `skipped` remembers why.
"""

import os
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from simdb.core.arrays import Id, Sketches, object_array, sorted_unique
from simdb.core.arrow import Columns, checked_arrow, read_batches
from simdb.core.checks import one_of
from simdb.core.choices import MissingName
from simdb.core.dtypes import I64, U32, U64, Bools, Objects
from simdb.core.errors import (
    BusyError,
    ClosedError,
    CorruptError,
    Error,
    ForkedError,
    FormatError,
    FullError,
    InputError,
    NotFoundError,
    OptionError,
    ReadOnlyError,
    ReplacedError,
)
from simdb.core.threads import mapped
from simdb.database import state as states
from simdb.database.database import Database
from simdb.database.sharding.shard import OpenShard, content_of, named, options_digest, shard_of
from simdb.database.state import documents
from simdb.database.state.state import State
from simdb.storage import (
    DATA_FILE,
    LEFT_OVER,
    SHARDS_FILE,
    Shard,
    check_directory,
    closed,
    has_shards_file,
    read_shards_file,
    shard_name,
    strange_directories,
)

ERROR, SKIP = "error", "skip"
MISSING = (ERROR, SKIP)
# What is wrong with a shard, and not with a question.
LASTING = (CorruptError, FormatError, ReplacedError)
PASSING = (BusyError, ClosedError, ForkedError, FullError, ReadOnlyError)

# A sharded database numbers a document by its shard and its ordinal in the shard.
ORDINAL_BITS = np.uint64(32)

Result = TypeVar("Result")


class Shards:
    """The shards of the directory `path`, open for reading."""

    def __init__(
        self, path: str, missing: MissingName, allow: Collection[str], threads: int
    ) -> None:
        """Open all shards; see `open_sharded`."""
        one_of("missing", missing, MISSING)
        self.path = path
        self.missing = missing
        self.allow = allow
        self.is_closed = False
        self.failures: dict[int, Error] = {}
        self._open: dict[int, OpenShard] = {}
        self.entries, self._digest = _listed(path)
        try:
            for _ in mapped(self._try_to_open, range(self.count), threads):
                pass
            self._open = dict(sorted(self._open.items()))
            self.check_some()
        except BaseException:
            with suppress(Error):
                self.close()
            raise

    @property
    def count(self) -> int:
        """The number of shards, with those that are left out."""
        return len(self.entries)

    @property
    def sample(self) -> OpenShard:
        """Any of the open shards; all have the same options."""
        self._check_open()
        return next(iter(self._open.values()))

    def close(self) -> None:
        """Close all shards; a second call does nothing."""
        for number, shard in list(self._open.items()):
            try:
                shard.database.close()
            except Error as error:
                raise named(error, shard_name(number), self.path) from error
        self.is_closed = True

    def read(self, number: int, function: Callable[[State], Result]) -> Result:
        """Return what `function` returns for the state of one shard; see `ask`."""
        return self.ask(number, partial(_in_state, function, 1))

    def read_each(self, function: Callable[[State], Result]) -> Iterator[tuple[int, Result]]:
        """Yield the number and what `function` returns for the state of one shard after the other.

        See `read_all`.
        """
        return self.each(partial(_in_state, function, 1))

    def ask(self, number: int, function: Callable[[OpenShard], Result]) -> Result:
        """Return the answer of one shard; an error, if it fails or was left out."""
        self._check_open()
        failure = self.failures.get(number)
        if failure is not None:
            raise type(failure)(*failure.args)
        try:
            return function(self._open[number])
        except (*LASTING, *PASSING) as error:
            raise named(error, shard_name(number), self.path) from error

    def each(self, function: Callable[[OpenShard], Result]) -> Iterator[tuple[int, Result]]:
        """Yield the number and the answer of one shard after the other; see `read_all`."""
        self._check_open()
        for number in self._open:
            if number not in self.failures:
                for answer in self._answer(number, function):
                    yield number, answer

    def read_all(
        self, function: Callable[[State], Result], threads: int
    ) -> list[tuple[int, Result]]:
        """Return the number of each shard that has not failed, and what `function` returns for it.

        Up to `threads` states are read at the same time, and each has its share of the threads.
        """
        self._check_open()
        numbers = [number for number in self._open if number not in self.failures]
        outer = max(min(threads, len(numbers)), 1)
        ask = partial(self._answer, function=partial(_in_state, function, max(threads // outer, 1)))
        answers = mapped(ask, numbers, outer)
        found = [
            (number, answer)
            for number, some in zip(numbers, answers, strict=True)
            for answer in some
        ]
        self.check_some()
        return found

    def change_of(self, number: int) -> str:
        """Return how a shard differs from what the set was finished with, "" for not at all."""
        entry = self.entries[number]
        try:
            found = self.ask(number, partial(content_of, number=number, shards=self.count))
        except InputError as error:
            return str(error)
        if found == entry:
            return ""
        return "the documents are not those that the set was finished with"

    def by_shard(self, ids: list[Id]) -> Iterator[tuple[int, I64]]:
        """Yield the number of each shard to which some of `ids` belong, and their positions."""
        numbers = shard_of(ids, self.count)
        for number in sorted_unique(numbers).tolist():
            yield number, np.flatnonzero(numbers == number)

    def ask_of(
        self, ids: list[Id], verb: Callable[[Database, list[Id]], Result]
    ) -> Iterator[tuple[I64, Result]]:
        """Yield positions in `ids` and what `verb` of their shard returns for these ids."""
        for number, chosen in self.by_shard(ids):
            some = [ids[at] for at in chosen]
            yield chosen, self.ask(number, partial(_of_ids, verb, some))

    def _answer(self, number: int, function: Callable[[OpenShard], Result]) -> list[Result]:
        """Return the answer of a shard in a list, which is empty if the shard is left out now."""
        try:
            return [self.ask(number, function)]
        except LASTING as error:
            self._leave_out(number, error)
            return []

    def _try_to_open(self, number: int) -> None:
        """Open a shard and compare it with its entry; leave it out if it fails and may be."""
        entry = self.entries[number]
        try:
            shard = _opened(self.path, entry.name, self.allow)
        except (*LASTING, NotFoundError) as error:
            self._leave_out(number, error)
            return
        try:
            _compare(shard, self.path, entry, self._digest)
            _check_place(shard, self.path, number, self.count)
        except (*LASTING, OptionError) as error:
            shard.database.close()
            self._leave_out(number, error)
            return
        self._open[number] = shard

    def _leave_out(self, number: int, error: Error) -> None:
        """Ask a shard no more, with missing="skip"; otherwise raise the error."""
        if self.missing != SKIP:
            raise error
        # An error that was raised refers to everything that its frames used.
        self.failures[number] = type(error)(*error.args)
        warnings.warn(f"left out: {error}", RuntimeWarning, stacklevel=2)

    def _check_open(self) -> None:
        if self.is_closed:
            raise closed(self.path)

    def check_some(self) -> None:
        """Raise the first failure if no shard is left."""
        if len(self.failures) == self.count:
            raise self.failures[0]


class StoredQueries(NamedTuple):
    """Stored documents as queries: their sketches, and their numbers in the sharded database."""

    sketches: Sketches
    ordinals: U64


def of_stored(shards: Shards, ids: list[Id]) -> StoredQueries:
    """Return stored documents as queries; NotFoundError for the first unknown id."""
    places = np.zeros(len(ids), np.uint64)
    order: list[I64] = [np.empty(0, np.int64)]
    parts = []
    check_known(shards, ids)
    for number, chosen in shards.by_shard(ids):
        ordinals, sketches = shards.read(number, partial(_stored, [ids[at] for at in chosen]))
        places[chosen] = global_ordinals(number, ordinals)
        parts.append(sketches)
        order.append(chosen)
    sketcher = shards.sample.store.sketcher
    together = states.incoming.joined(sketcher, parts) if parts else sketcher.sketch([])
    return StoredQueries(together.taken(np.argsort(np.concatenate(order), kind="stable")), places)


def check_known(shards: Shards, ids: list[Id]) -> None:
    """Raise the NotFoundError of one database for the first id that is not stored."""
    known = contained(shards, ids)
    if not known.all():
        shards.sample.database.get_many([ids[int(np.argmin(known))]])


def contained(shards: Shards, ids: list[Id]) -> Bools:
    """Return whether each id is stored."""
    found = np.zeros(len(ids), np.bool_)
    for chosen, answer in shards.ask_of(ids, Database.contains_many):
        found[chosen] = answer
    return found


def drawn_ids(shards: Shards, count: int, seed: int, *, is_weighted: bool) -> list[Id]:
    """Draw ids at random: those that one database with the documents of all shards would draw."""
    drawable = partial(documents.with_features, is_weighted=is_weighted)
    counts = list(shards.read_each(lambda state: len(drawable(state))))
    ends = np.cumsum([found for _, found in counts])
    chosen = documents.drawn(int(ends[-1]), count, seed)
    ids = object_array([None] * len(chosen))
    which = np.searchsorted(ends, chosen, side="right")
    for at, (number, found) in enumerate(counts):
        places = np.flatnonzero(which == at)
        own = chosen[places] - (ends[at] - found)
        ids[places] = shards.read(number, partial(_ids_at, own, drawable))
    return list(ids)


def all_sketches(shards: Shards, ids: str) -> Any:
    """Return the sketches of all documents, shard by shard; see `Database.sketches`."""
    checked_arrow(ids)
    with shards.sample.store.state() as state:
        empty = documents.no_sketches(state)

    def chunks() -> Iterator[Columns]:
        for _, found in shards.each(lambda shard: shard.database._sketch_chunks()):
            yield from found

    return read_batches(chunks(), empty, id_columns=["id"], ids=ids)


def global_ordinals(shard: int, ordinals: npt.NDArray[np.integer]) -> U64:
    """Return the numbers in the whole sharded database of documents of one shard."""
    return (np.uint64(shard) << ORDINAL_BITS) + ordinals.astype(np.uint64)


def _listed(path: str) -> tuple[tuple[Shard, ...], str]:
    """Return the shards that a directory must have, and the digest of their options."""
    if not check_directory(path):
        raise NotFoundError(f"there is no sharded database at {path}; write_sharded makes one")
    if not has_shards_file(path):
        if os.path.lexists(os.path.join(path, DATA_FILE)):
            raise FormatError(f"{path} is one database and not sharded; open it with simdb.open")
        raise NotFoundError(
            f"there is no {SHARDS_FILE} in {path}, so its shards are not complete;"
            " finish_sharded checks them and writes it"
        )
    content = read_shards_file(path)
    directories = strange_directories(path, len(content.shards))
    unknown = [name for name in directories if not LEFT_OVER.fullmatch(name)]
    if unknown:
        raise FormatError(
            f"{path} has a directory {unknown[0]!r} that is none of its {len(content.shards)}"
            " shards; move it away, or write the whole set again"
        )
    return content.shards, content.options


def _opened(path: str, name: str, allow: Collection[str]) -> OpenShard:
    try:
        return OpenShard(os.path.join(path, name), allow)
    except NotFoundError as error:
        raise NotFoundError(
            f"{name} of {path} is missing; restore it from a copy",
            python="or open the others with missing='skip'",
        ) from error
    except (*LASTING, *PASSING) as error:
        raise named(error, name, path) from error


def _compare(shard: OpenShard, path: str, entry: Shard, digest: str) -> None:
    """Raise an error unless a shard is as its entry in the shards file says."""
    try:
        found, count = options_digest(shard.store), len(shard.database)
    except LASTING as error:
        raise named(error, entry.name, path) from error
    if found != digest:
        raise OptionError(
            f"{entry.name} of {path} has other options than the set was made with; put the right"
            " one in its place, or write the whole set again"
        )
    if count != entry.document_count:
        raise CorruptError(
            f"{entry.name} of {path} has {count} documents, and the set was finished with"
            f" {entry.document_count}; restore it from a copy, or take it as it is with"
            " finish_sharded"
        )


def _check_place(shard: OpenShard, path: str, number: int, shards: int) -> None:
    """Raise CorruptError if the first id of a shard belongs to another of so many."""
    name = shard_name(number)
    try:
        first = next(iter(shard.database), None)
        numbers = shard_of([] if first is None else [first], shards)
    except LASTING as error:
        raise named(error, name, path) from error
    if (numbers != number).any():
        other = shard_name(int(numbers[0]))
        raise CorruptError(
            f"{name} of {path} has documents of {other}; put each shard back into its own place,"
            " or restore it from a copy"
        )


def _of_ids(
    verb: Callable[[Database, list[Id]], Result], ids: list[Id], shard: OpenShard
) -> Result:
    return verb(shard.database, ids)


def _in_state(function: Callable[[State], Result], threads: int, shard: OpenShard) -> Result:
    with shard.store.state() as state:
        state.threads = threads
        return function(state)


def _ids_at(places: I64, drawable: Callable[[State], U32], state: State) -> Objects:
    return object_array(documents.ids_of(state, drawable(state)[places]))


def _stored(ids: list[Id], state: State) -> tuple[U32, Sketches]:
    ordinals = documents.known_ordinals(state, ids)
    return ordinals, documents.stored_sketches(state, ordinals)
