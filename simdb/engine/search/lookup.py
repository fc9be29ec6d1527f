"""Look-up: the stored documents that match given sketches.

The kernel finds candidates by Hamming distance as the plan says; where a similarity is asked, the
stored volatility vectors measure them.  Batches are taken in parts, so that only the matches grow
with their length.
"""

from functools import partial
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.bits import is_set
from simdb.checks import is_one_of, one_of, shown
from simdb.engine.search.measure import find_candidates
from simdb.engine.search.rows import Rows, joined
from simdb.engine.state.view import View
from simdb.errors import InputError, OptionError
from simdb.index.bands import Bands
from simdb.options import METHODS, SIGNED_METHODS, Options
from simdb.plan.question import Criterion
from simdb.reports import Plan
from simdb.signatures import differing
from simdb.storage import layout
from simdb.storage.runs.run import Source
from simdb.values import BARE, EMPTY, WEIGHTED, Match, Matches, Sketches, known, offsets_of

PART_QUERIES = 1 << 17
# Candidates of a measured batch are kept until they are measured, a few dozen for a query.
PART_MEASURED = 1 << 13

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
U32 = npt.NDArray[np.uint32]
F32 = npt.NDArray[np.float32]
# What a query may say: similarity, distance, recall, method.
Asked = tuple[float | None, int | None, float | None, str | None]


def make_criterion(
    options: Options, asked: Asked, *, is_weighted: bool, is_stored: bool = False
) -> Criterion:
    """What a query asks, with the database's defaults for what it leaves open.

    Without either bound, documents with weights are matched by similarity and others by distance.
    """
    similarity, distance, recall, method = asked
    if options.is_signed:
        _check_signed(distance, method)
    if similarity is None and distance is None:
        if is_weighted and options.sketch.vector_bytes:
            similarity = options.similarity
        else:
            distance = options.distance
    if similarity is not None:
        _check_share("similarity", similarity)
        if not is_weighted:
            raise OptionError(
                "similarity= needs a query with weights; a ready fingerprint without weights is"
                " matched by distance="
            )
    if distance is not None and not _is_whole(distance, 64):
        raise OptionError(f"distance is a whole number from 0 to 64, not {shown(distance)}")
    if recall is not None:
        _check_share("recall", recall)
    method = "auto" if method is None else method
    one_of("method", method, SIGNED_METHODS if options.is_signed else METHODS)
    return Criterion(
        similarity,
        distance,
        options.recall if recall is None else recall,
        method,
        is_weighted,
        is_stored,
    )


def _check_signed(distance: object, method: object) -> None:
    """Raise OptionError for what is asked of fingerprints only."""
    if distance is not None:
        raise OptionError(
            "distance= is of fingerprints; a database of MinHash signatures is asked by similarity="
        )
    if is_one_of(method, METHODS) and method not in SIGNED_METHODS:
        raise OptionError(
            f"method={method!r} is of fingerprints; a database of MinHash signatures has"
            f" {', '.join(map(repr, SIGNED_METHODS))}"
        )


def criterion_of(options: Options, sketches: Sketches, asked: Asked) -> Criterion:
    """The criterion for these queries; documents without features go with the others."""
    has_vectors = options.sketch.vector_bytes > 0
    is_bare = bool((sketches.states == BARE).any())
    has_bound = not has_vectors or asked[0] is not None or asked[1] is not None
    if is_bare and not has_bound and (sketches.states == WEIGHTED).any():
        refuse_mixed()
    is_stored = sketches.levels is None
    is_weighted = not is_bare and (has_vectors or not is_stored)
    return make_criterion(options, asked, is_weighted=is_weighted, is_stored=is_stored)


def refuse_mixed() -> NoReturn:
    """Raise InputError: by default some documents would be asked one way and some another."""
    raise InputError(
        "some of these documents have weights and some have not; say similarity= or distance="
    )


def check_limit(limit: int | None) -> None:
    """Raise OptionError unless `limit` is None or a positive whole number."""
    if limit is not None and (not _is_whole(limit, 2**63) or limit < 1):
        raise OptionError(f"limit is a whole number from 1 on, or None, not {shown(limit)}")


def search(
    view: View,
    source: Source,
    sketches: Sketches,
    criterion: Criterion,
    *,
    limit: int | None = None,
    first: bool = False,
    after: U32 | None = None,
    plan: Plan | None = None,
) -> Rows:
    """The matches of every sketch, best first; documents without features match nothing.

    `first`: any one match will do.  `after`: only ordinals greater than after[i] for query i.
    `plan`: how, where that is decided already.
    """
    plan = plan or view.plan(criterion, source)
    is_measured = criterion.similarity is not None
    size = PART_MEASURED if is_measured else PART_QUERIES
    # The kernel gives one candidate only where those need not be measured.
    most = 1 if first and is_measured else None if first else limit
    parts = []
    for start in range(0, max(len(sketches), 1), size):
        part = slice(start, start + size)
        later = None if after is None else after[part]
        taken = sketches.taken(part)
        rows = _search_part(view, source, taken, criterion, plan, first, later, most)
        parts.append(rows if most is None else rows.limited(most))
    return parts[0] if len(parts) == 1 else joined(parts)


def as_matches(view: View, source: Source, rows: Rows) -> Matches:
    """`rows` for the user: ids are copied now and made into objects when asked for."""
    identifiers = view.identifiers(source, rows.ordinals)
    offsets, content = identifiers.gather(rows.ordinals)
    return Matches(
        rows.offsets,
        rows.ordinals,
        rows.distances,
        rows.similarities,
        partial(kernel.decode_ids, offsets, content),
    )


def as_list(view: View, source: Source, rows: Rows) -> list[Match]:
    """The matches of the one query of `rows`."""
    ids = view.identifiers(source, rows.ordinals).decode(rows.ordinals)
    return [
        Match(id, int(distance), known(similarity))
        for id, distance, similarity in zip(ids, rows.distances, rows.similarities, strict=True)
    ]


def bare_rows(view: View, source: Source, bits: U64, plan: Plan, *, first: bool) -> Rows:
    """The matches of ready fingerprints, whose similarities nobody knows."""
    tables = view.tables(source)
    if plan.method == "exhaustive":
        found = tables.scan(bits, distance=plan.distance, first=first, after=None)
    else:
        found = tables.lookup(
            bits, distance=plan.distance, flips=plan.flips, first=first, after=None
        )
    offsets, ordinals, distances = found
    return Rows(offsets, ordinals, distances, np.full(len(ordinals), np.nan, np.float32))


def bit_counts(words: npt.NDArray[np.uint64]) -> U8:
    """How many bits of each word are set: uint8[n]."""
    each = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1)
    return np.asarray(each.sum(axis=1), np.uint8)


def _search_part(
    view: View,
    source: Source,
    sketches: Sketches,
    criterion: Criterion,
    plan: Plan,
    first: bool,
    after: U32 | None,
    most: int | None,
) -> Rows:
    empty = sketches.states == EMPTY
    if empty.any():
        return _without_empty(view, source, sketches, criterion, plan, first, after, most, empty)
    if criterion.similarity is not None:
        if (sketches.states != WEIGHTED).any():
            raise InputError(
                "similarity= was asked of a fingerprint without weights; give its weights, or"
                " ask by distance="
            )
        return _measured(view, source, sketches, criterion, plan, first, after)
    offsets, ordinals, distances = find_candidates(view, source, sketches, plan, first, after)
    rows = Rows(offsets, ordinals, distances, np.empty(len(ordinals), np.float32))
    if most is not None:
        rows = rows.limited(most)
    rows.similarities = _estimates(view, source, sketches, rows.offsets, rows.ordinals)
    return rows


def _without_empty(
    view: View,
    source: Source,
    sketches: Sketches,
    criterion: Criterion,
    plan: Plan,
    first: bool,
    after: U32 | None,
    most: int | None,
    empty: npt.NDArray[np.bool_],
) -> Rows:
    """The matches of the documents that have features; none for the others."""
    asked = np.flatnonzero(~empty)
    later = None if after is None else after[asked]
    rows = _search_part(view, source, sketches.taken(asked), criterion, plan, first, later, most)
    counts = np.zeros(len(sketches), np.int64)
    counts[asked] = np.diff(rows.offsets)
    offsets = offsets_of(counts)
    return Rows(offsets, rows.ordinals, rows.distances, rows.similarities)


def _measured(
    view: View,
    source: Source,
    sketches: Sketches,
    criterion: Criterion,
    plan: Plan,
    first: bool,
    after: U32 | None,
) -> Rows:
    """Matches by similarity, and by distance as well where that is asked; best first."""
    assert criterion.similarity is not None
    if isinstance(view.keying, Bands):
        return _signed(
            view, source, sketches, view.keying, criterion.similarity, plan, first, after
        )
    if plan.distance == 64 and plan.method == "exhaustive":
        offsets, ordinals, similarities = view.vectors(source).scan(
            sketches.vectors,
            similarity=criterion.similarity,
            skip=view.unweighted(source),
            after=after,
        )
        bits = np.repeat(sketches.bits, np.diff(offsets))
        differing = bits ^ view.column(layout.FINGERPRINT, ordinals, source)
        return Rows(offsets, ordinals, bit_counts(differing), similarities)
    offsets, ordinals, distances = find_candidates(view, source, sketches, plan, False, after)
    similarities = _estimates(view, source, sketches, offsets, ordinals)
    rows = Rows(offsets, ordinals, distances, similarities)
    chosen = np.flatnonzero(similarities >= np.float32(criterion.similarity))
    order = np.lexsort(
        (ordinals[chosen], -similarities[chosen].astype(np.float64), rows.queries[chosen])
    )
    return rows.chosen(chosen[order])


def _signed(
    view: View,
    source: Source,
    sketches: Sketches,
    bands: Bands,
    similarity: float,
    plan: Plan,
    first: bool,
    after: U32 | None,
) -> Rows:
    """Matches by signatures, best first."""
    if plan.method == "exhaustive":
        offsets, ordinals, similarities = view.vectors(source).scan(
            sketches.vectors, similarity=similarity, skip=view.unweighted(source), after=after
        )
    else:
        offsets, ordinals, similarities = view.band_tables(source).search(
            sketches.vectors,
            partial(view.signed, source),
            similarity=similarity,
            first=first,
            after=after,
        )
    return Rows(offsets, ordinals, differing(similarities, bands.sketch), similarities)


def _estimates(view: View, source: Source, sketches: Sketches, offsets: I64, ordinals: U32) -> F32:
    """Similarities by stored volatility; NaN where either side has no weights."""
    if not source.width or not (sketches.states == WEIGHTED).any() or not len(ordinals):
        return np.full(len(ordinals), np.nan, np.float32)
    vectors = view.vectors(source, ordinals)
    similarities: F32 = vectors.similarity(sketches.vectors, offsets, ordinals)
    lacking = is_set(view.unweighted(source), ordinals)
    lacking |= np.repeat(sketches.states != WEIGHTED, np.diff(offsets))
    similarities[lacking] = np.nan
    return similarities


def _is_whole(value: object, most: int) -> bool:
    return (
        isinstance(value, int | np.integer)
        and not isinstance(value, bool)
        and 0 <= int(value) <= most
    )


def _check_share(name: str, value: object) -> None:
    is_number = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 1:  # type: ignore[operator]
        raise OptionError(f"{name} is above 0 and at most 1, not {shown(value)}")
