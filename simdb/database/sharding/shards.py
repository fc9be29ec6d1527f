"""Shards: the open databases of a sharded database, and the searcher that asks them for a verb.

Errors name the shard.  With missing="skip", a shard that cannot be opened or read is skipped with
one warning, and `Shards.failures` keeps its error.
"""

import os
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from simdb import storage
from simdb.core import errors, kernel
from simdb.core.arrays import Id, Sketches
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.checks import one_of
from simdb.core.choices import BY_ID, MissingName
from simdb.core.dtypes import I64, U8, U16, Bools
from simdb.core.reports import Probing
from simdb.core.threads import mapped, parts_of, run_all
from simdb.database.search.method import levels_of
from simdb.database.sharding.shard import Division, OpenShard, content_of, naming, options_digest
from simdb.database.state.documents import are_stored
from simdb.database.state.state import Asked, State
from simdb.database.state.store import Store
from simdb.plan import Criterion
from simdb.storage import DATA_FILE, SHARDS_FILE, Shard, check_directory, closed, shards_file

ERROR, SKIP = "error", "skip"
MISSING = (ERROR, SKIP)
# Errors of a shard rather than of the arguments.  After a lasting error a shard can be skipped.
LASTING = (errors.CorruptError, errors.FormatError, errors.ReplacedError)
PASSING = (
    errors.BusyError,
    errors.ClosedError,
    errors.ForkedError,
    errors.FullError,
    errors.ReadOnlyError,
)
FAILING = (*LASTING, *PASSING)
PLANS_KEPT = 64
# Combinations of a query and a shard that are compared in one step.
BATCH_ROUTED = 1 << 18
# The highest cost of a flip set.
ANY_COST = 255 * FINGERPRINT_BITS

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
        self.failures: dict[int, errors.Error] = {}
        self._open: dict[int, OpenShard] = {}
        # A set is written once, so the results of planning stay valid.
        self._flips: dict[Criterion, Flips] = {}
        self.entries, self._digest, self.division = _listed(path)
        try:
            run_all(self._try_to_open, range(self.count), threads)
            self._open = dict(sorted(self._open.items()))
            self.check_some()
        except BaseException:
            with suppress(errors.Error):
                self.close()
            raise

    @property
    def count(self) -> int:
        """The number of shards, including skipped shards."""
        return len(self.entries)

    @property
    def sample(self) -> OpenShard:
        """Any of the open shards; all have the same options."""
        self._check_open()
        return next(iter(self._open.values()))

    def close(self) -> None:
        """Close all shards; a second call does nothing."""
        for number, shard in list(self._open.items()):
            with naming(shards_file.shard_name(number), self.path, (errors.Error,)):
                shard.database.close()
        self.is_closed = True

    @property
    def numbers(self) -> list[int]:
        """The numbers of the shards that are not skipped."""
        self._check_open()
        return [number for number in self._open if number not in self.failures]

    def ask(self, number: int, function: Callable[[OpenShard], Result]) -> Result:
        """Return the answer of one shard; errors name the shard."""
        shard = self._shard(number)
        with naming(shards_file.shard_name(number), self.path, FAILING):
            return function(shard)

    @contextmanager
    def state_of(self, id: Any) -> Iterator[State]:
        """Enter the state of the shard to which an id belongs; see `ask`."""
        (number,) = self.numbers_of([id]).tolist()
        shard, name = self._shard(number), shards_file.shard_name(number)
        with naming(name, self.path, FAILING), shard.store.state() as state:
            yield state

    def numbers_of(self, ids: list[Id]) -> I64:
        """Return the number of the shard that would hold each document.

        If documents are divided by fingerprints, the ids are looked up in all shards.
        """
        if self.division.by == BY_ID:
            hashes = kernel.encode_ids(ids)[2]
            return self.division.numbers(hashes, hashes)
        found, ask = np.full(len(ids), -1), partial(_in_state, lambda state: are_stored(state, ids))
        for number, is_there in self.each(partial(ask, 1)):
            found[is_there] = number
        # An unknown id may be in a skipped shard, whose error is then raised.
        found[found < 0] = next(iter(self.failures), self.numbers[0])
        return found

    def reached(self, sketches: Sketches, criterion: Criterion) -> dict[int, I64]:
        """Return the positions of the queries that can match in each shard; at least one shard.

        A match within a distance differs from the query in no more leading bits.  PSM looks up
        headers, which begin with these bits.  So it reaches another shard only by a flip set that
        contains all bits in which the numbers of the two shards differ.  The cheapest such set
        contains only these bits.  So asking all shards would find the same matches.
        """
        every = np.arange(len(sketches))
        if self.division.by == BY_ID or criterion.distance is None:
            return dict.fromkeys(self.numbers, every)
        own = self.division.numbers(sketches.bits, sketches.bits)
        flipped = own[:, None].astype(np.uint16) ^ np.arange(self.count, dtype=np.uint16)
        is_near = np.bitwise_count(flipped) <= criterion.distance
        flips = self._flips.get(criterion)
        if flips is None:
            if len(self._flips) >= PLANS_KEPT:
                self._flips.clear()
            flips = self._flips[criterion] = self._find_flips(criterion)
        if flips.costs.any():
            levels = levels_of(sketches)[:, FINGERPRINT_BITS - self.division.width :]
            for part in parts_of(len(levels), 1, most=1 + BATCH_ROUTED // self.count):
                is_near[part] &= flips.reach(levels[part], flipped[part])
        is_asked = is_near.any(axis=0)
        found = {at: np.flatnonzero(is_near[:, at]) for at in self.numbers if is_asked[at]}
        return found or {self.numbers[0]: every[:0]}

    def _find_flips(self, criterion: Criterion) -> "Flips":
        """Return the limits on flips in the plan of each shard; costs of 0 allow all flips."""
        found = Flips(*(np.zeros((self.count, size), np.int64) for size in (256, 1, 1)))
        found.theta[:] = ANY_COST
        for number, each in self.each(partial(_in_state, partial(_probing, criterion), 1)):
            if each is not None and each.theta is not None:
                found.costs[number], found.theta[number] = each.costs, each.theta
                found.headers[number] = -1 << max(self.division.width - each.header_bits, 0)
        return found

    def each(self, function: Callable[[OpenShard], Result]) -> Iterator[tuple[int, Result]]:
        """Yield the number and the answer of each shard in turn."""
        for number in self.numbers:
            yield from self.answer(function, number)

    def change_of(self, number: int) -> str:
        """Return how the documents of a shard differ from the finished set; "" if they do not."""
        entry = self.entries[number]
        try:
            found, _ = self.ask(number, partial(content_of, number=number, division=self.division))
        except errors.InputError as error:
            return str(error)
        if found == entry:
            return ""
        return "the documents changed after finish_sharded"

    def _shard(self, number: int) -> OpenShard:
        """Return a shard; raise its error if it is skipped."""
        self._check_open()
        failure = self.failures.get(number)
        if failure is not None:
            raise type(failure)(*failure.args)
        return self._open[number]

    def answer(
        self, function: Callable[[OpenShard], Result], number: int
    ) -> list[tuple[int, Result]]:
        """Return number and answer of a shard in a list; an empty list if the shard fails."""
        try:
            return [(number, self.ask(number, function))]
        except LASTING as error:
            self._leave_out(number, error)
            return []

    def _try_to_open(self, number: int) -> None:
        """Open a shard and compare it with its entry; skip it if it fails and may be skipped."""
        entry = self.entries[number]
        try:
            shard = _opened(self.path, entry.name, self.allow)
        except (*LASTING, errors.NotFoundError) as error:
            self._leave_out(number, error)
            return
        try:
            _compare(shard, self.path, entry, self._digest)
            _check_place(shard, self.path, number, self.division)
        except (*LASTING, errors.OptionError) as error:
            shard.database.close()
            self._leave_out(number, error)
            return
        self._open[number] = shard

    def _leave_out(self, number: int, error: errors.Error) -> None:
        """Skip a shard in later searches, with missing="skip"; otherwise raise the error."""
        if self.missing != SKIP:
            raise error
        # A new error, since the raised one would keep the variables of its frames in memory.
        self.failures[number] = type(error)(*error.args)
        warnings.warn(f"left out: {error}", RuntimeWarning, stacklevel=2)

    def _check_open(self) -> None:
        if self.is_closed:
            raise closed(self.path)

    def check_some(self) -> None:
        """Raise the error of the first shard if all shards failed."""
        if len(self.failures) == self.count:
            raise self.failures[0]


class Flips(NamedTuple):
    """The limits on flipping leading bits to reach each shard.

    `costs` int64[shards, 256]: the cost of flipping a bit, by its level.  `theta` int64[shards, 1]:
    the limit on the sum of costs.  `headers` int64[shards, 1]: a mask of the leading bits that
    headers contain; other bits cost nothing.
    """

    costs: I64
    theta: I64
    headers: I64

    def reach(self, levels: U8, flipped: U16) -> Bools:
        """Return whether flips of each query can reach each shard: bool[n, shards].

        `levels` uint8[n, width]: levels of the leading bits.  `flipped` uint16[n, shards]: the bits
        to flip.
        """
        differing = flipped.T & self.headers
        prices = self.costs[:, levels] * (differing[:, :, None] >> np.arange(levels.shape[1]) & 1)
        return np.asarray(prices.sum(axis=2) <= self.theta, np.bool_).T


class ShardSearcher:
    """A searcher over all shards, which enters each state only while asking it; see `Searcher`."""

    def __init__(self, shards: Shards, threads: int = 1) -> None:
        """Search `shards`, up to `threads` of them at a time."""
        self.shards = shards
        self.threads = threads
        self._values: storage.FieldValues = ()

    @property
    def store(self) -> Store:
        """The store of any shard."""
        return self.shards.sample.store

    @property
    def numbers(self) -> list[int]:
        """The numbers of the shards that are not skipped."""
        return self.shards.numbers

    def __enter__(self) -> "ShardSearcher":
        """Return the searcher itself."""
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Do nothing, since no state is entered now."""

    def choose(self, values: storage.FieldValues) -> "ShardSearcher":
        """Restrict later searches to documents with these values of fields."""
        self._values = values
        return self

    def each(self, function: Callable[[State], Result]) -> Iterator[tuple[int, Result]]:
        """Yield the number of each shard in turn, and the result of `function` for its state."""
        return self.shards.each(self._in(function, self.threads))

    def _in(self, function: Callable[[State], Result], threads: int) -> Callable[[Any], Result]:
        """Wrap a function of a state as a function of a shard."""
        return partial(_in_state, function, threads, values=self._values)

    def every(self, function: Callable[[State], Result]) -> list[tuple[int, Result]]:
        """Return the results of `each` for all shards, which share the threads."""
        outer = max(min(self.threads, len(self.numbers)), 1)
        ask = self._in(function, max(self.threads // outer, 1))
        found = mapped(partial(self.shards.answer, ask), self.numbers, outer)
        listed = list(chain.from_iterable(found))
        self.shards.check_some()
        return listed

    def routed(
        self, queries: Asked, function: Callable[[State, I64], Result], *, in_turn: bool = False
    ) -> Iterator[tuple[int, I64, Result]]:
        """Yield the number, query positions and result of each shard that queries can reach."""
        reached = self.shards.reached(*queries)
        outer = 1 if in_turn else max(min(self.threads, len(reached)), 1)

        def ask(number: int) -> list[tuple[int, I64, Result]]:
            at = reached[number]
            find = self._in(lambda state: function(state, at), self.threads // outer)
            return [(number, at, found) for _, found in self.shards.answer(find, number)]

        yield from chain.from_iterable(mapped(ask, reached, outer))
        self.shards.check_some()

    def ask(self, number: int, function: Callable[[State], Result]) -> Result:
        """Return the result of `function` for the state of one shard."""
        return self.shards.ask(number, self._in(function, self.threads))

    def numbers_of(self, ids: list[Id]) -> I64:
        """Return the number of the shard to which each id belongs."""
        return self.shards.numbers_of(ids)


def _listed(path: str) -> tuple[tuple[Shard, ...], str, Division]:
    """Return the entries of the shards, the digest of their options, and the division."""
    if not check_directory(path):
        raise errors.NotFoundError(
            f"there is no sharded database at {path}; write_sharded makes one"
        )
    if not shards_file.has_shards_file(path):
        if os.path.lexists(os.path.join(path, DATA_FILE)):
            raise errors.FormatError(
                f"{path} is one database and not sharded; open it with simdb.open"
            )
        raise errors.NotFoundError(
            f"there is no {SHARDS_FILE} in {path}, so its shards are not complete;"
            " finish_sharded checks them and writes it"
        )
    content = shards_file.read_shards_file(path)
    directories = shards_file.strange_directories(path, len(content.shards))
    unknown = [name for name in directories if not shards_file.LEFT_OVER.fullmatch(name)]
    if unknown:
        raise errors.FormatError(
            f"{path} has a directory {unknown[0]!r} that is none of its {len(content.shards)}"
            " shards; move it away, or write the whole set again"
        )
    return content.shards, content.options, Division(len(content.shards), content.shard_by)


def _opened(path: str, name: str, allow: Collection[str]) -> OpenShard:
    try:
        with naming(name, path, FAILING):
            return OpenShard(os.path.join(path, name), allow)
    except errors.NotFoundError as error:
        raise errors.NotFoundError(
            f"{name} of {path} is missing; restore it from a copy",
            python="or open the others with missing='skip'",
        ) from error


def _compare(shard: OpenShard, path: str, entry: Shard, digest: str) -> None:
    """Raise an error unless a shard agrees with its entry in the shards file."""
    with naming(entry.name, path, LASTING):
        found, count = options_digest(shard.store), len(shard.database)
    if found != digest:
        raise errors.OptionError(
            f"the options of {entry.name} of {path} differ from those of the set; put the right"
            " shard in its place, or write the whole set again"
        )
    if count != entry.document_count:
        raise errors.CorruptError(
            f"{entry.name} of {path} has {count} documents, and the set was finished with"
            f" {entry.document_count}; restore it from a copy, or take it as it is with"
            " finish_sharded"
        )


def _check_place(shard: OpenShard, path: str, number: int, division: Division) -> None:
    """Raise CorruptError if the first document of a shard belongs to another shard."""
    name = shards_file.shard_name(number)
    with naming(name, path, LASTING):
        first = [id for id, _ in zip(shard.database, range(1), strict=False)]
        hashes = kernel.encode_ids(first)[2]
        numbers = division.numbers(hashes, shard.database.bits_many(first)[1])
    if (numbers != number).any():
        other = shards_file.shard_name(int(numbers[0]))
        raise errors.CorruptError(
            f"{name} of {path} has documents of {other}; put each shard back into its own place,"
            " or restore it from a copy"
        )


def _in_state(
    function: Callable[[State], Result], threads: int, shard: OpenShard,
    values: storage.FieldValues = (),
) -> Result:  # fmt: skip
    with shard.store.state() as state:
        state.threads = threads
        return function(state.choose(values))


def _probing(criterion: Criterion, state: State) -> Probing | None:
    """Return how queries choose headers; None if documents are also found in other ways."""
    plan = state.plan(criterion)
    probing = plan.probing
    # Documents outside the tables are compared with every query, and small runs have short headers.
    is_sealed = len(state.runs) == 1 and not len(state.delta.batch)
    return probing if probing is not None and probing.tables == 1 and is_sealed else None
