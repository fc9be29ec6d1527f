"""Choices: chooses a sketch and a threshold by a sample and by judged pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simdb.settings.options import Simhash
from simdb.tuning.candidates import CHARACTERS, plain_sketches, visible, weighted_sketches
from simdb.tuning.editing import edited
from simdb.tuning.judged import (
    Flags,
    Rating,
    folds_of,
    left_out,
    order_of,
    rate,
    simplest,
)
from simdb.tuning.measuring import directions, similarities
from simdb.tuning.pairs import Pairs
from simdb.tuning.sample import Sample
from simdb.tuning.unjudged import LEAST, Outlook, outlook, preferred, threshold_of

BACKGROUND_TEXTS = 1000
EDITED_TEXTS = 500
# A wrong letter changes five of its shingles, but fifteen of three words.
MISREAD = Simhash(unit=CHARACTERS, shingle=5)
# With more judged pairs, choosing the sketch by them hardly flatters it.
FEW_PAIRS = 400


@dataclass(frozen=True, slots=True)
class Verdict:
    """What judged pairs say.

    `rating`: the rating of the choice; `usual`: that of `liked`, which the sample alone would have
    chosen.  `left_out`: the pairs that are taken by choices without them, see `judged.left_out`.
    `taken`: the pairs that the choice takes.  `order`: how often a duplicate is more similar than
    another pair.
    """

    rating: Rating
    left_out: Flags
    taken: Flags
    usual: Rating
    liked: Outlook
    order: float
    labels: Flags


@dataclass(frozen=True, slots=True)
class Choice:
    """A sketch, a threshold, and what they are based on.

    `outlook`: the sketch, by the sample.  `changed`: the median number of words that were changed
    in copies.  `verdict`: None without judged pairs.
    """

    sample: Sample
    outlook: Outlook
    threshold: float
    changed: float
    verdict: Verdict | None

    @property
    def is_misread(self) -> bool:
        """Whether the choice is one for texts with wrong letters."""
        return (
            self.verdict is None and self.sample.writing.is_noisy and self.outlook.sketch == MISREAD
        )

    @property
    def is_at_chance(self) -> bool:
        """Whether the threshold is as low as unrelated documents allow."""
        return self.threshold <= round(self.outlook.chance, 2)


def choose(sample: Sample, pairs: Pairs | None, fitted: Sequence[str], seed: int) -> Choice:
    """Choose a sketch and a threshold; `fitted`: the texts for IDF tables."""
    shown = visible(sample.texts[:BACKGROUND_TEXTS], sample)
    usual = Simhash().usual_similarity
    copies, changed = edited(shown[:EDITED_TEXTS], usual, np.random.default_rng(seed))
    plain = plain_sketches(sample)
    outlooks = [outlook(each, shown, copies, sample.total) for each in plain]
    liked = preferred(outlooks, sample)
    if pairs is None:
        misread = next((each for each in outlooks if each.sketch == MISREAD), None)
        if sample.writing.is_noisy and misread is not None:
            # Copies with wrong letters are much less alike than edited ones.
            return Choice(sample, misread, threshold_of(0, misread.chance), changed, None)
        return Choice(sample, liked, liked.threshold, changed, None)
    weighted = weighted_sketches(plain, visible(fitted, sample))
    outlooks += [outlook(each, shown, copies, sample.total) for each in weighted]
    return _judged_choice(sample, outlooks, liked, changed, pairs, seed)


def _judged_choice(
    sample: Sample,
    outlooks: Sequence[Outlook],
    liked: Outlook,
    changed: float,
    pairs: Pairs,
    seed: int,
) -> Choice:
    """Choose the sketch that does best on judged pairs, and its threshold."""
    folds = folds_of(pairs.labels, np.random.default_rng(seed))
    left, right = visible(pairs.left, sample), visible(pairs.right, sample)
    measured = [
        similarities(directions(left, each.sketch), directions(right, each.sketch))
        for each in outlooks
    ]
    priors = [each.threshold for each in outlooks]
    leasts = [max(LEAST, each.chance) for each in outlooks]
    ratings = [
        rate(found, pairs.labels, prior=prior, least=least, folds=folds)
        for found, prior, least in zip(measured, priors, leasts, strict=True)
    ]
    usual = next(at for at, each in enumerate(outlooks) if each is liked)
    at = simplest(ratings, pairs.labels, usual, seed)
    others = ratings[at].taken
    if len(pairs.labels) <= FEW_PAIRS:
        others = left_out(
            measured, pairs.labels, priors=priors, leasts=leasts, usual=usual, seed=seed
        )
    order = order_of(measured[at], pairs.labels)
    verdict = Verdict(
        ratings[at], others, measured[at] >= ratings[at].threshold, ratings[usual], liked, order,
        pairs.labels,
    )  # fmt: skip
    return Choice(sample, outlooks[at], ratings[at].threshold, changed, verdict)
