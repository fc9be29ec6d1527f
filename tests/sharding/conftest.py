"""A sharded database and the single one with the same documents, which it answers like."""

import pytest
import sharded

import simdb

KINDS = {
    "simhash": (sharded.SIMHASH, 2, "id"), "bare": (sharded.BARE, 5, "id"),
    "minhash": (sharded.MINHASH, 3, "id"), "leading": (sharded.SIMHASH, 4, "fingerprint"),
    "leading, bare": (sharded.BARE, 16, "fingerprint"),
}  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def both(request, tmp_path_factory):
    """Return the kind, the sharded database, the single one, and the texts by id."""
    kind = request.param
    options, shards, shard_by = KINDS[kind]
    ids, texts = sharded.corpus()
    place = tmp_path_factory.mktemp("both")
    batches = sharded.batches(ids, texts, 8)
    simdb.write_sharded(place / "many", batches, shards, shard_by=shard_by, options=options)
    numbers = sharded.numbers_of(ids, texts, shards, options, shard_by)
    with (
        simdb.open_sharded(place / "many") as many,
        sharded.single(place / "one", ids, texts, numbers, options) as one,
    ):
        yield kind, many, one, dict(zip(ids, texts, strict=True))
