"""Candidates of parts, decided by their texts, are the pairs of exact similarity."""

from itertools import combinations

import numpy as np
import pytest

import simdb
from simdb.spark.distributed import exact_similarities, plan_pairs

arrow = pytest.importorskip("pyarrow")


def edited_texts(seed, count):
    generator = np.random.default_rng(seed)
    texts = []
    for _ in range(count // 2):
        tokens = [f"w{at}" for at in generator.integers(0, 500, 80)]
        other = list(tokens)
        for at in generator.integers(0, 80, generator.integers(1, 12)):
            other[at] = "other"
        texts += [" ".join(tokens), " ".join(other)]
    return texts


def jaccard(one, other, shingle):
    sets = []
    for text in (one, other):
        tokens = text.split()
        sets.append({tuple(tokens[at : at + shingle]) for at in range(len(tokens) - shingle + 1)})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_exact_similarities_are_those_of_sets():
    texts = edited_texts(1, 12)
    pairs = np.array(list(combinations(range(12), 2)))

    found = exact_similarities(texts, pairs[:, 0], pairs[:, 1])

    assert found.dtype == np.float32
    expected = [jaccard(texts[i], texts[j], simdb.Simhash().shingle) for i, j in pairs]
    assert found.tolist() == pytest.approx(expected, abs=1e-6)
    of_column = exact_similarities(arrow.array(texts), pairs[:, 0], pairs[:, 1])
    assert of_column.tolist() == found.tolist()


def test_candidates_that_texts_decide_are_the_pairs_of_exact_similarity():
    sketch, least = simdb.Minhash(), 0.7
    texts = edited_texts(2, 140)
    sketches = simdb.signatures(texts, sketch)
    estimated, exact = (
        plan_pairs(140, sketch, similarity=least, recall=0.99, verify=verify)
        for verify in ("estimate", "exact")
    )
    found = {}
    for plan in (estimated, exact):
        rows = plan.rows(sketches)
        split = plan.split(rows)
        found[plan] = set()
        for part in range(plan.part_count):
            at = split.positions[split.offsets[part] : split.offsets[part + 1]]
            for pairs in plan.find_pairs(part, rows[at]):
                left, right = at[pairs.left], at[pairs.right]
                if plan is exact:
                    is_match = exact_similarities(texts, left, right, sketch) >= np.float32(least)
                    left, right = left[is_match], right[is_match]
                found[plan] |= set(zip(left.tolist(), right.tolist(), strict=True))

    expected = {
        (i, j)
        for i, j in combinations(range(140), 2)
        if jaccard(texts[i], texts[j], sketch.shingle) >= least - 1e-9
    }
    assert len(expected) > 20
    assert found[exact] <= expected
    assert len(expected - found[exact]) <= 4
    assert found[estimated] ^ expected


def test_what_texts_cannot_decide_is_refused():
    with pytest.raises(simdb.OptionError, match="decides by similarity"):
        plan_pairs(10, distance=3, verify="exact")
    with pytest.raises(simdb.OptionError, match="verify"):
        plan_pairs(10, verify="exactly")
    with pytest.raises(simdb.InputError, match="right has the position 2"):
        exact_similarities(["a", "b"], [0, 0], [0, 2])
    with pytest.raises(simdb.InputError, match="2 positions and right 1"):
        exact_similarities(["a", "b"], [0, 1], [1])
    with pytest.raises(simdb.InputError, match="texts must be"):
        exact_similarities(3, [0], [0])
