"""Shards by the leading bits of fingerprints: which shard has a document, and which are asked.

`test_answers`, `test_pairs` and `test_readings` ask them what they ask shards by id.
"""

import json
import shutil
from contextlib import ExitStack
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import sharded
from colliding_ids import colliding_ids

import simdb
from simdb.database.sharding import shards as open_shards
from simdb.database.state.state import State
from simdb.storage import shards_file

BY = {"shard_by": "fingerprint"}
COUNT = 1500
SHARDS = 16
OPTIONS = [simdb.Options(sketch=simdb.Simhash(dimensions=64), blocks=blocks, leading=1, polytopes=0)
           for blocks in (1, 4)]  # fmt: skip
SEARCHES = [{"search": name, "recall": recall} for name, recall in product(
    ["psm", "multiprobe", "bphs", "exhaustive"], [0.8, 1.0])]  # fmt: skip
SEARCHES.append({"search": simdb.Search(method="psm", attempts=5)})


def fingerprints_of(weights):
    """Return fingerprints with these weights, float32[n, 64]."""
    places = np.arange(64, dtype=np.uint64)
    bits = ((weights >= 0).astype(np.uint64) << places).sum(axis=1, dtype=np.uint64)
    return simdb.Fingerprints(bits, weights)


@pytest.fixture(scope="module", params=OPTIONS, ids=["one table", "four tables"])
def made(request, tmp_path_factory):
    """Return the path of shards, and queries near some documents: the first COUNT // 3 by id."""
    draw = np.random.default_rng(5)
    weights = draw.normal(size=(COUNT, 64)).astype(np.float32)
    near = weights[: COUNT // 3] + draw.normal(size=(COUNT // 3, 64)).astype(np.float32) * 0.08
    path = tmp_path_factory.mktemp("leading") / "db"
    batches = [(range(COUNT), fingerprints_of(weights))]
    simdb.write_sharded(path, batches, SHARDS, options=request.param, **BY)
    return path, fingerprints_of(near.astype(np.float32))


@pytest.fixture
def asked(monkeypatch):
    """Note how many shards are asked for each query of a verb, on average."""
    seen = []
    reached = open_shards.Shards.reached

    def noted(self, sketches, criterion):
        found = reached(self, sketches, criterion)
        seen.append(sum(map(len, found.values())) / max(len(sketches), 1))
        return found

    monkeypatch.setattr(open_shards.Shards, "reached", noted)
    return seen


@pytest.fixture
def asking_all(monkeypatch):
    """Return a function after which every shard is asked for every query."""

    def all_of_them(self, sketches, criterion):
        return dict.fromkeys(self.numbers, np.arange(len(sketches)))

    return lambda: monkeypatch.setattr(open_shards.Shards, "reached", all_of_them)


def test_the_leading_bits_of_a_fingerprint_are_the_number_of_its_shard(made):
    path, _ = made
    with simdb.open_sharded(path) as database:
        assert (database.shard_by, database.shard_count) == ("fingerprint", SHARDS)
        bits = database.bits_many(range(COUNT))[1]
    numbers = [int(f"{each:064b}"[:4], 2) for each in bits.tolist()]

    assert simdb.shard_of(bits, SHARDS, **BY).tolist() == numbers
    assert simdb.shard_of(bits.tolist(), SHARDS, **BY).tolist() == numbers
    assert simdb.shard_of(bits, 1, **BY).tolist() == [0] * COUNT
    assert simdb.shard_of(bits, 256, **BY).tolist() == [each >> 56 for each in bits.tolist()]
    for number in range(SHARDS):
        with simdb.open(path / f"shard-{number:05d}", "r") as shard:
            assert set(shard) == {at for at, own in enumerate(numbers) if own == number}


def test_shards_that_are_not_asked_have_nothing_that_asking_them_would_find(
    made, asking_all, monkeypatch
):
    path, queries = made
    monkeypatch.setattr(open_shards, "BATCH_ROUTED", 4 * SHARDS)
    monkeypatch.setattr(open_shards, "PLANS_KEPT", 2)
    singles = [queries[at] for at in range(0, len(queries), 25)]
    with simdb.open_sharded(path) as database:

        def answers():
            return [
                [list(database.query_many(queries, distance=distance, threads=threads, **given)),
                 [database.query(each, distance=distance, **given) for each in singles]]
                for distance in (0, 2, 4) for given in SEARCHES for threads in (1, 3)
            ]  # fmt: skip

        found = answers()
        asking_all()

        assert found == answers()
        assert sum(map(len, found[-1][0])) > len(queries) // 2


def with_four_tables(plan):
    """Return the plan with all tables in place of one, and a lower cost."""
    if plan.probing is None:
        return plan
    probing = replace(plan.probing, tables=4, theta=(plan.probing.theta or 0) // 2)
    return replace(plan, method="multiprobe", tables=4, probing=probing)


def test_psm_finds_the_same_with_few_flips_short_headers_and_several_tables(
    made, asking_all, monkeypatch
):
    path, queries = made
    plan = State.plan

    def answers(change):
        # Queries teach nothing, as a shard is asked with more or fewer of them.
        monkeypatch.setattr(State, "plan", lambda *given, **_: change(plan(*given)))
        with simdb.open_sharded(path) as database:
            return [
                list(database.query_many(queries, distance=distance, recall=recall, search="psm"))
                for distance in (1, 4, 8, 12) for recall in (0.5, 0.8, 0.95, 0.99)
            ]  # fmt: skip

    with simdb.open_sharded(path) as database:
        changes = [lambda plan: plan, with_four_tables][: database.options.table_count]
    found = [answers(change) for change in changes]
    asking_all()

    assert found == [answers(change) for change in changes]


def test_hundreds_of_shards_are_open_at_once(made, tmp_path):
    """There was address space for 127 of them, and for some smaller ones."""
    path, queries = made
    with ExitStack() as end:
        copies = [shutil.copytree(path, tmp_path / f"{at}") for at in range(17)]
        databases = [end.enter_context(simdb.open_sharded(copy)) for copy in copies]

        found = [list(database.query_many(queries, distance=2)) for database in databases]

        assert found == [found[0]] * 17


def test_every_query_with_a_match_finds_one(made):
    path, queries = made
    with simdb.open_sharded(path) as database:
        for given in SEARCHES:
            every = database.query_many(queries, distance=4, **given)
            first = database.query_many(queries, distance=4, match="first", **given)

            has_match = np.diff(every.offsets) > 0
            assert np.array_equal(np.diff(first.offsets), has_match)
            for at in (0, 9):
                single = database.first(queries[at], distance=4, **given)
                assert (single is not None) == has_match[at]


def test_an_exact_search_asks_the_shards_within_the_distance(made, asked):
    path, queries = made
    with simdb.open_sharded(path) as database:
        for distance, shards in ((0, 1), (1, 5), (2, 11), (3, 15), (4, 16)):
            database.query_many(queries, distance=distance, search="exhaustive")
            database.query(int(queries.bits[0]), distance=distance)

            assert asked[-2:] == [shards, shards]


def test_a_query_by_similarity_asks_all_shards(made, asked):
    path, queries = made
    with simdb.open_sharded(path) as database:
        database.query_many(queries, similarity=0.9)

    assert asked == [SHARDS]


def test_psm_asks_few_shards_and_finds_the_share_that_was_asked(tmp_path, asked):
    """Of 500 queries with recall .95, fewer than 450 find their match once in 10^6 runs."""
    draw = np.random.default_rng(6)
    weights = draw.normal(size=(4000, 64)).astype(np.float32)
    copies = weights[:1000] + draw.normal(size=(1000, 64)).astype(np.float32) * 0.1
    near = np.bitwise_count(fingerprints_of(weights[:1000]).bits ^ fingerprints_of(copies).bits)
    wanted = np.flatnonzero(near <= 3)
    simdb.write_sharded(
        tmp_path / "db", [(range(4000), fingerprints_of(weights))], SHARDS, options=OPTIONS[0], **BY
    )

    with simdb.open_sharded(tmp_path / "db") as database:
        queries = fingerprints_of(copies[wanted].astype(np.float32))
        found = database.query_many(queries, distance=3, search="psm", recall=0.95)

    owners = np.repeat(wanted, np.diff(found.offsets))
    assert asked[0] < SHARDS / 2
    assert len(wanted) > 500
    assert np.sum(found.ids == owners) >= 0.9 * len(wanted)


def test_a_shard_that_was_changed_is_asked_for_all_documents_that_are_in_no_table(
    tmp_path, asking_all
):
    draw = np.random.default_rng(8)
    every = fingerprints_of(draw.normal(size=(900, 64)).astype(np.float32))
    simdb.write_sharded(tmp_path / "db", [(range(900), every)], 4, options=OPTIONS[0], **BY)
    near = [int(bits) ^ 1 << 62 for bits in every.bits if int(bits) >> 62 == 2][:20]
    with simdb.open(tmp_path / "db" / "shard-00003", "w") as shard:
        shard.insert_many([f"new {at}" for at in range(20)], near)
    simdb.finish_sharded(tmp_path / "db", 4, **BY)

    with simdb.open_sharded(tmp_path / "db") as database:
        found = list(database.query_many(every, distance=1, search="psm", recall=0.8))
        asking_all()

        assert found == list(database.query_many(every, distance=1, search="psm", recall=0.8))
        assert sum(isinstance(match.id, str) for matches in found for match in matches) == 20


def parts_of(ids, texts, shards, options):
    """Return the documents of each shard, as an exchange by their fingerprints brings them."""
    bits = simdb.fingerprints(texts, options.sketch).bits
    numbers = simdb.shard_of(bits, shards, **BY)
    chosen = [np.flatnonzero(numbers == each) for each in range(shards)]
    return [([ids[at] for at in own], [texts[at] for at in own]) for own in chosen]


def test_a_job_of_tasks_writes_what_one_process_writes(tmp_path):
    ids, texts = sharded.corpus()
    parts = parts_of(ids, texts, 8, sharded.SIMHASH)
    given = {"options": sharded.SIMHASH, **BY}

    reports = [simdb.write_shard(tmp_path / "job", number, [part], 8, **given)
               for number, part in enumerate(parts)]  # fmt: skip
    simdb.finish_sharded(tmp_path / "job", 8, reports=reports, deep=True, **BY)
    simdb.write_sharded(tmp_path / "one", [(ids, texts)], 8, **given)

    files = [(tmp_path / name / "shards.json").read_text() for name in ("job", "one")]
    assert files[0] == files[1]
    assert json.loads(files[0])["version"] == 2
    with simdb.open_sharded(tmp_path / "one") as database:
        assert list(database.check(deep=True)) == []
    other = next(number for number in range(8) if number != 3 and parts[number][0])
    with pytest.raises(simdb.InputError, match=r"belongs to shard-0000\d of 8 by its fingerprint"):
        simdb.write_shard(tmp_path / "other", 3, [parts[other]], 8, **given)


def test_a_program_that_knows_ids_only_refuses_them(made, monkeypatch):
    monkeypatch.setattr(shards_file, "VERSION", 1)

    with pytest.raises(simdb.FormatError, match=r"has version 2, .* open it with a newer simdb"):
        simdb.open_sharded(made[0])


def test_an_id_that_is_given_twice_is_refused_although_the_shards_differ(tmp_path):
    ids, texts = sharded.corpus()
    batches = [(ids, texts), ([ids[0]], ["another text of other words than any other"])]

    for shards in (2, 16):
        with pytest.raises(simdb.InputError, match=r"'document 0' is given twice"):
            simdb.write_sharded(tmp_path / "db", batches, shards, **BY)
    assert list(tmp_path.iterdir()) == []


def test_ids_of_one_hash_are_not_one_id(tmp_path):
    ids = colliding_ids(2)
    texts = ["a text", "many other words that lie in another shard"]
    assert len({*simdb.shard_of(simdb.fingerprints(texts).bits, 16, **BY).tolist()}) == 2

    simdb.write_sharded(tmp_path / "db", [(ids, texts)], 16, **BY)

    with simdb.open_sharded(tmp_path / "db") as database:
        assert {*database} == {*ids}


def test_finishing_or_opening_names_a_document_in_the_wrong_shard(tmp_path):
    ids, texts = sharded.corpus()
    simdb.write_sharded(tmp_path / "db", [(ids, texts)], 2, **BY)

    with pytest.raises(simdb.InputError, match=r"by its id; .*shard_of\(ids, 2, shard_by='id'\)"):
        simdb.finish_sharded(tmp_path / "db", 2)
    (tmp_path / "db" / "shard-00000").rename(tmp_path / "left")
    (tmp_path / "db" / "shard-00001").rename(tmp_path / "db" / "shard-00000")
    (tmp_path / "left").rename(tmp_path / "db" / "shard-00001")
    with pytest.raises(simdb.InputError, match=r"belongs to shard-00001 of 2 by its fingerprint"):
        simdb.finish_sharded(tmp_path / "db", 2, **BY)


def test_an_unknown_document_may_be_in_a_shard_that_is_left_out(tmp_path):
    ids, texts = sharded.corpus()
    simdb.write_sharded(tmp_path / "db", [(ids, texts)], 4, **BY)
    with simdb.open(tmp_path / "db" / "shard-00002", "r") as shard:
        gone = list(shard)
    (tmp_path / "db" / "shard-00002" / "data.mdb").write_bytes(b"\0" * 9000)

    with pytest.warns(RuntimeWarning, match="left out: shard-00002"):
        database = simdb.open_sharded(tmp_path / "db", missing="skip")
    with database:
        assert {*database} == {*ids} - {*gone}
        assert database.contains_many(list(database)).all()
        for verb in (database.get, database.__contains__, lambda id: database.query(id=id)):
            with pytest.raises(simdb.Error, match="shard-00002"):
                verb(gone[0])


@pytest.mark.parametrize("verb", ["write_sharded", "write_shard", "finish_sharded", "shard_of"])
def test_impossible_divisions_are_refused(tmp_path, verb):
    given = {
        "write_sharded": (tmp_path / "db", []), "write_shard": (tmp_path / "db", 0, []),
        "finish_sharded": (tmp_path / "db",), "shard_of": ([1],),
    }[verb]  # fmt: skip

    for shards, by in (
        (3, "fingerprint"),
        (0, "fingerprint"),
        (10_000, "fingerprint"),
        (2, "bits"),
    ):
        with pytest.raises(simdb.OptionError, match=r"shards must be|shard_by must be one of 'id'"):
            getattr(simdb, verb)(*given, shards, shard_by=by)
    assert list(tmp_path.iterdir()) == []


def test_signatures_have_no_leading_bits(tmp_path):
    with pytest.raises(simdb.OptionError, match=r"for MinHash signatures, .*use shard_by='id'"):
        simdb.write_sharded(tmp_path / "db", [], 2, options=sharded.MINHASH, **BY)
    with pytest.raises(simdb.InputError, match="fingerprint"):
        simdb.shard_of(["a"], 2, **BY)
