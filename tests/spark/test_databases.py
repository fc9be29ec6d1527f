"""Spark writes databases that hold just what one database would, and looks texts up in them."""

import numpy as np
import pytest

import simdb
from simdb import spark as ss

TEXTS = [" ".join(f"w{at % 50}" for at in range(start, start + 40)) for start in range(0, 300, 3)]
TEXTS += ["", "?"]


def frame_of(spark, kind):
    ids = range(len(TEXTS)) if kind == "bigint" else [f"u/{at}" for at in range(len(TEXTS))]
    rows = list(zip(ids, TEXTS, strict=True))
    return spark.createDataFrame(rows, f"id {kind}, text string").repartition(3), dict(rows)


def test_shards_hold_what_a_database_makes_of_the_texts(spark, tmp_path):
    frame, texts = frame_of(spark, "bigint")
    options = simdb.Options(sketch=simdb.Minhash(stored_bits=8))
    sketches = ss.signatures(frame, options.sketch).cache()

    assert ss.write_database(sketches, tmp_path / "x", shards=3) == len(TEXTS)

    with (
        simdb.open_sharded(tmp_path / "x") as shards,
        simdb.open(tmp_path / "one", "x", options=options) as one,
    ):
        one.insert_many(list(texts), list(texts.values()))
        assert sorted(shards) == sorted(one)
        for id in texts:
            assert shards[id] == one[id]
        assert not list(shards.check(deep=True))
    # Written again, nothing changes; other documents do not get in.
    assert ss.write_database(sketches, tmp_path / "x", shards=3) == len(TEXTS)
    fewer = sketches.limit(5)
    with pytest.raises(Exception, match="written before with other documents"):
        ss.write_database(fewer, tmp_path / "x", shards=3)


def test_other_partitions_make_the_same_shards_in_the_same_order(spark, tmp_path):
    frame, _ = frame_of(spark, "string")

    orders = []
    for partitions in (5, 1):
        path = tmp_path / f"{partitions}"
        ss.write_database(ss.fingerprints(frame.repartition(partitions)), path, shards=2)
        with simdb.open_sharded(path) as database:
            orders.append(list(database))

    assert orders[0] == orders[1]
    assert sorted(orders[0]) == sorted(f"u/{at}" for at in range(len(TEXTS)))


def test_what_cannot_be_written_is_refused(spark, tmp_path):
    frame, _ = frame_of(spark, "bigint")
    sketches = ss.fingerprints(frame)

    with pytest.raises(simdb.ExistsError, match="the id 7"):
        ss.write_database(sketches.union(sketches.where("id = 7")), tmp_path / "x", shards=2)
    with pytest.raises(simdb.OptionError, match="give the same"):
        ss.write_database(sketches, tmp_path / "x", shards=2, options=simdb.Options(
            sketch=simdb.Simhash(shingle=2)))  # fmt: skip
    with pytest.raises(simdb.OptionError, match="shards"):
        ss.write_database(sketches, tmp_path / "x", shards=0)
    bare = ss.fingerprints(frame, simdb.Simhash(store_volatility=False))
    with pytest.raises(simdb.OptionError, match="store_volatility=True"):
        ss.write_database(bare, tmp_path / "x", shards=1)
    assert not (tmp_path / "x").exists()


def test_texts_are_looked_up(spark, tmp_path):
    frame, texts = frame_of(spark, "string")
    ss.write_database(ss.fingerprints(frame), tmp_path / "x", shards=2)
    asked = [(at, text) for at, text in enumerate(TEXTS[::7])] + [(1000, None), (1001, "new")]
    asking = spark.createDataFrame(asked, "number int, body string").repartition(2)

    rows = ss.query(asking, tmp_path / "x", id="number", text="body", similarity=0.9).collect()

    with simdb.open(None) as one:
        one.insert_many(list(texts), list(texts.values()))
        found = one.query_many([text for _, text in asked if text is not None], similarity=0.9)
    numbers = np.repeat([at for at, text in asked if text is not None], np.diff(found.offsets))
    expected = sorted(
        zip(numbers.tolist(), found.ids, found.distances.tolist(), found.similarities, strict=True)
    )
    assert len(expected) > 30
    assert sorted(map(tuple, rows)) == expected
    fields = {"id": "number", "text": "body"}
    best = ss.query(asking, tmp_path / "x", **fields, similarity=0.9, limit=1).collect()
    assert sorted(row["id"] for row in best) == sorted(set(numbers.tolist()))


def test_a_query_that_cannot_be_answered_is_refused_at_once(spark, tmp_path):
    frame, _ = frame_of(spark, "bigint")
    ss.write_database(ss.fingerprints(frame), tmp_path / "x", shards=2)

    with pytest.raises(simdb.OptionError, match="similarity"):
        ss.query(frame, tmp_path / "x", similarity=2)
    with pytest.raises(simdb.NotFoundError):
        ss.query(frame, tmp_path / "nothing", similarity=0.9)
