"""Spark keeps the documents that a double loop keeps, as every entry point of the main job does."""

import random

import pytest
from families import NEW_WORDS, SIZES, WITHOUT_WORDS, order_of, survivors, text_of

from simdb import spark as ss


def texts_of(seed, count):
    """Return texts as `families.texts` draws them, of the same families."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        family = chance.randrange(len(SIZES))
        changes = [
            (chance.randrange(SIZES[family]), chance.randrange(NEW_WORDS))
            for _ in range(chance.randrange(5))
        ]
        found.append(text_of(family, changes, chance.randrange(4)))
    return [*found, *WITHOUT_WORDS, found[0], *WITHOUT_WORDS]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keep", "on_null"), [("first", "keep"), ("last", "drop"), ("longest", "keep")]
)
def test_spark_keeps_what_a_double_loop_keeps(spark, keep, on_null):
    """The texts decide; the recall leaves out a candidate of a million."""
    texts = texts_of(1, 200)
    frame = spark.createDataFrame(list(enumerate(texts)), "id int, text string").repartition(2)

    kept = ss.drop_duplicates(frame, keep=keep, on_null=on_null, recall=0.999999, partitions=2)

    stays = {row["id"] for row in kept.collect()}
    wanted = survivors(texts, order_of(texts, keep), on_null)
    assert 20 < sum(wanted) < len(texts)
    assert [at in stays for at in range(len(texts))] == wanted
