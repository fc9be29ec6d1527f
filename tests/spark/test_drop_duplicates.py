"""Spark drops the rows that one database with all documents would drop."""

import pytest
from copied_texts import copied_texts

import simdb
from simdb import spark as ss

TEXTS = [*copied_texts(5, 250, length=120, edits=12), "", "..."]
IDS = [f"id{at:04}" for at in range(len(TEXTS))]
BY_ID = dict(zip(IDS, TEXTS, strict=True))


@pytest.fixture(scope="module")
def documents(spark):
    rows = [(id, text, -at, "kept") for at, (id, text) in enumerate(BY_ID.items())]
    rows.append(("none", None, 0, "kept"))
    frame = spark.createDataFrame(rows, "url string, body string, rank int, other string")
    return frame.repartition(3).cache()


def expected_of(ids, **asked):
    """Return what a database would drop: {id: (representative, similarity)}."""
    asked = {"policy": "connected", **asked}
    exact = {key: asked[key] for key in ("verify", "texts") if key in asked}
    sketch = asked.pop("sketch", simdb.Simhash())
    with simdb.open(None, options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(ids, [BY_ID[id] for id in ids])
        clusters = database.find_clusters(**asked)
        rows = [
            (id, cluster.representative)
            for cluster in clusters
            for id in cluster.ids
            if id != cluster.representative
        ]
        sides = [list(side) for side in zip(*rows, strict=True)]
        similarities = database.compare(*sides, **exact).similarity
    return {
        id: (first, pytest.approx(float(similarity), abs=1e-6))
        for (id, first), similarity in zip(rows, similarities, strict=True)
    }


def removed_of(result):
    rows = result.removed.collect()
    found = {row["id"]: (row["kept"], row["similarity"]) for row in rows}
    assert len(found) == len(rows)
    return found


def test_removed_rows_are_those_of_a_database(documents):
    result = ss.drop_duplicates(
        documents, id="url", text="body", distance=6, policy="star", partitions=5
    )

    expected = expected_of(IDS, distance=6, policy="star")
    assert len(expected) > 20
    assert removed_of(result) == expected
    assert result.columns == documents.columns
    rows = {row["url"]: row["body"] for row in result.collect()}
    assert rows == {id: text for id, text in BY_ID.items() if id not in expected} | {"none": None}
    plan = result._jdf.queryExecution().executedPlan().toString()
    assert "BroadcastHashJoin" in plan


def test_signatures_decide_and_rows_are_kept_by_a_column(documents, tmp_path):
    sketch = simdb.Minhash(permutations=64)

    result = ss.drop_duplicates(
        documents, id="url", text="body", sketch=sketch, similarity=0.8, keep="min:rank",
        verify="estimate", policy="connected", on_null="drop", partitions=3,
        checkpoint=str(tmp_path / "work"),
    )  # fmt: skip

    expected = expected_of(IDS[::-1], sketch=sketch, similarity=0.8)
    assert len(expected) > 20
    assert removed_of(result) == expected
    assert result.count() == len(TEXTS) - len(expected)


def test_texts_decide(documents):
    ask = {"sketch": simdb.Minhash(), "similarity": 0.75, "policy": "star"}

    result = ss.drop_duplicates(documents, id="url", text="body", partitions=4, **ask)

    expected = expected_of(IDS, verify="exact", texts=BY_ID, search="exhaustive", **ask)
    assert len(expected) > 20
    assert removed_of(result) == expected
    estimated = expected_of(IDS, **ask)
    assert set(estimated) != set(expected)


def test_exact_pairs_of_fingerprints_are_no_others_and_most(documents):
    sketches = ss.fingerprints(documents, id="url", text="body").cache()

    rows = ss.pairs(
        sketches, similarity=0.75, recall=0.99, texts=documents, id="url", text="body",
        partitions=3,
    ).collect()  # fmt: skip

    with simdb.open(None) as database:
        database.insert_many(IDS, TEXTS)
        pairs = database.find_all(similarity=0.75, recall=1.0, verify="exact", texts=BY_ID)
        expected = {(pair.left, pair.right): pair.similarity for pair in pairs}
    found = {(row["left"], row["right"]): row["similarity"] for row in rows}
    assert len(expected) > 50
    assert set(found) <= set(expected)
    assert len(found) >= 0.96 * len(expected)
    assert all(found[pair] == pytest.approx(expected[pair], abs=1e-6) for pair in found)


def test_a_large_removal_is_refused_with_its_largest_cluster(spark):
    rows = [(at, "the same text for all of these") for at in range(7)]
    rows += [(100 + at, f"{at} is another text {at} altogether {at * at}") for at in range(3)]
    frame = spark.createDataFrame(rows, "id int, text string")

    with pytest.raises(simdb.OptionError, match=r"6 of 10 .*max_share=0.5; most by 0 \(6 removed"):
        ss.drop_duplicates(frame, max_share=0.5, partitions=2)
    kept = ss.drop_duplicates(frame, max_share=0.6, partitions=2)
    assert sorted(row["id"] for row in kept.collect()) == [0, 100, 101, 102]
    with pytest.raises(simdb.ExistsError, match="the id 100"):
        ss.drop_duplicates(frame.union(frame.where("id = 100")), partitions=2)
    null = frame.selectExpr("id", "if(id = 5, null, text) text")
    with pytest.raises(Exception, match="the document 5 has no text"):
        ss.drop_duplicates(null, on_null="error", partitions=2)


def test_impossible_arguments_are_refused(documents):
    ask = {"id": "url", "text": "body"}
    for match, arguments in {
        "no column 'rang'": {"keep": "max:rang"},
        "max_share": {"max_share": 2},
        "on_null": {"on_null": "skip"},
        "policy": {"policy": "stars"},
        "decides by similarity": {"distance": 3, "verify": "exact"},
    }.items():
        with pytest.raises(simdb.Error, match=match):
            ss.drop_duplicates(documents, **ask, **arguments)
    sketches = ss.fingerprints(documents, **ask)
    with pytest.raises(simdb.OptionError, match="texts="):
        ss.pairs(sketches, similarity=0.8, verify="exact")
    with pytest.raises(simdb.OptionError, match="texts= must be the DataFrame"):
        ss.clusters(sketches, similarity=0.8, texts={"a": "b"})
    with pytest.raises(simdb.InputError, match="no column 'text'"):
        ss.pairs(sketches, similarity=0.8, texts=documents, id="url")
    with pytest.raises(Exception, match="texts= lacks the texts"):
        ss.pairs(sketches, similarity=0.7, texts=documents.limit(3), **ask).collect()
