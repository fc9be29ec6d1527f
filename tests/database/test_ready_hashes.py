"""A database of 64-bit hashes: every verb takes documents in each form, and bytes are no text."""

import random
from functools import partial
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from over import over

import simdb

BITS = simdb.Options(sketch=simdb.Bits(64), delta_documents=4, growth=2)
# Bytes that begin as a text with a byte order mark, as a page, or with a NUL.
NUMBERS = [
    0xFFFE000041004200, 0xFEFF004100420043, 0xEFBBBF4142434445, 0x3C68746D6C3E4142, 0, 2**64 - 1,
    *(random.Random(at).getrandbits(64) for at in range(14)),
]  # fmt: skip
CONTENTS = [number.to_bytes(8, "big") for number in NUMBERS]
PACKED = np.frombuffer(b"".join(CONTENTS), np.uint8).reshape(-1, 8)
FLAGS = np.unpackbits(PACKED, axis=1).astype(np.bool_).reshape(-1, 8, 8)
FORMS = {
    "bytes": CONTENTS,
    "digits": [each.hex() for each in CONTENTS],
    "numbers": NUMBERS,
    "flags": list(FLAGS),
    "objects": [SimpleNamespace(hash=each) for each in FLAGS],
    "fingerprints": [simdb.Fingerprint(each) for each in NUMBERS],
    "iterator": CONTENTS,
    "packed": PACKED,
    "all flags": FLAGS,
    "numbers of 0 and 1": FLAGS.reshape(-1, 64).astype(np.float64),
    "words": np.array(NUMBERS, np.uint64),
    "array of bytes": np.array(CONTENTS),
    "array of digits": np.array([each.hex() for each in CONTENTS]),
    "Fingerprints": simdb.Fingerprints(PACKED),
    "column of bytes": pa.array(CONTENTS),
    "column of rows": pa.array(CONTENTS, pa.binary(8)),
    "column of digits": pa.chunked_array([pa.array([each.hex()]) for each in CONTENTS]),
    "column of numbers": pa.array(np.array(NUMBERS, np.uint64)),
}
IDS = list(range(len(NUMBERS)))


def again(form):
    """Return documents of a form, to be read once more."""
    return iter(FORMS[form]) if form == "iterator" else FORMS[form]


@over("form", FORMS)
def test_every_verb_takes_hashes_in_each_form(tmp_path, form):
    each_alone = [[id] for id in IDS]
    with simdb.open(None, options=BITS) as db:
        assert db.insert_many(IDS, again(form)) == len(IDS)

        assert [int(db[id].fingerprint) for id in IDS] == NUMBERS
        found = db.query_many(again(form), distance=0)
        assert [[match.id for match in row] for row in found] == each_alone
        assert np.isnan(found.similarities).all()
        nearest = db.nearest_many(again(form), 1)
        assert [[(match.id, match.distance) for match in row] for row in nearest] == [
            [(id, 0)] for id in IDS
        ]
        assert [*db.query_many(again(form), on_error="skip", distance=0)] == [*found]
    with simdb.open(None, options=BITS) as db:
        assert len(db.add_many_if_new(IDS, again(form), distance=0).ids) == 0
        claimed = db.add_many_if_new([-id - 1 for id in IDS], again(form), distance=0)
        assert claimed.ids.tolist() == IDS
        batch = db.insert_batch([-id - 1 for id in IDS], again(form), distance=0)
        assert batch.ids.tolist() == IDS
    simdb.write_sharded(tmp_path / form, [(IDS, again(form))], 2, options=BITS, on_error="skip")
    with simdb.open_sharded(tmp_path / form) as db:
        assert [int(db[id].fingerprint) for id in IDS] == NUMBERS
        assert [row[0].id for row in db.query_many(again(form), distance=0)] == IDS


@over("form", ["bytes", "digits", "numbers", "flags", "objects", "fingerprints"])
def test_every_verb_takes_a_single_hash_in_each_form(form):
    with simdb.open(None, options=BITS) as db:
        for id, document in zip(IDS, FORMS[form], strict=True):
            db.insert(id, document)

        for id, document in zip(IDS, FORMS[form], strict=True):
            asked = {"distance": 0}
            assert db.query(document, **asked) == [simdb.Match(id, 0)]
            assert db.query(document, limit=1, where=lambda _: True, **asked)[0].id == id
            assert db.first(document, **asked).id == id
            assert db.nearest(document, 1)[0].id == id
            assert db.explain(id, document=document).distance == 0
            assert db.explain(document=document, other_document=document).distance == 0
            assert db.add_if_new(-1, document, **asked).id == id


@over(
    ("documents", "bad"),
    [
        ([CONTENTS[0], b"short", CONTENTS[2], None, "xyz", CONTENTS[5]], [1, 3, 4]),
        (pa.array([CONTENTS[0], b"short", None, CONTENTS[3]]), [1, 2]),
        (pa.array([CONTENTS[0], None, CONTENTS[2]], pa.binary(8)), [1]),
        (pa.array([CONTENTS[0].hex(), "0x5", None, CONTENTS[3].hex()]), [1, 2]),
        (np.array([CONTENTS[0].hex(), "xyz", CONTENTS[2].hex()]), [1]),
        (np.where(np.arange(5)[:, None] == 3, 2.0, FLAGS[:5].reshape(5, 64)), [3]),
        (np.ma.MaskedArray(PACKED[:4], np.arange(4)[:, None] == [2] * 8), [2]),
    ],
)
def test_documents_that_are_no_hashes_are_left_out_if_allowed(documents, bad):
    ids = list(range(len(documents)))
    good = [id for id in ids if id not in bad]

    with simdb.open(None, options=BITS) as db:
        with pytest.raises(simdb.InputError, match=f"document {bad[0]} is "):
            db.insert_many(ids, documents)
        noted = []
        db.insert_many(ids, documents, on_error=lambda row, *_: noted.append(row))
        assert ([*db], noted) == (good, bad)
        found = db.query_many(documents, on_error="skip", distance=0)
        assert found.skipped["row"].to_pylist() == bad
        assert [[match.id for match in row] for row in found] == [
            [id] if id in good else [] for id in ids
        ]


@over("bits", (64, 256))
def test_an_encoding_and_methods_for_weights_are_refused_by_name(bits):
    hash = bytes(range(0x80, 0x80 + bits // 8))

    with simdb.open(None, options=simdb.Options(sketch=simdb.Bits(bits))) as database:
        for call in (
            lambda **how: database.insert("a", hash, **how),
            lambda **how: database.insert_many(["a"], [hash], **how),
            lambda **how: database.add_if_new("a", hash, **how),
            lambda **how: database.add_many_if_new(["a"], [hash], **how),
            lambda **how: database.query(hash, **how),
            lambda **how: database.query_many([hash], **how),
            lambda **how: simdb.deduplicate([hash], sketch=simdb.Bits(bits), **how),
        ):
            with pytest.raises(simdb.OptionError, match=r"encoding='.*' is .* leave it out"):
                call(encoding="latin-1")
        assert len(database) == 0
        database.insert("a", hash, encoding="UTF-8")
        assert [match.id for match in database.query(hash, encoding="utf-8-sig")] == ["a"]
        ask = partial(database.query, hash)
        for call in (ask, database.plan, database.find_all):
            with pytest.raises(simdb.OptionError, match=r"search must be one of .*'bphs'"):
                call(search="psm")
        assert "each of 1 documents is compared" in database.plan().reason


@over("size", (8, 16, 32, 64))
def test_bytes_of_hashes_in_a_database_of_texts_name_the_options_of_hashes(size):
    hash = bytes(range(0x80, 0x80 + size))

    with simdb.open(None) as database:
        for call in (
            lambda: database.insert("a", hash), lambda: database.insert_many(["a"], [hash]),
            lambda: database.query(hash), lambda: simdb.deduplicate([hash]),
            lambda: simdb.distance(hash, hash),
        ):  # fmt: skip
            with pytest.raises(simdb.InputError, match=rf"simdb.Bits\({8 * size}\)\), or bits="):
                call()
        with pytest.raises(simdb.InputError) as failed:
            database.insert("a", hash[:-1])
    assert "Bits" not in str(failed.value)


@over("form", ("flags", "fingerprints", "packed", "all flags"))
def test_hashes_in_arrays_in_a_database_of_texts_name_their_options(form):
    rows = np.random.default_rng(1).integers(0, 256, (3, 32), np.uint8)
    flags = np.unpackbits(rows, axis=1).astype(np.bool_)
    forms = {
        "flags": list(flags),
        "fingerprints": list(simdb.Fingerprints(rows)),
        "packed": rows,
        "all flags": flags,
    }

    with simdb.open(None) as database:
        for verb in (partial(database.insert_many, range(3)), database.query_many):
            with pytest.raises(simdb.InputError, match=r"Options\(sketch=simdb.Bits\(256\)\)"):
                verb(forms[form])


def test_hashes_that_many_threads_read_keep_their_order():
    rows = np.random.default_rng(3).integers(0, 256, (20_000, 8), np.uint8)
    digits = pa.array([bytes(row).hex() for row in rows])

    with simdb.open(None, options=simdb.Options(sketch=simdb.Bits(64))) as db:
        db.insert_many(np.arange(20_000), digits, threads=3)

        known, bits = db.bits_many(np.arange(20_000))
        assert known.all()
        assert np.array_equal(bits, rows.view(">u8")[:, 0])
        found = db.query_many(rows, distance=0, threads=3)
        assert np.array_equal(found.ids[found.offsets[:-1]], np.arange(20_000))


@pytest.mark.parametrize("bits", [64, 256])
@pytest.mark.parametrize("keep", ["none", "distance"])
def test_a_database_of_hashes_can_be_rebuilt(tmp_path, bits, keep):
    # Its rebuild asked what clusters by similarity would be.
    hashes = np.random.default_rng(3).integers(0, 256, (20, bits // 8), np.uint8)
    options = simdb.Options(sketch=simdb.Bits(bits), keep_clusters=keep)
    with simdb.open(tmp_path, options=options) as database:
        database.insert_many(range(20), hashes)
        database.rebuild()

        assert [database.first(each).id for each in hashes] == list(range(20))
        assert list(database.check(deep=True)) == []
