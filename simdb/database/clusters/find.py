"""Clusters: connected components of the matching pairs, or stars around representatives.

Equal documents are linked first, and only one of them is searched for.  So a thousand copies make a
thousand links instead of half a million pairs.  In a search for connected components, documents
that are already connected are not compared.

A rule orders the members of a cluster, and the first member is kept; see `simdb.core.keeping`.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np

from simdb.core import keeping, kernel
from simdb.core.arrays import flags_at, object_array, sorted_unique
from simdb.core.arrow import TextColumn
from simdb.core.checks import one_of
from simdb.core.clusters import Clusters
from simdb.core.dtypes import I64, U32
from simdb.core.errors import OptionError
from simdb.core.reports import Plan
from simdb.core.values import dataclass, replace
from simdb.database.search.buckets import first_equal_rows, grouped
from simdb.database.search.couples import Couples, couples_of, matching, table_of_equals
from simdb.database.search.judge import Judge
from simdb.database.search.lookup import method_of, search
from simdb.database.search.pairs import join_links
from simdb.database.state.documents import stored_sketches
from simdb.database.state.state import State
from simdb.plan import Criterion
from simdb.storage import Bitmap, codec, with_deleted

CONNECTED: Final = "connected"
STAR: Final = "star"
POLICIES = (CONNECTED, STAR)
# The documents of a batch are compared with each other.  This pays if most of them represent
# themselves, so a batch has at most `GROWTH` documents for each representative of the batch before.
BATCH_FIRST = 1 << 6
BATCH_DOCUMENTS = 1 << 11
GROWTH = 8
# Components up to this size are searched together, round by round.
COMPARED_MAX = 256
# Limit on the pairs compared in one step.  A larger number of pairs is looked up in the tables.
COMPARED_PAIRS = 1 << 20
# Limit on the pairs of one step of claiming.  If there are more representatives, steps are
# repeated.
CLAIMED_PAIRS = 1 << 21
BATCH_TEXTS = 1 << 12


def check_policy(policy: object) -> None:
    """Raise OptionError for an unknown policy."""
    one_of("policy", policy, POLICIES)


def find_clusters(
    state: State,
    criterion: Criterion,
    *,
    policy: str = CONNECTED,
    places: U32 | None = None,
    judge: Judge | None = None,
) -> Clusters:
    """Return the groups of two or more live documents by `policy`, one of `POLICIES`.

    `places`: the place of each ordinal in the order of representatives; None orders by ordinal.
    `judge` decides which pairs match; None leaves this to the criterion.  Equal sketches match
    without it.
    """
    if policy == STAR:
        labels = _star_labels(state, criterion, places, judge)
    else:
        labels = connected_labels(state, criterion, judge)
    counts = None if judge is None else judge.counts
    return replace(as_clusters(state, labels, places), verification=counts)


def as_clusters(state: State, labels: U32, places: U32 | None) -> Clusters:
    """Return clusters with the users' ids; `labels`: a member of the cluster of each ordinal."""
    offsets, members = grouped(labels, places)
    ids = object_array(state.identifiers(members).decode(members))
    return Clusters(offsets, ids, measure=state.scale.measure)


def connected_labels(state: State, criterion: Criterion, judge: Judge | None = None) -> U32:
    """Return the lowest ordinal in the component of each ordinal: uint32[next ordinal]."""
    forest, copies, left_out = _linked_copies(state, criterion)
    if len(copies):
        left_out = with_deleted(left_out, copies, state.next_ordinal)
    for _ in join_links(state.without(left_out), criterion, forest, judge):
        pass
    labels: U32 = forest.labels()
    return labels


def _linked_copies(state: State, criterion: Criterion) -> tuple[Any, U32, Bitmap | None]:
    """Join equal documents; return the forest, the copies and the excluded documents.

    The copies are all documents except one of each group of equal documents.
    """
    is_measured = criterion.similarity is not None
    left_out = state.unweighted() if is_measured else state.dead
    forest = kernel.Forest(state.next_ordinal)
    copies = _link_equal(state.without(left_out), forest, is_measured=is_measured)
    return forest, copies, left_out


def _link_equal(state: State, forest: kernel.Forest, *, is_measured: bool) -> U32:
    """Join equal documents; return all except one of each group.

    Equal means equal fingerprints and, if `is_measured`, equal volatility vectors.  (Equal vectors
    have equal fingerprints, as their signs are the bits.)
    """
    table = table_of_equals(state)
    same = table.keys[1:] == table.keys[:-1]
    left, right = table.ordinals[:-1][same], table.ordinals[1:][same]
    if is_measured and len(left):
        sharing = sorted_unique(np.concatenate([left, right]))
        vectors = state.vectors(sharing).gather(sharing)
        first = sharing[first_equal_rows(vectors)]
        is_copy = first != sharing
        left, right = first[is_copy], sharing[is_copy]
    forest.join(left, right)
    copies: U32 = right
    return copies


def _star_labels(
    state: State, criterion: Criterion, places: U32 | None, judge: Judge | None
) -> U32:
    """Return the representative of each ordinal.

    The first of equal documents in the order represents all, since copies have the same matches.
    """
    forest, _, left_out = _linked_copies(state, criterion)
    equal = forest.labels()
    every = np.arange(state.next_ordinal, dtype=np.uint32)
    first_equal = equal if places is None else _first_of_each(equal, places)
    left_out = with_deleted(left_out, every[first_equal != every], state.next_ordinal)
    distinct = state.without(left_out)
    # Planned first, to refuse at once a method that cannot search for single documents.
    plan = distinct.plan(criterion)
    components = kernel.Forest(state.next_ordinal)
    for _ in join_links(distinct, criterion, components, judge):
        pass
    stars = _Stars(distinct, criterion, plan, judge)
    stars.find(*grouped(components.labels(), places))
    return stars.owners[first_equal]


def _first_of_each(labels: U32, places: U32) -> U32:
    """Return for each ordinal the first ordinal in the order with the same label: uint32[n]."""
    firsts = np.full(len(labels), len(labels), np.uint32)
    np.minimum.at(firsts, labels, places)
    ordinals = np.empty(len(places), np.uint32)
    ordinals[places] = np.arange(len(places), dtype=np.uint32)
    return ordinals[firsts[labels]]


class _Stars:
    """A search for stars.

    `owners` uint32[next ordinal]: the representative of each ordinal, by default itself.
    """

    def __init__(self, state: State, criterion: Criterion, plan: Plan, judge: Judge | None) -> None:
        """Begin with every document as its own representative.

        `plan`: a plan for single documents, used in large components.  `judge` decides which pairs
        match; None leaves this to the criterion.
        """
        self._state, self._criterion, self._plan, self._judge = state, criterion, plan, judge
        self.owners = np.arange(state.next_ordinal, dtype=np.uint32)
        self._is_left = np.zeros(state.next_ordinal, np.bool_)  # of a large component

    def find(self, offsets: I64, members: U32) -> None:
        """Find the stars of components; component i is members[offsets[i]:offsets[i + 1]]."""
        sizes = np.diff(offsets)
        for component in np.flatnonzero(sizes > COMPARED_MAX).tolist():
            self._find_in(members[offsets[component] : offsets[component + 1]])
        small = np.flatnonzero(sizes <= COMPARED_MAX)
        portion = np.cumsum(sizes[small]) // COMPARED_PAIRS
        for chosen in np.split(small, np.flatnonzero(np.diff(portion)) + 1):
            self._find_in_each([members[offsets[at] : offsets[at + 1]] for at in chosen])

    def _find_in_each(self, components: list[U32]) -> None:
        """Find the stars of small components together.

        In each round, the first remaining document of each component is compared with the rest of
        it.
        """
        left = np.concatenate([np.empty(0, np.uint32), *components])
        of_each = np.repeat(np.arange(len(components)), [len(each) for each in components])
        while len(left):
            firsts = np.flatnonzero(np.diff(of_each, prepend=-1))
            is_member = np.ones(len(left), np.bool_)
            is_member[firsts] = False
            leaders = np.repeat(left[firsts], np.diff(firsts, append=len(left)))[is_member]
            left, of_each = left[is_member], of_each[is_member]
            found = self._matching(leaders, left)
            self.owners[found.right] = found.left
            is_left = self.owners[left] == left
            left, of_each = left[is_left], of_each[is_left]

    def _find_in(self, ordered: U32) -> None:
        """Find the stars of one large component."""
        self._is_left[ordered] = True
        size = BATCH_FIRST
        for start in range(0, len(ordered), BATCH_DOCUMENTS):
            window = ordered[start : start + BATCH_DOCUMENTS]
            while len(batch := window[self._is_left[window]][:size]):
                self.owners[batch] = batch[self._within(batch)]
                self._is_left[batch] = False
                leaders = batch[self.owners[batch] == batch]
                size = max(BATCH_FIRST, GROWTH * len(leaders))
                rest = ordered[start:]
                some = max(BATCH_FIRST, CLAIMED_PAIRS // len(rest))
                for first in range(0, len(leaders), some):
                    found = self._claimed(leaders[first : first + some], rest)
                    # Pairs are in the order of their representatives, so the first claim counts.
                    joined, firsts = np.unique(found.right, return_index=True)
                    self.owners[joined] = found.left[firsts]
                    self._is_left[joined] = False

    def _claimed(self, leaders: U32, ordered: U32) -> Couples:
        """Return the matches of `leaders` among the remaining `ordered`, leader by leader."""
        if len(leaders) * len(ordered) <= COMPARED_PAIRS:
            left = ordered[self._is_left[ordered]]
            return self._matching(np.repeat(leaders, len(left)), np.tile(left, len(leaders)))
        sketches = stored_sketches(self._state, leaders)
        rows = search(self._state, sketches, self._criterion, plan=self._plan)
        return self._kept(couples_of(leaders, rows).taken(self._is_left[rows.ordinals]))

    def _matching(self, left: U32, right: U32) -> Couples:
        """Return the given pairs that match."""
        return self._kept(matching(self._state, self._criterion, left, right))

    def _kept(self, couples: Couples) -> Couples:
        return couples if self._judge is None else self._judge.kept(self._state, couples)

    def _within(self, batch: U32) -> I64:
        """Return the position in `batch` of the representative of each of its documents."""
        owners, judge = np.arange(len(batch)), self._judge
        among = method_of(self._state, self._plan).links_among
        assert among is not None, "every method that finds matches compares a few documents"
        for couples in among(self._state, self._criterion, self._plan, batch):
            if judge is not None:
                stored = replace(couples, left=batch[couples.left], right=batch[couples.right])
                known = judge.measured(self._state, stored)
                couples = couples.taken(known.similarities >= np.float32(judge.least))
            _claim(owners, couples.left, couples.right)
        return owners


def _claim(owners: I64, left: U32, right: U32) -> None:
    """Make documents of `left` that represent themselves the representatives of their matches.

    A match in `right` that already has a representative keeps it.  Pairs are in the order of
    `left`, so the representative of a document is final before its own pairs begin.
    """
    bounds = [*np.flatnonzero(np.diff(left, prepend=-1)), len(left)]
    for start, stop in pairwise(bounds):
        leader = left[start]
        if owners[leader] == leader:
            claimed = right[start:stop]
            owners[claimed[owners[claimed] == claimed]] = leader


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """A known order, used instead of a rule: the place of each ordinal, uint32[n]."""

    of_each: U32


def check_keep(keep: object, *, has_texts: bool) -> None:
    """Raise OptionError if `keep` is not a rule, or needs texts although `has_texts` is False."""
    if isinstance(keep, Places):
        return
    rule = keeping.parse(keep)
    if rule.kind in keeping.BY_SIZE and not has_texts:
        raise OptionError(
            f"keep={keep!r} compares texts, and this database stores none; give texts=, use"
            " Options(texts=True), or store sizes as metadata and give keep='max:FIELD' or"
            " 'min:FIELD'"
        )


def places_by(state: State, keep: "keeping.Keep | Places", judge: Judge | None) -> U32 | None:
    """Return the place of every ordinal in the order by `keep`: uint32[next ordinal].

    Returns None for the order of insertion.  `keep` can be `Places`.  `judge` has the texts.
    Raises OptionError if no live document has the field of a rule, and InputError if values cannot
    be compared.
    """
    if isinstance(keep, Places):
        return keep.of_each
    rule, count = keeping.parse(keep), state.next_ordinal
    if rule.kind == keeping.FIRST:
        return None
    order = keeping.order_of(
        rule, count,
        sizes=lambda: _sizes(state, judge), values=lambda: _values(state, rule, keep),
        where=lambda ordinal: f"document {state.id_of(ordinal)!r}",
    )  # fmt: skip
    places = np.empty(count, np.uint32)
    places[order] = np.arange(count, dtype=np.uint32)
    return places


def _values(state: State, rule: keeping.KeepRule, keep: keeping.Keep) -> Sequence[Any]:
    """Return the value that a rule compares for each ordinal; None for deleted documents."""
    get = partial(_field, rule.field) if isinstance(keep, str) else keep
    values: list[Any] = [None] * state.next_ordinal
    is_left = flags_at(state.live(), state.next_ordinal)
    for ordinal, packed in state.all_metadata():
        if is_left[ordinal]:
            is_left[ordinal] = False
            values[ordinal] = get(codec.unpack(packed, f"metadata of ordinal {ordinal}"))
    for ordinal in np.flatnonzero(is_left).tolist():
        values[ordinal] = get(None)
    if isinstance(keep, str) and len(state.live()) and all(map(keeping.is_missing, values)):
        raise keeping.no_value(rule)
    return values


def _field(name: str, metadata: Any) -> Any:
    return metadata.get(name) if isinstance(metadata, dict) else None


def _sizes(state: State, judge: Judge | None) -> I64:
    """Return the size in UTF-8 of the text of every ordinal, in bytes; -1 if it is not known."""
    read = State.texts if judge is None else judge.texts  # check_keep refuses a rule without texts
    sizes = np.full(state.next_ordinal, -1, np.int64)
    live = state.live()
    for start in range(0, len(live), BATCH_TEXTS):
        some = live[start : start + BATCH_TEXTS]
        texts = read(state, some)
        if isinstance(texts, TextColumn):
            sizes[some] = texts.lengths
        else:
            sizes[some] = list(map(_size, texts))
    return sizes


def _size(text: Any) -> int:
    """Return the bytes of a text or of all its tokens; -1 for None."""
    if text is None:
        return -1
    if isinstance(text, str):
        return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return len(text) if isinstance(text, bytes) else sum(map(_size, text))
