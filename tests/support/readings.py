"""Readings: compares every verb of a database, snapshot, transaction or shards with loops.

`check_reading` asks a reading by every reading verb, and compares the answers with loops over the
documents that it must hold.
"""

from collections.abc import Callable
from functools import cache, lru_cache, wraps
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
import sharded
from oracle import components, cosine, quantised, stars
from passage_oracle import expected
from scales import seen

import simdb

SHARDS = 14  # enough for some to have no document
TINY = {"delta_documents": 4, "growth": 2}
OPTIONS = simdb.Options(
    passages=True, features=True, texts=True, keep_times="inserted", **TINY
)  # fmt: skip
MINHASH = simdb.Options(sketch=simdb.Minhash(), keep_times="inserted", **TINY)
GONE = ["unknown", 77777, b"\0"]


def first_kind(metadata):
    return metadata["at"] != 1


WAYS = ({}, {"limit": 2}, {"where": first_kind}, {"where": first_kind, "limit": 1})
ALL = {"recall": 1.0}
NEAR = 1e-4


class Entry(NamedTuple):
    """A document: its text, its metadata and the time when it was stored, in seconds."""

    text: str
    metadata: Any = None
    time: int | None = None


def kept(loop):
    """Cache the answers of a loop over held documents, which do not change."""

    @wraps(loop)
    def answer(self, *given, **named):
        key = loop.__name__, given, tuple(sorted(named.items()))
        if key not in self.known:
            self.known[key] = loop(self, *given, **named)
        return self.known[key]

    return answer


class Held:
    """The documents that a reading must hold, in the order of insertion, and loops over them.

    `notes`: notes by name, None if the reading must refuse notes.  `gone`: ids that it must not
    have.  `is_brief`: ask each question in one way only.  `some`: ids to ask by.
    """

    def __init__(self, documents, options, *, notes=None, gone=(), is_brief=False, sample=10**6):
        self.documents, self.options, self.known = dict(documents), options, {}
        self.notes = None if notes is None else dict(notes)
        self.ids, self.gone, self.is_brief = list(self.documents), [*gone, *GONE], is_brief
        self.some = self.ids[:: max(len(self.ids) // sample, 1)]
        self.texts = {id: self.documents[id].text for id in self.some}
        # Some texts of documents, one without words, and one like no other.
        self.asked = [*list(self.texts.values())[::7], "", "no such words in any of them"]
        self.ways, self.few = (WAYS[:1], self.some[::9]) if is_brief else (WAYS, self.some[::4])
        self.criteria = [{"similarity": 0.5}, {"distance": 12}]
        if is_brief or options.is_minhash:
            is_near = len(self.some) < len(self.ids) or len(self.ids) % 2
            self.criteria = [self.criteria[not options.is_minhash and is_near]]

    def sketch(self, text):
        return sketched(self.options.sketch, text)

    @kept
    def matches(self, text, *, similarity=None, distance=None, where=None, without=None):
        """Return (id, distance, similarity) of the matches of a text, best first, then by age."""
        texts = [
            (id, each.text)
            for id, each in self.documents.items()
            if id != without and (where is None or where(each.metadata))
        ]
        if distance is not None:
            bits, own = self.bits(), self.sketch(text) or (0,)
            texts = [
                row for row in texts
                if row[0] in bits and (bits[row[0]] ^ own[0]).bit_count() <= distance
            ]  # fmt: skip
        rows = [(id, *compared(self.options.sketch, text, other)) for id, other in texts]
        rows = [row for row in rows if row[2] is not None]
        if distance is not None:
            return sorted(rows, key=lambda row: row[1])
        rows = [row for row in rows if row[2] >= (similarity or -1)]
        return sorted(rows, key=lambda row: -round(row[2], 5))

    @kept
    def bits(self):
        """Return the fingerprints of the documents that have any."""
        made = {id: self.sketch(each.text) for id, each in self.documents.items()}
        return {id: sketch[0] for id, sketch in made.items() if sketch}

    @kept
    def pairs(self, *, where=None, is_exact=False, **criterion):
        """Return {(older id, newer id): (distance, similarity)}; exact: Jaccard of the shingles."""
        kept = (id for id in self.some if where is None or where(self.documents[id].metadata))
        texts = {id: self.texts[id] for id in kept}
        found = {}
        for left, right in combinations(texts, 2):
            distance, similarity = compared(self.options.sketch, texts[left], texts[right])
            if is_exact and similarity is not None:
                similarity = jaccard(texts[left], texts[right])
            is_near = similarity is not None and (
                distance <= criterion["distance"]
                if "distance" in criterion
                else similarity >= criterion["similarity"]
            )
            if is_near:
                found[left, right] = distance, similarity
        return found


@cache
def sketched(sketch, text):
    """Return (bits or minima, the weights as they are stored); None for a text without features."""
    if isinstance(sketch, simdb.Minhash):
        made = simdb.signatures([text], sketch)[0]
        return None if made.is_empty else (made.minima.tolist(), None)
    made = simdb.fingerprint(text, sketch)
    return None if made.is_empty else (made.bits, quantised(made.weights))


@lru_cache(1 << 18)
def compared(sketch, text, other):
    """Return distance and similarity of two texts as their sketches estimate them."""
    left, right = sketched(sketch, text), sketched(sketch, other)
    if left is None or right is None:
        return 64, None
    if isinstance(sketch, simdb.Minhash):
        differing = sum(one != two for one, two in zip(left[0], right[0], strict=True))
        return differing, float(np.float32(1 - differing / len(left[0])))
    return (left[0] ^ right[0]).bit_count(), seen(cosine(left[1], right[1]))


@cache
def jaccard(text, other):
    """Return the exact similarity of two texts of three words or more, by runs of three words."""
    left, right = ({*zip(words, words[1:], words[2:], strict=False)}
                   for words in (text.split(), other.split()))  # fmt: skip
    return len(left & right) / len(left | right)


def number_of(id):
    """Return 0 to 4, the same in every process."""
    return sum(map(ord, repr(id))) % 5


def assert_same(found, rows):
    """Assert that rows of matches equal the rows of loops, with similarities nearly equal."""
    for own, wanted in zip(found, rows, strict=True):
        assert [(each.id, each.distance) for each in own] == [row[:2] for row in wanted]
        both = zip(own, wanted, strict=True)
        assert all(abs(each.similarity - row[2]) < NEAR for each, row in both)


def each_question(held):
    """Yield arguments of queries, and the rows that must be found by text and by id."""
    for criterion in held.criteria:
        for way in held.ways:
            where, limit = way.get("where"), way.get("limit")
            asked = [held.matches(text, **criterion, where=where)[:limit] for text in held.asked]
            by_id = [
                held.matches(held.texts[id], **criterion, where=where, without=id)[:limit]
                for id in held.few
            ]
            yield criterion | way | ALL, asked, by_id


def check_query(reading, held):
    for given, asked, by_id in each_question(held):
        assert_same((reading.query(text, **given) for text in held.asked), asked)
        assert_same((reading.query(id=id, **given) for id in held.few), by_id)
    if held.is_brief:
        for text in held.asked[: 2 * held.options.passages]:
            found = {each.id for each in reading.query(text, contained=1.0)}
            same = {id for id, each in held.documents.items() if each.text == text}
            assert not text or same <= found <= held.documents.keys()
        return
    for text in held.asked:
        ids = [row[0] for row in held.matches(text, similarity=0.5)]
        even = reading.query(text, similarity=0.5, **ALL, accept=lambda id: number_of(id) < 3)
        assert [each.id for each in even] == [id for id in ids if number_of(id) < 3]
        some = reading.query(text, similarity=0.5, **ALL, accept=lambda id: number_of(id) / 5)
        assert {(each.id, each.similarity) for each in some} == {
            (id, number_of(id) / 5) for id in ids if number_of(id) >= 2.5
        }
    check_contained(held, lambda every, **given: [reading.query(one, **given) for one in every])


def check_query_many(reading, held):
    for given, asked, by_id in each_question(held):
        assert_same(reading.query_many(held.asked, **given), asked)
        assert_same(reading.query_many(ids=held.few, **given), by_id)
        if "limit" not in given:
            first = reading.query_many(held.asked, **given, match="first")
            assert_some(first, asked)
    found = reading.query_many(
        held.asked, similarity=0.5, **ALL, accept=lambda at, id: (at + number_of(id)) % 2 == 0
    )
    assert [[each.id for each in row] for row in found] == [
        [id for id, *_ in held.matches(text, similarity=0.5) if (at + number_of(id)) % 2 == 0]
        for at, text in enumerate(held.asked)
    ]
    check_contained(held, reading.query_many)


def assert_some(found, rows):
    """Assert that each row has one match, if there are any."""
    for own, wanted in zip(found, rows, strict=True):
        assert len(own) == bool(wanted)
        assert {(each.id, each.distance) for each in own} <= {row[:2] for row in wanted}


def check_contained(held, ask):
    """Check queries of containment; for estimates, only that a whole text is contained whole."""
    if not held.options.passages:
        return
    words = {id: text.split() for id, text in held.texts.items()}
    asked = held.asked[:-2]
    exact, estimated = ask(asked, contained=0.3, texts=held.texts), ask(asked, contained=1.0)
    for text, row, whole in zip(asked, exact, estimated, strict=True):
        rows = expected(text.split(), words, 0.3)
        assert [(each.id, round(each.containment, 6)) for each in row] == [
            (id, round(share, 6)) for id, share in rows
        ]
        assert {id for id, share in rows if share == 1.0} <= {each.id for each in whole}
        for match in row:
            for span in match.spans:  # grown over some words that differ
                own = text[span.start : span.stop].split()
                other = held.texts[match.id][span.document_start : span.document_stop].split()
                assert (own[0], own[-1]) == (other[0], other[-1])


def check_first(reading, held):
    for given, asked, by_id in each_question(held):
        if "limit" not in given:
            found = [reading.first(text, **given) for text in held.asked]
            assert_some([[each] * (each is not None) for each in found], asked)
            found = [reading.first(id=id, **given) for id in held.few]
            assert_some([[each] * (each is not None) for each in found], by_id)


def nearest_rows(held, k, where=None):
    asked = [held.matches(text, where=where)[:k] for text in held.asked]
    by_id = [held.matches(held.texts[id], where=where, without=id)[:k] for id in held.few]
    return asked, by_id


def check_nearest(reading, held):
    for k, where in [(1, None), (3, None), (3, first_kind), (100, None)]:
        asked, by_id = nearest_rows(held, k, where)
        given = {"k": k, "where": where} | ALL
        assert_same((reading.nearest(text, **given) for text in held.asked), asked)
        assert_same((reading.nearest(id=id, **given) for id in held.few), by_id)


def check_nearest_many(reading, held):
    for k, where in [(3, None), (3, first_kind), (100, None)]:
        asked, by_id = nearest_rows(held, k, where)
        given = {"k": k, "where": where} | ALL
        assert_same(reading.nearest_many(held.asked, **given), asked)
        assert_same(reading.nearest_many(ids=held.few, **given), by_id)


def check_find_all(reading, held):
    for criterion in held.criteria:
        for where in (None, first_kind)[: 2 - held.is_brief]:
            given = criterion | ALL | {"where": where}
            wanted = held.pairs(**criterion, where=where)
            assert_same_pairs(reading.find_all(**given, verify="estimate"), held, wanted)
    ways = [{"verify": "exact"}] * held.options.features
    for way in [*ways, *[{"texts": held.texts}] * (not held.is_brief)]:
        found = reading.find_all(similarity=0.5, **ALL, **way)
        assert_same_pairs(found, held, held.pairs(similarity=0.5, is_exact=True))
    if held.options.passages and not held.is_brief:
        words = {id: text.split() for id, text in held.texts.items()}
        found = reading.find_all(contained=0.4, texts=held.texts)
        rows = zip(found.left, found.right, found.containment.round(6).tolist(), strict=True)
        assert sorted(rows, key=repr) == sorted(
            [(id, other, round(share, 6)) for id, own in words.items()
             for other, share in expected(own, words, 0.4) if other != id], key=repr,
        )  # fmt: skip


def assert_same_pairs(found, held, wanted):
    """Assert that pairs equal the pairs of loops, as far as both ids are asked by."""
    columns = found.left, found.right, found.distance.tolist(), found.similarity.tolist()
    rows = list(zip(*columns, strict=True))
    assert len({row[:2] for row in rows}) == len(rows)
    rows = {row[:2]: row[2:] for row in rows if held.texts.keys() >= {*row[:2]}}
    assert rows.keys() == wanted.keys()
    for pair, (distance, similarity) in wanted.items():
        assert rows[pair][0] == distance
        assert abs(rows[pair][1] - similarity) < NEAR


def check_find_clusters(reading, held):
    orders = {"first": held.ids, "last": held.ids[::-1]}
    if all(each.metadata is not None for each in held.documents.values()):
        at = {id: each.metadata["at"] for id, each in held.documents.items()}
        orders["max:at"] = sorted(held.ids, key=lambda id: -at[id])
    for criterion in held.criteria:
        pairs = held.pairs(**criterion)
        for keep, order in orders.items():
            for policy, grouped in {"connected": components, "star": stars}.items():
                given = criterion | ALL | {"keep": keep, "policy": policy}
                found = [each.ids for each in reading.find_clusters(**given, verify="estimate")]
                groups = grouped(order, pairs)
                assert {ids[0]: {*ids} for ids in found} == {ids[0]: {*ids} for ids in groups}


def check_cluster(reading, held):
    if not held.options.keeps_clusters:
        with pytest.raises(simdb.OptionError):
            reading.cluster(held.some[0])
        return
    bound = held.options.keep_clusters
    kept = components(held.ids, held.pairs(**{bound: getattr(held.options, bound)}))
    alone = {id: [id] for id in held.some}
    wanted = alone | {id: members for members in kept for id in members}
    assert {id: reading.cluster(id) for id in held.some} == wanted


def check_compare(reading, held):
    others = held.some[::-1]
    found = reading.compare(held.some, others, verify="estimate")
    rows = zip(found.distance.tolist(), found.similarity.tolist(), strict=True)
    for id, other, row in zip(held.some, others, rows, strict=True):
        wanted = compared(held.options.sketch, held.texts[id], held.texts[other])
        if wanted[1] is not None:
            assert row == (wanted[0], pytest.approx(wanted[1], abs=1e-4))
        elif not held.options.is_minhash:
            assert np.isnan(row[1])


def check_explain(reading, held):
    first, text = held.ids[0], held.texts[held.ids[0]]
    by_distance = sorted(
        held.ids[1:], key=lambda id: compared(held.options.sketch, text, held.texts[id])[0]
    )
    for other in [*by_distance[:4], *by_distance[-4:]]:
        wanted = compared(held.options.sketch, text, held.texts[other])
        if wanted[1] is not None:
            stored = reading.explain(first, other, similarity=0.5)
            given = reading.explain(first, document=held.texts[other], similarity=0.5)
            for each in (stored, given):
                assert (each.distance, each.similarity) == (wanted[0], pytest.approx(wanted[1]))
                assert each.is_match == (wanted[1] >= 0.5)


def check_plan(reading, held):
    for pairs in (False, True):
        plan = reading.plan(similarity=0.9, recall=0.9, pairs=pairs)
        assert plan.recall >= 0.9
        assert plan.method
        assert plan.reason


def check_draw_ids(reading, held):
    drawable = {id for id, text in held.texts.items() if held.sketch(text) is not None}
    for count in (0, 3, 9, 10**6):
        for weighted in (False, True):
            drawn = reading.draw_ids(count, seed=count, weighted=weighted)
            assert len({*drawn}) == len(drawn) == min(count, len(drawable))
            assert {*drawn} <= drawable
            assert drawn == reading.draw_ids(count, seed=count, weighted=weighted)


def check_document(held, id, found):
    """Check one document that a verb has returned."""
    sketch, entry = held.sketch(held.texts[id]), held.documents[id]
    assert (type(found.id), found.id, found.metadata) == (type(id), id, entry.metadata)
    if found.signature is not None:
        assert found.signature.is_empty == (sketch is None)
        assert sketch is None or found.signature.minima.tolist() == sketch[0]
    else:
        assert found.fingerprint.is_empty == (sketch is None)
        assert sketch is None or found.fingerprint.bits == sketch[0]


def check_get(reading, held):
    for id in held.few if held.is_brief else held.some:
        check_document(held, id, reading.get(id))
    assert {reading.get(id, "none") for id in held.gone} == {"none"}


def check_get_many(reading, held):
    for id, found in zip(held.some[::-1], reading.get_many(held.some[::-1]), strict=True):
        check_document(held, id, found)
    for verb in ("get_many", "query_many", "nearest_many", "times_many"):
        for id in held.gone if held.options.keeps_times else ():
            with pytest.raises(simdb.NotFoundError):
                getattr(reading, verb)(ids=[*held.some[:1], id])


def check_item(reading, held):
    for id in held.some:
        check_document(held, id, reading[id])
    for id in held.gone:
        with pytest.raises(simdb.NotFoundError):
            reading[id]


def check_items(reading, held):
    items = list(reading.items())
    assert [id for id, _ in items] == held.ids
    for id, found in items:
        check_document(held, id, found)


def check_ids(reading, held):
    assert list(reading) == list(reading.keys()) == held.ids


def check_len(reading, held):
    assert len(reading) == len(held.documents)
    assert bool(reading)


def check_in(reading, held):
    assert [id in reading for id in [*held.some, *held.gone]] == (
        [True] * len(held.some) + [False] * len(held.gone)
    )


def check_contains_many(reading, held):
    assert reading.contains_many([*held.gone, *held.some]).tolist() == (
        [False] * len(held.gone) + [True] * len(held.some)
    )


def check_bits_many(reading, held):
    is_stored, bits = reading.bits_many([*held.some, *held.gone])
    assert is_stored.tolist() == [True] * len(held.some) + [False] * len(held.gone)
    for id, own in zip(held.some, bits.tolist(), strict=False):
        assert own == reading.get(id).fingerprint.bits


def check_sketches(reading, held):
    rows = {row["id"]: row for row in reading.sketches(ids="text").read_all().to_pylist()}
    assert len(rows) == len(held.ids)
    for id, text in held.texts.items():
        row, sketch = rows[id.hex() if isinstance(id, bytes) else str(id)], held.sketch(text)
        assert row["is_empty"] == (sketch is None)
        assert sketch is None or row.get("bits", sketch[0]) == sketch[0]


def check_times_many(reading, held):
    if held.options.keeps_times:
        times = reading.times_many(held.some).astype("int64").tolist()
        for own, id in zip(times, held.some, strict=True):
            assert held.documents[id].time in (None, own)


def check_texts_many(reading, held):
    if not held.options.texts:
        return
    assert reading.texts_many(held.some[::-1]) == [held.texts[id] for id in held.some[::-1]]
    text = held.texts[held.some[0]]
    for asked in (held.some[0], held.some[-1]):
        assert reading.get(asked).text == held.texts[asked]
    for match in reading.query(text, similarity=0.5, recall=1.0, limit=9):
        assert match.text == held.documents[match.id].text
    for id in held.gone:
        with pytest.raises(simdb.NotFoundError):
            reading.texts_many([*held.some[:1], id])


def check_note(reading, held):
    if held.notes is None:
        with pytest.raises(simdb.OptionError):
            reading.note("name")
        return
    for name in [*held.notes, "no such note"]:
        assert reading.note(name) == held.notes.get(name)


VERBS: dict[str, Callable[[Any, Held], None]] = {
    "query": check_query, "query_many": check_query_many, "first": check_first,
    "nearest": check_nearest, "nearest_many": check_nearest_many, "find_all": check_find_all,
    "find_clusters": check_find_clusters, "cluster": check_cluster, "compare": check_compare,
    "explain": check_explain, "plan": check_plan, "draw_ids": check_draw_ids, "get": check_get,
    "get_many": check_get_many, "__getitem__": check_item, "items": check_items,
    "keys": check_ids, "__len__": check_len, "__contains__": check_in,
    "contains_many": check_contains_many, "bits_many": check_bits_many,
    "sketches": check_sketches, "times_many": check_times_many,
    "texts_many": check_texts_many, "note": check_note,
}  # fmt: skip


def check_reading(reading, held, verbs=tuple(VERBS)):
    """Assert that each reading verb answers as loops over the documents that must be held."""
    for verb in verbs:
        VERBS[verb](reading, held)


def documents(seed=1, shards=SHARDS, shard_by="id"):
    """Return documents in the order of shards; long texts, copies and near-copies, one empty."""
    ids, texts = sharded.corpus(seed)
    numbers = sharded.numbers_of(ids, texts, shards, OPTIONS, shard_by)
    ids, texts = sharded.in_order_of_shards(ids, texts, numbers)
    rows = enumerate(zip(ids, texts, strict=True))
    return {id: Entry(text, {"text": text, "at": at % 3}) for at, (id, text) in rows}


def columns(documents):
    """Return ids, texts and metadata, as verbs that insert take them."""
    return list(documents), [each.text for each in documents.values()], [
        each.metadata for each in documents.values()
    ]  # fmt: skip
