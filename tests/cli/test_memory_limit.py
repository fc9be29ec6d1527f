"""A limit of memory is shared between blocks and columns, and says what is wrong with it."""

import pytest
from over import over

import simdb
from simdb.core import memory


@over("threads", [1, 2, 16, 256])
@over("limit", [1 << 26, 10**8, 1 << 33])
def test_blocks_and_columns_fit_into_the_limit(limit, threads):
    columns = memory.COLUMNS * memory.column_bytes(limit)
    blocks = memory.BLOCKS * threads * memory.block_bytes(limit, threads)

    assert columns <= limit / 2
    assert blocks <= limit / 2 or memory.block_bytes(limit, threads) == memory.BLOCK_LEAST


def test_without_a_limit_sizes_are_the_usual_ones():
    assert memory.column_bytes(None) == memory.COLUMN_BYTES
    assert memory.block_bytes(None, 64) == memory.BLOCK_BYTES


@over("limit", [0, -1, 1 << 20, 1.5, "1G", True])
def test_what_is_no_limit_is_refused(limit):
    with pytest.raises(simdb.OptionError, match="memory must be 67108864 bytes"):
        simdb.deduplicate(["a text"], threads=simdb.Budget(memory=limit))


# Whether a database fits is tried with three columns, which are gone when the run begins.
@pytest.mark.parametrize(("arguments", "tried"), [([], 0), (["--db", "db"], 3)])
def test_all_columns_of_a_run_are_limited(monkeypatch, simdb_run, write_lines, arguments, tried):
    write_lines("a.jsonl", *({"id": f"{at}", "text": f"a text {at % 3}"} for at in range(9)))
    asked, limited = [], memory.column_bytes

    def column_bytes(limit):
        if limit != 0:  # some columns are in files alone
            asked.append(limit)
        return limited(limit)

    monkeypatch.setattr(memory, "column_bytes", column_bytes)
    ran = simdb_run("dedup", "a.jsonl", "-o", "-", "--memory", "64M", *arguments)

    assert ran.code == 0
    assert set(asked) == {1 << 26}
    assert len(asked) - tried <= memory.COLUMNS
