"""Storing: stages the documents of a writing verb, which runs alone in its transaction."""

from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Sketches, check_many, sorted_unique
from simdb.core.decoding import as_texts, known_encoding
from simdb.core.dtypes import U32
from simdb.core.matches import Match, Matches
from simdb.core.progress import Progress
from simdb.core.skipped import Skipped, part_of
from simdb.core.threads import thread_count
from simdb.database import search
from simdb.database.search import lookup
from simdb.database.search.filters import Where, satisfying
from simdb.database.search.question import Question, criterion_of
from simdb.database.state import incoming
from simdb.database.state.documents import find_ids
from simdb.database.state.state import State
from simdb.database.write import claim as claims, conflicts
from simdb.database.write.claim import refereed
from simdb.database.write.write_state import WriteState
from simdb.storage import FieldValues

if TYPE_CHECKING:
    from simdb.database.search.judge import Texts
    from simdb.database.search.many import QueryBatch
    from simdb.database.state.store import Store


# The ordinal of a document that is not stored.
NOT_STORED = np.full(1, -1)


class Call(NamedTuple):
    """The arguments of a call that stores documents, as the caller gave them."""

    ids: Any
    documents: Any
    metadata: Any
    on_conflict: str
    encoding: str
    errors: str
    threads: int | None = 1
    progress: Progress | None = None
    skipped: Skipped = Skipped()
    values: FieldValues = ()

    def sketching(self, store: "Store") -> incoming.Sketching:
        """Return the settings by which the documents become sketches of a database."""
        threads = thread_count(self.threads)
        return incoming.Sketching(
            store.sketcher, self.errors, threads, self.encoding, store.beside,
            fields=store.options.fields,
        )  # fmt: skip


def insert_one(writing: WriteState, call: Call) -> None:
    """Stage the only document of a call."""
    conflicts.check_rule(call.on_conflict)
    form = kernel.encode_ids(call.ids, writing.staging.id_key)
    if not writing.staging.lacks(form):
        insert(writing, call)
        return
    packed = incoming.pack_all(call.metadata, call.ids)
    sketches = _sketch_one(writing, call)
    writing.staging.insert(incoming.batch_of_one(form, sketches), packed)


def insert(writing: WriteState, call: Call) -> int:
    """Stage the documents of a call; return the number of documents to store."""
    whole = _checked(call)
    call = _readable(writing, whole)
    given, sketches = _sketched(writing, call, call.progress)
    staging, state = writing.staging, writing.current()
    chosen, replaced = conflicts.to_insert(state, given, sketches)
    batch, packed = incoming.make_batch(given.ids, sketches), given.metadata
    count, is_back = len(chosen), np.zeros(len(batch), np.bool_)
    if staging.may_revive:
        is_back[conflicts.revive(staging, writing.base(), state, batch, packed)] = True
    conflicts.delete_all(staging, state, replaced)
    chosen = chosen[~is_back[chosen]]
    if len(chosen) < len(batch):
        batch, packed = incoming.chosen_batch(batch, chosen), incoming.moved(packed, chosen)
    if len(batch):
        staging.insert(batch, packed)
    if len(call.skipped):
        call.skipped.named(incoming.as_list(whole.ids, "ids"))
    return count


def claim_one(writing: WriteState, call: Call, question: Question) -> Match | None:
    """Stage the only document of a call if it is new; otherwise return its best match."""
    conflicts.check_rule(call.on_conflict)
    store, staging = writing.store, writing.staging
    form = kernel.encode_ids(call.ids, staging.id_key)
    packed = incoming.pack_all(call.metadata, call.ids)
    is_stored = not staging.lacks(form) and writing.current().find(*form)[0] >= 0
    if is_stored or store.options.decides:
        found = claim(writing, call, question)
        return found[0][0] if found[0] else None
    state = writing.current().choose(call.values)
    given = conflicts.Arriving(call.ids, packed, NOT_STORED, call.on_conflict)
    conflicts.check_claimed(state, given, call.values)
    sketches = _sketch_one(writing, call)
    criterion = criterion_of(store.options, sketches, question, staging.content)
    batch = incoming.batch_of_one(form, sketches)
    sketches = Sketches(batch.fingerprints, batch.vectors, batch.states)
    best = search.one.best_match(state, sketches, criterion, among=claims.MATCHES_ENOUGH)
    if best is None:
        staging.insert(batch, packed)
    else:
        staging.see(find_ids(state, [best.id]).astype(np.uint32))
    return best


def claim(
    writing: WriteState, call: Call, question: Question, texts: "Texts[Any] | None" = None
) -> Matches[Any]:
    """Stage the new documents of a call; return the best match of each of the rest."""
    call = whole = _checked(call)
    is_exact = search.judge.check_verification(question.verify, texts, writing.store.options)
    if is_exact:
        check_many(call.documents, "documents")
        every = incoming.listed_documents(call.documents)
        call = call._replace(documents=every)
    call = _readable(writing, call, is_read_again=is_exact)
    if is_exact:
        call = call._replace(documents=as_texts(call.documents, call.encoding, call.errors))
    given, sketches = _sketched(writing, call)
    criterion, referee = refereed(
        writing.current(), sketches, call.documents, question, texts, is_exact=is_exact
    )
    batch = incoming.make_batch(given.ids, sketches)
    decided = conflicts.Conflicts(given, call.values)
    conflicts.check_claimed(writing.current(), given, call.values)
    found = claims.add_new(writing, batch, criterion, decided, call.progress, referee)
    return _spread(found, whole)


def insert_batch(writing: WriteState, call: Call, batch: "QueryBatch") -> Matches[Any]:
    """Find the matches of the documents of a call among those stored before, then stage all."""
    whole, store = _checked(call), writing.store
    call = _readable(writing, whole, is_read_again=True)
    given, state = _arriving(writing, call), writing.current(writing.staging.threads)
    how = call.sketching(store)._replace(threads=state.threads)
    size = batch.query_count(store.width)
    slices = incoming.sketch_slices(how, call.documents, size, len(given.ids))
    rows, sketches = search.many.match_batch(state, slices, batch, call.progress)
    matches = lookup.as_matches(state, rows)
    if len(given.ids):
        writing.staging.settle(sketches)
        writing.staging.insert(incoming.make_batch(given.ids, sketches), given.metadata)
    return _spread(matches, whole)


def delete_ids(writing: WriteState, ids: Iterable[Any]) -> int:
    """Delete the documents with these ids; return their number.  Unknown ids are ignored."""
    state = writing.current()
    found = find_ids(state, incoming.as_list(ids, "ids"))
    ordinals = sorted_unique(found[found >= 0]).astype(np.uint32)
    return delete_where(writing, state, ordinals, None)


def delete_where(writing: WriteState, state: State, ordinals: U32, where: Where | None) -> int:
    """Delete some documents, or only the ones that satisfy `where`; return their number."""
    if where is not None:
        ordinals = satisfying(state, ordinals, where)
    conflicts.delete_all(writing.staging, state, ordinals)
    return len(ordinals)


def _checked(call: Call) -> Call:
    """Return a call with ids from `as_ids`; OptionError or InputError for invalid arguments."""
    conflicts.check_rule(call.on_conflict)
    ids, documents = incoming.both_columns(call.ids, call.documents)
    given, threads = incoming.as_ids(ids), thread_count(call.threads)
    encoding = known_encoding(call.encoding)
    return call._replace(ids=given, documents=documents, encoding=encoding, threads=threads)


def _readable(writing: WriteState, call: Call, *, is_read_again: bool = False) -> Call:
    """Return a call with only the readable documents, if it may skip the rest.

    Sketches replace its documents, unless these are read again.
    """
    skipped = call.skipped
    if not skipped.is_allowed:
        return call
    documents = incoming.listed_documents(call.documents) if is_read_again else call.documents
    how, given = call.sketching(writing.store), (call.ids, documents, call.metadata)
    ids, sketches, metadata = incoming.readable(how, given, skipped, call.progress)
    if is_read_again:
        rows = np.flatnonzero(~skipped.flags(len(documents)))
        return call._replace(ids=ids, metadata=metadata, documents=part_of(documents, rows))
    return call._replace(ids=ids, metadata=metadata, documents=sketches)


def _spread(found: Matches[Any], whole: Call) -> Matches[Any]:
    """Return matches with a row for each document of the `whole` call."""
    skipped = whole.skipped
    return skipped.spread(found, incoming.as_list(whole.ids, "ids") if len(skipped) else None)


def _sketch_one(writing: WriteState, call: Call) -> Sketches:
    beside, errors = writing.store.beside, call.errors
    documents, is_hashes = call.documents, writing.store.options.is_hashes
    encoding = known_encoding(call.encoding, is_hashes=is_hashes)
    if not is_hashes:
        documents = as_texts(documents, encoding, errors)
    sketches = writing.store.sketcher.sketch(documents, errors=errors)
    writing.staging.settle(sketches)
    return sketches if beside is None else beside.added(sketches, documents, errors=errors)


def _sketched(
    writing: WriteState, call: Call, progress: Progress | None = None
) -> tuple[conflicts.Arriving, Sketches]:
    """Return the documents of a call and their sketches; errors in ids are raised first."""
    how = call.sketching(writing.store)
    parts = incoming.sketched(how, call.documents, begins=True)
    with closing(parts):
        given = _arriving(writing, call)
        sketches = incoming.collected(how.sketcher, parts, len(call.ids), progress)
        return given, writing.staging.settle(sketches)


def _arriving(writing: WriteState, call: Call) -> conflicts.Arriving:
    """Return the documents of a call, which its threads will sketch and store."""
    writing.staging.threads = thread_count(call.threads)
    how = call.on_conflict, call.values
    return conflicts.arriving(writing.current(), call.ids, call.metadata, *how)
