"""A sharded database and the single one with the same documents, which it answers like."""

import pytest
import sharded

import simdb

KINDS = {
    "simhash": (sharded.SIMHASH, 2), "bare": (sharded.BARE, 5), "minhash": (sharded.MINHASH, 3),
}  # fmt: skip


@pytest.fixture(scope="package", params=KINDS)
def both(request, tmp_path_factory):
    """Return the kind, the sharded database, the single one, and the texts by id."""
    kind = request.param
    options, shards = KINDS[kind]
    ids, texts = sharded.corpus()
    place = tmp_path_factory.mktemp("both")
    simdb.write_sharded(place / "many", sharded.batches(ids, texts, 8), shards, options=options)
    with (
        simdb.open_sharded(place / "many") as many,
        sharded.single(place / "one", ids, texts, shards, options) as one,
    ):
        yield kind, many, one, dict(zip(ids, texts, strict=True))
