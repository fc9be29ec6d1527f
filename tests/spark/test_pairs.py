"""Spark finds the pairs that one database with all documents finds."""

import pytest
from copied_texts import copied_texts

import simdb
from simdb import spark as ss

TEXTS = [*copied_texts(1, 400), "", "..."]


@pytest.fixture(scope="session")
def documents(spark):
    texts = {f"https://example/{7 * at - 900}": text for at, text in enumerate(TEXTS)}
    frame = spark.createDataFrame(list(texts.items()), "id string, text string")
    return frame.repartition(3), texts


def of_database(path, documents, sketch, **asked):
    with simdb.open(path, "x", options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(list(documents), list(documents.values()))
        return {
            tuple(sorted((pair.left, pair.right))): (pair.distance, pair.similarity)
            for pair in database.find_all(**asked)
        }


def of_spark(frame):
    rows = [row.asDict() for row in frame.collect()]
    found = {(row["left"], row["right"]): (row["distance"], row["similarity"]) for row in rows}
    assert len(found) == len(rows)
    assert all(left < right for left, right in found)
    return found


def test_pairs_within_a_distance_are_those_of_a_database(documents, tmp_path):
    frame, texts = documents
    sketches = ss.fingerprints(frame).cache()

    found = of_spark(ss.pairs(sketches, distance=3, partitions=5, block_limit=9))

    expected = of_database(tmp_path / "x", texts, simdb.Simhash(), distance=3)
    assert len(expected) > 100
    assert {pair: distance for pair, (distance, _) in found.items()} == {
        pair: distance for pair, (distance, _) in expected.items()
    }


def test_pairs_of_signatures_are_those_of_a_database(documents, tmp_path):
    frame, texts = documents
    sketch = simdb.Minhash(stored_bits=8)
    sketches = ss.signatures(frame, sketch).cache()

    found = of_spark(ss.pairs(sketches, similarity=0.8, partitions=5))

    expected = of_database(tmp_path / "x", texts, sketch, similarity=0.8)
    assert len(expected) > 100
    assert {pair: similarity for pair, (_, similarity) in found.items()} == pytest.approx(
        {pair: similarity for pair, (_, similarity) in expected.items()}
    )


def test_similar_pairs_are_no_others_and_most(documents, tmp_path):
    frame, texts = documents
    sketches = ss.fingerprints(frame).cache()

    found = of_spark(ss.pairs(sketches, similarity=0.88, recall=0.98, partitions=5))

    expected = of_database(tmp_path / "x", texts, simdb.Simhash(), similarity=0.88, recall=1.0)
    assert len(expected) > 100
    assert set(found) <= set(expected)
    assert len(found) >= 0.97 * len(expected)
    for pair, (distance, similarity) in found.items():
        assert distance == expected[pair][0]
        assert similarity == pytest.approx(expected[pair][1])


def test_many_links_are_joined_in_rounds(documents, tmp_path):
    frame, _ = documents
    sketches = ss.fingerprints(frame).cache()

    few = ss.clusters(sketches, distance=6, partitions=3).collect()
    with pytest.raises(simdb.OptionError, match="checkpoint="):
        ss.clusters(sketches, distance=6, partitions=3, driver_links=1)
    many = ss.clusters(
        sketches, distance=6, partitions=3, driver_links=1, checkpoint=str(tmp_path / "rounds")
    ).collect()

    assert sorted(map(tuple, many)) == sorted(map(tuple, few))


@pytest.mark.parametrize("kind", ["bigint", "string"])
def test_an_id_that_is_there_twice_is_named(spark, kind):
    ids = [5, 6, 5] if kind == "bigint" else ["a5", "a6", "a5"]
    frame = spark.createDataFrame([(id, "one two three") for id in ids], f"id {kind}, text string")

    with pytest.raises(simdb.ExistsError, match="5"):
        ss.pairs(ss.fingerprints(frame), distance=3)


def test_rows_without_a_text_are_kept_left_out_or_refused(spark):
    frame = spark.createDataFrame([(1, "one two three"), (2, None)], "id bigint, text string")

    assert {row["id"]: row["is_empty"] for row in ss.fingerprints(frame).collect()} == {
        1: False,
        2: True,
    }
    assert [row["id"] for row in ss.signatures(frame, on_null="drop").collect()] == [1]
    with pytest.raises(Exception, match="the document 2 has no text"):
        ss.fingerprints(frame, on_null="error").collect()
    with pytest.raises(Exception, match="no id"):
        ss.fingerprints(frame.selectExpr("cast(null as bigint) id", "text")).collect()
