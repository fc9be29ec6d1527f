"""Stored databases of the current format version, and the answers they must always give.

    python tests/format/stored.py

Run this once for each format version, when the version is settled, and for each option that adds to
the stored values.  It writes `tests/format/v<version>/` and `v<version>-<option>/`: `data.mdb` with
documents of every kind in two runs and a delta, and `answers.json`.  It never overwrites a file.
"""

import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

import simdb
from simdb.database.state import staged
from simdb.storage.codec import FORMAT_VERSION

HERE = Path(__file__).parent
OPTIONS = simdb.Options(
    sketch=simdb.Simhash(
        shingle=2, dimensions=64, seed=7, normalisation="nfkc", clean=False, by_character="cjk"
    ),
    blocks=5,
    leading=2,
    delta_documents=16,
    growth=2,
)
STORED = {
    f"v{FORMAT_VERSION}": OPTIONS,
    f"v{FORMAT_VERSION}-clusters": replace(OPTIONS, keep_clusters="distance"),
    f"v{FORMAT_VERSION}-polytopes": replace(
        OPTIONS, sketch=replace(OPTIONS.sketch, dimensions=128), polytopes=3
    ),
    f"v{FORMAT_VERSION}-wide": replace(
        OPTIONS, sketch=replace(OPTIONS.sketch, dimensions=256), polytopes=3
    ),
    f"v{FORMAT_VERSION}-spaceless": replace(
        OPTIONS, sketch=replace(OPTIONS.sketch, by_character="spaceless")
    ),
    f"v{FORMAT_VERSION}-cleaned": replace(
        OPTIONS, sketch=replace(OPTIONS.sketch, clean=True, edition=1, normalisation="lenient")
    ),
    f"v{FORMAT_VERSION}-edition": replace(
        OPTIONS, sketch=replace(OPTIONS.sketch, clean=True, edition=2)
    ),
    f"v{FORMAT_VERSION}-lenient": replace(
        OPTIONS, sketch=replace(OPTIONS.sketch, clean=True, edition=2, normalisation="lenient")
    ),
    f"v{FORMAT_VERSION}-keyed": OPTIONS,  # ids are hashed under a key
    f"v{FORMAT_VERSION}-tags": replace(OPTIONS, blocks=1, leading=1),  # a header table
    f"v{FORMAT_VERSION}-ints": replace(OPTIONS, blocks=4),  # all ids are ints
    f"v{FORMAT_VERSION}-times": replace(OPTIONS, keep_times="seen"),
    f"v{FORMAT_VERSION}-passages": replace(OPTIONS, passages=True),
    f"v{FORMAT_VERSION}-features": replace(OPTIONS, features=True),
    f"v{FORMAT_VERSION}-texts": replace(OPTIONS, texts=True),
    f"v{FORMAT_VERSION}-fields": replace(OPTIONS, fields=("m", "n")),
    f"v{FORMAT_VERSION}-minhash": simdb.Options(
        sketch=simdb.Minhash(
            shingle=2,
            permutations=32,
            stored_bits=8,
            seed=7,
            family="multiply-shift",
            normalisation="nfkc",
            clean=False,
            by_character="cjk",
        ),
        similarity=0.7,
        bands=5,
        rows=4,
        delta_documents=16,
        growth=2,
        keep_clusters="similarity",
    ),
}
TEXTS = [
    "The quick brown fox jumps over the lazy dog",
    "The quick brown fox jumped over the lazy dog",
    "Ein \u00c4pfelchen f\u00e4llt nicht weit vom Stamm",
    "\u5e8a\u524d\u660e\u6708\u5149\uff0c\u7591\u662f\u5730\u4e0a\u971c",
    "\ufb01ne words of \uff21 width",
    "one",
    "",
]
SPACELESS = [
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22 \u0e01\u0e34\u0e19\u0e02\u0e49\u0e32\u0e27",
    "\u1001\u101b\u102e\u1038\u0f0b\u0f66\u0f92\u0fb1\u0f74 simdb \u17a2\u17d2\u1793\u1780",
]
STRAYS = [
    "the qu\0ick br\ufffcown fox", "th\u0435 qu\u0456ck &amp; brown fox", "\u0663\u06a9\u06cc"
]  # fmt: skip


def fill(path, options=OPTIONS):
    """Make a database with runs, a delta, tombstones, metadata and ids of every type."""
    if options.is_minhash:
        fill_signatures(path, options)
        return
    if options.passages or options.features or options.texts:
        fill_passages(path, options)
        return
    if options.blocks == 4:
        fill_ints(path, options)
        return
    with (
        patch.object(staged, "time", lambda: 10**9),
        simdb.open(path, "x", options=options) as database,
    ):
        bits = np.arange(120, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        database.insert_many(range(120), bits)
        database.insert_many(
            [f"text{at}" for at in range(7)], TEXTS, [{"n": at} for at in range(7)]
        )
        database.insert_many([-1, 2**63, 2**64 - 1, -(2**63), b"\0\xff", "\u00e9"], bits[:6])
        database.insert_many(["t" * 600, b"u" * 20], [int(bits[7]) ^ 3, TEXTS[0].split()])
        database.insert_many([f"near{at}" for at in range(20)], bits[:20] ^ np.uint64(0b101 << 40))
        database.delete_many([3, 5, "text5", "near19"])
        database.insert("late", TEXTS[0], "metadata")
        if is_spaceless(options):
            database.insert_many(["thai", "mixed"], SPACELESS)
        if options.sketch.clean:
            database.insert_many(["stray", "alike", "digits"], STRAYS)
        database.insert(10, 0, [1, 2.5, None, b"\0"], on_conflict="replace")
        if options.keeps_times:
            claim_and_change(database)


def fill_ints(path, options):
    """Make a database whose ids are ints: a row without some, others, and another row."""
    bits = np.arange(400, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    with simdb.open(path, "x", options=options) as database:
        database.insert_many(range(120), bits[:120])
        database.delete_many([3, 5])
        database.insert_many(range(120, 200), bits[120:200])
        database.insert_many([-1, 2**63, 2**64 - 1, -(2**63), *range(900, 860, -2)], bits[200:224])
        database.insert_many(range(300, 309), bits[:9] ^ np.uint64(0b101 << 40))
        database.insert(5, 0, "metadata")


def claim_and_change(database):
    """Renew the times of some documents two days later, and change metadata."""
    with patch.object(staged, "time", lambda: 10**9 + 2 * 86_400):
        database.add_many_if_new(
            ["same", "other"], [database[7].fingerprint.bits, 2**63], distance=0
        )
    database.update_metadata("text1", "changed")
    database.update_metadata("text2", None)


def fill_passages(path, options):
    """Make such a database of texts, those of passages in two passage runs."""
    with simdb.open(path, "x", options=options) as database:
        words = [f"w{at * at % 997}" for at in range(400)]
        database.insert_many(range(40), [" ".join(words[at : at + 40]) for at in range(0, 360, 9)])
        database.insert_many([f"text{at}" for at in range(7)], TEXTS)
        database.delete_many([3, 5, "text5"])
        database.insert("late", " ".join(words[100:130]), "metadata")
        database.insert(10, TEXTS[0], on_conflict="replace")
        if options.texts:
            database.insert("tokens", TEXTS[0].split())


def contained_answers(database):
    """Return what contains each document, and all pairs."""
    return [
        [[repr(match.id), match.containment] for match in database.query(id=id, contained=0.3)]
        for id in database
    ] + sorted([repr(pair.left), repr(pair.right)] for pair in database.find_all(contained=0.5))


def field_answers(database):
    """Return the documents of each value of a field; nothing without fields."""
    if not database.options.fields:
        return {}
    values = [*range(8), None]
    found = [database.query(0, distance=64, where={"n": value}) for value in values]
    return {"fields": [sorted(repr(each.id) for each in row) for row in found]}


def exact_answers(database):
    """Return the pairs whose stored features are similar."""
    pairs = database.find_all(verify="exact", similarity=0.2)
    return sorted([repr(pair.left), repr(pair.right), round(pair.similarity, 4)] for pair in pairs)


def fill_signatures(path, options):
    """Make such a database with signatures."""
    with simdb.open(path, "x", options=options) as database:
        words = [f"w{at * at % 997}" for at in range(400)]
        texts = [" ".join(words[at : at + 24]) for at in range(0, 360, 3)]
        database.insert_many(range(120), texts)
        database.insert_many(
            [f"text{at}" for at in range(7)], TEXTS, [{"n": at} for at in range(7)]
        )
        database.insert_many([-1, 2**63, 2**64 - 1, -(2**63), b"\0\xff", "\u00e9"], texts[:6])
        database.insert_many(["t" * 600, b"u" * 20], [texts[7] + " end", TEXTS[0].split()])
        database.delete_many([3, 5, "text5"])
        database.insert("late", TEXTS[0], "metadata")
        database.insert(10, "other", [1, 2.5, None, b"\0"], on_conflict="replace")


def answers(database):
    """Return every answer of the database, in plain types."""
    if database.options.is_minhash:
        return signature_answers(database)
    ids = list(database)
    bits = [database.get(id).fingerprint.bits for id in ids]
    kept = {repr(id): list(map(repr, database.cluster(id))) for id in ids if keeps(database)}
    # What versions of the time gave for texts was the cosine.
    scale = database.options.scale
    least = scale.from_cosine(0.5)
    return (
        ({"kept": kept} if kept else {})
        | field_answers(database)
        | {
            "ids": [repr(id) for id in ids],
            "bits": bits,
            "empty": [repr(id) for id in ids if database.get(id).fingerprint.is_empty],
            "metadata": [repr(database.get(id).metadata) for id in ids],
            "vectors": {
                repr(id): database.get(id).fingerprint.weights.astype(int).tolist()
                for id in ids
                if database.get(id).fingerprint.weights is not None
            },
            "queries": [
                [[repr(match.id), match.distance] for match in database.query(each, distance=3)]
                for each in bits
            ],
            "similar": [
                [[repr(match.id), round(scale.to_cosine(match.similarity), 4)] for match in row]
                for row in database.query_many(TEXTS, similarity=least, recall=1.0)
            ],
            "pairs": sorted(
                [repr(pair.left), repr(pair.right), pair.distance]
                for pair in database.find_all(distance=3)
            ),
            "clusters": [
                [repr(id) for id in cluster] for cluster in database.find_clusters(distance=3)
            ],
            "fingerprints": [simdb.fingerprint(text, OPTIONS.sketch).bits for text in TEXTS],
        }
        | ({"times": times_of(database)} if database.options.keeps_times else {})
        | ({"contained": contained_answers(database)} if database.options.passages else {})
        | ({"exact": exact_answers(database)} if database.options.features else {})
        | ({"texts": database.texts_many(ids)} if database.options.texts else {})
        | ({"spaceless": spaceless_answers(database)} if is_spaceless(database.options) else {})
    )


def times_of(database):
    """Return the time of each document, in the order of insertion."""
    with database._store.state() as state:
        return state.times()[state.live()].tolist()


def spaceless_answers(database):
    """Return the answers about texts in scripts without spaces."""
    return [
        [
            simdb.fingerprint(text, database.options.sketch).bits,
            [repr(match.id) for match in database.query(text, similarity=0.999, recall=1.0)],
        ]
        for text in SPACELESS
    ]


def signature_answers(database):
    """Return every answer of a database with signatures, in plain types."""
    ids = list(database)
    documents = database.get_many(ids)
    rows = {"queries": {"search": "banding"}, "exact": {"recall": 1.0}}
    found = {
        name: [
            [[repr(match.id), match.distance, round(match.similarity, 4)] for match in row]
            for row in database.query_many(ids=ids, **asked)
        ]
        for name, asked in rows.items()
    }
    return found | {
        "ids": list(map(repr, ids)),
        "bits": [each.fingerprint.bits for each in documents],
        "empty": [repr(each.id) for each in documents if each.signature.is_empty],
        "metadata": [repr(each.metadata) for each in documents],
        "pairs": sorted(
            [repr(pair.left), repr(pair.right), pair.distance]
            for pair in database.find_all(search="banding")
        ),
        "clusters": [[repr(id) for id in cluster] for cluster in database.find_clusters()],
        "kept": [repr(database.cluster(id)[0]) for id in ids],
        "signatures": [
            None if each.is_empty else each.minima.tolist()
            for each in database.sketcher.signatures(TEXTS)
        ],
    }


def is_spaceless(options):
    return options.sketch.by_character == "spaceless"


def keeps(database):
    return database.options.keeps_clusters


def main():
    missing = [name for name in STORED if not (HERE / name).exists()]
    if not missing:
        sys.exit("all databases are there already; stored databases are never overwritten")
    for name in missing:
        store(HERE / name, STORED[name])


def store(target, options):
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "db"
        fill(path, options)
        target.mkdir()
        shutil.copyfile(path / "data.mdb", target / "data.mdb")
        with simdb.open(path, "r") as database:
            text = json.dumps(answers(database), indent=0, sort_keys=True)
        (target / "answers.json").write_text(text + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
