"""Word order: the words of texts one after the other, by their hashes, and where each one stands.

The words are those that a sketch is made of: cut, cleaned and hashed by the same kernel.
"""

import re
from collections.abc import Sequence
from itertools import chain, repeat

import numpy as np
import numpy.typing as npt

from simdb.ground.errors import OptionError
from simdb.settings.stored_options import Resources
from simdb.settings.text_sketch import TextSketch
from simdb.sketch.cutting import bounds_of_words, code_points
from simdb.sketch.encoding import decoded
from simdb.sketch.normalisation import cleaned, spelled
from simdb.sketch.pipeline import Parts, Pipeline, Words

# What lies between white space; what a hyphen cuts at the end of a line is one piece.
PIECES = re.compile(r"\S+(?:(?<=[-\u00ad\u2010\u2011])\s*\n\s*\S+)*")

I64 = npt.NDArray[np.int64]


class WordOrder:
    """The words of texts as one sketch cuts them, without stop words or stems."""

    def __init__(self, sketch: TextSketch) -> None:
        """Cut texts as `sketch` says; OptionError if it does not cut words."""
        if sketch.unit not in ("words", "whitespace"):
            raise OptionError(f"unit={sketch.unit!r} has no words; take unit='words'")
        if sketch.tokeniser or sketch.markup != "none":
            what = "tokeniser" if sketch.tokeniser else "markup"
            raise OptionError(
                f"{what}={getattr(sketch, what)!r}: what it makes of a text has no place in it;"
                " apply it to the texts first"
            )
        self._sketch = sketch
        self._pipeline = Pipeline(sketch, Resources(), ())

    def words(self, texts: Sequence[str | bytes], *, errors: str, start: int = 0) -> Words:
        """Return the offsets int64[n + 1] and the hashes uint64[k] of the words of texts.

        `errors`: "strict" raises InputError for invalid Unicode, "replace" puts U+FFFD in its
        place; messages number the texts from `start`.
        """
        return self._pipeline.words(texts, replace=errors == "replace", start=start)

    def parts(
        self, texts: Sequence[str | bytes], unit: str, *, errors: str, start: int = 0
    ) -> Parts:
        """Return how many parts of this unit each text has, and what the words of each part are.

        Int64[n]; a key that follows from the words in order, uint64[k]; their number, int64[k].
        The other arguments are those of `words`.
        """
        return self._pipeline.parts(texts, unit, replace=errors == "replace", start=start)

    def places(self, text: str | bytes) -> I64:
        """Return where each word begins and ends in the text, in characters: int64[n, 2].

        A word that cleaning changes in number (a ligature of two) has the place of what it is in.
        """
        whole = decoded(text, "utf-8", position=0, replace=True)
        if self._cleaned(whole) == whole:
            return self._bounds(whole)
        found: list[list[tuple[int, int]]] = []
        for piece in PIECES.finditer(whole):
            raw = [
                (piece.start() + a, piece.start() + b) for a, b in self._bounds(piece[0]).tolist()
            ]
            count = len(self._bounds(self._cleaned(piece[0])))
            whole_piece = (raw[0][0], raw[-1][1]) if raw else piece.span()
            found.append(raw if count == len(raw) else list(repeat(whole_piece, count)))
        places = list(chain.from_iterable(found))
        count = len(self._bounds(self._cleaned(whole)))
        # Pieces are cleaned as the whole text is, but for rare letters that compose across them.
        known = places if len(places) == count else list(repeat((0, len(whole)), count))
        return np.array(known, np.int64).reshape(-1, 2)

    def _cleaned(self, text: str) -> str:
        if self._sketch.is_normalised_in_python:
            text = spelled(text, self._sketch)
        return cleaned(text, self._sketch)

    def _bounds(self, text: str) -> I64:
        codes = code_points(text, 0, "replace")
        starts, stops = bounds_of_words(codes, self._sketch.cutting)
        return np.stack([starts, stops], axis=1).astype(np.int64)
