"""LeanMinHash: its bytes are described in the module, and written here by hand."""

import pickle
import struct

import pytest

import simdb
from simdb.compat.datasketch import LeanMinHash, MinHash

SCHEMES = ("affine32", "affine64", "legacy")


def made(scheme="affine32", values=(b"a", b"b"), num_perm=5):
    return MinHash.bulk([values], num_perm=num_perm, seed=9, scheme=scheme)[0]


@pytest.mark.parametrize("order", "@=<>!")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_bytes_are_those_of_the_format(scheme, order) -> None:
    lean = LeanMinHash(made(scheme))
    head, letter, code = {
        "affine32": ("qiB", "I", [-5, 1]), "affine64": ("qiB", "Q", [-5, 2]),
        "legacy": ("qi", "I", [5]),
    }[scheme]  # fmt: skip
    expected = struct.pack(f"{order}{head}5{letter}", 9, *code, *lean.hashvalues.tolist())
    content = bytearray(lean.bytesize(order) + 3)

    lean.serialize(content, order)
    again = LeanMinHash.deserialize(content, order)

    assert content == expected + bytes(3)
    assert again == lean == pickle.loads(pickle.dumps(lean))
    assert again.hashvalues.dtype == lean.hashvalues.dtype
    assert (again.scheme, again.seed) == (scheme, 9)


def test_a_lean_minhash_is_independent_and_hashable() -> None:
    full = made()
    lean, same = LeanMinHash(full), LeanMinHash(full)

    full.update(b"c")
    copied = lean.copy()
    copied.merge(full)

    assert lean == same == LeanMinHash(made())
    assert {lean: 1}[same] == 1
    assert copied == LeanMinHash(full) != lean
    assert lean != made()
    assert lean.jaccard(made()) == 1


def test_a_union_is_lean() -> None:
    united = LeanMinHash.union(made(values=[b"a"]), LeanMinHash(made(values=[b"b"])))

    assert united == LeanMinHash(made(values=[b"a", b"b"]))
    with pytest.raises(simdb.InputError, match="two or more"):
        LeanMinHash.union(made())


def test_it_cannot_be_updated() -> None:
    lean = LeanMinHash(made())

    with pytest.raises(TypeError, match="cannot be updated"):
        lean.update(b"a")
    with pytest.raises(TypeError, match="cannot be updated"):
        lean.update_batch([b"a"])


def test_it_is_made_from_hash_values() -> None:
    full = made("legacy")

    lean = LeanMinHash(seed=9, hashvalues=full.hashvalues.tolist(), scheme="legacy")
    lean.clear()

    assert lean.is_empty()
    assert LeanMinHash(full) == LeanMinHash(seed=9, hashvalues=full.hashvalues, scheme="legacy")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seed": 1},
        {"hashvalues": [1]},
        {"seed": 1, "hashvalues": [1]},
        {"seed": 1, "hashvalues": [1], "scheme": "sha"},
        {"seed": 1, "hashvalues": [], "scheme": "legacy"},
        {"seed": 1, "hashvalues": [-1], "scheme": "legacy"},
        {"minhash": MinHash(2), "scheme": "legacy"},
    ],
)
def test_invalid_arguments_are_refused(options) -> None:
    with pytest.raises(ValueError, match=" "):
        LeanMinHash(**options)


@pytest.mark.parametrize("content", [b"", bytes(11), struct.pack("=qiB", 1, -3, 9) + bytes(20)])
def test_bytes_that_are_no_minhash_are_refused(content) -> None:
    with pytest.raises(simdb.InputError, match=r"no LeanMinHash|is empty|unknown|3"):
        LeanMinHash.deserialize(content)


def test_a_short_buffer_is_refused() -> None:
    with pytest.raises(simdb.InputError, match="has 4 bytes, but the MinHash needs"):
        LeanMinHash(made()).serialize(bytearray(4))
