"""Asking: calls reading verbs and compares the answers, or a sample of them, with the model.

Every verb takes `target`, which answers, `model`, which knows the right answer, and `draw`, a `Few`
or `Many` of `drawn.py`, which draws the arguments.
"""

from functools import partial
from itertools import islice

import numpy as np
from oracle import ERROR_FLOAT32, components, stars

import simdb
from drawn import EMPTY, WEIGHTED
from model import key, rank_of, where_of

LISTED = 3000  # documents whose columns are read
MANY = 20_000  # with more documents, exact search of many takes too long


def served(call, ask):
    """Return the answer of `call`, or None if a named method cannot serve the request."""
    try:
        return call()
    except simdb.OptionError:
        # Without a named method, every request must be served.
        assert ask.get("search") not in (None, "auto", "exhaustive"), f"refused: {ask}"
        return None


def refused(call, *kinds):
    """Call, and check that one of these errors is raised."""
    try:
        answer = call()
    except kinds:
        return
    raise AssertionError(f"answered {answer!r:.60} instead of raising {kinds}")


def limited(draw, ask):
    """Return the arguments of a query, sometimes with a limit of memory for the search."""
    memory = draw.chance.choice([None, None, 1, 3000, 10**6] if not draw.count else [None, 10**6])
    if memory is None:
        return ask
    return ask | {"search": simdb.Search(method=ask.get("search"), memory_limit=memory)}


def sampled(draw, rows):
    """Return the positions of the rows that are compared."""
    return draw.chance.sample(range(len(rows)), min(draw.sample, len(rows)))


def check_row(model, found, entry, ask, *, limit=None, is_first=False, **bounds):
    """Compare the matches of one query, `simdb.Match` each, with the true matches."""
    truth, near = model.matches(entry, ask, **bounds)
    owed, recall = set(truth) - near, model.recall_of(ask)
    ids = [match.id for match in found]
    assert len(set(map(key, ids))) == len(ids), f"a match is given twice: {ids}"
    for match in found:
        assert match.id in truth, f"{match} does not match {ask}"
        check_measured(match, truth[match.id])
    if is_first:
        assert len(ids) <= 1
        assert ids or recall < 1 or not owed, f"first of {ask} is none"
        return
    check_order(model, found, model.bounds(ask, entry)[0] is not None)
    if recall < 1.0:
        if limit is None:
            model.tally.add(len(truth), len(found), recall)
    elif limit is None:
        assert owed <= set(ids), f"{owed - set(ids)} not found by {ask}"
    else:
        assert min(limit, len(owed)) <= len(ids) <= min(limit, len(truth)), f"{ids}, {limit=}"
        if model.bounds(ask, entry)[0] is None:
            best = sorted(truth, key=lambda id: truth[id][0])[:limit]
            assert ids == best, f"{ids} is not {best}"


def check_measured(found, wanted):
    """Check that distances are equal and similarities differ by rounding only."""
    told = found.distance, found.similarity
    assert told[0] == wanted[0], f"distance {told} is not {wanted}"
    assert (told[1] is None) == (wanted[1] is None), f"similarity {told} is not {wanted}"
    if wanted[1] is not None:
        assert abs(told[1] - wanted[1]) <= ERROR_FLOAT32, f"similarity {told} is not {wanted}"


def check_order(model, found, is_by_similarity):
    """Check that the best match is first, and of equal distances the oldest."""
    if is_by_similarity:
        values = [match.similarity for match in found]
        assert values == sorted(values, reverse=True), f"not the best first: {values}"
    else:
        order = [(match.distance, model.places[match.id]) for match in found]
        assert order == sorted(order), f"not the nearest first: {order}"


def query(target, model, draw):
    """Query by documents, one after the other, by every condition."""
    told = []
    for document in draw.documents(model, draw.asked()):
        [entry] = model.entries([document])
        ask = draw.ask(model.options, weighted=entry.row is not None)
        limit, rank = draw.chance.choice(draw.limits), draw.chance.randrange(4)
        told.append(f"{document!r:.40}, limit={limit}, {ask}")
        found = served(partial(target.query, document, limit=limit, **ask), ask)
        if found is None:
            continue
        check_row(model, found, entry, ask, limit=limit)
        first = target.first(document, **ask)
        check_row(model, [first] if first else [], entry, ask, is_first=True)
        accepted = target.query(document, accept=lambda id: isinstance(id, int), **ask)
        kept = {match.id: match for match in found if isinstance(match.id, int)}
        assert limit or {match.id: match for match in accepted} == kept
        some = target.query(document, where=where_of(model.options, rank, draw.chance), **ask)
        check_row(model, some, entry, ask, rank=rank)
    return told


def query_by_id(target, model, draw):
    told = []
    for id in draw.some_ids(model, draw.asked()):
        if id not in model.places:
            refused(partial(target.query, id=id), simdb.NotFoundError)
            continue
        entry = model.entry(id)
        ask = draw.ask(model.options, weighted=entry.row is not None)
        limit = draw.chance.choice([None, 1, 3])
        told.append(f"{id!r}, limit={limit}, {ask}")
        found = served(partial(target.query, id=id, limit=limit, **ask), ask)
        if found is not None:
            check_row(model, found, entry, ask, limit=limit, without=id)
            first = target.first(id=id, **ask)
            check_row(model, [first] if first else [], entry, ask, is_first=True, without=id)
    return told


def query_many(target, model, draw):
    """Query by many stored documents or new ones at once."""
    by_ids, weighted = draw.chance.random() < 0.4 or draw.count, draw.chance.random() < 0.6
    weighted &= not model.is_hashes
    if by_ids:
        most = min(draw.count // 10, 20_000) or draw.chance.choice([1, 5, 40])
        kinds = (EMPTY, WEIGHTED) if weighted else (EMPTY, 1)
        known = [id for id, place in model.places.items() if model.kinds[place] in kinds]
        asked = draw.chance.sample(known, min(len(known), most))
        entries = [model.entry(id) for id in asked]
    else:
        count = draw.size()
        asked = draw.texts(count) if weighted else draw.documents(model, count)
        entries = model.entries(asked)
    weighted = all(entry.row is not None for entry in entries if entry.bits is not None)
    ask = draw.ask(model.options, weighted=weighted, is_exact=draw.count <= MANY)
    if not weighted and ask.get("distance") is None:
        ask["distance"] = 3
    limit, is_first = draw.chance.choice([None, None, 2]), draw.chance.random() < 0.2
    settings = {"limit": limit, "match": "first" if is_first else "all"} | limited(draw, ask)
    told = f"{len(asked)} {'ids' if by_ids else 'documents'}, {settings}, {ask}"
    given = {"ids" if by_ids else "documents": asked}
    found = served(lambda: target.query_many(**given, **settings), ask)
    if found is not None:
        assert len(found) == len(asked)
        for at in sampled(draw, asked):
            without = asked[at] if by_ids else None
            check_row(model, list(found[at]), entries[at], ask, limit=limit, is_first=is_first,
                      without=without)  # fmt: skip
    return told


def contained(target, model, draw):
    [text], least = draw.texts(1), draw.chance.choice([0.1, 0.5, 0.9, 1.0])
    text = draw.chance.choice([text, text, "", "words that no document has"])
    if not model.options.passages:
        refused(lambda: target.query(text, contained=least), simdb.OptionError)
        return "refused"
    found = target.query(text, contained=least)
    wanted = model.contained(model.grains_of(text), least)
    assert {key(match.id): match.containment for match in found} == wanted
    pairs = target.find_all(contained=least)
    assert {(key(pair.left), key(pair.right)): pair.containment for pair in pairs} == {
        (key(id), other): share
        for id, at in model.places.items()
        for other, share in model.contained(model.grains[at], least, without=id).items()
    }
    return f"{least} of {text!r:.40}"


def nearest(target, model, draw):
    """Ask for the nearest documents, of one rank or all, with recall 1, which is exact."""
    k, rank = draw.chance.choice(draw.nearest), draw.chance.choice([None, None, 0, 1])
    where = None if rank is None else where_of(model.options, rank, draw.chance)
    documents = draw.texts(draw.asked())
    for document, entry in zip(documents, model.entries(documents), strict=True):
        found = target.nearest(document, k, recall=1.0, where=where)
        best = model.ranking(entry, rank)
        assert len(found) == min(k, len(best)), f"{len(found)} of {len(best)}, {k} were wanted"
        for match, cost in zip(found, best, strict=False):
            told = match.distance if match.similarity is None else -match.similarity
            assert abs(told - cost) <= ERROR_FLOAT32, f"{match} where {cost} is due"
    return f"{k} of rank {rank}"


def find_all(target, model, draw):
    """Measure every pair that is found again, and look for all pairs of a sample of documents."""
    ask = draw.pairs_ask(model)
    if not draw.count and model.is_simhash and draw.chance.random() < 0.15:
        ask |= {"search": "rotation", "recall": draw.chance.choice([0.5, 0.9])}
    pairs = served(lambda: target.find_all(**ask, **model.estimating), ask)
    if pairs is None:
        return f"refused {ask}"
    left = np.array([model.places[id] for id in pairs.left], np.int64)
    right = np.array([model.places[id] for id in pairs.right], np.int64)
    assert (left < right).all(), "a pair is out of order"
    assert len(np.unique(left << 32 | right)) == len(left), "a pair is given twice"
    if not model.is_minhash:
        distances = model.distances_between(left, right)
        assert (distances == pairs.distance).all(), "a distance is wrong"
        assert (distances <= ask.get("distance", 64)).all(), "a pair is too far apart"
    if "similarity" in ask:
        assert (pairs.similarity >= ask["similarity"] - ERROR_FLOAT32).all()
    recall = model.recall_of(ask)
    for id in some_stored(model, draw):
        place, entry = model.places[id], model.entry(id)
        matches, near = model.matches(entry, ask, without=id)
        if entry.row is None and "similarity" in ask:
            matches, near = {}, set()
        own = np.flatnonzero((left == place) | (right == place)).tolist()
        found = {model.ids[left[at] + right[at] - place]: at for at in own}
        for other, at in found.items():
            assert other in matches, f"{other!r} does not match {id!r}"
            check_measured(pairs[at], matches[other])
        missing = set(matches) - near - set(found)
        assert recall < 1 or not missing, f"{missing} of {id!r} missing in {ask}"
        if recall < 1:
            model.tally.add(len(matches), len(found), recall)
    return f"{len(left)} pairs, {ask}"


def some_stored(model, draw):
    """Return the ids of the documents that are compared."""
    live = model.live_ids()
    return [live[at] for at in sampled(draw, live)]


def find_clusters(target, model, draw):
    """Compare clusters with the groups of all pairs, or with the components of a sample."""
    ask, order = draw.pairs_ask(model), model.live_ids()
    policy = "connected" if draw.count else draw.chance.choice(["connected", "star"])
    ranks = {id: rank_of(model.metadata[at]) for id, at in model.places.items()}
    is_ranked = any(rank is not None for rank in ranks.values())
    keep = "min:rank" if is_ranked and draw.chance.random() < 0.4 else "first"
    given = ask | model.estimating
    found = served(lambda: target.find_clusters(policy=policy, keep=keep, **given), ask)
    if found is None:
        return f"refused {ask}"
    groups = [each.ids for each in found]
    of = {key(id): group for group in groups for id in group}
    assert len(of) == sum(map(len, groups)), "a document is in two clusters"
    is_exact = model.recall_of(ask) == 1
    if draw.count:
        for id in some_stored(model, draw):
            check_cluster(sorted(of.get(key(id), [id]), key=model.places.get), id, model, ask)
    elif is_exact:
        pairs, is_near = model.pairs(ask)
        if keep == "min:rank":
            order.sort(key=lambda id: (ranks[id] is None, ranks[id] or 0))
        made = components(order, pairs) if policy == "connected" else stars(order, pairs)
        assert is_near or groups == made, f"{groups} is not {made}"
    return f"{len(groups)} clusters, {policy}, {keep}, {ask}"


def check_cluster(found, id, model, ask, *, is_exact=None):
    """Compare a cluster with the documents that chains of matches connect."""
    whole, is_near = model.connected(id, ask)
    is_exact = model.recall_of(ask) == 1 if is_exact is None else is_exact
    if is_exact and not is_near:
        assert found == whole, f"{found[:20]} is not {whole[:20]}"
    else:
        assert set(found) <= set(whole), f"{found[:20]} is not in {whole[:20]}"


def cluster(target, model, draw):
    """Compare kept clusters with their components."""
    options, ids = model.options, draw.some_ids(model, draw.asked())
    name = options.keep_clusters
    for id in ids:
        if name == "none" or id not in model.places:
            refused(partial(target.cluster, id), simdb.OptionError, simdb.NotFoundError)
        else:
            ask, is_exact = (
                {name: getattr(options, name)},
                name == "distance" or options.recall == 1,
            )
            check_cluster(target.cluster(id), id, model, ask, is_exact=is_exact)
    return ids


def read(target, model, draw):
    """Compare all ids, the first documents, and the columns of some."""
    check_ids(target, model)
    live = model.live_ids()
    assert [id for id, _ in islice(target.items(), LISTED)] == live[:LISTED]
    ids = draw.some_ids(model, LISTED)
    known = [id for id in ids if id in model.places]
    places = [model.places[id] for id in known]
    is_known = [id in model.places for id in [*ids, "unknown"]]
    assert target.contains_many([*ids, "unknown"]).tolist() == is_known
    assert [id in target for id in ids[:40]] == is_known[:-1][:40]
    if not all(is_known[:-1]):
        refused(lambda: target.get_many(ids), simdb.NotFoundError)
    held, bits = target.bits_many([*ids, "unknown"])
    assert held.tolist() == is_known
    has_features = model.kinds[places] != EMPTY
    assert not model.is_simhash or (bits[held] == model.bits[places])[has_features].all()
    for document, place in zip(target.get_many(known), places, strict=True):
        assert document.metadata == model.metadata[place], f"{document.id!r}: {document.metadata}"
        assert document.fingerprint.is_empty == (model.kinds[place] == EMPTY)
        if not model.is_minhash and model.kinds[place] != EMPTY:
            assert document.fingerprint.bits == model.entry(document.id).bits
    if model.options.texts:
        assert target.texts_many(known) == [model.texts[at] for at in places], "other texts"
        assert all(target.get(id).text == model.texts[model.places[id]] for id in known[:3])
    if model.options.keep_times != "none":
        times = target.times_many(known).astype(np.int64)
        assert (times == model.times[places]).all(), "other times"
    return f"{len(live)} documents"


def check_ids(target, model):
    """Check that the target has the same documents in the same order."""
    assert list(map(key, target)) == list(map(key, model.live_ids())), "other ids, or another order"
    assert len(target) == len(model)


def holds(database, model):
    """Return whether a database holds just what the model does."""
    ids = model.live_ids()
    if list(map(key, database)) != list(map(key, ids)) or database.options != model.options:
        return False
    places = [model.places[id] for id in ids]
    for document, at in zip(database.get_many(ids), places, strict=True):
        found = document.fingerprint
        is_same = found.is_empty == (model.kinds[at] == EMPTY)
        if not model.is_minhash and not found.is_empty:
            is_same &= found.bits == model.entry(document.id).bits
        is_same &= not model.options.texts or document.text == model.texts[at]
        if not is_same or document.metadata != model.metadata[at]:
            return False
    if model.options.keep_times == "none":
        return True
    return database.times_many(ids).astype(np.int64).tolist() == model.times[places].tolist()


def explain(target, model, draw):
    known = [id for id, at in model.places.items() if model.kinds[at] != EMPTY]
    if len(known) < 2:
        return "too few"
    left, right = draw.chance.sample(known, 2)
    told = target.explain(left, right, **({} if model.is_minhash else {"distance": 3}))
    ask = {"similarity": -2.0} if model.is_minhash else {"distance": model.options.bits}
    check_measured(told, model.matches(model.entry(left), ask)[0][right])
    return f"{left!r}, {right!r}"


def plan(target, model, draw):
    ask = draw.pairs_ask(model)
    n, pairs = draw.chance.choice([None, 0, 10, 1e6]), draw.chance.random() < 0.5
    told = served(lambda: target.plan(n, pairs=pairs, **ask), ask)
    # A named method may reach less recall than asked for; its plan then says so.
    if told is not None and ask.get("search") in (None, "auto", "exhaustive", "psm", "multiprobe"):
        assert told.recall >= (ask.get("recall") or model.options.recall) - 1e-9, told
    return f"{n}, {pairs=}, {ask}"


READING = (
    query, query, query, query_by_id, query_by_id, query_many, query_many, find_all, find_clusters,
    contained, cluster, read, explain, plan, nearest,
)  # fmt: skip
