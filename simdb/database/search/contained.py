"""Containment: questions with `contained=`, and the documents that share grains with a query.

Without texts the containment is estimated: it is the share of the query's grains that the document
has.  With texts it is measured, for each document that can have enough by its grains.

If m of the n grains of a document must be shared, a match lacks at most n - m of them.  So any
n - m + 1 grains find every match, and a search for all pairs looks up only the rarest grains of
each document.  This is prefix filtering (Chaudhuri, Ganti and Kaushik 2006).  A part that very many
documents share, such as a footer, costs nothing unless it is much of the document.  Documents are
taken in blocks, whose grains are in memory: the grains of a left block are looked up in one right
block after the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from simdb.core import arrays, checks, kernel
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.decoding import all_texts, as_texts
from simdb.core.dtypes import F32, F64, I64, U8, U32, U64, Bools
from simdb.core.errors import InputError, OptionError
from simdb.core.matches import Matches, PairArrays, SharedSpan
from simdb.core.reports import Plan
from simdb.database.search.couples import as_pairs, compared
from simdb.database.search.filters import check_filters, exact_value
from simdb.database.search.judge import Reader, reader_of
from simdb.database.search.lookup import as_matches
from simdb.database.search.method import estimates
from simdb.database.search.pairs import FoundPairs
from simdb.database.search.question import Question, check_limit
from simdb.database.search.rows import Rows
from simdb.database.search.searcher import (
    Queries,
    Searcher,
    StateMatches,
    in_order,
    merged_matches,
    parts_by_ids,
    stored_queries,
)
from simdb.database.state.documents import known_ordinals, known_texts
from simdb.database.state.state import Origin, State
from simdb.database.state.store import Store
from simdb.database.state.view import FINGERPRINTS
from simdb.sketch import (
    WINDOW_GRAMS,
    ContainmentQuery,
    Winnower,
    asked_of,
    containments,
    most_covered,
    spans_of,
)
from simdb.storage import GrainsByOrdinal, is_deleted, layout, metadata as records

OTHERS = ("similarity", "distance", "recall", "search")
BATCH_TEXTS = 256
BATCH_GRAMS = 1 << 18
# An n-gram in fewer documents than this is always looked up.
COMMON_LEAST = 64
# Candidates that are found in one step, before duplicates are dropped, and compared in one step.
BATCH_FOUND = 1 << 20
BATCH_COMPARED = 1 << 16
# Documents that are measured by their texts before their pairs are yielded.
BATCH_MEASURED = 256
Spans = tuple[SharedSpan, ...] | None


class ContainedQuestion(NamedTuple):
    """The arguments of a query by containment; `given` has the limit and the filters.

    `least`: the least containment of a match.  `texts`: reads the texts of documents; None to
    estimate by grains.  `is_of_many`: whether there is a list of queries, whose positions
    `given.accept` also takes.
    """

    winnower: Winnower
    least: float
    texts: Reader | None
    given: Question
    is_of_many: bool


class _Query(NamedTuple):
    """A text as a query, or a stored document: its n-grams, or only its grains, and the text.

    `store` and `ordinal`: where it is stored; None for a text.
    """

    asked: ContainmentQuery | None
    grains: U64
    text: Any = None
    store: Origin | None = None
    ordinal: int | None = None


def question_of(store: Store, question: Question, *, is_of_many: bool) -> ContainedQuestion:
    """Return the question; raise OptionError if arguments conflict, or if there are no passages."""
    contained, texts = question.contained, question.texts
    if question.verify is not None:
        raise OptionError(
            "verify= does not apply to contained=, which texts= measures and grains estimate; leave"
            " out verify="
        )
    if contained is None:
        raise OptionError("texts= measures containment: give contained= as well")
    checks.share("contained", contained)
    given = [name for name in OTHERS if getattr(question, name) is not None]
    if given:
        raise OptionError(
            f"{given[0]}= does not apply to contained=, which looks for shared passages; give one"
            " of the two"
        )
    is_known = texts is not None or store.options.texts
    read = reader_of(texts, store.options) if is_known else None
    winnower = store.winnower
    if winnower is None:
        raise OptionError(
            f"{store.environment.path} has no passages; create a database with"
            " Options(passages=True), simdb create --passages, and insert the texts there"
        )
    check_limit(question.limit)
    check_filters(store.options, question.where, question.accept)
    return ContainedQuestion(winnower, float(contained), read, question, is_of_many)


def find(searcher: Searcher, queries: Queries, question: ContainedQuestion) -> Matches[Any]:
    """Return the documents that contain each of some texts, or stored documents."""
    if (queries.documents is None) == (queries.ids is None):
        raise InputError("a query needs either a document or the id= of a stored document")
    every: Sequence[_Query]
    if queries.ids is None:
        how = queries.how
        arrays.check_many(queries.documents, "documents")
        texts: Sequence[Any] = all_texts(queries.documents, how.encoding, how.errors)
        sketches = how.sketcher.sketch(texts, errors=how.errors)
        every = _of_texts(texts, question, how.errors)
    else:
        sketches, _ = stored_queries(searcher, queries.ids)
        every = _of_stored(searcher, queries.ids, question)
    answers = searcher.every(partial(_find, every, sketches, question))
    at = np.arange(len(sketches))
    parts = [StateMatches(number, at, found) for number, found in answers]
    return merged_matches(len(sketches), parts, None, limit=question.given.limit)


def _find(
    queries: Sequence[_Query], sketches: arrays.Sketches, question: ContainedQuestion, state: State
) -> Matches[Any]:
    """Return the documents of one state that contain each query."""
    every: list[tuple[ContainedDocuments, list[Spans]]] = []
    for at, query in enumerate(queries):
        own = query.ordinal if query.store is state.store else None
        if question.texts is None:
            found = estimated(state, query.grains, question.least)
            found = found if own is None else found.chosen(found.ordinals != own)
        else:
            assert query.asked is not None
            found = measured(state, query.asked, question, own)
        kept = _kept(state, found, question, at)
        every.append((kept, _spans(kept, query.asked, query.text, question.winnower)))
    return _matches(state, sketches, every)


class ContainedDocuments(NamedTuple):
    """Documents with their containments, best first, and the texts that were read, by ordinal."""

    ordinals: U32
    containments: F64
    texts: dict[int, Any]

    def best(self) -> "ContainedDocuments":
        """Return the documents best first, and equally good ones in the order of insertion."""
        order = np.lexsort((self.ordinals, -self.containments))
        return ContainedDocuments(self.ordinals[order], self.containments[order], self.texts)

    def chosen(self, which: Any) -> "ContainedDocuments":
        """Return the documents that `which`, a mask, a slice or positions, selects."""
        return ContainedDocuments(self.ordinals[which], self.containments[which], self.texts)


def estimated(state: State, grains: U64, least: float) -> ContainedDocuments:
    """Return the documents with a share of at least `least` of some grains, and at least one.

    `grains` ascend strictly.
    """
    ordinals = state.passages().find(grains, state.source)[1]
    distinct, counts = np.unique(ordinals, return_counts=True)
    state.check_known(distinct)
    found = ContainedDocuments(distinct, counts / max(len(grains), 1), {})
    is_meant = (found.containments >= least) & ~is_deleted(state.left_out, distinct)
    return found.chosen(is_meant).best()


def measured(
    state: State, asked: ContainmentQuery, question: ContainedQuestion, left_out: int | None
) -> ContainedDocuments:
    """Return the documents that contain enough of a query, measured by their texts.

    If a text is not known, the estimate counts.  The texts of documents that cannot contain enough
    are not read.  `left_out`: the ordinal of the query itself.
    """
    assert question.texts is not None
    distinct, most = _possible(state, asked, question.least)
    is_meant = ~is_deleted(state.left_out, distinct)
    if left_out is not None:
        is_meant &= distinct != left_out
    distinct, most = distinct[is_meant], most[is_meant]
    order = np.argsort(-most, kind="stable")
    limit, where, accept = question.given[4:7]
    enough = limit if where is None and accept is None else None
    values = np.zeros(len(distinct))
    best = order[:0]  # at most `enough` documents, best first
    estimates: F64 | None = None
    texts: dict[int, Any] = {}
    for start in range(0, len(order), BATCH_TEXTS):
        part = order[start : start + BATCH_TEXTS]
        if len(best) == enough:
            last, following = best[-1], part[0]
            # Equally good documents are in the order of insertion.
            if (values[last], following) > (most[following], last):
                break
        part = np.sort(part)
        read = texts_of(question.texts, state, distinct[part])
        known = [at for at, text in zip(part.tolist(), read, strict=True) if text is not None]
        kept = [text for text in read if text is not None]
        if len(kept) < len(read):
            estimates = _estimates_of(state, asked, distinct) if estimates is None else estimates
            values[part] = estimates[part]
        values[known] = containments(asked, *question.winnower.words(kept, errors="replace"))
        read_now = zip(known, kept, strict=True)
        texts |= {at: text for at, text in read_now if values[at] >= question.least}
        if enough:
            best = np.concatenate([best, part])
            best = best[np.lexsort((best, -values[best]))[:enough]]
            texts = {at: texts[at] for at in best.tolist() if at in texts}
    texts = {int(distinct[at]): text for at, text in texts.items()}
    found = ContainedDocuments(distinct, values, texts)
    return found.chosen((values >= question.least) & (values > 0)).best()


def texts_of(texts: Reader, state: State, ordinals: U32) -> Sequence[Any]:
    """Return the texts of documents, None if unknown.

    Raises InputError for a value that is not text.
    """
    read = list(as_texts(texts(state, ordinals), errors="replace"))
    for ordinal, text in zip(ordinals.tolist(), read, strict=True):
        if text is not None and not isinstance(text, str):
            id, kind = state.id_of(ordinal), type(text).__name__
            raise InputError(f"texts= must return a str for {id!r}, got {kind}")
    return read


def _possible(state: State, asked: ContainmentQuery, least: float) -> tuple[U32, F64]:
    """Return the documents, deleted or not, that can contain enough, and their upper bounds.

    The most common n-grams of the query are not looked up, as long as they are not enough together.
    """
    passages, source = state.passages(), state.source
    counts = passages.counts(asked.keys, source)
    is_common = _common(asked, counts, least)
    rare = np.flatnonzero(~is_common & (counts > 0))
    keys, ordinals = passages.find(asked.keys[rare], source)
    state.check_known(ordinals)
    distinct, rows = np.unique(ordinals, return_inverse=True)
    common = np.flatnonzero(is_common & (counts > 0))
    found = arrays.Ragged(
        arrays.offsets_of(np.bincount(rows)), rare[keys[np.argsort(rows, kind="stable")]]
    )
    some = max(BATCH_GRAMS // (len(common) + len(keys) // max(len(distinct), 1) + 1), 1)
    parts = (found.taken(slice(at, at + some)) for at in range(0, len(distinct), some))
    reached = [np.zeros(0, np.int64), *(_most(asked, part, common) for part in parts)]
    most = np.concatenate(reached) / max(asked.gram_count, 1)
    is_possible = most >= least
    return distinct[is_possible], most[is_possible]


def _most(asked: ContainmentQuery, found: arrays.Ragged[np.int64], common: I64) -> I64:
    """Return the largest number of n-grams of the query that each document can have.

    `found`: the grains of each document that were looked up; it may also have all `common` ones.
    """
    count = len(found)
    keys = np.concatenate([found.values, np.tile(common, count)])
    rows = np.repeat(np.arange(count), np.diff(found.offsets))
    rows = np.concatenate([rows, np.repeat(np.arange(count), len(common))])
    order = np.argsort(asked.places, kind="stable")
    firsts = np.searchsorted(asked.places[order], np.arange(len(asked.keys) + 1))
    sizes = np.diff(firsts)[keys]
    positions = order[arrays.ranges(firsts[keys], sizes)]
    owners = np.repeat(rows, sizes)
    by_row = np.lexsort((positions, owners))
    return most_covered(owners[by_row], positions[by_row], asked.gram_count, count)


def _common(asked: ContainmentQuery, counts: I64, least: float) -> Bools:
    """Return a mask of the query's n-grams that are too common to be looked up.

    A document that has only these has less than `least` of the query.
    """
    is_common = np.zeros(len(counts), np.bool_)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] >= COMMON_LEAST]
    reached = np.zeros(asked.gram_count, np.bool_)
    for key in order.tolist():
        for place in np.flatnonzero(asked.places == key).tolist():
            reached[max(place - WINDOW_GRAMS + 1, 0) : place + WINDOW_GRAMS] = True
        if np.count_nonzero(reached) >= least * asked.gram_count:
            break
        is_common[key] = True
    return is_common


def _estimates_of(state: State, asked: ContainmentQuery, ordinals: U32) -> F64:
    """Return the estimated containments of a query in some documents, whose ordinals ascend."""
    found = estimated(state, asked.keys[asked.is_grain], 0.0)
    values = dict(zip(found.ordinals.tolist(), found.containments.tolist(), strict=True))
    return np.array([values.get(ordinal, 0.0) for ordinal in ordinals.tolist()])


def _of_texts(texts: Sequence[Any], question: ContainedQuestion, errors: str) -> list[_Query]:
    """Return texts as queries."""
    offsets, words = question.winnower.words(texts, errors=errors)
    every = [asked_of(words[first:stop]) for first, stop in pairwise(offsets.tolist())]
    return [
        _Query(asked, asked.keys[asked.is_grain], text)
        for asked, text in zip(every, texts, strict=True)
    ]


def _of_stored(searcher: Searcher, ids: list[Any], question: ContainedQuestion) -> list[_Query]:
    """Return stored documents as queries, which do not find themselves."""
    stored: list[_Query] = in_order(parts_by_ids(searcher, ids, _stored))
    if question.texts is None:
        return stored
    read = partial(texts_of, question.texts)
    texts = in_order(parts_by_ids(searcher, ids, partial(known_texts, read=read)))
    for id, text in zip(ids, texts, strict=True):
        if not isinstance(text, str):
            raise InputError(f"texts= has no text of {id!r}, which is the query; got {text!r:.50}")
    return [
        each._replace(store=own.store, ordinal=own.ordinal)
        for each, own in zip(_of_texts(texts, question, "replace"), stored, strict=True)
    ]


def _stored(state: State, ids: list[Any]) -> list[_Query]:
    """Return documents of one state as queries by their grains."""
    ordinals = known_ordinals(state, ids)
    distinct, places = np.unique(ordinals, return_inverse=True)
    grains = state.passages().grains_of(distinct, state.source)
    return [
        _Query(
            None, grains.values[grains.offsets[at] : grains.offsets[at + 1]],
            store=state.store, ordinal=ordinal,
        )
        for ordinal, at in zip(ordinals.tolist(), places.tolist(), strict=True)
    ]  # fmt: skip


def _kept(
    state: State, found: ContainedDocuments, question: ContainedQuestion, query: int
) -> ContainedDocuments:
    """Return the first documents, up to the limit, that the caller's functions accept.

    A number that `accept` returns is the exact containment.
    """
    limit, where, accept = question.given[4:7]
    if where is None and accept is None:
        return found.chosen(slice(limit))
    values = found.containments.copy()
    chosen: list[int] = []
    ids = state.identifiers(found.ordinals).decode(found.ordinals) if accept else []
    enough = limit if accept is None else None
    for at, ordinal in enumerate(found.ordinals.tolist()):
        if len(chosen) == enough:
            break
        if where is not None:
            packed = state.metadata_of_many([ordinal])
            if not where(records.unpacked(packed, ordinal)):
                continue
        if accept is not None:
            of_query = (query,) if question.is_of_many else ()
            verdict = accept(*of_query, ids[at])
            if not isinstance(verdict, bool | np.bool_):
                values[at] = exact_value(verdict, ids[at], "containment")
                verdict = values[at] >= question.least
            if not verdict:
                continue
        chosen.append(at)
    passed = ContainedDocuments(found.ordinals, values, found.texts)
    return passed.chosen(np.array(chosen, np.int64)).best().chosen(slice(limit))


def _spans(
    found: ContainedDocuments, asked: ContainmentQuery | None, text: Any, winnower: Winnower
) -> list[Spans]:
    """Return the shared passages of each document whose text was read; None for the rest."""
    if asked is None:
        return [None] * len(found.ordinals)
    known = [found.texts.get(ordinal) for ordinal in found.ordinals.tolist()]
    return [
        None if other is None else tuple(spans_of(asked, text, other, winnower)) for other in known
    ]


def _matches(
    state: State, sketches: arrays.Sketches, every: list[tuple[ContainedDocuments, list[Spans]]]
) -> Matches[Any]:
    """Return the documents found as `Matches`, with the distances and similarities of sketches."""
    none = np.empty(0, np.uint32), np.empty(0)
    ordinals = np.concatenate([none[0], *(found.ordinals for found, _ in every)])
    offsets = arrays.offsets_of([len(found.ordinals) for found, _ in every])
    rows = Rows(offsets, ordinals, *_compared(state, sketches, offsets, ordinals))
    matches = as_matches(state, rows)
    matches.containments = np.concatenate([none[1], *(found.containments for found, _ in every)])
    matches.spans = [each for _, spans in every for each in spans]
    return matches


def _compared(
    state: State, sketches: arrays.Sketches, offsets: Any, ordinals: U32
) -> tuple[U8, F32]:
    """Return distances and similarities of queries and the documents found, by their sketches."""
    similarities = estimates(state, sketches, offsets, ordinals)
    queries = np.repeat(np.arange(len(sketches)), np.diff(offsets))
    if not len(ordinals):
        return np.empty(0, np.uint8), similarities
    if state.kind.stores != FINGERPRINTS:
        distances = state.vectors(ordinals).distances(similarities)
        return distances, similarities
    bits = state.column(layout.FINGERPRINT, ordinals)
    distances = np.bitwise_count(sketches.bits[queries] ^ bits)
    is_empty = sketches.states[queries] == arrays.EMPTY
    distances[is_empty | (state.column(layout.STATE, ordinals) == arrays.EMPTY)] = FINGERPRINT_BITS
    return distances, similarities


class _Block(NamedTuple):
    """The grains of live documents: document i is `ordinals`[i].

    `keys`: all grains, ascending; `places` uint32: where each of them is in `grains`.
    """

    ordinals: U32
    grains: arrays.Grains
    keys: U64
    places: U32

    @property
    def owners(self) -> I64:
        """The document of each grain: int64[k]."""
        return np.repeat(np.arange(len(self.ordinals)), np.diff(self.grains.offsets))


PLAN = Plan(
    method="passages", tables=0, flips=0, probes=0, distance=FINGERPRINT_BITS, similarity=None,
    recall=1.0, cost_seconds=0.0,
    reason="the rarest grains of each document are looked up among those of all others",
)  # fmt: skip


def pairs_of(state: State, question: ContainedQuestion) -> FoundPairs:
    """Return the pairs whose left document is contained in the right one."""
    if question.texts is None:
        found = _estimated_pairs(state, question.least)
    else:
        found = _measured_pairs(state, question)
    chunks = (_pairs(state, *each) for each in found)
    return FoundPairs(chunks, PLAN, state.scale.measure, None, question.least)


def _pairs(state: State, left: U32, right: U32, values: F64) -> PairArrays:
    found = as_pairs(state, compared(state, left, right))
    return replace(found, containment=values)


def needed(counts: I64, least: float) -> I64:
    """Return, for each of `counts`, the least number of items that makes a share of `least`."""
    some = np.maximum(np.ceil(least * counts), 1)
    some[(some > 1) & ((some - 1) / np.maximum(counts, 1) >= least)] -= 1
    return np.asarray(some + (some / np.maximum(counts, 1) < least), np.int64)


def _measured_pairs(state: State, question: ContainedQuestion) -> Iterator[tuple[U32, U32, F64]]:
    """Yield the pairs by texts: each document is a query by its text."""
    assert question.texts is not None
    live = state.live()
    for start in range(0, len(live), BATCH_MEASURED):
        part = live[start : start + BATCH_MEASURED]
        texts = texts_of(question.texts, state, part)
        if any(text is None for text in texts):
            missing = next(at for at, text in enumerate(texts) if text is None)
            (id,) = state.identifiers(part).decode(part[missing : missing + 1])
            raise InputError(f"texts= has no text of {id!r}; find_all needs all texts")
        offsets, words = question.winnower.words(texts, errors="replace")
        lefts, rights, values = [], [np.empty(0, np.uint32)], [np.empty(0)]
        for at, ordinal in enumerate(part.tolist()):
            asked = asked_of(words[offsets[at] : offsets[at + 1]])
            found = measured(state, asked, question, ordinal)
            lefts += [ordinal] * len(found.ordinals)
            rights.append(found.ordinals)
            values.append(found.containments)
        if lefts:
            yield np.array(lefts, np.uint32), np.concatenate(rights), np.concatenate(values)


def _estimated_pairs(state: State, least: float) -> Iterator[tuple[U32, U32, F64]]:
    """Yield the pairs, estimated by their grains."""
    stored, stop = state.passages(), state.next_ordinal
    lefts, rights = (GrainsByOrdinal(stored, stop, state.source) for _ in range(2))
    size = lefts.block_documents
    for start in range(0, stop, size):
        left = _block(state, lefts, start, min(start + size, stop))
        is_new = arrays.is_first(left.keys)
        counts = stored.counts(left.keys[is_new], state.source)
        chosen = _rarest(left, counts[np.cumsum(is_new) - 1], least)
        for other in range(0, stop, size):
            right = left if other == start else None
            if right is None:
                right = _block(state, rights, other, min(other + size, stop))
            for first, second in _candidates(left, chosen, right):
                values = _shares(left, first, right, second)
                is_match = values >= least
                if is_match.any():
                    both = left.ordinals[first[is_match]], right.ordinals[second[is_match]]
                    yield *both, values[is_match]


def _block(state: State, grains: GrainsByOrdinal, start: int, stop: int) -> _Block:
    every = np.arange(start, stop, dtype=np.uint32)
    live = np.flatnonzero(~is_deleted(state.left_out, every))
    own = grains.grains(start, stop).taken(live)
    keys, places = own.values.copy(), np.arange(len(own.values), dtype=np.uint32)
    kernel.sort(keys, places)
    return _Block(every[live], own, keys, places)


def _rarest(left: _Block, counts: I64, least: float) -> Bools:
    """Return a mask of the grains that each document looks up: bool for each grain.

    `counts`: the number of documents with each of the ascending `left.keys`.
    """
    owners, sizes = left.owners, np.diff(left.grains.offsets)
    ranked = owners.astype(np.uint64) << np.uint64(32)
    ranked[left.places] |= counts.astype(np.uint64)
    order = np.arange(len(owners), dtype=np.uint32)
    kernel.sort(ranked, order)  # stable
    most = sizes - needed(sizes, least) + 1
    ranks = np.arange(len(owners)) - left.grains.offsets[:-1][owners]
    is_chosen = np.zeros(len(owners), np.bool_)
    is_chosen[order] = ranks < most[owners]
    return is_chosen


def _candidates(left: _Block, is_chosen: Bools, right: _Block) -> Iterator[tuple[I64, I64]]:
    """Yield each pair of documents of two blocks that share a chosen grain once, by position."""
    owners = right.owners[right.places]
    is_wanted = is_chosen[left.places]
    wanted, places = left.keys[is_wanted], left.places[is_wanted]
    firsts = np.zeros((2, len(is_chosen)), np.int64)
    firsts[0, places] = np.searchsorted(right.keys, wanted)
    firsts[1, places] = np.searchsorted(right.keys, wanted, side="right")
    starts, stops = firsts[:, is_chosen]
    lefts, sizes = left.owners[is_chosen], stops - starts
    if not len(lefts):
        return
    # All grains of a document are in one part, and so are its pairs.
    of_each = np.bincount(lefts, sizes, minlength=len(left.ordinals)).astype(np.int64)
    parts = (np.cumsum(of_each) - of_each) // BATCH_FOUND
    bounds = np.flatnonzero(np.diff(parts[lefts], prepend=-1)).tolist()
    for first, last in zip(bounds, [*bounds[1:], len(lefts)], strict=True):
        at = arrays.ranges(starts[first:last], sizes[first:last])
        pairs = np.repeat(lefts[first:last], sizes[first:last]) << 32 | owners[at]
        pairs.sort()
        pairs = pairs[arrays.is_first(pairs)]
        some, others = pairs >> 32, pairs & (2**32 - 1)
        is_other = left.ordinals[some] != right.ordinals[others]
        some, others = some[is_other], others[is_other]
        for start in range(0, len(some), BATCH_COMPARED):
            stop = start + BATCH_COMPARED
            yield some[start:stop], others[start:stop]


def _shares(left: _Block, first: I64, right: _Block, second: I64) -> F64:
    """Return the share of the grains of each left document that its right document has."""
    asked = left.grains.taken(first)
    sizes = np.diff(asked.offsets)
    low = np.repeat(right.grains.offsets[second], sizes)
    stop = np.repeat(right.grains.offsets[second + 1], sizes)
    high, hashes = stop.copy(), right.grains.values
    while (low < high).any():  # a binary search in the grains of each right document at once
        middle = (low + high) >> 1
        is_less = (low < high) & (hashes[np.minimum(middle, len(hashes) - 1)] < asked.values)
        high = np.where(is_less | (low >= high), high, middle)
        low = np.where(is_less, middle + 1, low)
    is_shared = low < stop
    is_shared[is_shared] = hashes[low[is_shared]] == asked.values[is_shared]
    pairs = np.repeat(np.arange(len(first)), sizes)
    return np.bincount(pairs[is_shared], minlength=len(first)) / np.maximum(sizes, 1)
