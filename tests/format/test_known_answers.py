"""The known answers of docs/FORMAT.md are those of this implementation."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import xxhash

import simdb
from simdb.core import kernel

PAGE = Path(__file__).parents[2] / "docs" / "FORMAT.md"
(BLOCK,) = re.findall(r"^```json\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
ANSWERS = json.loads(BLOCK)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda each: each["fingerprint"])
def test_texts_become_what_the_format_says(answer):
    made = simdb.fingerprints([answer["text"]])
    bits, vectors = kernel.quantise(made.weights)
    minima = simdb.signatures([answer["text"]]).minima[0].astype("<u4")

    assert f"{made.bits[0]:016x}" == f"{bits[0]:016x}" == answer["fingerprint"]
    assert vectors[0].tobytes().hex() == answer["vector"]
    assert minima[:4].tolist() == answer["minima"]
    assert xxhash.xxh3_64_hexdigest(minima.tobytes()) == answer["signature"]


def test_stored_vectors_are_these_bytes(tmp_path):
    texts = [answer["text"] for answer in ANSWERS if answer["text"]]
    with simdb.open(tmp_path / "db") as database:
        database.insert_many(range(len(texts)), texts)
        found = [database.get(at).fingerprint for at in range(len(texts))]

    vectors = [kernel.quantise(np.array([each.weights], np.float32))[1][0] for each in found]
    wanted = [answer["vector"] for answer in ANSWERS if answer["text"]]
    assert [each.tobytes().hex() for each in vectors] == wanted
