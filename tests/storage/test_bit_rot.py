"""A flipped bit in the data file is found, or changes no answer."""

import os
import random
import subprocess
import sys

import pytest

import simdb

ASK = """
import sys
import simdb
try:
    with simdb.open(sys.argv[1], "r") as database:
        if list(database.check(deep=True)):
            print("found")
            sys.exit()
        answer = [
            [(match.id, match.distance) for match in row]
            for row in database.query_many(range(0, 3000, 50), distance=3)
        ]
        ids = list(database)
        data = [database.get(id).metadata for id in ids[:500]]
        print(hash((str(answer), str(ids), str(data))))
except simdb.Error:
    print("found")
"""


def ask(path):
    command = [sys.executable, "-W", "ignore", "-c", ASK, str(path)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=60
    )
    return ended.stdout.strip() if ended.returncode == 0 else f"died with {ended.returncode}"


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """The data file of a small database of every kind of values, and the answers it gives."""
    path = tmp_path_factory.mktemp("rot") / "db"
    options = simdb.Options(delta_documents=100, growth=2, blocks=3)
    with simdb.open(path, options=options) as database:
        database.insert_many(range(2000), [number * 3 for number in range(2000)], ["m"] * 2000)
        database.insert_many(range(2000, 2200), [f"some text {at}" for at in range(200)])
        database.delete_many(range(0, 500, 3))
        database.insert_many(range(3000, 3050), range(50))
    return (path / "data.mdb").read_bytes(), ask(path)


def flip(path, content, bit):
    path.mkdir()
    flipped = bytearray(content)
    flipped[bit // 8] ^= 1 << bit % 8
    (path / "data.mdb").write_bytes(flipped)


def outcomes(content, answer, path, bits):
    for number, bit in enumerate(bits):
        flip(path / str(number), content, bit)
        yield bit, ask(path / str(number)), answer


@pytest.mark.slow
def test_many_flipped_bits_are_found_or_harmless(content, tmp_path):
    content, answer = content
    bits = random.Random(2).sample(range(8 * len(content)), 100)

    results = list(outcomes(content, answer, tmp_path, bits))

    assert [(bit, found) for bit, found, _ in results if found not in ("found", answer)] == []
