"""Winnowing: the words of texts in order, and a choice of n-grams that reveals shared passages.

By Schleimer, Wilkerson and Aiken 2003, section 3, the least hash of every window of consecutive
n-grams is chosen, which is 2 of 9 n-grams.  Two texts with the same window choose the same n-gram,
so texts that share a passage share a chosen n-gram.  The words are the words of a sketch: cut,
cleaned and hashed by the same kernel.

A passage is a sequence of at least `PASSAGE_WORDS` words in two texts, or all words of a shorter
query.  An n-gram is a sequence of `GRAM_WORDS` words, or all words of a shorter query.  The
containment of a query in a document is the share of the query's n-grams that lie in passages.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Grains, Ragged, describe, offsets_of, ranges, sorted_unique
from simdb.core.arrow import TextColumn, Texts
from simdb.core.dtypes import F64, I64, U32, U64, Bools
from simdb.core.errors import InputError, OptionError
from simdb.core.matches import SharedSpan
from simdb.core.stored_options import Resources
from simdb.core.text_sketch import TextSketch
from simdb.sketch.normalisation import cleaning_of, spelled
from simdb.sketch.pipeline import Parts, Pipeline, Words

# A piece is the text between white space, where U+001C to U+001F are not white space.  A word that
# a hyphen divides at the end of a line is one piece.
PIECES = re.compile(r"[\S\x1c-\x1f]+(?:(?<=[-\u00ad\u2010\u2011])\s*\n\s*[\S\x1c-\x1f]+)*")
# Separates texts that are cut together, so that no hyphen joins their lines.
BETWEEN = "\n\n"
GRAM_WORDS = 8
WINDOW_GRAMS = 8
# The shortest sequence of words that always has a whole window.
PASSAGE_WORDS = GRAM_WORDS + WINDOW_GRAMS - 1
MARKED = 1 << 22  # marks of the query's sequences in documents that are in memory at a time
PLACES_MOST = 8  # places of a repeated sequence in the query that can start a span

# Windows choose the least product of a hash and this number, so that chosen hashes are spread as
# evenly as all hashes.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(int(_MULTIPLIER), -1, 1 << 64))


class WordOrder:
    """A cutter of texts into words in order, by one sketch, without stop words or stems."""

    def __init__(self, sketch: TextSketch, *, marked: bool = False) -> None:
        """Cut texts by the options of `sketch`; raise OptionError if it does not cut words.

        With `marked`, markup does not count as words.  The lowest bits of a hash then tell whether
        the word is a number, and whether it is a character of a script without spaces.
        """
        if sketch.unit not in ("words", "whitespace"):
            raise OptionError(f"unit={sketch.unit!r} has no words; take unit='words'")
        if sketch.tokeniser or sketch.markup != "none":
            what = "tokeniser" if sketch.tokeniser else "markup"
            raise OptionError(
                f"{what}={getattr(sketch, what)!r} makes words without a place in the text; apply"
                " it to the texts first"
            )
        self._sketch, self._is_marked = sketch, marked
        self._cleaning, self._is_spelled = cleaning_of(sketch), sketch.is_normalised_in_python
        self._pipeline = Pipeline(sketch, Resources(), ())

    def words(self, texts: Texts, *, errors: str, start: int = 0) -> Words:
        """Return the offsets int64[n + 1] and the hashes uint64[k] of the words of texts.

        `errors`: "strict" raises InputError for invalid Unicode, "replace" puts U+FFFD in its
        place; messages number the texts from `start`.
        """
        how: dict[str, Any] = {"replace": errors == "replace", "start": start}
        return self._pipeline.words(texts, marked=self._is_marked, **how)

    def parts(self, texts: Texts, unit: str, *, errors: str, start: int = 0) -> Parts:
        """Cut texts into parts of this unit; return three arrays.

        They are the number of parts of each text, int64[n], a key of the words of each part in
        order, uint64[k], and its number of words, int64[k].  See `words` for the other arguments.
        """
        return self._pipeline.parts(texts, unit, replace=errors == "replace", start=start)

    def places(self, text: str) -> I64:
        """Return the start and the stop of each word in the text, in characters: int64[n, 2].

        If cleaning splits or joins words, as at a ligature, each gets the place of the whole piece.
        """
        if not self._is_marked:
            return self._places(text)
        plain, is_dropped = kernel.without_markup(text)
        places = self._places(plain)
        if is_dropped.any():
            kept = np.flatnonzero(~is_dropped)
            places = np.stack([kept[places[:, 0]], kept[places[:, 1] - 1] + 1], axis=1)
        return places

    def _places(self, text: str) -> I64:
        clean = self._cleaned(text)
        if clean == text:
            return self._bounds(text)
        places, found, at = self._bounds(text), list[I64](), 0
        pieces = [
            piece
            for piece in PIECES.finditer(text)
            if not (piece[0].isascii() and piece[0].isprintable())
        ]
        for piece in self._changed(pieces):
            own = piece[0]
            count = len(self._bounds(self._cleaned(own)))
            first, last = np.searchsorted(places[:, 0], piece.span()).tolist()
            if count == last - first:
                continue
            start, stop = (places[first, 0], places[last - 1, 1]) if last > first else piece.span()
            found += [places[at:first], np.full((count, 2), (start, stop))]
            at = last
        known = np.concatenate([*found, places[at:]])
        count = len(self._bounds(clean))
        # Pieces are cleaned like the whole text, except rare letters that compose across pieces.
        return known if len(known) == count else np.full((count, 2), (0, len(text)))

    def _changed(self, pieces: Sequence[re.Match[str]]) -> Iterator[re.Match[str]]:
        """Yield the pieces that cleaning changes; they are usually few."""
        whole = BETWEEN.join(piece[0] for piece in pieces)
        if self._cleaned(whole) == whole:
            return
        if len(pieces) == 1:
            yield pieces[0]
            return
        half = len(pieces) // 2
        yield from self._changed(pieces[:half])
        yield from self._changed(pieces[half:])

    def _cleaned(self, text: str) -> str:
        sketch, how = self._sketch, self._cleaning
        if self._is_spelled:
            text = spelled(text, sketch)
        return kernel.cleaned(text, lowercase=sketch.lowercase, **how) if how else text

    def _bounds(self, text: str) -> I64:
        return kernel.word_places(text, unit=self._sketch.cutting)


class Winnower(WordOrder):
    """A maker of the grains and words of texts, as the sketch of a database cuts them."""

    def grains(self, documents: Sequence[object], *, errors: str, start: int = 0) -> Grains:
        """Return the grains of texts.

        Raises InputError for a document that is not a text; its number counts from `start`.
        """
        return winnow(*grams_of(*self.words(documents, errors=errors, start=start)))

    def words(self, documents: Sequence[object], *, errors: str, start: int = 0) -> tuple[I64, U64]:
        """Return offsets int64[n + 1] and hashes uint64[k] of the words of texts."""
        if not isinstance(documents, TextColumn):
            for position, document in enumerate(documents, start):
                if not isinstance(document, str):
                    raise InputError(
                        f"document {position} is {describe(document)}, but passages need texts;"
                        " give str or bytes, or use a database without Options(passages=True)"
                    )
        return super().words(documents, errors=errors, start=start)  # type: ignore[arg-type]


def grams_of(offsets: I64, words: U64) -> tuple[I64, U64]:
    """Return the n-grams of `GRAM_WORDS` words of texts; a shorter text is one n-gram.

    The result is offsets int64[n + 1] and hashes uint64[k], in the order of the words.
    """
    sizes = np.diff(offsets)
    counts = np.where(sizes < GRAM_WORDS, np.minimum(sizes, 1), sizes - GRAM_WORDS + 1)
    bounds = offsets_of(counts)
    found: U64 = kernel.ngrams(offsets, words, GRAM_WORDS)[1]
    is_short = (sizes > 0) & (sizes < GRAM_WORDS)
    if not is_short.any():
        return bounds, found
    grams = np.empty(bounds[-1], np.uint64)
    grams[np.repeat(~is_short, counts)] = found
    for length in sorted_unique(sizes[is_short]).tolist():
        own = np.flatnonzero(sizes == length)
        inside = words[(offsets[own][:, None] + np.arange(length)).ravel()]
        grams[bounds[own]] = kernel.ngrams(np.arange(len(own) + 1) * length, inside, length)[1]
    return bounds, grams


def winnow(bounds: I64, grams: U64) -> Grains:
    """Return the distinct least n-grams of the windows of each text.

    A text with fewer n-grams than a window has the least of all.
    """
    order = grams * _MULTIPLIER
    counts = np.diff(bounds)
    least, step = order, 1
    while step < WINDOW_GRAMS:
        least, step = np.minimum(least[:-step], least[step:]), 2 * step
    texts = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
    starts = np.flatnonzero(np.arange(len(least)) + WINDOW_GRAMS <= bounds[1:][texts[: len(least)]])
    few = np.flatnonzero((counts > 0) & (counts < WINDOW_GRAMS))
    rest = Ragged(bounds, order).taken(few)
    lowest = np.minimum.reduceat(rest.values, rest.offsets[:-1]) if len(few) else rest.values
    chosen, owners = least[starts], texts[starts]
    is_new = _differs(chosen, owners)  # adjacent windows mostly have the same least n-gram
    chosen = np.concatenate([chosen[is_new], lowest]) * _INVERSE
    owners = np.concatenate([owners[is_new], few.astype(np.uint32)])
    ascending = np.arange(len(chosen), dtype=np.uint32)
    kernel.sort(chosen.copy(), ascending)
    kernel.sort(owners[ascending].astype(np.uint64), ascending)  # stable
    chosen, owners = chosen[ascending], owners[ascending]
    is_new = _differs(chosen, owners)
    sizes = np.bincount(owners[is_new], minlength=len(counts))
    return Ragged(offsets_of(sizes), chosen[is_new])


def _differs(hashes: U64, owners: U32) -> Bools:
    """Return whether each hash, or its owner, differs from its predecessor: bool[n]."""
    is_new = np.ones(len(hashes), np.bool_)
    is_new[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
    return is_new


class ContainmentQuery(NamedTuple):
    """A query as words and n-grams.

    `words`: the hashes in order.  `keys`: the distinct n-grams, ascending.  `places`: the position
    of n-gram i in `keys`.  `is_grain`: which of `keys` winnowing chooses.
    """

    words: U64
    keys: U64
    places: I64
    is_grain: Bools

    @property
    def gram_count(self) -> int:
        """The number of n-grams."""
        return len(self.places)

    @property
    def passage_words(self) -> int:
        """The number of words of the shortest passage."""
        return min(len(self.words), PASSAGE_WORDS)


def asked_of(words: U64) -> ContainmentQuery:
    """Return a query from the hashes of its words."""
    bounds, grams = grams_of(np.array([0, len(words)]), words)
    keys, places = np.unique(grams, return_inverse=True)
    # For few numbers, the default of numpy 2.0 subtracts them as signed, and these are unsigned.
    is_kept = np.isin(keys, winnow(bounds, grams).values, kind="sort")
    return ContainmentQuery(words, keys, places, is_kept)


def containments(asked: ContainmentQuery, offsets: I64, words: U64) -> F64:
    """Return the containment of a query in each of some documents, given by their words."""
    length = asked.passage_words
    own = kernel.ngrams(np.array([0, len(asked.words)]), asked.words, length)[1]
    distinct, places = np.unique(own, return_inverse=True)
    hits = kernel.Ngrams(distinct).find(offsets, words, [length])
    found = np.empty(len(offsets) - 1)
    some = max(MARKED // max(len(distinct), 1), 1)
    for start in range(0, len(found), some):
        stop = min(start + some, len(found))
        first, last = np.searchsorted(hits["document"], [start, stop])
        has = np.zeros((stop - start, len(distinct)), np.bool_)
        has[hits["document"][first:last] - start, hits["entry"][first:last]] = True
        found[start:stop] = covered(has[:, places], asked.gram_count) / max(asked.gram_count, 1)
    return found


def covered(starts: Bools, gram_count: int) -> I64:
    """Count the n-grams that lie in passages, for each row; `starts` flags where passages start."""
    grams = gram_count - starts.shape[1] + 1  # of a passage
    changes = np.zeros((len(starts), gram_count + 1), np.int32)
    changes[:, : starts.shape[1]] += starts
    changes[:, grams : grams + starts.shape[1]] -= starts
    return np.asarray(np.count_nonzero(changes.cumsum(axis=1)[:, :-1] > 0, axis=1), np.int64)


def most_covered(rows: I64, positions: I64, gram_count: int, row_count: int) -> I64:
    """Return the largest possible number of a query's n-grams in passages, for each document.

    Document rows[i] has the query's n-gram at positions[i] among its grains; both arrays are sorted
    by row, then by position.  Every window of a passage has a grain, so n-grams far from all grains
    are in no passage.
    """
    if not len(rows):
        return np.zeros(row_count, np.int64)
    reach = WINDOW_GRAMS - 1
    ends = np.flatnonzero(np.diff(rows, append=-1))
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
    gaps = np.minimum(np.diff(positions, prepend=0), 2 * reach + 1)
    gaps[starts] = np.minimum(positions[starts], reach)
    gaps[ends] += np.minimum(gram_count - 1 - positions[ends], reach) + 1
    return np.bincount(rows, gaps, minlength=row_count).astype(np.int64)


def spans_of(
    asked: ContainmentQuery, query: str, document: str, winnower: Winnower
) -> list[SharedSpan]:
    """Return the passages that a query and a document share, in the order of the query.

    They are extended across up to three changed words in a row.
    """
    offsets, words = winnower.words([document], errors="replace")
    length = asked.passage_words
    own = kernel.ngrams(np.array([0, len(asked.words)]), asked.words, length)[1]
    order = np.argsort(own, kind="stable")
    distinct, firsts = np.unique(own[order], return_index=True)
    hits = kernel.Ngrams(distinct).find(offsets, words, [length])
    entries = hits["entry"].astype(np.int64)
    counts = np.minimum(np.diff(np.append(firsts, len(own)))[entries], PLACES_MOST)
    items = order[ranges(firsts[entries], counts)]
    documents = np.repeat(hits["position"].astype(np.int64), counts)
    runs = _runs(documents, items, length)
    pair, bounds = np.zeros((1, 2), np.int64), np.array([0, len(runs)])
    both = (offsets, words), (np.array([0, len(asked.words)]), asked.words)
    passages = kernel.align(*both, pair, bounds, runs)
    places = winnower.places(query), winnower.places(document)
    return sorted(
        SharedSpan(
            int(places[0][each["item_start"]][0]),
            int(places[0][each["item_stop"] - 1][1]),
            int(places[1][each["document_start"]][0]),
            int(places[1][each["document_stop"] - 1][1]),
        )
        for each in passages
    )


def _runs(documents: I64, items: I64, length: int) -> I64:
    """Join shared sequences of `length` words into the longest shared sequences: int64[r, 3].

    Sequences are joined if both positions advance together.  A row has the position in the
    document, the position in the query and the number of words; rows are sorted by the query.
    """
    order = np.lexsort((items, documents - items))
    documents, items = documents[order], items[order]
    is_first = np.ones(len(items), np.bool_)
    shifts = documents - items
    is_first[1:] = (shifts[1:] != shifts[:-1]) | (items[1:] > items[:-1] + length)
    firsts = np.flatnonzero(is_first)
    lasts = np.append(firsts[1:], len(items))[: len(firsts)] - 1
    runs = np.stack(
        [documents[firsts], items[firsts], items[lasts] + length - items[firsts]], axis=1
    )
    return runs[np.lexsort((runs[:, 0], runs[:, 1]))]
