"""Arrange: permutes, sorts, merges and indexes columns, joins components and encodes ids, in numpy.

The functions give the same answers as those of `simdb_ext._arrange`; its stub has the contracts.
They serve machines without a compiled kernel and are its readable definition.
"""

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import mmh3
import numpy as np
import numpy.typing as npt

from simdb.checks import shown
from simdb.errors import CorruptError, InputError

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

WORD_BITS = 64
HEADER_BITS_MAX = 32
ORDINAL_COUNT_MAX = 2**32  # ordinals are uint32
ID_BYTES_MAX = 1023
INT_BYTES = 8
ENTRY_SUM_LOW, ENTRY_SUM_HIGH = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77)


def variants() -> list[str]:
    """Return the names of all variants: numpy is the only one."""
    return ["numpy"]


def select(variant: str) -> str:
    """Use `variant` from now on; return the name of the variant used before."""
    if variant != "numpy":
        raise ValueError(f"no variant {variant!r}; there are: numpy")
    return "numpy"


def permute(fingerprints: U64, mask: int, out: U64) -> None:
    """Write the keys of a table to `out`: bits in `mask` in front, each group in its old order."""
    _check_permutation(fingerprints, mask, out)
    keys = np.zeros_like(fingerprints)
    for rotation, targets in _rotations(mask).items():
        keys |= _rotated(fingerprints, rotation) & np.uint64(targets)
    out[:] = keys


def restore(keys: U64, mask: int, out: U64) -> None:
    """Write the fingerprints of keys to `out`; reverses `permute`."""
    _check_permutation(keys, mask, out)
    fingerprints = np.zeros_like(keys)
    for rotation, targets in _rotations(mask).items():
        back = WORD_BITS - rotation
        fingerprints |= _rotated(keys & np.uint64(targets), back)
    out[:] = fingerprints


def sort(keys: U64, ordinals: U32) -> None:
    """Sort both columns in place by key; entries with equal keys keep their order (stable)."""
    _check_table(keys, ordinals)
    order = np.argsort(keys, kind="stable")
    keys[:] = keys[order]
    ordinals[:] = ordinals[order]


def merge(
    left_keys: U64,
    left_ordinals: U32,
    right_keys: U64,
    right_ordinals: U32,
    keys: U64,
    ordinals: U32,
) -> None:
    """Merge two sorted tables into `keys` and `ordinals`; of equal keys, the left come first."""
    _check_table(left_keys, left_ordinals)
    _check_table(right_keys, right_ordinals)
    _check_table(keys, ordinals)
    wanted = len(left_keys) + len(right_keys)
    if len(keys) != wanted:
        raise ValueError(f"room for {len(keys)} entries, but {wanted} are merged")
    both = np.concatenate([left_keys, right_keys])
    order = np.argsort(both, kind="stable")
    keys[:] = both[order]
    ordinals[:] = np.concatenate([left_ordinals, right_ordinals])[order]


def keep(keys: U64, ordinals: U32, dead: U8, keys_out: U64, ordinals_out: U32) -> int:
    """Copy the entries whose ordinal's bit is not set in `dead`; return how many."""
    _check_table(keys, ordinals)
    _check_table(keys_out, ordinals_out)
    _check_column(dead, np.uint8)
    if len(keys_out) < len(keys):
        raise ValueError(f"room for {len(keys_out)} entries, but up to {len(keys)} are copied")
    if len(ordinals) and int(ordinals.max()) >> 3 >= len(dead):
        raise CorruptError(f"ordinal {ordinals.max()} has no bit among {len(dead)} bytes")
    alive = dead[ordinals >> 3] >> (ordinals & 7).astype(np.uint8) & 1 == 0
    count = int(np.count_nonzero(alive))
    keys_out[:count] = keys[alive]
    ordinals_out[:count] = ordinals[alive]
    return count


def directory(keys: U64, header_bits: int, out: U32) -> None:
    """Write the position of the first key at or above each header: uint32[2**header_bits + 1]."""
    _check_column(keys, np.uint64)
    _check_column(out, np.uint32)
    if not 0 <= header_bits <= HEADER_BITS_MAX:
        raise ValueError(f"header_bits is {header_bits}, not from 0 to {HEADER_BITS_MAX}")
    if len(out) != 2**header_bits + 1:
        wanted = 2**header_bits + 1
        raise ValueError(f"a directory of {len(out)} positions, but the headers need {wanted}")
    if len(keys) >= ORDINAL_COUNT_MAX:
        raise ValueError(f"{len(keys)} keys; a directory counts up to {ORDINAL_COUNT_MAX - 1}")
    out[0] = 0
    out[-1] = len(keys)
    if header_bits:
        firsts = np.arange(1, 2**header_bits, dtype=np.uint64)
        out[1:-1] = np.searchsorted(keys, firsts << np.uint64(WORD_BITS - header_bits))


def first_descent(keys: U64) -> int:
    """Return the position of the first key that is smaller than the key before it, or -1."""
    _check_column(keys, np.uint64)
    descents = np.flatnonzero(keys[1:] < keys[:-1])
    return int(descents[0]) + 1 if len(descents) else -1


def entry_sum(keys: U64, ordinals: U32) -> int:
    """Return a checksum of the entries of a table, which their order does not change."""
    _check_table(keys, ordinals)
    low = keys.astype(np.uint32) + ordinals * ENTRY_SUM_LOW
    high = (keys >> np.uint64(32)).astype(np.uint32) + ordinals * ENTRY_SUM_HIGH
    return int((keys + low.astype(np.uint64) * high).sum(dtype=np.uint64))


class Forest:
    """A union-find structure over the numbers 0 .. count - 1."""

    def __init__(self, count: int) -> None:
        """Start with `count` components of one number each."""
        if not 0 <= count <= ORDINAL_COUNT_MAX:
            raise ValueError(f"count is {count}, not from 0 to {ORDINAL_COUNT_MAX}")
        self.parents = np.arange(count, dtype=np.uint32)

    def join(self, left: U32, right: U32) -> None:
        """Put left[i] and right[i] into one component, for every i."""
        self._check(left)
        self._check(right)
        if len(left) != len(right):
            raise ValueError(f"{len(left)} left and {len(right)} right ends")
        while len(left):
            left, right = self._roots(left), self._roots(right)
            is_apart = left != right
            left, right = left[is_apart], right[is_apart]
            # Each root gets one of its smaller partners as parent; other partners wait a round.
            np.minimum.at(self.parents, np.maximum(left, right), np.minimum(left, right))

    def labels(self) -> U32:
        """Return the smallest member of each number's component: uint32[count]."""
        return self._roots(np.arange(len(self.parents), dtype=np.uint32))

    def _roots(self, numbers: U32) -> U32:
        """Return the root of each number, and shorten the paths to the roots."""
        while True:
            # A number with a larger parent counts as a root.
            parents = np.minimum(self.parents[numbers], numbers)
            above = np.minimum(self.parents[parents], parents)
            if np.array_equal(parents, above):
                return parents
            self.parents[numbers] = above

    def _check(self, numbers: U32) -> None:
        """Raise TypeError or ValueError unless these are numbers of the forest."""
        _check_column(numbers, np.uint32)
        if len(numbers) and int(numbers.max()) >= len(self.parents):
            raise ValueError(f"number {numbers.max()} is not among {len(self.parents)}")


def encode_ids(ids: Sequence[Any]) -> tuple[I64, U8, U64]:
    """Return the stored form of user ids: offsets int64[n + 1], bytes, and hashes uint64[n].

    The offsets point into the bytes.  Raises InputError with the position and the reason.
    """
    forms = [_encode(id, position) for position, id in enumerate(ids)]
    lengths = np.fromiter(map(len, forms), np.int64, len(forms))
    hashes = (mmh3.hash64(form, 0, signed=False)[0] for form in forms)
    content = np.frombuffer(bytearray(b"".join(forms)), np.uint8)
    return _offsets(lengths), content, np.fromiter(hashes, np.uint64, len(forms))


def decode_ids(offsets: I64, content: U8) -> list[Any]:
    """Return the ids, as Python objects, for consecutive stored forms."""
    _check_offsets(offsets, content)
    stored = content.tobytes()
    bounds = offsets.tolist()
    return [_decode(stored[start:stop]) for start, stop in pairwise(bounds)]


class Identifiers:
    """A look-up of stored ids by ordinal, in segments of consecutive ordinals."""

    def __init__(self, segments: Sequence[tuple[int, U32, U8]]) -> None:
        """Take segments, in order: first ordinal, offsets uint32[k + 1] and the bytes of each."""
        stop = 0
        for first, offsets, content in segments:
            _check_column(offsets, np.uint32)
            _check_column(content, np.uint8)
            if len(offsets) == 0:
                raise ValueError(f"the segment of ordinal {first} has no offsets")
            if first < stop:
                raise ValueError(f"the segment of ordinal {first} does not begin after {stop - 1}")
            stop = first + len(offsets) - 1
            if stop > ORDINAL_COUNT_MAX:
                raise ValueError(f"the segment of ordinal {first} ends after {stop - 1}")
        self._segments = list(segments)
        self._firsts = np.array([first for first, _, _ in segments], np.int64)
        counts = np.array([len(offsets) - 1 for _, offsets, _ in segments], np.int64)
        self._stops = self._firsts + counts

    def followed_by(self, first: int, offsets: U32, content: U8) -> "Identifiers":
        """Return the same segments and one more, from the ordinal `first` on."""
        return Identifiers([*self._segments, (first, offsets, content)])

    def gather(self, ordinals: U32) -> tuple[I64, U8]:
        """Copy the stored forms of `ordinals`, which must all be present, in that order."""
        numbers = self._segment_numbers(ordinals)
        starts = np.zeros(len(ordinals), np.int64)
        lengths = np.zeros(len(ordinals), np.int64)
        for number in np.unique(numbers):
            chosen = np.flatnonzero(numbers == number)
            starts[chosen], lengths[chosen] = self._spans(number, ordinals[chosen])
        offsets = _offsets(lengths)
        gathered = np.empty(offsets[-1], np.uint8)
        for number in np.unique(numbers):
            chosen = np.flatnonzero(numbers == number)
            source = _flat(starts[chosen], lengths[chosen])
            gathered[_flat(offsets[chosen], lengths[chosen])] = self._segments[number][2][source]
        return offsets, gathered

    def decode(self, ordinals: U32) -> list[Any]:
        """Return the ids for `ordinals`."""
        return decode_ids(*self.gather(ordinals))

    def decode_one(self, ordinal: int) -> Any:
        """Return the id for one ordinal."""
        ordinal = operator.index(ordinal)
        if not 0 <= ordinal < ORDINAL_COUNT_MAX:
            raise CorruptError(f"ordinal {ordinal} lies in no segment")
        return self.decode(np.array([ordinal], np.uint32))[0]

    def equal(self, ordinals: U32, offsets: I64, content: U8) -> U8:
        """Return 1 if the form of ordinals[i] is content[offsets[i]:offsets[i + 1]], else 0."""
        _check_offsets(offsets, content)
        if len(offsets) != len(ordinals) + 1:
            raise ValueError(f"{len(offsets)} offsets for {len(ordinals)} ordinals")
        stored_offsets, stored = self.gather(ordinals)
        lengths = np.diff(offsets)
        same_length = np.flatnonzero(lengths == np.diff(stored_offsets))
        lengths = lengths[same_length]
        given_bytes = content[_flat(offsets[same_length], lengths)]
        is_other = given_bytes != stored[_flat(stored_offsets[same_length], lengths)]
        equal = np.zeros(len(ordinals), np.uint8)
        equal[same_length] = 1
        equal[np.repeat(same_length, lengths)[is_other]] = 0
        return equal

    def _segment_numbers(self, ordinals: U32) -> I64:
        """Return the number of the segment of each ordinal."""
        _check_column(ordinals, np.uint32)
        numbers = np.searchsorted(self._firsts, ordinals.astype(np.int64), side="right") - 1
        is_missing = numbers < 0
        if len(self._stops):
            is_missing |= ordinals >= self._stops[numbers]
        if is_missing.any():
            raise CorruptError(f"ordinal {ordinals[np.argmax(is_missing)]} lies in no segment")
        return numbers

    def _spans(self, number: int, ordinals: U32) -> tuple[I64, I64]:
        """Return starts and lengths of the stored forms of `ordinals` in a segment's bytes."""
        first, offsets, content = self._segments[number]
        rows = ordinals.astype(np.int64) - first
        starts, stops = offsets[rows].astype(np.int64), offsets[rows + 1].astype(np.int64)
        is_wrong = (starts > stops) | (stops > len(content))
        if is_wrong.any():
            raise CorruptError(f"the stored id of ordinal {ordinals[np.argmax(is_wrong)]} is torn")
        return starts, stops - starts


def _encode(id: Any, position: int) -> bytes:
    """Return the stored form of one id."""
    if isinstance(id, str):
        try:
            content = str.encode(id, "utf-8")
        except UnicodeEncodeError as error:
            raise InputError(f"id {position} has a lone surrogate: {error}") from error
        return b"s" + _checked_content(content, position)
    if isinstance(id, bytes):
        return b"b" + _checked_content(bytes(id), position)
    if isinstance(id, bool) or not isinstance(id, int | np.integer):
        raise InputError(f"id {position} is {type(id).__name__}, not str, bytes or int")
    number = operator.index(id)
    if -(2**63) <= number < 2**63:
        return b"i" + number.to_bytes(INT_BYTES, "little", signed=True)
    if 2**63 <= number < 2**64:
        return b"u" + number.to_bytes(INT_BYTES, "little")
    raise InputError(f"id {position} is {shown(number)}, not from -2**63 to 2**64 - 1")


def _checked_content(content: bytes, position: int) -> bytes:
    """Return the bytes of an id; InputError if they are too few or too many."""
    if not content:
        raise InputError(f"id {position} is empty")
    if len(content) > ID_BYTES_MAX:
        raise InputError(f"id {position} has {len(content):,} bytes, over {ID_BYTES_MAX:,}")
    return content


def _decode(form: bytes) -> Any:
    """Return the id for one stored form."""
    tag, content = form[:1], form[1:]
    if tag == b"s":
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorruptError(f"a stored id is not valid UTF-8: {error}") from error
    if tag == b"b":
        return content
    if tag in (b"i", b"u") and len(content) == INT_BYTES:
        return int.from_bytes(content, "little", signed=tag == b"i")
    raise CorruptError(f"a stored id has tag {tag!r} and {len(content)} bytes of content")


def _rotations(mask: int) -> dict[int, int]:
    """Return the left rotations that make up `permute`, each with the key bits that it sets."""
    rotations: dict[int, int] = {}
    leading = [bit for bit in reversed(range(WORD_BITS)) if mask >> bit & 1]
    others = [bit for bit in reversed(range(WORD_BITS)) if not mask >> bit & 1]
    for target, bit in zip(reversed(range(WORD_BITS)), leading + others, strict=True):
        rotation = (target - bit) % WORD_BITS
        rotations[rotation] = rotations.get(rotation, 0) | 1 << target
    return rotations


def _rotated(words: U64, rotation: int) -> U64:
    """Rotate words to the left."""
    rotation %= WORD_BITS
    if rotation == 0:
        return words
    return words << np.uint64(rotation) | words >> np.uint64(WORD_BITS - rotation)


def _offsets(lengths: I64) -> I64:
    """Return the start of each of consecutive pieces, and the end of the last one."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _flat(starts: I64, lengths: I64) -> I64:
    """Return the positions from starts[i] to starts[i] + lengths[i], one i after another."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def _check_permutation(words: U64, mask: int, out: U64) -> None:
    """Raise TypeError or ValueError unless `out` has room for `words`, permuted by `mask`."""
    _check_column(words, np.uint64)
    _check_column(out, np.uint64)
    if not 0 <= mask < 2**WORD_BITS:
        raise ValueError(f"mask is {mask}, not from 0 to 2**64 - 1")
    if len(words) != len(out):
        raise ValueError(f"{len(out)} words of room for {len(words)}")


def _check_table(keys: U64, ordinals: U32) -> None:
    """Raise TypeError or ValueError unless keys and ordinals are columns of one length."""
    _check_column(keys, np.uint64)
    _check_column(ordinals, np.uint32)
    if len(keys) != len(ordinals):
        raise ValueError(f"{len(keys)} keys with {len(ordinals)} ordinals")


def _check_offsets(offsets: I64, content: U8) -> None:
    """Raise TypeError or ValueError unless offsets ascend and lie within the content."""
    _check_column(offsets, np.int64)
    _check_column(content, np.uint8)
    if len(offsets) == 0 or offsets[0] < 0 or offsets[-1] > len(content):
        raise ValueError(f"offsets do not lie within the {len(content)} bytes")
    if (np.diff(offsets) < 0).any():
        raise ValueError("offsets descend")


def _check_column(array: npt.NDArray[Any], dtype: type[np.generic]) -> None:
    """Raise TypeError or ValueError unless an array is contiguous, of one axis and this type."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{type(array).__name__}, not an array of {dtype.__name__}")
    if array.dtype != dtype or array.ndim != 1 or not array.flags.c_contiguous:
        found = f"{array.dtype} of shape {array.shape} and strides {array.strides}"
        raise ValueError(f"{found}, not contiguous {dtype.__name__}")
