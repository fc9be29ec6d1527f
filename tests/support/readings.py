"""The answers of a reader, which a database, a snapshot, a transaction and shards give alike.

`check_reading` asks a reader by every reading verb, and compares what it answers with what one
database with the same documents, in the same order, answers.
"""

import numpy as np
import pytest
import sharded

import simdb

SHARDS = 14  # with so many, some have no document
OPTIONS = simdb.Options(passages=True, features=True, delta_documents=4, growth=2)
MINHASH = simdb.Options(sketch=simdb.Minhash(), delta_documents=4, growth=2)
DELETED = "document 6"
EXACT = {"similarity": 0.5, "recall": 1.0}


def documents(seed=1):
    """Return ids, texts and metadata in the order of shards; long texts, copies, and one empty."""
    ids, texts = sharded.in_order_of_shards(*sharded.corpus(seed), SHARDS)
    return ids, texts, [{"text": text, "at": at % 3} for at, text in enumerate(texts)]


def check_reading(reader, one, options):
    """Assert that each reading verb answers as `one` database does with the same documents."""
    every, found = answers(one, options), answers(reader, options)

    assert {question for question, answer in every.items() if found[question] != answer} == set()


def answers(reader, options):
    """Return what a reader answers to many questions, by the question, as plain objects."""
    ids, texts, _ = documents()
    texts = dict(zip(ids, texts, strict=True))
    ids.remove(DELETED)
    found = answers_about_documents(reader, ids)
    for ask in (answers_about_matches, answers_about_pairs):
        found |= ask(reader, ids, texts, options)
    return found


def is_first_kind(metadata):
    return metadata["at"] != 1


def answers_about_matches(reader, ids, texts, options):
    found = {}
    ways = {
        "": {}, "limit": {"limit": 2}, "where": {"where": is_first_kind},
        "both": {"where": is_first_kind, "limit": 1},
    }  # fmt: skip
    criteria = {"similar": EXACT, "contained": {"contained": 0.3}}
    if not options.is_minhash:
        criteria["near"] = {"distance": 12, "recall": 1.0}
    else:
        del criteria["contained"]
    asked = [*[*texts.values()][::7], "", "no such words in any of them"]
    ids = ids[::4]
    for (name, criterion), (way, more) in [(a, b) for a in criteria.items() for b in ways.items()]:
        given = criterion | more
        found[name, way, "query"] = [plain(reader.query(text, **given)) for text in asked]
        found[name, way, "query id"] = [plain(reader.query(id=id, **given)) for id in ids]
        found[name, way, "many"] = [*map(plain, reader.query_many(asked, **given))]
        found[name, way, "many ids"] = [*map(plain, reader.query_many(ids=ids, **given))]
        first = {key: value for key, value in given.items() if key != "limit"}
        found[name, way, "first"] = [reader.first(text, **first) is not None for text in asked]
        found[name, way, "match first"] = [
            len(row) for row in reader.query_many(asked, **first, match="first")
        ]
        found[name, way, "accept"] = [
            plain(reader.query(text, **given, accept=lambda id: hash_of(id) % 2 == 0))
            for text in asked
        ]
        found[name, way, "accept number"] = [
            plain(reader.query(text, **given, accept=lambda id: 0.5 + hash_of(id) % 5 / 10))
            for text in asked
        ]
        found[name, way, "accept many"] = [
            plain(row)
            for row in reader.query_many(
                asked, **given, accept=lambda at, id: (at + hash_of(id)) % 2 == 0
            )
        ]
    if "contained" in criteria:
        given = {"contained": 0.3, "texts": texts}
        found["spans"] = [
            [(*each, each.containment, each.spans) for each in reader.query(text, **given)]
            for text in asked
        ]
        found["spans ids"] = [plain(row) for row in reader.query_many(ids=ids, **given)]
    for k in (1, 3, 100):
        for way, more in (("", {}), ("where", {"where": is_first_kind})):
            given = {"k": k, "recall": 1.0} | more
            found[k, way, "nearest"] = [plain(reader.nearest(text, **given)) for text in asked]
            found[k, way, "nearest id"] = [plain(reader.nearest(id=id, **given)) for id in ids]
            found[k, way, "nearest many"] = [*map(plain, reader.nearest_many(asked, **given))]
    found["nearest texts"] = [plain(reader.nearest(text, 3, texts=texts)) for text in asked]
    return found


def answers_about_pairs(reader, ids, texts, options):
    found = {}
    ways = {"": {}, "where": {"where": is_first_kind}, "texts": {"texts": texts}}
    for way, more in ways.items():
        pairs = reader.find_all(**EXACT, **more)
        found[way, "pairs"] = sorted(map(repr, pairs))
        found[way, "verified"] = pairs.verification
        for policy in ("connected", "star"):
            given = EXACT | more | {"policy": policy}
            for keep in ("first", "last", "max:at") if way == "where" else ("first",):
                groups = reader.find_clusters(**given, keep=keep)
                found[way, policy, keep] = [list(each.ids) for each in groups]
    if not options.is_minhash:
        for way in ("", "where", "texts"):
            pairs = reader.find_all(contained=0.4, **ways[way])
            found[way, "contained pairs"] = sorted(
                (str(each.left), str(each.right), round(float(share), 9))
                for each, share in zip(pairs, pairs.containment, strict=True)
            )
        found["features"] = sorted(map(repr, reader.find_all(**EXACT, verify="exact")))
    compared = reader.compare(ids, ids[::-1])
    found["compared"] = (compared.distance.tolist(), np.round(compared.similarity, 6).tolist())
    found["compared"] = repr(found["compared"])  # NaN is not equal to itself
    explained = [reader.explain(ids[0], other) for other in ids[1:9]]
    explained.append(reader.explain(ids[0], document=texts[ids[5]]))
    explained.append(reader.explain(document=texts[ids[3]], other_document=texts[ids[5]]))
    found["explained"] = [(each.distance, each.similarity, each.is_match) for each in explained]
    found["plan of pairs"] = reader.plan(similarity=0.9, pairs=True).method
    return found


def answers_about_documents(reader, ids):
    asked = [*ids[::-1], DELETED, "unknown", 77777]
    found = {
        "len": len(reader), "iter": list(reader), "keys": list(reader.keys()),
        "items": list(reader.items()), "get many": reader.get_many(ids[::2]),
        "get": [reader.get(id, "none") for id in asked], "true": bool(reader),
        "in": [id in reader for id in asked], "contains": reader.contains_many(asked).tolist(),
        "item": [reader[id] for id in ids[:5]],
        "bits": [each.tolist() for each in reader.bits_many(asked)],
        "drawn": [reader.draw_ids(n, seed=n, weighted=n > 4) for n in (0, 3, 9, 999)],
        "sketches": sorted(map(repr, reader.sketches(ids="text").read_all().to_pylist())),
    }  # fmt: skip
    for verb in ("get_many", "query_many", "nearest_many", "times_many"):
        with pytest.raises(simdb.Error) as refused:
            getattr(reader, verb)(ids=[ids[0], "unknown", DELETED])
        found[verb, "unknown"] = type(refused.value)
    return found


def plain(matches):
    """Return matches as tuples; similarities as one database rounds them for its users."""
    return [(each.id, each.distance, each.similarity, each.containment) for each in matches]


def hash_of(id):
    """Return a number of an id that is the same in every process."""
    return len(repr(id)) + sum(map(ord, repr(id)))
