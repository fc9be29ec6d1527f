"""The options of databases of hashes, `Bits`: what they are if not given, and what they refuse."""

import pickle

import pytest
from over import over

import simdb
from simdb.core.stored_options import decode_options, encode_options

Bits, Options = simdb.Bits, simdb.Options


@over(
    ("bits", "distance", "blocks"),
    [(32, 3, 2), (64, 7, 4), (96, 11, 6), (128, 15, 8), (256, 31, 16), (512, 62, 32)],
)
def test_the_distance_and_the_blocks_go_with_the_bits(bits, distance, blocks):
    options = Options(sketch=Bits(bits))

    assert (options.distance, options.blocks, options.leading) == (distance, blocks, 1)
    assert options.recall == 1.0
    assert options.bits == bits
    assert options.is_hashes
    assert options.is_wide == (bits != 64)
    assert options.sketch.vector_bytes == (0 if bits == 64 else bits // 8)


@over(
    "options",
    [Options(sketch=Bits(256)), Options(sketch=Bits(64), distance=3, recall=0.9),
     Options(sketch=Bits(32, tuple(range(31, -1, -1)))),
     Options(sketch=Bits(96), blocks=5, keep_clusters="distance", keep_times="seen")],
)  # fmt: skip
def test_options_are_stored_and_pickled_whole(options):
    assert decode_options(encode_options(options)) == options
    assert pickle.loads(pickle.dumps(options)) == options


def test_the_order_is_not_written_out():
    assert repr(Options(sketch=Bits(96), blocks=5)) == "Options(sketch=Bits(96), blocks=5)"
    assert repr(Bits(32, tuple(range(32)))) == "Bits(32, order=...)"


@over(
    ("given", "words"),
    [({"bits": 100}, "multiple of 32"), ({"bits": 16}, "from 32 to 512"),
     ({"bits": 544}, "from 32 to 512"), ({"bits": 64, "order": tuple(range(64))}, "have no order"),
     ({"bits": 32, "order": (1, 1)}, "each number below 32 once"),
     ({"bits": 256, "shingle": 2}, "shingle= is for texts")],
)  # fmt: skip
def test_impossible_hashes_are_refused(given, words):
    with pytest.raises(simdb.OptionError, match=words):
        Bits(**given)


@over(
    ("given", "words"),
    [({"similarity": 0.5}, "use distance="), ({"distance": 257}, "from 0 to 256"),
     ({"leading": 2}, "leading must be 1"), ({"passages": True}, "needs texts"),
     ({"features": True}, "needs texts"), ({"polytopes": 3}, "polytopes=3 works only"),
     ({"keep_clusters": "similarity"}, "keep_clusters='distance'"),
     ({"bands": 2}, "bands= works only"), ({"blocks": 3}, "from 4 to 64")],
)  # fmt: skip
def test_options_of_texts_and_weights_are_refused(given, words):
    with pytest.raises(simdb.OptionError, match=words):
        Options(sketch=Bits(256), **given)


def test_one_table_of_fingerprints_has_few_header_bits_if_none_are_given():
    bits_only = simdb.Simhash(store_volatility=False)

    assert Options().header_offset == Options(sketch=bits_only, blocks=1).header_offset == -4
    assert Options(sketch=bits_only).header_offset == -1
    assert Options(sketch=Bits(32), blocks=1).header_offset == -1
    assert Options(sketch=simdb.Minhash()).header_offset == -1


def test_a_database_with_other_header_bits_is_opened_with_the_usual_ones(tmp_path):
    simdb.open(tmp_path / "x", "x", options=Options(header_offset=-1)).close()

    with simdb.open(tmp_path / "x", "w", options=Options()) as database:
        assert database.options.header_offset == -1
    with pytest.raises(simdb.OptionError, match="header_offset is -1, not -2"):
        simdb.open(tmp_path / "x", "w", options=Options(header_offset=-2))
