"""Documents of 256 weights: the first 128 are the usual ones, in every variant."""

import feature_oracle as oracle
from over import over
from test_sketch_text import OPTIONS

COUNTS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025, 2049, 5000)
TEXTS = [" ".join(f"w{number % 900}" for number in range(count)) for count in COUNTS]


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
