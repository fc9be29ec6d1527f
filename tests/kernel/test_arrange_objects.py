"""Lines of JSON: what is taken is what the standard library reads, and plain lines are taken."""

import json

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from over import over

from simdb.core import kernel

TAKEN, BLANK, REFUSED = range(3)
TEXTS, OTHERS = [("text",), ("m", "t"), ("m.t",)], [("id",), ("m", "id")]
WHOLE = range(-(10**18) + 1, 10**18)

names = st.sampled_from(["text", "m", "m.t", "t", "id", "\u00e9", "", 'q"', "\\", "n"])
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-9, 9), st.text(), st.floats()
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=4)),
    max_leaves=8,
)
objects = st.dictionaries(names, values, max_size=5)
written = st.builds(
    lambda value, is_ascii, space: json.dumps(
        value, ensure_ascii=is_ascii, separators=(f"{space},{space}", f"{space}:{space}")
    ).encode("utf-8", "surrogatepass"),
    objects, st.booleans(), st.sampled_from(["", " ", " \t", "\r"]),
)  # fmt: skip
PIECES = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b'"text"', b'"m"', b'"a":', b"null", b"true",
    b"nul", b"0", b"-", b"01", b"1.5e-3", b".5", b"1e", b"-0", b" ", b"\t", b"\r", b"\\u00e9",
    b"\x00", b"\\ud83d", b"\\ude00", b"\\u12g4", b"\\x", b'"id": 7', b'{"t": "x"}', b"NaN",
    "\u00e9".encode(), b"\x1f",
]  # fmt: skip


def scanned(*lines, texts=TEXTS, others=OTHERS):
    """Return for each line what became of it, and the values at all paths."""
    content = b"".join(line + b"\n" for line in lines)
    sizes, taken, addresses, lengths, kinds, spare = kernel.scan_objects(content, texts, others)
    assert sizes.tolist() == [len(line) + 1 for line in lines]
    columns = [
        kernel.values_at(addresses[at], lengths[at], kinds[at]) for at in range(len(lengths))
    ]
    del spare, content
    return list(zip(taken.tolist(), zip(*columns, strict=True), strict=True))


class Repeated(Exception):  # noqa: N818 - it is no error
    """An object has a name twice."""


def unique(pairs):
    if len(dict(pairs)) < len(pairs):
        raise Repeated
    return dict(pairs)


def at(record, path):
    for name in path:
        record = record.get(name) if isinstance(record, dict) else None
    return record


def read(line):
    """Return the values at all paths; None if the standard library refuses the line."""
    try:
        record = json.loads(line, object_pairs_hook=unique)
    except Repeated:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return [at(record, path) for path in (*TEXTS, *OTHERS)] if isinstance(record, dict) else None


def is_plain(found):
    """Whether the kernel takes such values."""
    texts, others = found[: len(TEXTS)], found[len(TEXTS) :]
    return all(each is None or isinstance(each, str) for each in texts) and all(
        each is None or isinstance(each, str) or (type(each) is int and each in WHOLE)
        for each in others
    )


@given(st.lists(st.one_of(written, st.lists(st.sampled_from(PIECES)).map(b"".join)), max_size=6))
@example([b'{"text": "a", "text": "b"}', b'{"m": {"t": "x"}, "m": {"t": "y"}}'])
@example([b'{"m": 5, "m": {"t": "x"}}', b'{"m": {"t": "x", "t": "y"}}'])
@example([b'{"\\u0074ext": "named by an escape"}', b'{"text": "\\ud83d\\ude00\\/\\b\\u0000"}'])
@example([b"[1, 2]", b'{"a": [[], {}, [{}], {"b": [1]}], "text": "x"} ', b"{} {}", b"{},"])
def test_what_is_taken_is_what_the_standard_library_reads(lines):
    lines = [line.replace(b"\n", b" ") for line in lines]
    for line, (became, values) in zip(lines, scanned(*lines) if lines else [], strict=True):
        if became == BLANK:
            assert line.strip(b" \t\r") == b""
        elif became == TAKEN:
            assert list(values) == read(line)


@given(st.lists(objects, min_size=1, max_size=6), st.booleans())
def test_objects_with_plain_values_are_taken(records, is_ascii):
    lines = [json.dumps(record, ensure_ascii=is_ascii).encode() for record in records]
    for line, (became, values) in zip(lines, scanned(*lines), strict=True):
        expected = read(line)
        is_finite = b"NaN" not in line and b"Infinity" not in line
        assert became == (TAKEN if is_finite and is_plain(expected) else REFUSED), line
        if became == TAKEN:
            assert list(values) == expected


@over(
    "line",
    [
        b'{"text": "a", "text": "b"}', b'{"m": {"t": "x"}, "m": {"t": "y"}}',
        b'{"m": 5, "m": {"t": "x"}}', b'{"m": {"t": "x", "t": "y"}}', b'{"id": 1, "id": 1}',
        b'{"text": "\\ude00"}', b'{"text": "\\ud83d"}', b'{"text": "\\ud83d\\u0041"}',
        b'{"text": "\\ud83dx"}', b'{"n": "\\ude00"}', b'{"id": 01}', b'{"n": -01}', b'{"n": 00}',
        b'{"text": "a"', b'{"text": "a"}}', b'{"text": "a"} x', b'[{"text": "a"}]', b'{"n": }',
    ],
)  # fmt: skip
def test_what_a_library_must_look_at_is_refused(line):
    ((became, _),) = scanned(line)

    assert became == REFUSED


def test_texts_with_escapes_stay_beside_each_other():
    lines = [b'{"text": "%d\\n%d", "m": {"t": "\\t%d"}}' % (at, at, at) for at in range(50)]

    for at, (became, values) in enumerate(scanned(*lines)):
        assert (became, values[:2]) == (TAKEN, (f"{at}\n{at}", f"\t{at}"))


@over("length", [*range(40), 200])
@over("special", [b"\\n", b"\\u00e9", b"\\ud83d\\ude00", b"\xc3\xa9", b"\x1f", b'\\"', b"\x7f"])
def test_special_bytes_are_found_wherever_they_are(length, special):
    text = b"x" * length + special + b"y" * (length % 9)
    ((became, values),) = scanned(b'{"text": "' + text + b'"}')

    if special == b"\x1f":
        assert became == REFUSED
    else:
        assert (became, values[0]) == (TAKEN, json.loads(b'"' + text + b'"'))


@over("depth, became", [(1000, TAKEN), (2**17, TAKEN), (2**17 + 1, REFUSED)])
@over("pair", [("[", "]"), ('{"a":', "}")])
def test_lists_and_objects_may_be_deep(depth, became, pair):
    opened, closed = pair
    inner = opened * depth + "1" + closed * depth
    ((found, values),) = scanned(f'{{"x": {inner}, "text": "a"}}'.encode())

    assert found == became
    assert found == REFUSED or values[0] == "a"


@over("digits, became", [(18, TAKEN), (19, REFUSED)])
def test_whole_numbers_that_fit_are_values(digits, became):
    line = b'{"id": -' + b"7" * digits + b"}"
    ((found, values),) = scanned(line)

    assert found == became
    assert found == REFUSED or values[3] == -int("7" * digits)


def test_a_number_that_a_reader_might_refuse_is_refused():
    lines = [b'{"x": ' + b"7" * digits + b"}" for digits in (512, 513)]

    assert [became for became, _ in scanned(*lines)] == [TAKEN, REFUSED]


def test_odd_arguments_are_refused():
    for content, paths in (
        (b"{}", [("a",)]),
        (b"", [("a",)]),
        (b"{}\n", []),
        (b"{}\n", [()]),
        (b"{}\n", [(str(at),) for at in range(33)]),
    ):
        with pytest.raises(ValueError, match=r"line feed|paths"):
            kernel.scan_objects(content, paths, [])
    lines = scanned(b'{"31": "x"}', texts=[(str(at),) for at in range(32)], others=[])
    assert lines[0][1][31] == "x"


def test_bytes_at_addresses_are_put_one_after_the_other():
    content = np.frombuffer(b"abcdefgh", np.uint8)
    places, lengths = np.array([5, 0, 2, 0, 7]), np.array([2, 0, 3, -1, 1])
    addresses = (content.ctypes.data + places).astype(np.uint64)

    assert kernel.bytes_at(addresses, lengths).tobytes() == b"fgcdeh"
    assert len(kernel.bytes_at(addresses[:0], lengths[:0])) == 0
    with pytest.raises(ValueError, match="differ in number"):
        kernel.bytes_at(addresses, lengths[1:])
