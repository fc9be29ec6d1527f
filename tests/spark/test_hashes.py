"""Spark finds, drops, stores and looks up hashes as a double loop over all of them does."""

import numpy as np
import pytest
from click.testing import CliRunner

import simdb
from simdb import spark as ss
from simdb.cli.app import app
from simdb.spark import sketching
from simdb.spark.distributed import plan as plan_module

IDS = [f"photo{at:03}" for at in range(90)]


def hashes_of(bits, seed=1):
    """Make hashes, of which many differ in few bits, and some in none: {id: bytes}."""
    generator = np.random.default_rng(seed)
    rows = generator.integers(0, 256, (25, bits // 8), np.uint8)
    rows = rows[generator.integers(0, len(rows), len(IDS))]
    shares = generator.choice([0, 2 / bits, 8 / bits], (len(IDS), 1))
    rows ^= np.packbits(generator.random((len(IDS), bits)) < shares, axis=1)
    return dict(zip(IDS, map(bytes, rows), strict=True))


def apart(left, right):
    return (int.from_bytes(left, "big") ^ int.from_bytes(right, "big")).bit_count()


def pairs_within(hashes, distance):
    """Compare every two: {(left, right): distance}."""
    return {
        (left, right): found
        for at, left in enumerate(IDS)
        for right in IDS[at + 1 :]
        if (found := apart(hashes[left], hashes[right])) <= distance
    }


def stars(hashes, distance):
    """Return the hashes that match one before them that stays: {id: (kept, distance)}."""
    removed, near = {}, pairs_within(hashes, distance)
    for at, first in enumerate(IDS):
        for other in IDS[at + 1 :] if first not in removed else ():
            if (first, other) in near and other not in removed:
                removed[other] = first, near[first, other]
    return removed


def components(hashes, distance):
    """Return the sets of two or more hashes that pairs connect."""
    of = {id: {id} for id in IDS}
    for left, right in pairs_within(hashes, distance):
        joined = of[left] | of[right]
        of.update(dict.fromkeys(joined, joined))
    return {frozenset(each) for each in of.values() if len(each) > 1}


def frame_of(spark, hashes, *, is_text=False):
    rows = [(id, hash.hex() if is_text else hash) for id, hash in hashes.items()]
    kind = "string" if is_text else "binary"
    return spark.createDataFrame(rows, f"id string, hash {kind}").repartition(3)


@pytest.mark.parametrize(("bits", "is_text"), [(64, True), (256, False)])
def test_pairs_and_clusters_are_those_of_a_double_loop(spark, monkeypatch, bits, is_text):
    monkeypatch.setattr(plan_module, "CHUNK_HASHES", 1)
    hashes = hashes_of(bits)
    frame = frame_of(spark, hashes, is_text=is_text)

    sketches = ss.fingerprints(frame, simdb.Bits(bits), text="hash").cache()
    found = ss.pairs(sketches, distance=9, partitions=3, block_limit=30).collect()
    members = ss.clusters(sketches, distance=9, partitions=3).collect()

    pairs = {(row["left"], row["right"]): row["distance"] for row in found}
    expected = pairs_within(hashes, 9)
    assert len(expected) > 50
    assert pairs == expected
    assert len(found) == len(expected)
    assert {row["similarity"] for row in found} == {None}
    groups = {}
    for row in members:
        groups.setdefault(row["representative"], set()).add(row["id"])
    assert {frozenset(each) for each in groups.values()} == components(hashes, 9)
    assert all(first == min(each) for first, each in groups.items())
    sketches.unpersist()


def test_the_hashes_that_match_one_that_stays_are_dropped(spark, monkeypatch):
    monkeypatch.setattr(plan_module, "CHUNK_HASHES", 40)
    bits = 96
    hashes = hashes_of(bits, seed=2)
    frame = frame_of(spark, hashes).union(
        spark.createDataFrame([("none", None)], "a string, b binary")
    )

    result = ss.drop_duplicates(frame, sketch=simdb.Bits(bits), text="hash", partitions=2)

    removed = {row["id"]: (row["kept"], row["distance"]) for row in result.removed.collect()}
    expected = stars(hashes, 31 * bits // 256)
    assert 20 < len(expected) < 80
    assert removed == expected
    assert {row["id"] for row in result.collect()} == {*IDS, "none"} - set(expected)
    result.removed.unpersist()


@pytest.mark.parametrize("bits", [64, 128])
def test_stored_hashes_are_those_that_were_given_and_are_found(spark, tmp_path, bits):
    hashes = hashes_of(bits, seed=3)
    order = None if bits == 64 else tuple(range(bits))[::-1]
    sketch = simdb.Bits(bits, order)
    made = ss.fingerprints(frame_of(spark, hashes), sketch, text="hash")
    made.write.parquet(str(tmp_path / "sketches"))
    sketches = spark.read.parquet(str(tmp_path / "sketches"))

    assert sketching.sketch_of(sketches) == sketch
    assert ss.write_database(sketches, tmp_path / "x", shards=3) == len(IDS)
    asked = spark.createDataFrame(
        [(id, hashes[id].hex().upper()) for id in IDS[::4]] + [("none", None)],
        "id string, h string",
    )
    found = ss.query(asked, tmp_path / "x", text="h", distance=9).collect()
    best = ss.query(frame_of(spark, hashes), tmp_path / "x", text="hash", distance=0, limit=1)

    with simdb.open_sharded(tmp_path / "x") as shards:
        assert {id: bytes(shards[id].fingerprint) for id in shards} == hashes
        assert shards.options.sketch == sketch
    expected = {
        (id, other): differing
        for id in IDS[::4]
        for other in IDS
        if (differing := apart(hashes[id], hashes[other])) <= 9
    }
    assert len(expected) > 40
    assert {(row["id"], row["match"]): row["distance"] for row in found} == expected
    assert len(found) == len(expected)
    assert {row["similarity"] for row in found} == {None}
    assert {row["id"]: row["distance"] for row in best.collect()} == dict.fromkeys(IDS, 0)


ROWS = [
    ("a", b"0123456\x80"),
    (None, b"01234567"),
    ("short", b"0123456"),
    ("b", b"0123456\x81"),
    ("none", None),
    ("text", b"0123456789abcdef"),
]
TEXTS = [
    ("a", "00112233445566fF"),
    ("b", "0x00112233445566ff"),
    ("short", "00112233"),
    ("long", "00112233445566ff\n"),
    ("x", "00112233445566fg"),
]


@pytest.mark.parametrize(
    ("rows", "kind", "unreadable"),
    [(ROWS, "binary", {"short", "text"}), (TEXTS, "string", {"short", "long", "x"})],
)
def test_what_is_no_hash_is_left_out_and_named(spark, tmp_path, rows, kind, unreadable):
    frame = spark.createDataFrame(rows, f"id string, hash {kind}")
    sketch = simdb.Bits(64)
    with simdb.open(tmp_path / "d", options=simdb.Options(sketch=sketch)) as db:
        db.insert("stored", frame.where("id = 'a'").first()["hash"])

    with pytest.raises(Exception, match="a hash of 64 bits"):
        ss.fingerprints(
            frame.where("id is not null"), sketch, text="hash", on_null="drop"
        ).collect()
    made = ss.fingerprints(frame, sketch, text="hash", on_error="skip", on_null="drop")
    found = ss.query(frame, tmp_path / "d", text="hash", distance=1, on_error="skip")
    kept = ss.drop_duplicates(frame, sketch=sketch, text="hash", distance=1, on_error="skip")

    assert {row["id"] for row in made.collect()} == {"a", "b"}
    assert {(row["id"], row["match"]) for row in found.collect()} == {
        ("a", "stored"),
        ("b", "stored"),
    }
    assert {row["id"] for row in kept.removed.collect()} == {"b"}
    expected = {(id, "no hash of 64 bits") for id in unreadable}
    expected |= {(None, "no id")} if rows is ROWS else set()
    for each in (made, found, kept):
        assert {(row["id"], row["reason"]) for row in each.skipped.collect()} == expected
    kept.removed.unpersist()


def test_what_hashes_do_not_have_is_refused(spark, tmp_path):
    hashes, sketch = hashes_of(128), simdb.Bits(128)
    frame = frame_of(spark, hashes)
    sketches = ss.fingerprints(frame, sketch, text="hash")

    for refused in [
        lambda: ss.pairs(sketches, similarity=0.9),
        lambda: ss.drop_duplicates(frame, sketch=sketch, text="hash", similarity=0.9),
        lambda: ss.drop_duplicates(frame, sketch=sketch, text="hash", distance=3, verify="exact"),
        lambda: ss.pairs(sketches, distance=128),
        lambda: ss.signatures(frame, sketch, text="hash"),
        lambda: ss.write_database(sketches, tmp_path / "x", shards=1, options=simdb.Options()),
    ]:
        with pytest.raises(simdb.OptionError, match=r"hashes|below 128|Minhash|give the same"):
            refused()
    with pytest.raises(simdb.InputError, match="'n' is bigint"):
        ss.fingerprints(spark.range(3).withColumnRenamed("id", "n"), sketch, id="n", text="n")
    nothing = spark.createDataFrame([("a", None)], "id string, hash binary")
    for on_null in ("keep", "error"):
        with pytest.raises(Exception, match="'a' has no text or hash"):
            ss.fingerprints(nothing, sketch, text="hash", on_null=on_null).collect()


def test_the_command_drops_hashes(spark, tmp_path):
    hashes = hashes_of(256, seed=4)
    source, kept = str(tmp_path / "in.parquet"), str(tmp_path / "kept.parquet")
    removed = str(tmp_path / "removed.parquet")
    frame_of(spark, hashes, is_text=True).write.parquet(source)
    command = ["spark", "dedup", source, kept, "--text-field", "hash", "--removed", removed]

    refused = CliRunner().invoke(app, [*command, "--bits", "256", "--minhash"])
    ran = CliRunner().invoke(app, [*command, "--bits", "256", "--partitions", "2"])

    assert (refused.exit_code, ran.exit_code) == (2, 0), refused.output + ran.output
    expected = stars(hashes, 31)
    rows = spark.read.parquet(removed).collect()
    assert {row["id"]: (row["kept"], row["distance"]) for row in rows} == expected
    assert spark.read.parquet(kept).count() == len(IDS) - len(expected)
