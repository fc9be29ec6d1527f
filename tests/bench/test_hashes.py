"""The hashes of tools/bench/hashes.py, and its comparison with brute force."""

import numpy as np
import pytest


def bits_of(hashes):
    return np.unpackbits(hashes, axis=1).astype(float)


@pytest.fixture
def program(tool):
    return tool("hashes")


def test_every_second_query_is_as_far_from_its_neighbour_as_recorded(program, tmp_path):
    for kind, bits in ("random", 128), ("factor", 256), ("constant", 512):
        program.Hashes(kind, bits, 1).write(tmp_path, 300, 200)

        stored, queries, planted = (
            np.load(tmp_path / f"{name}.npy") for name in ("stored", "queries", "planted")
        )
        ids, flips = planted[::2].T
        assert stored.shape == (300, bits // 8)
        assert (program.apart(queries[::2], stored[ids]) == flips).all()
        assert set(flips.tolist()) <= set(range(31 * bits // 256 + 1))
        assert len(set(flips.tolist())) > 10
        assert set(planted[1::2, 0].tolist()) == {-1}
        assert program.apart(queries[1::2, None], stored).min() > 0


def test_a_third_of_the_bits_of_a_kind_is_nearly_constant(program):
    means = bits_of(program.Hashes("constant", 256, 1).drawn(4_000)).mean(axis=0)

    assert ((means < 0.05) | (means > 0.95)).sum() == 256 // 3


def test_few_factors_explain_a_third_of_the_variance_of_a_kind(program):
    values = bits_of(program.Hashes("factor", 256, 1).drawn(4_000))

    strengths = np.linalg.eigvalsh(np.cov(values.T))[::-1]
    assert (values.sum(axis=1) == 128).all()
    assert strengths[program.FACTORS - 1] > 1.5 * strengths[program.FACTORS]


def test_answers_that_are_lost_or_too_many_are_counted(program, tmp_path):
    """Half of the queries are within 40; a fifth of these lies among 100 of 400 documents."""
    checked = program.Checked(tmp_path / "x", program.Hashes("random", 256, 1), 500)
    checked.change("inserted")
    pairs = 2 * 300

    right = checked.agreeing(300, 40)
    checked.is_held[:100] = False
    too_many = checked.agreeing(300, 40)
    checked.is_held[:] = True
    lost = checked.agreeing(300, 40)

    assert right == (pairs, 0)
    assert too_many[0] < pairs
    assert too_many[1] > 0
    assert lost[0] < pairs


def test_all_pairs_agree_in_every_state_of_a_small_database(program, tmp_path):
    for kind in "random", "factor", "constant":
        (tmp_path / kind).mkdir()
        checked = program.Checked(tmp_path / kind / "x", program.Hashes(kind, 128, 2), 600)
        for state in program.STATES:
            checked.change(state)

            for distance in (0, 15, 20):
                assert checked.agreeing(40, distance) == (80, 0), (kind, state, distance)
        assert len(checked.database) == checked.is_held.sum()
        checked.database.close()
