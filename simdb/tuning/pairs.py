"""Pairs: the judged pairs as users give them, and the shapes of sketches that they may choose."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simdb.ground.checks import shown
from simdb.ground.choices import UnitName
from simdb.ground.dtypes import Bools
from simdb.ground.errors import InputError
from simdb.ground.previews import counted
from simdb.settings.options import Simhash
from simdb.sketch.fitting import fit
from simdb.sketch.sketcher import Sketcher
from simdb.tuning.sample import SHORT_WORDS, TAG, TextSample, as_text
from simdb.values.arrays import check_many, describe

Shapes = tuple[tuple[UnitName, int], ...]

# More judged pairs than these do not change the choice.
JUDGED_MAX = 2000
KIND_LEAST = 2
WORDS: UnitName = "words"
CHARACTERS: UnitName = "characters"
SPACED: Shapes = (
    (WORDS, 3), (WORDS, 2), (WORDS, 1), (CHARACTERS, 5), (CHARACTERS, 4), (CHARACTERS, 3),
)  # fmt: skip
# In scripts without spaces each character is a word.
SPACELESS: Shapes = ((WORDS, 3), (WORDS, 2), (WORDS, 1))
# IDF tables are fitted to so many characters.
FITTED_CHARACTERS = 10_000_000
COMMON = 0.5  # the share of texts from which on a property is one of the collection


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """Judged pairs: the texts on both sides, and whether each pair is a duplicate."""

    left: list[str]
    right: list[str]
    labels: Bools


def checked_pairs(
    pairs: Any,
    labels: Any,
    texts: Sequence[Any],
    places: dict[Any, int] | None,
    generator: np.random.Generator,
) -> JudgedPairs:
    """Return judged pairs, at most `JUDGED_MAX` drawn at random, with their texts.

    `places`: the position of each id; None if texts have no ids.  Raises InputError for what is no
    pair or no label, and if there are not both duplicates and other pairs.
    """
    given = _listed("pairs", pairs)
    judged = _listed("labels", labels)
    if len(given) != len(judged):
        raise InputError(f"{len(given)} pairs have {len(judged)} labels; give one for each pair")
    flags = np.array([_flag(label, at) for at, label in enumerate(judged)], np.bool_)
    for name, kind in (("duplicate", flags), ("other pair", ~flags)):
        if kind.sum() < KIND_LEAST:
            raise InputError(
                f"{counted(len(flags), 'label')} with {counted(int(kind.sum()), name)}; tune needs"
                f" {KIND_LEAST} or more {name}s, or no pairs at all"
            )
    count = min(len(given), JUDGED_MAX)
    chosen = np.sort(generator.choice(len(given), count, replace=False)).tolist()
    sides = [_sides(given[at], at) for at in chosen]
    left, right = (
        [_text(pair[side], texts, places, at) for at, pair in zip(chosen, sides, strict=True)]
        for side in (0, 1)
    )
    return JudgedPairs(left, right, flags[chosen])


def _listed(name: str, values: Any) -> Sequence[Any]:
    check_many(values, name)
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


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
            raise InputError(f"pair {at} names {shown(side)}, which is no id of a text")
        place = places[side]
    elif isinstance(side, str | bytes):
        return as_text(side, f"a side of pair {at}")
    elif isinstance(side, int | np.integer) and not isinstance(side, bool):
        place = int(side)
        if not 0 <= place < len(texts):
            raise InputError(
                f"pair {at} names text {place}, but there are {len(texts)} texts, from 0 on"
            )
    else:
        raise InputError(
            f"a side of pair {at} is {describe(side)}; give the position of a text, or a text"
        )
    return as_text(texts[place], f"text {place}")


def is_marked(sample: TextSample) -> bool:
    """Return whether most texts have mark-up."""
    return sample.marked >= COMMON


def is_short(sample: TextSample) -> bool:
    """Return whether the texts are too short for 3-shingles of words."""
    return sample.words < SHORT_WORDS


def visible(texts: Sequence[str], sample: TextSample) -> list[str]:
    """Return texts without their tags if most of the sample has mark-up."""
    return [TAG.sub(" ", text) for text in texts] if is_marked(sample) else list(texts)


def plain_sketches(sample: TextSample) -> list[Simhash]:
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
