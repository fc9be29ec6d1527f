"""Judge: decides which candidates match, by the exact similarity of their texts.

An estimate that is a little too low must not lose a match.  So the search keeps candidates below
the threshold, and their texts are compared.  Texts are stored, or the caller gives them in batches,
for the candidates only.  If a text is missing, its stored features are compared.  Without features,
the estimate counts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import sqrt
from typing import Any, Final, TypeAlias

import numpy as np

from simdb.core.arrays import Id, IdT
from simdb.core.checks import one_of, shown
from simdb.core.decoding import as_texts
from simdb.core.dtypes import F32, I64, U32, U64
from simdb.core.errors import OptionError
from simdb.core.matches import Verification
from simdb.core.options import AUTO, Options
from simdb.core.values import dataclass, replace
from simdb.database.search.couples import Couples
from simdb.database.search.filters import by_ids
from simdb.database.search.question import Question, of_pairs
from simdb.database.state.state import State
from simdb.plan import Criterion
from simdb.sketch import ExactPairs, ExactSimilarity, RecurringPairs, gram_sketch
from simdb.storage import by_ordinal

ESTIMATE: Final = "estimate"
EXACT: Final = "exact"
NUMBERS: Final = "numbers"  # exact, and both texts have the same numbers
VERIFICATIONS = (ESTIMATE, EXACT, NUMBERS)
# Distances below the threshold, in standard deviations of an estimate.  Tables are searched for
# candidates down to the first, and a candidate that is found counts down to the second.  Estimates
# have heavier tails than a normal variable: about one in 100 is beyond 3, and of 195,000 pairs none
# was beyond 5.  To find all pairs, the third distance replaces both.
SEARCHED_DEVIATIONS, KEPT_DEVIATIONS, CERTAIN_DEVIATIONS = 0.5, 5.0, 8.0
# Recall of candidates in a search for all pairs, if their texts or features are compared.
EXACT_RECALL = 0.9999
# Limit on the remembered pairs, of 12 bytes each.
REMEMBERED_MOST = 1 << 20

# From ordinals to texts; None in place of a text that is not known.
Reader = Callable[[State, U32], Sequence[Any]]


class Remembered:
    """A memory of the exact similarities of the first `most` pairs of documents that are added.

    It is valid as long as no document changes.
    """

    def __init__(self, most: int = REMEMBERED_MOST) -> None:
        """Begin without pairs."""
        self._room = most
        self._added: list[tuple[U64, F32]] = []
        self._keys, self._values = np.empty(0, np.uint64), np.empty(0, np.float32)

    def add(self, left: U32, right: U32, values: F32) -> None:
        """Add pairs of ordinals with their similarities."""
        if self._room and len(values):
            self._added.append((_keys(left, right)[: self._room], values[: self._room]))
            self._room -= len(self._added[-1][1])

    def find(self, left: U32, right: U32) -> F32:
        """Return the similarity of each pair; NaN if it is not known."""
        if self._added:
            keys, values = zip((self._keys, self._values), *self._added, strict=True)
            self._keys, first = np.unique(np.concatenate(keys), return_index=True)
            self._values = np.concatenate(values)[first]
            self._added.clear()
        found = np.full(len(left), np.nan, np.float32)
        if len(self._keys):
            wanted = _keys(left, right)
            at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            is_known = self._keys[at] == wanted
            found[is_known] = self._values[at[is_known]]
        return found


def _keys(left: U32, right: U32) -> U64:
    """Return a key for each pair that does not depend on the order of its documents."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    return low.astype(np.uint64) << np.uint64(32) | high


@dataclass(frozen=True, slots=True)
class TextsByOrdinal:
    """The texts of documents that a caller stored in order, starting at the ordinal `first`.

    `texts` returns them for ascending positions uint32[n], counted from `first`.  Texts of earlier
    documents come from `earlier`, a function as `texts=` takes it; None if they are not known.
    `remembered` keeps exact similarities, which saves reading texts again; None reads them again.
    """

    texts: Callable[[U32], Sequence[Any]]
    first: int = 0
    earlier: Callable[[list[Id]], Sequence[Any]] | None = None
    remembered: Remembered | None = None

    def read(self, state: State, ordinals: U32) -> Sequence[Any]:
        """Return the texts of documents, given by ascending ordinals."""
        count = int(np.searchsorted(ordinals, self.first))
        own = self.texts(ordinals[count:] - np.uint32(self.first))
        if not count:
            return own
        if self.earlier is None:
            return [*[None] * count, *own]
        before = ordinals[:count]
        return [*self.earlier(list(state.identifiers(before).decode(before))), *own]


Texts: TypeAlias = Mapping[IdT, Any] | Callable[[list[IdT]], Sequence[Any]] | TextsByOrdinal


class Judge:
    """A judge of candidates; `counts` has the counts of its decisions."""

    def __init__(
        self,
        exact: ExactSimilarity,
        texts: Reader,
        least: float,
        remembered: Remembered | None = None,
        *,
        has_features: bool = False,
        only_estimates: bool = False,
    ) -> None:
        """Accept pairs with an exact similarity of `least` or more.

        `remembered`: see `TextsByOrdinal`.  `has_features`: stored features are compared if texts
        are not known.  `only_estimates`: neither texts nor features are known of any document.
        """
        self.least, self.only_estimates = least, only_estimates
        self.counts = Verification(exact.measure, least)
        self.is_directed = exact.lose is not None  # the left document of a pair is removed
        self._exact = exact
        self.texts = texts
        self._remembered = Remembered(0) if remembered is None else remembered
        self._pairs: ExactPairs | RecurringPairs = ExactPairs(exact)
        self._has_features = has_features

    def hold(self) -> None:
        """Keep the features of compared documents in memory, since each will be in many pairs."""
        self._pairs = RecurringPairs(self._exact)

    def kept(self, state: State, couples: Couples) -> Couples:
        """Return the pairs that match, with their exact similarities."""
        if not len(couples):
            return couples
        known = self.measured(state, couples)
        return known.taken(known.similarities >= np.float32(self.least))

    def measured(self, state: State, couples: Couples, texts: Reader | None = None) -> Couples:
        """Return all pairs with exact similarities, or with estimated ones if a text is missing.

        `texts`: a reader to use in place of the judge's own.
        """
        values = state.scale.shown(couples.similarities)
        if self.only_estimates:
            self.counts.unknown += len(couples)
            return replace(couples, similarities=values)
        is_match = values >= np.float32(self.least)
        if self.is_directed:
            values[:] = 0  # an unknown pair removes no document
        for chosen, exact in self._decided(state, couples, texts or self.texts):
            is_known = ~np.isnan(exact)
            values[chosen[is_known]] = exact[is_known]
            self.counts.judged += int(np.count_nonzero(is_known))
            self.counts.unknown += int(np.count_nonzero(~is_known))
        is_other = is_match != (values >= np.float32(self.least))
        self.counts.overruled += int(np.count_nonzero(is_other))
        return replace(couples, similarities=values)

    def _decided(self, state: State, couples: Couples, texts: Reader) -> Iterator[tuple[I64, F32]]:
        """Yield positions of some pairs and their exact similarities, NaN if a text is missing."""
        sides = couples.left, couples.right
        left, right = sides[::-1] if self.is_directed else sides
        order = self._pairs.ordered(left, right)
        known = self._remembered.find(left[order], right[order])
        is_new = np.isnan(known)
        yield order[~is_new], known[~is_new]
        read, own = partial(texts, state), partial(state.beside, by_ordinal.FEATURES)
        features = own if self._has_features else None
        parts = self._pairs.parts(read, left, right, order[is_new], state.threads, features)
        for chosen, exact in parts:
            yield chosen, exact
            is_decided = ~np.isnan(exact)
            some = chosen[is_decided]
            self._remembered.add(left[some], right[some], exact[is_decided])


def check_verification(verify: object, texts: object, options: Options | None = None) -> bool:
    """Return whether texts or stored features are compared, and not estimates alone.

    They are compared if there are any, unless `verify` is "estimate".  `options`: the options of
    the database; None if it stores neither.  Raises OptionError if texts must be compared and there
    are none, or if an argument is invalid.
    """
    is_decided = options is not None and options.decides
    if verify is not None:
        one_of("verify", verify, VERIFICATIONS)
    if options is not None and options.is_hashes and (texts or verify not in (None, ESTIMATE)):
        what = "texts=" if texts else f"verify={verify!r}"
        raise OptionError(f"{what} compares texts, and this database has hashes; leave it out")
    decides: tuple[str | None, ...] = (None, ESTIMATE)
    if options is not None:
        decides += (EXACT,) * options.decides + (NUMBERS,) * options.texts
    if texts is None and verify in decides:
        return is_decided and verify != ESTIMATE
    if not isinstance(texts, Mapping | TextsByOrdinal) and not callable(texts):
        others = "" if is_decided else ", or a database with Options(texts=True)"
        raise OptionError(
            "texts must be a mapping from id to text, or a function that takes a list of ids and"
            f" returns their texts; verify={EXACT if verify is None else verify!r} needs them"
            f"{'' if verify == NUMBERS else others}; got {shown(texts)}"
        )
    return verify != ESTIMATE


def judge_of(state: State, question: Question, texts: Texts | None) -> Judge:
    """Return the judge with the exact threshold asked for, or the default of the database.

    The default is an estimate; the judge's threshold is the similarity that it stands for.
    `texts`: None if none is known.
    """
    options = state.store.options
    exact = state.store.exact_similarity(compares_numbers=question.verify == NUMBERS)
    exact.lose = question.lose
    least = question.similarity
    least = options.similarity_in(state.scale.measure) if least is None else least
    remembered = texts.remembered if isinstance(texts, TextsByOrdinal) else None
    has_features = options.features and not exact.compares_numbers
    return Judge(
        exact, reader_of(texts, options), least, remembered, has_features=has_features,
        only_estimates=texts is None and not (has_features or options.texts),
    )  # fmt: skip


def judging(
    state: State, criterion: Criterion, question: Question, texts: Texts | None, *, is_exact: bool
) -> tuple[Criterion, Judge | None]:
    """Return the criterion of candidates, and the judge that decides which match, or None.

    `is_exact`: the result of `check_verification`.
    """
    sketch, has_bound = state.store.options.sketch, criterion.similarity is not None
    is_known = is_exact and has_bound and (texts is not None or state.store.options.decides)
    if question.lose is not None and not (is_known and sketch == gram_sketch(sketch)):
        raise OptionError(
            "rule='contained' needs a database of word 3-grams, with Options(features=True)"
        )
    if not is_exact or (texts, question.verify, criterion.similarity) == (None, None, None):
        return criterion, None  # texts and features say nothing about distances
    judge = judge_of(state, question, texts)
    return candidates_of(state.store.options, criterion, judge), judge


def for_pairs(
    state: State, question: Question, texts: Texts | None, *, is_exact: bool
) -> tuple[Criterion, Judge | None]:
    """Return the criterion and the judge for all pairs of stored documents; see `judging`.

    Without a given recall, it is `EXACT_RECALL`, since all pairs are found together, unless bands
    or a named method limit it.
    """
    options = state.store.options
    criterion = of_pairs(options, state.counts, question)
    is_free = question.recall is None and criterion.method == AUTO and not options.is_minhash
    if is_exact and is_free and criterion.similarity is not None:
        criterion = replace(criterion, recall=max(criterion.recall, EXACT_RECALL))
    criterion, judge = judging(state, criterion, question, texts, is_exact=is_exact)
    if judge is not None:
        judge.hold()
    return criterion, judge


def candidates_of(options: Options, criterion: Criterion, judge: Judge) -> Criterion:
    """Return the criterion by which candidates for `judge` are found.

    Raises OptionError for a criterion without similarity.
    """
    if criterion.similarity is None:
        raise OptionError(
            "verify='exact' decides by similarity; give similarity= (besides distance=, if you"
            " want both), or leave out verify="
        )
    searched, floor = candidate_similarities(options, judge.least, criterion.recall)
    decided = options.scale.compared(judge.least)
    if judge.only_estimates:
        # Candidates that only texts could confirm need not be found.
        searched = floor = decided
    return replace(criterion, similarity=searched, floor=floor, asked=judge.least, decided=decided)


def candidate_similarities(options: Options, least: float, recall: float) -> tuple[float, float]:
    """Return the similarity that tables are searched for, and the least similarity of candidates.

    `least`: the least similarity of documents that match.  With the `recall` 1.0 both are equal,
    and so low that no match is below.  Both are on the scale of the kernel.
    """
    scale = options.scale
    estimated = scale.to_cosine(least)
    deviation = estimate_deviation(options, estimated)
    far = (SEARCHED_DEVIATIONS, KEPT_DEVIATIONS) if recall < 1 else (CERTAIN_DEVIATIONS,) * 2
    searched, floor = (
        scale.compared(scale.from_cosine(max(estimated - each * deviation, 0.01))) for each in far
    )
    return searched, floor


def estimate_deviation(options: Options, similarity: float) -> float:
    """Return the standard deviation of an estimate of a similarity.

    Each of d weights is a normal variable, so the cosine of d pairs of them varies by
    (1 - c^2) / sqrt(d).  A minimum of b bits agrees with probability p = j + (1 - j) / 2^b.  The
    share of agreeing minima is the estimate of p, and so gives j (Li & Koenig 2010, section 2.1).
    """
    sketch: Any = options.sketch
    if options.is_minhash:
        agreeing = similarity + (1 - similarity) * sketch.chance
        return sqrt(agreeing * (1 - agreeing) / sketch.permutations) / float(1 - sketch.chance)
    return float((1 - similarity**2) / sqrt(sketch.dimensions))


def reader_of(texts: Texts | None, options: Options) -> Reader:
    """Return the function from ordinals to texts: given texts, otherwise stored ones, if any."""
    if texts is None:
        return State.texts if options.texts else lambda state, ordinals: [None] * len(ordinals)
    given = _reader_of_given(texts)

    def read(state: State, ordinals: U32) -> Sequence[Any]:
        found = list(given(state, ordinals))
        missing = np.array([at for at, text in enumerate(found) if text is None], np.int64)
        for at, text in zip(missing.tolist(), state.texts(ordinals[missing]), strict=True):
            found[at] = text
        return found

    return read if options.texts else given


def _reader_of_given(texts: Texts) -> Reader:
    """Return the function from ordinals to the texts that the caller has."""
    if isinstance(texts, TextsByOrdinal):
        return texts.read
    get = by_ids("texts", texts)

    def read(state: State, ordinals: U32) -> Sequence[Any]:
        found: Sequence[Any] = as_texts(
            get(list(state.identifiers(ordinals).decode(ordinals))), errors="replace"
        )
        return found

    return read
