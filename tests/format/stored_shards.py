"""A stored sharded database, and the answers it must always give.

    python tests/format/stored_shards.py

Run this once for each version of `shards.json`.  It writes `tests/format/sharded-v<version>/`:
`shards.json`, the data file of each shard, and `answers.json`.  It never overwrites a file.
"""

import json
import shutil
import tempfile
from pathlib import Path

import simdb
from simdb.storage.shards_file import VERSION

HERE = Path(__file__).parent
SHARDS = 2
OPTIONS = simdb.Options(
    sketch=simdb.Simhash(shingle=2, dimensions=64, seed=7, normalisation="none", clean=False),
    blocks=4,
    leading=1,
    polytopes=1,
)
TEXTS = [
    "The quick brown fox jumps over the lazy dog",
    "The quick brown fox jumped over the lazy dog",
    "The quick brown fox jumps over the lazy dog",
    "Ein \u00c4pfelchen f\u00e4llt nicht weit vom Stamm",
    "one",
    "",
]
IDS = ["first", b"second", 3, -4, 2**64 - 1, "\u00e4"]


def fill(path):
    """Write the sharded database; version 2 is of shards by fingerprints."""
    metadata = [{"at": at} for at in range(len(IDS))]
    simdb.write_sharded(
        path, [(IDS, TEXTS, metadata)], SHARDS, shard_by="fingerprint", options=OPTIONS
    )


def answers(database):
    """Return plain answers of all kinds, and which document is in which shard."""
    return {
        "ids": [str(id) for id in database],
        "shards": simdb.shard_of(IDS, 1000).tolist(),
        "found": [
            [(str(match.id), match.distance) for match in database.query(text, distance=20)]
            for text in TEXTS
        ],
        "bits": [str(each.fingerprint.bits) for each in database.get_many(IDS)],
        "metadata": [each.metadata for each in database.get_many(IDS)],
    }


def main():
    """Write the files."""
    target = HERE / f"sharded-v{VERSION}"
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "db"
        fill(made)
        with simdb.open_sharded(made) as database:
            found = answers(database)
        target.mkdir()
        shutil.copyfile(made / "shards.json", target / "shards.json")
        for number in range(SHARDS):
            name = f"shard-{number:05d}"
            (target / name).mkdir()
            shutil.copyfile(made / name / "data.mdb", target / name / "data.mdb")
    (target / "answers.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
