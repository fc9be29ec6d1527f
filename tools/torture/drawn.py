"""Drawn: random options, documents, ids and criteria."""

import simdb

WORDS = [f"word{number}" for number in range(40)] + [
    "\u00e9t\u00e9",
    "\u9ed1\u767d",
    "\U0001f600",
    "I",
]
CENTRES = (0, 2**64 - 1, 0x0123456789ABCDEF, 0x0123456789ABCDEF ^ (0xFF << 28))
SHAPES = ((1, 1), (2, 1), (3, 1), (4, 1), (4, 2), (5, 2), (6, 3), (7, 7), (13, 1), (64, 1))
ODD_IDS = (
    -1,
    2**63 - 1,
    -(2**63),
    2**64 - 1,
    "a",
    "\u00e9\U0001f600",
    "a\0b",
    b"a",
    b"\xff\xfe",
    "1",
    b"1",
)


def some_options(chance):
    is_minhash = chance.random() < 0.3
    sketch = some_minhash(chance) if is_minhash else some_simhash(chance)
    chosen = {
        "sketch": sketch,
        "recall": chance.choice([1.0, 1.0, 0.9]),
        "similarity": chance.choice([0.5, 0.7, 0.85]),
        "delta_documents": chance.choice([1, 2, 3, 8, 30, 4096]),
        "growth": chance.randint(2, 5),
        "header_offset": chance.randint(-4, 0),
        "keep_clusters": chance.choice(["none", "similarity" if sketch.vector_bytes else "none"]),
    }
    if is_minhash:
        if chosen["recall"] == 1.0 or chance.random() < 0.7:
            rows = chance.randint(1, 5)
            most = min(sketch.permutations // rows, 64)
            chosen |= {"rows": rows, "bands": chance.randint(1, most)}
    else:
        blocks, leading = chance.choice(SHAPES)
        chosen |= {"blocks": blocks, "leading": leading, "distance": chance.randint(0, 9)}
        if chance.random() < 0.4:
            chosen["keep_clusters"] = "distance"
        if sketch.vector_bytes:
            chosen["polytopes"] = chance.choice([None, None, 0, 1, 2, 16])
    if chance.random() < 0.4 and sketch.unit in ("words", "whitespace"):
        chosen["passages"] = True
    chosen["keep_times"] = chance.choice(["none", "inserted", "seen"])
    return simdb.Options(**chosen)


def some_simhash(chance):
    weighting = chance.choice(["binary", "tf", "log-tf", "tf-idf", "log-tf-idf"])
    return simdb.Simhash(
        shingle=chance.randint(1, 3),
        unit=chance.choice(["words", "words", "whitespace", "characters"]),
        by_character=chance.choice(["spaceless", "spaceless", "cjk"]),
        **some_cleaning(chance),
        weighting=weighting,
        dimensions=chance.choice([64, 128, 256]),
        store_volatility=chance.random() < 0.8,
        seed=chance.randrange(3),
    )


def some_cleaning(chance):
    """Draw what makes texts equal that look equal."""
    lowercase, clean = chance.random() < 0.7, chance.random() < 0.8
    return {
        "lowercase": lowercase,
        "clean": clean,
        "normalisation": chance.choice(["none", "nfc", "nfc", "nfkc"]),
        "marks": chance.choice(["keep", "keep", "keep", "drop"]),
        "turkic_case": lowercase and clean and chance.random() < 0.2,
    }


def some_minhash(chance):
    weighting = chance.choice(["set", "set", "bag", "tf", "tf-idf"])
    families = ["stratified", "multiply-shift", "mersenne", "one-permutation"]
    return simdb.Minhash(
        shingle=chance.randint(1, 2),
        weighting=weighting,
        permutations=chance.choice([16, 24, 64, 128]),
        **some_cleaning(chance),
        stored_bits=chance.choice([8, 32]),
        family=chance.choice(families) if weighting in ("set", "bag") else families[0],
        feature_bits=chance.choice([32, 64]),
        seed=chance.randrange(3),
    )


def some_text(chance):
    """Draw a text from one of a few families, so that many texts are near or equal."""
    if chance.random() < 0.08:
        return chance.choice(["", "   ", "\u9ed1", "x" * 3000, "word1 " * 400])
    start = 5 * chance.randrange(5)
    words = WORDS[start : start + chance.choice([4, 12, 24])] * chance.choice([1, 1, 2])
    for _ in range(chance.choice([0, 0, 1, 2, 5])):
        words[chance.randrange(len(words))] = chance.choice(WORDS)
    return " ".join(words)


def some_bits(chance):
    flipped = sum(1 << place for place in chance.sample(range(64), chance.choice([0, 1, 2, 3, 6])))
    return chance.choice(CENTRES) ^ flipped


def some_document(chance, options):
    # Only texts have passages.
    if options.is_minhash or options.passages or chance.random() < 0.6:
        return some_text(chance)
    return some_bits(chance)


def some_metadata(chance):
    return chance.choice(
        [None, None, {"rank": chance.randrange(9)}, {"rank": chance.random()}, [1, "a", None], 7]
    )


def some_id(chance):
    return chance.choice([chance.randrange(200), chance.randrange(200), chance.choice(ODD_IDS)])


def some_batch(chance, options):
    """Draw distinct ids, documents and metadata."""
    count = chance.choice([0, 1, 1, 2, 5, 12, 30])
    ids = list({(type(id), id): id for id in (some_id(chance) for _ in range(count))}.values())
    return (
        ids,
        [some_document(chance, options) for _ in ids],
        [some_metadata(chance) for _ in ids],
    )


def some_ask(chance, options, *, weighted):
    """Draw bounds, recall and method of a query; a similarity only if `weighted`."""
    ask = {}
    can_measure = weighted and options.sketch.vector_bytes > 0
    if can_measure and chance.random() < 0.5:
        ask["similarity"] = chance.choice([0.2, 0.5, 0.75, 0.9, 1.0])
    if not options.is_minhash and chance.random() < (0.2 if ask else 0.8):
        ask["distance"] = chance.choice([0, 1, 3, 5, 9, 20, 64])
    if chance.random() < 0.6:
        ask["recall"] = chance.choice([1.0, 1.0, 0.95, 0.6])
    if chance.random() < 0.4:
        ask["search"] = chance.choice(methods_of(options, weighted))
    return ask


def methods_of(options, weighted):
    if options.is_minhash:
        return ["auto", "exhaustive", "banding"]
    return ["auto", "exhaustive", "bphs", *(["psm", "multiprobe"] if weighted else [])]
