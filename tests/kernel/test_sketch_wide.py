"""Documents of 256 weights: the first 128 are the usual ones, in every variant."""

import numpy as np
import reference_kernel as reference
from feature_oracle import further_words
from over import over
from test_sketch_text import OPTIONS

COUNTS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025, 2049, 5000)
TEXTS = [" ".join(f"w{number % 900}" for number in range(count)) for count in COUNTS]


@over("shingle", [1, 3])
@over("counting", ["tf", "binary"])
def test_further_weights_are_made_of_the_first_word(sketch, counting, shingle):
    options = OPTIONS | {"shingle": shingle}

    weights, features = sketch.project_texts(TEXTS, **options, counting=counting, dimensions=256)

    offsets, hashes, counts = sketch.count_texts(TEXTS, **options)
    usual, numbers = sketch.project_texts(TEXTS, **options, counting=counting)
    further = np.array([further_words(word) for word in hashes.tolist()], "<u8").reshape(-1, 2)
    bits = np.unpackbits(further.view(np.uint8), axis=1, bitorder="little").astype(np.int64)
    signs = (2 * bits - 1) * (counts[:, None] if counting == "tf" else 1)
    assert (weights[:, :128] == usual).all()
    assert (features == numbers).all()
    for row, start, stop in zip(weights, offsets, offsets[1:], strict=False):
        assert row[128:].tolist() == signs[start:stop].sum(axis=0).tolist()


@over("counting", ["tf", "binary", "log-tf"])
@over("is_weighted", [False, True])
def test_every_variant_makes_the_same_weights(sketch, counting, is_weighted):
    entries = np.array([5 << 16 | 900, 77 << 40 | 2000], np.uint64)
    idf = (entries, np.array([0, 2], np.uint32), 1500) if is_weighted else None
    options = OPTIONS | {"counting": counting, "idf": idf, "dimensions": 256}
    tokens = [text.split() for text in TEXTS]

    weights, _ = sketch.project_texts(TEXTS, **options)

    given = {key: options[key] for key in options if key not in ("unit", "lowercase")}
    assert (weights == reference.project_texts(TEXTS, **options)[0]).all()
    assert (weights == sketch.project_tokens(tokens, **given)[0]).all()
