"""S-curves of the slides: the chance that documents of similarity s share a band.

Pairs of documents with a known Jaccard similarity are made of random features.  Each pair gets two
signatures of 104 minima, and the bands of simdb say whether it is a candidate.  The formula is for
independent minima.  The minima of evenly spaced permutations, the default, are also compared with
it.
"""

import numpy as np
import numpy.typing as npt

import pictures
import simdb
from claim import Claim, Section
from scene import World
from simdb.core import kernel
from simdb.core.options import MULTIPLY_SHIFT, STRATIFIED

CURVE = Claim(
    "Slides, LSH in practice",
    "Documents of similarity s are candidates with probability 1 - (1 - s^r)^b.",
    "For (b, r) = (20, 5), (15, 5), (10, 10) and every s, the share of candidates is within four"
    " standard errors of the formula.",
)
MISSED = Claim(
    "Slides, example of bands",
    "With b = 20, r = 5, 99.56 % of similarity .75 and .64 % of similarity .2 are candidates.",
    "Our shares are within four standard errors of both.",
)
STEEPER = Claim(
    "Beyond the slides",
    "The default minima make the curve steeper.",
    "At every s the number of equal minima varies by a tenth less or more; where the formula gives"
    " .6 or more, no share is four standard errors below it, and none above it where it gives .4 or"
    " less.",
)
MINIMA = 104
SHAPES = ((20, 5), (15, 5), (10, 10))
SIMILARITIES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9])
FEATURES = 120
Shares = npt.NDArray[np.float64]


def run(world: World) -> Section:
    """Measure the share of candidates at each similarity for each shape."""
    pairs = max(200, world.sizes.queries // 10)
    generator = world.generator("bands")
    families = (MULTIPLY_SHIFT, STRATIFIED)
    independent, spaced = (
        {shape: np.zeros(len(SIMILARITIES)) for shape in SHAPES} for _ in families
    )
    exact, varying = np.zeros(len(SIMILARITIES)), np.zeros(len(SIMILARITIES))
    for place, similarity in enumerate(SIMILARITIES):
        left, right, exact[place] = made(generator, pairs, float(similarity))
        for family, shares in zip(families, (independent, spaced), strict=True):
            seed = int(generator.integers(2**31))
            sketch = simdb.Minhash(permutations=MINIMA, seed=seed, family=family)
            first, second = (simdb.signatures(each, sketch).minima for each in (left, right))
            for bands, rows in SHAPES:
                keys = [kernel.band_keys(each, bands=bands, rows=rows) for each in (first, second)]
                shares[bands, rows][place] = (keys[0] == keys[1]).any(axis=1).mean()
        equal = (first == second).sum(axis=1)
        varying[place] = equal.var() / (MINIMA * exact[place] * (1 - exact[place]))
    section = Section(
        "Slides: S-curves", f"{pairs:,} pairs of documents at each of {len(exact)} similarities."
    )
    found = {shape: apart(independent[shape], exact, *shape, pairs) for shape in SHAPES}
    section.judge(
        CURVE, theirs="1 - (1 - s^r)^b",
        ours="largest difference, standard errors: " + "; ".join(
            f"({b}, {r}) {np.abs(differences).max():.4f}, {np.abs(errors).max():.1f}"
            for (b, r), (differences, errors) in found.items()
        ),
        holds=[bool((np.abs(errors) <= 4).all()) for _, errors in found.values()],
        why="minima agree with the probability of the similarity, and independently",
    )  # fmt: skip
    usual = independent[20, 5]
    places = [int(np.flatnonzero(each == SIMILARITIES)[0]) for each in (0.75, 0.2)]
    section.judge(
        MISSED, theirs="99.56 %, 0.64 %",
        ours=", ".join(f"{usual[place]:.2%}" for place in places),
        holds=[
            abs(usual[place] - wanted) <= 4 * np.sqrt(wanted * (1 - wanted) / pairs)
            for place, wanted in zip(places, (0.9956, 0.0064), strict=True)
        ],
        why="the same formula",
    )  # fmt: skip
    wanted = {shape: curve(exact, *shape) for shape in SHAPES}
    found = {shape: apart(spaced[shape], exact, *shape, pairs) for shape in SHAPES}
    section.judge(
        STEEPER, theirs="-",
        ours=f"variance x {varying.min():.2f} to {varying.max():.2f}; "
        + ", ".join(
            f"({b}, {r}) {differences.min():+.4f} to {differences.max():+.4f}"
            for (b, r), (differences, _) in found.items()
        ),
        holds=[
            bool((varying <= 0.9).all()),
            *((errors[wanted[each] >= 0.6] > -4).all() for each, (_, errors) in found.items()),
            *((errors[wanted[each] <= 0.4] < 4).all() for each, (_, errors) in found.items()),
        ],
        why="the values of a feature are spread evenly, so it is least nearly as often as expected",
    )  # fmt: skip
    section.pictures.append((draw(world, independent, exact), "Share of candidates"))
    return section


def made(
    generator: np.random.Generator, pairs: int, similarity: float
) -> tuple[list[simdb.Features], list[simdb.Features], float]:
    """Return pairs of documents, and their exact Jaccard similarity, as near as it can be."""
    shared = round(FEATURES * similarity)
    own = (FEATURES - shared) // 2
    hashes = generator.integers(0, 2**64, (pairs, shared + 2 * own), np.uint64)
    left = [simdb.Features(row[: shared + own]) for row in hashes]
    right = [simdb.Features(np.concatenate([row[:shared], row[shared + own :]])) for row in hashes]
    return left, right, shared / (shared + 2 * own)


def curve(similarity: Shares, bands: int, rows: int) -> Shares:
    """Return 1 - (1 - s^r)^b."""
    return np.asarray(1 - (1 - similarity**rows) ** bands)


def apart(
    shares: Shares, exact: Shares, bands: int, rows: int, pairs: int
) -> tuple[Shares, Shares]:
    """Return how much larger shares are than the formula, and that in standard errors.

    The error of a share near 0 or 1 is that of one pair.
    """
    wanted = curve(exact, bands, rows)
    errors = np.maximum(np.sqrt(wanted * (1 - wanted) / pairs), 1 / pairs)
    return shares - wanted, (shares - wanted) / errors


def draw(world: World, shares: dict[tuple[int, int], Shares], exact: Shares) -> str:
    """Draw the formula as lines and the measured shares as points."""
    figure, panels = pictures.begun("Share of pairs with a common band", width=5.2)
    across = np.linspace(0, 1, 200)
    colours = (pictures.OURS, pictures.OTHER, pictures.FOURTH)
    for (shape, found), colour in zip(shares.items(), colours, strict=True):
        panels[0].plot(across, curve(across, *shape), "-", color=colour, linewidth=1,
                       label=f"b = {shape[0]}, r = {shape[1]}")  # fmt: skip
        panels[0].plot(exact, found, "o", color=colour)
    pictures.label(panels[0], "Jaccard similarity (lines: formula, points: measured)", "share")
    return pictures.write(figure, world.folder, "s-curves", panels)
