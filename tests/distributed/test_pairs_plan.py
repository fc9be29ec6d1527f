"""Parts together find what comparing every two documents finds, each pair once."""

import pickle

import numpy as np
import pytest
from over import over

import simdb
from simdb.core import kernel
from simdb.core.vector_form import corrected, signs_of
from simdb.database.state.store import settled
from simdb.plan.banding import bands_of
from simdb.spark.distributed import Cell, chunks_of, plan as plan_module, plan_pairs

# Whose thresholds are cosines.
WEIGHTED = simdb.Simhash(weighting="tf")


def near_weights(seed, count, dimensions=128):
    """Make weights of documents of which each second is near the one before it."""
    generator = np.random.default_rng(seed)
    weights = generator.normal(size=(count, dimensions)).astype(np.float32)
    noise = generator.normal(size=weights[1::2].shape) * generator.uniform(0.05, 0.6, (1, 1))
    weights[1::2] = weights[: 2 * len(noise) : 2] + noise
    return weights


def near_bits(seed, count):
    """Make fingerprints of which many are near others, and some equal."""
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 2**64, max(count // 4, 1), np.uint64)
    chosen = bits[generator.integers(0, len(bits), count)]
    for _ in range(4):
        flips = np.uint64(1) << generator.integers(0, 64, count).astype(np.uint64)
        chosen = np.where(generator.random(count) < 0.5, chosen ^ flips, chosen)
    return chosen


def near_hashes(seed, count, width):
    """Make hashes uint8[count, width] of which many are near others, and some equal."""
    generator = np.random.default_rng(seed)
    chosen = generator.integers(0, 256, (count // 4, width), np.uint8)
    chosen = chosen[generator.integers(0, len(chosen), count)]
    shares = generator.uniform(0, 12 / (8 * width), (count, 1))
    flips = generator.random((count, 8 * width)) < shares
    flips[generator.random(count) < 0.3] = False
    return chosen ^ np.packbits(flips, axis=1)


def pairs_within(bits, distance):
    """Compare every two fingerprints: {(left, right): distance}."""
    return {
        (i, j): apart
        for i in range(len(bits))
        for j in range(i + 1, len(bits))
        if (apart := (int(bits[i]) ^ int(bits[j])).bit_count()) <= distance
    }


def found_by_parts(plan, rows, chunk_documents=None):
    """Run the tasks of a plan: {(left, right): (distance, similarity)}; fails for a pair twice."""
    split = plan.split(rows)
    most = len(rows) + 1 if chunk_documents is None else chunk_documents
    found = {}
    for cell in plan.cells(np.diff(split.offsets), most):
        at = split.positions[split.offsets[cell.part] : split.offsets[cell.part + 1]]
        chunks = -(-len(at) // most)
        numbers = chunks_of(at, chunks)
        first, second = at[numbers == cell.first], at[numbers == cell.second]
        others = None if cell.first == cell.second else rows[second]
        rights = first if others is None else second
        for pairs in plan.find_pairs(cell.part, rows[first], others):
            for left, right, distance, similarity in zip(
                first[pairs.left].tolist(), rights[pairs.right].tolist(),
                pairs.distance.tolist(), pairs.similarity.tolist(), strict=True,
            ):  # fmt: skip
                pair = (min(left, right), max(left, right))
                assert pair not in found
                found[pair] = (distance, similarity)
    return found


@over("distance", [0, 1, 3, 6, 10])
@over(("tasks", "chunk"), [(1, 3), (30, None)])
def test_parts_find_all_pairs_within_a_distance(distance, tasks, chunk):
    bits = near_bits(1, 60)
    plan = plan_pairs(60, distance=distance, tasks=tasks)

    found = found_by_parts(plan, plan.rows(bits), chunk)

    assert {pair: apart for pair, (apart, _) in found.items()} == pairs_within(bits, distance)
    assert all(similarity != similarity for _, similarity in found.values())


def hash_pairs(hashes, distance):
    """Compare every two hashes uint8[n, width]: {(left, right): distance}."""
    return pairs_within([int.from_bytes(row.tobytes(), "big") for row in hashes], distance)


@over(
    ("bits", "distance", "order", "chunk_hashes", "chunk"),
    [
        (256, 31, False, 500_000, None),
        (32, 3, True, 500_000, 15),
        (96, 0, False, 1, None),
        (512, 4, True, 1, 9),
        (256, 11, True, 1, None),
        (32, 9, False, 1, 12),
    ],
)
def test_parts_find_all_pairs_of_hashes(monkeypatch, bits, distance, order, chunk_hashes, chunk):
    monkeypatch.setattr(plan_module, "CHUNK_HASHES", chunk_hashes)
    hashes = near_hashes(3, 40, bits // 8)
    sketch = simdb.fit_bits(hashes, simdb.Bits(bits)) if order else simdb.Bits(bits)
    plan = plan_pairs(40, sketch, distance=distance, tasks=3)

    found = found_by_parts(plan, plan.rows(hashes), chunk)

    expected = hash_pairs(hashes, distance)
    assert {pair: apart for pair, (apart, _) in found.items()} == expected
    assert len(expected) > distance
    assert plan.recall == 1.0
    # Few hashes are one part; of many, there is a table for each block.
    tables = distance + 1 if chunk_hashes == 1 else 1
    assert plan.copies == tables <= plan.part_count
    assert plan.part_count % tables == 0


def test_hashes_of_64_bits_are_fingerprints():
    hashes = near_hashes(4, 50, 8)
    plan = plan_pairs(50, simdb.Bits(64), distance=5)

    found = found_by_parts(plan, plan.rows(simdb.Fingerprints(hashes)))

    assert {pair: apart for pair, (apart, _) in found.items()} == hash_pairs(hashes, 5)


def test_blocks_of_fitted_hashes_are_equally_crowded(monkeypatch):
    """Half of the bits are always 0, and those of a block of 16 of the usual order: all of them."""
    monkeypatch.setattr(plan_module, "CHUNK_HASHES", 1)
    hashes = np.random.default_rng(5).integers(0, 256, (2000, 32), np.uint8)
    bits = np.unpackbits(hashes, axis=1)
    bits[:, np.arange(256) % 16 < 8] = 0
    hashes = np.packbits(bits, axis=1)

    largest = []
    for sketch in (simdb.Bits(256), simdb.fit_bits(hashes, simdb.Bits(256))):
        plan = plan_pairs(2000, sketch, distance=15, tasks=64)
        largest.append(int(np.diff(plan.split(plan.rows(hashes)).offsets).max()))

    assert largest[0] == 2000
    assert largest[1] < 400


def test_the_recall_is_that_of_the_plan_for_pairs_that_are_just_similar_enough():
    # Chance of failing: the share of some 1,500 pairs has a deviation of .004, so it is .02 or more
    # below or above the plan in one of a million seeds.
    count, generator = 12_000, np.random.default_rng(10)
    left, other = generator.normal(size=(2, count // 2, 128))
    cosines = 0.9 + generator.uniform(0, 0.004, (count // 2, 1))
    weights = np.empty((count, 128), np.float32)
    weights[0::2], weights[1::2] = left, cosines * left + np.sqrt(1 - cosines**2) * other
    bits, vectors = kernel.quantise(weights)
    even = np.arange(0, count, 2, dtype=np.uint32)
    similarities = corrected(kernel.Vectors(64, [(0, vectors)]).between(even, even + 1))
    wanted = even[(similarities >= np.float32(0.9)) & (similarities < 0.91)].tolist()
    plan = plan_pairs(count, WEIGHTED, similarity=0.9, recall=0.95)

    found = found_by_parts(plan, plan.rows(simdb.Fingerprints.from_vectors(bits, vectors)))

    share = sum((at, at + 1) in found for at in wanted) / len(wanted)
    assert len(wanted) > 1000
    assert 0.93 < share < 0.98


@over(("dimensions", "chunk", "compared"), [(64, 7, 2000), (256, None, 2000), (128, None, 10)])
def test_parts_find_most_similar_pairs_and_no_other(monkeypatch, dimensions, chunk, compared):
    # Chance of failing: of 150 pairs .99 are found, so 8 or more are missed in .0001 of all seeds.
    monkeypatch.setattr(plan_module, "COMPARED_MAX", compared)
    monkeypatch.setattr(plan_module, "MARKED_ROWS", 16)
    count = 300
    bits, vectors = kernel.quantise(near_weights(2, count, dimensions))
    sketch = simdb.Simhash(weighting="tf", dimensions=dimensions)
    plan = plan_pairs(count, sketch, similarity=0.85, recall=0.99)
    rows = plan.rows(simdb.Fingerprints.from_vectors(bits, vectors))

    found = found_by_parts(plan, rows, chunk)

    left, right = np.triu_indices(count, 1)
    measured = kernel.Vectors(vectors.shape[1], [(0, vectors)])
    every = corrected(measured.between(left.astype(np.uint32), right.astype(np.uint32)))
    similar_pairs = {
        (int(i), int(j)): float(similarity)
        for i, j, similarity in zip(left, right, every, strict=True)
        if similarity >= np.float32(0.85)
    }
    assert len(similar_pairs) > 50
    assert set(found) <= set(similar_pairs)
    assert len(found) > len(similar_pairs) - 8
    for (i, j), (distance, similarity) in found.items():
        assert distance == (int(bits[i]) ^ int(bits[j])).bit_count()
        assert similarity == similar_pairs[i, j]


@over("compared", [1199, 1200])
def test_any_number_of_threads_finds_the_same_similar_pairs(monkeypatch, compared):
    monkeypatch.setattr(plan_module, "COMPARED_MAX", compared)
    bits, vectors = kernel.quantise(near_weights(4, 1200))
    found = []

    for threads in (1, 3):
        couples = plan_module.similar_pairs(
            vectors, bits, similarity=0.85, floor=0.85, recall=0.99, threads=threads
        )
        pairs = [zip(each.left.tolist(), each.right.tolist(), strict=True) for each in couples]
        found.append(sorted(pair for each in pairs for pair in each))

    assert found[0] == found[1]
    assert {(at, at + 1) for at in range(0, 1200, 2)} & set(found[0])


@over(("stored_bits", "tasks", "chunk"), [(1, 9, None), (2, 40, 5), (8, 1, 4), (32, 200, None)])
def test_parts_find_the_pairs_that_agree_in_a_band(stored_bits, tasks, chunk):
    generator = np.random.default_rng(3)
    words = [f"w{number}" for number in range(400)]
    texts = []
    for _ in range(30):
        text = [words[at] for at in generator.integers(0, 400, 40)]
        other = list(text)
        for at in generator.integers(0, 40, generator.integers(0, 12)):
            other[at] = "other"
        texts += [" ".join(text), " ".join(other)]
    sketch = simdb.Minhash(stored_bits=stored_bits, shingle=1)
    options = settled(simdb.Options(sketch=sketch))
    signatures = simdb.signatures(texts, sketch)
    plan = plan_pairs(60, options, similarity=0.5, tasks=tasks)

    found = found_by_parts(plan, plan.rows(signatures), chunk)

    bands, rows = bands_of(options), plan.rows(signatures)
    expected = {}
    for i in range(60):
        alike = simdb.similarities(signatures[i], signatures)
        for j in range(i + 1, 60):
            if alike[j] >= np.float32(0.5) and bands.agreeing(rows[[i]], rows[[j]]).any():
                expected[i, j] = float(alike[j])
    assert len(expected) > 15
    assert {pair: similarity for pair, (_, similarity) in found.items()} == expected


def test_a_part_makes_the_keys_of_its_own_band_only(monkeypatch):
    plan = plan_pairs(60, simdb.Minhash(stored_bits=8), similarity=0.8, tasks=1)
    rows = np.random.default_rng(8).integers(0, 256, (60, plan.row_bytes), np.uint8)
    rows[30:] = rows[:30]
    made, band_keys = [], kernel.band_keys
    monkeypatch.setattr(
        kernel, "band_keys", lambda given, **sizes: made.append(sizes) or band_keys(given, **sizes)
    )

    found = sum(len(pairs) for pairs in plan.find_pairs(0, rows))

    assert found == 30
    assert [sizes["bands"] for sizes in made] == [1]


def test_pairs_can_be_near_and_similar():
    count = 200
    bits, vectors = kernel.quantise(near_weights(4, count))
    plan = plan_pairs(count, WEIGHTED, distance=12, similarity=0.9)
    rows = plan.rows(simdb.Fingerprints.from_vectors(bits, vectors))

    found = found_by_parts(plan, rows)

    measured = kernel.Vectors(64, [(0, vectors)])
    expected = {}
    for (i, j), distance in pairs_within(bits, 12).items():
        both = np.array([i], np.uint32), np.array([j], np.uint32)
        similarity = corrected(measured.between(*both))[0]
        if similarity >= np.float32(0.9):
            expected[i, j] = (distance, float(similarity))
    assert 10 < len(expected) < len(pairs_within(bits, 12))
    assert found == expected


def test_links_connect_what_pairs_connect():
    bits = near_bits(5, 200)
    plan = plan_pairs(200, distance=3, tasks=4)
    rows = plan.rows(bits)
    split = plan.split(rows)
    forest = kernel.Forest(200)
    for part in range(plan.part_count):
        at = split.positions[split.offsets[part] : split.offsets[part + 1]]
        left, right = plan.find_links(part, rows[at])
        assert len(left) < max(len(at), 1)
        assert (left < right).all()
        forest.join(at[left], at[right])
        half = len(at) // 2
        left, right = plan.find_links(part, rows[at[:half]], rows[at[half:]])
        between = plan.find_pairs(part, rows[at[:half]], rows[at[half:]])
        ends = kernel.Forest(len(at))
        for pairs in between:
            ends.join(pairs.left.astype(np.uint32), (pairs.right + half).astype(np.uint32))
        again = kernel.Forest(len(at))
        again.join(left.astype(np.uint32), right.astype(np.uint32))
        assert again.labels().tolist() == ends.labels().tolist()

    expected = kernel.Forest(200)
    for i, j in pairs_within(bits, 3):
        expected.join(np.array([i], np.uint32), np.array([j], np.uint32))
    assert forest.labels().tolist() == expected.labels().tolist()


def test_a_plan_can_be_sent_to_another_process():
    plan = plan_pairs(1000, similarity=0.9)
    again = pickle.loads(pickle.dumps(plan))

    _, vectors = kernel.quantise(near_weights(6, 50))
    assert again.split(vectors).positions.tolist() == plan.split(vectors).positions.tolist()
    assert (again.method, again.part_count) == (plan.method, plan.part_count)


def test_the_parts_of_a_row_are_its_own_whatever_travels_with_it():
    _, vectors = kernel.quantise(near_weights(7, 64))
    plan = plan_pairs(10**6, similarity=0.9)

    offsets, parts = plan.exchange.parts(vectors)

    for at in range(64):
        alone = plan.exchange.parts(vectors[at : at + 1])[1]
        assert alone.tolist() == parts[offsets[at] : offsets[at + 1]].tolist()
        assert (np.diff(alone.astype(np.int64)) > 0).all()


def test_rows_are_taken_from_sketches_of_the_right_kind():
    texts = ["one two three four five", "six seven eight nine ten"]
    fingerprints = simdb.fingerprints(texts)
    by_similarity, by_distance = plan_pairs(10, similarity=0.9), plan_pairs(10, distance=3)

    assert by_distance.rows(fingerprints).tobytes() == fingerprints.bits.astype("<u8").tobytes()
    assert by_distance.rows(fingerprints.bits).shape == (2, 8)
    rows = by_similarity.rows(fingerprints)
    assert signs_of(rows).tolist() == fingerprints.bits.tolist()
    assert rows.tolist() == kernel.quantise(fingerprints.weights)[1].tolist()
    with pytest.raises(simdb.InputError, match="with weights or vectors"):
        by_similarity.rows(fingerprints.bits)
    with pytest.raises(simdb.InputError, match="uint64"):
        by_distance.rows(texts)
    with pytest.raises(simdb.InputError, match="rows of 64 bytes, got 32"):
        by_similarity.split(np.zeros((2, 32), np.uint8))
    with pytest.raises(simdb.InputError, match="for signatures"):
        plan_pairs(10, simdb.Minhash()).rows(fingerprints)
    hashes = np.arange(64, dtype=np.uint8).reshape(2, 32)
    by_hashes = plan_pairs(10, simdb.Bits(256))
    assert by_hashes.rows(hashes).tolist() == hashes.tolist()
    assert by_hashes.rows(simdb.Fingerprints(hashes)).tolist() == hashes.tolist()
    with pytest.raises(simdb.InputError, match="rows of 32 bytes, got 16"):
        by_hashes.rows(hashes[:, :16])
    with pytest.raises(simdb.InputError, match=r"uint8\[n, 32\]"):
        by_hashes.rows(fingerprints)


@over(
    ("asked", "message"),
    [
        ({"similarity": 1.5}, "similarity"),
        ({"distance": 64}, "below 64"),
        ({"distance": -1}, "distance"),
        ({"similarity": 0.9, "recall": 1.0}, "lower recall"),
        ({"similarity": 0.3, "recall": 0.999999}, "lower recall"),
        ({"distance": 3, "tasks": 0}, "tasks"),
        ({"documents": -1}, "documents"),
        ({"options": "x"}, "options"),
        ({"options": simdb.Bits(256), "distance": 256}, "below 256"),
        ({"options": simdb.Bits(256), "similarity": 0.9}, "hashes"),
        ({"options": simdb.Bits(256), "distance": 3, "verify": "exact"}, "these are hashes"),
    ],
)
def test_what_no_plan_can_do_is_refused(asked, message):
    arguments = {"documents": 1000, **asked}
    with pytest.raises(simdb.OptionError, match=message):
        plan_pairs(arguments.pop("documents"), arguments.pop("options", None), **arguments)
    plan = plan_pairs(10, distance=3, tasks=1)
    with pytest.raises(simdb.OptionError, match="part"):
        next(plan.find_pairs(plan.part_count, np.zeros((2, 8), np.uint8)))


@over("documents", [1e3, 8e9])
@over("asked", [{"distance": 3}, {"similarity": 0.9, "recall": 0.98}])
def test_plans_say_what_they_cost(documents, asked):
    plan = plan_pairs(documents, tasks=1000, **asked)

    assert plan.bytes_per_document <= (90 if "distance" in asked else 650)
    assert plan.seconds > 0
    assert plan.recall >= 0.98


def test_the_predicted_copies_are_those_of_random_documents():
    # The mean of 4,000 rows is within 5 % of the prediction in all but a millionth of all seeds.
    _, vectors = kernel.quantise(near_weights(8, 4000))
    plan = plan_pairs(10**6, WEIGHTED, similarity=0.9, recall=0.98)

    offsets, _ = plan.exchange.parts(vectors)

    assert offsets[-1] / 4000 == pytest.approx(plan.copies, rel=0.1)


@over("options", [simdb.Simhash(), simdb.Minhash(stored_bits=8)])
def test_parts_of_many_documents_stay_whole(options):
    asked = {"distance": 3} if isinstance(options, simdb.Simhash) else {"similarity": 0.8}

    plan = plan_pairs(5_000_000, options, tasks=6, **asked)

    mean = int(plan.copies * plan.documents / plan.part_count)
    assert mean <= 200_000
    assert plan.cells(np.full(plan.part_count, 2 * mean)) == [
        Cell(part, 0, 0) for part in range(plan.part_count)
    ]


@over(
    ("documents", "parts", "cells"),
    [(0, 1, 0), (500_000, 1, 1), (16e6, 1, 32 * 33 // 2), (17e6, 32 << 8, 32 << 8)],
)
def test_chunks_of_hashes_meet_until_blocks_copy_less(documents, parts, cells):
    plan = plan_pairs(documents, simdb.Bits(256), distance=31, tasks=24)

    assert plan.part_count == parts
    assert plan.copies == min(max(documents // 500_000, 1), 32)
    mean = int(plan.copies * documents / parts) if parts > 1 else int(documents)
    assert len(plan.cells(np.full(parts, mean))) == cells
    assert plan.seconds > 0 or not documents


def test_large_parts_are_cut_only_if_they_are_much_larger_than_others():
    plan = plan_pairs(1e8, WEIGHTED, similarity=0.9)
    mean = int(plan.copies * plan.documents / plan.part_count)

    sizes = np.full(plan.part_count, mean)
    sizes[7] = 5 * mean

    assert plan.cell_documents == pytest.approx(2 * mean, rel=0.01)
    cells = plan.cells(sizes)
    assert [cell for cell in cells if cell.part != 7] == [
        Cell(part, 0, 0) for part in range(plan.part_count) if part != 7
    ]
    assert len([cell for cell in cells if cell.part == 7]) == 6
