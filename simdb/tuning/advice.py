"""Sketch advice: the options that suit some texts, and why."""

import textwrap
from dataclasses import dataclass
from typing import Any

from simdb.results.reports import Advice
from simdb.settings.options import Options, Simhash
from simdb.sketch.exact_similarity import exact_threshold
from simdb.tuning.judged import Share

IDF_FILE = "texts.idf"
LINE = 88


@dataclass(frozen=True, slots=True, repr=False)
class SketchAdvice(Advice):
    """The options that suit some texts, by `simdb.tune`.

    `options`: for `simdb.open`, with a threshold of what sketches estimate.  `create_flags`: the
    same for `simdb create`.  `flags`: the same for `simdb dedup`, where texts decide, with the
    exact similarity that this threshold means.
    `idf_flags`: empty, or the flags with which `simdb idf SOURCE...` makes the IDF table that the
    other flags name.
    `precision`, `recall`: what to expect of pairs like the judged ones, each with the interval in
    which it lies with a probability of about 0.9; None without judged pairs.
    `reasons`: why, in sentences; `reason` is all of them.
    `words`: the median number of words of a text.  `text_count`: the texts of the sample.
    `pair_count`: the judged pairs that were used.
    """

    options: Options
    flags: str
    create_flags: str
    idf_flags: str
    precision: Share | None
    recall: Share | None
    reasons: tuple[str, ...]
    words: float
    text_count: int
    pair_count: int

    def as_dict(self) -> dict[str, Any]:
        """Return the advice in the form of JSON, without the IDF table."""
        sketch = self.options.sketch
        return {
            "flags": self.flags,
            "create_flags": self.create_flags,
            "idf_flags": self.idf_flags,
            "unit": sketch.unit,
            "shingle": sketch.shingle,
            "weighting": sketch.weighting,
            "markup": sketch.markup,
            "normalisation": sketch.normalisation,
            "marks": sketch.marks,
            "turkic_case": sketch.turkic_case,
            "similarity": self.options.similarity,
            "precision": _interval(self.precision),
            "recall": _interval(self.recall),
            "reasons": list(self.reasons),
            "words": self.words,
            "texts": self.text_count,
            "pairs": self.pair_count,
        }

    def __str__(self) -> str:
        """Show the flags, what to expect, and the reasons."""
        lines = [self.flags, *self._expected(), ""]
        for reason in self.reasons:
            lines += textwrap.wrap(reason, LINE, initial_indent="* ", subsequent_indent="  ")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Show the flags, and what to expect."""
        return f"<SketchAdvice {'; '.join([self.flags, *self._expected()])}>"

    def _expected(self) -> list[str]:
        shares = {"precision": self.precision, "recall": self.recall}
        return [f"{name} {share}" for name, share in shares.items() if share is not None]


def flags_of(sketch: Simhash, similarity: float) -> tuple[str, str, str]:
    """Return the flags for dedup, for create, and for the IDF table, if the sketch has one.

    `similarity`: the threshold of what the sketch estimates.
    """
    usual = Simhash()
    differing = [
        f"--{name} {getattr(sketch, name)}"
        for name in ("markup", "normalisation", "marks", "unit", "shingle", "weighting")
        if getattr(sketch, name) != getattr(usual, name)
    ]
    if sketch.turkic_case:
        differing.append("--turkic-case")
    used = differing if sketch.idf is None else [f"--idf {IDF_FILE}"]
    thresholds = exact_threshold(sketch, similarity), similarity
    dedup, create = (" ".join([*used, f"--similarity {each:g}"]) for each in thresholds)
    if sketch.idf is None:
        return dedup, create, ""
    made = [each for each in differing if not each.startswith("--weighting")]
    return dedup, create, " ".join([*made, f"--output {IDF_FILE}"])


def _interval(share: Share | None) -> dict[str, float] | None:
    if share is None:
        return None
    return {name: round(getattr(share, name), 3) for name in ("value", "low", "high")}
