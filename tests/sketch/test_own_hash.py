"""A hash function of the user's: which fingerprints it makes, and how databases know it again."""

import hashlib
import itertools
import os
import pickle

import mmh3
import numpy as np
import pyarrow
import pytest
from over import over

import simdb
from simdb.core.stored_options import encode_options

TEXTS = [
    "the quick brown fox jumps over the lazy dog near the river",
    "the quick brown fox jumped over the lazy dog near the river",
    "Stra\u00dfe und \u5317\u4eac, e\u0301te", "one", "", "  ",
]  # fmt: skip
TOKENS = [["a", "b", b"a", "\u00fc", ""], ["one"], [], ["x", "y", "x", "y", "x"]]


def digest(token):
    """Hash a token as a program in another language would."""
    return int.from_bytes(hashlib.blake2b(token, digest_size=8).digest(), "big")


def murmur(token):
    """Hash a token as the kernel does."""
    return mmh3.hash64(token, 0, signed=False)[0]


def weights_of(tokens, function):
    """Return the 64 weights of a set of tokens: bits that are set less those that are clear."""
    hashes = {function(token.encode()) for token in tokens}
    return [sum(1 if each >> bit & 1 else -1 for each in hashes) for bit in range(64)]


def options_of(function=digest, **given):
    return simdb.Options(sketch=simdb.Simhash(hash=function, shingle=1), **given)


def test_a_bit_is_set_if_half_of_the_hashes_have_it():
    for tokens in (["a"], ["a", "b", "c", "a"], [f"w{at}" for at in range(50)]):
        made = simdb.fingerprint(tokens, simdb.Simhash(hash=digest, shingle=1, dimensions=64))
        weights = weights_of(tokens, digest)

        assert made.weights.tolist() == weights
        assert made.bits == sum(1 << bit for bit, each in enumerate(weights) if each >= 0)


@over(
    "given",
    [
        {},
        {"shingle": 1, "weighting": "tf"},
        {"shingle": 7, "weighting": "log-tf"},
        {"unit": "characters", "shingle": 4},
        {"unit": "whitespace", "lowercase": False, "clean": False, "normalisation": "none"},
        {"normalisation": "nfkc", "marks": "drop", "seed": 9},
        {"markup": "html", "by_character": "cjk"},
    ],
)
def test_with_the_hash_of_the_kernel_they_are_its_fingerprints(given):
    """The second word of a hash is another one, so only the first 64 weights are compared."""
    seed = given.get("seed", 0)
    own = simdb.Simhash(hash=lambda token: mmh3.hash64(token, seed, signed=False)[0], **given)
    for documents in (TEXTS, TOKENS):
        found = simdb.fingerprints(documents, own)
        wanted = simdb.fingerprints(documents, simdb.Simhash(**given))

        assert np.array_equal(found.bits, wanted.bits)
        assert np.allclose(found.weights[:, :64], wanted.weights[:, :64], rtol=1e-6)


def test_texts_of_a_column_and_in_threads_are_hashed_alike(tmp_path):
    wanted = simdb.fingerprints(TEXTS, simdb.Simhash(hash=digest)).bits.tolist()
    column = pyarrow.array(TEXTS)

    for threads in (1, 3):
        found = simdb.fingerprints(column, simdb.Simhash(hash=digest), threads=threads)
        assert found.bits.tolist() == wanted
    with simdb.open(
        tmp_path / "db", options=simdb.Options(sketch=simdb.Simhash(hash=digest))
    ) as db:
        db.insert_many(range(len(TEXTS)), column)
        assert db.bits_many(range(len(TEXTS)))[1].tolist() == wanted
        assert "a hash function of your own" in db.plan().sketching


def test_a_database_knows_the_function_again_and_asks_for_it(tmp_path):
    path = tmp_path / "db"
    with simdb.open(path, options=options_of()) as db:
        db.insert_many(range(len(TOKENS)), TOKENS)
        bits = db.bits_many(range(len(TOKENS)))[1]

    with simdb.open(path, options=options_of(lambda token: digest(token))) as db:
        assert db.query(TOKENS[3], distance=0)[0].id == 3
        db.insert("text", "one text")
    with simdb.open(path) as db:
        assert db.options.sketch != simdb.Simhash(shingle=1)
        for verb, given in [(db.query, [["a"]]), (db.insert, ["x", "a text"]), (db.first, ["a"])]:
            with pytest.raises(simdb.OptionError, match=r"give it again, options=.*hash=\.\.\."):
                verb(*given)
        assert db.query(int(bits[3]), distance=0)[0].id == 3
        assert db.query(id="text", similarity=1.0) == []
        db.insert("made before", simdb.fingerprint(["a"], simdb.Simhash(hash=digest, shingle=1)))
        db.compact()
        db.rebuild()
        assert list(db.check(deep=True)) == []
        db.dump(tmp_path / "dump")
    simdb.load(tmp_path / "dump", tmp_path / "loaded")
    with simdb.open(tmp_path / "loaded", "w", options=options_of()) as db:
        assert db.query(["a"], distance=0)[0].id == "made before"


@over("function", [murmur, None])
def test_another_function_is_refused(tmp_path, function):
    simdb.open(tmp_path / "db", options=options_of()).close()

    with pytest.raises(simdb.OptionError, match=r"created with other options: sketch\.hash is"):
        simdb.open(tmp_path / "db", options=options_of(function))


def test_a_function_is_refused_where_the_database_has_none(tmp_path):
    simdb.open(tmp_path / "db", options=options_of(None)).close()

    assert "hash" not in encode_options(options_of(None))["sketch"]
    with pytest.raises(simdb.OptionError, match=r"sketch\.hash is None, not"):
        simdb.open(tmp_path / "db", options=options_of())


def test_children_and_pickled_databases_have_the_function(tmp_path):
    with simdb.open(tmp_path / "db", options=options_of()) as db:
        db.insert("a", ["a", "b"])
        child = os.fork()
        if child == 0:
            try:
                os._exit(7 * (db.query(["b", "a"], distance=0)[0].id == "a"))
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        with pickle.loads(pickle.dumps(db)) as again:
            assert again.query(["b", "a"], distance=0)[0].id == "a"


def test_exact_similarities_and_explanations_are_those_of_the_tokens(tmp_path):
    texts = dict(enumerate(TEXTS[:2]))
    with simdb.open(tmp_path / "db", options=options_of(features=True)) as db:
        db.insert_many(list(texts), list(texts.values()))
        (pair,) = db.find_all(similarity=0.7, verify="exact")
        shared = db.explain(document=texts[0], other_document=texts[1])

    one, other = (set(text.split()) for text in texts.values())
    assert pair.similarity == pytest.approx(len(one & other) / len(one | other))
    assert {each.shingle for each in shared.features} == {"jumps", "jumped"}


@over(
    ("returned", "words"),
    [(-1, "got -1 for the token b'a'"), (2**64, "got 18446744073709551616"), (True, "got True"),
     (1.0, r"got 1\.0"), ("1", "got '1'"), (None, "got None")],
)  # fmt: skip
def test_what_is_no_hash_is_named(returned, words):
    with pytest.raises(simdb.OptionError, match=f"whole number from 0 to .*{words}"):
        simdb.Simhash(hash=lambda token: returned)


def test_a_token_whose_hash_is_none_is_named():
    sketch = simdb.Simhash(hash=lambda token: -1 if token == b"bad" else 5, shingle=1)

    assert simdb.fingerprint(["good"], sketch).weights[0] == 1
    with pytest.raises(simdb.OptionError, match="got -1 for the token b'bad'"):
        simdb.fingerprint(["good", "bad"], sketch)
    with pytest.raises(simdb.InputError, match="document 1 has a float as token 1"):
        simdb.fingerprints([["good"], ["good", 1.5]], sketch)
    with pytest.raises(simdb.InputError, match="document 2 has a lone surrogate"):
        simdb.fingerprints(["good", "a", "a\ud800"], sketch)


@over(
    "given",
    [
        {"hash": 5}, {"hash": "murmur"}, {"hash": b"a"}, {"hash": digest, "stop_words": ("a",)},
        {"hash": digest, "stemming": "english"}, {"hash": digest, "weighting": "tf-idf"},
        {"hash": digest, "unit": "moz", "weighting": "tf", "dimensions": 64, "lowercase": False,
         "clean": False},
    ],
)  # fmt: skip
def test_impossible_hashes_are_refused(given):
    with pytest.raises(simdb.OptionError, match=r"hash must be a function|hash= takes tokens as"):
        simdb.Simhash(**given)


def test_a_hash_that_changes_from_call_to_call_is_refused():
    numbers = itertools.count()
    with pytest.raises(simdb.OptionError, match="the same number for the same token"):
        simdb.Simhash(hash=lambda token: next(numbers))
