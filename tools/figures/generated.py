"""Generated fingerprints: any number of them, with weights as the collection has them.

Most stored documents are uniform fingerprints, since the bits of simhash are independent.  The
weights of queries follow the collection: their magnitudes are drawn from the weights W of its
documents.  Half of the queries have one to eight near-duplicates among the stored documents, by a
geometric distribution.  A near-duplicate has the weights of the query changed by a difference Y.  Y
is drawn from the normalised differences of near pairs, all 64 of one pair together.  So small and
large differences are as frequent as in the collection.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.core.vector_form import fingerprints_of
from simdb.plan import volatility

U64 = npt.NDArray[np.uint64]
U8 = npt.NDArray[np.uint8]
F32 = npt.NDArray[np.float32]
BITS = 64
PART = 50_000
DISTANCE = 3
COPIES_MAX = 8
SHARE_NEAR = 0.5


@dataclass(frozen=True, slots=True)
class Model:
    """A model of a collection: `magnitudes` of W, and the rows of Y of near pairs."""

    magnitudes: F32
    differences: F32


@dataclass(frozen=True, slots=True)
class Queries:
    """Queries as arrays: fingerprints, weights float32[m, 64], levels uint8[m, 64].

    `matches` int64[m]: the stored near-duplicates within distance 3 of each.  Large batches are
    made without weights, which are float32[0, 64] then.
    """

    bits: U64
    weights: F32
    levels: U8
    matches: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.bits)

    def taken(self, chosen: npt.NDArray[Any]) -> "Queries":
        """Return some of the queries."""
        columns = self.bits, self.weights, self.levels, self.matches
        return Queries(*(np.ascontiguousarray(each[chosen]) if len(each) else each
                         for each in columns))  # fmt: skip


def learn(left: F32, right: F32) -> Model:
    """Learn from the weights of near pairs, float32[n, d]; both are brought to unit scale."""
    first, second = _unit(left), _unit(right)
    return Model(np.sort(np.abs(first).ravel()), first - second)


def _unit(weights: F32) -> F32:
    scale = np.sqrt(np.mean(weights.astype(np.float64) ** 2, axis=1))
    return np.asarray((weights / scale[:, None])[:, :BITS], np.float32)


def world_of(
    model: Model, count: int, asked: int, *, seed: int, keeps_weights: bool = True
) -> tuple[U64, Queries]:
    """Return `count` stored fingerprints, sorted, and `asked` queries for them."""
    generator = np.random.default_rng([seed, count, asked])
    parts, planted = [], []
    for at in range(0, asked, PART):
        size = min(PART, asked - at)
        drawn = generator.integers(0, len(model.magnitudes), (size, BITS))
        weights = model.magnitudes[drawn] * _signs(generator, size)
        bits = fingerprints_of(weights)
        is_near = generator.random(size) < SHARE_NEAR
        copies = np.where(is_near, np.minimum(generator.geometric(0.5, size), COPIES_MAX), 0)
        owners = np.repeat(np.arange(size), copies)
        rows = model.differences[generator.integers(0, len(model.differences), len(owners))]
        near = fingerprints_of(weights[owners] + rows * _signs(generator, len(owners)))
        within = np.bitwise_count(near ^ bits[owners]) <= DISTANCE
        matches = np.bincount(owners, within, minlength=size).astype(np.int64)
        planted.append(near)
        levels = volatility.levels(weights)
        parts.append((bits, weights if keeps_weights else weights[:0], levels, matches))
    queries = Queries(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    near = np.concatenate(planted)
    if len(near) > count // 2:
        raise ValueError(f"{count} fingerprints are too few for {asked} queries")
    stored = generator.integers(0, 2**64, count, np.uint64)
    stored[: len(near)] = near
    stored.sort()
    return stored, queries


def _signs(generator: np.random.Generator, count: int) -> F32:
    return generator.integers(0, 2, (count, BITS)).astype(np.float32) * 2 - 1


def prices_of(model: volatility.VolatilityModel) -> npt.NDArray[np.float64]:
    """Return log((1 - p) / p) of each level, from a volatility model."""
    chances = np.clip(model.probabilities.astype(np.float64), 1e-12, 0.5)
    # Equal chances keep the order of their levels.
    return np.asarray(np.log1p(-chances) - np.log(chances) + np.arange(len(chances)) * 1e-9)


def volatility_of(model: Model) -> volatility.VolatilityModel:
    """Return the volatility model of generated near pairs."""
    generator = np.random.default_rng(0)
    count = min(len(model.differences), 20_000)
    right = model.magnitudes[generator.integers(0, len(model.magnitudes), (count, BITS))]
    left = right + model.differences[:count]
    return volatility.fit(left, right)
