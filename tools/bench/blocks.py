"""How much does compressing the one sorted table of PSM save, and what does a look-up cost then?

Random keys and their ordinals are stored in several forms, which `blocks.c` looks up:

tags     As simdb stores them: a directory and 16 bits of each key.  The whole key is stored by
         ordinal.

packed   A directory and all bits after the header, without gaps.

blocks   Blocks of several sizes, as in Manku, Jain & Das Sarma 2007, section 3.2.  For each key,
         Huffman's code gives the highest bit in which it differs from the key before; the bits
         after it follow.  Blocks are found by interpolation of their last keys, or by a directory.

A query looks up its header of floor(log2 n) - 1 bits and all flips of four of its bits; every
second query is near a key.  A match differs in at most 3 of the other bits.  Each turn has other
queries, and all forms must find the same.  "bytes" is the size of the table with its ordinals; tags
always need the 8 bytes of the whole key by ordinal, too.

    NUMPY_MADVISE_HUGEPAGE=0 python tools/bench/blocks.py -n 1M 10M     # pages of 4 KB, as of files
"""

import ctypes
import heapq
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from record import Record, in_turns, number, options, recorded, short

FLAGS = ["-std=c11", "-O3", "-Wall", "-Wextra", "-shared", "-fPIC"]
TAGS, PACKED, BLOCKS_BY_LAST_KEYS, BLOCKS_BY_DIRECTORY = range(4)
FLIPPED, TURNS, LINE, HEAD, PEEKED, ROOM = 4, 8, 64, 13, 10, 64
Numbers = npt.NDArray[Any]
Asked = tuple[Numbers, Numbers]  # queries, and the flips of each


class Code(ctypes.Structure):
    """Huffman's code for symbols 0 to 63, as `blocks.c` reads it."""

    _fields_ = (
        ("codes", ctypes.c_uint64 * 64), ("lengths", ctypes.c_uint8 * 64),
        ("ranked", ctypes.c_uint8 * 64), ("peek", ctypes.c_uint16 * (1 << PEEKED)),
    )  # fmt: skip

    def __init__(self, times: list[int]) -> None:
        super().__init__()
        heap = [(64 * count + 1, [symbol]) for symbol, count in enumerate(times)]
        heapq.heapify(heap)
        while len(heap) > 1:
            (left, some), (right, others) = heapq.heappop(heap), heapq.heappop(heap)
            for symbol in some + others:
                self.lengths[symbol] += 1
            heapq.heappush(heap, (left + right, some + others))
        at = 0
        for rank, symbol in enumerate(sorted(range(64), key=lambda each: self.lengths[each])):
            self.ranked[rank], self.codes[symbol], length = symbol, at, self.lengths[symbol]
            for prefix in range(at >> 64 - PEEKED, at + (1 << 64 - length) >> 64 - PEEKED):
                if length <= PEEKED:
                    self.peek[prefix] = symbol | length << 8
            at += 1 << 64 - length


class Pointers(ctypes.Structure):
    """A structure of `blocks.c` that keeps the arrays it points to."""

    def __init__(self, **arrays: Any) -> None:
        self.arrays = arrays
        super().__init__(**{name: address(each) for name, each in arrays.items()})


def pointers(*names: str) -> list[tuple[str, Any]]:
    return [(name, ctypes.c_void_p) for name in names]


class Table(Pointers):
    """A sorted table in the forms that have a directory of keys."""

    _fields_ = (
        ("n", ctypes.c_int64), ("t", ctypes.c_int64),
        *pointers("keys", "whole", "ordinals", "directory", "tags", "packed"),
    )  # fmt: skip


class Blocks(Pointers):
    """A sorted table in blocks of `size` bytes."""

    _fields_ = (
        ("size", ctypes.c_int64), ("count", ctypes.c_int64), ("bits", ctypes.c_int64),
        *pointers("bytes", "last", "directory", "code"),
    )  # fmt: skip


Form = tuple[int, Blocks | None, float]  # number in `blocks.c`, blocks, bytes a key


def address(given: Any) -> int:
    """Return the address of an array or a structure; a number is itself."""
    if isinstance(given, ctypes.Structure):
        return ctypes.addressof(given)
    return int(given.ctypes.data if isinstance(given, np.ndarray) else given)


def pointer(array: Numbers) -> ctypes.c_void_p:
    return ctypes.c_void_p(address(array))


def library(folder: Path, flags: list[str]) -> Any:
    target = folder / "blocks.so"
    source = Path(__file__).with_suffix(".c")
    subprocess.run(["cc", *FLAGS, *flags, str(source), "-o", str(target)], check=True)
    made = ctypes.CDLL(str(target))
    made.look_up.restype = ctypes.c_int64
    return made


def from_line(count: int) -> Numbers:
    """Make `count` bytes from a cache line on, with room to read beyond."""
    whole = np.zeros(count + LINE + ROOM, np.uint8)
    return whole[-address(whole) % LINE :][: count + ROOM]


def positions(keys: Numbers, bits: int) -> Numbers:
    """Return the first position of each header of `bits` bits, and the number of keys."""
    starts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    return np.append(np.searchsorted(keys, starts), len(keys)).astype(np.uint32)


def table_of(made: Any, whole: Numbers) -> Table:
    bits = len(whole).bit_length() - 2
    ordinals = np.argsort(whole).astype(np.uint32)
    keys = whole[ordinals]
    packed = from_line(len(keys) * (64 - bits) // 8 + 1)
    made.pack(pointer(keys), ctypes.c_int64(len(keys)), 64 - bits, pointer(packed))
    return Table(
        n=len(keys), t=bits, keys=keys, whole=whole, ordinals=ordinals, packed=packed,
        directory=positions(keys, bits), tags=(keys >> np.uint64(48 - bits)).astype(np.uint16),
    )  # fmt: skip


def code_of(keys: Numbers) -> Code:
    times = np.zeros(64, np.int64)
    for start in range(0, len(keys), 1 << 20):
        part = keys[start : start + (1 << 20) + 1]
        differing = (part[1:] ^ part[:-1]).astype(np.longdouble)
        times += np.bincount(64 - np.frexp(differing)[1], minlength=64)
    return Code(times.tolist())


def blocks_of(made: Any, keys: Numbers, size: int, code: Code) -> Blocks:
    most = len(keys) * 10 // (size - HEAD) + 2
    filled = Blocks(size=size, bytes=from_line(most * size), last=np.zeros(most, np.uint64),
                    code=code)  # fmt: skip
    made.fill_blocks(pointer(keys), ctypes.c_int64(len(keys)), ctypes.byref(filled))
    count, arrays = filled.count, filled.arrays
    bits = count.bit_length()
    arrays |= {"last": arrays["last"][:count].copy(), "count": count, "bits": bits}
    arrays["directory"] = np.minimum(positions(arrays["last"], bits), count - 1).astype(np.uint32)
    return Blocks(**arrays)


def questions(keys: Numbers, bits: int, count: int, seed: int) -> Iterator[Asked]:
    """Yield queries for each turn."""
    chance = np.random.default_rng(seed)
    for _ in range(TURNS):
        queries = chance.integers(0, 2**64, count, np.uint64)
        near = keys[chance.integers(0, len(keys), len(queries[::2]))]
        for _ in range(2):
            near ^= np.uint64(1) << chance.integers(0, 64 - bits, len(near), np.uint64)
        queries[::2] = near
        places = np.argsort(chance.random((count, bits)), axis=1)[:, :FLIPPED] + 64 - bits
        flips = np.zeros((count, 1 << FLIPPED), np.uint64)
        for chosen in range(1 << FLIPPED):
            for bit in range(FLIPPED):
                if chosen >> bit & 1:
                    flips[:, chosen] |= np.uint64(1) << places[:, bit].astype(np.uint64)
        yield queries, flips


def forms_of(table: Table, blocks: list[Blocks]) -> dict[str, Form]:
    """Return each form, and its bytes a key: columns, or blocks and how they are found."""
    n, bits = table.n, table.t
    directory = 4 * (2**bits + 1) / n
    forms: dict[str, Form] = {
        "tags": (TAGS, None, 2 + 4 + directory),
        "packed": (PACKED, None, (64 - bits) / 8 + 4 + directory),
    }
    for each in blocks:
        whole = each.count * each.size / n + 4
        name = f"blocks of {each.size}, by"
        by_directory = whole + 4 * 2**each.bits / n
        forms[f"{name} last keys"] = BLOCKS_BY_LAST_KEYS, each, whole + 8 * each.count / n
        forms[f"{name} directory"] = BLOCKS_BY_DIRECTORY, each, by_directory
    return forms


def look_up(made: Any, table: Table, form: Form, asked: Asked) -> tuple[int, int]:
    """Return the number of matches of the queries, and their ordinals under exclusive or."""
    queries, flips = asked
    number, blocks, _ = form
    total = ctypes.c_uint64()
    matches = made.look_up(
        ctypes.byref(table), blocks and ctypes.byref(blocks), number, pointer(queries),
        pointer(flips), ctypes.c_int64(len(queries)), ctypes.byref(total),
    )  # fmt: skip
    return matches, total.value


def run(record: Record, made: Any, count: int) -> None:
    """Let all forms of `count` keys take turns."""
    given = record.arguments
    chance = np.random.default_rng(given.seed)
    table = table_of(made, chance.integers(0, 2**64, count, np.uint64))
    keys = table.arrays["keys"]
    code = code_of(keys)
    blocks = [blocks_of(made, keys, size, code) for size in given.sizes]
    asked = list(questions(keys, table.t, given.queries, given.seed))
    forms = forms_of(table, blocks)

    def ask(form: Form, turns: Iterator[Asked]) -> tuple[int, int]:
        return look_up(made, table, form, next(turns))

    usual = [look_up(made, table, forms["tags"], each) for each in asked]
    for name, form in forms.items():
        if usual != [look_up(made, table, form, each) for each in asked]:
            raise SystemExit(f"{name} found something else than tags")
    tasks = {name: partial(ask, form, cycle(asked)) for name, form in forms.items()}
    timings = in_turns(tasks, given.repeats)
    for name, timing in timings.items():
        spent, size = float(np.median(timing.processor)), forms[name][2]
        ratio = float(np.median(np.divide(timing.processor, timings["tags"].processor)))
        facts = {"documents": count, "form": name, "bytes": size, "ratio": ratio}
        note = f"{size:.2f} bytes, {ratio:.2f} times tags"
        cost = spent / given.queries / (1 << FLIPPED) * 1e9
        record.add(f"{short(count)}, {name}", cost, "ns", timing, note, facts)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 128, 64])
    parser.add_argument("--queries", type=number, default=20_000)
    parser.add_argument("--flags", default="-march=x86-64-v3", help="of the compiler")
    with recorded(__doc__, parser) as record, tempfile.TemporaryDirectory() as folder:
        made = library(Path(folder), record.arguments.flags.split())
        for count in record.arguments.n:
            run(record, made, count)


if __name__ == "__main__":
    main()
