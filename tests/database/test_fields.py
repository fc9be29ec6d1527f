"""Fields of the metadata that decide: a search sees only documents with the wanted values."""

import threading
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over

import simdb
from simdb.core.stored_options import encode_options
from simdb.database.write.commit import write
from simdb.storage import codec, field_codes, layout
from simdb.storage.layout import FIELD_ORDINALS

FIELDS = ("tenant", "lang")
KINDS = {
    "weights": {},
    "blocks": {"polytopes": 0, "blocks": 6, "leading": 2},
    "fingerprints": {"sketch": simdb.Simhash(store_volatility=False)},
    "signatures": {"sketch": simdb.Minhash()},
    "hashes": {"sketch": simdb.Bits(256)},
}
WHERES = [
    {"tenant": "t1"}, {"tenant": "t0", "lang": "fr"}, {"lang": None}, {"tenant": "nobody"},
    {"lang": "de", "tenant": "t3"},
]  # fmt: skip


def opened(path=None, **settings):
    options = simdb.Options(**{"fields": FIELDS, "delta_documents": 32, "growth": 2, **settings})
    return simdb.open(path, options=options, durability="none")


def near_copies(kind, random, count):
    """Make documents that are near copies of few, so that each has matches."""
    if kind == "hashes":
        bases = [random.getrandbits(256) for _ in range(12)]
        flips = [sum(1 << bit for bit in random.sample(range(256), 3)) for _ in range(9)]
        chosen = (random.choice(bases) ^ random.choice(flips) for _ in range(count))
        return [each.to_bytes(32, "big") for each in chosen]
    bases = [[f"w{random.randrange(2000)}" for _ in range(60)] for _ in range(12)]
    made = []
    for _ in range(count):
        words = random.choice(bases)[:]
        words[random.randrange(60)] = f"w{random.randrange(2000)}"
        made.append(" ".join(words))
    return made


def meant(metadata, where):
    own = metadata or {}
    return all(own.get(field) == value for field, value in where.items())


def rows(matches):
    return [[each.id for each in row] for row in matches]


@pytest.mark.parametrize("state", ["inserted", "compacted", "staged"])
@over("kind", [*KINDS])
def test_answers_are_those_of_a_database_of_the_tenant_alone(kind, state):
    random = Random(5)
    documents = near_copies(kind, random, 330)
    queries = near_copies(kind, random, 0) + documents[::50]
    metadata = [
        {"tenant": f"t{random.randrange(4)}", "lang": random.choice(["de", "fr", None])}
        for _ in documents
    ]
    with opened(**KINDS[kind]) as database:
        for start in range(0, 270, 90):
            part = slice(start, start + 90)
            database.insert_many(range(330)[part], documents[part], metadata[part])
        database.delete_many(range(0, 270, 8))
        for id in range(1, 270, 30):
            metadata[id] = {"tenant": "t1", "lang": "fr"}
            if id % 8:
                database.update_metadata(id, metadata[id])
        if state == "compacted":
            database.compact()
        asked = database.write() if state == "staged" else database
        asked.insert_many(range(270, 330), documents[270:], metadata[270:])
        if state == "staged":
            metadata[300] = {"tenant": "t1"}
            asked.update_metadata(300, metadata[300])
        stored = [id for id in range(330) if id >= 270 or id % 8]
        for where in WHERES:
            own = [id for id in stored if meant(metadata[id], where)]
            with simdb.open(None, options=simdb.Options(**KINDS[kind])) as alone:
                alone.insert_many(own, [documents[id] for id in own])
                expected = alone.query_many(queries, recall=1.0)
                best = alone.nearest_many(queries, 6, recall=1.0)

                found = asked.query_many(queries, recall=1.0, where=where)
                assert rows(found) == rows(expected)
                assert [
                    [each.id for each in asked.query(query, recall=1.0, where=where, limit=4)]
                    for query in queries
                ] == [row[:4] for row in rows(expected)]
                assert rows(asked.nearest_many(queries, 6, recall=1.0, where=where)) == rows(best)
                for query, row, some in zip(queries, rows(best), rows(expected), strict=True):
                    assert {each.id for each in asked.query(query, where=where)} <= {*some}
                    assert (asked.first(query, where=where) is None) <= (not some)
                    near = asked.nearest(query, 6, where=where)
                    assert {each.id for each in near} <= {*own}
                    assert len(near) == len(row)
                if own:
                    by_id = asked.query(id=own[0], recall=1.0, where=where)
                    apart = alone.query(id=own[0], recall=1.0)
                    assert [each.id for each in by_id] == [each.id for each in apart]
                pairs, others = asked.find_all(where=where), alone.find_all()
                assert sorted(pairs.left.tolist()) == sorted(others.left.tolist())
                assert len(asked.find_clusters(where=where)) == len(alone.find_clusters())
        if state == "staged":
            asked.abort()
        assert list(database.check(deep=True)) == []


VALUES = st.sampled_from(["a", "b", 1, True, None, b"a", -(2**63)])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "replace", "delete", "update", "compact", "abort", "rebuild"]),
        st.integers(0, 30),
        VALUES,
    ),
    max_size=25,
)


@given(STEPS)
def test_no_other_document_is_found_and_all_of_a_value_are(steps):
    def change(changing, model, what, id, value):
        if what == "insert":
            changing.insert(id, id, {"tenant": value}, on_conflict="skip")
            model.setdefault(id, value)
        elif what == "replace":
            changing.insert(id, id + 100, {"tenant": value}, on_conflict="replace")
            model[id] = value
        elif what == "delete":
            changing.delete_many([id])
            model.pop(id, None)
        elif id in model:
            changing.update_metadata(id, {"tenant": value})
            model[id] = value

    def look(database, model):
        for wanted in ["a", "b", 1, True, None, b"a", -(2**63), "other"]:
            kind = type(wanted)
            own = {id for id, each in model.items() if type(each) is kind and each == wanted}
            found = database.query(0, distance=64, where={"tenant": wanted})
            assert {each.id for each in found} == own
            assert {each.id for each in database.nearest(7, 99, where={"tenant": wanted})} == own

    model = {}
    with opened(delta_documents=3) as database:
        for what, id, value in steps:
            if what in ("compact", "rebuild"):
                getattr(database, what)()
            elif what == "abort":
                staged = dict(model)
                with database.write() as transaction:
                    change(transaction, staged, "replace", id, value)
                    change(transaction, staged, "update", id + 1, value)
                    look(transaction, staged)
                    look(database, model)
                    transaction.abort()
            else:
                change(database, model, what, id, value)
            look(database, model)
        assert list(database.check(deep=True)) == []


def test_fields_survive_compaction_copy_dump_and_rebuild(tmp_path):
    count = 2 * FIELD_ORDINALS + 9
    metadata = [{"tenant": id % 5, "lang": f"l{id % 7}"} if id % 3 else None for id in range(count)]
    with opened(tmp_path / "db") as database:
        database.insert_many(range(count), [*range(count)], metadata)
        database.delete_many(range(0, count, 4))
        database.copy(tmp_path / "copy")
        database.dump(tmp_path / "dump")
        simdb.load(tmp_path / "dump", tmp_path / "loaded")
        with opened(tmp_path / "merged") as merged:
            merged.merge(database)
        expected = {id for id in range(count) if id % 4 and id % 3 and id % 5 == 2}

        database.compact()
        assert of_tenant(database, 2) == expected
        database.rebuild()
        assert of_tenant(database, 2) == expected
    for name in ("copy", "loaded", "db", "merged"):
        with simdb.open(tmp_path / name) as other:
            assert other.options.fields == FIELDS
            assert of_tenant(other, 2) == expected
            assert list(other.check(deep=True)) == []


def of_tenant(database, tenant):
    return {each.id for each in database.query(0, distance=64, where={"tenant": tenant})}


@over("how", ["flipped", "lost", "another"])
def test_damaged_codes_are_found_and_made_again(how):
    with opened() as database:
        database.insert_many(range(700), [*range(700)], [{"tenant": id % 3} for id in range(700)])
        store = database._store
        with store.source() as source:
            (key, value), *_ = [*source.every(layout.FIELDS)][-1:]
            flipped = bytearray(value)
        flipped[-1] ^= 1
        other = codec.encode_array(layout.FIELDS_KIND, key, np.ones(2 * FIELD_ORDINALS, np.uint64))
        put = {"flipped": bytes(flipped), "lost": None, "another": other}[how]
        write(store, lambda writer: writer.put_all(layout.FIELDS, [(key, put)]))
        store._codes = None
        store.forget_views()

        assert any("rebuild" in each.remedy for each in database.check(deep=True))
        if how != "another":
            with pytest.raises(simdb.CorruptError):
                database.query(0, where={"tenant": 1})
        database.rebuild()
        assert list(database.check(deep=True)) == []
        assert of_tenant(database, 1) == {*range(1, 700, 3)}


def test_a_claim_sees_only_its_tenant_and_needs_it_in_its_metadata():
    with opened(similarity=0.8) as database:
        one, other = ({"tenant": each} for each in ("t1", "t2"))
        assert database.add_if_new("a", 0, one, distance=3, where=one) is None
        assert database.add_if_new("b", 1, other, distance=3, where=other) is None
        assert database.add_if_new("c", 1, one, distance=3, where=one).id == "a"
        found = database.add_many_if_new(
            [*"defg"], [3, 255 << 40, 254 << 40, 0], [other] * 4, distance=3, where=other
        )

        assert rows(found) == [["b"], [], ["e"], ["b"]]
        assert database.add_if_new("a", 0, one, distance=3, where=one).id == "a"
        for rule in ("same", "skip", "replace", "error"):
            with pytest.raises(simdb.ExistsError, match=r"'a'.* other values of fields") as refused:
                database.add_if_new("a", 0, other, distance=3, where=other, on_conflict=rule)
            assert "on_conflict" not in str(refused.value)
            with pytest.raises(simdb.ExistsError, match=r"'a'.* other values of fields"):
                database.add_many_if_new(
                    ["z", "a"], [9, 0], [other] * 2, where=other, on_conflict=rule
                )
        with pytest.raises(simdb.ExistsError, match=r"'a'.* on_conflict='replace' replaces"):
            database.add_if_new("a", 0, one, distance=3, where=one, on_conflict="error")
        for metadata in (None, {"lang": "t2"}, {"tenant": "t1"}):
            with pytest.raises(simdb.InputError, match="document 'x' has other values"):
                database.add_if_new("x", 9, metadata, where=other)
            with pytest.raises(simdb.InputError, match="document 'x' has other values"):
                database.add_many_if_new(["y", "x"], [8, 9], [other, metadata], where=other)
        with pytest.raises(simdb.InputError, match="not a function"):
            database.add_if_new("x", 9, other, where=lambda metadata: True)
        assert [*database] == [*"abe"]


@over("kind", [*KINDS])
def test_claims_of_tenants_are_those_of_databases_of_their_own(kind):
    random = Random(8)
    documents = near_copies(kind, random, 120)
    tenants = [random.randrange(3) for _ in documents]
    with opened(**KINDS[kind]) as database:
        for tenant in range(3):
            own = [at for at, each in enumerate(tenants) if each == tenant]
            metadata = [{"tenant": tenant}] * len(own)
            texts = [documents[at] for at in own]
            with simdb.open(None, options=simdb.Options(**KINDS[kind])) as alone:
                expected = alone.add_many_if_new(own, texts)
                found = database.add_many_if_new(own, texts, metadata, where={"tenant": tenant})
                assert rows(found) == rows(expected)


def test_claims_of_one_tenant_in_many_threads_store_one():
    with opened() as database:

        def claim(number):
            where = {"tenant": number % 2}
            database.add_if_new(number, 5, where, distance=0, where=where)

        threads = [threading.Thread(target=claim, args=(number,)) for number in range(12)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

        assert sorted(each.metadata["tenant"] for _, each in database.items()) == [0, 1]


def test_documents_of_a_value_are_deleted():
    with opened(keep_times="inserted") as database:
        metadata = [{"tenant": id % 3, "lang": "de"} for id in range(9)]
        database.insert_many(range(9), [*range(9)], metadata)

        assert database.delete_many(where={"tenant": 1}) == 3
        assert database.delete_where({"tenant": 2, "lang": "de"}) == 3
        assert database.delete_many(where={"tenant": 2}) == 0
        assert database.delete_many(where=lambda metadata: metadata["tenant"] == 1) == 0
        assert [*database] == [0, 3, 6]
        for wrong in ({}, {"ids": [1], "where": {"tenant": 1}}):
            with pytest.raises(simdb.InputError, match="either ids or where="):
                database.delete_many(**wrong)


def entries(database):
    """Return how many documents were ever stored, and how many of them are deleted."""
    with database._store.state() as state:
        return state.counts.next_ordinal, state.counts.deleted_count


@over("kind", [*KINDS])
def test_a_new_version_of_a_source_writes_only_what_has_changed(kind):
    random = Random(1)
    texts = near_copies(kind, random, 60)
    metadata = [{"tenant": "handbook", "lang": "en"} for _ in texts]
    with opened(**KINDS[kind]) as database:
        database.insert_many(range(60), texts, metadata)
        database.insert("other", texts[0], {"tenant": "else"})
        before = entries(database)

        def replace(new, metadata):
            with database.write() as transaction:
                assert transaction.delete_many(where={"tenant": "handbook"}) == 60
                assert transaction.insert_many(range(60), new, metadata) == 60
                assert len(transaction) == len(database)

        number = database._store.environment.last_number
        replace(texts, metadata)
        assert database._store.environment.last_number == number
        assert entries(database) == before

        changed = near_copies(kind, random, 6) + texts[6:]
        metadata[50] = {"tenant": "handbook", "lang": "de"}
        replace(changed, metadata)
        assert entries(database) == (before[0] + 6, before[1] + 6)
        assert sorted(map(str, database)) == sorted(map(str, [*range(60), "other"]))
        assert database[50].metadata["lang"] == "de"
        found = database.nearest(texts[50], 60, where={"lang": "de"}, recall=1.0)
        assert [each.id for each in found] == [50]
        assert list(database.check(deep=True)) == []


def replaced(options=None, verb="insert_many", *, deletes=True, asks=False, **how):
    """Give three documents anew in one transaction; return how many of them are written again."""
    texts, metadata = [f"{at} is said of the fox" * 9 for at in range(3)], [{"tenant": 1}] * 3
    with opened(**options or {}) as database:
        database.insert_many(range(3), texts, metadata)
        with database.write() as transaction:
            if deletes:
                transaction.delete_many(where={"tenant": 1})
            if asks:
                list(transaction.find_clusters())
            getattr(transaction, verb)(range(3), texts, metadata, **how)
        assert [*database] == [0, 1, 2]
        return entries(database)[0] - 3


def test_where_a_new_version_of_a_source_is_written_anew():
    kept = {"keep_clusters": "similarity"}
    for same in ({}, {"options": kept}, {"on_conflict": "replace"}):
        assert replaced(**same) == 0
    for anew in (
        {"options": {"passages": True}},
        {"verb": "add_many_if_new", "distance": 0},
        {"on_conflict": "replace", "deletes": False},
        {"options": kept, "asks": True},
    ):
        assert replaced(**anew) == 3


def test_what_is_taken_back_stays_deleted_if_a_verb_fails():
    with opened() as database:
        database.insert_many(range(4), [*range(4)], [{"tenant": 1}] * 4)
        with database.write() as transaction:
            transaction.delete_many([0, 1])
            transaction.delete_many([2])
            with pytest.raises(simdb.InputError):
                transaction.insert_many([0, 9], [0, 9], [{"tenant": 1}, {"tenant": [1]}])
            assert [*transaction] == [3]
            transaction.insert(1, 1, {"tenant": 1})
            transaction.insert(2, 5, {"tenant": 1})
            assert [*transaction] == [1, 3, 2]

        assert of_tenant(database, 1) == {1, 2, 3}
        assert list(database.check(deep=True)) == []


def test_a_snapshot_keeps_its_values(tmp_path):
    with opened(tmp_path / "db") as database, opened(tmp_path / "db") as second:
        database.insert_many(range(6), [*range(6)], [{"tenant": id % 2} for id in range(6)])
        assert of_tenant(second, 1) == {1, 3, 5}
        with second.read() as snapshot:
            database.update_metadata(1, {"tenant": 0})
            database.delete_many([3])
            database.compact()
            database.insert(9, 9, {"tenant": 1})

            assert of_tenant(second, 1) == {5, 9}
            assert of_tenant(snapshot, 1) == {1, 3, 5}
            assert of_tenant(second, 0) == {0, 1, 2, 4}


def test_new_documents_are_read_and_no_others(tmp_path, monkeypatch):
    read = []
    decode = field_codes._decoded
    with opened(tmp_path / "db") as database, opened(tmp_path / "db") as reader:
        database.insert_many(range(1000), [*range(1000)], [{"tenant": 1}] * 1000)
        assert len(of_tenant(reader, 1)) == 1000
        monkeypatch.setattr(
            field_codes, "_decoded", lambda *given: read.append(given[0]) or decode(*given)
        )
        for id in range(1000, 1010):
            database.insert(id, id, {"tenant": id % 2})
            read.clear()
            assert (id in of_tenant(reader, 1)) == (id % 2 == 1)
            assert len(read) == 1
            database.update_metadata(0, {"tenant": 1, "more": id})  # no value changes
        database.update_metadata(0, {"tenant": 2})
        read.clear()
        assert of_tenant(reader, 2) == {0}
        assert len(read) == -(-1010 // FIELD_ORDINALS)


@over("value", [1.5, [1], {"a": 1}])
def test_values_that_have_no_code_are_refused(value):
    with opened() as database:
        with pytest.raises(simdb.InputError, match="field 'tenant' of document 'a'"):
            database.insert("a", 1, {"tenant": value})
        database.insert("a", 1, {"tenant": None, "other": value})
        with pytest.raises(simdb.InputError, match="field 'tenant' of document 'a'"):
            database.update_metadata("a", {"tenant": value})
        with pytest.raises(simdb.InputError, match="field 'tenant' of where="):
            database.query(1, where={"tenant": value})
        with pytest.warns(RuntimeWarning, match="left out"):
            database.insert_many(
                ["b", "c"], [1, 2], [{"tenant": value}, {"tenant": 1}], on_error="skip"
            )
        assert [*database] == ["a", "c"]


def test_a_value_out_of_range_is_told_why():
    with opened() as database:
        for value, why in [
            ("\ud800", r"'\\ud800', which is not valid Unicode"),
            (1 << 70, "1180591620717411303424, which has more than 64 bits"),
            (1.5, "1.5; a field"),
        ]:
            with pytest.raises(simdb.InputError, match=f"'tenant' of where= is {why}"):
                database.query(1, where={"tenant": value})
        for value in ("\ue000", -(1 << 63), (1 << 64) - 1):
            assert database.query(1, where={"tenant": value}) == []


def test_a_where_without_fields_is_to_be_left_out():
    with opened() as database:
        for ask in (
            lambda: database.query(1, where={}),
            lambda: database.add_if_new("a", 1, where={}),
        ):
            with pytest.raises(
                simdb.InputError, match=r"got \{\}; to set no condition, leave out where="
            ):
                ask()


def test_fields_that_the_database_does_not_index_are_refused(database):
    with pytest.raises(simdb.OptionError, match=r"'tenant'.* indexes none; use where=lambda"):
        database.query(1, where={"tenant": 1})
    with opened() as other:
        with pytest.raises(simdb.OptionError, match=r"'source'.* indexes 'tenant', 'lang'"):
            other.delete_many(where={"source": 1})
        for wrong in ({}, "tenant", 7):
            with pytest.raises(simdb.InputError, match="where must be a function"):
                other.nearest(1, where=wrong)


@over("wrong", ["tenant", ("a", "a"), ("",), (1,), tuple("abcdefghi"), {"a"}])
def test_invalid_names_of_fields_are_refused(wrong):
    with pytest.raises(simdb.OptionError, match="fields must be"):
        simdb.Options(fields=wrong)


def test_a_database_without_fields_stores_what_it_did(tmp_path):
    assert "fields" not in encode_options(simdb.Options())
    assert encode_options(simdb.Options(fields=["a"]))["fields"] == ("a",)
    with simdb.open(tmp_path / "db", options=simdb.Options()) as database:
        database.insert("a", 1, {"tenant": [1]})
        with database._store.source() as source:
            assert layout.FIELDS not in source.environment.handles
    with pytest.raises(simdb.OptionError, match="fields"):
        opened(tmp_path / "db")


def test_arrays_that_states_share_grow_without_disturbing_older_ones():
    with opened() as database:
        database.insert(0, 0, {"tenant": 0})
        with database.read() as snapshot:
            for start, stop in pairwise([1, 2, 40, 900]):
                ids = range(start, stop)
                database.insert_many(ids, np.array(ids, np.uint64), [{"tenant": 0}] * len(ids))
                assert of_tenant(database, 0) == {*range(stop)}
                assert of_tenant(snapshot, 0) == {0}


def test_statistics_count_documents_by_value():
    with opened() as database:
        database.insert_many(
            range(7),
            [*range(7)],
            [{"tenant": id % 2, "lang": "x"} if id else None for id in range(7)],
        )
        database.delete_many([1])

        assert database.stats().fields == {
            "tenant": [(0, 3), (1, 2), (None, 1)],
            "lang": [("x", 5), (None, 1)],
        }
    with simdb.open(None) as plain:
        assert plain.stats().fields == {}


# Each value of a field, more documents of each than of the next; some are equal, or look alike.
ALIKE = [True, 1, "1", None, 0, False, "None", b"1", "True", ""]


def expected_counts():
    return [(repr(value), len(ALIKE) - at) for at, value in enumerate(ALIKE)]


def alike():
    return [{"tenant": value} for at, value in enumerate(ALIKE) for _ in range(len(ALIKE) - at)]


def test_statistics_count_each_value_with_its_type():
    metadata = alike()
    with opened() as database:
        database.insert_many(range(len(metadata)), [*range(len(metadata))], metadata)

        found = database.stats().fields["tenant"]

        assert [(repr(value), count) for value, count in found] == expected_counts()
        assert sum(count for _, count in found) == len(database)


def test_statistics_of_shards_sum_the_fields(tmp_path):
    metadata = alike()
    ids = range(len(metadata))
    options = simdb.Options(fields=FIELDS)
    simdb.write_sharded(tmp_path / "db", [(ids, [*ids], metadata)], 3, options=options)
    simdb.write_sharded(tmp_path / "plain", [(ids, [*ids])], 3)

    with simdb.open_sharded(tmp_path / "db") as shards:
        found = shards.stats().fields
    assert [(repr(value), count) for value, count in found["tenant"]] == expected_counts()
    assert found["lang"] == [(None, len(ids))]
    with simdb.open_sharded(tmp_path / "plain") as shards:
        assert shards.stats().fields == {}


def test_shards_answer_by_fields(tmp_path):
    metadata = [{"tenant": id % 3} for id in range(60)]
    options = simdb.Options(fields=FIELDS)
    simdb.write_sharded(tmp_path / "db", [(range(60), [*range(60)], metadata)], 4, options=options)
    where = {"tenant": 1}
    own = {*range(1, 60, 3)}
    with simdb.open_sharded(tmp_path / "db") as shards:
        assert {each.id for each in shards.query(0, distance=64, where=where)} == own
        assert {each.id for each in shards.query(id=1, distance=64, where=where)} == own - {1}
        assert len(shards.nearest(5, 9, where=where)) == 9
        (row,) = shards.query_many([0], distance=64, where=where)
        assert {each.id for each in row} == own
        assert {*shards.find_all(distance=64, where=where).left.tolist()} <= own
        with pytest.raises(simdb.InputError, match="field 'tenant' of document 3"):
            simdb.write_sharded(tmp_path / "x", [([3], [1], [{"tenant": []}])], 2, options=options)
