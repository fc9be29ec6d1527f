"""-o FOLDER/ with files of records: one file of survivors for each source."""

import json
import os
from pathlib import Path

import pytest
from over import over

WORDS = [f"w{number}" for number in range(200)]
TEXTS = [" ".join(WORDS[start : start + 40]) for start in range(0, 160, 40)]


def lines(*numbers, prefix):
    """Returns JSON lines, as no other program writes them, with the texts of these numbers."""
    return b"".join(
        b' {"id":  "%s%d", "n": %d, "text": "%s"} \n' % (prefix, at, at, TEXTS[number].encode())
        for at, number in enumerate(numbers)
    )


@pytest.fixture
def shards(simdb_run):
    """Two shards, the second with one document that the first does not have, and two new ones."""
    os.mkdir("in")
    Path("in/part-0.jsonl").write_bytes(lines(0, 1, 0, prefix=b"a"))
    Path("in/part-1.jsonl").write_bytes(lines(1, 2, 3, 3, prefix=b"b"))
    return simdb_run


@over("source", ["in", "in/**/*.jsonl"])
def test_files_of_several_folders_keep_their_paths_below_the_one_that_they_share(shards, source):
    """The name of a folder can be a value, such as that of a day, and all files have one name."""
    for day in (1, 2):
        os.makedirs(f"in/day={day}", exist_ok=True)
        Path(f"in/day={day}/data.jsonl").write_bytes(lines(day, day + 1, prefix=b"%d" % day))

    first = shards("dedup", source, "-o", "out/")
    again = shards("dedup", source, "-o", "out/")

    assert (first.code, again.code) == (0, 0), first.notes + again.notes
    found = sorted(str(path) for path in Path("out").rglob("*.jsonl"))
    names = ["day=1/data.jsonl", "day=2/data.jsonl", "part-0.jsonl", "part-1.jsonl"]
    assert found == [f"out/{name}" for name in names]
    kept = b"".join(Path(name).read_bytes() for name in found)
    assert sorted(json.loads(line)["text"] for line in kept.splitlines()) == sorted(TEXTS)


@over("kind", ["file", "stream"])
def test_a_stream_of_arrow_stays_one(simdb_run, kind):
    """What saved a data set as streams reads nothing else."""
    ipc = pytest.importorskip("pyarrow.ipc")
    table = pytest.importorskip("pyarrow").table({"id": ["a", "b"], "text": TEXTS[:2]})
    with getattr(ipc, f"new_{kind}")("a.arrow", table.schema) as writer:
        writer.write_table(table)

    ran = simdb_run("dedup", "a.arrow", "-o", "out/")

    assert ran.code == 0, ran.notes
    with getattr(ipc, f"open_{kind}")("out/a.arrow") as found:
        assert found.read_all().equals(table)
