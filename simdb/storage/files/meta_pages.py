"""Meta pages: the two first pages of the data file, which say where its trees begin.

They are read here without LMDB. Every commit writes one of them, the one with the parity of its
transaction number, and LMDB takes the newer one.  The layout is that of LMDB 0.9 (lmdb.h and
mdb.c), for little-endian machines with 64 bits:

    page        number u64 | pad u16 | flags u16 | lower u16 | upper u16, or count of pages u32
    meta        magic u32 | version u32 | address u64 | map bytes u64 | free tree | main tree |
                last page u64 | transaction u64
    tree        pad u32 | flags u16 | depth u16 | branch pages, leaf pages, overflow pages,
                entries and root u64 each
"""

import os
import struct
from typing import NamedTuple

PAGE = struct.Struct("<QHHHH")
META = struct.Struct("<IIQQ48s48sQQ")
TREE = struct.Struct("<IHHQQQQQ")

MAGIC, VERSION = 0xBEEFC0DE, 1
META_PAGE = 8
FREE_FLAGS = 8  # the free tree has integer keys; its upper flags are set by LMDB's opener
META_PAGES = 2
PAGE_BYTES_LEAST, PAGE_BYTES_MOST = 512, 1 << 16
MAP_BYTES_MOST = 1 << 62
TRIES = 5  # another process may commit between the reads of the two meta pages


class Damage(Exception):  # noqa: N818 - never leaves the modules that read pages
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


def last_commit(descriptor: int) -> int | None:
    """Return the number of the last commit; None if the two meta pages do not fit together."""
    try:
        numbers = [meta.transaction for meta in _read_metas(descriptor)]
    except (Damage, struct.error):
        return None
    return max(numbers) if _are_neighbours(numbers) else None


def newest_meta(descriptor: int, *, is_whole: bool, least: int) -> Meta:
    """Return the meta page that LMDB takes; Damage if there is none, or only older than `least`."""
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
    # Later LMDB does not compare the two, but takes the page that belongs to the number.
    if newest is not metas[newest.transaction % META_PAGES]:
        raise Damage(f"the meta pages are of the transactions {numbers}")
    if newest.last_page >= newest.map_bytes // newest.page_bytes:
        raise Damage(f"the last page is said to be {newest.last_page}, which is outside the map")
    return newest


def _are_neighbours(numbers: list[int]) -> bool:
    """Whether these are the numbers of two successive commits, or of no commit at all."""
    is_placed = all(number % META_PAGES == at for at, number in enumerate(numbers))
    return not any(numbers) or (abs(numbers[0] - numbers[1]) == 1 and is_placed)


def _read_metas(descriptor: int) -> list[Meta]:
    first = _read_meta(descriptor, 0, 0)
    return [first, _read_meta(descriptor, 1, first.page_bytes)]


def _read_meta(descriptor: int, number: int, page_bytes: int) -> Meta:
    """Read meta page `number`; `page_bytes`: the page size that the other one gives."""
    content = os.pread(descriptor, PAGE.size + META.size, number * page_bytes)
    found, _, flags, _, _ = PAGE.unpack_from(content)
    magic, version, _, map_bytes, free_record, main_record, last_page, transaction = (
        META.unpack_from(content, PAGE.size)
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
    if map_bytes > MAP_BYTES_MOST:
        raise Damage(f"meta page {number} says that the map has {map_bytes} bytes")
    return Meta(free.pad, map_bytes, last_page, transaction, free, main)
