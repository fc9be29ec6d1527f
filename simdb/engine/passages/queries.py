"""Queries by containment: one document or many, against what is stored."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from simdb.columns.text_column import text_column
from simdb.engine.passages.candidates import (
    ContainedDocuments,
    ContainedQuestion,
    estimated,
    measured,
    read_texts,
)
from simdb.engine.search.lookup import as_matches
from simdb.engine.search.method import estimates
from simdb.engine.search.rows import Rows
from simdb.engine.state.documents import known_ordinals, stored_sketches
from simdb.engine.state.incoming import as_list
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.engine.state.view import FINGERPRINTS
from simdb.ground.bits import FINGERPRINT_BITS, bit_counts
from simdb.ground.dtypes import F32, U8, U32
from simdb.ground.errors import InputError
from simdb.results.matches import Matches, SharedSpan
from simdb.sketch.containment import ContainmentQuery, asked_of, spans_of
from simdb.sketch.winnowing import Winnower
from simdb.storage import layout
from simdb.storage.records.metadata import unpacked
from simdb.values.arrays import EMPTY, Sketches, check_many, offsets_of

Spans = tuple[SharedSpan, ...] | None


def find(
    store: Store,
    state: State,
    documents: Any,
    ids: Iterable[Any] | None,
    question: ContainedQuestion,
    errors: str,
) -> Matches[Any]:
    """Return the documents that contain each of some texts, or of the stored documents `ids`.

    Unless the question is of many, `documents` and `ids` are one of each.
    """
    if (documents is None) == (ids is None):
        raise InputError("a query needs either a document or the id= of a stored document")
    if not question.is_of_many:
        documents, ids = (None, [ids]) if documents is None else ([documents], None)
    winnower = store.winnower
    assert winnower is not None, "the question has asked for it"
    every: list[tuple[ContainedDocuments, list[Spans]]] = []
    queries: Iterator[tuple[ContainedDocuments, ContainmentQuery | None, Any]]
    if ids is None:
        texts = _as_texts(documents)
        sketches = store.sketcher.sketch(texts, errors=errors)
        queries = _of_texts(state, texts, question, winnower, errors)
    else:
        listed = as_list(ids, "ids")
        ordinals = known_ordinals(state, listed)
        sketches = stored_sketches(state, ordinals)
        queries = _of_stored(state, listed, ordinals, question, winnower)
    for at, (found, asked, text) in enumerate(queries):
        kept = _kept(state, found, question, at)
        every.append((kept, _spans(kept, asked, text, winnower)))
    return _matches(state, sketches, every)


def _of_texts(
    state: State, texts: Sequence[Any], question: ContainedQuestion, winnower: Winnower, errors: str
) -> Iterator[tuple[ContainedDocuments, ContainmentQuery, Any]]:
    """Yield for each text the documents that contain it, and the text as a query."""
    offsets, words = winnower.words(texts, errors=errors)
    for at, text in enumerate(texts):
        asked = asked_of(words[offsets[at] : offsets[at + 1]])
        if question.texts is None:
            yield estimated(state, asked.keys[asked.is_grain], question.least), asked, text
        else:
            yield measured(state, asked, question, winnower, None), asked, text


def _of_stored(
    state: State, ids: list[Any], ordinals: U32, question: ContainedQuestion, winnower: Winnower
) -> Iterator[tuple[ContainedDocuments, ContainmentQuery | None, Any]]:
    """Yield the same for stored documents, which are not in their own answers."""
    if question.texts is None:
        distinct, places = np.unique(ordinals, return_inverse=True)
        grains = state.passages().grains_of(distinct, state.source)
        for ordinal, at in zip(ordinals.tolist(), places.tolist(), strict=True):
            own = grains.hashes[grains.offsets[at] : grains.offsets[at + 1]]
            found = estimated(state, own, question.least)
            yield found.chosen(found.ordinals != ordinal), None, None
        return
    texts = read_texts(question.texts, ids)
    for id, text in zip(ids, texts, strict=True):
        if not isinstance(text, str | bytes):
            raise InputError(f"texts= has no text of {id!r}, which is the query; got {text!r:.50}")
    offsets, words = winnower.words(texts, errors="replace")
    for at, ordinal in enumerate(ordinals.tolist()):
        asked = asked_of(words[offsets[at] : offsets[at + 1]])
        yield measured(state, asked, question, winnower, ordinal), asked, texts[at]


def _as_texts(documents: Any) -> Sequence[Any]:
    """Return documents as a list or a column of texts."""
    check_many(documents, "documents")
    column = text_column(documents)
    return as_list(documents, "documents") if column is None else column


def _kept(
    state: State, found: ContainedDocuments, question: ContainedQuestion, query: int
) -> ContainedDocuments:
    """Return the first documents, up to the limit, that the caller's functions let pass.

    A number that `accept` returns is the exact containment.
    """
    if question.where is None and question.accept is None:
        return found.chosen(slice(question.limit))
    values = found.containments.copy()
    chosen: list[int] = []
    ids = state.identifiers(found.ordinals).decode(found.ordinals) if question.accept else []
    enough = question.limit if question.accept is None else None
    for at, ordinal in enumerate(found.ordinals.tolist()):
        if len(chosen) == enough:
            break
        if question.where is not None:
            packed = state.metadata_of_many([ordinal])
            if not question.where(unpacked(packed, ordinal)):
                continue
        if question.accept is not None:
            of_query = (query,) if question.is_of_many else ()
            verdict = question.accept(*of_query, ids[at])
            if not isinstance(verdict, bool | np.bool_):
                values[at] = _as_containment(verdict, ids[at])
                verdict = values[at] >= question.least
            if not verdict:
                continue
        chosen.append(at)
    kept = (
        ContainedDocuments(found.ordinals, values, found.texts)
        .chosen(np.array(chosen, np.int64))
        .best()
    )
    return kept.chosen(slice(question.limit))


def _as_containment(verdict: Any, id: Any) -> float:
    is_number = isinstance(verdict, int | float | np.floating | np.integer)
    if not is_number or verdict != verdict:
        raise InputError(
            f"accept must return True, False or the exact containment as a number, got {verdict!r}"
            f" for {id!r}"
        )
    return float(verdict)


def _spans(
    found: ContainedDocuments, asked: ContainmentQuery | None, text: Any, winnower: Winnower
) -> list[Spans]:
    """Return the shared passages of each document whose text was read; None of any other."""
    if asked is None:
        return [None] * len(found.ordinals)
    known = [found.texts.get(ordinal) for ordinal in found.ordinals.tolist()]
    return [
        None if other is None else tuple(spans_of(asked, text, other, winnower)) for other in known
    ]


def _matches(
    state: State, sketches: Sketches, every: list[tuple[ContainedDocuments, list[Spans]]]
) -> Matches[Any]:
    """Return what was found as the user gets it, with what the sketches say of it."""
    none = np.empty(0, np.uint32), np.empty(0)
    ordinals = np.concatenate([none[0], *(found.ordinals for found, _ in every)])
    offsets = offsets_of([len(found.ordinals) for found, _ in every])
    rows = Rows(offsets, ordinals, *_compared(state, sketches, offsets, ordinals))
    matches = as_matches(state, rows)
    matches.containments = np.concatenate([none[1], *(found.containments for found, _ in every)])
    matches.spans = [each for _, spans in every for each in spans]
    return matches


def _compared(state: State, sketches: Sketches, offsets: Any, ordinals: U32) -> tuple[U8, F32]:
    """Return distances and similarities of queries and the documents found, by their sketches."""
    similarities = estimates(state, sketches, offsets, ordinals)
    queries = np.repeat(np.arange(len(sketches)), np.diff(offsets))
    if not len(ordinals):
        return np.empty(0, np.uint8), similarities
    if state.kind.stores != FINGERPRINTS:
        distances = state.vectors(ordinals).distances(similarities)
        return distances, similarities
    bits = state.column(layout.FINGERPRINT, ordinals)
    distances = bit_counts(sketches.bits[queries] ^ bits)
    is_empty = sketches.states[queries] == EMPTY
    distances[is_empty | (state.column(layout.STATE, ordinals) == EMPTY)] = FINGERPRINT_BITS
    return distances, similarities
