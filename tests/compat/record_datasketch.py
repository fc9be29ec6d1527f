"""Records results of the real datasketch for the tests: `python tests/compat/record_datasketch.py`.

Run it with datasketch installed, once with 2.0.0, which writes values.json and pickles, and once
with 1.6.5, which writes pickles without a scheme.  The tests themselves need no datasketch.
"""

import json
import pickle
import random
from pathlib import Path

import datasketch
from datasketch import lsh

TARGET = Path(__file__).parent / "datasketch"
COUNT = 32
SCHEMES = ("affine32", "affine64", "legacy")
SHAPES = [
    (threshold / 20, count, weights)
    for threshold in range(2, 20)
    for count in (16, 100, 128)
    for weights in ((0.5, 0.5), (0.1, 0.9))
]


def sets() -> list[list[str]]:
    chosen = random.Random(5)
    return [chosen.choices([f"w{n}" for n in range(12)], k=size) for size in range(12)]


def encoded(words: list[str]) -> list[bytes]:
    return [word.encode() for word in words]


def minhashes(count: int = COUNT, seed: int = 1, **scheme: str) -> list[datasketch.MinHash]:
    made = [datasketch.MinHash(count, seed, **scheme) for _ in sets()]
    for each, words in zip(made, sets(), strict=True):
        each.update_batch(encoded(words))
    return made


def index(made: list[datasketch.MinHash]) -> datasketch.MinHashLSH:
    found = datasketch.MinHashLSH(threshold=0.5, num_perm=COUNT)
    for number, each in enumerate(made):
        found.insert(f"d{number}", each)
    return found


def values() -> dict[str, object]:
    hashes = []
    for scheme in SCHEMES:
        for count, seed in ((128, 1), (20, 7)):
            made = minhashes(count, seed, scheme=scheme)
            hashes.append(
                {
                    "scheme": scheme,
                    "num_perm": count,
                    "seed": seed,
                    "hashvalues": [each.hashvalues.tolist() for each in made],
                    "counts": [each.count() for each in made[1:]],
                    "jaccards": [made[5].jaccard(each) for each in made],
                }
            )
    bands = [[*shape, *lsh._optimal_param(*shape[:2], *shape[2])] for shape in SHAPES]
    made = minhashes()
    return {
        "sets": sets(),
        "hashes": hashes,
        "bands": bands,
        "candidates": [sorted(index(made).query(each)) for each in made],
        "buckets": sorted(bucket.hex() for bucket in index(made).get_counts()[0]),
    }


def write(name: str, value: object, protocol: int = 4) -> None:
    path = TARGET / f"{name}-{datasketch.__version__}.pickle"
    path.write_bytes(pickle.dumps(value, protocol))


if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    few = minhashes()[:3]
    write("index", index(minhashes()))
    write("list", few)
    for protocol in (0, 2, 5):
        write(f"dict-protocol{protocol}", {f"d{at}": each for at, each in enumerate(few)}, protocol)
    write("lean", [(f"d{at}", datasketch.LeanMinHash(each)) for at, each in enumerate(few)], 5)
    if datasketch.__version__ == "2.0.0":
        write("affine64", minhashes(scheme="affine64")[:2])
        (TARGET / "values.json").write_text(json.dumps(values()) + "\n", encoding="ascii")
