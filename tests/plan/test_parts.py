"""Tables of parts of hashes: which flips reach which matches, and the order of the bits."""

from itertools import combinations

import numpy as np
import pytest
from over import over

import simdb
from simdb.plan import NOT_READ, HashParts, fitted_order
from simdb.plan.parts import missed


def parts_of(bits, **given):
    return HashParts(simdb.Options(sketch=simdb.Bits(bits), **given))


def words_by_definition(keying, order, row):
    whole = int.from_bytes(row.tobytes(), "big")
    bits = [whole >> (keying.bits - 1 - at) & 1 for at in order]
    found = []
    for size in keying.sizes:
        found.append(sum(bit << (63 - at) for at, bit in enumerate(bits[:size])))
        bits = bits[size:]
    return found


def is_reached(keying, flips, distance, differing):
    """Whether a hash that differs in the bits `differing` is found, by the rule of a look-up."""
    row = np.zeros(keying.bits, np.uint8)
    row[list(differing)] = 1
    words = keying.words(np.packbits(row)[None, :])[:, 0].tolist()
    limits = keying.limits(flips, distance)
    return any(
        words[part].bit_count() <= limits[part]
        and (words[part] & mask).bit_count() <= most
        and most != NOT_READ
        for part, mask, most in zip(keying.part_of, keying.masks, flips, strict=True)
    )


@over("bits", [32, 64 + 32, 128, 160, 256, 512])
def test_each_table_leads_with_its_own_bits_and_all_bits_lead_once(bits):
    keying = parts_of(bits)

    assert sum(keying.sizes) == bits == sum(keying.widths)
    assert max(keying.sizes) <= 64
    for part in range(len(keying.sizes)):
        masks = keying.masks[keying.tables_of(part)]
        assert sum(masks) == sum(1 << (63 - at) for at in range(keying.sizes[part]))
        assert len(keying.bits_of(part, sum(masks))) == keying.sizes[part]
    assert sum(keying.leading) == (1 << bits) - 1


@over(("bits", "blocks"), [(32, 2), (96, 5), (128, 8), (256, 12)])
@over("has_order", [False, True])
def test_words_are_the_bits_in_their_order(bits, blocks, has_order):
    generator = np.random.default_rng(bits)
    order = tuple(generator.permutation(bits).tolist()) if has_order else None
    keying = HashParts(simdb.Options(sketch=simdb.Bits(bits, order), blocks=blocks))
    rows = generator.integers(0, 256, (9, bits // 8), np.uint8)

    every = [at for part, size in enumerate(keying.sizes) for at in range(64 - size, 64)]
    known = order or words_order(keying)
    assert len(every) == bits
    for at, row in enumerate(rows):
        assert keying.words(rows)[:, at].tolist() == words_by_definition(keying, known, row)


def words_order(keying):
    """Return the bits of a hash in the order of its words, one bit set at a time."""
    found = {}
    for bit in range(keying.bits):
        row = np.zeros(keying.bits, np.uint8)
        row[bit] = 1
        words = keying.words(np.packbits(row)[None, :])[:, 0].tolist()
        (part,) = np.flatnonzero(words)
        found[int(part), 63 - (words[part].bit_length() - 1)] = bit
    assert len(found) == keying.bits
    return [found[place] for place in sorted(found)]


def test_without_an_order_neighbouring_bits_are_in_different_blocks():
    keying = parts_of(256)
    blocks = {
        bit: table
        for table, (part, mask) in enumerate(zip(keying.part_of, keying.masks, strict=True))
        for bit in keying.bits_of(part, mask)
    }

    assert [blocks[255 - bit] for bit in range(256)] == [bit % 16 for bit in range(256)]


@over("flips", [(0, 0), (1, 0), (0, NOT_READ), (1, 1), (NOT_READ, 2), (2, 0)])
@over("distance", [0, 1, 2, 3, 4])
def test_the_share_that_is_missed_is_that_of_all_choices_of_bits(flips, distance):
    keying = parts_of(32)

    every = list(combinations(range(32), distance))
    lost = sum(not is_reached(keying, flips, distance, chosen) for chosen in every)

    assert missed(keying, flips, distance) == pytest.approx(lost / len(every), abs=1e-12)


@over(("bits", "distance"), [(96, 11), (128, 15), (128, 20), (256, 31), (256, 10), (512, 62)])
def test_a_plan_without_loss_reaches_any_choice_of_bits(bits, distance):
    options = simdb.Options(sketch=simdb.Bits(bits))
    plan = simdb.open(None, options=options).plan(10**6, distance=distance, search="bphs")
    keying, generator = HashParts(options), np.random.default_rng(bits)

    assert plan.recall == 1.0
    assert sum(plan.table_flips) + len(plan.table_flips) > distance
    assert missed(keying, plan.table_flips, distance) == 0.0
    for _ in range(200):
        chosen = generator.permutation(bits)[: generator.integers(0, distance + 1)]
        assert is_reached(keying, plan.table_flips, distance, chosen.tolist())


def test_with_one_flip_less_the_worst_choice_of_bits_is_lost():
    """The bound is tight: one more differing bit in each block than is flipped there."""
    options = simdb.Options(sketch=simdb.Bits(128))
    plan = simdb.open(None, options=options).plan(10**6, distance=15, search="bphs")
    keying = HashParts(options)
    worst = []
    for part, mask, most in zip(keying.part_of, keying.masks, plan.table_flips, strict=True):
        worst += [127 - bit for bit in keying.bits_of(part, mask)[: most + 1]]

    assert len(worst) == 16
    assert not is_reached(keying, plan.table_flips, 15, worst)
    assert is_reached(keying, plan.table_flips, 15, worst[1:])


@over("recall", [0.8, 0.9, 0.95, 0.99])
def test_a_lower_recall_looks_up_fewer_headers_and_reaches_as_many(recall):
    """Chance of failing: 4 standard deviations of 2,000 choices, 1 in 30,000 for each recall."""
    options = simdb.Options(sketch=simdb.Bits(256))
    database = simdb.open(None, options=options)
    plan, whole = (database.plan(10**6, distance=31, recall=each) for each in (recall, 1.0))
    keying, generator = HashParts(options), np.random.default_rng(int(recall * 100))
    found = [
        is_reached(keying, plan.table_flips, 31, generator.permutation(256)[:31].tolist())
        for _ in range(2000)
    ]

    assert recall <= plan.recall < 1.0
    assert plan.probes < whole.probes
    deviation = np.sqrt(plan.recall * (1 - plan.recall) / len(found))
    assert abs(np.mean(found) - plan.recall) < 4 * deviation


def test_a_distance_beyond_all_flips_is_compared():
    database = simdb.open(None, options=simdb.Options(sketch=simdb.Bits(256)))

    assert database.plan(10**6, distance=100).method == "exhaustive"
    assert database.plan(10**6, distance=31, search="exhaustive").recall == 1.0
    with pytest.raises(simdb.OptionError, match="distance=100 is more than 16 tables"):
        database.plan(10**6, distance=100, search="bphs")
    with pytest.raises(simdb.OptionError, match="search must be one of"):
        database.plan(10**6, distance=3, search="psm")


def test_a_fitted_order_spreads_bits_that_say_nothing_and_bits_that_go_together():
    generator = np.random.default_rng(0)
    bits = generator.integers(0, 2, (4000, 128), np.uint8)
    bits[:, :48] = 0  # in the usual order each block would have them, too
    bits[:, ::8] = 1
    together = [3, 50, 51, 52]
    bits[:, [50, 51, 52]] = bits[:, [49]]
    order = fitted_order(np.packbits(bits, axis=1), [16] * 8)

    assert sorted(order) == list(range(128))
    blocks = [set(order[at : at + 16]) for at in range(0, 128, 16)]
    constant = {at for at in range(128) if at < 48 or at % 8 == 0}
    counts = [len(block & constant) for block in blocks]
    assert max(counts) - min(counts) <= 1
    assert len({at for at, block in enumerate(blocks) for bit in together if bit in block}) >= 3
    assert sum(49 in block and bool(block & {50, 51, 52}) for block in blocks) == 0


def test_the_order_of_all_blocks_is_as_long_as_they_are():
    options = simdb.Options(sketch=simdb.Bits(256), blocks=12)
    keying = HashParts(options)
    hashes = np.random.default_rng(1).integers(0, 256, (50, 32), np.uint8)

    order = fitted_order(hashes, keying.widths)
    assert sorted(order) == list(range(256))
    assert (
        HashParts(simdb.Options(sketch=simdb.Bits(256, order), blocks=12)).widths == keying.widths
    )
