"""What a calibration has not seen, it does not say: pairs further apart than its sample has."""

import random

import simdb
from simdb.plan.calibration import WEIGHED_DISTANCE, evidence


def test_a_sample_says_nothing_of_pairs_further_apart_than_it_has():
    generator = random.Random(3)
    texts = [" ".join(generator.choices([f"w{at}" for at in range(900)], k=50)) for _ in range(400)]
    edited = []
    for text in texts:
        words = text.split()
        for at in generator.sample(range(50), 2):
            words[at] = f"new{generator.randrange(1 << 30)}"
        edited.append(" ".join(words))
    options = simdb.Options(sketch=simdb.Simhash(shingle=1), blocks=1, leading=1)
    with simdb.open(None, options=options) as database:
        database.insert_many(range(400), texts)

        known = database.calibrate(sample=edited)

    for distance in (3, WEIGHED_DISTANCE, WEIGHED_DISTANCE + 1, 20):
        found = evidence(known, None, distance, is_stored=False)
        assert found.is_measured == (distance <= WEIGHED_DISTANCE)
