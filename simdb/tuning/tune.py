"""Tuning: advises on the sketch and the threshold for a collection of texts."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simdb.ground.checks import whole
from simdb.ground.errors import InputError
from simdb.settings.options import Options
from simdb.tuning.advice import SketchAdvice, flags_of
from simdb.tuning.candidates import is_marked
from simdb.tuning.choice import Choice, choose
from simdb.tuning.judged import precision_of, recall_of
from simdb.tuning.pairs import Pairs, checked_pairs
from simdb.tuning.reasons import name_of, reasons_of
from simdb.tuning.sample import as_text, as_texts, drawn
from simdb.values.arrays import ORDINALS_MAX

FITTED_TEXTS = 20_000
SEED_MAX = 2**64 - 1


def tune(
    texts: Mapping[Any, Any] | Iterable[Any],
    pairs: Iterable[Any] | None = None,
    labels: Iterable[Any] | None = None,
    *,
    documents: int | None = None,
    seed: int = 0,
) -> SketchAdvice:
    """Advise on unit, shingle, weighting and threshold for some texts; `.options` has them.

    `texts`: a list, an array, an iterator, or a dict of texts by id; a few thousand are looked at.
    `pairs`: pairs (left, right) that people have judged, by position in `texts` or by id, or pairs
    of texts; `labels`: True or 1 for each duplicate, False or 0 for each other pair.  50 pairs say
    much about the threshold and something about the sketch.  Without pairs, the threshold is that
    of copies with as many edits, for the length of the texts, as the default threshold allows on a
    page of 300 words, and no less than what unrelated texts reach by chance.
    `documents`: the size of the collection, if `texts` are only a part of it.  `seed`: of the
    random draws; the same seed gives the same advice.
    """
    whole("seed", seed, 0, SEED_MAX)
    given, places = as_texts(texts)
    if (pairs is None) != (labels is None):
        raise InputError("tune needs pairs= and labels= together, or neither")
    if not len(given):
        raise InputError("there are no texts; tune needs some texts")
    if documents is not None:
        whole("documents", documents, 1, ORDINALS_MAX)
    generator = np.random.default_rng(seed)
    sample = drawn(given, max(len(given), documents or 0), generator)
    judged, fitted = None, []
    if pairs is not None:
        judged = checked_pairs(pairs, labels, given, places, generator)
        count = min(len(given), FITTED_TEXTS)
        chosen = generator.choice(len(given), count, replace=False).tolist()
        fitted = [as_text(given[at], f"text {at}") for at in chosen]
    return _advice(choose(sample, judged, fitted, seed), judged)


def _advice(choice: Choice, judged: Pairs | None) -> SketchAdvice:
    """Return a choice as advice."""
    sketch = choice.outlook.sketch
    added = choice.sample.writing.options
    if is_marked(choice.sample):
        added["markup"] = "html"
    if added:
        idf = sketch.idf
        if idf is not None:
            idf = replace(idf, settings={**idf.settings, **added})
        sketch = replace(sketch, **added, idf=idf)
    options = Options(sketch=sketch, similarity=choice.threshold)
    flags, create_flags, idf_flags = flags_of(sketch, choice.threshold)
    reasons = list(reasons_of(choice))
    if idf_flags:
        reasons.append(f"First make the IDF table: simdb idf SOURCE... {idf_flags}.")
    commands = [f"simdb idf SOURCE... {idf_flags}"] if idf_flags else []
    verdict = choice.verdict
    shares = None if verdict is None else (verdict.left_out, verdict.taken, verdict.labels)
    return SketchAdvice(
        topic="sketch",
        message=f"{name_of(sketch)} and a threshold of {choice.threshold:g} suit the texts",
        reason=" ".join(reasons),
        remedy="; ".join([*commands, f"simdb dedup SOURCE... {flags}"]),
        options=options,
        flags=flags,
        create_flags=create_flags,
        idf_flags=idf_flags,
        precision=None if shares is None else precision_of(*shares),
        recall=None if shares is None else recall_of(*shares),
        reasons=tuple(reasons),
        words=choice.sample.words,
        text_count=len(choice.sample.texts),
        pair_count=0 if judged is None else len(judged.labels),
    )
