"""All verbs, in random order, against the oracle."""

import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from unittest.mock import patch

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from merging import merging_slowly
from oracle import ConflictError, Oracle, Stored, quantised
from pricing import tables_first
from soundness import assert_sound
from strategies import fingerprints, ids, metadata, options, texts

import simdb
from simdb.database.state import staged

documents = st.one_of(fingerprints, fingerprints, texts)
distances = st.integers(0, 12)
entries = st.tuples(ids, documents, metadata)
batches = st.lists(entries, max_size=20, unique_by=lambda entry: (type(entry[0]), entry[0]))
loose_batches = st.lists(entries, max_size=12)  # an id can be given twice
rules = st.sampled_from(["same", "skip", "replace"])
# In a batch for which any conflict is an error, each id is given once.
by_rule = st.one_of(
    st.tuples(loose_batches, rules), st.tuples(batches, st.sampled_from(["error", "replace"]))
)
wheres = st.sampled_from(
    [
        lambda metadata: metadata is None,
        lambda metadata: isinstance(metadata, dict),
        lambda metadata: isinstance(metadata, int) and metadata > 0,
    ]
)
a_change = st.one_of(
    st.tuples(st.just("insert"), by_rule),
    st.tuples(st.just("insert"), by_rule),
    st.tuples(st.just("claim"), by_rule, st.integers(0, 5)),
    st.tuples(st.just("delete"), st.lists(ids, max_size=6)),
    st.tuples(st.just("update"), ids, metadata),
    st.tuples(st.just("delete where"), wheres),
    st.tuples(st.just("expire"), st.integers(0, 1000)),
    st.tuples(st.just("ask"), fingerprints, distances),
)
changes = st.lists(a_change, min_size=1, max_size=5)


def columns_of(batch):
    return [list(column) for column in zip(*batch, strict=True)] or [[], [], []]


class AbortError(Exception):
    """The exception that leaves a transaction without a commit."""


class DatabaseMachine(RuleBasedStateMachine):
    """A database, the oracle, and snapshots, each with the oracle of its time."""

    @initialize(
        chosen=options(recall=1.0),
        prefers_tables=st.booleans(),
        keeps=st.sampled_from(["none", "distance"]),
        merges_slowly=st.booleans(),
        pace=st.sampled_from([1, 3]),
        longest=st.sampled_from([12, 1 << 24]),
        times=st.sampled_from(["none", "inserted", "seen"]),
    )
    def create(self, chosen, prefers_tables, keeps, merges_slowly, pace, longest, times):
        chosen = replace(chosen, keep_clusters=keeps, keep_times=times)
        self.patches = ExitStack()
        self.patches.enter_context(patch.object(staged, "time", lambda: self.oracle.now))
        self.patches.enter_context(tables_first(prefers_tables))
        self.patches.enter_context(merging_slowly(merges_slowly, pace, longest))
        self.directory = Path(tempfile.mkdtemp(prefix="simdb-model-"))
        self.path = self.directory / "db"
        self.sketch = chosen.sketch
        self.database = simdb.open(self.path, "x", options=chosen, durability="none")
        self.oracle = Oracle(now=1000, keeps_seen=times == "seen")
        self.snapshots = []

    def teardown(self):
        if not hasattr(self, "directory"):
            return
        self.patches.close()
        self.close_snapshots()
        self.database.close()
        assert_sound(self.path)
        shutil.rmtree(self.directory)

    @rule(todo=changes)
    def change_by_verbs(self, todo):
        """Each of these verbs is a transaction."""
        for change in todo:
            self.change(self.database, self.oracle, change)

    @rule(batch=batches, by=st.sampled_from(["error", "replace"]))
    def insert_many(self, batch, by):
        self.insert(self.database, self.oracle, (batch, by))

    @rule(entry=entries, replace=st.booleans())
    def insert_one(self, entry, replace):
        id, document, data = entry
        if id in self.oracle.documents and not replace:
            with pytest.raises(simdb.ExistsError):
                self.database.insert(id, document, data)
        else:
            self.database.insert(id, document, data, on_conflict="replace" if replace else "error")
            self.oracle.insert(id, self.stored(document, data))

    @rule(id=ids)
    def delete(self, id):
        if self.oracle.delete(id):
            self.database.delete(id)
        else:
            with pytest.raises(simdb.NotFoundError):
                self.database.delete(id)

    @rule(seconds=st.integers(1, 500))
    def wait(self, seconds):
        self.oracle.now += seconds

    @rule(entry=entries, by=rules, distance=st.integers(0, 5))
    def add_if_new(self, entry, by, distance):
        id, document, data = entry
        try:
            expected = self.oracle.claim_by(by, id, self.stored(document, data), distance)
        except ConflictError:
            with pytest.raises(simdb.ExistsError):
                self.database.add_if_new(id, document, data, distance=distance, on_conflict=by)
            return

        found = self.database.add_if_new(id, document, data, distance=distance, on_conflict=by)

        assert (found and (found.id, found.distance)) == expected

    @rule(batch=batches, distance=st.integers(0, 5), first=st.booleans())
    def insert_batch(self, batch, distance, first):
        if any(id in self.oracle.documents for id, _, _ in batch):
            return
        found = self.database.insert_batch(
            *columns_of(batch), match="first" if first else "all", distance=distance
        )

        before = self.oracle.copy()
        for (id, document, data), row in zip(batch, found, strict=True):
            stored = self.stored(document, data)
            expected = before.query(stored.bits, distance)
            matches = [(each.id, each.distance) for each in row]
            assert matches == expected or (first and bool(matches) == bool(expected))
            assert set(matches) <= set(expected)
            self.oracle.insert(id, stored)

    @rule(sample=st.one_of(st.none(), st.lists(texts, min_size=1, max_size=9)))
    @precondition(lambda self: self.sketch.store_volatility)
    def calibrate(self, sample):
        self.database.calibrate(sample)

    @rule(todo=changes, commits=st.booleans())
    def transaction(self, todo, commits):
        staged = self.oracle.copy()
        try:
            with self.database.write() as transaction:
                for change in todo:
                    self.change(transaction, staged, change)
                assert list(transaction) == list(staged.documents)
                assert len(transaction) == len(staged.documents)
                assert [each.metadata for _, each in transaction.items()] == [
                    stored.metadata for stored in staged.documents.values()
                ]
                if not commits:
                    raise AbortError
        except AbortError:
            return
        self.oracle = staged

    @rule()
    def take_snapshot(self):
        if len(self.snapshots) == 3:
            self.snapshots.pop(0)[0].close()
        self.snapshots.append((self.database.read(), self.oracle.copy()))

    @rule(bits=fingerprints, distance=distances)
    @precondition(lambda self: self.snapshots)
    def ask_snapshots(self, bits, distance):
        for snapshot, oracle in self.snapshots:
            assert [(id, each.metadata) for id, each in snapshot.items()] == [
                (id, stored.metadata) for id, stored in oracle.documents.items()
            ]
            self.ask(snapshot, oracle, bits, distance)
            self.ask_for_pairs(snapshot, oracle, distance)

    @rule()
    def compact(self):
        report = self.database.compact()

        stats = self.database.stats()
        assert (stats.deleted_count, stats.delta_count) == (0, 0)
        assert len(stats.runs) <= 1
        assert bool(report.note) == bool(self.snapshots)

    @rule(polytopes=st.sampled_from([None, 0, 1, 3]))
    @precondition(lambda self: self.sketch.store_volatility)
    def rebuild(self, polytopes):
        report = self.database.rebuild(polytopes=polytopes)

        assert report.dropped == report.losses == ()
        assert polytopes in (None, self.database.options.polytopes)

    @rule()
    def reopen(self):
        self.close_snapshots()
        self.database.close()
        self.database = simdb.open(self.path, "w", durability="none")

    @rule()
    def look_at_it(self):
        stats = self.database.stats()

        held = self.oracle.documents.values()
        assert stats.document_count == len(held)
        assert stats.empty_count == sum(stored.bits is None for stored in held)
        assert list(self.database.check()) == []

    @rule()
    @precondition(lambda self: self.database.options.keeps_clusters)
    def read_kept_clusters(self):
        kept = self.oracle.find_clusters(self.database.options.distance)
        alone = {id: [id] for id in self.oracle.documents}
        expected = alone | {id: members for members in kept for id in members}

        assert {id: self.database.cluster(id) for id in self.oracle.documents} == expected

    @rule(
        asked=st.lists(documents, min_size=1, max_size=9),
        distance=distances,
        limit=st.one_of(st.none(), st.integers(1, 4)),
        where=st.one_of(st.none(), wheres),
    )
    def query_many(self, asked, distance, limit, where):
        found = self.database.query_many(asked, distance=distance, limit=limit, where=where)
        single = self.database.query(asked[0], distance=distance, limit=limit, where=where)

        bits = [self.stored(document).bits for document in asked]
        expected = [self.oracle.query_where(each, distance, where)[:limit] for each in bits]
        assert [[(each.id, each.distance) for each in row] for row in found] == expected
        assert [(each.id, each.distance) for each in single] == expected[0]

    @rule(distance=distances)
    def find_pairs_and_clusters(self, distance):
        found = self.database.find_clusters(distance=distance)

        assert [cluster.ids for cluster in found] == self.oracle.find_clusters(distance)
        self.ask_for_pairs(self.database, self.oracle, distance)

    @rule(distance=distances)
    def query_by_id(self, distance):
        known = list(self.oracle.documents)
        found = self.database.query_many(ids=known, distance=distance)
        for id, row in zip(known, found, strict=True):
            bits = self.oracle.documents[id].bits
            expected = self.oracle.query(bits, distance, without=id)
            assert [(each.id, each.distance) for each in row] == expected
        for id in known[:5]:
            assert self.database.query(id=id, distance=distance) == found[known.index(id)]

    @rule(text=texts, similarity=st.sampled_from([0.2, 0.5, 0.8, 0.95]))
    def query_by_similarity(self, text, similarity):
        stored = self.stored(text)
        if stored.bits is not None and stored.vector is None:
            with pytest.raises(simdb.OptionError):
                self.database.query(text, similarity=similarity)
            return
        if not self.sketch.store_volatility or stored.vector is None:
            return

        found = self.database.query(text, similarity=similarity, recall=1.0)

        sure, near = self.oracle.similar(stored.vector, similarity)
        assert set(sure) <= {each.id for each in found} <= set(sure) | near
        assert [each.similarity for each in found] == sorted(
            (each.similarity for each in found), reverse=True
        )

    @rule(asked=st.lists(ids, max_size=8))
    def get(self, asked):
        documents = self.oracle.documents
        known = [id for id in asked if id in documents]

        is_stored, bits = self.database.bits_many(asked)
        found = self.database.get_many(known)

        assert is_stored.tolist() == [id in documents for id in asked]
        assert self.database.contains_many(asked).tolist() == is_stored.tolist()
        assert [self.database.get(id) for id in asked if id in self.database] == found
        for id, each, own in zip(known, found, bits[is_stored].tolist(), strict=True):
            stored = documents[id]
            assert (type(each.id), each.id, each.metadata) == (type(id), id, stored.metadata)
            assert (each.fingerprint.is_empty, each.fingerprint.bits) == (stored.bits is None, own)
            assert stored.bits in (None, own)
        if len(known) < len(asked):
            with pytest.raises(simdb.NotFoundError):
                self.database.get_many(asked)

    @invariant()
    def holds_the_same_documents(self):
        if hasattr(self, "database"):
            assert len(self.database) == len(self.oracle.documents)
            assert [(id, each.metadata) for id, each in self.database.items()] == [
                (id, stored.metadata) for id, stored in self.oracle.documents.items()
            ]

    def close_snapshots(self):
        while self.snapshots:
            self.snapshots.pop()[0].close()

    def stored(self, document, data=None):
        """Return the oracle's record of a document."""
        if isinstance(document, int):
            return Stored(document, None, data)
        fingerprint = simdb.fingerprint(document, self.sketch)
        if fingerprint.is_empty:
            return Stored(None, None, data)
        keeps = self.sketch.store_volatility
        return Stored(fingerprint.bits, quantised(fingerprint.weights) if keeps else None, data)

    def change(self, target, oracle, change):
        verb, *arguments = change
        verbs = {
            "insert": self.insert, "claim": self.claim, "delete": self.delete_from,
            "update": self.update_in, "delete where": self.delete_where_in,
            "expire": self.expire_in, "ask": self.ask,
        }  # fmt: skip
        verbs[verb](target, oracle, *arguments)

    def delete_from(self, target, oracle, chosen):
        assert target.delete_many(chosen) == sum(oracle.delete(id) for id in chosen)

    def update_in(self, target, oracle, id, data):
        if oracle.update_metadata(id, data):
            target.update_metadata(id, data)
            assert target[id].metadata == data
        else:
            with pytest.raises(simdb.NotFoundError):
                target.update_metadata(id, data)

    def delete_where_in(self, target, oracle, where):
        assert target.delete_where(where) == oracle.delete_where(where)

    def expire_in(self, target, oracle, age):
        before = datetime.fromtimestamp(oracle.now - age, timezone.utc)
        if target._store.options.keeps_times:
            assert target.expire(before) == oracle.expire(oracle.now - age)
        else:
            with pytest.raises(simdb.OptionError, match="keeps no times"):
                target.expire(before)

    def insert(self, target, oracle, batch_by):
        batch, by = batch_by
        columns, changed = columns_of(batch), oracle.copy()
        try:
            for id, document, data in batch:
                changed.insert_by(by, id, self.stored(document, data))
        except ConflictError:
            with pytest.raises(simdb.ExistsError):
                target.insert_many(*columns, on_conflict=by)
            return

        stored = target.insert_many(*columns, on_conflict=by)

        if by == "replace":
            assert stored == len(set(columns[0]))
        else:
            assert stored == len(changed.documents) - len(oracle.documents)
        oracle.documents, oracle.times = changed.documents, changed.times

    def claim(self, target, oracle, batch_by, distance):
        batch, by = batch_by
        given = {"distance": distance, "on_conflict": by}
        columns, changed = columns_of(batch), oracle.copy()
        entries = [(id, self.stored(document, data)) for id, document, data in batch]
        if by == "error" and not oracle.documents.keys().isdisjoint(columns[0]):
            with pytest.raises(simdb.ExistsError):
                target.add_many_if_new(*columns, **given)
            return
        try:
            expected = changed.claim_all(by, entries, distance)
        except ConflictError:
            with pytest.raises(simdb.ExistsError):
                target.add_many_if_new(*columns, **given)
            return

        found = target.add_many_if_new(*columns, **given)

        rows = [row[0] if row else None for row in found]
        assert [row and (row.id, row.distance) for row in rows] == expected
        oracle.documents, oracle.times = changed.documents, changed.times

    def ask(self, target, oracle, bits, distance):
        expected = oracle.query(bits, distance)
        found = target.query(bits, distance=distance)
        assert [(each.id, each.distance) for each in found] == expected
        first = target.first(bits, distance=distance)
        assert (first is None) == (not expected)
        assert first is None or (first.id, first.distance) in expected

    def ask_for_pairs(self, target, oracle, distance):
        found = target.find_all(distance=distance)
        rows = list(zip(found.left, found.right, found.distance.tolist(), strict=True))
        assert len(rows) == len({row[:2] for row in rows})
        assert {row[:2]: row[2] for row in rows} == oracle.find_all(distance)


TestDatabase = DatabaseMachine.TestCase
TestDatabase.settings = settings()
