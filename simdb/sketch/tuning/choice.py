"""Choices: chooses a sketch and a threshold by a sample, and by judged or edited pairs."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simdb.core.choices import UnitName
from simdb.core.dtypes import Bools
from simdb.core.options import USUAL_SIMILARITY, Simhash
from simdb.sketch.fitting import fit
from simdb.sketch.sketcher import Sketcher
from simdb.sketch.tuning.judged import (
    JudgedPairs,
    Rating,
    best_ordered,
    chance_level,
    directions,
    folds_of,
    left_out,
    order_of,
    rate,
    similarities,
    simplest,
    unrelated,
)
from simdb.sketch.tuning.sample import COMMON, SPACELESS_RANGES, TAG, TextSample, changed_words

Shapes = tuple[tuple[UnitName, int], ...]

WORDS: UnitName = "words"
CHARACTERS: UnitName = "characters"
SPACED: Shapes = (
    (WORDS, 3), (WORDS, 2), (WORDS, 1), (CHARACTERS, 5), (CHARACTERS, 4), (CHARACTERS, 3),
)  # fmt: skip
# In scripts without spaces each character is a word.
SPACELESS: Shapes = ((WORDS, 3), (WORDS, 2), (WORDS, 1))
# IDF tables are fitted to so many characters.
FITTED_CHARACTERS = 10_000_000
BACKGROUND_TEXTS = 1000
EDITED_TEXTS = 500
# A wrong letter changes five of its shingles, but fifteen of three words.
MISREAD = Simhash(unit=CHARACTERS, shingle=5)
# With more judged pairs, choosing the sketch by them hardly flatters it.
FEW_PAIRS = 400
PIECE = re.compile(rf"[{SPACELESS_RANGES}]|[^\s{SPACELESS_RANGES}]+")
POOL_TEXT_CHARACTERS = 2000
# A larger shingle is taken if it separates copies from unrelated texts nearly as well.
NEARLY = 0.95
LEAST, MOST = 0.2, 0.98
# Of candidates from a blocking step, those of hardly any similarity can be duplicates.
LEAST_BLOCKED = 0.01
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


def preferred(outlooks: Sequence[Outlook], sample: TextSample) -> Outlook:
    """Return the best outlook; the first one, the default, if the texts are not short."""
    if not sample.is_short:
        return outlooks[0]
    best = max(outlooks, key=lambda each: each.separation)
    # Texts that are nearly equal have a negative separation.
    return next((each for each in outlooks if each.separation >= NEARLY * best.separation), best)


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What judged pairs say.

    `rating`: the rating of the choice; `usual`: that of `liked`, which the sample alone would have
    chosen.  `left_out`: the pairs that are taken by choices without them, see `judged.left_out`.
    `taken`: the pairs that the choice takes.  `order`: how often a duplicate is more similar than
    another pair.
    """

    rating: Rating
    left_out: Bools
    taken: Bools
    usual: Rating
    liked: Outlook
    order: float
    labels: Bools


@dataclass(frozen=True, slots=True)
class Choice:
    """A sketch, a threshold, and what they are based on.

    `outlook`: the sketch, by the sample.  `changed`: the median number of words that were changed
    in copies.  `verdict`: None without judged pairs.  `chance_matches`: if the judged pairs come
    from a blocking step, how many unrelated documents of the collection match one at `threshold`.
    """

    sample: TextSample
    outlook: Outlook
    threshold: float
    changed: float
    verdict: PairVerdict | None
    chance_matches: float | None = None

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


def choose(
    sample: TextSample,
    pairs: JudgedPairs | None,
    fitted: Sequence[str],
    seed: int,
    *,
    is_blocked: bool,
) -> Choice:
    """Choose a sketch and a threshold; `fitted`: the texts for IDF tables.

    `is_blocked`: whether the pairs are candidates of a blocking step, which alone are decided.
    """
    shown = _visible(sample.texts[:BACKGROUND_TEXTS], sample)
    usual = Simhash().usual_similarity
    copies, changed = edited(shown[:EDITED_TEXTS], usual, np.random.default_rng(seed))
    plain = _plain_sketches(sample)
    outlooks = [outlook(each, shown, copies, sample.total) for each in plain]
    liked = preferred(outlooks, sample)
    if pairs is None:
        misread = next((each for each in outlooks if each.sketch == MISREAD), None)
        if sample.writing.is_noisy and misread is not None:
            # Copies with wrong letters are much less alike than edited ones.
            return Choice(sample, misread, threshold_of(0, misread.chance), changed, None)
        return Choice(sample, liked, liked.threshold, changed, None)
    weighted = _weighted_sketches(plain, _visible(fitted, sample))
    outlooks += [outlook(each, shown, copies, sample.total) for each in weighted]
    choice = _judged_choice(sample, outlooks, liked, changed, pairs, seed, is_blocked=is_blocked)
    if is_blocked:
        far = unrelated(directions(shown, choice.outlook.sketch))
        share = float((far >= choice.threshold).mean()) if len(far) else 0.0
        choice = replace(choice, chance_matches=share * sample.total)
    return choice


def _judged_choice(
    sample: TextSample,
    outlooks: Sequence[Outlook],
    liked: Outlook,
    changed: float,
    pairs: JudgedPairs,
    seed: int,
    *,
    is_blocked: bool,
) -> Choice:
    """Choose the sketch that does best on judged pairs, and its threshold."""
    if is_blocked:
        # Of sketches that do equally well on the pairs, which are few, the first is taken.
        outlooks = sorted(outlooks, key=lambda each: each.separation, reverse=True)
    folds = folds_of(pairs.labels, np.random.default_rng(seed))
    left, right = _visible(pairs.left, sample), _visible(pairs.right, sample)
    measured = [
        similarities(directions(left, each.sketch), directions(right, each.sketch))
        for each in outlooks
    ]
    priors = [each.threshold for each in outlooks]
    leasts = [max(LEAST, each.chance) for each in outlooks]
    if is_blocked:
        # What all documents are like says nothing of candidates, whose similarities do.
        priors = [float(found.mean()) for found in measured]
        leasts = [LEAST_BLOCKED] * len(outlooks)
    ratings = [
        rate(found, pairs.labels, prior=prior, least=least, folds=folds)
        for found, prior, least in zip(measured, priors, leasts, strict=True)
    ]
    usual = next(at for at, each in enumerate(outlooks) if each is liked)
    if is_blocked:
        at = best_ordered(ratings, measured, pairs.labels)
    else:
        at = simplest(ratings, pairs.labels, usual, seed)
    others = ratings[at].taken
    if len(pairs.labels) <= FEW_PAIRS:
        others = left_out(
            measured, pairs.labels, priors=priors, leasts=leasts,
            usual=None if is_blocked else usual, seed=seed,
        )  # fmt: skip
    order = order_of(measured[at], pairs.labels)
    verdict = PairVerdict(
        ratings[at], others, measured[at] >= ratings[at].threshold, ratings[usual], liked, order,
        pairs.labels,
    )  # fmt: skip
    return Choice(sample, outlooks[at], ratings[at].threshold, changed, verdict)


def edited(
    texts: Sequence[str], similarity: float, generator: np.random.Generator
) -> tuple[list[str], float]:
    """Return a near-duplicate of each text, and the median number of words changed in it.

    `similarity`: the threshold for a page; see `changed_words`.
    """
    pool = [piece for text in texts for piece in PIECE.findall(text[:POOL_TEXT_CHARACTERS])]
    copies, numbers = [], []
    for text in texts:
        places = [found.span() for found in PIECE.finditer(text)]
        count = _whole(changed_words(len(places), similarity), generator)
        chosen = generator.choice(len(places), min(count, len(places)), replace=False)
        copies.append(_replaced(text, [places[at] for at in sorted(chosen)], pool, generator))
        numbers.append(len(chosen))
    return copies, float(np.median(numbers))


def _whole(number: float, generator: np.random.Generator) -> int:
    """Return a whole number, at least 1, whose mean is `number`."""
    return max(1, int(number) + int(generator.random() < number % 1))


def _replaced(
    text: str,
    places: Sequence[tuple[int, int]],
    pool: Sequence[str],
    generator: np.random.Generator,
) -> str:
    """Return the text with other words at some places."""
    parts, last = [], 0
    for start, stop in places:
        parts += [text[last:start], pool[int(generator.integers(len(pool)))]]
        last = stop
    return "".join([*parts, text[last:]])


def _visible(texts: Sequence[str], sample: TextSample) -> list[str]:
    """Return texts without their tags if most of the sample has mark-up."""
    return [TAG.sub(" ", text) for text in texts] if sample.is_marked else list(texts)


def _plain_sketches(sample: TextSample) -> list[Simhash]:
    """Return the sketches in which each feature counts once, those of larger shingles first."""
    shapes = SPACELESS if sample.spaceless >= COMMON else SPACED
    return [Simhash(unit=unit, shingle=shingle) for unit, shingle in shapes]


def _weighted_sketches(plain: Sequence[Simhash], texts: Sequence[str]) -> Iterator[Simhash]:
    """Yield the same sketches with other weightings; the IDF tables are fitted to `texts`."""
    for sketch in plain:
        if sketch.shingle == 1:
            yield replace(sketch, weighting="tf")
    fitted, length = [], 0
    for text in texts:
        fitted.append(text)
        length += len(text)
        if length >= FITTED_CHARACTERS:
            break
    for sketch in plain:
        table = fit(
            fitted, Sketcher(sketch), sketch.feature_settings, features_max=None, errors="replace",
            progress=None,
        )  # fmt: skip
        yield replace(sketch, weighting="tf-idf", idf=table)
