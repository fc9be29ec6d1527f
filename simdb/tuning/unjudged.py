"""Unjudged: what the texts alone say about a sketch, without pairs that people have judged.

The threshold is the similarity of a text to a copy that is edited as much as a near-duplicate may
be, see `changed_words`, but no less than what unrelated texts reach by chance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simdb.settings.options import USUAL_SIMILARITY, Simhash
from simdb.tuning.candidates import is_short
from simdb.tuning.measuring import chance_level, directions, similarities, unrelated
from simdb.tuning.sample import Sample

# A larger shingle is taken if it separates copies from unrelated texts nearly as well.
NEARLY = 0.95
LEAST, MOST = 0.2, 0.98
USUAL_MARGIN = 0.02


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the sample says about one sketch.

    `edited`: the median similarity of a text and its edited copy.  `chance`: the similarity that
    few unrelated documents reach.  `found`: the share of copies at `threshold` or more.
    `separation`: the mean similarity of copies less that of unrelated texts, over their standard
    deviation.
    """

    sketch: Simhash
    edited: float
    chance: float
    found: float
    separation: float

    @property
    def threshold(self) -> float:
        """The threshold by the sample alone."""
        return threshold_of(self.edited, self.chance)


def threshold_of(edited: float, chance: float) -> float:
    """Return the larger of two levels, cut to hundredths, or the usual threshold if it is near."""
    level = min(max(edited, chance, LEAST), MOST)
    is_usual = abs(level - USUAL_SIMILARITY) < USUAL_MARGIN
    return USUAL_SIMILARITY if is_usual else math.floor(level * 100) / 100


def outlook(sketch: Simhash, texts: Sequence[str], copies: Sequence[str], total: int) -> Outlook:
    """Return what a sample of texts says about a sketch.

    `copies`: edited copies of the first texts.  `total`: the documents of the collection.
    """
    rows = directions(texts, sketch)
    near = similarities(rows[: len(copies)], directions(copies, sketch))
    far = unrelated(rows)
    middle, chance = float(np.median(near)), chance_level(far, total)
    spread = float(np.sqrt(near.var() + (far.var() if len(far) else 0.0)))
    gap = float(near.mean() - (far.mean() if len(far) else 0.0))
    return Outlook(
        sketch,
        middle,
        chance,
        float((near >= threshold_of(middle, chance)).mean()),
        gap / max(spread, 1e-6),
    )


def preferred(outlooks: Sequence[Outlook], sample: Sample) -> Outlook:
    """Return the best outlook; the first one, the default, if the texts are not short."""
    if not is_short(sample):
        return outlooks[0]
    enough = NEARLY * max(each.separation for each in outlooks)
    return next(each for each in outlooks if each.separation >= enough)
