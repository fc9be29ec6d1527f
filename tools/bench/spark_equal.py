"""Do jobs of simdb.spark find what one database finds, and what share of similar pairs?

Within a distance and by MinHash, the pairs must be equal.  By similarity, pairs are compared with
all pairs of which one database finds at least the share `--recall`.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from record import Record, number, options
from simdb import spark as ss
from spark import Collection, session_of
from texts import load_texts

I64 = npt.NDArray[np.int64]
MINHASH = simdb.Minhash(stored_bits=8)


def of_spark(frame: Any, count: int) -> I64:
    found = frame.select("left", "right").toArrow()
    left, right = (found.column(name).to_numpy() for name in ("left", "right"))
    return np.unique(np.minimum(left, right) * count + np.maximum(left, right))


def of_database(texts: list[str], sketch: Any, folder: str, **criterion: Any) -> I64:
    with simdb.open(folder, options=simdb.Options(sketch=sketch)) as database:
        database.insert_many([str(at) for at in range(len(texts))], texts)
        pairs = [(int(pair[0]), int(pair[1])) for pair in database.find_all(**criterion)]
    found = np.array(pairs, np.int64).reshape(-1, 2)
    return np.unique(found.min(axis=1) * len(texts) + found.max(axis=1))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("texts", type=Path, help="PREFIX.jsonl of texts.py")
    parser.add_argument("-n", type=number, default=200_000, help="number of texts")
    parser.add_argument("--recall", type=float, default=0.9999, help="of the database")
    parser.add_argument("--master", default="local[2]")
    parser.set_defaults(core=-1, conf=[])
    arguments = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    record = Record(__doc__, arguments)
    count = arguments.n
    with tempfile.TemporaryDirectory(dir=arguments.directory) as name:
        folder = Path(name).resolve()
        (folder / "events").mkdir()
        session = session_of(arguments, folder, folder / "events")
        documents = Collection(session, folder, count, None)
        documents.write_texts(arguments.texts)
        texts = list(load_texts(str(arguments.texts).removesuffix(".jsonl"), 0, count))
        given = session.read.parquet(documents.texts)
        sketches, signatures = ss.fingerprints(given).persist(), ss.signatures(given, MINHASH)
        jobs: dict[str, tuple[Any, dict[str, Any], Any, dict[str, Any]]] = {
            "distance 3": (sketches, {"distance": 3}, simdb.Simhash(), {"distance": 3}),
            "MinHash .8": (signatures, {"similarity": 0.8}, MINHASH, {"similarity": 0.8}),
            "similarity .9, recall .98": (
                sketches, {"similarity": 0.9, "recall": 0.98},
                simdb.Simhash(), {"similarity": 0.9, "recall": arguments.recall},
            ),
        }  # fmt: skip
        for job, (frame, asked, sketch, single) in jobs.items():
            found = of_spark(ss.pairs(frame, **asked), count)
            every = of_database(texts, sketch, str(folder / job.replace(" ", "-")), **single)
            shared = len(np.intersect1d(found, every, assume_unique=True))
            note = f"Spark {len(found)} pairs, database {len(every)}, both {shared}"
            record.add(f"{job}, {count} texts", shared / len(every), "of the database's", note=note)
        session.stop()
    record.finish()


if __name__ == "__main__":
    main()
