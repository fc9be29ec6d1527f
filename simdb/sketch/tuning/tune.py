"""Tuning: advice on the sketch and the threshold for a collection of texts, with reasons.

The choice follows from a sample of the texts, and from judged pairs or edited copies.
"""

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from simdb.core.arrays import ORDINALS_MAX
from simdb.core.checks import flag, one_of, whole
from simdb.core.choices import MarkupName, MeasureName, UnitName
from simdb.core.errors import InputError, OptionError
from simdb.core.options import CONVERTED_DIGITS, Options, Simhash
from simdb.core.previews import counted
from simdb.core.reports import Advice
from simdb.core.scales import COSINES
from simdb.core.values import dataclass, replace
from simdb.sketch.fitting import fit
from simdb.sketch.hashes import sketch_of_texts
from simdb.sketch.sketcher import Sketcher
from simdb.sketch.tuning import judged, sample as samples

IDF_FILE = "texts.idf"
# The options of a sketch that advice is about.
ADVISED = ("unit", "shingle", "weighting", "markup", "normalisation", "marks", "turkic_case")
LINE = 88
FITTED_TEXTS = 20_000
SEED_MAX = 2**64 - 1
LOOSE_ORDER = 0.8  # a smaller order means that judgements are about more than the text
Shapes = tuple[tuple[UnitName, int], ...]

WORDS: UnitName = "words"
CHARACTERS: UnitName = "characters"
SPACED: Shapes = (
    (WORDS, 3), (WORDS, 2), (WORDS, 1), (CHARACTERS, 5), (CHARACTERS, 4), (CHARACTERS, 3),
)  # fmt: skip
# In scripts without spaces, each character is a word.
SPACELESS: Shapes = ((WORDS, 3), (WORDS, 2), (WORDS, 1))
FITTED_CHARACTERS = 10_000_000  # of the texts for IDF tables
BACKGROUND_TEXTS = 1000
EDITED_TEXTS = 500
# A wrong letter changes only 5 shingles of 5 characters, but all shingles with its word.
MISREAD = Simhash(unit=CHARACTERS, shingle=5)
# With more judged pairs, the sketch that they choose hardly looks better than it is.
FEW_PAIRS = 400
PIECE = re.compile(rf"[{samples.SPACELESS_RANGES}]|[^\s{samples.SPACELESS_RANGES}]+")
POOL_TEXT_CHARACTERS = 2000
# A larger shingle is chosen if it separates copies from unrelated texts nearly as well.
NEARLY = 0.95
LEAST, MOST = 0.2, 0.98
# Candidates of a blocking step can be duplicates even with hardly any similarity.
LEAST_BLOCKED = 0.01
USUAL_MARGIN = 0.02


@dataclass(frozen=True, slots=True, repr=False)
class SketchAdvice(Advice):
    """The options that suit some texts, by `simdb.tune`.

    Attributes
    ----------
    topic : str
        "sketch".
    message : str
        The sketch and the threshold in words.
    reason : str
        All `reasons` in one text.
    remedy : str
        The commands that follow the advice.
    options : Options
        The options for `simdb.open`, with one threshold, on the scale that `measure` names.
    flags : str
        The same options for `simdb dedup` and `simdb create`.
    idf_flags : str
        The flags with which `simdb idf SOURCE...` makes the IDF table that `flags` names; ""
        without a table.
    precision, recall : share with value, low and high, or None
        The expected precision and recall on pairs like the judged pairs.  The true share lies in
        the interval from `low` to `high` with a probability of about 0.9.  None without judged
        pairs.
    reasons : tuple of str
        The reasons for the advice, in sentences.
    words : float
        The median number of words of a text.
    text_count : int
        Number of texts of the sample.
    pair_count : int
        Number of judged pairs that were used.
    blocking : bool
        Whether the threshold applies only to candidates of a blocking step, as given by `blocking`
        or shown by the judged pairs.
    """

    options: Options
    flags: str
    idf_flags: str
    precision: judged.Share | None
    recall: judged.Share | None
    reasons: tuple[str, ...]
    words: float
    text_count: int
    pair_count: int
    blocking: bool

    @property
    def measure(self) -> MeasureName:
        """The measure of the similarity: "jaccard", or "cosine" if features have weights."""
        return self.options.measure

    @property
    def commands(self) -> dict[str, str]:
        """The advice as command lines and as Python code, in order of use."""
        options = re.sub("<IdfTable[^>]*>", f"simdb.load_idf({IDF_FILE!r})", repr(self.options))
        query = f"simdb query DB TEXT --similarity {self.options.similarity:g}"
        words = {
            "idf": self.idf_flags and f"simdb idf SOURCE... {self.idf_flags}",
            "dedup": not self.blocking and f"simdb dedup SOURCE... {self.flags}",
            "create": f"simdb create DB {self.flags}",
            "query": not self.blocking and query,
            "python": f"simdb.{options.replace('Simhash(', 'simdb.Simhash(')}",
            "compare": self.blocking and "database.compare(left, right)",
        }
        return {name: each for name, each in words.items() if each}

    def as_dict(self) -> dict[str, Any]:
        """Return the advice as JSON types, without the IDF table.

        Returns
        -------
        dict
            The advice by name: flags, commands, options of the sketch, threshold, expected shares,
            reasons and counts.
        """
        sketch = self.options.sketch
        return {
            "flags": self.flags,
            "idf_flags": self.idf_flags,
            "commands": self.commands,
            **{name: getattr(sketch, name) for name in ADVISED},
            "similarity": self.options.similarity,
            "measure": self.measure,
            "precision": _interval(self.precision),
            "recall": _interval(self.recall),
            "reasons": list(self.reasons),
            "words": self.words,
            "texts": self.text_count,
            "pairs": self.pair_count,
            "blocking": self.blocking,
        }

    def __str__(self) -> str:
        """Show the commands, the measure, the expected precision and recall, and the reasons."""
        shares = {"precision": self.precision, "recall": self.recall}
        expected = [f"{name} {share}" for name, share in shares.items() if share is not None]
        lines = [*self.commands.values(), f"measure {self.measure}", *expected, ""]
        for reason in self.reasons:
            lines += textwrap.wrap(reason, LINE, initial_indent="* ", subsequent_indent="  ")
        return "\n".join(lines)

    __repr__ = __str__


def tune(
    texts: Mapping[Any, Any] | Iterable[Any],
    pairs: Iterable[Any] | None = None,
    labels: Iterable[Any] | None = None,
    *,
    blocking: bool | None = None,
    documents: int | None = None,
    markup: MarkupName | None = None,
    seed: int = 0,
) -> SketchAdvice:
    """Advise on unit, shingle, weighting and threshold for some texts.

    Parameters
    ----------
    texts : list, array, iterator or dict of texts by id
        The texts; a sample of a few thousand is examined.
    pairs : iterable of pairs, optional
        Pairs (left, right) that people have judged: positions in `texts`, ids of a dict, or texts.
    labels : iterable of bool or {0, 1}, optional
        True or 1 for a duplicate, False or 0 for any other pair.
    blocking : bool, optional
        Whether `pairs` are candidates of a blocking step, such as records with the same maker, and
        only such candidates will be compared.  If not given, they count as candidates if their
        non-duplicates are more similar than random pairs of `texts`; the reasons then say so.
    documents : int, optional
        Number of documents of the collection, if `texts` are only a part of it.
    markup : {"html", "none"}, optional
        The mark-up of the texts; if not given, the texts are examined.
    seed : int, default 0
        The seed of the random draws; the same seed gives the same advice.

    Returns
    -------
    SketchAdvice
        The advice and its reasons; its `options` are for `simdb.open`.

    Raises
    ------
    InputError
        If there are no texts or no words, a pair or label is invalid, or only one of `pairs` and
        `labels` is given.
    OptionError
        If an argument is invalid, or `blocking` is True without `pairs`.

    Notes
    -----
    50 pairs tell much about the threshold and something about the sketch.  With fewer than two
    duplicates or fewer than two other pairs, all pairs are ignored, and the reasons say so.

    Without pairs, the threshold is the similarity of edited copies of the texts.  The number of
    edits is in proportion to the edits that the default threshold allows on a page of 300 words.
    The threshold is at least the similarity that unrelated texts reach by chance.

    With `blocking`, the threshold follows from the pairs alone.  The reasons then give the matches
    that a search of the whole collection would find at that threshold.

    Examples
    --------
    >>> questions = ["How do I reset my password?", "Where can I change my address?"]
    >>> questions += ["My order has not arrived yet", "How can I return a product?"]
    >>> advice = simdb.tune(questions)
    >>> advice.measure, advice.options.sketch
    ('jaccard', Simhash(shingle=1))
    """
    whole("seed", seed, 0, SEED_MAX)
    sketch_of_texts("tune", None, texts)
    given, places = samples.as_texts(texts)
    flag("blocking", False if blocking is None else blocking)
    if blocking and pairs is None:
        raise OptionError(
            "blocking=True says that pairs= are candidates of a blocking step; give pairs= and"
            " labels= (--pairs FILE), or leave out blocking="
        )
    if (pairs is None) != (labels is None):
        raise InputError("tune needs pairs= and labels= together, or neither")
    if not len(given):
        raise InputError("there are no texts; tune needs some texts")
    if documents is not None:
        whole("documents", documents, 1, ORDINALS_MAX)
    generator = np.random.default_rng(seed)
    sample = samples.drawn(given, max(len(given), documents or 0), generator)
    if markup is not None:
        one_of("markup", markup, get_args(MarkupName))
        sample = replace(sample, marked=float(markup == "html"))
    known, fitted = None, []
    if pairs is not None:
        known = judged.checked_pairs(pairs, labels, given, places, generator)
        chosen = generator.choice(len(given), min(len(given), FITTED_TEXTS), replace=False).tolist()
        fitted = [samples.as_text(given[at], f"text {at}") for at in chosen]
    return _advice(choose(sample, known, fitted, seed, blocking=blocking))


@dataclass(frozen=True, slots=True)
class Outlook:
    """The properties of one sketch on the sample.

    `edited`: the median similarity of a text and its edited copy.  `chance`: the similarity that
    few unrelated documents reach.  `found`: the share of copies at `threshold` or more.
    `separation`: the mean similarity of copies minus that of unrelated texts, over their standard
    deviation.
    """

    sketch: Simhash
    edited: float
    chance: float
    found: float
    separation: float

    @property
    def threshold(self) -> float:
        """The threshold from the sample alone."""
        return threshold_of(self.edited, self.chance)


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """The verdict of judged pairs on the chosen sketch.

    `rating`: of the choice.  `usual`: the rating of `liked`, which the sample alone would have
    chosen.  `order`: how often a duplicate is more similar than another pair.
    """

    rating: judged.Rating
    usual: judged.Rating
    liked: Outlook
    precision: judged.Share
    recall: judged.Share
    order: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A sketch and a threshold, with the evidence for them.

    `outlook`: the sketch and its properties on the sample.  `changed`: the median number of changed
    words in copies.  `verdict`: None without judged pairs, or if `pairs` are too few.
    `chance_matches`: if the judged pairs come from a blocking step, the number of unrelated
    documents that match a document at `threshold`.  `nearness`: the result of `judged.nearness`, if
    it shows a blocking step.
    """

    sample: samples.TextSample
    outlook: Outlook
    threshold: float
    changed: float
    verdict: PairVerdict | None
    pairs: judged.JudgedPairs | None
    chance_matches: float | None = None
    nearness: float | None = None

    @property
    def is_misread(self) -> bool:
        """Whether the choice is meant for texts with wrong letters."""
        return (
            self.verdict is None and self.sample.writing.is_noisy and self.outlook.sketch == MISREAD
        )

    def shown(self, estimate: float) -> float:
        """Convert the sketch's estimate, a cosine, to the scale of its texts."""
        return round(float(self.outlook.sketch.scale_of().from_cosine(estimate)), CONVERTED_DIGITS)

    @property
    def is_at_chance(self) -> bool:
        """Whether the threshold is as low as unrelated documents allow."""
        return self.threshold <= round(self.outlook.chance, 2)


def _advice(choice: Choice) -> SketchAdvice:
    """Convert a choice into advice."""
    sketch = choice.outlook.sketch
    added = choice.sample.writing.options | ({"markup": "html"} if choice.sample.is_marked else {})
    idf = sketch.idf and replace(sketch.idf, settings={**sketch.idf.settings, **added})
    sketch = replace(sketch, **added, idf=idf)
    similarity = choice.shown(choice.threshold)
    options = Options(sketch=sketch, similarity=similarity)
    flags, idf_flags = flags_of(sketch, similarity)
    reasons = list(reasons_of(choice))
    remedy = f"simdb dedup SOURCE... {flags}"
    if choice.chance_matches is not None:
        remedy = f"simdb create DB {flags}, whose verb compare decides the candidates"
    commands = [f"simdb idf SOURCE... {idf_flags}"] if idf_flags else []
    verdict = choice.verdict
    return SketchAdvice(
        topic="sketch",
        message=f"{name_of(sketch)} and a threshold of {similarity:g} suit the texts",
        reason=" ".join(reasons),
        remedy="; ".join([*commands, remedy]),
        options=options,
        flags=flags,
        idf_flags=idf_flags,
        precision=None if verdict is None else verdict.precision,
        recall=None if verdict is None else verdict.recall,
        reasons=tuple(reasons),
        words=choice.sample.words,
        text_count=len(choice.sample.texts),
        pair_count=0 if verdict is None or choice.pairs is None else len(choice.pairs.labels),
        blocking=choice.chance_matches is not None,
    )


def reasons_of(choice: Choice) -> Iterator[str]:
    """Yield the reasons for a choice."""
    yield from _on_texts(choice)
    yield from _on_sketch(choice)
    if choice.nearness is not None:
        yield (
            "The judged pairs seem to be candidates of a blocking step: of those that are not"
            f" duplicates, one is more similar than a random pair in {choice.nearness:.0%} of the"
            " cases. If you search the whole collection, say blocking=False, --no-blocking."
        )
    yield from _on_threshold(choice)
    if choice.verdict is not None:
        yield from _on_pairs(choice, choice.verdict)
    else:
        if choice.pairs is not None:
            yield (
                f"{choice.pairs} say too little: tune learns from {judged.KIND_LEAST} or more"
                " duplicates and as many other pairs. So the advice follows the texts alone."
            )
        yield (
            "Precision and recall are not known without judged pairs: judge 50 pairs or more, some"
            " of them doubtful, and give them as pairs= and labels=, or --pairs FILE."
        )


def flags_of(sketch: Simhash, similarity: float) -> tuple[str, str]:
    """Return the flags of dedup and create, and the flags of idf if the sketch has a table."""
    usual = Simhash()
    differing = [
        f"--{name} {getattr(sketch, name)}"
        for name in ("markup", "normalisation", "marks", "unit", "shingle", "weighting")
        if getattr(sketch, name) != getattr(usual, name)
    ]
    if sketch.turkic_case:
        differing.append("--turkic-case")
    used = differing if sketch.idf is None else [f"--idf {IDF_FILE}"]
    flags = " ".join([*used, f"--similarity {similarity:g}"])
    if sketch.idf is None:
        return flags, ""
    made = [each for each in differing if not each.startswith("--weighting")]
    return flags, " ".join([*made, f"--output {IDF_FILE}"])


def name_of(sketch: Simhash) -> str:
    """Return a sketch in words, such as `shingles of 3 characters`."""
    unit = sketch.unit if sketch.shingle > 1 else sketch.unit.removesuffix("s")
    shown = f"shingles of {sketch.shingle} {unit}" if sketch.shingle > 1 else f"single {unit}s"
    return shown if sketch.weighting == "binary" else f"{shown} with {sketch.weighting} weights"


def _on_texts(choice: Choice) -> Iterator[str]:
    sample = choice.sample
    yield (
        f"Half of the {len(sample.texts):,} texts looked at have at most {_words(sample.words)}."
    )
    if sample.spaceless >= samples.COMMON:
        yield (
            f"{sample.spaceless:.0%} of them are in a script without spaces, in which each"
            " character counts as a word."
        )
    if sample.words < samples.SHORT_WORDS:
        yield (
            f"With fewer than {samples.SHORT_WORDS} words, one changed word takes a text below the"
            f" default threshold of {Simhash().scale_of().usual} with the default shingles of 3"
            " words."
        )
    if sample.is_marked:
        yield f"{sample.marked:.0%} of them have mark-up, so its tags are left out."
    yield from _on_writing(sample.writing)


def _on_writing(writing: samples.WritingSystem) -> Iterator[str]:
    added = writing.options
    if added.get("normalisation") == "lenient":
        yield f"{writing.mixed:.0%} of them have words of two scripts, so look-alikes are equal."
    elif "normalisation" in added:
        yield (
            f"{writing.formed:.0%} of them have forms of characters, such as full width or"
            " ligatures, which NFKC makes usual."
        )
    if "marks" in added and writing.pointed:
        yield (
            f"{writing.pointed:.0%} of them have points or a tatweel, which other writers leave"
            " out, so they do not count."
        )
    if "turkic_case" in added:
        yield f"{writing.turkic:.0%} of them are Turkic, so I is the capital of the dotless i."
    if writing.is_noisy:
        yield (
            f"{writing.noise:.0%} of the words are one letter off a frequent word, as if a machine"
            " had read them from paper. A wrong letter changes all shingles of its word, but only 5"
            " shingles of 5 characters, so copies with wrong letters still share many of these."
        )


def _on_sketch(choice: Choice) -> Iterator[str]:
    seen = choice.outlook
    if choice.verdict is not None or choice.is_misread:
        return
    if choice.sample.is_short:
        yield (
            f"Of the sketches tried, {name_of(seen.sketch)} are the largest shingles that tell"
            " edited copies from unrelated texts about as well as the best."
        )
    else:
        yield "The texts are long enough for the default shingles of 3 words."


def _on_threshold(choice: Choice) -> Iterator[str]:
    seen = choice.outlook
    chance = choice.shown(seen.chance)
    if choice.chance_matches is not None:
        every = choice.chance_matches * choice.sample.total / 2
        yield (
            "The threshold is for candidates of a blocking step, which the verb compare decides."
            f" A search of all {choice.sample.total:,} documents would also match each of"
            f" them with about {choice.chance_matches:,.1f} unrelated ones, {every:,.0f} pairs in"
            f" all; unrelated documents seldom reach {chance:.2f}."
        )
        return
    if choice.verdict is None and not choice.is_misread:
        yield (
            f"A copy may differ in about {_words(choice.changed)}: then it keeps a similarity of"
            f" {choice.shown(seen.edited):.2f}. On a page of 300 words, the default threshold"
            " allows as much."
        )
    if choice.is_at_chance:
        yield (
            "A lower threshold would also match unrelated documents, which reach"
            f" {chance:.2f} by chance: more than {judged.CHANCE_MATCHES:.0%} of"
            f" {choice.sample.total:,} documents would match one."
        )
        if choice.verdict is not None and choice.nearness is None:
            yield (
                "If only pairs like the judged ones will be compared, and not the whole"
                " collection, say blocking=True, --blocking: then they alone decide."
            )
    else:
        yield (
            f"Unrelated documents seldom reach {chance:.2f} in a collection of"
            f" {choice.sample.total:,}."
        )
    if choice.verdict is None and choice.is_at_chance and not choice.is_misread:
        yield (
            f"Only {seen.found:.0%} of such copies reach the threshold: these texts are too alike"
            " to tell copies from unrelated documents."
        )


def _on_pairs(choice: Choice, verdict: PairVerdict) -> Iterator[str]:
    yield (
        f"{choice.pairs} were used. On pairs that were left out in turn,"
        f" {name_of(choice.outlook.sketch)} have an F1 of {verdict.rating.f1:.2f}."
    )
    if verdict.liked is not choice.outlook:
        yield (
            f"The texts alone speak for {name_of(verdict.liked.sketch)}, which have an F1 of"
            f" {verdict.usual.f1:.2f}."
        )
    if verdict.order < LOOSE_ORDER:
        yield (
            "The judgements follow the similarity of the texts only loosely: a duplicate is more"
            f" similar than another pair in {verdict.order:.0%} of the cases. They may mean"
            " something else than nearly equal text, such as the same meaning in other words, and"
            " no threshold separates them well."
        )
    if choice.pairs is not None and len(choice.pairs.labels) <= FEW_PAIRS:
        yield (
            "So few judged pairs leave much open; more of them narrow the intervals of precision"
            " and recall."
        )
    yield (
        "Precision and recall are those among pairs like the judged ones, not among all pairs of"
        " the collection."
    )


def _words(number: float) -> str:
    """Return a number of words, such as `1 word` or `1,200 words`."""
    return counted(round(number), "word")


def _interval(share: judged.Share | None) -> dict[str, float] | None:
    if share is None:
        return None
    return {name: round(getattr(share, name), 3) for name in ("value", "low", "high")}


def threshold_of(edited: float, chance: float) -> float:
    """Return the larger level, cut to hundredths, or the default threshold if it is near."""
    level = min(max(edited, chance, LEAST), MOST)
    is_usual = abs(level - COSINES.usual) < USUAL_MARGIN
    return COSINES.usual if is_usual else math.floor(level * 100) / 100


def outlook(sketch: Simhash, texts: Sequence[str], copies: Sequence[str], total: int) -> Outlook:
    """Measure a sketch on a sample of texts.

    `copies`: edited copies of the first texts.  `total`: the documents of the collection.
    """
    rows = judged.directions(texts, sketch)
    near = judged.similarities(rows[: len(copies)], judged.directions(copies, sketch))
    far = judged.unrelated(rows)
    middle, chance = float(np.median(near)), judged.chance_level(far, total)
    spread = float(np.sqrt(near.var() + (far.var() if len(far) else 0.0)))
    gap = float(near.mean() - (far.mean() if len(far) else 0.0))
    found = float((near >= threshold_of(middle, chance)).mean())
    return Outlook(sketch, middle, chance, found, gap / max(spread, 1e-6))


def preferred(outlooks: Sequence[Outlook], sample: samples.TextSample) -> Outlook:
    """Return the best outlook; if the texts are not short, the first one, which is the default."""
    if not sample.is_short:
        return outlooks[0]
    best = max(outlooks, key=lambda each: each.separation)
    # Texts that are nearly equal have a negative separation.
    return next((each for each in outlooks if each.separation >= NEARLY * best.separation), best)


def choose(
    sample: samples.TextSample,
    pairs: judged.JudgedPairs | None,
    fitted: Sequence[str],
    seed: int,
    *,
    blocking: bool | None,
) -> Choice:
    """Choose a sketch and a threshold; `fitted`: the texts for IDF tables.

    `blocking`: whether the pairs are candidates of a blocking step, and only such candidates will
    be compared.  None infers it from the pairs.
    """
    shown = _visible(sample.texts[:BACKGROUND_TEXTS], sample)
    copies, changed = edited(shown[:EDITED_TEXTS], COSINES.usual, np.random.default_rng(seed))
    # Sketches in which each feature counts once, larger shingles first.
    shapes = SPACELESS if sample.spaceless >= samples.COMMON else SPACED
    plain = [Simhash(unit=unit, shingle=shingle) for unit, shingle in shapes]
    outlooks = [outlook(each, shown, copies, sample.total) for each in plain]
    liked = preferred(outlooks, sample)
    if pairs is None or pairs.are_few:
        misread = next((each for each in outlooks if each.sketch == MISREAD), None)
        if sample.writing.is_noisy and misread is not None:
            # Copies with wrong letters are much less similar than edited copies.
            return Choice(sample, misread, threshold_of(0, misread.chance), changed, None, pairs)
        return Choice(sample, liked, liked.threshold, changed, None, pairs)
    weighted = _weighted_sketches(plain, _visible(fitted, sample))
    outlooks += [outlook(each, shown, copies, sample.total) for each in weighted]
    pairs = replace(pairs, left=_visible(pairs.left, sample), right=_visible(pairs.right, sample))
    near = None
    if blocking is None:
        # Even unrelated texts share some of the smallest shingles.
        others = judged.estimates(pairs.left, pairs.right, plain[-1])[~pairs.labels]
        far = judged.unrelated(judged.directions(shown, plain[-1]))
        near = judged.nearness(others, far, len(shown))
    is_blocked = blocking or near is not None
    choice = _judged_choice(sample, outlooks, liked, changed, pairs, seed, is_blocked=is_blocked)
    # The inference does not matter if no unrelated documents match.
    if blocking or (near is not None and choice.threshold < choice.outlook.chance):
        far = judged.unrelated(judged.directions(shown, choice.outlook.sketch))
        share = float((far >= choice.threshold).mean()) if len(far) else 0.0
        choice = replace(choice, chance_matches=share * sample.total)
    return replace(choice, nearness=near)


def _judged_choice(
    sample: samples.TextSample,
    outlooks: Sequence[Outlook],
    liked: Outlook,
    changed: float,
    pairs: judged.JudgedPairs,
    seed: int,
    *,
    is_blocked: bool,
) -> Choice:
    """Choose the sketch that is best on judged pairs, and its threshold."""
    folds = judged.folds_of(pairs.labels, np.random.default_rng(seed))
    measured = [judged.estimates(pairs.left, pairs.right, each.sketch) for each in outlooks]
    priors = [each.threshold for each in outlooks]
    leasts = [max(LEAST, each.chance) for each in outlooks]
    if is_blocked:
        # The distribution over all documents is irrelevant; the similarities of candidates count.
        priors = [float(found.mean()) for found in measured]
        leasts = [LEAST_BLOCKED] * len(outlooks)
    usual = next(at for at, each in enumerate(outlooks) if each is liked)
    separations = [each.separation for each in outlooks]
    contest = judged.Contest(priors, leasts, None if is_blocked else usual, seed, separations)
    ratings, at = contest.decided(measured, pairs.labels, folds)
    chosen = ratings[at]
    others = chosen.taken
    if len(pairs.labels) <= FEW_PAIRS:
        others = judged.left_out(measured, pairs.labels, contest)
    shares = others, measured[at] >= chosen.threshold, pairs.labels
    verdict = PairVerdict(
        chosen, ratings[usual], liked, judged.precision_of(*shares), judged.recall_of(*shares),
        judged.order_of(measured[at], pairs.labels),
    )  # fmt: skip
    return Choice(sample, outlooks[at], chosen.threshold, changed, verdict, pairs)


def edited(
    texts: Sequence[str], similarity: float, generator: np.random.Generator
) -> tuple[list[str], float]:
    """Return a near-duplicate of each text, and the median number of changed words.

    `similarity`: the threshold for a page; see `changed_words`.
    """
    pool = [piece for text in texts for piece in PIECE.findall(text[:POOL_TEXT_CHARACTERS])]
    copies, numbers = [], []
    for text in texts:
        places = [found.span() for found in PIECE.finditer(text)]
        # A random whole number, at least 1, whose mean is the number of words that may change.
        mean = samples.changed_words(len(places), similarity)
        count = max(1, int(mean) + int(generator.random() < mean % 1))
        chosen = generator.choice(len(places), min(count, len(places)), replace=False)
        parts, last = [], 0
        for at in sorted(chosen):
            start, stop = places[at]
            parts += [text[last:start], pool[int(generator.integers(len(pool)))]]
            last = stop
        copies.append("".join([*parts, text[last:]]))
        numbers.append(len(chosen))
    return copies, float(np.median(numbers))


def _visible(texts: Sequence[str], sample: samples.TextSample) -> list[str]:
    """Return texts without their tags if most of the sample has mark-up."""
    return [samples.TAG.sub(" ", text) for text in texts] if sample.is_marked else list(texts)


def _weighted_sketches(plain: Sequence[Simhash], texts: list[str]) -> Iterator[Simhash]:
    """Yield the sketches with other weightings; their IDF tables are fitted to `texts`."""
    yield from (replace(each, weighting="tf") for each in plain if each.shingle == 1)
    lengths = np.cumsum([len(text) for text in texts])
    fitted = texts[: int(np.searchsorted(lengths, FITTED_CHARACTERS)) + 1]
    for sketch in plain:
        table = fit(
            fitted, Sketcher(sketch), sketch.feature_settings, features_max=None, errors="replace",
            progress=None,
        )  # fmt: skip
        yield replace(sketch, weighting="tf-idf", idf=table)
