"""Reaping: asks a database of many documents, and compares a sample with all of its shelf.

Every verb takes `target`, which answers, `shelf`, which knows the right answer, and `field`, which
has the chance and the texts.
"""

from functools import partial
from itertools import islice

import numpy as np
from oracle import ERROR_FLOAT32

import expected as truth
from asking import entries_are_weighted, limited, served
from drawn import methods_of

SAMPLE = 6
LISTED = 3000  # documents whose columns are read


def narrow_ask(chance, shelf, *, is_weighted=True, is_exact=True):
    """Draw a criterion that only copies meet; `is_exact`: whether the recall may be 1."""
    options, ask = shelf.options, {}
    if options.sketch.vector_bytes and is_weighted and chance.random() < 0.5:
        ask["similarity"] = chance.choice([0.75, 0.9])
    if not shelf.is_minhash and (not ask or chance.random() < 0.2):
        ask["distance"] = chance.choice([0, 1, 3, 5, 8])
    if chance.random() < 0.5:
        ask["recall"] = chance.choice([1.0, 0.95, 0.6] if is_exact else [0.95, 0.6])
    if chance.random() < 0.3:
        ask["search"] = chance.choice(methods_of(options, is_weighted))
    return ask


def check_sample(shelf, found, entry, ask, **settings):
    """Compare the matches of one document with the true matches."""
    bounds = {name: settings.pop(name) for name in ("without", "rank") if name in settings}
    matches, near = shelf.matches(entry, ask, **bounds)
    order = shelf.bounds(ask, entry)[0] is not None
    truth.check_row(shelf, found, matches, near, ask, is_by_similarity=order, **settings)


def query(target, shelf, field):
    """Query by new texts, by stored ids, and with a condition."""
    ask, limit = narrow_ask(field.chance, shelf), field.chance.choice([None, None, 2])
    rank = field.chance.randrange(4)
    for document, entry in zip(*sampled(shelf, field), strict=True):
        found = served(partial(target.query, document, limit=limit, **ask), ask)
        if found is None:
            return f"refused {ask}"
        check_sample(shelf, found, entry, ask, limit=limit)
        some = target.query(
            document, where=lambda metadata: (metadata or {}).get("rank") == rank, **ask
        )
        check_sample(shelf, some, entry, ask, rank=rank)
    return f"{ask}, limit={limit}"


def query_by_id(target, shelf, field):
    for id in field.some_ids_of(shelf, SAMPLE):
        entry = shelf.entry(id)
        ask = narrow_ask(field.chance, shelf, is_weighted=entries_are_weighted(entry))
        found = served(partial(target.query, id=id, **ask), ask)
        if found is not None:
            check_sample(shelf, found, entry, ask, without=id)
    return f"{SAMPLE} ids"


def query_many(target, shelf, field):
    """Query by many stored documents at once, and compare a sample."""
    ids = [
        id
        for id in field.some_ids_of(shelf, min(field.count // 10, 20_000))
        if shelf.kinds[shelf.places[id]] == 2
    ]
    ask = narrow_ask(field.chance, shelf, is_exact=field.count <= 20_000)
    memory = field.chance.choice([None, None, 10**6])
    found = served(partial(target.query_many, ids=ids, **limited(ask, memory)), ask)
    if found is None:
        return f"refused {ask}"
    assert len(found) == len(ids)
    for at in field.chance.sample(range(len(ids)), min(SAMPLE, len(ids))):
        check_sample(shelf, list(found[at]), shelf.entry(ids[at]), ask, without=ids[at])
    return f"{len(ids)} ids, {ask}, memory_limit={memory}"


def nearest(target, shelf, field):
    """Ask for the nearest documents, of one rank or all, with recall 1, which is exact."""
    k, rank = field.chance.choice([1, 10, 300]), field.chance.choice([None, None, 0, 1])
    where = None if rank is None else lambda metadata: (metadata or {}).get("rank") == rank
    for document, entry in zip(*sampled(shelf, field), strict=True):
        found = target.nearest(document, k, recall=1.0, where=where)
        best = ranking(shelf, entry, rank)
        assert len(found) == min(k, len(best)), f"{len(found)} of {len(best)}, {k} were wanted"
        for match, (cost, distance) in zip(found, best, strict=False):
            told = match.distance if match.similarity is None else -match.similarity
            assert abs(told - cost) <= ERROR_FLOAT32, f"{match} where {cost}, {distance} is due"
    return f"the nearest {k} of rank {rank}"


def ranking(shelf, entry, rank):
    """Return (distance or negative similarity, distance) of all documents, best first.

    `rank`: of the documents with this rank only.
    """
    if entry.bits is None:
        return []
    distances = shelf.distances(entry)
    is_chosen = shelf.is_live & (shelf.kinds != 0)
    places = np.flatnonzero(is_chosen if rank is None else is_chosen & (shelf.ranks == rank))
    costs = -shelf.similarities(entry, places)
    if not shelf.measures(entry):
        costs = distances[places].astype(float)
    places, costs = places[~np.isnan(costs)], costs[~np.isnan(costs)]
    order = np.argsort(costs, kind="stable")
    return list(zip(costs[order].tolist(), distances[places[order]].tolist(), strict=True))


def find_all(target, shelf, field):
    """Measure every pair that is found again, and look for all pairs of a sample of documents."""
    ask = pairs_ask(shelf, field)
    pairs = target.find_all(**ask)
    left = np.array([shelf.places[id] for id in pairs.left], np.int64)
    right = np.array([shelf.places[id] for id in pairs.right], np.int64)
    assert (left < right).all(), "a pair is out of order"
    assert len(np.unique(left << 32 | right)) == len(left), "a pair is given twice"
    if not shelf.is_minhash:
        distances = np.bitwise_count(shelf.bits[left] ^ shelf.bits[right])
        assert (distances == pairs.distance).all(), "a distance is wrong"
        assert (distances <= ask.get("distance", 64)).all(), "a pair is too far apart"
    if "similarity" in ask:
        assert (pairs.similarity >= ask["similarity"] - ERROR_FLOAT32).all()
    for id in field.some_ids_of(shelf, SAMPLE):
        place, entry = shelf.places[id], shelf.entry(id)
        matches, near = shelf.matches(entry, ask, without=id)
        if not entries_are_weighted(entry) and "similarity" in ask:
            matches = {}
        chosen = (left == place) | (right == place)
        found = {shelf.ids[at] for at in (left + right - place)[chosen]}
        assert found <= set(matches), f"{found - set(matches)} do not match {id!r}"
        if shelf.recall_of(ask) == 1:
            assert set(matches) - near <= found, f"{set(matches) - near - found} of {id!r} missing"
        else:
            shelf.tally.add(len(matches), len(found), shelf.recall_of(ask))
    return f"{len(left)} pairs, {ask}"


def find_clusters(target, shelf, field):
    """Compare connected clusters by distance with the components that a sample is in."""
    ask = pairs_ask(shelf, field)
    clusters = target.find_clusters(**ask)
    of = {id: at for at, each in enumerate(clusters) for id in each.ids}
    assert len(of) == len(clusters.ids), "a document is in two clusters"
    for id in field.some_ids_of(shelf, SAMPLE):
        whole, is_near = shelf.connected(id, ask)
        found = clusters[of[id]].ids if id in of else [id]
        check_cluster(found, whole, is_exact=shelf.recall_of(ask) == 1 and not is_near)
    return f"{len(clusters)} clusters, {ask}"


def cluster(target, shelf, field):
    """Compare the kept clusters of a sample with their components."""
    options = shelf.options
    if options.keep_clusters == "none":
        return "no clusters are kept"
    is_by_distance = options.keep_clusters == "distance"
    name = "distance" if is_by_distance else "similarity"
    ask = {name: getattr(options, name)}
    for id in field.some_ids_of(shelf, SAMPLE):
        whole, is_near = shelf.connected(id, ask)
        is_exact = (is_by_distance or options.recall == 1) and not is_near
        check_cluster(target.cluster(id), whole, is_exact=is_exact)
    return f"{SAMPLE} ids"


def check_cluster(found, whole, *, is_exact):
    if is_exact:
        assert found == whole, f"{found[:20]} is not {whole[:20]}"
    else:
        assert set(found) <= set(whole), f"{found[:20]} is not in {whole[:20]}"


def pairs_ask(shelf, field):
    """Draw a criterion for all pairs, which does not compare each document with every other."""
    if shelf.is_minhash:
        return {"similarity": 0.85, "recall": 0.95}
    if shelf.options.sketch.vector_bytes and field.chance.random() < 0.4:
        return {"similarity": 0.88, "recall": 0.9}
    return {"distance": field.chance.choice([0, 2, 3])}


def read(target, shelf, field):
    """Compare all ids, the first documents, and the columns of a sample."""
    live = shelf.live_ids()
    assert list(target) == live, "other ids, or another order"
    assert [id for id, _ in islice(target.items(), LISTED)] == live[:LISTED]
    ids = field.some_ids_of(shelf, LISTED)
    places = np.array([shelf.places[id] for id in ids], np.int64)
    known, bits = target.bits_many([*ids, "unknown"])
    assert known.tolist() == [True] * len(ids) + [False]
    has_features = shelf.kinds[places] != 0
    assert shelf.is_minhash or (bits[:-1] == shelf.bits[places])[has_features].all()
    for document, place in zip(target.get_many(ids), places.tolist(), strict=True):
        rank = (document.metadata or {"rank": -1})["rank"]
        assert rank == shelf.ranks[place], f"{document.id!r} has rank {rank}"
    if shelf.options.keep_times != "none":
        times = target.times_many(ids).astype(np.int64)
        assert (times == shelf.times[places]).all(), "other times"
    return f"{len(live)} documents"


def sampled(shelf, field):
    """Return some documents to ask about, and their entries."""
    documents = field.texts.draw(SAMPLE)
    return documents, shelf.entries(documents)


READING = (
    query, query, query_by_id, query_many, nearest, find_all, find_clusters, cluster, read,
)  # fmt: skip
