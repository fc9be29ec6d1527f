"""Judged pairs: the pairs that users give, the threshold that they support, and its quality.

A pair of similarity s is judged a duplicate with probability q + (1 - 2 q) / (1 + exp(b (t - s))).
Here, q allows for judgements unrelated to similarity.  All t and b of a grid are weighted by the
pairs and by a prior around the threshold of the sample alone.  So a few pairs move the threshold a
little, and no gap between two pairs decides it.

Similarities of texts are the estimates of a database with the sketch.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import check_many, describe
from simdb.core.checks import shown
from simdb.core.dtypes import F32, F64, I64, Bools
from simdb.core.errors import InputError
from simdb.core.options import Simhash
from simdb.core.previews import counted
from simdb.core.values import dataclass
from simdb.core.vector_form import corrected, unpack
from simdb.sketch.sketcher import Sketcher, widened
from simdb.sketch.tuning.sample import as_text

JUDGED_MAX = 2000  # more judged pairs do not change the choice
KIND_LEAST = 2
SURELY = 2.5  # standard deviations beyond which chance does not explain the judged pairs
# The weight of the separation of edited copies from unrelated texts, relative to F1 and order.
BEST_APART = 0.3
# The level of unrelated pairs follows from this quantile; near-duplicates are rarer.
QUANTILE = 0.99
CHANCE_MATCHES = 0.1  # unrelated documents that may reach the threshold, for each document
PART_TEXTS = 4096
NORMAL = NormalDist()

STRAY = 0.02  # q
MIDDLES = np.linspace(-0.3, 1.2, 76)
SLOPES = np.geomspace(3, 80, 10)
# The standard deviations of the prior: of t, and of ln b around ln 15.
MIDDLE_SPREAD = 0.15
SLOPE_USUAL, SLOPE_SPREAD = 15, 0.8
LEVELS = np.linspace(0, 1, 101)
FOLDS, REPEATS, INNER_REPEATS = 5, 6, 3
RESAMPLES = 200
CONFIDENCE = 0.9


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """Judged pairs: the texts on both sides, and whether each pair is a duplicate."""

    left: list[str]
    right: list[str]
    labels: Bools

    @property
    def are_few(self) -> bool:
        """Whether there are too few duplicates or other pairs to learn from."""
        return min(int(self.labels.sum()), int((~self.labels).sum())) < KIND_LEAST

    def __str__(self) -> str:
        """Show the number of pairs and the number of duplicates."""
        numbers = counted(len(self.labels), "judged pair"), int(self.labels.sum())
        return f"{numbers[0]} with {counted(numbers[1], 'duplicate')}"


def checked_pairs(
    pairs: Any,
    labels: Any,
    texts: Sequence[Any],
    places: dict[Any, int] | None,
    generator: np.random.Generator,
) -> JudgedPairs:
    """Return judged pairs, at most `JUDGED_MAX` drawn at random, with their texts.

    `places`: the position of each id; None if texts have no ids.  Raises InputError for a wrong
    pair or label.
    """
    check_many(pairs, "pairs")
    check_many(labels, "labels")
    given, judged = (
        each.tolist() if isinstance(each, np.ndarray) else list(each) for each in (pairs, labels)
    )
    if len(given) != len(judged):
        raise InputError(f"{len(given)} pairs have {len(judged)} labels; give one for each pair")
    flags = np.array([_flag(label, at) for at, label in enumerate(judged)], np.bool_)
    count = min(len(given), JUDGED_MAX)
    chosen = np.sort(generator.choice(len(given), count, replace=False)).tolist()
    sides = [_sides(given[at], at) for at in chosen]
    left, right = (
        [_text(pair[side], texts, places, at) for at, pair in zip(chosen, sides, strict=True)]
        for side in (0, 1)
    )
    return JudgedPairs(left, right, flags[chosen])


def _flag(label: Any, at: int) -> bool:
    if isinstance(label, bool | int | float | np.generic) and label in (0, 1):
        return bool(label)
    raise InputError(f"label {at} is {shown(label)}; a label is True or False, or 1 or 0")


def _sides(pair: Any, at: int) -> tuple[Any, Any]:
    if isinstance(pair, Iterable) and not isinstance(pair, str | bytes):
        sides = tuple(pair)
        if len(sides) == 2:
            return sides
    raise InputError(f"pair {at} is {describe(pair)}; a pair is (left, right)")


def _text(side: Any, texts: Sequence[Any], places: dict[Any, int] | None, at: int) -> str:
    """Return the text of one side of the pair at position `at`."""
    if places is not None:
        if not isinstance(side, Hashable) or side not in places:
            raise InputError(f"pair {at} names {shown(side)}, which is not the id of a text")
        place = places[side]
    elif isinstance(side, str | bytes):
        return as_text(side, f"a side of pair {at}")
    elif isinstance(side, int | np.integer) and not isinstance(side, bool):
        place = int(side)
        if not 0 <= place < len(texts):
            raise InputError(
                f"pair {at} names text {place}, but the {len(texts)} texts are numbered from 0"
            )
    else:
        raise InputError(
            f"a side of pair {at} is {describe(side)}; give the position of a text, or a text"
        )
    return as_text(texts[place], f"text {place}")


def directions(texts: Sequence[str], sketch: Simhash) -> F32:
    """Return the weights of texts, rounded as stored and scaled to length 1; 0 without features."""
    sketcher = Sketcher(sketch)
    parts = [np.empty((0, sketch.dimensions), np.float32)]
    for start in range(0, len(texts), PART_TEXTS):
        weights = sketcher.weights(texts[start : start + PART_TEXTS])
        _, vectors = kernel.quantise(widened(weights, sketch.dimensions))
        rounded = unpack(vectors)[:, : sketch.dimensions].astype(np.float32)
        rounded[~weights.any(axis=1)] = 0
        lengths = np.sqrt(np.square(rounded).sum(axis=1, keepdims=True))
        parts.append(rounded / np.maximum(lengths, 1))
    return np.concatenate(parts)


def similarities(left: F32, right: F32) -> F32:
    """Return the estimated similarity of the rows left[i] and right[i]."""
    return corrected((left * right).sum(axis=1, dtype=np.float32))


def estimates(left: Sequence[str], right: Sequence[str], sketch: Simhash) -> F32:
    """Return the estimated similarity of the texts left[i] and right[i]."""
    return similarities(directions(left, sketch), directions(right, sketch))


def unrelated(rows: F32) -> F32:
    """Return the estimated similarities of all pairs of some texts, few of which are similar."""
    return corrected((rows @ rows.T)[np.triu_indices(len(rows), 1)])


def chance_level(pairs: F32, total: int) -> float:
    """Return the similarity that few unrelated documents reach in a collection of `total`.

    On average, `CHANCE_MATCHES` documents reach it for each document.  A normal distribution
    extrapolates it from `pairs`.
    """
    if not len(pairs):
        return 0.0
    middle, high = (float(each) for each in np.quantile(pairs, [0.5, QUANTILE]))
    beyond = -NORMAL.inv_cdf(min(CHANCE_MATCHES / max(total, 1), 0.5))
    return min(1.0, middle + (high - middle) * beyond / NORMAL.inv_cdf(QUANTILE))


@dataclass(frozen=True, slots=True)
class Share:
    """An estimated share with its interval of confidence.

    Attributes
    ----------
    value : float
        The estimate, 0 to 1.
    low, high : float
        The interval, which contains the true share with probability 0.9.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Show the share and its interval."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True, slots=True)
class Rating:
    """The rating of a sketch on judged pairs.

    `threshold`: from all pairs.  `taken` bool[r, n]: in each of r repetitions, the pairs that reach
    a threshold that was chosen without them.  `f1`: the F1 of `taken`.
    """

    threshold: float
    taken: Bools
    f1: float


def rate(similarities: F32, labels: Bools, *, prior: float, least: float, folds: I64) -> Rating:
    """Rate a sketch by the similarities of judged pairs.

    `prior`: the threshold from the sample alone.  `least`: the smallest possible threshold.
    `folds` int64[r, n]: the fold of each pair in each repetition.
    """
    measured = similarities.astype(np.float64)
    middles, slopes = (each.ravel() for each in np.meshgrid(MIDDLES, SLOPES))
    belief = -np.square((middles - prior) / MIDDLE_SPREAD) / 2
    belief -= np.square(np.log(slopes / SLOPE_USUAL) / SLOPE_SPREAD) / 2
    chances = _chances(middles, slopes, measured)
    support = np.log(np.where(labels, chances, 1 - chances))
    curves = _chances(middles, slopes, LEVELS)
    taken = np.zeros(folds.shape, np.bool_)
    for row, repetition in zip(taken, folds, strict=True):
        for fold in range(FOLDS):
            rest = repetition != fold
            weights = _weights(belief + support @ rest)
            level = _level(measured[rest], weights @ chances[:, rest], weights @ curves)
            row[~rest] = measured[~rest] >= max(level, least)
    weights = _weights(belief + support.sum(axis=1))
    level = max(_level(measured, weights @ chances, weights @ curves), least)
    return Rating(round(min(level, 0.98), 2), taken, float(f1_of(taken, labels)[0]))


def folds_of(labels: Bools, generator: np.random.Generator) -> I64:
    """Return the fold of each pair, int64[r, n]; both kinds of pairs are spread evenly."""
    folds = np.empty((REPEATS, len(labels)), np.int64)
    for row in folds:
        for kind in (labels, ~labels):
            row[kind] = generator.permutation(np.arange(np.count_nonzero(kind)) % FOLDS)
    return folds


def f1_of(taken: Bools, labels: Bools, weights: F64 | None = None) -> Any:
    """Return the F1 of the pairs taken; `weights` [n, k]: the number of times a pair counts."""
    counts = np.ones((len(labels), 1)) if weights is None else weights
    share = taken.mean(axis=0)
    right = (share * labels) @ counts
    total = share @ counts + labels @ counts
    return np.divide(2 * right, total, out=np.zeros_like(right), where=total > 0)


def simplest(ratings: Sequence[Rating], labels: Bools, usual: int, seed: int) -> int:
    """Return the position of the sketch to choose; `ratings` are in order of simplicity.

    It is `usual` if its F1 is within a standard error of the best F1.  Otherwise, it is the
    simplest sketch within a standard error.
    """
    draws = np.random.default_rng(seed).multinomial(
        len(labels), np.full(len(labels), 1 / len(labels)), RESAMPLES
    )
    again = np.array([f1_of(each.taken, labels, draws.T.astype(float)) for each in ratings])
    values = np.array([each.f1 for each in ratings])
    best = int(values.argmax())
    behind = values[best] - values
    error = (again[best] - again).std(axis=1)
    is_as_good = behind <= error
    return usual if is_as_good[usual] else int(is_as_good.argmax())


def best_ordered(
    ratings: Sequence[Rating], measured: Sequence[F32], labels: Bools, separations: Sequence[float]
) -> int:
    """Return the position of the first sketch whose similarities order and divide the pairs best.

    F1 alone is unreliable if few pairs are duplicates, so two terms are added.  One is how often a
    duplicate is more similar than another pair, which is known better.  The second is a part of the
    separation of edited copies from unrelated texts, which needs no judged pairs.
    """
    orders = np.array([order_of(found, labels) for found in measured])
    apart = np.array(separations) / max(*separations, 1e-6)
    return int(np.argmax([each.f1 for each in ratings] + orders + BEST_APART * apart))


def nearness(others: F32, far: F32, count: int) -> float | None:
    """Return how often a judged non-duplicate is more similar than a random pair.

    `others`: the similarities of judged non-duplicates.  `far`: the similarities of all pairs of
    `count` random texts.  None if chance explains the number (Mann & Whitney 1947): the judged
    pairs then seem random, instead of candidates that a blocking step or a search has chosen.
    """
    if not len(others) or not len(far):
        return None
    share = order_of(np.concatenate([others, far]), np.arange(len(others) + len(far)) < len(others))
    deviation = math.sqrt((1 / len(others) + 1 / count) / 12)
    return share if share - 0.5 > SURELY * deviation else None


@dataclass(frozen=True, slots=True)
class Contest:
    """The settings of a choice among sketches by judged pairs.

    `priors`, `leasts`: the arguments of `rate` for each sketch.  `usual`: see `simplest`; None
    chooses by `best_ordered`, which takes `separations`.
    """

    priors: Sequence[float]
    leasts: Sequence[float]
    usual: int | None
    seed: int
    separations: Sequence[float] = ()

    def decided(
        self, measured: Sequence[F32], labels: Bools, folds: I64
    ) -> tuple[list[Rating], int]:
        """Return the rating of each sketch, by its similarities, and the position of the best."""
        ratings = [
            rate(found, labels, prior=prior, least=least, folds=folds)
            for found, prior, least in zip(measured, self.priors, self.leasts, strict=True)
        ]
        if self.usual is None:
            return ratings, best_ordered(ratings, measured, labels, self.separations)
        return ratings, simplest(ratings, labels, self.usual, self.seed)


def left_out(measured: Sequence[F32], labels: Bools, contest: Contest) -> Bools:
    """Return which pairs are taken by choices that were made without them: bool[1, n].

    Both the threshold and the sketch are chosen without them, since the best of many sketches looks
    too good on the pairs that chose it.
    """
    generator = np.random.default_rng(contest.seed)
    taken = np.zeros((1, len(labels)), np.bool_)
    outer = folds_of(labels, generator)[0]
    for fold in range(FOLDS):
        is_rest = outer != fold
        rest = labels[is_rest]
        folds = folds_of(rest, generator)[:INNER_REPEATS]
        ratings, at = contest.decided([found[is_rest] for found in measured], rest, folds)
        taken[0, ~is_rest] = measured[at][~is_rest] >= ratings[at].threshold
    return taken


def precision_of(left_out: Bools, taken: Bools, labels: Bools) -> Share:
    """Return the share of duplicates among the pairs taken.

    `left_out` [r, n]: the pairs taken by choices without them, which give the share.  `taken` [n]:
    the pairs that the final choice takes.  The interval covers the intervals of both, since the
    final threshold may lie on either side of the other thresholds.
    """
    return _share_of(left_out, taken, labels, None)


def recall_of(left_out: Bools, taken: Bools, labels: Bools) -> Share:
    """Return the share of duplicates that are taken; see `precision_of` for the arguments."""
    return _share_of(left_out, taken, labels, float(labels.sum()))


def wilson(count: float, total: float) -> Share:
    """Return the share `count` / `total` with Wilson's interval; 0 to 1 if `total` is 0."""
    if total <= 0:
        return Share(0.0, 0.0, 1.0)
    z = NORMAL.inv_cdf((1 + CONFIDENCE) / 2)
    share = count / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * np.sqrt(share * (1 - share) / total + (z / total) ** 2 / 4) / (1 + z * z / total)
    low, high = float(middle - half), float(middle + half)
    return Share(share, min(max(0.0, low), share), max(min(1.0, high), share))


def _share_of(left_out: Bools, taken: Bools, labels: Bools, total: float | None) -> Share:
    """Return the duplicates taken as a share of `total`; None means all pairs taken."""
    counts = [left_out.mean(axis=0), taken.astype(np.float64)]
    first, second = (
        wilson(float(each @ labels), float(each.sum()) if total is None else total)
        for each in counts
    )
    return Share(first.value, min(first.low, second.low), max(first.high, second.high))


def order_of(similarities: F32, labels: Bools) -> float:
    """Return how often a duplicate is more similar than another pair; ties count half."""
    ranked = np.sort(similarities[~labels])
    below = np.searchsorted(ranked, similarities[labels], "left")
    above = np.searchsorted(ranked, similarities[labels], "right")
    return float((below + above).mean() / 2 / len(ranked))


def _chances(middles: F64, slopes: F64, similarities: F64) -> F64:
    """Return the probability of a duplicate for each point of the grid and each similarity."""
    steps = slopes[:, None] * (middles[:, None] - similarities)
    return STRAY + (1 - 2 * STRAY) / (1 + np.exp(steps))


def _weights(logarithms: F64) -> F64:
    """Return weights with the sum 1 from their logarithms, which may lack a common constant."""
    weights = np.exp(logarithms - logarithms.max())
    return np.asarray(weights / weights.sum(), np.float64)


def _level(similarities: F64, chances: F64, curve: F64) -> float:
    """Return the threshold with the best expected F1.

    `chances`: the probability that each pair is a duplicate.  `curve`: the same for `LEVELS`.  The
    best threshold takes the pairs whose probability is at least half of the best F1 (Lipton, Elkan
    & Narayanaswamy 2014).  Without pairs, that probability is 1/2.
    """
    order = np.argsort(-similarities)
    right = np.cumsum(chances[order])
    every = 2 * right / (np.arange(1, len(order) + 1) + chances.sum())
    best = float(every.max()) if len(every) else 1.0
    return float(LEVELS[min(int(np.searchsorted(curve, best / 2)), len(LEVELS) - 1)])
