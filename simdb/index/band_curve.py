"""LSH (locality-sensitive hashing) banding: which signatures are compared at all.

The minima of a signature are cut into `bands` bands of `rows` minima each, and two documents are
candidates if any band is the same in both.  Minima agree as often as documents are similar, so
documents of similarity s are candidates with the probability 1 - (1 - s^rows)^bands (Leskovec,
Rajaraman & Ullman 2020, Mining of Massive Datasets, section 3.4): an S-curve, low for small s and
near 1 for large.  More rows make it steeper and later, more bands earlier.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.errors import OptionError
from simdb.signatures import Signatures

F64 = npt.NDArray[np.float64]

STEPS = 400  # of similarity, from 0 to 1, in a background
QUADRATURE_POINTS = 64  # of a polynomial of degree 127: the curve is smooth
# Middle of what eight collections of texts show for word 3-shingles: most pairs share next to
# nothing, and one in 200 shares boilerplate.
UNRELATED_MEAN, BOILERPLATE_SHARE, BOILERPLATE_MEAN = 0.01, 0.005, 0.1
# Looking up one band beside measuring one candidate: both wait for memory about as long.
LOOKUP_COST = 1.0


@dataclass(frozen=True, slots=True)
class Banding:
    """How signatures are cut: `bands` of `rows` minima each, the first bands * rows of them."""

    bands: int
    rows: int

    def check(self, permutations: int) -> None:
        """Raise OptionError unless a signature has so many minima."""
        if self.bands < 1 or self.rows < 1 or self.bands * self.rows > permutations:
            raise OptionError(
                f"{self.bands} bands of {self.rows} rows need {self.bands * self.rows} minima, but"
                f" a signature has {permutations}; bands and rows are 1 or more, and their product"
                " at most permutations="
            )


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """How similar pairs are that nobody looks for: `shares` of all pairs, at `similarities`."""

    similarities: F64
    shares: F64


def band_keys(signatures: Signatures, banding: Banding) -> npt.NDArray[np.uint64]:
    """The key of every band of every signature, uint64[n, bands]; equal where all minima are.

    They are made of the minima as they are stored, so stored documents can be looked up, too.
    Those of documents without features mean nothing.
    """
    banding.check(signatures.sketch.permutations)
    return kernel.band_keys(signatures.minima, bands=banding.bands, rows=banding.rows)


def candidate_probability(
    similarity: npt.ArrayLike, banding: Banding, *, stored_bits: int = 32
) -> F64:
    """The probability that documents of this similarity are candidates; of an array each.

    Minima of `stored_bits` agree by chance too, once in 2^stored_bits.
    """
    given = np.asarray(similarity, np.float64)
    agreeing = given + (1 - given) * 2.0**-stored_bits
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(banding.bands * np.log1p(-(agreeing**banding.rows))))


def expected_recall(start: float, stop: float, banding: Banding, *, stored_bits: int = 32) -> float:
    """The share of pairs that are candidates, if similarities are even from `start` to `stop`."""
    if not 0 <= start < stop <= 1:
        raise OptionError(f"similarities lie from 0 to 1, but {start} to {stop} are asked for")
    places, weights = np.polynomial.legendre.leggauss(QUADRATURE_POINTS)
    similarity = start + (stop - start) * (places + 1) / 2
    found = candidate_probability(similarity, banding, stored_bits=stored_bits)
    return float(weights @ found) / 2


@cache
def usual_background() -> Background:
    """That of word 3-shingles, where nothing is known of a collection."""
    edges = np.linspace(0, 1, STEPS + 1)
    above = (1 - BOILERPLATE_SHARE) * np.exp(-edges / UNRELATED_MEAN)
    above += BOILERPLATE_SHARE * np.exp(-edges / BOILERPLATE_MEAN)
    shares = -np.diff(above)
    return Background((edges[:-1] + edges[1:]) / 2, shares / shares.sum())


def background_of(similarities: npt.ArrayLike) -> Background:
    """That of a collection, from the similarities of pairs that were drawn at random."""
    counts, edges = np.histogram(np.asarray(similarities, np.float64), STEPS, (0.0, 1.0))
    if not counts.any():
        raise OptionError("a background needs similarities of pairs, from 0 to 1; there are none")
    return Background((edges[:-1] + edges[1:]) / 2, counts / counts.sum())


def expected_candidates(
    documents: float,
    banding: Banding,
    *,
    background: Background | None = None,
    stored_bits: int = 32,
) -> float:
    """How many of `documents` are candidates of a query and only measured in vain."""
    known = background or usual_background()
    found = candidate_probability(known.similarities, banding, stored_bits=stored_bits)
    return documents * float(known.shares @ found)


def choose(
    permutations: int,
    similarity: float,
    recall: float,
    *,
    documents: float = 1e6,
    background: Background | None = None,
    stored_bits: int = 32,
    bands_max: int | None = None,
) -> Banding:
    """The banding that costs a query least among those that find enough.

    Of documents that are exactly as similar as `similarity` at least the share `recall` are
    candidates, of those that are more similar more.  The cost is that of looking up every band and
    of measuring the expected candidates among `documents`.  For each number of rows the fewest
    bands are taken, of at most `bands_max`; OptionError where not even single rows find enough.
    """
    if not 0 < similarity <= 1 or not 0 < recall <= 1:
        raise OptionError(
            f"similarity and recall are above 0 and at most 1, not {similarity} and {recall}"
        )
    served = [
        banding
        for rows in range(1, permutations + 1)
        if (banding := _fewest_bands(rows, permutations, similarity, recall, stored_bits))
        and (bands_max is None or banding.bands <= bands_max)
    ]
    if not served:
        best = float(
            candidate_probability(similarity, Banding(permutations, 1), stored_bits=stored_bits)
        )
        raise OptionError(
            f"{permutations} permutations find a share of {best:.6f} of documents of similarity"
            f" {similarity:g} at most, not {recall:g}; take more permutations= or a lower recall="
        )

    def cost(banding: Banding) -> float:
        candidates = expected_candidates(
            documents, banding, background=background, stored_bits=stored_bits
        )
        return banding.bands * LOOKUP_COST + candidates

    return min(served, key=cost)


def _fewest_bands(
    rows: int, permutations: int, similarity: float, recall: float, stored_bits: int
) -> Banding | None:
    """Of so many rows as few bands as find enough, if there are minima for them."""
    bands = np.arange(1, permutations // rows + 1)
    single = float(candidate_probability(similarity, Banding(1, rows), stored_bits=stored_bits))
    with np.errstate(divide="ignore"):
        found = -np.expm1(bands * np.log1p(-single))
    enough = np.flatnonzero(found >= recall)
    return Banding(int(bands[enough[0]]), rows) if len(enough) else None
