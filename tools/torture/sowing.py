"""Sowing: changes a database of many documents, and makes the same changes to its shelf.

Every verb takes `target`, which is changed, `shelf`, which is changed alike, and `field`, which has
the chance, the texts and the clock.
"""

from datetime import datetime, timezone

import numpy as np

from expected import check_measured
from reaping import check_sample, narrow_ask

RANKS = 40
SAMPLE = 6


def metadata_of(ranks):
    return [None if rank < 0 else {"rank": rank} for rank in ranks.tolist()]


def some_ranks(field, count):
    """Draw ranks; half of the documents have none."""
    ranks = field.texts.random.integers(0, RANKS, count)
    return np.where(field.texts.random.random(count) < 0.5, ranks, -1)


def some_documents(field, shelf, count):
    """Draw texts, or now and then fingerprints without weights near the stored ones."""
    if shelf.is_minhash or not len(shelf) or field.chance.random() < 0.85:
        return field.texts.draw(count)
    near = field.texts.random.integers(0, len(shelf.bits), count)
    flips = np.uint64(1) << field.texts.random.integers(0, 64, count).astype(np.uint64)
    return (shelf.bits[near] ^ flips).tolist()


def some_rows(field, count):
    """Draw new ids, texts and ranks."""
    return field.fresh_ids(count), field.texts.draw(count), some_ranks(field, count)


def insert_many(target, shelf, field, count=None, ids=None):
    """Insert new documents, or replace the documents `ids`."""
    count = count or max(field.count // field.chance.choice([20, 50, 1000]), 1)
    replace = ids is not None
    ids = ids or field.fresh_ids(count)
    documents, ranks = some_documents(field, shelf, len(ids)), some_ranks(field, len(ids))
    now = field.tick()
    assert target.insert_many(
        ids, documents, metadata_of(ranks), on_conflict="replace" if replace else "error"
    ) == len(ids)
    shelf.insert(ids, documents, ranks, now)
    return f"{len(ids)} documents"


def replace_many(target, shelf, field):
    return insert_many(target, shelf, field, ids=field.some_ids_of(shelf, field.count // 50 + 1))


def insert(target, shelf, field):
    """Insert a few documents one by one."""
    for _ in range(5):
        ids, documents = field.fresh_ids(1), some_documents(field, shelf, 1)
        ranks = some_ranks(field, 1)
        now = field.tick()
        target.insert(ids[0], documents[0], metadata_of(ranks)[0])
        shelf.insert(ids, documents, ranks, now)
    return "5 documents"


def insert_batch(target, shelf, field):
    """Match a batch with the stored documents and store it; a sample is compared."""
    count = field.count // 50 + 1
    ids, documents, ranks = (
        field.fresh_ids(count),
        field.texts.draw(count),
        some_ranks(field, count),
    )
    ask = narrow_ask(field.chance, shelf)
    ask.pop("search", None)
    now = field.tick()
    found = target.insert_batch(ids, documents, metadata_of(ranks), **ask)
    for at in field.chance.sample(range(count), min(SAMPLE, count)):
        [entry] = shelf.entries([documents[at]])
        check_sample(shelf, list(found[at]), entry, ask)
    shelf.insert(ids, documents, ranks, now)
    return f"{count} documents, {ask}"


def add_many_if_new(target, shelf, field):
    """Add the documents of a batch that match neither a stored document nor each other."""
    count = field.count // 50 + 1
    ids, documents, ranks = (
        field.fresh_ids(count),
        field.texts.draw(count),
        some_ranks(field, count),
    )
    ask = narrow_ask(field.chance, shelf, is_exact=field.count <= 20_000)
    ask.pop("search", None)
    now = field.tick()
    found = target.add_many_if_new(ids, documents, metadata_of(ranks), **ask)
    return take_claims(shelf, field, ids, documents, ranks, found, ask, now)


def add_if_new(target, shelf, field):
    """Add one document unless it matches."""
    ids, documents, ranks = some_rows(field, 1)
    ask = narrow_ask(field.chance, shelf)
    ask.pop("search", None)
    now = field.tick()
    one = target.add_if_new(ids[0], documents[0], metadata_of(ranks)[0], **ask)
    return take_claims(shelf, field, ids, documents, ranks, [[one] if one else []], ask, now)


def take_claims(shelf, field, ids, documents, ranks, found, ask, now):
    """Put what was new on the shelf, and check a sample of what was decided."""
    rows = [list(row) for row in found]
    assert len(rows) == len(ids)
    assert all(len(row) <= 1 for row in rows)
    is_new = np.array([not row for row in rows])
    start, newer = len(shelf.ids), np.cumsum(is_new) - is_new
    chosen = np.flatnonzero(is_new)
    shelf.insert([ids[at] for at in chosen], [documents[at] for at in chosen], ranks[chosen], now)
    if shelf.options.keep_times == "seen":
        shelf.renew("times", {row[0].id for row in rows if row}, now)
    for at in field.chance.sample(range(len(ids)), min(SAMPLE, len(ids))):
        [entry] = shelf.entries([documents[at]])
        matches, near = shelf.matches(entry, ask, before=start + newer[at])
        if rows[at]:
            [match] = rows[at]
            assert match.id in matches, f"{match} does not match"
            check_measured((match.distance, match.similarity), matches[match.id])
        elif shelf.recall_of(ask) == 1:
            assert not set(matches) - near, f"{ids[at]!r} was stored beside {matches}"
    return f"{len(chosen)} of {len(ids)} were new, {ask}"


def delete_many(target, shelf, field):
    ids = field.some_ids_of(shelf, field.count // field.chance.choice([30, 300, 1000]) + 1)
    assert target.delete_many([*ids, "unknown"]) == len(ids)
    shelf.delete(ids)
    return f"{len(ids)} documents"


def delete(target, shelf, field):
    for id in field.some_ids_of(shelf, 3):
        target.delete(id)
        shelf.delete([id])
    return "3 documents"


def delete_where(target, shelf, field):
    rank = field.chance.randrange(RANKS)
    count = target.delete_where(lambda metadata: (metadata or {}).get("rank") == rank)
    assert count == shelf.delete_places(shelf.ranks == rank)
    return f"{count} documents of rank {rank}"


def expire(target, shelf, field):
    """Delete what is older than a moment, of one rank."""
    if shelf.options.keep_times == "none":
        return "no times are kept"
    times = shelf.times[shelf.is_live]
    moment, rank = int(np.quantile(times, 0.6)), field.chance.randrange(RANKS)
    before = datetime.fromtimestamp(moment, timezone.utc)
    count = target.expire(before, where=lambda metadata: (metadata or {}).get("rank") == rank)
    assert count == shelf.delete_places((shelf.times < moment) & (shelf.ranks == rank))
    return f"{count} documents of rank {rank}"


def update_metadata(target, shelf, field):
    for id in field.some_ids_of(shelf, 10):
        rank = field.chance.randrange(RANKS)
        target.update_metadata(id, {"rank": rank})
        shelf.renew("ranks", [id], rank)
    return "10 documents"


WRITING = (
    insert_many, replace_many, insert, insert_batch, add_many_if_new, add_if_new, delete_many,
    delete, delete_where, expire, update_metadata,
)  # fmt: skip
