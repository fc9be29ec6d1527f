"""Changing: calls writing verbs and makes the same change to the model.

Every verb takes `target`, which is changed, `model`, which is changed in the same way, and `draw`,
which draws the arguments and has the time.
"""

from datetime import datetime, timezone

import numpy as np

import simdb
from asking import check_measured, check_row, limited, sampled, served
from drawn import RANKS
from model import where_of

CONFLICTS = "error", "replace"


def batch(model, draw, count=None):
    """Draw ids, some of which may be stored, documents and metadata."""
    ids = draw.new_ids(model, draw.size() if count is None else count)
    return ids, draw.documents(model, len(ids)), draw.metadata(len(ids))


def alike(model, draw):
    """Draw a batch in which all documents with features have weights, or none has.

    Return its columns, its entries, and whether they have weights.
    """
    ids, documents, metadata = batch(model, draw)
    is_weighted = draw.count or model.is_minhash or draw.chance.random() < 0.7
    is_weighted &= not model.is_hashes
    if draw.count:
        documents = draw.texts(len(ids))
    every = zip(ids, documents, metadata, model.entries(documents), strict=True)
    rows = [row for row in every if (row[3].row is not None) == is_weighted or row[3].bits is None]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    return (*columns, is_weighted)


def stored(call, model, ids, rule):
    """Return the answer of a call that stores documents; None if a stored id refuses it."""
    is_known = any(id in model.places for id in ids)
    try:
        answer = call()
    except simdb.ExistsError:
        assert is_known, "no id was stored"
        assert rule == "error"
        return None
    assert answer is None or not is_known or rule == "replace", "a stored id was replaced"
    return answer


def insert(target, model, draw):
    """Insert one or a few documents, one by one."""
    told = []
    for _ in range(draw.singles):
        ids, documents, metadata = batch(model, draw, 1)
        rule, now = draw.chance.choice(CONFLICTS), draw.tick()
        told.append(f"{ids[0]!r}, {documents[0]!r:.40}, {rule}")

        def call(row=(ids[0], documents[0], metadata[0]), rule=rule):
            target.insert(*row, on_conflict=rule)
            return True

        if stored(call, model, ids, rule):
            model.insert(ids, documents, metadata, now)
    return told


def insert_many(target, model, draw, count=None):
    """Insert or replace documents, which may come from iterators."""
    columns = batch(model, draw, count)
    rule, now = draw.chance.choice(CONFLICTS), draw.tick()
    given = [iter(each) if draw.chance.random() < 0.4 else each for each in columns]
    added = stored(lambda: target.insert_many(*given, on_conflict=rule), model, columns[0], rule)
    if added is not None:
        assert added == len(columns[0])
        model.insert(*columns, now)
    return f"{len(columns[0])} documents, {rule}"


def insert_batch(target, model, draw):
    """Match a batch with the stored documents and store it."""
    ids, documents, metadata, entries, is_weighted = alike(model, draw)
    ask = draw.ask(model.options, weighted=is_weighted)
    is_first, now = draw.chance.random() < 0.3, draw.tick()
    settings = {"match": "first" if is_first else "all"} | limited(draw, ask)

    def call():
        return served(lambda: target.insert_batch(ids, iter(documents), metadata, **settings), ask)

    found = stored(call, model, ids, "error")
    if found is not None:
        for at in sampled(draw, ids):
            check_row(model, list(found[at]), entries[at], ask, is_first=is_first)
        model.insert(ids, documents, metadata, now)
    return f"{len(ids)} documents, {settings}, {ask}"


def add_if_new(target, model, draw):
    """Add documents that match neither a stored document nor each other."""
    ids, documents, metadata, entries, is_weighted = alike(model, draw)
    if draw.chance.random() < 0.5:
        ids, documents, metadata, entries = (
            each[:1] for each in (ids, documents, metadata, entries)
        )
    ask = draw.ask(model.options, weighted=is_weighted, is_exact=draw.count <= 20_000)
    ask.pop("search", None)
    if not draw.count:
        ask["recall"] = 1.0
    now, is_single = draw.tick(), len(ids) == 1 and draw.chance.random() < 0.7
    is_single &= not model.options.texts  # texts, if stored, decide

    def call():
        if is_single:
            row = ids[0], documents[0], metadata[0]
            one = target.add_if_new(*row, on_conflict="error", **ask)
            return [[one] if one else []]
        given = ask | model.estimating
        return target.add_many_if_new(ids, documents, metadata, on_conflict="error", **given)

    found = stored(call, model, ids, "error")
    told = f"{len(ids)} documents, {ask}"
    if found is None:
        return told
    rows = [list(row) for row in found]
    assert len(rows) == len(ids)
    is_new = np.array([not row for row in rows], bool)
    start, newer, chosen = len(model.ids), np.cumsum(is_new) - is_new, np.flatnonzero(is_new)
    model.insert(*([column[at] for at in chosen] for column in (ids, documents, metadata)), now)
    model.see({row[0].id for row in rows if row}, now)
    for at in sampled(draw, ids):
        matches, near = model.matches(entries[at], ask, before=start + newer[at])
        if rows[at]:
            [match] = rows[at]
            assert match.id in matches, f"{match} does not match"
            check_measured(match, matches[match.id])
        elif model.recall_of(ask) == 1:
            assert not set(matches) - near, f"{ids[at]!r} was stored beside {matches}"
    return f"{len(chosen)} new of {told}"


def delete(target, model, draw):
    for id in draw.some_ids(model, draw.asked()):
        try:
            target.delete(id)
        except simdb.NotFoundError:
            assert id not in model.places
        else:
            model.delete([id])
    return "some documents"


def delete_many(target, model, draw):
    ids = [*draw.some_ids(model, draw.size() + 2), "unknown"]
    known = dict.fromkeys(id for id in ids if id in model.places)
    assert target.delete_many(iter(ids) if draw.chance.random() < 0.4 else ids) == len(known)
    model.delete(known)
    return f"{len(known)} documents"


def delete_where(target, model, draw):
    rank = draw.chance.randrange(RANKS)
    count = target.delete_many(where=where_of(model.options, rank, draw.chance))
    assert count == model.delete_of(rank)
    return f"{count} documents of rank {rank}"


def expire(target, model, draw):
    """Delete the documents of one rank that are older than a moment."""
    if model.options.keep_times == "none" or not len(model):
        return "no times are kept"
    moment = int(np.quantile(model.times[model.is_live], 0.6))
    rank, before = draw.chance.randrange(RANKS), datetime.fromtimestamp(moment, timezone.utc)
    count = target.expire(before, where=where_of(model.options, rank, draw.chance))
    assert count == model.delete_of(rank, moment)
    return f"{count} documents of rank {rank}"


def update_metadata(target, model, draw):
    ids = [id for id in draw.some_ids(model, 10) if id in model.places]
    for id, data in zip(ids, draw.metadata(len(ids)), strict=True):
        target.update_metadata(id, data)
        model.describe(id, data)
    return f"{len(ids)} documents"


WRITING = (
    insert, insert, insert_many, insert_many, insert_many, insert_batch, insert_batch, add_if_new,
    add_if_new, delete, delete_many, delete_where, expire, update_metadata,
)  # fmt: skip
COMMITTING_ONCE = (
    insert_many, insert_many, insert_batch, add_if_new, delete_many, delete_where, expire,
)  # fmt: skip
