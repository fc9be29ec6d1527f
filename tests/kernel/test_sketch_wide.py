"""Documents of 256 weights: the first 128 are the usual ones, in every variant."""

import feature_oracle as oracle
import numpy as np
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
    further = np.column_stack(oracle.further_words(hashes)).astype("<u8")
    bits = np.unpackbits(further.view(np.uint8), axis=1, bitorder="little").astype(np.int64)
    signs = (2 * bits - 1) * (counts[:, None] if counting == "tf" else 1)
    assert (weights[:, :128] == usual).all()
    assert (features == numbers).all()
    for row, start, stop in zip(weights, offsets, offsets[1:], strict=False):
        assert row[128:].tolist() == signs[start:stop].sum(axis=0).tolist()


@over("counting", ["tf", "binary", "log-tf"])
@over("is_weighted", [False, True])
def test_every_variant_makes_the_same_weights(sketch, counting, is_weighted):
    idf = {5: 900, 77 << 24: 2000} if is_weighted else None
    options = OPTIONS | {"counting": counting, "dimensions": 256}
    given = options | {"idf": oracle.arguments_of(idf) if idf else None}
    tokens = [text.split() for text in TEXTS]

    weights, _ = sketch.project_texts(TEXTS, **given)

    del given["unit"], given["lowercase"]
    assert (weights == oracle.project_texts(TEXTS, **options, idf=idf)[0]).all()
    assert (weights == sketch.project_tokens(tokens, **given)[0]).all()
