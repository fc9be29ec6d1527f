"""The sketches of a database leave it as Arrow, and another one stores them bit for bit."""

import numpy as np
import pytest

import simdb

arrow = pytest.importorskip("pyarrow")

TEXTS = [" ".join(f"w{at}" for at in range(start, start + 30)) for start in range(40)] + ["", "?"]


def stored(database):
    return {id: (document.fingerprint, document.signature) for id, document in database.items()}


@pytest.mark.parametrize(
    "sketch",
    [
        simdb.Simhash(), simdb.Simhash(dimensions=64), simdb.Simhash(store_volatility=False),
        simdb.Minhash(), simdb.Minhash(stored_bits=8), simdb.Minhash(stored_bits=1),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("id_of", [int, "id{}".format, lambda at: b"id%d" % at])
def test_sketches_are_stored_again_to_the_last_bit(sketch, id_of, monkeypatch):
    monkeypatch.setattr("simdb.database.reading.EXPORTED_DOCUMENTS", 16)
    *ids, later = map(id_of, range(len(TEXTS) + 1))
    options = simdb.Options(sketch=sketch)
    with simdb.open(None, options=options) as one, simdb.open(None, options=options) as other:
        one.insert_many(ids, TEXTS)
        one.delete(ids[3])
        if isinstance(sketch, simdb.Simhash):
            one.insert_many(ids[3:4], np.array([12345], np.uint64))
        reader = one.sketches()
        one.insert(later, "later")

        batches = list(reader)

        assert len(batches) >= 3
        for batch in batches:
            made = (
                simdb.Signatures.from_arrow(batch, sketch)
                if isinstance(sketch, simdb.Minhash)
                else simdb.Fingerprints.from_arrow(batch)
            )
            other.insert_many(batch["id"], made)
        expected = stored(one)
        assert set(expected) - set(other) == {later}
        for id, (fingerprint, signature) in stored(other).items():
            assert signature == expected[id][1]
            if fingerprint is not None:
                assert fingerprint.is_empty == expected[id][0].is_empty
                assert fingerprint.is_empty or fingerprint == expected[id][0]


def test_the_columns_of_an_empty_database_have_their_types():
    with simdb.open(None) as database:
        table = database.sketches().read_all()
    assert table.schema.names == ["id", "is_empty", "bits", "vector"]
    assert table.schema.field("vector").type == arrow.binary(64)
    with simdb.open(None, options=simdb.Options(sketch=simdb.Minhash())) as database:
        table = database.sketches().read_all()
    assert table.schema.names == ["id", "is_empty", "signature"]
    assert table.schema.field("signature").type == arrow.binary(512)


def test_other_batches_are_refused():
    batch = arrow.RecordBatch.from_pydict({"id": [1], "fp": [2]})
    with pytest.raises(simdb.InputError, match="'bits', got 'id', 'fp'"):
        simdb.Fingerprints.from_arrow(batch)
    with pytest.raises(simdb.InputError, match="'is_empty'"):
        simdb.Signatures.from_arrow(3, simdb.Minhash())
    batch = arrow.RecordBatch.from_pydict({"signature": [b"abcd"], "is_empty": [False]})
    with pytest.raises(simdb.InputError, match="have 512 bytes, but these have 4"):
        simdb.Signatures.from_arrow(batch, simdb.Minhash())
