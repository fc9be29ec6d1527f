"""Changing: calls writing verbs and makes the same change to the expected state."""

import expected as truth
import simdb
from asking import entries_are_weighted, is_by_similarity, limited, served
from drawn import some_ask, some_batch, some_document, some_id, some_metadata


def insert(target, expected, chance):
    id, replace = some_id(chance), chance.random() < 0.5
    document, metadata = some_document(chance, expected.options), some_metadata(chance)
    told = f"insert({id!r}, {document!r:.40}, replace={replace})"
    try:
        target.insert(id, document, metadata, on_conflict="replace" if replace else "error")
    except simdb.ExistsError:
        assert id in expected.documents
        assert not replace
        return told
    assert replace or id not in expected.documents
    expected.insert(id, expected.entry(document, metadata))
    return told


def insert_many(target, expected, chance):
    ids, documents, metadata = some_batch(chance, expected.options)
    replace = chance.random() < 0.6
    told = f"insert_many({len(ids)}, replace={replace})"
    given = [iter(each) if chance.random() < 0.4 else each for each in (ids, documents, metadata)]
    try:
        count = target.insert_many(*given, on_conflict="replace" if replace else "error")
    except simdb.ExistsError:
        assert any(id in expected.documents for id in ids)
        assert not replace
        return told
    assert count == len(ids)
    assert replace or not any(id in expected.documents for id in ids)
    put_all(expected, ids, documents, metadata)
    return told


def put_all(expected, ids, documents, metadata):
    for id, document, data in zip(ids, documents, metadata, strict=True):
        expected.insert(id, expected.entry(document, data))


def some_new(expected, chance):
    """Draw a batch whose ids may be stored already, and its entries.

    Either all documents with features have weights, or none has.
    """
    ids, documents, metadata = some_batch(chance, expected.options)
    entries = [expected.entry(document) for document in documents]
    is_weighted = chance.random() < 0.7 or expected.is_minhash
    rows = [
        row
        for row in zip(ids, documents, metadata, entries, strict=True)
        if entries_are_weighted(row[3]) == is_weighted and row[3].bits is not None
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    return (*columns, is_weighted)


def insert_batch(target, expected, chance):
    ids, documents, metadata, entries, is_weighted = some_new(expected, chance)
    ask = some_ask(chance, expected.options, weighted=is_weighted)
    first, memory = chance.random() < 0.3, chance.choice([None, 1, 3000, 10**6])
    told = f"insert_batch({len(ids)}, first={first}, memory_limit={memory}, {ask})"
    match = "first" if first else "all"

    def call():
        return target.insert_batch(
            ids,
            iter(documents),
            metadata,
            match=match,
            **limited(ask, memory),
        )

    try:
        found = served(call, ask)
    except simdb.ExistsError:
        assert any(id in expected.documents for id in ids)
        return told
    if found is None:
        return told
    assert not any(id in expected.documents for id in ids)
    for row, entry in zip(found, entries, strict=True):
        matches, near = expected.matches(entry, ask)
        if first:
            assert len(row) <= 1
            row_is_owed = expected.recall_of(ask) == 1.0 and set(matches) - near
            assert row or not row_is_owed
            assert not row or row[0].id in matches
            continue
        order = is_by_similarity(expected, ask, entry)
        truth.check_row(expected, row, matches, near, ask, is_by_similarity=order)
    put_all(expected, ids, documents, metadata)
    return told


def add_many_if_new(target, expected, chance):
    ids, documents, metadata, entries, is_weighted = some_new(expected, chance)
    ask = some_ask(chance, expected.options, weighted=is_weighted)
    ask.pop("search", None)
    if expected.options.is_minhash or expected.recall_of(ask) < 1.0:
        ask["recall"] = 1.0
    told = f"add_many_if_new({len(ids)}, {ask})"
    is_single = len(ids) == 1 and chance.random() < 0.7
    try:
        if is_single:
            one = target.add_if_new(ids[0], documents[0], metadata[0], on_conflict="error", **ask)
            found = [[one] if one else []]
        else:
            found = target.add_many_if_new(ids, documents, metadata, on_conflict="error", **ask)
    except simdb.ExistsError:
        assert any(id in expected.documents for id in ids)
        return told
    assert not any(id in expected.documents for id in ids)
    rows = zip(ids, documents, metadata, entries, found, strict=True)
    for id, document, data, entry, row in rows:
        matches, near = expected.matches(entry, ask)
        if row:
            assert row[0].id in matches, f"{row} does not match"
            truth.check_measured((row[0].distance, row[0].similarity), matches[row[0].id])
        else:
            assert not set(matches) - near, f"{id!r} was stored beside {matches}"
            expected.insert(id, expected.entry(document, data))
    return told


def delete(target, expected, chance):
    id = some_id(chance)
    try:
        target.delete(id)
    except simdb.NotFoundError:
        assert id not in expected.documents
        return f"delete({id!r}): unknown"
    assert expected.delete(id)
    return f"delete({id!r})"


def delete_many(target, expected, chance):
    ids = [some_id(chance) for _ in range(chance.choice([0, 2, 10, 40]))]
    given = iter(ids) if chance.random() < 0.4 else ids
    assert target.delete_many(given) == sum(expected.delete(id) for id in ids)
    return f"delete_many({len(ids)})"


WRITING = (
    insert, insert, insert_many, insert_many, insert_many, insert_batch, insert_batch,
    add_many_if_new, add_many_if_new, delete, delete_many,
)  # fmt: skip
