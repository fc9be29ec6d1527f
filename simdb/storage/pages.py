"""Pages: checks the trees of the data file without LMDB.

LMDB keeps no checksums of its pages and follows what they say.  A flipped bit in a page number or
an offset can send it outside the file, which ends the process.  It can also make LMDB overwrite
pages in use, or abort the process by an assertion.  So simdb walks the pages with plain reads
before LMDB reads them.  It does so when the database is opened, before anything is dropped, and
whenever `Watch` (open_files.py) sees that another program has written the file.  For the last
commit the walk checks:

* the two meta pages: magic, version, map, successive commits, each on the page of its number.
* every tree: the number and kind of each page, and the counts of pages and entries in the tree's
  record.  Nodes have no gaps and a size that LMDB makes.  A branch has at least two nodes.  Nodes
  are in order if `is_whole`.
* every value on its own pages: inside the file, with a head that has its page number, kind and
  count of pages.  LMDB frees this count of pages when the value is dropped or overwritten.
* the lists of free pages, which LMDB merges without a check: in order, and of existing commits.
* no page used twice.

Every commit writes the meta page with the parity of its transaction number, and LMDB takes the
newer one.  The layout is that of LMDB 0.9 (lmdb.h and mdb.c), for little-endian machines with 64
bits:

    page        number u64 | pad u16 | flags u16 | lower u16 | upper u16, or count of pages u32
    meta        magic u32 | version u32 | address u64 | map bytes u64 | free tree | main tree |
                last page u64 | transaction u64
    tree        pad u32 | flags u16 | depth u16 | branch pages, leaf pages, overflow pages,
                entries and root u64 each
    node        low u16 | high u16 | flags u16 | key bytes u16 | key | data
"""

import os
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import pairwise
from mmap import PAGESIZE
from typing import NamedTuple

import numpy as np

from simdb.core.dtypes import U64
from simdb.core.errors import CorruptError, FormatError

PAGE = struct.Struct("<QHHHH")
META = struct.Struct("<IIQQ48s48sQQ")
TREE = struct.Struct("<IHHQQQQQ")
NODE = struct.Struct("<HHHH")
NUMBER = struct.Struct("<Q")

REMEDY = (
    "restore the database from a copy or a dump, or save what can be read:"
    " simdb.rebuild(path, drop_damaged=True), simdb rebuild --drop-damaged"
)
MAGIC, VERSION = 0xBEEFC0DE, 1
META_PAGE = 8
FREE_FLAGS = 8  # the free tree has integer keys; LMDB sets its upper flags when opening
META_PAGES = 2
HEAD_BYTES = 64  # the part of a meta page that has the magic in any LMDB
PAGE_BYTES_LEAST, PAGE_BYTES_MOST = 512, 1 << 16
MAP_BYTES_MOST = 1 << 62
TRIES = 5  # another process may commit between the reads of the two meta pages

BRANCH, LEAF, OVERFLOW = 1, 2, 4
BIG_DATA, SUB_TREE = 1, 2
NO_PAGE = 2**64 - 1
KEY_BYTES_MOST = 511
NODES_LEAST = {BRANCH: 2, LEAF: 1}
DEPTH_MAX = 32  # the limit of LMDB's cursors
FREE_PAGES = "the tree of free pages"  # the only tree whose values are read and must be in order

# Key, flags and data of each entry of a tree; None to collect no entries.
Entries = list[tuple[bytes, int, bytes]] | None


class Damage(Exception):  # noqa: N818 - never leaves this module
    """A description of damaged pages."""


class Tree(NamedTuple):
    """The record of a tree, as stored."""

    pad: int
    flags: int
    depth: int
    branch_pages: int
    leaf_pages: int
    overflow_pages: int
    entries: int
    root: int


class Meta(NamedTuple):
    """A meta page, as stored."""

    page_bytes: int
    map_bytes: int
    last_page: int
    transaction: int
    free: Tree
    main: Tree


def problems_of_pages(path: str) -> Iterator[str]:
    """Yield every problem of the pages of the data file `path`.

    The caller has a transaction open, so that no page is overwritten meanwhile.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _Walk(descriptor, newest_meta(descriptor, is_whole=True, least=0), True).walk_all(None)
    except (Damage, struct.error) as damage:
        yield f"the pages of the data file are damaged: {damage}"
    finally:
        os.close(descriptor)


def check_pages(
    descriptor: int, path: str, *, least: int = 0, only: Collection[bytes] | None = None
) -> int:
    """Return the number of the last commit; raise CorruptError if its pages could make LMDB crash.

    `descriptor`: the open data file `path`.  `least`: a commit that the file had before;
    CorruptError if the last one is older.  `only`: the sub-databases to check.  The caller has a
    transaction open, as for `problems_of_pages`.
    """
    with _told(path):
        meta = newest_meta(descriptor, is_whole=False, least=least)
        _Walk(descriptor, meta, False).walk_all(only)
        return meta.transaction


def check_metas(descriptor: int, path: str, *, least: int) -> None:
    """Check only the meta pages; needs no transaction."""
    with _told(path):
        newest_meta(descriptor, is_whole=False, least=least)


def last_commit(descriptor: int) -> int | None:
    """Return the number of the last commit; None if the two meta pages do not fit together."""
    try:
        numbers = [meta.transaction for meta in _read_metas(descriptor)]
    except (Damage, struct.error):
        return None
    return max(numbers) if _are_neighbours(numbers) else None


def newest_meta(descriptor: int, *, is_whole: bool, least: int) -> Meta:
    """Return the meta page that LMDB uses.

    Raises Damage if there is none or it is older than `least`.
    """
    for attempt in range(TRIES):
        metas = _read_metas(descriptor)
        numbers = [meta.transaction for meta in metas]
        if _are_neighbours(numbers) or not is_whole:
            break
        if attempt + 1 == TRIES:
            raise Damage(f"the meta pages are of the transactions {numbers}")
    newest = max(metas, key=lambda meta: meta.transaction)
    if newest.transaction < least:
        raise Damage(f"the last commit is {newest.transaction}, but commit {least} was seen before")
    # Later, LMDB does not compare the two, but takes the page with the parity of the number.
    if newest is not metas[newest.transaction % META_PAGES]:
        raise Damage(f"the meta pages are of the transactions {numbers}")
    if newest.last_page >= newest.map_bytes // newest.page_bytes:
        raise Damage(f"the last page is said to be {newest.last_page}, which is outside the map")
    return newest


def read_meta(descriptor: int, number: int, page_bytes: int) -> Meta:
    """Read meta page `number`; Damage.

    `page_bytes`: the page size according to the other meta page.
    """
    content = os.pread(descriptor, PAGE.size + META.size, number * page_bytes)
    found, _, flags, _, _ = PAGE.unpack_from(content)
    magic, version, _, map_bytes, free_record, main_record, last_page, transaction = (
        META.unpack_from(content, PAGE.size)
    )
    if (found, flags, magic, version) != (number, META_PAGE, MAGIC, VERSION):
        raise Damage(f"page {number} is not a meta page")
    free, main = Tree(*TREE.unpack(free_record)), Tree(*TREE.unpack(main_record))
    is_power = free.pad & (free.pad - 1) == 0
    if not is_power or not PAGE_BYTES_LEAST <= free.pad <= PAGE_BYTES_MOST:
        raise Damage(f"meta page {number} says that a page has {free.pad} bytes")
    if page_bytes and free.pad != page_bytes:
        raise Damage(f"the meta pages say {page_bytes} and {free.pad} bytes for a page")
    if (free.flags & 0xFF, main.flags, main.pad) != (FREE_FLAGS, 0, 0):
        raise Damage(f"meta page {number} has flags that simdb does not use")
    if map_bytes > MAP_BYTES_MOST:
        raise Damage(
            f"meta page {number} gives the map {map_bytes} bytes, more than {MAP_BYTES_MOST}"
        )
    return Meta(free.pad, map_bytes, last_page, transaction, free, main)


def check_version(path: str) -> None:
    """Raise FormatError if both meta pages of a file come from another LMDB.

    A page of LMDB 1.0 has more bytes before the magic than a page of 0.9.
    """
    versions = set()
    with open(path, "rb") as file:
        for page in range(META_PAGES):
            file.seek(page * PAGESIZE)
            head = file.read(HEAD_BYTES).partition(MAGIC.to_bytes(4, "little"))[2]
            versions.add(int.from_bytes(head[:4], "little"))
    if len(versions) == 1 and not versions & {0, VERSION}:
        raise FormatError(
            f"{path} has format {versions.pop()} of LMDB, and simdb reads format {VERSION}, that of"
            " LMDB 0.9: to move it, name the Python whose simdb wrote it, simdb.upgrade(path,"
            " python=...), simdb upgrade --python"
        )


@contextmanager
def _told(path: str) -> Iterator[None]:
    try:
        yield
    except (Damage, struct.error) as damage:
        check_version(path)
        raise CorruptError(
            f"{path} cannot be used: the pages of the data file are damaged: {damage}; {REMEDY}"
        ) from damage


class _Walk:
    """A walk over every page of one commit."""

    def __init__(self, descriptor: int, meta: Meta, is_whole: bool) -> None:
        self._descriptor = descriptor
        self._meta = meta
        self._is_whole = is_whole
        self._page_bytes = meta.page_bytes
        # The largest node that LMDB makes, so that two fit into a page.
        self._node_bytes = ((meta.page_bytes - PAGE.size) // 2 & -2) - 2
        self._file_bytes = os.fstat(descriptor).st_size
        self._seen: set[int] = set()  # pages of trees
        self._used: list[tuple[int, int, str]] = [(0, META_PAGES, "the meta pages")]
        self._counts: dict[str, dict[int, int]] = {}  # pages of each kind, by tree

    def walk_all(self, only: Collection[bytes] | None) -> None:
        """Walk both trees, the sub-databases in `only`, and the free pages; Damage."""
        entries: list[tuple[bytes, int, bytes]] = []
        self._walk_tree(self._meta.main, "the main tree", entries)
        for key, flags, value in entries:
            if flags != SUB_TREE:
                if not self._is_whole:
                    continue  # LMDB refuses this itself; it may belong to another program
                raise Damage(f"the main tree holds a value under {key!r}")
            if len(value) != TREE.size:
                raise Damage(f"the record of the tree {key!r} has {len(value)} bytes")
            tree = Tree(*TREE.unpack(value))
            if tree.flags or tree.pad:
                raise Damage(f"the tree {key!r} has flags that simdb does not use")
            if only is None or key in only:
                self._walk_tree(tree, f"the tree {key!r}", None)
        entries.clear()
        self._walk_tree(self._meta.free, FREE_PAGES, entries)
        listed = [self._listed(*entry) for entry in entries]
        self._check_use(np.concatenate([np.empty(0, np.uint64), *listed]))

    def _listed(self, key: bytes, flags: int, value: bytes) -> U64:
        """Return one list of free pages."""
        (count,) = NUMBER.unpack_from(value)
        if flags or len(key) != NUMBER.size or len(value) < NUMBER.size * (count + 1):
            raise Damage("a list of free pages is malformed, or longer than its value")
        if not 0 < NUMBER.unpack(key)[0] <= self._meta.transaction:
            raise Damage("a list of free pages is of a commit that does not exist")
        pages = np.frombuffer(value, "<u8", count, NUMBER.size)
        if (pages[1:] >= pages[:-1]).any():
            raise Damage("a list of free pages is out of order")
        if count and not (pages[-1] >= META_PAGES and pages[0] <= self._meta.last_page):
            raise Damage(
                f"a list of free pages has page {pages[0]}, outside the {self._meta.last_page + 1}"
                " pages of the file"
            )
        return pages

    def _check_use(self, free: U64) -> None:
        """Raise Damage if a page is used twice, or both used and free."""
        firsts = np.array([first for first, _, _ in self._used], np.uint64)
        counts = np.array([count for _, count, _ in self._used], np.uint64)
        firsts = np.concatenate([firsts, free])
        stops = firsts + np.concatenate([counts, np.ones(len(free), np.uint64)])
        order = np.argsort(firsts, kind="stable")
        for at in np.flatnonzero(stops[order[:-1]] > firsts[order[1:]])[:1]:
            one, other = (
                self._used[each][2] if each < len(self._used) else "the list of free pages"
                for each in order[at : at + 2]
            )
            raise Damage(f"page {firsts[order[at + 1]]} is used twice, by {one} and {other}")

    def _walk_tree(self, tree: Tree, name: str, entries: Entries) -> None:
        """Walk the pages of a tree; append the contents of its leaves to `entries`."""
        counts = self._counts[name] = {BRANCH: 0, LEAF: 0, OVERFLOW: 0}
        count = 0
        if tree.root != NO_PAGE:
            count = self._walk_page(tree.root, tree.depth, name, b"", None, entries)
        found = (counts[BRANCH], counts[LEAF], counts[OVERFLOW], count)
        said = (tree.branch_pages, tree.leaf_pages, tree.overflow_pages, tree.entries)
        if found != said or (tree.root == NO_PAGE) != (tree.depth == 0):
            raise Damage(f"{name} says that it has {said} pages and entries, but has {found}")

    def _walk_page(
        self, number: int, depth: int, name: str, low: bytes, high: bytes | None, entries: Entries
    ) -> int:
        """Return the number of entries below a page; its keys must be in `low` .. `high`."""
        kind = LEAF if depth == 1 else BRANCH
        if not 0 < depth <= DEPTH_MAX:
            raise Damage(f"{name} has a page at depth {depth}")
        nodes = self._nodes(number, kind, name)
        self._counts[name][kind] += 1
        if kind == LEAF:
            self._check_order(number, name, [low, *(node[0] for node in nodes)], high)
            for key, flags, size, data in nodes:
                content = self._big(data, size, name) if flags & BIG_DATA else data
                if entries is not None:
                    entries.append((key, flags & ~BIG_DATA, content))
                elif flags & SUB_TREE:
                    raise Damage(f"{name} has a tree under {key!r}")
            return len(nodes)
        keys = [low, *(node[0] for node in nodes[1:])]  # LMDB stores no key in the first node
        self._check_order(number, name, [low, *keys], high)
        count = 0
        for at, (_, flags, size, _) in enumerate(nodes):
            stop = keys[at + 1] if at + 1 < len(keys) else high
            child = size | flags << 32
            count += self._walk_page(child, depth - 1, name, keys[at], stop, entries)
        return count

    def _check_order(self, number: int, name: str, keys: list[bytes], high: bytes | None) -> None:
        """Raise Damage unless `keys` ascend; only the first two may be equal.

        In other trees LMDB survives unordered keys, and simdb notices them when it reads the
        values.  In the tree of free pages it does not.
        """
        if not self._is_whole and name != FREE_PAGES:
            return
        bounded = keys if high is None else [*keys, high]
        if name == FREE_PAGES:
            bounded = [key[::-1] for key in bounded]  # the keys are little-endian numbers
        is_ordered = bounded[0] <= bounded[1] and all(
            left < right for left, right in pairwise(bounded[1:])
        )
        if not is_ordered:
            raise Damage(f"page {number} of {name} is out of order")

    def _nodes(self, number: int, kind: int, name: str) -> list[tuple[bytes, int, int, bytes]]:
        """Return the nodes of a page: key, flags, size of the data or page below, and data."""
        if number in self._seen:
            raise Damage(f"page {number} is used twice, by {name}")
        self._seen.add(number)
        self._use(number, 1, name)
        page = os.pread(self._descriptor, self._page_bytes, number * self._page_bytes)
        if len(page) < self._page_bytes:
            raise Damage(f"page {number} of {name} lies behind the end of the file")
        found, _, flags, lower, upper = PAGE.unpack_from(page)
        count = (lower - PAGE.size) // 2
        if found != number or flags != kind or lower % 2 or count < NODES_LEAST[kind]:
            raise Damage(f"page {number} of {name} has a wrong number, kind or count of nodes")
        if lower > upper or upper > len(page):
            raise Damage(f"page {number} of {name} holds more than fits into it")
        nodes, spans = [], []
        for start in struct.unpack_from(f"<{count}H", page, PAGE.size):
            if start < upper or start % 2 or start + NODE.size > len(page):
                raise Damage(f"page {number} of {name} has a node outside of the page")
            low, high, flags, key_bytes = NODE.unpack_from(page, start)
            size = low | high << 16
            held = 0 if kind == BRANCH else NUMBER.size if flags & BIG_DATA else size
            middle = start + NODE.size + key_bytes
            stop = middle + held
            if stop - start > self._node_bytes or key_bytes > KEY_BYTES_MOST:
                raise Damage(f"page {number} of {name} has a node that is too long")
            if stop > len(page) or (kind == LEAF and flags & ~(BIG_DATA | SUB_TREE)):
                raise Damage(f"page {number} of {name} has a node that is longer than the page")
            spans.append((start, (stop + 1) & ~1))
            nodes.append((page[start + NODE.size : middle], flags, size, page[middle:stop]))
        spans.sort()
        at = upper
        for start, stop in spans:
            if start != at:
                raise Damage(f"page {number} of {name} has nodes that overlap or leave a gap")
            at = stop
        if at != len(page):
            raise Damage(f"page {number} of {name} has nodes that do not fill it")
        return nodes

    def _big(self, data: bytes, size: int, name: str) -> bytes:
        """Check a value on its own pages; return its content only for the free pages.

        It can have more pages than it fills.  If a transaction replaces a value of its own by a
        shorter one, LMDB keeps all pages, as it does with its own lists of free pages.
        """
        (first,) = NUMBER.unpack(data)
        least = -(-(PAGE.size + size) // self._page_bytes)
        self._use(first, least, name)
        start = first * self._page_bytes
        if start + PAGE.size + size > self._file_bytes:
            raise Damage(f"a value of {name} on page {first} lies behind the end of the file")
        head = os.pread(self._descriptor, PAGE.size, start)
        found, _, flags, low, high = PAGE.unpack(head)
        count = low | high << 16
        is_possible = least <= count <= self._meta.last_page + 1 - first
        if (found, flags) != (first, OVERFLOW) or not is_possible:
            raise Damage(f"page {first} of {name} does not start a value of {least} pages")
        if count > least:
            self._use(first + least, count - least, name)
        self._counts[name][OVERFLOW] += count
        return os.pread(self._descriptor, size, start + PAGE.size) if name == FREE_PAGES else b""

    def _use(self, first: int, count: int, name: str) -> None:
        """Mark pages as used; raise Damage if they are outside the file."""
        last_page = self._meta.last_page
        if not META_PAGES <= first <= first + count - 1 <= last_page:
            raise Damage(f"{name} has page {first}, outside the {last_page + 1} pages of the file")
        self._used.append((first, count, name))


def _are_neighbours(numbers: list[int]) -> bool:
    """Return whether these are the numbers of two successive commits, or of no commit."""
    is_placed = all(number % META_PAGES == at for at, number in enumerate(numbers))
    return not any(numbers) or (abs(numbers[0] - numbers[1]) == 1 and is_placed)


def _read_metas(descriptor: int) -> list[Meta]:
    first = read_meta(descriptor, 0, 0)
    return [first, read_meta(descriptor, 1, first.page_bytes)]
