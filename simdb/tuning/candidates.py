"""Candidates: the sketches that are compared, the simplest first."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from simdb.ground.choices import UnitName
from simdb.settings.options import Simhash
from simdb.sketch.fitting import fit
from simdb.sketch.sketcher import Sketcher
from simdb.tuning.lengths import SHORT_WORDS
from simdb.tuning.sample import TAG, Sample

WORDS: UnitName = "words"
CHARACTERS: UnitName = "characters"
Shapes = tuple[tuple[UnitName, int], ...]
SPACED: Shapes = (
    (WORDS, 3), (WORDS, 2), (WORDS, 1), (CHARACTERS, 5), (CHARACTERS, 4), (CHARACTERS, 3),
)  # fmt: skip
# In scripts without spaces each character is a word.
SPACELESS: Shapes = ((WORDS, 3), (WORDS, 2), (WORDS, 1))
# IDF tables are fitted to so many characters.
FITTED_CHARACTERS = 10_000_000
COMMON = 0.5  # the share of texts from which on a property is one of the collection


def is_marked(sample: Sample) -> bool:
    """Return whether most texts have mark-up."""
    return sample.marked >= COMMON


def is_short(sample: Sample) -> bool:
    """Return whether the texts are too short for 3-shingles of words."""
    return sample.words < SHORT_WORDS


def visible(texts: Sequence[str], sample: Sample) -> list[str]:
    """Return texts without their tags if most of the sample has mark-up."""
    return [TAG.sub(" ", text) for text in texts] if is_marked(sample) else list(texts)


def plain_sketches(sample: Sample) -> list[Simhash]:
    """Return the sketches in which each feature counts once, those of larger shingles first."""
    shapes = SPACELESS if sample.spaceless >= COMMON else SPACED
    return [Simhash(unit=unit, shingle=shingle) for unit, shingle in shapes]


def weighted_sketches(plain: Sequence[Simhash], texts: Sequence[str]) -> Iterator[Simhash]:
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
