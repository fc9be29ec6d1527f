"""Metadata come back equal, or are refused before anything is stored."""

import enum
import io
import math
from collections import OrderedDict, namedtuple

import hypothesis.strategies as st
import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from over import over

import simdb
from simdb.core.errors import CorruptError, InputError
from simdb.database.maintenance import dump as dumping
from simdb.storage import codec, metadata as storing
from simdb.storage.metadata import pack_every, pack_metadata

Point = namedtuple("Point", "x y")


class Colour(str, enum.Enum):
    RED = "red"


class Unequal(str):
    """Text that says it is another."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return False


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(allow_nan=False),
    st.floats(allow_nan=False).map(np.float64),
    st.integers(-5, 5).map(np.int64),
    st.text(max_size=3),
    st.text("\ud800\u0105\u4e2dx", max_size=2),
    st.text(max_size=2).map(np.str_),
    st.binary(max_size=3),
    st.binary(max_size=3).map(bytearray),
    st.binary(max_size=3).map(memoryview),
    st.sampled_from([Colour.RED, Unequal("a"), object(), 1j, frozenset([1]), msgpack.Timestamp(1)]),
)
keys = st.one_of(
    st.text(max_size=2),
    st.binary(max_size=2),
    st.integers(-2, 2),
    st.booleans(),
    st.floats(allow_nan=False),
    st.tuples(st.integers(0, 2)),
    st.sampled_from([None, Colour.RED, Unequal("a"), Unequal("b")]),
)
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=2).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        st.dictionaries(keys, inner, max_size=3).map(OrderedDict),
    ),
    max_leaves=8,
)


def read_back(packed):
    return codec.unpack(packed, "metadata")


def outcome_of(pack, *arguments):
    """What is packed, or the message of the refusal."""
    try:
        return pack(*arguments)
    except InputError as error:
        return str(error)


@settings(max_examples=10 * settings.default.max_examples)
@given(anything)
def test_whatever_is_stored_comes_back_equal_or_is_refused_by_name(value):
    outcome = outcome_of(pack_metadata, value, "document 'a'")

    is_refused = isinstance(outcome, str)
    assert "metadata of document 'a'" in outcome if is_refused else read_back(outcome) == value


@given(st.lists(anything, max_size=8))
def test_many_are_stored_as_each_alone(in_threes, values):
    alone = [outcome_of(pack_metadata, each, str(at)) for at, each in enumerate(values)]

    outcome = outcome_of(pack_every, [*values, None], str)

    refusals = [each for each in alone if isinstance(each, str)]
    expected = [(at, each) for at, each in enumerate(alone) if values[at] is not None]
    assert outcome == (refusals or [expected])[0]


@pytest.fixture(scope="module")
def in_threes():
    """Groups of three, so that lists of eight are several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storing, "CHECKED_TOGETHER", 3)
        yield


@over(
    ("metadata", "message"),
    [
        ((1, 2), r"document 'b' cannot be stored: \(1, 2\) is a tuple.*use a list"),
        (Point(1, 2), r"Point\(x=1, y=2\) is a tuple.*use a list"),
        ({"a": [{"b": (1,)}]}, r"'b', at \['a'\]\[0\]\['b'\], cannot .*is a tuple"),
        ({"a": {("x", 1): 2}}, r"at \['a'\], cannot .*\('x', 1\) is a tuple as a key.*use a str"),
        ({"s": np.float64(1), "t": (1,)}, r"at \['t'\], cannot"),
        ({math.nan: 1}, "nan is a float as a key"),
        ({np.float64("nan"): 1}, "as a key"),
        ({Unequal("a"): 1, Unequal("a"): 2}, "'a' is a Unequal as a key"),
        ([Unequal("a")], r"at \[0\], cannot .*come back as another"),
        ({frozenset([1]): 2}, "cannot be stored"),
        ([np.int64(3)], "cannot be stored.*numpy.int64.*use None, bool, int"),
        ({"a": [0, {1}]}, r"at \['a'\]\[1\], cannot be stored.*'set' object"),
        ({"a": {"b": 2**80}}, r"at \['a'\]\['b'\], .*out of range; use .* int \(of 64 bits\)"),
        (["x", "\ud800"], r"at \[1\], cannot be stored: .*surrogates not allowed"),
        ({"\ud800": 1}, "surrogates not allowed"),
        ([-(2**63) - 1], "cannot be stored"),
        (memoryview(np.arange(10))[::2], "cannot be stored.*contiguous"),
    ],
)  # fmt: skip
def test_what_would_come_back_as_something_else_is_refused_with_its_place(
    database, metadata, message
):
    with pytest.raises(InputError, match=message):
        database.insert_many(["a", "b"], [1, 2], [{"fine": 1}, metadata])

    assert len(database) == 0


def test_nan_is_a_value_like_any_other_that_is_no_key(database):
    database.insert_many([1, 2], [1, 2], [{"score": math.nan}, [np.float64("nan"), "x"]])

    assert math.isnan(database.get(1).metadata["score"])
    assert math.isnan(database.get(2).metadata[0])


def test_metadata_are_as_deep_as_can_be_read_again_and_no_deeper(database):
    deepest = 0
    for _ in range(500):
        deepest = [deepest]
    deeper = deepest
    for _ in range(100_000):
        deeper = [deeper]

    database.insert("deep", 1, deepest)

    with pytest.raises(InputError, match="metadata of document 'deeper'"):
        database.insert("deeper", 1, deeper)
    assert database.get("deep").metadata == deepest


def test_a_mapping_is_not_taken_for_the_metadata_of_many(database):
    with pytest.raises(InputError, match=r"a list with an object or None for each.*got dict.*get"):
        database.insert_many([1, 2], [1, 2], {1: "one", 2: "two"})

    assert len(database) == 0


def store_as_earlier(database, monkeypatch, packed):
    """Store a document with metadata in a form that nothing but an earlier version made."""
    monkeypatch.setattr(codec, "pack_exactly", lambda value: packed)
    monkeypatch.setattr(storing, "_is_sure", lambda packed: True)
    database.insert("old", 1, {"a": 1})
    monkeypatch.undo()


def test_a_dump_that_could_not_be_loaded_is_not_made(tmp_path, monkeypatch):
    database = simdb.open(tmp_path / "db")
    store_as_earlier(database, monkeypatch, msgpack.packb({"a": {(1,): 2}}))

    with pytest.raises(CorruptError, match="metadata of ordinal 0 is not readable"):
        database.dump(io.BytesIO())

    database.close()


def test_a_dump_whose_metadata_cannot_have_been_stored_is_refused(database, tmp_path, monkeypatch):
    store_as_earlier(database, monkeypatch, msgpack.packb({math.nan: 1}))
    dump = io.BytesIO()
    with monkeypatch.context() as unchecked:
        unchecked.setattr(dumping.metadata, "check_packed", lambda packed, what: None)
        database.dump(dump)
    dump.seek(0)

    with pytest.raises(CorruptError, match=r"metadata of document 0 in the dump.*as a key"):
        simdb.load(dump, tmp_path / "new")

    assert not (tmp_path / "new").exists()
