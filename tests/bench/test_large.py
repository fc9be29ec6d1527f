"""The planted neighbours of tools/bench/large.py, and the tables that it prints."""

import numpy as np


def test_planted_neighbours_are_those_that_comparing_all_finds(tool, monkeypatch):
    large = tool("large")
    monkeypatch.setattr(large, "BLOCK", 700)
    planted = large.Planted(2_000, 0.1, 120, seed=3)

    stored = np.concatenate([bits for _, bits in planted.blocks()])

    queries = planted.queries().bits
    distances = np.bitwise_count(queries[:, None] ^ stored)
    rows, ids = np.nonzero(distances <= large.DISTANCE)
    assert sorted(planted.truth.tolist()) == sorted((rows << 40 | ids).tolist())
    assert len(queries) == 120
    assert set((planted.truth >> 40).tolist()) <= set(range(0, 120, 2))
    assert len(planted.truth) > 60


def test_a_record_becomes_rows_with_the_time_of_exact_search_in_units_of_psm(
    tool, tmp_path, monkeypatch
):
    large = tool("large")
    options = "large --documents 2k --noise .1 --tables psm bphs4 --batches 16 --queries 100"
    places = f" --repeats 1 --core -1 --out {tmp_path} --directory {tmp_path}"
    monkeypatch.setattr("sys.argv", (options + places).split())
    large.main()

    _, searches, files = large.tables(tmp_path / "large.json")

    head, _, *rows = [line.strip("| ").split(" | ") for line in searches.splitlines()]
    column = {name: at for at, name in enumerate(head)}
    assert [row[0] for row in rows] == [
        f"2,000, 0.1, {state}, psm, 16" for state in ("inserted", "compacted")
    ]
    for row in rows:
        ours, theirs, ratios = (
            [float(each) for each in row[column[name]].split(" / ")]
            for name in ("psm, us, all / first", "4 tables, us", "4 tables : psm")
        )
        for our, their, ratio in zip(ours, theirs, ratios, strict=True):
            assert abs(their / our - ratio) < 0.02 * ratio + 0.02 / our * ratio
        assert row[column["10 tables, us"]] == ""
    assert len(files.splitlines()) == 6
