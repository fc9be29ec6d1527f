"""Asking: calls reading verbs and compares each answer with the expected answer.

Every verb takes `target`, which answers, `expected`, which knows the right answer, and `chance`,
which draws the arguments.
"""

from oracle import components, stars

import expected as truth
import simdb
from drawn import some_ask, some_document, some_id, some_text


def entries_are_weighted(entry):
    return entry.vector is not None or entry.minima is not None


def is_by_similarity(expected, ask, entry):
    return expected.bounds(ask, entry)[0] is not None


def served(call, ask):
    """Return the answer of `call`; None if a named method cannot serve the request."""
    try:
        return call()
    except simdb.OptionError:
        # Without a named method, every request must be served.
        assert ask.get("search") not in (None, "auto", "exhaustive"), f"refused: {ask}"
        return None


def limited(ask, memory):
    """Return what is asked, with a limit of `memory` bytes for the search."""
    if memory is None:
        return ask
    return ask | {"search": simdb.Search(method=ask.get("search"), memory_limit=memory)}


def query(target, expected, chance):
    document = some_document(chance, expected.options)
    entry = expected.entry(document)
    ask = some_ask(chance, expected.options, weighted=entries_are_weighted(entry))
    limit = chance.choice([None, None, 1, 2, 7])
    told = f"query({document!r:.40}, limit={limit}, {ask})"
    found = served(lambda: target.query(document, limit=limit, **ask), ask)
    if found is None:
        return told
    matches, near = expected.matches(entry, ask)
    order = is_by_similarity(expected, ask, entry)
    truth.check_row(expected, found, matches, near, ask, limit=limit, is_by_similarity=order)
    first = target.first(document, **ask)
    check_first(expected, first, matches, near, ask)
    verified = target.query(document, accept=lambda id: isinstance(id, int), **ask)
    kept = {match.id: match for match in found if isinstance(match.id, int)}
    assert limit or {match.id: match for match in verified} == kept
    return told


def check_first(expected, first, matches, near, ask):
    if first is None:
        assert expected.recall_of(ask) < 1 or not set(matches) - near, f"first of {ask} is none"
    else:
        assert first.id in matches, f"{first} does not match {ask}"
        truth.check_measured((first.distance, first.similarity), matches[first.id])


def contained(target, expected, chance):
    text, least = some_text(chance), chance.choice([0.1, 0.5, 0.9, 1.0])
    told = f"contained={least} of {text!r:.40}"
    if not expected.options.passages:
        try:
            target.query(text, contained=least)
        except simdb.OptionError:
            return told
        raise AssertionError("a database without passages answered contained=")
    found = target.query(text, contained=least)
    wanted = expected.contained(expected.grains(text), least)
    assert {truth.key(match.id): match.containment for match in found} == wanted, told
    pairs = target.find_all(contained=least)
    assert {(truth.key(pair.left), truth.key(pair.right)): pair.containment for pair in pairs} == {
        (truth.key(id), other): share
        for id, entry in expected.documents.items()
        for other, share in expected.contained(entry.grains, least, without=(id,)).items()
    }, told
    return told


def query_by_id(target, expected, chance):
    id = some_id(chance)
    entry = expected.documents.get(id)
    if entry is None:
        try:
            target.query(id=id)
        except simdb.NotFoundError:
            return f"query(id={id!r}): unknown"
        raise AssertionError(f"query by the unknown id {id!r} was answered")
    ask = some_ask(chance, expected.options, weighted=entries_are_weighted(entry))
    limit = chance.choice([None, 1, 3])
    told = f"query(id={id!r}, limit={limit}, {ask})"
    found = served(lambda: target.query(id=id, limit=limit, **ask), ask)
    if found is not None:
        matches, near = expected.matches(entry, ask, without=(id,))
        order = is_by_similarity(expected, ask, entry)
        truth.check_row(expected, found, matches, near, ask, limit=limit, is_by_similarity=order)
        check_first(expected, target.first(id=id, **ask), matches, near, ask)
    return told


def query_many(target, expected, chance):
    options = expected.options
    weighted = chance.random() < 0.6
    by_ids = chance.random() < 0.4
    if by_ids:
        known = [
            id
            for id, entry in expected.documents.items()
            if entry.bits is None or entries_are_weighted(entry) == weighted
        ]
        asked = chance.sample(known, min(len(known), chance.choice([1, 5, 40])))
        entries = [expected.documents[id] for id in asked]
    else:
        asked = [
            some_text(chance) if weighted else some_document(chance, options)
            for _ in range(chance.choice([0, 1, 4, 30]))
        ]
        entries = [expected.entry(document) for document in asked]
    weighted = all(entries_are_weighted(entry) for entry in entries if entry.bits is not None)
    ask = some_ask(chance, options, weighted=weighted)
    if not weighted and not ask.get("distance"):
        ask["distance"] = 3
    limit, first = chance.choice([None, None, 2]), chance.random() < 0.2
    memory = chance.choice([None, None, 1, 3000, 10**6])
    given = {"ids": asked} if by_ids else {"documents": asked}
    told = f"query_many({given!r:.60}, limit={limit}, first={first}, memory_limit={memory}, {ask})"
    settings = {"limit": limit, "match": "first" if first else "all", **limited(ask, memory)}
    found = served(lambda: target.query_many(**given, **settings), ask)
    if found is None:
        return told
    assert len(found) == len(asked)
    for at, (row, entry) in enumerate(zip(found, entries, strict=True)):
        without = (asked[at],) if by_ids else None
        matches, near = expected.matches(entry, ask, without=without)
        if first:
            assert len(row) <= 1
            check_first(expected, row[0] if row else None, matches, near, ask)
            continue
        order = is_by_similarity(expected, ask, entry)
        truth.check_row(expected, row, matches, near, ask, limit=limit, is_by_similarity=order)
    return told


def some_pairs_ask(expected, chance):
    """Draw a criterion for pairs of stored documents; it always has a bound."""
    featured = [entry for entry in expected.documents.values() if entry.bits is not None]
    weighted = not featured or any(map(entries_are_weighted, featured))
    ask = some_ask(chance, expected.options, weighted=weighted)
    if not ask.get("similarity") and ask.get("distance") is None:
        ask |= {"similarity": 0.6} if expected.options.is_minhash else {"distance": 4}
    return ask


def find_all(target, expected, chance):
    ask = some_pairs_ask(expected, chance)
    if not expected.options.is_minhash and chance.random() < 0.15:
        ask |= {"search": "rotation", "recall": chance.choice([0.5, 0.9])}
    told = f"find_all({ask})"
    found = served(lambda: target.find_all(**ask), ask)
    if found is None:
        return told
    wanted, near = expected.pairs(ask)
    seen = []
    for pair in found:
        seen.append((pair.left, pair.right))
        assert seen[-1] in wanted, f"{pair} does not match {ask}"
        truth.check_measured((pair.distance, pair.similarity), wanted[seen[-1]])
    assert len(set(seen)) == len(seen), "a pair is given twice"
    recall = expected.recall_of(ask)
    if recall < 1.0:
        expected.tally.add(len(wanted), len(seen), recall)
    else:
        assert set(wanted) - near <= set(seen), f"{set(wanted) - near - set(seen)} not in {ask}"
    return told


def find_clusters(target, expected, chance):
    ask = some_pairs_ask(expected, chance)
    ranks = {
        id: entry.metadata["rank"]
        for id, entry in expected.documents.items()
        if isinstance(entry.metadata, dict)
    }
    policy = chance.choice(["connected", "star"])
    by = "min:rank" if ranks and chance.random() < 0.4 else "first"
    told = f"find_clusters({policy}, {by}, {ask})"
    found = served(lambda: target.find_clusters(policy=policy, keep=by, **ask), ask)
    if found is None:
        return told
    groups = [cluster.ids for cluster in found]
    members = [truth.key(id) for group in groups for id in group]
    assert len(set(members)) == len(members), "a document is in two clusters"
    wanted, near = expected.pairs(ask)
    if expected.recall_of(ask) == 1.0 and not near:
        order = list(expected.documents)
        if by == "min:rank":
            order.sort(key=lambda id: (id not in ranks, ranks.get(id, 0)))
        made = components(order, wanted) if policy == "connected" else stars(order, wanted)
        assert groups == made, f"{told}: {groups} is not {made}"
    return told


def cluster(target, expected, chance):
    id = some_id(chance)
    options = expected.options
    told = f"cluster({id!r})"
    if options.keep_clusters == "none" or id not in expected.documents:
        try:
            target.cluster(id)
        except (simdb.OptionError, simdb.NotFoundError):
            return told
        raise AssertionError(f"{told} was answered")
    found = target.cluster(id)
    by_distance = options.keep_clusters == "distance"
    ask = {"distance": options.distance} if by_distance else {"similarity": options.similarity}
    wanted, near = expected.pairs(ask)
    groups = [group for group in components(list(expected.documents), wanted) if id in group]
    whole = groups[0] if groups else [id]
    if (by_distance or options.recall == 1.0) and not near:
        assert found == whole, f"{told}: {found} is not {whole}"
    else:
        assert set(found) <= set(whole), f"{told}: {found} is not in {whole}"
    return told


def get(target, expected, chance):
    asked = [some_id(chance) for _ in range(chance.choice([1, 3, 10]))]
    known = [id for id in asked if id in expected.documents]
    assert target.contains_many(asked).tolist() == [id in expected.documents for id in asked]
    for document in target.get_many(known):
        entry = expected.documents[document.id]
        assert document.metadata == entry.metadata
        assert document.fingerprint.is_empty == (entry.bits is None)
        if not expected.is_minhash and entry.bits is not None:
            assert document.fingerprint.bits == entry.bits
    for id in asked:
        assert (id in target) == (id in expected.documents)
    if len(known) < len(asked):
        try:
            target.get_many(asked)
        except simdb.NotFoundError:
            return f"get_many({asked})"
        raise AssertionError("an unknown document was given")
    return f"get_many({asked})"


def explain(target, expected, chance):
    known = [id for id, entry in expected.documents.items() if entry.bits is not None]
    if len(known) < 2:
        return "explain: too few"
    left, right = chance.sample(known, 2)
    distance = {} if expected.is_minhash else {"distance": 3}
    told = target.explain(left, right, **distance)
    wanted = expected.measured(expected.documents[left], expected.documents[right])
    truth.check_measured((told.distance, told.similarity), wanted)
    return f"explain({left!r}, {right!r})"


def plan(target, expected, chance):
    ask = some_pairs_ask(expected, chance)
    n, pairs = chance.choice([None, 0, 10, 1e6]), chance.random() < 0.5
    told = served(lambda: target.plan(n, pairs=pairs, **ask), ask)
    # A named method may reach less recall than asked for; its plan then says so.
    if told is not None and ask.get("search") in (None, "auto", "exhaustive", "psm", "multiprobe"):
        assert told.recall >= (ask.get("recall") or expected.options.recall) - 1e-9, told
    return f"plan({n}, pairs={pairs}, {ask})"


READING = (
    query, query, query, query_by_id, query_by_id, query_many, query_many, find_all, find_clusters,
    contained, cluster, get, explain, plan,
)  # fmt: skip


def check_all(target, expected):
    """Check that the target has the same documents in the same order."""
    ids = list(expected.documents)
    assert [truth.key(id) for id in target] == [truth.key(id) for id in ids]
    assert len(target) == len(ids)
