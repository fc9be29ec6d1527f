"""A sharded database of hashes, which answers as one database with the same hashes does."""

import numpy as np
import pytest

import simdb

OPTIONS = simdb.Options(sketch=simdb.Bits(256), delta_documents=4, growth=2)
COUNT, SHARDS = 150, 3


def drawn(count, seed):
    """Return hashes of 256 bits, half of them near an earlier one."""
    chance = np.random.default_rng(seed)
    flags = chance.integers(0, 2, (count, 256), np.uint8)
    for at in range(count // 2, count):
        flags[at] = flags[chance.integers(0, at)]
        flags[at, chance.permutation(256)[: chance.integers(0, 45)]] ^= 1
    return np.packbits(flags, axis=1)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Return a sharded database, a single one in the order of the shards, and the hashes by id."""
    place, rows = tmp_path_factory.mktemp("both"), drawn(COUNT, 1)
    ids = [f"h{at}" for at in range(COUNT)]
    batches = [(ids[start:][:40], rows[start:][:40]) for start in range(0, COUNT, 40)]
    count = simdb.write_sharded(place / "many", batches, SHARDS, options=OPTIONS)
    order = np.argsort(simdb.shard_of(ids, SHARDS), kind="stable").tolist()
    with (
        simdb.open_sharded(place / "many") as many,
        simdb.open(place / "one", options=OPTIONS) as one,
    ):
        one.insert_many([ids[at] for at in order], rows[order])
        assert count == len(many) == COUNT
        yield many, one, dict(zip(ids, rows, strict=True))


def apart(left, right):
    return int(np.unpackbits(left ^ right).sum())


def listed(matches):
    return [[(match.id, match.distance, match.similarity) for match in found] for found in matches]


def sorted_listed(matches):
    return [sorted(found, key=lambda match: (match[1], match[0])) for found in listed(matches)]


def test_queries_find_what_a_double_loop_finds_in_the_order_of_one_database(both):
    many, one, rows = both
    asked = list(rows.values())[::5]

    found = many.query_many(np.stack(asked), distance=40)

    wanted = [
        sorted(((apart(row, each), id) for id, each in rows.items() if apart(row, each) <= 40))
        for row in asked
    ]
    assert [sorted((far, id) for id, far, _ in row) for row in listed(found)] == wanted
    assert listed(found) == listed(one.query_many(np.stack(asked), distance=40))
    assert listed([many.query(bytes(row)) for row in asked]) == listed(map(one.query, asked))
    assert found.distances.dtype == np.uint16
    assert listed(many.query_many(ids=list(rows)[:9])) == listed(one.query_many(ids=list(rows)[:9]))
    assert [many.first(bytes(row)) is None for row in asked] == [False] * len(asked)


def test_the_nearest_are_those_of_one_database(both):
    many, one, _ = both
    asked = drawn(20, 2)

    found = many.nearest_many(asked, 4)

    assert sorted_listed(found) == sorted_listed(one.nearest_many(asked, 4))
    assert [len(each) for each in found] == [4] * 20


def test_pairs_clusters_and_comparisons_are_those_of_one_database(both):
    many, one, rows = both

    def pairs(database):
        found = database.find_all(distance=35)
        return {(frozenset((each.left, each.right)), each.distance) for each in found}

    def groups(database):
        return sorted(sorted(group) for group in database.find_clusters(distance=35))

    every = list(rows.items())
    assert pairs(many) == pairs(one)
    assert pairs(many) == {
        (frozenset((id, other)), apart(left, right))
        for at, (id, left) in enumerate(every)
        for other, right in every[at + 1 :]
        if apart(left, right) <= 35
    }
    assert groups(many) == groups(one)
    ids = list(rows)
    compared = many.compare(ids[:50], ids[50:100])
    wanted = [apart(rows[one], rows[two]) for one, two in zip(ids[:50], ids[50:100], strict=True)]
    assert compared.distance.tolist() == wanted


def test_a_document_and_an_explanation_have_the_whole_hash(both):
    many, one, rows = both

    assert bytes(many.get("h7").fingerprint) == bytes(rows["h7"])
    assert many.get("h7").fingerprint == one.get("h7").fingerprint
    left, right = (many.explain("h7", document=bytes(rows["h9"])), one.explain("h7", "h9"))
    assert left.distance == right.distance == apart(rows["h7"], rows["h9"])
    assert not list(many.check(deep=True))


def test_tasks_write_shards_and_what_cannot_be_divided_is_refused(tmp_path):
    rows, ids = drawn(60, 3), np.arange(60)
    numbers = simdb.shard_of(ids.tolist(), 2)
    for number in range(2):
        own = np.flatnonzero(numbers == number)
        simdb.write_shard(tmp_path / "db", number, [(ids[own], rows[own])], 2, options=OPTIONS)

    assert simdb.finish_sharded(tmp_path / "db", 2) == 60
    for bits, kind in ((256, "hashes of other than 64 bits"), (64, None)):
        hashes, options = rows[:, : bits // 8], simdb.Options(sketch=simdb.Bits(bits))
        given = {"shards": 2, "shard_by": "fingerprint", "options": options}
        if kind:
            with pytest.raises(simdb.OptionError, match=kind):
                simdb.write_sharded(tmp_path / str(bits), [(ids, hashes)], **given)
            continue
        simdb.write_sharded(tmp_path / str(bits), [(ids, hashes)], **given)
        with simdb.open_sharded(tmp_path / str(bits)) as many:
            found = many.query_many(hashes, distance=9)
            wanted = [
                sorted((apart(row, each), at) for at, each in enumerate(hashes)
                       if apart(row, each) <= 9)
                for row in hashes
            ]  # fmt: skip
            assert [sorted((far, id) for id, far, _ in row) for row in listed(found)] == wanted
