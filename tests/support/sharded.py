"""Sharded: makes documents in shards, and the single database with equal answers."""

import random

import simdb

WORDS = [f"w{number}" for number in range(60)]
SIMHASH = simdb.Options(delta_documents=4, growth=2)
BARE = simdb.Options(
    sketch=simdb.Simhash(store_volatility=False), distance=8, blocks=10, leading=2,
    delta_documents=4, growth=2,
)  # fmt: skip
MINHASH = simdb.Options(sketch=simdb.Minhash(), delta_documents=4, growth=2)


def corpus(seed=1):
    """Return ids of all three types and texts: groups of copies and near-copies, one empty."""
    draw = random.Random(seed)
    texts = [" ".join(draw.choices(WORDS, k=40)) for _ in range(12)]
    near = [f"{text} more" for text in texts[:6]] + [text.replace("w1 ", "v ") for text in texts]
    texts += [*near, *texts[:4], ""]
    names = [f"document {number}" for number in range(len(texts))]
    ids = [
        name.encode() if at % 7 == 1 else at if at % 7 == 2 else name
        for at, name in enumerate(names)
    ]
    return ids, texts


def numbers_of(ids, texts, shards, options, shard_by="id"):
    """Return the number of the shard that has each document."""
    if shard_by == "id":
        return simdb.shard_of(ids, shards).tolist()
    bits = [simdb.fingerprint(text, options.sketch).bits for text in texts]
    return [int(f"{each:064b}"[: shards.bit_length() - 1] or "0", 2) for each in bits]


def in_order_of_shards(ids, texts, numbers):
    """Return the documents shard by shard, as the shards have them."""
    order = sorted(range(len(ids)), key=lambda at: numbers[at])
    return [ids[at] for at in order], [texts[at] for at in order]


def single(path, ids, texts, numbers, options):
    """Return one database with the documents in the order in which the shards have them.

    `numbers`: number of the shard of each document.
    """
    database = simdb.open(path, options=options)
    ids, texts = in_order_of_shards(ids, texts, numbers)
    database.insert_many(ids, texts, [{"text": text} for text in texts])
    return database


def batches(ids, texts, size):
    """Yield the documents in batches, with metadata."""
    for start in range(0, len(ids), size):
        part = slice(start, start + size)
        yield ids[part], texts[part], [{"text": text} for text in texts[part]]
