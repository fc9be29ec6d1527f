"""Any argument of any type gets an answer, or an error of simdb with a readable message."""

import decimal
import fractions
import inspect

import numpy as np
import pytest

import simdb

MESSAGE_MOST = 1000


class Unprintable:
    """An object whose repr fails."""

    def __repr__(self):
        raise RuntimeError("no repr")


ODD = [
    [], {}, set(), Unprintable(), b"x", "x", "", "\ud800", "a" * 100_000, None, True, False,
    0, -1, 1, 2**31, 2**63, 2**64, 10**400, 10**5000, 0.5, 1.5, float("nan"), float("inf"),
    np.array(0.5), np.array([0.5, 0.6]), np.array(3), np.float32(0.5), np.float64("nan"),
    np.int8(3), np.uint64(2**64 - 1), np.bool_(True), decimal.Decimal("0.5"),
    decimal.Decimal("nan"), fractions.Fraction(1, 2), 1j, (1, 2), object(), range(3),
]  # fmt: skip
BITS = np.arange(3, dtype=np.uint64)
TEXTS = ["red green blue white", "red green blue black"]

VERBS = {
    "query": ["red green"],
    "first": ["red green"],
    "query_many": [["red green"]],
    "find_all": [],
    "find_clusters": [],
    "plan": [],
    "explain": ["a", "b"],
    "calibrate": [],
    "get": ["a"],
    "get_many": [["a"]],
    "contains_many": [["a"]],
    "bits_many": [["a"]],
    "draw_ids": [1],
}
WRITING = {
    "insert": ["z", "red green"],
    "insert_many": [["z"], ["red green"]],
    "add_if_new": ["z", "red green"],
    "add_many_if_new": [["z"], ["red green"]],
    "insert_batch": [["z"], ["red green"]],
    "delete": ["a"],
    "delete_many": [["a"]],
}
FUNCTIONS = {
    "find_all": [BITS, 4, 3],
    "find_clusters": [BITS, 4, 3],
    "distance": [1, 2],
    "similarity": [simdb.fingerprint("a"), simdb.fingerprint("b")],
    "similarities": [simdb.signature("a"), simdb.signatures(["a"])],
    "fingerprint": ["a"],
    "fingerprints": [["a"]],
    "signature": ["a"],
    "signatures": [["a"]],
    "fit_idf": [["a b"]],
    "Options": [],
    "Simhash": [],
    "Minhash": [],
    "Features": [BITS],
    "Fingerprints": [BITS],
    "Fingerprint": [1],
}
# These arguments are compared or tested for truth, and an array of two has no truth value.
FLAGS = ("pairs", "representative")


def foreign_errors(call, arguments):
    """Return the errors, other than simdb's own, of all calls with one odd argument each."""
    found = []
    for at, parameter in enumerate(inspect.signature(call).parameters.values()):
        odd = [each for each in ODD if parameter.name not in FLAGS or np.ndim(each) != 1]
        for value in odd:
            changed, named = list(arguments), {}
            if at < len(arguments) and parameter.kind != parameter.KEYWORD_ONLY:
                changed[at] = value
            else:
                named[parameter.name] = value
            if parameter.name in ("id", "ids", "document") and named:
                changed = changed[:1] if parameter.name == "document" else []
            found += foreign_error(lambda c=changed, n=named: call(*c, **n), parameter.name)
    return found


def foreign_error(call, name):
    """Return [name and error] of a call; [] for an answer or a readable error of simdb."""
    try:
        answer = call()
        list(answer.chunks() if hasattr(answer, "chunks") else [])
    except simdb.Error as error:
        return [] if 10 < len(str(error)) < MESSAGE_MOST else [(name, str(error))]
    except Exception as error:
        return [(name, repr(error))]
    return []


@pytest.fixture(params=[simdb.Simhash(), simdb.Minhash(), simdb.Simhash(store_volatility=False)])
def filled(request, open_database):
    database = open_database(options=simdb.Options(sketch=request.param))
    database.insert_many(["a", "b"], TEXTS)
    return database


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("verb", VERBS)
def test_every_argument_of_a_reading_verb_may_be_anything(filled, verb):
    assert foreign_errors(getattr(filled, verb), VERBS[verb]) == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("verb", WRITING)
def test_every_argument_of_a_writing_verb_may_be_anything(filled, verb):
    transaction = filled.write()

    errors = foreign_errors(getattr(transaction, verb), WRITING[verb])

    transaction.abort()
    assert errors == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_of_a_function_may_be_anything(name):
    assert foreign_errors(getattr(simdb, name), FUNCTIONS[name]) == []


def test_a_distance_that_blocks_cannot_serve_is_refused_with_the_remedy():
    with pytest.raises(simdb.OptionError, match=r"distance must be .* from 0 to 63, got 64"):
        simdb.find_all(BITS, 64, 64)
    with pytest.raises(simdb.OptionError, match=r"use blocks=64 or more"):
        simdb.find_all(BITS, 63, 63)
