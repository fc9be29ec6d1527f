"""Every program of tools/bench runs at a tiny size, so that none is out of date unnoticed."""

import gzip
import json
from random import Random

import pytest

SIZES = {
    "speed": [
        "-n 200 300 --of fingerprints --ask single stream array --queries 20 --single 5",
        "-n 300 --of weights --ask pairs --method bphs psm --queries 20 --single 2 --one",
        "-n 300 --of signatures drawn --ask single batch nearest --queries 20 --single 5"
        " --threads 1 2 --compacted",
        "-n 900 --batch 500 --of drawn --ask claim --queries 20 --threads 1 2",
        "-n 300 --of texts --sketch minhash --ask batch --queries 20 --corpora CORPORA",
    ],
    "job": ["-n 200 --ask groups kept frame start --peers --cores 1 2 --corpora CORPORA"],
    "sketching": ["--megabytes .05 --only words --texts CORPORA/a.jsonl.gz"],
    "recall": [
        "--folder CORPORA --documents 300 --queries 30 --similarities .8 --recalls .95"
        " --only a synthetic templates",
        "--by distance --documents 200 --queries 30 --recalls .95",
    ],
    "quality": [f"CORPORA --method {each}" for each in ("dimensions", "minhash")],
    "order": ["CORPORA --hashes 12 --halves 1 --pairs 30 --least 3"],
    "matches": ["-n 40"],
    "tenants": ["-n 300 --tenants 3 100 --queries 20"],
    "leaks": [
        "--count 1 --background 9 --prose CORPORA --posts CORPORA --languages CORPORA --texts"
        " CORPORA --megabytes .1 --items 30 --words 400"
    ],
    "blocks": ["-n 300 5k --sizes 64 1024 --queries 50 --flags="],
    "hashes": [
        "--documents 2k --kind constant --queries 300 --batches 16 --peers",
        "--documents 500 --bits 128 --exact 500",
    ],
    "edits": ["--images 3"],
    "sql": ["-n 60 --sqlite 20"],
    "large": ["--documents 3k --noise .12 --tables psm psm-2 bphs4 --batches 16 --queries 200"],
}
# Many processes or many databases; `.ci/run` leaves them to `make test-all`.
DEAR = ("speed", "job", "recall", "matches", "hashes")


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


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in DEAR)) for name in SIZES]
)
def test_a_program_runs_at_a_tiny_size(name, tool, corpora, tmp_path, monkeypatch):
    if name == "edits":
        pytest.importorskip("PIL", reason="needs pip install pillow imagehash")
    program = tool(name)
    for given in SIZES[name]:
        options = f"{given} --core -1 --repeats 1 --out {tmp_path} --directory {tmp_path}"
        monkeypatch.setattr("sys.argv", [name, *options.replace("CORPORA", str(corpora)).split()])

        program.main()

    assert json.loads((tmp_path / f"{name}.json").read_text())["rows"]
