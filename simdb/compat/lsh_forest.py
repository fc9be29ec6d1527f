"""MinHashLSHForest: datasketch's index for the k most similar sets, in memory."""

from collections.abc import Hashable
from typing import Any

import numpy.typing as npt

from simdb.compat.packing import packed
from simdb.compat.prefix_trees import PrefixTrees
from simdb.compat.row_form import kind_of
from simdb.errors import InputError, NotFoundError, OptionError

Values = npt.NDArray[Any]


class MinHashLSHForest:
    """An index of `l` prefix trees, each of `k` hash values; the answers are those of datasketch.

    A query finds the sets that agree in all `k` values of a tree, then in the first k - 1, and so
    on, until there are enough.
    """

    def __init__(self, num_perm: int = 128, l: int = 8) -> None:  # noqa: E741
        """Make an empty index for MinHash of `num_perm` hash values or more."""
        if not 0 < l <= num_perm:
            raise OptionError(f"l must be from 1 to num_perm={num_perm}, got {l}")
        self.l = l
        self.k = num_perm // l
        self._kind: tuple[str, int] | None = None
        self._rows: dict[Hashable, Values] = {}
        self._indexed: list[Hashable] = []
        self._trees: PrefixTrees | None = None

    @property
    def hashranges(self) -> list[tuple[int, int]]:
        """The start and stop of the hash values of each tree."""
        return [(tree * self.k, (tree + 1) * self.k) for tree in range(self.l)]

    @property
    def keys(self) -> dict[Hashable, list[bytes]]:
        """A copy: each key with the hash values of each tree, as datasketch's bytes."""
        return {
            key: [row[start:stop].byteswap().tobytes() for start, stop in self.hashranges]
            for key, row in self._rows.items()
        }

    @property
    def hashtables(self) -> list[dict[bytes, list[Hashable]]]:
        """A copy: for each tree, the keys with the same hash values, as datasketch's bytes."""
        tables: list[dict[bytes, list[Hashable]]] = [{} for _ in range(self.l)]
        for key, parts in self.keys.items():
            for part, table in zip(parts, tables, strict=True):
                table.setdefault(part, []).append(key)
        return tables

    def add(self, key: Hashable, minhash: Any) -> None:
        """Add a MinHash, LeanMinHash or WeightedMinHash with a key; `index` makes it searchable.

        Raises InputError if the key exists.
        """
        row = self._row(minhash)
        if key in self._rows:
            raise InputError(f"the key {key!r} exists; give each MinHash a key of its own")
        self._kind = kind_of(minhash)
        self._rows[key] = row.copy()

    def index(self) -> None:
        """Make all keys that were added searchable."""
        if self._rows:
            self._indexed = list(self._rows)
            self._trees = PrefixTrees(list(self._rows.values()), self.l, self.k)

    def query(self, minhash: Any, k: int) -> list[Hashable]:
        """Return at most k keys, those that agree in the most hash values of a tree first.

        For better results ask for some multiple of k, and choose by `MinHash.jaccard`.
        """
        if k < 1:
            raise InputError(f"k must be 1 or more, got {k}")
        row = self._row(minhash)
        found: dict[Hashable, None] = {}
        if self._trees is None:
            return []
        for ordinals in self._trees.find(row, range(self.k, 0, -1)):
            for ordinal in ordinals.tolist():
                found[self._indexed[ordinal]] = None
                if len(found) == k:
                    return list(found)
        return list(found)

    def get_minhash_hashvalues(self, key: Hashable) -> Values:
        """Return the first k * l hash values of a key; raise NotFoundError if it does not exist."""
        if key not in self._rows:
            raise NotFoundError(f"the key {key!r} is not in the index")
        return self._rows[key].copy()

    def is_empty(self) -> bool:
        """Return whether no key is searchable."""
        return self._trees is None

    def _row(self, minhash: Any) -> Values:
        """Return the hash values of all trees; raise InputError unless they fit the index."""
        kind = kind_of(minhash)
        if self._kind not in (None, kind):
            assert self._kind is not None
            raise InputError(
                f"the MinHash has scheme {kind[0]!r} and seed {kind[1]}, but the index has"
                f" {self._kind[0]!r} and {self._kind[1]}; use one kind for all sets"
            )
        values: Values = minhash.hashvalues[: self.k * self.l]
        if len(values) < self.k * self.l:
            raise InputError(
                f"the MinHash has {len(values)} hash values, but the index needs {self.k * self.l}"
            )
        packed(values, kind[0])  # raises for values of another type
        return values

    def __contains__(self, key: Hashable) -> bool:
        """Return whether a key was added."""
        return key in self._rows
