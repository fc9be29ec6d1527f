"""Conflicts: decides what happens to documents whose ids are stored or appear twice in one call.

There are four rules.  "same" accepts a document with the sketch of the stored one, and refuses any
other.  "skip" keeps the stored document, "replace" deletes it first, and "error" refuses.  A call
does the same as one call for each document, in order, except that "replace" deletes all stored
documents before the first claim is looked up.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from simdb.core.arrays import EMPTY, NO_BYTES, WEIGHTED, PackedBytes, Sketches, sorted_unique
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.checks import one_of, shown
from simdb.core.dtypes import I64, U32, Array
from simdb.core.errors import ExistsError, InputError
from simdb.database.search.method import estimates
from simdb.database.search.rows import Rows
from simdb.database.state import incoming
from simdb.database.state.documents import stored_sketches
from simdb.database.state.incoming import EncodedIds, chosen_batch
from simdb.database.state.state import State
from simdb.database.write.staging import Staging
from simdb.storage import ANY_CODE, FieldValues, StoredBatch, codes_of, is_deleted, layout
from simdb.storage.metadata import NO_METADATA

SAME, SKIP, REPLACE, ERROR = "same", "skip", "replace", "error"
RULES = (SAME, SKIP, REPLACE, ERROR)
REMEDY = "on_conflict='replace' replaces stored documents, 'skip' keeps them"


class Arriving(NamedTuple):
    """The documents of one call, before they are sketched.

    `metadata`: position and stored form, for each document with metadata.  `existing`: the ordinal
    of the stored document with the same id, -1 if there is none.  `rule`: what to do if there is
    one.
    """

    ids: EncodedIds
    metadata: list[tuple[int, bytes]]
    existing: I64
    rule: str


def check_rule(on_conflict: object) -> None:
    """Raise OptionError unless `on_conflict` is a rule."""
    one_of("on_conflict", on_conflict, RULES)


def arriving(state: State, ids: Any, metadata: Any, rule: str, values: FieldValues) -> Arriving:
    """Return the ids (see `as_ids`) and metadata of one call, checked and in their stored form.

    With the rule "error", raises InputError for an id that appears twice, and ExistsError for a
    stored one.  With any rule, raises ExistsError for the id of a stored document without these
    `values` of fields.
    """
    encoded = EncodedIds(ids, state.counts.id_key)
    if rule == ERROR:
        encoded.check_distinct()
    return arriving_in(state, encoded, incoming.pack_all(metadata, encoded), rule, values)


def arriving_in(
    state: State, ids: EncodedIds, packed: list[tuple[int, bytes]], rule: str, values: FieldValues
) -> Arriving:
    """Return documents with ids and metadata in their stored form; see `arriving`."""
    existing = state.find(ids.offsets, ids.content, ids.hashes)
    taken = np.flatnonzero(existing >= 0)
    if values:
        left_out = None, state.codes(), state.wanted(values)
        for at in taken[is_deleted(left_out, existing[taken].astype(np.uint32))].tolist():
            raise ExistsError(
                f"the id {shown(ids[at])} belongs to a document with other values of fields than"
                " where= says; choose ids that differ between tenants"
            )
    if len(taken) and rule == ERROR:
        raise ExistsError(
            f"a document with the id {shown(ids[int(taken[0])])} is stored already"
            f" ({len(taken)} of {len(ids)} ids are); {REMEDY}"
        )
    return Arriving(ids, packed, existing, rule)


def to_insert(state: State, given: Arriving, sketches: Sketches) -> tuple[I64, U32]:
    """Return the positions of the documents to insert, and the ordinals to delete before.

    Of several documents with one id, "replace" inserts the last, "skip" and "same" the first.
    """
    ids, _, existing, rule = given
    taken, count = np.flatnonzero(existing >= 0), len(ids)
    none = np.empty(0, np.uint32)
    if not len(taken) and not ids.previous:
        return np.arange(count), none
    left_out = np.zeros(count, np.bool_)
    if rule == REPLACE:
        left_out[list(ids.previous.values())] = True
        return np.flatnonzero(~left_out), sorted_unique(existing[taken]).astype(np.uint32)
    again = np.array(list(ids.previous), np.int64)
    if rule == SAME:
        stored = stored_sketches(state, existing[taken].astype(np.uint32))
        _check_same(ids, taken, sketches.taken(taken), stored)
        earlier = np.array(list(ids.previous.values()), np.int64)
        _check_same(ids, again, sketches.taken(again), sketches.taken(earlier))
    left_out[taken] = left_out[again] = True
    return np.flatnonzero(~left_out), none


def delete_all(staging: Staging, state: State, ordinals: U32) -> None:
    """Delete some live documents."""
    if len(ordinals):
        staging.delete(ordinals, state.column(layout.STATE, ordinals))


def check_claimed(state: State, given: Arriving, values: FieldValues) -> None:
    """Raise InputError unless claimed documents have `values` in their metadata."""
    if not values:
        return
    ids, metadata, *_ = given
    fields, wanted, key = state.store.options.fields, state.wanted(values), state.counts.id_key
    codes = codes_of(metadata, fields, len(ids), key, lambda at: f"document {ids[at]!r}")
    for at in np.flatnonzero(((codes != wanted) & (wanted != ANY_CODE)).any(axis=1)).tolist():
        raise InputError(
            f"document {ids[at]!r} has other values of fields in its metadata than where= says, so"
            " later claims would not see it; give equal values"
        )


def revive(
    staging: Staging,
    base: State,
    state: State,
    batch: StoredBatch,
    metadata: list[tuple[int, bytes]],
) -> I64:
    """Undo the deletion of documents that return with the same sketches; return their positions.

    `metadata` replaces their metadata.  Positions are in `batch`.  `base`: the committed state.
    """
    found = base.find(batch.offsets, batch.content, batch.hashes)
    places = np.flatnonzero(found >= 0)
    places = places[is_deleted(staging.dead, found[places].astype(np.uint32))]
    sketches = Sketches(batch.fingerprints, batch.vectors, batch.states).taken(places)
    ordinals = found[places].astype(np.uint32)
    is_same = np.ones(len(places), np.bool_)
    is_same[_differing(sketches, stored_sketches(base, ordinals))] = False
    for column in staging.staged_columns:
        given: PackedBytes | None = getattr(batch.extras, column.what)
        order = np.argsort(ordinals)
        stored = base.beside(column, ordinals[order])
        for at, place in enumerate(order):
            own = NO_BYTES if given is None else given.taken(places[place : place + 1])
            is_same[place] &= np.array_equal(own.values, stored.taken([at]).values)
    places, ordinals = places[is_same], ordinals[is_same]
    if len(places):
        staging.revive(ordinals, base.column(layout.STATE, ordinals))
        known, new = state.metadata_of_many(ordinals.tolist()), dict(metadata)
        for at, ordinal in zip(places.tolist(), ordinals.tolist(), strict=True):
            packed = new.get(at, NO_METADATA)
            if packed != known.get(ordinal, NO_METADATA):
                staging.change_metadata(ordinal, packed, state.id_of(ordinal))
    return places


class StoredGroup(NamedTuple):
    """The documents of a group whose ids are stored: their stored form, and their matches.

    Each document matches the stored one with its id.
    """

    stored: StoredBatch
    rows: Rows


class Conflicts:
    """The conflicts of one call that claims documents; groups of documents are decided in order."""

    def __init__(self, given: Arriving, values: FieldValues = ()) -> None:
        """Take the documents of one call; with the rule "error", none has a stored id.

        `values`: values of fields; only documents with these are searched.
        """
        self._ids, self.metadata, self._existing, self._rule = given
        self.values = values
        self._again = list(given.ids.previous)

    def chosen(self, current: Callable[[int], State]) -> Callable[..., State]:
        """Return a function that enters the current state, with only the searched documents."""
        return lambda threads=1: current(threads).choose(self.values)

    @property
    def unstored(self) -> I64:
        """The positions in the call of documents whose ids are not stored, or no longer."""
        return np.flatnonzero(self._existing < 0)

    def begin(self, staging: Staging, state: State) -> None:
        """Delete the stored documents that are replaced."""
        if self._rule == REPLACE:
            ordinals = sorted_unique(self._existing[self._existing >= 0]).astype(np.uint32)
            delete_all(staging, state, ordinals)
            self._existing = np.full(len(self._ids), -1, np.int64)

    def groups(self, first: int, most: int) -> Iterator[tuple[int, int]]:
        """Yield the starts and stops of groups, no id twice in each.

        The first group has at most `first` documents.  The limit doubles from group to group, up to
        `most`.  If documents are replaced, a group begins with each id that appeared before.
        """
        start, size, count = 0, min(first, most), len(self._ids)
        for at, earlier in [*self._ids.previous.items(), (count, -1)]:
            while start + size <= at:
                yield start, start + size
                start, size = start + size, min(2 * size, most)
            if start < at and (at == count or earlier >= start or self._rule == REPLACE):
                yield start, at
                start = at
        if not count:
            yield 0, 0

    def settled(
        self, staging: Staging, current: Callable[[], State], start: int, part: StoredBatch
    ) -> tuple[I64, StoredGroup | None]:
        """Return the positions of documents in a group without a stored id, and the rest or None.

        `start`: the position of the group in the call.
        """
        existing = self._existing[start : start + len(part)]
        first = bisect_left(self._again, start)
        if first < len(self._again) and self._again[first] < start + len(part):
            existing = current().find(part.offsets, part.content, part.hashes)
        own = np.flatnonzero(existing >= 0)
        if not len(own):
            return np.arange(len(part)), None
        ordinals = existing[own].astype(np.uint32)
        if self._rule == REPLACE:
            delete_all(staging, current(), ordinals)
            return np.arange(len(part)), None
        state = current()
        sketches = Sketches(part.fingerprints, part.vectors, part.states).taken(own)
        stored = stored_sketches(state, ordinals)
        if self._rule == SAME:
            _check_same(self._ids, start + own, sketches, stored)
        offsets = np.arange(len(own) + 1)
        similarities = estimates(state, sketches, offsets, ordinals)
        is_wide = state.store.options.is_wide
        differing = _distances(sketches, stored, is_wide=is_wide)
        rows = Rows(offsets, ordinals, differing, similarities)
        kept = replace(
            chosen_batch(part, own),
            fingerprints=stored.bits, vectors=stored.vectors, states=stored.states,
        )  # fmt: skip
        return np.flatnonzero(existing < 0), StoredGroup(kept, rows)


def _distances(given: Sketches, stored: Sketches, *, is_wide: bool) -> Array:
    """Return the number of bits in which each document differs from the stored one with its id.

    `is_wide`: the documents are hashes, stored whole in their vectors.  Bits of a document without
    features mean nothing, so it differs from any other document in all of them.
    """
    distances: Array
    if is_wide:
        distances = np.bitwise_count(given.vectors ^ stored.vectors).sum(axis=1, dtype=np.uint16)
    else:
        distances = np.bitwise_count(given.bits ^ stored.bits)
    is_empty, was_empty = given.states == EMPTY, stored.states == EMPTY
    distances[is_empty & was_empty] = 0
    distances[is_empty != was_empty] = FINGERPRINT_BITS
    return distances


def _check_same(ids: EncodedIds, positions: I64, given: Sketches, stored: Sketches) -> None:
    """Raise ExistsError for the first document whose sketch differs from the stored one."""
    other = _differing(given, stored)
    if len(other):
        id = ids[int(positions[other[0]])]
        raise ExistsError(
            f"a different document with the id {shown(id)} is stored already ({len(other)} of"
            f" {len(ids)} documents differ from the stored ones); {REMEDY}"
        )


def _differing(given: Sketches, stored: Sketches) -> I64:
    """Return the positions of documents whose sketches differ from the stored ones."""
    is_empty = (given.states == EMPTY) & (stored.states == EMPTY)
    same = (given.bits == stored.bits) & (given.states == stored.states)
    weighted = np.flatnonzero(same & (given.states == WEIGHTED))
    same[weighted] = (given.vectors[weighted] == stored.vectors[weighted]).all(axis=1)
    return np.flatnonzero(~same & ~is_empty)
