"""Every program of tools/bench runs at a tiny size, so that none is out of date unnoticed."""

import gzip
import json
from random import Random

import pytest

pytestmark = pytest.mark.slow

SIZES = {
    "speed": [
        "-n 200 300 --of fingerprints --ask single stream open array --queries 20 --single 5",
        "-n 300 --of weights --ask pairs cold --method bphs psm --queries 20 --single 2 --one",
        "-n 300 --of signatures families drawn --ask single batch nearest --queries 20 --single 5"
        " --threads 1 2 --compacted",
        "-n 9000 --batch 5000 --of drawn --ask claim copies --queries 20 --threads 1 2",
        "-n 300 --of texts --sketch minhash --ask batch --queries 20 --corpora CORPORA",
    ],
    "job": ["-n 200 --ask groups kept start --peers --cores 1 2 --corpora CORPORA"],
    "sketching": ["--megabytes .05 --only words --texts CORPORA/a.jsonl.gz"],
    "recall": [
        "--folder CORPORA --queries 30 --similarities .8 --recalls .95 --only a --other b",
        "--by distance --documents 200 --queries 30 --recalls .95",
    ],
    "quality": [f"CORPORA --method {each}" for each in ("dimensions", "minhash --error-seeds 2")],
    "matches": ["-n 40 --only equal mixture exact minhash numbers runs sizes"],
    "contained": ["-n 60"],
    "leaks": ["-n 14 --unrelated 10"],
}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Make two corpora with a table of truth: every tenth text is the one before it, changed."""
    folder, chance = tmp_path_factory.mktemp("corpora"), Random(1)
    for name in ("a", "b"):
        rows = [[f"word{chance.randrange(3000)}" for _ in range(200)] for _ in range(300)]
        for at in range(1, 300, 10):
            rows[at] = [*rows[at - 1][:180], *rows[at][180:]]
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as file:
            for at, words in enumerate(rows):
                file.write(json.dumps({"id": str(at), "text": ". ".join(words)}) + "\n")
        with gzip.open(folder / f"{name}.truth.tsv.gz", "wt") as file:
            file.writelines(f"{at - 1}\t{at}\t.82\t.9\t.9\n" for at in range(1, 300, 10))
    return folder


@pytest.mark.parametrize("name", SIZES)
def test_a_program_runs_at_a_tiny_size(name, tool, corpora, tmp_path, monkeypatch):
    program = tool(name)
    for given in SIZES[name]:
        options = f"{given} --core -1 --repeats 1 --out {tmp_path} --directory {tmp_path}"
        monkeypatch.setattr("sys.argv", [name, *options.replace("CORPORA", str(corpora)).split()])

        program.main()

    assert json.loads((tmp_path / f"{name}.json").read_text())["rows"]


def test_records_are_drawn_with_the_name_of_each_method(tool, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    row = {"task": "one query", "kind": "signatures", "each_processor": 1e-5}
    rows = [
        row | {"method": method, "count": count, "each_seconds": count / 1e9}
        for method in ("banding", "auto") for count in (1_000, 100_000)
    ]  # fmt: skip
    spent = {"seconds": 2.0, "processor": 1.0, "longest": 0.2, "longest_processor": 0.1}
    million = spent | {"documents": 1_000, "stored": 1_000, "anonymous_bytes": 10**6}
    grown = [{"label": "1k weights", "millions": [million, million | {"stored": 2_000}]}]
    for name, each in (("speed", rows), ("grown", grown)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"rows": each}))
    files = [f"{tmp_path}/speed.json", f"{tmp_path}/drawn", "--growth", f"{tmp_path}/grown.json"]
    monkeypatch.setattr("sys.argv", ["draw", *files])

    tool("draw").main()

    drawn = {path.name: path.read_text() for path in (tmp_path / "drawn").iterdir()}
    assert "banding" in drawn["growth-one-query.svg"]
    assert "signatures, auto" in drawn["growth-one-query.svg"]
    assert "1k weights" in drawn["insertion-rate.svg"]
    assert len(drawn) == 4
