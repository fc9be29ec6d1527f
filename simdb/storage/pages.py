"""The pages of the data file, read without LMDB.

LMDB keeps no checksums of its pages and follows what they say: a flipped bit in a page number or
an offset can send it outside the file, which ends the process, or make it write over pages that
are in use.  So the pages are walked here, in plain reads, before LMDB does: when the database is
opened, for what could end the process (`is_whole` False), and by the deep check for everything.
What is held against each other, for the last commit:

* the two meta pages: magic, version, neighbouring commits;
* every tree: the number and kind of each page, its nodes inside the page and, if whole, in order,
  and the counts of pages and entries that its record gives;
* every value on pages of its own, and the list of free pages: inside the file, no page used twice.

The layout is that of LMDB 0.9 (lmdb.h and mdb.c), for little-endian machines with 64 bits:

    page        number u64 | pad u16 | flags u16 | lower u16 | upper u16, or count of pages u32
    meta        magic u32 | version u32 | address u64 | map bytes u64 | free tree | main tree |
                last page u64 | transaction u64
    tree        pad u32 | flags u16 | depth u16 | branch pages, leaf pages, overflow pages,
                entries and root u64 each
    node        low u16 | high u16 | flags u16 | key bytes u16 | key | data
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from simdb.errors import CorruptError

PAGE = struct.Struct("<QHHHH")
META = struct.Struct("<IIQQ48s48sQQ")
TREE = struct.Struct("<IHHQQQQQ")
NODE = struct.Struct("<HHHH")
NUMBER = struct.Struct("<Q")

MAGIC, VERSION = 0xBEEFC0DE, 1
BRANCH, LEAF, OVERFLOW, META_PAGE = 1, 2, 4, 8
BIG_DATA, SUB_TREE = 1, 2
FREE_FLAGS = 8  # keys of the free tree are integers; its upper flags are those of who made it
NO_PAGE = 2**64 - 1
META_PAGES = 2
PAGE_BYTES_LEAST, PAGE_BYTES_MOST = 512, 1 << 16
DEPTH_MAX = 32  # as LMDB's cursors
TRIES = 5  # another process may commit between the reading of one meta page and the other


@dataclass(frozen=True, slots=True)
class Tree:
    """What the record of a tree says."""

    pad: int
    flags: int
    depth: int
    branch_pages: int
    leaf_pages: int
    overflow_pages: int
    entries: int
    root: int


def check_pages(path: str) -> None:
    """Raise CorruptError where LMDB would follow damaged pages out of the file `path`."""
    for problem in problems_of_pages(path, is_whole=False):
        raise CorruptError(
            f"{path} cannot be opened: {problem}; restore the database from a copy, or rebuild it"
            " from the documents"
        )


class Damage(Exception):  # noqa: N818 - never leaves this module
    """What is wrong with the pages."""


def problems_of_pages(path: str, *, is_whole: bool) -> Iterator[str]:
    """What is wrong with the pages of the data file `path`; nothing if they are sound.

    `is_whole`: everything, not only what LMDB cannot bear.  Whoever calls it has a read transaction
    open, so that no page is written over meanwhile.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _begin(descriptor, is_whole).walk_all()
    except (Damage, struct.error, RecursionError) as damage:
        yield f"the pages of the data file are damaged: {damage}"
    finally:
        os.close(descriptor)


def _begin(descriptor: int, is_whole: bool) -> "_Walk":
    """A walk from the newest meta page."""
    for attempt in range(TRIES):
        _, page_bytes, *_ = _read_meta(descriptor, 0, 0)
        metas = [_read_meta(descriptor, number, page_bytes) for number in range(META_PAGES)]
        transactions = [meta[0] for meta in metas]
        are_neighbours = abs(transactions[0] - transactions[1]) == 1 or not any(transactions)
        if are_neighbours and all(number % 2 == at for at, number in enumerate(transactions)):
            break
        if not any(transactions) or not is_whole:
            break
        if attempt + 1 == TRIES:
            raise Damage(f"the meta pages are of the transactions {transactions}")
    _, page_bytes, last_page, free, main = max(metas, key=lambda meta: meta[0])
    return _Walk(descriptor, is_whole, page_bytes, last_page, free, main)


def _read_meta(descriptor: int, number: int, page_bytes: int) -> tuple[int, int, int, Tree, Tree]:
    """Transaction, page size, last page, free tree and main tree of a meta page."""
    content = os.pread(descriptor, PAGE.size + META.size, number * page_bytes)
    found, _, flags, _, _ = PAGE.unpack_from(content)
    magic, version, _, _, free_record, main_record, last_page, transaction = META.unpack_from(
        content, PAGE.size
    )
    if (found, flags, magic, version) != (number, META_PAGE, MAGIC, VERSION):
        raise Damage(f"page {number} is no meta page")
    free, main = Tree(*TREE.unpack(free_record)), Tree(*TREE.unpack(main_record))
    is_power = free.pad & (free.pad - 1) == 0
    if not is_power or not PAGE_BYTES_LEAST <= free.pad <= PAGE_BYTES_MOST:
        raise Damage(f"meta page {number} says that a page has {free.pad} bytes")
    if page_bytes and free.pad != page_bytes:
        raise Damage(f"the meta pages say {page_bytes} and {free.pad} bytes for a page")
    if (free.flags & 0xFF, main.flags, main.pad) != (FREE_FLAGS, 0, 0):
        raise Damage(f"meta page {number} has flags that simdb does not use")
    return transaction, free.pad, last_page, free, main


class _Walk:
    """Visits every page of one commit."""

    def __init__(
        self,
        descriptor: int,
        is_whole: bool,
        page_bytes: int,
        last_page: int,
        free: Tree,
        main: Tree,
    ) -> None:
        self._descriptor = descriptor
        self._is_whole = is_whole
        self._page_bytes = page_bytes
        self._last_page = last_page
        self._file_bytes = os.fstat(descriptor).st_size
        self._free = free
        self._main = main
        self._used: list[tuple[int, int, str]] = [(0, META_PAGES, "the meta pages")]
        self._counts: dict[str, dict[int, int]] = {}  # pages of each kind, by the name of the tree

    def walk_all(self) -> None:
        """Both trees, those inside the main one, and the free pages; Damage."""
        for key, flags, value in self._walk_tree(self._main, "the main tree"):
            if flags != SUB_TREE or len(value) != TREE.size:
                if not self._is_whole:
                    continue  # LMDB refuses it by itself, and it may be somebody else's database
                raise Damage(f"the main tree holds a value under {key!r}")
            tree = Tree(*TREE.unpack(value))
            if tree.flags or tree.pad:
                raise Damage(f"the tree {key!r} has flags that simdb does not use")
            for _ in self._walk_tree(tree, f"the tree {key!r}"):
                pass
        listed: list[int] = []
        for _, _, value in self._walk_tree(self._free, "the tree of free pages", is_free=True):
            count = NUMBER.unpack_from(value)[0]
            if len(value) < NUMBER.size * (count + 1):
                raise Damage("a list of free pages is longer than its value")
            listed += struct.unpack_from(f"<{count}Q", value, NUMBER.size)
        for page in listed:
            self._use(page, 1, "the list of free pages")
        ordered = sorted(self._used)
        for (first, count, name), (second, _, other) in pairwise(ordered):
            if first + count > second:
                raise Damage(f"page {second} is used twice, by {name} and {other}")

    def _walk_tree(
        self, tree: Tree, name: str, *, is_free: bool = False
    ) -> Iterator[tuple[bytes, int, bytes]]:
        """Key, flags and data of every entry whose data lies in a leaf or is of the free tree."""
        counts = self._counts[name] = {BRANCH: 0, LEAF: 0, OVERFLOW: 0}
        entries = 0
        if tree.root != NO_PAGE:
            for entry in self._walk_page(tree.root, tree.depth, name, b"", None, is_free=is_free):
                entries += 1
                yield entry
        found = (counts[BRANCH], counts[LEAF], counts[OVERFLOW], entries)
        said = (tree.branch_pages, tree.leaf_pages, tree.overflow_pages, tree.entries)
        if not self._is_whole:
            return
        if found != said or (tree.root == NO_PAGE) != (tree.depth == 0):
            raise Damage(f"{name} says that it has {said} pages and entries, but has {found}")

    def _walk_page(
        self, number: int, depth: int, name: str, low: bytes, high: bytes | None, *, is_free: bool
    ) -> Iterator[tuple[bytes, int, bytes]]:
        """The entries below a page, whose keys are from `low` on and before `high`."""
        kind = LEAF if depth == 1 else BRANCH
        if not 0 < depth <= DEPTH_MAX:
            raise Damage(f"{name} has a page at depth {depth}")
        nodes = self._nodes(number, kind, name)
        keys = [key for key, _, _, _ in nodes]
        if kind == BRANCH:
            keys[0] = low  # LMDB keeps no key there
        bounded = [*keys, high] if high is not None else keys
        # Keys of the free tree are little-endian numbers.
        inside = [key[::-1] for key in (low, *bounded)] if is_free else [low, *bounded]
        is_ordered = inside[0] <= inside[1] and all(
            left < right for left, right in pairwise(inside[1:])
        )
        if self._is_whole and not is_ordered:
            raise Damage(f"page {number} of {name} is out of order")
        self._counts[name][kind] += 1
        for at, (_, flags, size, data) in enumerate(nodes):
            if kind == LEAF:
                content = self._big(data, size, name, is_free) if flags & BIG_DATA else data
                yield keys[at], flags & ~BIG_DATA, content
            else:
                stop = keys[at + 1] if at + 1 < len(keys) else high
                child = size | flags << 32
                yield from self._walk_page(child, depth - 1, name, keys[at], stop, is_free=is_free)

    def _nodes(self, number: int, kind: int, name: str) -> list[tuple[bytes, int, int, bytes]]:
        """Key, flags, size of the data or number of the page below, and data of every node."""
        self._use(number, 1, name)
        page = os.pread(self._descriptor, self._page_bytes, number * self._page_bytes)
        if len(page) < self._page_bytes:
            raise Damage(f"page {number} of {name} lies behind the end of the file")
        found, _, flags, lower, upper = PAGE.unpack_from(page)
        count = (lower - PAGE.size) // 2
        if found != number or flags != kind or lower % 2 or count < 1:
            raise Damage(f"page {number} of {name} is not what it should be")
        if lower > upper or upper > len(page):
            raise Damage(f"page {number} of {name} is full beyond its end")
        nodes, taken = [], 0
        for start in struct.unpack_from(f"<{count}H", page, PAGE.size):
            if start < upper or start % 2 or start + NODE.size > len(page):
                raise Damage(f"page {number} of {name} has a node outside")
            low, high, flags, key_bytes = NODE.unpack_from(page, start)
            size = low | high << 16
            held = 0 if kind == BRANCH else NUMBER.size if flags & BIG_DATA else size
            middle = start + NODE.size + key_bytes
            if middle + held > len(page) or (kind == LEAF and flags & ~(BIG_DATA | SUB_TREE)):
                raise Damage(f"page {number} of {name} has a node that is longer than the page")
            taken += (NODE.size + key_bytes + held + 1) & ~1
            nodes.append(
                (page[start + NODE.size : middle], flags, size, page[middle : middle + held])
            )
        if taken != len(page) - upper:
            raise Damage(f"page {number} of {name} has nodes that lie upon each other")
        return nodes

    def _big(self, data: bytes, size: int, name: str, is_free: bool) -> bytes:
        """A value on pages of its own; read only for the free pages."""
        (first,) = NUMBER.unpack(data)
        count = -(-(PAGE.size + size) // self._page_bytes)
        self._use(first, count, name)
        self._counts[name][OVERFLOW] += count
        start = first * self._page_bytes
        if start + PAGE.size + size > self._file_bytes:
            raise Damage(f"a value of {name} on page {first} lies behind the end of the file")
        if not self._is_whole and not is_free:
            return b""
        head = os.pread(self._descriptor, PAGE.size, start)
        found, _, flags, low, high = PAGE.unpack(head)
        if (found, flags, low | high << 16) != (first, OVERFLOW, count):
            raise Damage(f"page {first} of {name} does not start a value of {count} pages")
        return os.pread(self._descriptor, size, start + PAGE.size) if is_free else b""

    def _use(self, first: int, count: int, name: str) -> None:
        """Take pages; none may be taken twice."""
        if not META_PAGES <= first <= first + count - 1 <= self._last_page:
            raise Damage(f"{name} has page {first}, of {self._last_page + 1}")
        self._used.append((first, count, name))
