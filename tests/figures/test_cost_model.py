"""The model against figures that Sood & Loguinov 2011 print.

`PAPER` has the delays that follow from three of their rates, with 60M stored fingerprints and
distance 3: BPHS-A with 4 tables 152K queries a second (38K for each table), with 10 tables 225K,
and PSM-A with k = 23 flip sets 765K (5 and 3.4 times as fast).
"""

import importlib
import json
import math

import pytest
from over import over

from simdb.plan.calibration import USUAL_DELAYS, Delays

cost_model = importlib.import_module("cost_model")
attempts_max, best_bphs, leading_max = (
    cost_model.attempts_max, cost_model.best_bphs, cost_model.leading_max,
)  # fmt: skip
bphs, bphs_batch = cost_model.bphs, cost_model.bphs_batch
psm, psm_batch = cost_model.psm, cost_model.psm_batch
USUAL = {"blocks": 4, "leading": 1, "distance": 3, "recall": 0.95, "offset": -1}

PAPER = Delays(memory=17e-9, compare=1.5e-9, permute=10e-9, flip=8.5e-9, sort=2e-9)
STORED = 60e6
DEPTH = math.log2(STORED)


def four_tables(count, delays=PAPER):
    return bphs(count, blocks=4, leading=1, delays=delays)


def ten_tables(count, delays=PAPER):
    return bphs(count, blocks=5, leading=2, delays=delays)


def test_rates_of_the_paper_follow_from_one_set_of_delays():
    found = psm(STORED, header_bits=DEPTH, attempts=23, delays=PAPER)

    assert 1 / found.seconds == pytest.approx(765e3, rel=0.05)
    assert 1 / four_tables(STORED).seconds == pytest.approx(152e3, rel=0.05)
    assert 1 / ten_tables(STORED).seconds == pytest.approx(225e3, rel=0.05)
    assert four_tables(STORED).seconds / found.seconds == pytest.approx(5.0, rel=0.05)
    assert ten_tables(STORED).seconds / found.seconds == pytest.approx(3.4, rel=0.05)


def test_attempts_are_at_most_all_flip_sets():
    assert attempts_max(64, 1) == 64
    assert attempts_max(64, 2) - attempts_max(64, 1) == 2016
    assert attempts_max(64, 3) - attempts_max(64, 2) == 41664
    assert attempts_max(26, 3) == 26 + 325 + 2600


def test_for_eight_billion_documents_ten_tables_are_best_of_those_that_equation_15_allows():
    leading, cost = best_bphs(8e9, distance=3, delays=PAPER, tables_max=20)

    assert math.floor(leading_max(8e9, 3)) == 3  # 20 tables with headers of 32 of 32.9 bits
    assert (leading, cost.tables) == (2, 10)
    assert cost.size_bytes == 640e9
    assert best_bphs(8e9, distance=3, delays=PAPER, tables_max=9)[1].tables == 4


def test_a_table_has_each_way_for_a_number_of_documents():
    own, fastest, in_memory, bphs_batched, psm_batched = cost_model.table(8e9, **USUAL)

    assert own.cost == bphs(8e9, blocks=4, leading=1, delays=USUAL_DELAYS)
    assert fastest.cost.seconds < own.cost.seconds
    assert in_memory.setting.startswith("t=31, k=")
    assert in_memory.cost.size_bytes < fastest.cost.size_bytes / 3
    assert bphs_batched.setting == "blocks=4, leading=1, m=1e+07"
    assert bphs_batched.cost.size_bytes == pytest.approx(4 * 1e7 * 8)
    assert psm_batched.cost.size_bytes == pytest.approx(2 * 1e7 * 8)
    assert psm_batched.cost.seconds > in_memory.cost.seconds


@over(("header_bits", "theirs"), [(16, 6), (26, 23)])
def test_the_model_of_psm_tries_about_as_many_flip_sets_as_the_paper(header_bits, theirs):
    assert theirs / 2.5 <= cost_model.attempts(3, 0.95, header_bits) <= theirs * 2.5


def test_the_model_of_psm_tries_every_flip_set_for_a_recall_of_1():
    assert cost_model.attempts(2, 1.0, 20) == 210


def test_costs_of_a_known_form_are_found_again_beyond_the_sizes_measured():
    counts, beyond = [1e6, 1e7, 1e8], 4e9
    depths = [math.log2(count) for count in [*counts, beyond]]
    look_ups = [depth**2 / 40 for depth in depths]
    by_psm = [0.3 + k * (0.01 + 0.002 * depth) for k, depth in zip(look_ups, depths, strict=True)]
    by_scan = [0.2 + 0.01 * math.log2(count) + 6e-8 * count for count in [*counts, beyond]]

    found = cost_model.predicted(beyond, counts, by_psm[:-1], look_ups[:-1])
    scanned = cost_model.predicted(beyond, counts, by_scan[:-1])

    assert found == pytest.approx(by_psm[-1], rel=0.02)
    assert scanned == pytest.approx(by_scan[-1], rel=0.02)


def test_more_documents_than_a_database_holds_are_asked_in_several(tmp_path):
    rows = [
        {"documents": count, "noise": 0.1, "state": "compacted", "table": "bphs4", "unit": unit,
         "figure": figure, **more}
        for count in (10**6, 10**7, 10**8)
        for unit, figure, more in (
            ("bytes", 50.0, {}),
            ("us", 1.0 + count / 1e6, {"way": "all", "batch": 256, "look_ups": 4}),
        )
    ]  # fmt: skip
    (tmp_path / "large.json").write_text(json.dumps({"rows": rows}))

    (line,) = cost_model.extrapolated(8e9, [tmp_path / "large.json"])

    spent = float(line.split(" us ")[0].split()[-1].replace(",", ""))
    assert spent == pytest.approx(8002, rel=0.01)
    assert "2 databases" in line
    assert " 400 GB" in line
