"""Databases of hashes: every verb finds what a double loop over all hashes finds."""

from functools import partial

import numpy as np
import pytest
from over import over

import simdb

WIDTHS = (32, 64, 96, 128, 256, 512)


def drawn(bits, count, seed=0, most=None):
    """Return hashes, a third of them with 0 to `most` bits flipped in an earlier one."""
    generator = np.random.default_rng([seed, bits])
    flags = generator.integers(0, 2, (count, bits), np.uint8)
    for at in range(count):
        if at % 3 == 2:
            flags[at] = flags[generator.integers(0, at)]
            flips = generator.integers(0, (most or bits // 8) + 3)
            flags[at, generator.permutation(bits)[:flips]] ^= 1
    return np.packbits(flags, axis=1)


def factors(bits, count, seed=0):
    """Return hashes whose bits go together: signs of 24 factors that are 30 % of the variance."""
    generator = np.random.default_rng([seed, bits])
    loads = generator.standard_normal((24, bits)) / np.sqrt(24)
    values = np.sqrt(0.3) * generator.standard_normal((count, 24)) @ loads
    values += np.sqrt(0.7) * generator.standard_normal((count, bits))
    return np.packbits(values > 0, axis=1)


def number(row):
    return row if isinstance(row, int) else int.from_bytes(bytes(row), "big")


def apart(left, right):
    return (number(left) ^ number(right)).bit_count()


class Oracle:
    """Hashes by id, in the order of insertion."""

    def __init__(self, rows):
        self.rows = {at: number(row) for at, row in enumerate(rows)}

    def query(self, row, distance, left_out=None):
        asked = number(row)
        found = [
            (far, id)
            for id, each in self.rows.items()
            if id != left_out and (far := (asked ^ each).bit_count()) <= distance
        ]
        return [(id, far) for far, id in sorted(found)]

    def pairs(self, distance):
        every = list(self.rows.items())
        return {
            (one, other, far)
            for at, (one, left) in enumerate(every)
            for other, right in every[at + 1 :]
            if (far := (left ^ right).bit_count()) <= distance
        }

    def clusters(self, distance):
        label = {id: id for id in self.rows}

        def root(id):
            while label[id] != id:
                id = label[id]
            return id

        for one, other, _ in self.pairs(distance):
            label[max(root(one), root(other))] = min(root(one), root(other))
        groups = {}
        for id in self.rows:
            groups.setdefault(root(id), []).append(id)
        return sorted(group for group in groups.values() if len(group) > 1)


def listed(matches):
    return [(match.id, match.distance) for match in matches]


@pytest.fixture
def made(tmp_path):
    """Return a function that makes a database of some hashes, in several runs and a delta."""
    opened = []

    def make(rows, bits, *, parts=5, **given):
        usual = {"sketch": simdb.Bits(bits), "delta_documents": 40}
        options = simdb.Options(**usual | given)
        database = simdb.open(tmp_path / f"x{len(opened)}", "x", options=options)
        opened.append(database)
        size = -(-len(rows) // parts) or 1
        for start in range(0, len(rows), size):
            database.insert_many(range(start, min(start + size, len(rows))), rows[start:][:size])
        return database

    yield make
    for database in opened:
        database.close()


@over("bits", WIDTHS)
@over("search", ["bphs", "exhaustive", "auto"])
def test_queries_find_all_within_a_distance_nearest_first(made, bits, search):
    rows = drawn(bits, 300)
    database, oracle = made(rows, bits), Oracle(rows)

    for distance in (0, 1, bits // 16, database.options.distance, bits // 6):
        if search == "bphs" and distance > 4 * database.options.blocks:
            continue
        asked = {"distance": distance, "search": search}
        wanted = [oracle.query(row, distance) for row in rows[::7]]
        assert [listed(each) for each in database.query_many(rows[::7], **asked)] == wanted
        assert [listed(database.query(bytes(row), **asked)) for row in rows[::7]] == wanted
        first = database.query_many(rows[::7], match="first", **asked)
        assert [len(each) for each in first] == [1] * len(wanted)
        limited = database.query_many(rows[::7], limit=2, **asked)
        assert [listed(each) for each in limited] == [each[:2] for each in wanted]
        for id in (0, 299):
            own = listed(database.query(id=id, **asked))
            assert own == oracle.query(rows[id], distance, left_out=id)


@over("bits", WIDTHS)
def test_pairs_and_clusters_are_those_of_a_double_loop(made, bits):
    rows = drawn(bits, 260, seed=1)
    database, oracle = made(rows, bits), Oracle(rows)
    distance = database.options.distance

    for search in ("bphs", "exhaustive", "auto"):
        pairs = database.find_all(distance=distance, search=search)
        every = list(zip(pairs.left, pairs.right, pairs.distance.tolist(), strict=True))
        assert set(every) == oracle.pairs(distance)
        assert len(set(every)) == len(every)
    clusters = database.find_clusters(distance=distance)
    assert sorted(sorted(each) for each in clusters) == oracle.clusters(distance)


@over("bits", [96, 256])
@over("threads", [1, 2])
def test_they_are_so_after_deletes_merges_compaction_reopening_copies_and_dumps(
    made, tmp_path, bits, threads
):
    rows = drawn(bits, 240, seed=2)
    database, oracle = made(rows, bits, keep_clusters="distance"), Oracle(rows)
    distance, path = database.options.distance, database.path
    beside = tmp_path / f"{bits}-{threads}"
    beside.mkdir()

    def check(asked):
        found = asked.query_many(rows[::5], threads=threads)
        assert [listed(each) for each in found] == [oracle.query(r, distance) for r in rows[::5]]
        pairs = asked.find_all(threads=threads)
        every = zip(pairs.left, pairs.right, pairs.distance.tolist(), strict=True)
        assert set(every) == oracle.pairs(distance)
        kept = [sorted(each) for each in asked.find_clusters(distance=distance)]
        assert sorted(kept) == oracle.clusters(distance)
        assert list(asked.check(deep=True)) == []

    check(database)
    for id in range(0, 240, 4):
        del oracle.rows[id]
    database.delete_many(range(0, 240, 4))
    check(database)
    more = drawn(bits, 60, seed=3)
    with database.write() as transaction:
        for at, row in enumerate(more, 1000):
            transaction.insert(at, bytes(row))
            oracle.rows[at] = number(row)
        assert listed(transaction.query(bytes(more[7]))) == oracle.query(more[7], distance)
    check(database)
    database.compact()
    check(database)
    database.rebuild()
    check(database)
    database.copy(beside / "copy")
    database.dump(beside / "dump")
    simdb.load(beside / "dump", beside / "loaded")
    for name in ("copy", "loaded"):
        with simdb.open(beside / name, "r") as other:
            assert other.options == database.options
            check(other)
    database.close()
    with simdb.open(path, "w") as again, again.read() as snapshot:
        check(again)
        again.delete(1001)
        assert listed(snapshot.query(bytes(more[1]))) == oracle.query(more[1], distance)


@over("bits", [32, 64, 160, 256, 512])
def test_the_nearest_are_those_of_all(made, bits):
    rows = drawn(bits, 200, seed=4)
    database, oracle = made(rows, bits), Oracle(rows)
    far = np.random.default_rng(5).integers(0, 256, (9, bits // 8), np.uint8)

    for k in (1, 5, 200, 300):
        wanted = [oracle.query(row, bits)[:k] for row in far]
        assert [listed(each) for each in database.nearest_many(far, k=k)] == wanted
        assert [listed(database.nearest(bytes(row), k=k)) for row in far] == wanted
        assert listed(database.nearest(id=7, k=k)) == oracle.query(rows[7], bits, left_out=7)[:k]
    assert database.nearest(bytes(far[0]), k=1)[0].similarity is None


@over("kind", [factors, partial(drawn, most=40)])
@over("distance", [0, 5, 31, 40])
def test_bits_that_go_together_lose_nothing_and_neither_does_a_fitted_order(made, kind, distance):
    rows = kind(256, 400)
    sketch = simdb.fit_bits(rows, simdb.Bits(256))
    oracle = Oracle(rows)
    wanted = [oracle.query(row, distance) for row in rows[::9]]

    assert sorted(sketch.order) == list(range(256))
    for each in (simdb.Bits(256), sketch):
        options = {"sketch": each, "delta_documents": 40}
        with simdb.open(None, options=simdb.Options(**options)) as database:
            database.insert_many(range(400), rows)
            found = database.query_many(rows[::9], distance=distance, search="bphs")
            assert [listed(each) for each in found] == wanted


@over("bits", [64, 128, 256])
def test_claims_store_what_is_near_nothing(made, bits):
    rows = drawn(bits, 200, seed=6)
    one_by_one, at_once = made(rows[:0], bits, parts=1), made(rows[:0], bits, parts=1)
    distance, kept = one_by_one.options.distance, {}

    for at, row in enumerate(rows):
        near = sorted((apart(row, each), id) for id, each in kept.items())
        match = one_by_one.add_if_new(at, bytes(row))
        if near and near[0][0] <= distance:
            assert (match.distance, match.id) == near[0]
        else:
            assert match is None
            kept[at] = bytes(row)
    at_once.add_many_if_new(range(len(rows)), rows)
    assert list(one_by_one) == list(at_once) == list(kept)
    for id, row in kept.items():
        assert bytes(one_by_one.get(id).fingerprint) == row


def test_the_64_bits_of_hashes_are_equal_for_equal_ones(made):
    rows = drawn(256, 30)
    database = made(np.concatenate([rows, rows[:5]]), 256)
    are_stored, bits = database.bits_many([*range(35), 99])

    assert are_stored.tolist() == [True] * 35 + [False]
    assert bits[30:35].tolist() == bits[:5].tolist()
    assert len(set(bits.tolist())) == len({bytes(row) for row in rows}) + 1


def test_what_is_stored_is_the_hash(made):
    rows = drawn(256, 50)
    database = made(rows, 256, parts=1)
    found = database.get(3).fingerprint

    assert bytes(found) == bytes(rows[3])
    assert found.hex() == bytes(rows[3]).hex()
    assert int(found) == int.from_bytes(bytes(rows[3]), "big")
    assert listed(database.query(found, distance=0)) == [(3, 0)]
    assert database.get(3).signature is None
    batches = list(database.sketches())
    column = simdb.Fingerprints.from_arrow(batches[0])
    assert [bytes(each) for each in column.bits] == [bytes(row) for row in rows]


def test_compare_and_explain_tell_the_bits_that_differ(made):
    rows = drawn(256, 90, most=20)
    database, oracle = made(rows, 256), Oracle(rows)
    every = sorted(oracle.pairs(31))
    left, right = [one for one, _, _ in every], [other for _, other, _ in every]

    assert database.compare(left, right).distance.tolist() == [far for _, _, far in every]
    one, other, far = max(every, key=lambda pair: pair[2])
    why = database.explain(one, other)
    whole = int.from_bytes(bytes(rows[one]), "big") ^ int.from_bytes(bytes(rows[other]), "big")
    assert why.is_match
    assert why.distance == far > 0
    assert sum(1 << bit.position for bit in why.bits) == whole
    assert why.table_count == 16
    assert why.similarity is why.probability is None
    unlike = next(id for id in oracle.rows if apart(rows[0], rows[id]) > 31)
    assert not database.explain(0, document=bytes(rows[unlike])).is_match


def test_explain_names_the_table_that_a_query_looks_up(made):
    rows = drawn(256, 90, most=20)
    database, oracle = made(rows, 256, parts=1), Oracle(rows)
    one, other, _ = max(oracle.pairs(31), key=lambda pair: pair[2])

    why = database.explain(one, other, search="bphs")
    assert why.is_found
    assert why.probe.table in range(16)
    whole = int.from_bytes(bytes(rows[one]), "big") ^ int.from_bytes(bytes(rows[other]), "big")
    assert all(whole >> bit & 1 for bit in why.probe.flipped)
    assert len(why.probe.flipped) <= why.plan.table_flips[why.probe.table]


@over("recall", [0.8, 0.9, 0.99])
def test_a_lower_recall_is_given(made, recall):
    """Chance of failing: 4 standard deviations of 2,000 queries, 1 in 30,000 for each recall."""
    generator = np.random.default_rng(int(recall * 100))
    rows = generator.integers(0, 256, (2000, 32), np.uint8)
    database = made(rows, 256, parts=1)
    flags = np.unpackbits(rows, axis=1)
    for row in flags:
        row[generator.permutation(256)[:31]] ^= 1
    queries = np.packbits(flags, axis=1)

    found = database.query_many(queries, distance=31, recall=recall, search="bphs")
    plan = database.plan(distance=31, recall=recall, search="bphs")
    share = np.mean([(at, 31) in listed(each) for at, each in enumerate(found)])
    assert recall <= plan.recall < 1
    assert share > plan.recall - 4 * np.sqrt(plan.recall * (1 - plan.recall) / 2000)


def test_what_goes_by_weights_or_texts_is_refused_by_name(made):
    rows = drawn(256, 30)
    database = made(rows, 256, parts=1)

    for verb in (database.query, partial(database.query_many, rows), database.find_all):
        given = () if verb != database.query else (bytes(rows[0]),)
        with pytest.raises(simdb.OptionError, match=r"similarity= does not apply .* distance="):
            verb(*given, similarity=0.9)
    with pytest.raises(simdb.OptionError, match="from 0 to 256"):
        database.query(bytes(rows[0]), distance=257)
    with pytest.raises(simdb.OptionError, match="search must be one of"):
        database.query(bytes(rows[0]), search="psm")
    with pytest.raises(simdb.OptionError, match="calibrate works only"):
        database.calibrate()
    with pytest.raises(simdb.InputError, match="hash of 256 bits"):
        database.insert(99, bytes(31))
    assert len(database) == 30


def test_replacing_skipping_and_refusing_go_by_the_whole_hash(made):
    rows = drawn(128, 20, seed=9)
    database = made(rows, 128, parts=1)

    assert database.insert_many([0, 50], rows[:2], on_conflict="skip") == 1
    with pytest.raises(simdb.ExistsError):
        database.insert(1, bytes(rows[3]))
    database.insert(1, bytes(rows[3]), on_conflict="replace")
    assert bytes(database.get(1).fingerprint) == bytes(rows[3])


@over("constant", [128, 64])
def test_pairs_whose_part_is_the_same_in_all_are_not_walked_in_its_tables(made, constant):
    """Each two of 20,000 hashes were compared as a whole in each table of a constant part."""
    flags = np.random.default_rng(7).integers(0, 2, (20_000, 256), np.uint8)
    flags[:, np.arange(256) % 16 < constant // 16] = 0
    database = made(np.packbits(flags, axis=1), 256, parts=1, delta_documents=4096)

    chosen = database.plan(distance=31, pairs=True)
    by_tables = database.plan(distance=31, pairs=True, search="bphs")

    assert chosen.method == "exhaustive"
    assert by_tables.table_flips[: constant // 16] == (-1,) * (constant // 16)
    assert min(by_tables.table_flips[constant // 16 :]) > 0


def test_the_share_of_near_entries_is_that_of_all_entries_under_the_same_header(made):
    generator = np.random.default_rng(8)
    rows = generator.integers(0, 256, (4000, 32), np.uint8)
    rows[:1500] = rows[0]
    rows[1500:2500] &= np.packbits(np.arange(256) % 16 >= 4)  # these four blocks are one part
    database = made(rows, 256, parts=1)
    database.compact()

    with database._store.state() as state:
        found = state.kind._crowds.and_near(state.view, state.source)
    keying = state.kind.keying
    words, counts = keying.words(rows), []
    for part, mask in zip(keying.part_of, keying.masks, strict=True):
        own = words[part]
        beside = near = equal = 0
        for header in set((own & np.uint64(mask)).tolist()):
            group = own[own & np.uint64(mask) == header]
            apart = np.bitwise_count(group[:, None] ^ group[None, :])
            beside += apart.size - len(group)
            near += (apart <= 31 * 64 // 256).sum() - len(group)
            equal += (apart == 0).sum() - len(group)
        counts.append((beside, near, equal))
    beside, near, equal = np.array(counts).T
    np.testing.assert_allclose(found[:, 1], (near - equal.min()) / beside, atol=0.1)
    assert found[:, 1].max() > 0.2


def test_an_order_that_is_not_given_is_the_stored_one_and_another_is_named_in_short(made):
    order, few = tuple(range(255, -1, -1)), {"delta_documents": 40}
    database = made(drawn(256, 9), 256, sketch=simdb.Bits(256, order), parts=1)
    path = database.path
    database.close()

    with simdb.open(path, options=simdb.Options(sketch=simdb.Bits(256), **few)) as again:
        assert again.options.sketch.order == order
    with pytest.raises(simdb.OptionError, match=r"sketch.order is \(255, 254") as caught:
        simdb.open(path, options=simdb.Options(sketch=simdb.Bits(256, order[::-1]), **few))
    assert len(str(caught.value)) < 500


@over("is_fitted", [(True, False), (False, True), (True, True)])
def test_databases_with_other_orders_and_blocks_are_merged(made, is_fitted):
    rows, options = drawn(256, 200, seed=12), []
    for seed, fits in enumerate(is_fitted):
        order = tuple(np.random.default_rng(seed).permutation(256).tolist()) if fits else None
        options.append({"sketch": simdb.Bits(256, order), "blocks": 16 + 4 * seed})
    into, other = made(rows[:120], 256, **options[0]), made(rows, 256, **options[1])

    assert into.merge(other, on_conflict="skip") == 80
    assert list(into.check(deep=True)) == []
    oracle = Oracle(rows)
    for search in ("bphs", "exhaustive"):
        found = into.query_many(rows[::3], search=search)
        assert [listed(each) for each in found] == [oracle.query(row, 31) for row in rows[::3]]


@over("bits", [32, 64, 256, 512])
def test_pairs_and_matches_are_tables_of_arrow_with_whole_distances(made, bits):
    rows = drawn(bits, 90, seed=11)
    database, oracle = made(rows, bits), Oracle(rows)
    distance = database.options.distance

    for found in (database.find_all(distance=distance), database.find_all(distance=bits)):
        wanted = oracle.pairs(found.plan.distance)
        table = found.to_arrow()
        columns = [table.column(name).to_pylist() for name in ("left", "right", "distance")]
        assert set(zip(*columns, strict=True)) == wanted
    none = database.find_all(distance=0, where=lambda metadata: False)
    assert none.to_arrow().num_rows == 0
    matches = database.query_many(rows[:9], distance=bits).to_arrow()
    assert sorted(matches.column("distance").to_pylist()) == sorted(
        apart(row, other) for row in rows[:9] for other in rows
    )


def test_accept_decides_without_a_similarity_of_the_database(made):
    rows = drawn(256, 60)
    database, oracle = made(rows, 256, parts=1), Oracle(rows)

    every = {id for id, _ in oracle.query(rows[2], 31)}
    found = database.query(bytes(rows[2]), accept=lambda id: 0.4 + id / 1000)
    assert {match.id for match in found} == every
    assert [match.similarity for match in found] == [0.4 + match.id / 1000 for match in found]
    assert database.query(bytes(rows[2]), accept=lambda id: False) == []


def test_arrays_of_hashes_have_the_distance_of_their_bits():
    rows = drawn(256, 90, seed=12)
    wanted = {(one, other) for one, other, _ in Oracle(rows).pairs(31)}

    found = simdb.find_all(rows)
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == wanted
    assert len(wanted) > 5
    clusters = [sorted(each.tolist()) for each in simdb.find_clusters(rows)]
    assert sorted(clusters) == Oracle(rows).clusters(31)


def test_what_hashes_have_not_is_refused_and_numpy_numbers_are_bits(made):
    database = made(drawn(256, 20), 256, parts=1)

    for given in ({"vectors": {}}, {"texts": {}}):
        with pytest.raises(simdb.OptionError, match="hashes have no vectors= or texts="):
            database.nearest(bytes(32), 2, **given)
    assert simdb.Bits(np.int64(256)) == simdb.Bits(256)
    few = made(drawn(64, 20), 64, parts=1)
    with pytest.raises(simdb.OptionError, match="calibrate works only"):
        few.calibrate()
