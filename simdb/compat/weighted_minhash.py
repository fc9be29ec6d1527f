"""WeightedMinHash: datasketch's MinHash of weighted sets, with the same hash values.

Sample i of a vector of weights is the pair (k, t) of the dimension k with the least ln a, where
t = floor(ln v_k / r_ik + beta_ik) and ln a = ln c_ik - r_ik (t - beta_ik) - r_ik (Ioffe 2010,
section 2).  Two vectors have the same pair with probability sum min / sum max of their weights.
The r, c and beta come from `numpy.random.RandomState(seed)`, whose stream numpy has frozen; all
numbers are float32.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.errors import InputError, OptionError
from simdb.values import describe

# Products computed at a time, so that they fit in the cache.
PRODUCTS = 1 << 16

F32 = npt.NDArray[np.float32]
Pairs = npt.NDArray[Any]


class WeightedMinHash:
    """A signature of a weighted set: `hashvalues` int64[n, 2], the pairs (k, t) of n samples."""

    def __init__(self, seed: int, hashvalues: npt.ArrayLike) -> None:
        """Take the seed and the hash values that a `WeightedMinHashGenerator` has made."""
        values = np.asarray(hashvalues)
        if values.ndim != 2 or values.shape[1:] != (2,) or values.dtype.kind not in "iu":
            raise InputError(f"hashvalues must be whole numbers [n, 2], got {describe(values)}")
        self.seed = seed
        self.hashvalues = values

    def jaccard(self, other: "WeightedMinHash") -> float:
        """Return the estimated similarity, sum min / sum max of the weights."""
        shape = np.asarray(getattr(other, "hashvalues", None)).shape
        if shape != self.hashvalues.shape or self.seed != other.seed:
            raise InputError("both WeightedMinHash must have the same seed and sample_size")
        agree = (self.hashvalues == other.hashvalues).all(axis=1)
        return float(np.count_nonzero(agree)) / len(self)

    def digest(self) -> Pairs:
        """Return a copy of the hash values."""
        return self.hashvalues.copy()

    def copy(self) -> "WeightedMinHash":
        """Return an independent copy."""
        return WeightedMinHash(self.seed, self.digest())

    def __len__(self) -> int:
        """Return the number of hash values."""
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        """Return whether seeds and hash values are equal."""
        if type(self) is not type(other) or not isinstance(other, WeightedMinHash):
            return NotImplemented
        return self.seed == other.seed and np.array_equal(self.hashvalues, other.hashvalues)

    __hash__ = None  # type: ignore[assignment]


class WeightedMinHashGenerator:
    """A maker of WeightedMinHash of `sample_size` pairs, for vectors of `dim` weights."""

    def __init__(self, dim: int, sample_size: int = 128, seed: int = 1) -> None:
        """Make the random numbers; they take 12 bytes for each dimension of each sample."""
        if dim < 1 or sample_size < 1:
            raise OptionError(f"dim and sample_size must be 1 or more, got {dim} and {sample_size}")
        self.dim = dim
        self.sample_size = sample_size
        self.seed = seed
        stream = np.random.RandomState(seed)
        shape = sample_size, dim
        self.rs: F32 = stream.gamma(2, 1, shape).astype(np.float32)
        self.ln_cs: F32 = np.log(stream.gamma(2, 1, shape)).astype(np.float32)
        self.betas: F32 = stream.uniform(0, 1, shape).astype(np.float32)

    def minhash(self, v: Any) -> WeightedMinHash:
        """Return the WeightedMinHash of a vector of weights of 0 and more; not all can be 0."""
        vector = np.asarray(v, np.float32)
        if vector.shape != (self.dim,):
            raise InputError(
                f"the weights must be one vector of {self.dim}, got {describe(vector)}"
            )
        places = np.flatnonzero(vector)
        if not len(places):
            raise InputError("all weights are 0, and an empty set has no WeightedMinHash")
        return self._sampled(places, vector[places], "one")

    def minhash_many(self, X: Any) -> list[WeightedMinHash | None]:  # noqa: N803
        """Return the WeightedMinHash of each row of a matrix; None for a row of zeros.

        `X`: an array [n, dim] or a matrix of `scipy.sparse`.  As in datasketch, rounding can make
        other hash values than `minhash`, rarely; use one of both for all sets.
        """
        is_sparse = hasattr(X, "tocsr")
        if not is_sparse and not isinstance(X, np.ndarray):
            raise TypeError(f"X must be an array or a sparse matrix, got {describe(X)}")
        if X.ndim != 2 or X.shape[1] != self.dim:
            raise InputError(f"X must have the shape [n, {self.dim}], got {X.shape}")
        made: list[WeightedMinHash | None] = []
        rows = X.tocsr() if is_sparse else X
        for at in range(X.shape[0]):
            row = rows[[at]].toarray()[0] if is_sparse else rows[at]
            weights = np.asarray(row, np.float32)
            places = np.flatnonzero(weights)
            made.append(self._sampled(places, weights[places], "many") if len(places) else None)
        return made

    def _sampled(self, places: npt.NDArray[np.intp], weights: F32, order: str) -> WeightedMinHash:
        """Return the samples of the dimensions that have weights.

        `order`: the order of the operations of `minhash` or `minhash_many`, which decides how they
        are rounded.
        """
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            raise InputError("a weight is negative or not finite; give weights of 0 and more")
        found = np.empty((self.sample_size, 2), np.int64)
        logarithms = np.log(weights)
        step = max(PRODUCTS // len(places), 1)
        for start in range(0, self.sample_size, step):
            part = slice(start, start + step)
            rs, betas = self.rs[part, places], self.betas[part, places]
            steps = np.floor(logarithms / rs + betas)
            if order == "one":
                keys = self.ln_cs[part, places] - (steps - betas) * rs - rs
            else:
                keys = self.ln_cs[part, places] - (steps - betas + np.float32(1)) * rs
            least = keys.argmin(axis=1)
            found[part, 0] = places[least]
            found[part, 1] = steps[np.arange(len(least)), least]
        return WeightedMinHash(self.seed, found)
