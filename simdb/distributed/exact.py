"""Exact: decides candidates by the exact similarity of their texts, wherever the texts are."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.columns.arrow_texts import text_column
from simdb.ground.checks import instance
from simdb.ground.errors import InputError
from simdb.settings.minhash import Minhash
from simdb.settings.options import Simhash
from simdb.settings.resources import Resources
from simdb.settings.text_sketch import TextSketch
from simdb.sketch.exact_similarity import ExactSimilarity
from simdb.values.arrays import check_many, describe

I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]


def exact_similarities(
    texts: Iterable[Any], left: I64, right: I64, sketch: Simhash | Minhash | None = None
) -> F32:
    """Return the exact similarity of texts left[i] and right[i]: float32[k].

    `texts`: texts or lists of tokens, or a column of Arrow; a pair is two positions in it.  The
    similarity is that of all their features, where `sketch` (`Simhash()` if you give none) only
    estimates it: Jaccard's if every feature counts once, see `Database.find_all`.  It is 0 if one
    of the two has no features.  `plan_pairs(verify="exact")` finds the candidates; those of at
    least the similarity asked for are matches.  All features of the texts are in memory.
    """
    sketch = Simhash() if sketch is None else sketch
    instance("sketch", sketch, TextSketch, "simdb.Simhash() or simdb.Minhash()")
    check_many(texts, "texts")
    column = text_column(texts)
    given = list(texts) if column is None else column
    both = [_positions(side, name, len(given)) for side, name in ((left, "left"), (right, "right"))]
    if len(both[0]) != len(both[1]):
        raise InputError(f"left has {len(both[0])} positions and right {len(both[1])}")
    exact = ExactSimilarity(sketch, Resources(), [sketch.tokeniser])
    return exact.of_pairs(given, both[0], both[1])


def _positions(given: Any, name: str, count: int) -> I64:
    positions = np.asarray(given)
    if positions.ndim != 1 or (len(positions) and positions.dtype.kind not in "iu"):
        raise InputError(f"{name} must be positions, int64[k], got {describe(given)}")
    if len(positions) and not 0 <= int(positions.min()) <= int(positions.max()) < count:
        at = int(np.argmax((positions < 0) | (positions >= count)))
        raise InputError(f"{name} has the position {positions[at]}, and there are {count} texts")
    return np.ascontiguousarray(positions, np.int64)
