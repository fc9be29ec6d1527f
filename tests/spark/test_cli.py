"""The command `simdb spark dedup`, from files to files."""

import json

import pytest
from click.testing import CliRunner

import simdb
from simdb.cli.app import app
from simdb.spark import frames

BODY = "this is page {0} of {0} and nothing else {0}"
ROWS = [{"url": f"u{at}", "body": BODY.format(at % 4), "n": -at} for at in range(10)]


def run(*arguments):
    return CliRunner().invoke(app, ["spark", "dedup", *map(str, arguments)])


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def lines_of(folder):
    parts = folder.glob("part-*.json")
    return [json.loads(line) for part in parts for line in part.read_text().splitlines()]


def test_survivors_and_removed_rows_are_written(spark, tmp_path, source):
    kept, removed = tmp_path / "kept.parquet", tmp_path / "removed.jsonl"

    ran = run(
        source, kept, "--removed", removed, "--id-field", "url", "--text-field", "body",
        "--distance", 0, "--keep", "min:n", "--partitions", 2,
    )  # fmt: skip

    assert (ran.exit_code, ran.stdout) == (0, "")
    assert "6 rows removed, of 4 groups; the others are in" in ran.stderr
    rows = [row.asDict() for row in spark.read.parquet(str(kept)).collect()]
    assert sorted(rows, key=lambda row: row["url"]) == ROWS[6:]
    removed = {row["id"]: (row["kept"], row["similarity"]) for row in lines_of(removed)}
    assert removed == {f"u{at}": (f"u{at + (9 - at) // 4 * 4}", 1.0) for at in range(6)}
    # The session was there before, and goes on.
    assert spark.range(3).count() == 3


@pytest.mark.parametrize(
    "places",
    [["in", "in"], ["in", "in/out"], ["in", "out", "--removed", "./out"],
     ["in", "out", "--removed", "out/removed"]],
)  # fmt: skip
def test_outputs_are_apart_from_each_other_and_from_the_input(places):
    ran = CliRunner().invoke(app, ["spark", "dedup", *places])

    assert ran.exit_code == 2
    assert "name separate places" in ran.output


def test_what_cannot_be_done_is_one_line(spark, tmp_path, source):
    (tmp_path / "there").mkdir()
    columns = ["--id-field", "url", "--text-field", "body"]
    for arguments, message, code in [
        ([source, tmp_path / "there"], "there exists; remove it", 3),
        ([source, tmp_path / "x", "--text-field", "body"], "the data has no column 'id'", 2),
        ([tmp_path / "nothing", tmp_path / "x"], "nothing", 2),
        ([source, tmp_path / "x", *columns, "--max-share", 0.1, "--partitions", 1], "6 of 10", 2),
    ]:
        ran = run(*arguments)
        assert (ran.exit_code, ran.stderr.count("\n")) == (code, 1), ran.stderr
        assert ran.stderr.startswith("simdb: ")
        assert message in ran.stderr
    ran = run(source, tmp_path / "x", *columns, "--policy", "stars")
    assert ran.exit_code == 2
    assert "Error: Invalid value for '--policy': 'stars' is not one of" in ran.stderr
    assert not (tmp_path / "x").exists()


def test_an_error_of_a_task_is_reported_by_its_own_sentence(spark):
    def refused(batches):
        raise simdb.InputError("text 7 of this part is refused")

    with pytest.raises(simdb.InputError) as refusal, frames.session(None, {}) as session:
        session.range(1).mapInArrow(refused, "id long").collect()

    assert str(refusal.value) == "text 7 of this part is refused"
