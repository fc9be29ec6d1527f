"""Hash values as minima, and back; keys of an index as ids of a database."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over

import simdb
from simdb.compat.minwise import AFFINE32, AFFINE64, LEGACY
from simdb.compat.row_form import MARK, WEIGHTED, NumberedKeys, WrittenKeys, packed


@over(
    ("values", "scheme"),
    [
        (np.array([2**32], np.uint64), LEGACY),
        (np.array([1.5]), AFFINE32),
        (np.array([[1]], np.uint32), AFFINE32),
        (np.array([-1]), AFFINE64),
        (np.array([[1, 2, 3]]), WEIGHTED),
        (np.array([[-1, 2]]), WEIGHTED),
        (np.array([[2**32, 2]]), WEIGHTED),
        (np.array([[1, 2**31]]), WEIGHTED),
        (np.array([[1.0, 2.0]]), WEIGHTED),
    ],
)
def test_values_that_do_not_fit_are_refused(values, scheme) -> None:
    with pytest.raises(simdb.InputError, match=r"hash value|pair"):
        packed(values, scheme)


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters()),
    st.binary(),
    st.binary().map(MARK.__add__),
)
KEYS = st.recursive(PLAIN, lambda each: st.lists(each, max_size=3).map(tuple), max_leaves=6)


@given(KEYS, KEYS)
def test_written_keys_come_back_and_are_equal_when_the_keys_are(left, right) -> None:
    keys = WrittenKeys()

    first, second = keys.encode(left), keys.encode(right)

    assert keys.decode(first) == left
    assert (first == second) == (left == right)
    assert isinstance(first, str | bytes | int)


@given(st.lists(KEYS, unique=True, max_size=8))
def test_numbered_keys_come_back(given_keys) -> None:
    keys = NumberedKeys()

    ids = [keys.encode(key) for key in given_keys]

    assert len(set(ids)) == len(ids)
    assert [keys.decode(id) for id in ids] == given_keys
    assert [keys.find(key) for key in given_keys] == ids


def test_a_forgotten_key_is_unknown() -> None:
    keys = NumberedKeys()
    id = keys.encode((1,))

    keys.forget(id)
    keys.forget(id)

    assert keys.find((1,)) is None
    assert keys.encode((1,)) != id


@over("key", [{1}, frozenset(), object(), float("nan"), 1j, ("a", [2])])
def test_a_key_that_is_not_written_is_refused(key) -> None:
    with pytest.raises(simdb.InputError, match=r"for example str\(key\)"):
        WrittenKeys().encode(key)

    assert WrittenKeys().find(key) is None


@over("content", [b"", b"f(1)", b"(" * 100000, b"\xff", b"__import__('os')"])
def test_bytes_that_only_begin_like_a_written_key_are_a_key(content) -> None:
    id = MARK + content

    assert WrittenKeys().decode(id) == id
