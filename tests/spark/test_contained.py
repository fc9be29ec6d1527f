"""The rule "contained" on Spark: a row that goes loses no word 3-grams, or only a few."""

import json
import random

import numpy as np
import pytest
from click.testing import CliRunner
from contained import expected, grams

import simdb
from simdb import spark as ss
from simdb.cli.app import app

# The search misses a candidate of a million: one of the pairs of a test with a chance below .001.
RECALL = 0.999999
FEW = simdb.Minhash(permutations=32)


def families(seed, count):
    """Returns texts that are parts of a few others, some with other words between, and copies."""
    chance = random.Random(seed)
    texts = []
    for _ in range(count):
        first = chance.choice("abcd")
        words = [f"{first}{at % 25}" for at in range(chance.randrange(4), chance.randrange(14, 30))]
        for at in chance.sample(range(12), chance.randrange(3)):
            words.insert(at, chance.choice("xyz"))
        texts.append(" ".join(words))
    # Another order of the same 3-grams: an equal set in another text.
    turned = " ".join(f"e{at % 9}" for at in range(20))
    return [*texts, turned, f"{turned} e2 e3", "", "a b", "a b", *texts[:3]]


def look_alikes():
    """Returns texts of which many have an equal signature, and no two the same 3-grams."""
    base = " ".join(f"w{at}" for at in range(300))
    return [f"{base} v{at}" for at in range(12)] + [f"u{at} {base}" for at in range(12)] + [base]


def removed_of(result):
    rows = {
        row["id"]: (row["kept"], np.float32(row["similarity"]), row["lost"])
        for row in result.removed.collect()
    }
    stays = sorted(row["id"] for row in result.collect())
    return rows, stays


@pytest.mark.parametrize(
    ("lose", "keep", "sketch"),
    [(0, "first", None), (2, "last", None), (1, "longest", FEW)],
)
def test_rows_that_go_are_those_of_a_double_loop_over_sets(spark, lose, keep, sketch):
    texts = [*families(lose, 90), *look_alikes()]
    signatures = simdb.signatures(texts[-25:], FEW).minima
    assert len(np.unique(signatures, axis=0)) < 20
    frame = spark.createDataFrame(list(enumerate(texts)), "id int, text string").repartition(3)

    result = ss.drop_duplicates(
        frame, rule="contained", lose=lose, keep=keep, similarity=0.5, recall=RECALL, sketch=sketch,
        partitions=2,
    )  # fmt: skip

    order = list(range(len(texts)))
    order = {
        "first": order, "last": order[::-1],
        "longest": sorted(order, key=lambda at: -len(texts[at])),
    }[keep]  # fmt: skip
    wanted = expected(texts, 0.5, lose, order)
    removed, stays = removed_of(result)
    assert 20 < len(wanted) < len(texts) - 20
    assert removed == {row: leaders[0] for row, leaders in wanted.items()}
    assert stays == [at for at in range(len(texts)) if at not in wanted]


def test_equal_sets_travel_as_one_and_other_sets_of_equal_sketches_stay(spark):
    base = " ".join(f"w{at}" for at in range(300))
    texts = [f"{base} v1", f"{base} v2", f"{base} v1", f"{base}  v2!", base]
    assert grams(texts[0]) != grams(texts[1])
    made = simdb.signatures(texts, FEW).minima
    frame = spark.createDataFrame(list(enumerate(texts)), "id int, text string")

    result = ss.drop_duplicates(frame, rule="contained", sketch=FEW, partitions=2)

    removed, stays = removed_of(result)
    assert (made == made[0]).all()
    assert stays == [0, 1]
    assert removed == {2: (0, 1, 0), 3: (1, 1, 0), 4: (0, np.float32(298 / 299), 0)}


def test_what_does_not_go_with_the_rule_is_refused(spark):
    frame = spark.createDataFrame([(1, "a b c d")], "id int, text string")

    for wrong in [
        {"rule": "same"},
        {"lose": 1},
        {"rule": "contained", "lose": -1},
        {"rule": "contained", "verify": "estimate"},
        {"rule": "contained", "distance": 3},
        {"rule": "contained", "policy": "connected"},
        {"rule": "contained", "sketch": simdb.Bits(64)},
    ]:
        with pytest.raises(simdb.OptionError, match=r"rule|lose"):
            ss.drop_duplicates(frame, **wrong)


def test_the_command_writes_what_each_row_loses(spark, tmp_path):
    base = " ".join(f"w{at}" for at in range(40))
    texts = [base, f"{base} a", f"b {base}", f"c d e {base}"]
    source, removed = tmp_path / "in.jsonl", tmp_path / "removed.jsonl"
    lines = [json.dumps({"id": at, "text": text}) for at, text in enumerate(texts)]
    source.write_text("\n".join(lines), encoding="utf-8")

    ran = CliRunner().invoke(app, [
        "spark", "dedup", str(source), str(tmp_path / "kept"), "--removed", str(removed),
        "--rule", "contained", "--lose", "1", "--partitions", "2",
    ])  # fmt: skip

    rows = [
        json.loads(line)
        for part in removed.glob("part-*.json")
        for line in part.read_text(encoding="utf-8").splitlines()
    ]
    assert ran.exit_code == 0, ran.output
    found = {row["id"]: (row["kept"], row["lost"]) for row in rows}
    assert found == {0: (3, 0), 1: (3, 1), 2: (3, 1)}
