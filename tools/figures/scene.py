"""Scene: holds the collection, near pairs, generator, sizes and folder of one run."""

import importlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

import generated
import simdb
from claim import Section
from collection import Collection
from simdb.plan import volatility

I64 = npt.NDArray[np.int64]
DISTANCE = 3
LEARNT_MAX = 50_000
FILE_BATCHES = 6  # batches whose fingerprints fill a file, as in the paper


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of each experiment."""

    documents: int = 60_000
    random_pairs: int = 20_000_000
    flip_pairs: int = 4_000  # of each distance
    fingerprints: int = 1 << 24
    queries: int = 300_000
    bphs_queries: int = 10_000  # by far the slowest method
    batch: int = (1 << 24) // FILE_BATCHES  # the largest batch


TINY = Sizes(
    documents=300, random_pairs=20_000, flip_pairs=60, fingerprints=9_000, queries=400,
    bphs_queries=50, batch=1_500,
)  # fmt: skip


class World:
    """Everything that experiments share; made once, used by all."""

    def __init__(
        self, collection: Collection, folder: Path, sizes: Sizes | None = None, seed: int = 1
    ) -> None:
        """Take a collection; pictures go to `folder`."""
        self.collection = collection
        self.folder = folder
        self.sizes = replace(sizes or Sizes(), documents=len(collection))
        self.seed = seed
        self._sections: dict[str, Section] = {}  # of the experiments that have run

    def section(self, name: str) -> Section:
        """Return the results of an experiment, which runs if it has not."""
        if name not in self._sections:
            self._sections[name] = importlib.import_module(f"experiments.{name}").run(self)
        return self._sections[name]

    def generator(self, name: str) -> np.random.Generator:
        """Return the random numbers of one experiment, independent of other experiments."""
        return np.random.default_rng([self.seed, *name.encode()])

    @cached_property
    def near(self) -> I64:
        """Pairs of distinct fingerprints at distance 1 to 3, in random order: int64[k, 3].

        Of equal fingerprints only the first document takes part, so that a page with many copies
        counts once.
        """
        _, first = np.unique(self.collection.bits, return_index=True)
        pairs = simdb.find_all(self.collection.bits[first], 5, DISTANCE)
        rows = np.stack([first[pairs.left], first[pairs.right], pairs.distance], axis=1)
        generator = self.generator("near")
        rows = rows.astype(np.int64)[generator.permutation(len(rows))]
        turned = generator.random(len(rows)) < 0.5
        rows[turned, :2] = rows[turned, 1::-1]
        return rows

    @property
    def learnt(self) -> I64:
        """The half of the near pairs from which models are learnt."""
        return self.near[::2][:LEARNT_MAX]

    @property
    def asked(self) -> I64:
        """The other half of the near pairs, in which models are measured."""
        return self.near[1::2]

    @cached_property
    def volatility(self) -> volatility.VolatilityModel:
        """The volatility of exact weights, of the learnt pairs."""
        weights = self.collection.weights
        left, right = weights[self.learnt[:, 0]], weights[self.learnt[:, 1]]
        return volatility.fit(left, right)

    @cached_property
    def prices(self) -> npt.NDArray[np.float64]:
        """The price of a flip at each level: log((1 - p) / p)."""
        return generated.prices_of(self.volatility)

    @cached_property
    def model(self) -> generated.Model:
        """The generator's model, of the learnt pairs."""
        weights = self.collection.weights
        return generated.learn(weights[self.learnt[:, 0]], weights[self.learnt[:, 1]])

    @cached_property
    def generated_prices(self) -> npt.NDArray[np.float64]:
        """The price of a flip at each level, for generated queries."""
        return generated.prices_of(generated.volatility_of(self.model))
