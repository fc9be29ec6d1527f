"""MinHashLSHEnsemble: datasketch's index for sets that contain a query, in memory."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from simdb.checks import whole
from simdb.compat.band_choice import check_weights
from simdb.compat.containment_choice import choose_for_ratio, choose_partitions, ratios
from simdb.compat.packing import packed
from simdb.compat.prefix_trees import PrefixTrees
from simdb.compat.row_form import kind_of
from simdb.compat.storage_choice import check_storage
from simdb.errors import InputError, OptionError

Entry = tuple[Hashable, Any, int]


class MinHashLSHEnsemble:
    """An index of sets by size: a query finds sets that contain at least `threshold` of it.

    Bands, partitions and candidates are those of datasketch.  `lowers` and `uppers` are the least
    and the greatest size in each partition; None for a partition without sets.
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        num_part: int = 16,
        m: int = 8,
        weights: tuple[float, float] = (0.5, 0.5),
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
    ) -> None:
        """Make an empty index of `num_part` partitions, with bands of at most `m` rows.

        More partitions and larger `m` find fewer false positives; the memory grows with `m`.
        `weights` are those of false positives and false negatives.  `storage_config` can be
        {"type": "dict"}, which changes nothing; neither does `prepickle`.
        """
        check_storage(storage_config, None)
        if not 0 <= threshold <= 1:
            raise OptionError(f"threshold must be from 0 to 1, got {threshold!r}")
        whole("num_perm", num_perm, 2, 2**32)
        whole("num_part", num_part, 1, 2**32)
        whole("m", m, 2, num_perm)
        check_weights(weights)
        self.threshold, self.h, self.m = threshold, num_perm, m
        self.xqs = ratios()
        self.params = np.array(
            [choose_for_ratio(threshold, num_perm, m, float(xq), weights) for xq in self.xqs]
        )
        self.lowers: list[int | None] = [None] * num_part
        self.uppers: list[int | None] = [None] * num_part
        self._kind: tuple[str, int] | None = None
        self._keys: list[list[Hashable]] = [[] for _ in range(num_part)]
        self._known: set[Hashable] = set()
        # For each partition, the trees of bands with r rows, by r.
        self._trees: list[dict[int, PrefixTrees]] = [{} for _ in range(num_part)]

    def index(self, entries: Iterable[Entry]) -> None:
        """Index all sets, given as (key, MinHash, size); possible once.

        Raises InputError for no sets, equal keys, different kinds of MinHash, or a size below 1.
        """
        if not self.is_empty():
            raise InputError("the index has sets already; make a new MinHashLSHEnsemble")
        listed = sorted(entries, key=lambda entry: entry[2])
        if not listed:
            raise InputError("entries is empty; give one set or more")
        if listed[0][2] < 1:
            raise InputError(f"the size of {listed[0][0]!r} is {listed[0][2]}, not 1 or more")
        kind = kind_of(listed[0][1])
        for _, minhash, _ in listed:
            self._check(minhash, kind)
        known = {key for key, _, _ in listed}
        if len(known) < len(listed):
            twice = next(key for key, count in Counter(e[0] for e in listed).items() if count > 1)
            raise InputError(f"the key {twice!r} is given twice; give each set a key of its own")
        sizes, counts = np.unique([entry[2] for entry in listed], return_counts=True)
        partitions = choose_partitions(sizes, counts, len(self.lowers))
        self._kind, self._known = kind, known
        at = 0
        for number, (lower, upper) in enumerate(partitions):
            start = at
            while at < len(listed) and listed[at][2] <= upper:
                at += 1
            self.lowers[number], self.uppers[number] = lower, upper
            self._fill(number, listed[start:at])

    def query(self, minhash: Any, size: int) -> Iterator[Hashable]:
        """Yield the keys of sets that probably contain `threshold` of a set of this size."""
        if size < 1:
            raise InputError(f"the size of the query is {size}, not 1 or more")
        if self._kind is not None:
            self._check(minhash, self._kind)
        return self._found(minhash, size)

    def is_empty(self) -> bool:
        """Return whether `index` was not called yet."""
        return not self._known

    def _found(self, minhash: Any, size: int) -> Iterator[Hashable]:
        for number, upper in enumerate(self.uppers):
            if upper is None:
                continue
            at = min(int(np.searchsorted(self.xqs, upper / size)), len(self.params) - 1)
            bands, rows = self.params[at].tolist()
            found = self._trees[number][rows].find(minhash.hashvalues, [rows], bands)
            for ordinal in np.unique(np.concatenate(found)).tolist():
                yield self._keys[number][ordinal]

    def _fill(self, number: int, entries: list[Entry]) -> None:
        """Make the trees of one partition."""
        self._keys[number] = [key for key, _, _ in entries]
        rows = [minhash.hashvalues for _, minhash, _ in entries]
        for depth in sorted(set(self.params[:, 1].tolist())):
            self._trees[number][depth] = PrefixTrees(rows, self.h // depth, depth)

    def _check(self, minhash: Any, kind: tuple[str, int]) -> None:
        """Raise InputError unless a MinHash fits the index."""
        known = kind_of(minhash)
        if known != kind:
            raise InputError(
                f"the MinHash has scheme {known[0]!r} and seed {known[1]}, but the index has"
                f" {kind[0]!r} and {kind[1]}; use one kind for all sets"
            )
        if len(minhash.hashvalues) != self.h:
            raise InputError(
                f"the MinHash has {len(minhash.hashvalues)} hash values, but the index needs"
                f" {self.h}"
            )
        packed(minhash.hashvalues, known[0])  # raises for values of another type

    def __contains__(self, key: Hashable) -> bool:
        """Return whether the index has a key."""
        return key in self._known
