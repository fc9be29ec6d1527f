"""Figure 1: the distribution of the weights W and of their differences Y.

W_1(u) is the first weight of a document, over all documents; Y is the difference of the first
weights of two documents drawn at random.  As in the paper's normalised TF-IDF, a TF-IDF weight is
divided by the number of words of the document, for which the sum of all its TF-IDF weights stands.
The distribution with weights of length 1 is drawn next to it.
"""

import numpy as np
import numpy.typing as npt

import pictures
from claim import Claim, Section
from scene import World

F64 = npt.NDArray[np.float64]
LAPLACE = Claim(
    "Sood & Loguinov, Figure 1(a)",
    "With TF-IDF weights, W is distributed like a Laplace variable, not a Gaussian one.",
    "A fitted Laplace density gives W a larger likelihood than a fitted Gaussian one.",
)
DOUBLED = Claim(
    "Sood & Loguinov, Figure 1(b)",
    "Y has twice the variance of W and a slightly more Gaussian shape.",
    "Var Y / Var W is 1.9 to 2.1, and the excess kurtosis of Y is below that of W.",
)
TAILS = Claim(
    "Sood & Loguinov, Figure 1(b), text",
    "Both tails of Y are exponential, not Gaussian.",
    "From the 90th to the 99.9th percentile of |Y|, the logarithm of the tail is fitted better"
    " (larger R^2) by a line in |y| than by one in y^2.",
)


def run(world: World) -> Section:
    """Measure W and Y of the collection."""
    collection, generator = world.collection, world.generator("weights")
    totals = np.add.reduceat(collection.shares.astype(np.float64), collection.offsets[:-1])
    forms = {
        "divided by words": collection.weights[:, 0] / totals,
        "of length 1": collection.weights[:, 0] / collection.norms,
        "as they are": collection.weights[:, 0].astype(np.float64),
    }
    first = forms["divided by words"]
    left, right = generator.integers(0, len(collection), (2, world.sizes.random_pairs // 10))
    differences = first[left] - first[right]
    gain = laplace_gain(first)
    ratio, bent, straight = differences.var() / first.var(), *tail_fits(differences)
    section = Section(
        "Figure 1: weights and their differences",
        f"{len(collection):,} documents; W is the first weight, divided by the words of the"
        " document.",
    )
    section.judge(
        LAPLACE, theirs="Laplace-like",
        ours=f"Laplace log-likelihood larger by {gain:.3f} a document, excess kurtosis"
        f" {kurtosis(first):.1f} (Laplace 3, Gaussian 0)",
        holds=gain > 0,
        why="long tails need a mixture of scales, and our documents differ less in scale: the gain"
        f" is {laplace_gain(forms['of length 1']):.3f} for W of length 1,"
        f" {laplace_gain(forms['as they are']):.3f} for W that is not divided",
    )  # fmt: skip
    section.judge(
        DOUBLED, theirs="variance x 2, slightly more Gaussian",
        ours=f"variance x {ratio:.3f}, excess kurtosis {kurtosis(differences):.1f} after"
        f" {kurtosis(first):.1f}",
        holds=[1.9 <= ratio <= 2.1, kurtosis(differences) < kurtosis(first)],
        why="two documents drawn at random have independent weights",
    )  # fmt: skip
    section.judge(
        TAILS, theirs="exponential on a logarithmic scale",
        ours=f"R^2 {straight:.4f} for a line in |y|, {bent:.4f} in y^2",
        holds=straight > bent, why="documents of one scale have Gaussian tails",
    )  # fmt: skip
    section.pictures.append((draw(world, forms, differences), "Distribution of W and of Y"))
    return section


def laplace_gain(values: F64) -> float:
    """Return by how much a Laplace density beats a Gaussian in log-likelihood, for one value."""
    scale, spread = np.abs(values).mean(), values.std()
    laplace = -np.log(2 * scale) - 1
    gaussian = -0.5 * np.log(2 * np.pi * spread**2) - 0.5
    return float(laplace - gaussian)


def kurtosis(values: F64) -> float:
    """Return the excess kurtosis: 0 for a Gaussian, 3 for a Laplace variable."""
    centred = values - values.mean()
    return float((centred**4).mean() / (centred**2).mean() ** 2 - 3)


def tail_fits(values: F64) -> tuple[float, float]:
    """Return R^2 of the logarithm of the tail as a line in y^2, and as a line in |y|."""
    shares = np.geomspace(0.1, 0.001, 60)
    places = np.quantile(np.abs(values), 1 - shares)
    logs = np.log(shares)
    return _fit(places**2, logs), _fit(places, logs)


def _fit(across: F64, up: F64) -> float:
    return float(np.corrcoef(across, up)[0, 1] ** 2)


def draw(world: World, forms: dict[str, F64], differences: F64) -> str:
    """Draw both densities, the measured one and the fitted ones, on a logarithmic scale."""
    figure, panels = pictures.begun(
        "(a) W, divided by words",
        "(a) W, of length 1",
        "(a) W, as it is",
        "(b) Y of random pairs",
        height=2.8,
    )
    every = [*forms.values(), differences]
    for axes, values in zip(panels, every, strict=True):
        scaled = values / values.std()
        edges = np.linspace(-6, 6, 97)
        middles = (edges[1:] + edges[:-1]) / 2
        density = np.histogram(scaled, edges)[0] / (len(scaled) * np.diff(edges))
        scale = np.abs(scaled).mean()
        axes.plot(middles, density, color=pictures.OURS, label="measured")
        axes.plot(
            middles, np.exp(-np.abs(middles) / scale) / (2 * scale), "--",
            color=pictures.THEIRS, label="Laplace",
        )  # fmt: skip
        axes.plot(
            middles, np.exp(-(middles**2) / 2) / np.sqrt(2 * np.pi), ":",
            color=pictures.GREY, label="Gaussian",
        )  # fmt: skip
        axes.set_ylim(1e-5, 3)
        pictures.label(axes, "standard deviations", "density", logs="y")
    return pictures.write(figure, world.folder, "figure-1", panels)
