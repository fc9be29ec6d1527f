"""Containment: how much of a text lies in passages that another text has, too.

A passage is a run of at least `PASSAGE_WORDS` words that both texts have; of a shorter query, all
of its words.  The containment of a query in a document is the share of the query's n-grams (runs of
`GRAM_WORDS` words, or all words of a shorter query) that lie in passages.
"""

from typing import NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import ranges
from simdb.core.dtypes import F64, I64, U64, Bools
from simdb.core.matches import SharedSpan
from simdb.sketch.winnowing import PASSAGE_WORDS, WINDOW_GRAMS, Winnower, grams_of, winnow

# The marks of so many runs of the query in documents are in memory at a time.
MARKED = 1 << 22
# Of a run that the query repeats, its first places make spans.
PLACES_MOST = 8


class ContainmentQuery(NamedTuple):
    """A query as words and n-grams.

    `words` in their order; `keys`: the distinct n-grams, ascending; `places`: where n-gram
    i is in `keys`; `is_grain`: which of `keys` are winnowed.
    """

    words: U64
    keys: U64
    places: I64
    is_grain: Bools

    @property
    def gram_count(self) -> int:
        """Number of n-grams."""
        return len(self.places)

    @property
    def passage_words(self) -> int:
        """Words of the shortest passage."""
        return min(len(self.words), PASSAGE_WORDS)


def asked_of(words: U64) -> ContainmentQuery:
    """Return a query from the hashes of its words."""
    bounds, grams = grams_of(np.array([0, len(words)]), words)
    keys, places = np.unique(grams, return_inverse=True)
    # By default numpy 2.0 takes differences of few numbers as signed ones, and these are unsigned.
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
    """Return how many n-grams lie in passages, which start at the flags of each row."""
    grams = gram_count - starts.shape[1] + 1  # of a passage
    changes = np.zeros((len(starts), gram_count + 1), np.int32)
    changes[:, : starts.shape[1]] += starts
    changes[:, grams : grams + starts.shape[1]] -= starts
    return np.asarray(np.count_nonzero(changes.cumsum(axis=1)[:, :-1] > 0, axis=1), np.int64)


def most_covered(rows: I64, positions: I64, gram_count: int, row_count: int) -> I64:
    """Return how many n-grams of a query can lie in passages of each document, at most.

    In row i of `rows` the document has the n-gram at positions[i] among its grains; sorted by row,
    then by position.  Each window of a passage has a grain, so what is further away is in none.
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

    They grow over up to three changed words in a row.
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
    passages = kernel.align(*both, pair, bounds, runs)[0]
    places = winnower.order.places(query), winnower.order.places(document)
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
    """Return the longest runs of equal words: int64[r, 3], of runs of `length` words each.

    A run is where both positions go on together; runs come by their places in the query.
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
