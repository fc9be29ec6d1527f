"""Remains: the values that a damaged data file still holds, read page by page without LMDB.

Every value has a checksum that covers its key, so a value is known wherever it is found.  First
the trees of the last commit are followed as far as they lead.  If a page of them is damaged, each
page that no tree reaches and no list of free pages names is looked at too, because what lay below
the damaged page is there.  If a meta page is damaged, the last commit is the one whose manifest has
come farthest: the leaf of its main tree is known by the records of trees in it.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import BARE, WEIGHTED
from simdb.core.errors import CorruptError, FormatError
from simdb.storage import codec, layout
from simdb.storage.files.pages import (
    BIG_DATA,
    BRANCH,
    DEPTH_MAX,
    KEY_BYTES_MOST,
    LEAF,
    META_PAGES,
    NO_PAGE,
    NODE,
    NUMBER,
    OVERFLOW,
    PAGE,
    SUB_TREE,
    TREE,
    Damage,
    Meta,
    Tree,
    read_meta,
)
from simdb.storage.records.manifest import Manifest, RunInfo, decode_manifest

LOST_META = (
    "one of the two meta pages is lost: changes of metadata or notes in the last commit may be lost"
)
PAGE_BITS = range(9, 17)  # of the sizes that a page can have
FREE, MAIN = b"", b"/"  # names of the trees of LMDB itself, which no sub-database has
# The sub-database of each kind of value; tables and their ids are made again from the columns.
PLACES = {
    layout.FORMAT_KIND: layout.META, layout.OPTIONS_KIND: layout.META,
    layout.RESOURCES_KIND: layout.META, layout.CALIBRATION_KIND: layout.META,
    layout.NOTE_KIND: layout.META, layout.MANIFEST_KIND: layout.MANIFEST,
    layout.DELTA_KIND: layout.DELTA, layout.METADATA_KIND: layout.METADATA,
    layout.DELETED_KIND: layout.DELETED, layout.CLUSTERS_KIND: layout.CLUSTERS,
    layout.TIMES_KIND: layout.TIMES, layout.FEATURES_KIND: layout.FEATURES,
    codec.EVEN_KIND: layout.DOCUMENTS,
    **{kind: layout.column_name(column) for column, kind in layout.COLUMN_KINDS.items()},
    **dict.fromkeys(layout.TABLE_KINDS.values(), layout.PASSAGES),
}  # fmt: skip
EVEN_IDS_LEAST = 8  # fewer ids of other lengths could be decoded, too
TRIED_BYTES = 1 << 36  # some seconds of checksums
# Tables are not looked into: they are made again.
NAMES = {*PLACES.values()}
COLUMN_PLACES = {layout.DOCUMENTS, layout.VOLATILITY, layout.PASSAGES}
COLUMN_KEY_BYTES = len(layout.segment_key(0, 0, 0))

# Key, flags, size of the data or number of the page below, and where the data begin.
Node = tuple[bytes, int, int, int]


class Remains:
    """What one data file holds: `values` by sub-database and key, and the names of `torn` trees.

    A value is bytes or a part of the mapped file, and may be damaged itself.
    """

    def __init__(self, path: str) -> None:
        """Read the data file `path`; CorruptError if nothing in it can be told apart."""
        if not os.path.getsize(path):
            raise CorruptError(f"{path} is empty")
        with open(path, "rb") as file:
            self.content = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
            metas = list(_metas(file.fileno()))
        if not metas:
            raise CorruptError(f"{path} has lost both of its meta pages")
        self.page_bytes = metas[0].page_bytes
        self.page_count = len(self.content) // self.page_bytes
        found = self._last_commit(metas)
        self.values = found.values
        if found.is_torn:
            self._take_lost(found)
        self._take_kept(found)
        self.values = found.values
        self.torn = {name for name, count in found.counts.items() if len(self.values[name]) < count}

    def value(self, name: bytes, key: bytes) -> Any:
        """Return a value whose checksum is right; None if there is none."""
        value = self.values.get(name, {}).get(key)
        return value if value is not None and _is_sound(key, value) else None

    def _last_commit(self, metas: list[Meta]) -> "_Commit":
        self.notes = [] if len(metas) == META_PAGES else [LOST_META]
        metas.sort(key=lambda meta: meta.transaction, reverse=True)
        numbers = [meta.transaction for meta in metas]
        newest = _Commit(self, metas[0].main, metas[0].free)
        if len(metas) == META_PAGES and numbers[0] - numbers[1] in (0, 1):
            return newest
        roots = [meta.main for meta in metas[1:]]
        for number in range(META_PAGES, self.page_count):
            with suppress(Damage, struct.error):
                nodes = self.nodes(number, LEAF)
                if any(key == layout.MANIFEST and flags & SUB_TREE for key, flags, _, _ in nodes):
                    roots.append(Tree(0, 0, 1, 0, 1, 0, len(nodes), number))
        others = [_Commit(self, root, None) for root in roots]
        sound = [each for each in (newest, *others) if not each.is_torn and each.progress]
        return max(sound, key=lambda each: each.progress, default=newest)

    def _take_lost(self, found: "_Commit") -> None:
        """Take what lies below damaged pages, and what is whole in them."""
        for number in np.flatnonzero(~(found.is_used | found.is_listed)).tolist():
            for key, flags, size, at in self._whole_nodes(number):
                if flags & SUB_TREE:
                    found.take_record(key, at)
                else:
                    _place(found.values, key, found.content(flags, size, at))
        self._take_nameless(found)
        manifest = _manifest_of(found.values)
        for run in () if manifest is None else manifest.runs:
            _add_even(found.values.setdefault(layout.DOCUMENTS, {}), run)

    def _take_nameless(self, found: "_Commit") -> None:
        """Take values on pages of their own that have lost the page with their keys.

        The manifest tells which keys there can be, and the checksum which of them is right.
        """
        manifest = _manifest_of(found.values)
        spent = 0
        for number in np.flatnonzero(~(found.is_used | found.is_listed)).tolist():
            page, at = self._page(number), PAGE.size
            if manifest is None or len(page) < at + codec.HEADER_BYTES:
                return
            named, _, flags, _, _ = PAGE.unpack_from(page)
            magic, kind, _, _, _, size, _, _ = codec.HEADER.unpack_from(page, at)
            if (named, flags, magic) != (number, OVERFLOW, codec.MAGIC) or kind not in PLACES:
                continue
            start = number * self.page_bytes + at
            value = self.content[start : start + codec.HEADER_BYTES + size]
            held = found.values.setdefault(PLACES[kind], {})
            for key in _keys_of(PLACES[kind], kind, manifest):
                spent += len(value)
                if spent > TRIED_BYTES:
                    return
                if key not in held and _is_sound(key, value):
                    held[key] = value
                    break

    def _take_kept(self, found: "_Commit") -> None:
        """Take what is stored twice from the other place, or from a page that is free now."""
        for key, value in self.values.get(layout.MANIFEST, {}).items():
            if key in layout.KEPT_TWICE:
                _place(self.values, key, value)
        if all(self.value(layout.META, key) is not None for key in layout.KEPT_TWICE):
            return
        for number in range(META_PAGES, self.page_count):
            for key, flags, size, at in self._whole_nodes(number):
                if key in layout.KEPT_TWICE:
                    _place(self.values, key, found.content(flags, size, at))

    def _whole_nodes(self, number: int) -> Iterator[Node]:
        """Yield the nodes of a page that may be a damaged leaf."""
        page = self._page(number)
        with suppress(struct.error):
            count = (PAGE.unpack_from(page)[3] - PAGE.size) // 2
            for at in range(max(min(count, len(page) // NODE.size), 0)):
                with suppress(Damage, struct.error):
                    (start,) = struct.unpack_from("<H", page, PAGE.size + 2 * at)
                    yield self._node(number, page, start, LEAF)

    def nodes(self, number: int, kind: int) -> list[Node]:
        """Return the nodes of a page; Damage unless it is a whole page of this kind."""
        page = self._page(number)
        found, _, flags, lower, upper = PAGE.unpack_from(page)
        count = (lower - PAGE.size) // 2
        if (found, flags) != (number, kind) or count <= 0 or not lower <= upper <= len(page):
            raise Damage(f"page {number} is damaged")
        starts = struct.unpack_from(f"<{count}H", page, PAGE.size)
        return [self._node(number, page, start, kind) for start in starts]

    def _node(self, number: int, page: Any, start: int, kind: int) -> Node:
        low, high, flags, key_bytes = NODE.unpack_from(page, start)
        size = low | high << 16
        middle = start + NODE.size + key_bytes
        held = 0 if kind == BRANCH else NUMBER.size if flags & BIG_DATA else size
        if start < PAGE.size or key_bytes > KEY_BYTES_MOST or middle + held > len(page):
            raise Damage(f"page {number} has a node that is longer than the page")
        key = bytes(page[start + NODE.size : middle])
        return key, flags, size, number * self.page_bytes + middle

    def _page(self, number: int) -> Any:
        start = number * self.page_bytes
        return self.content[start : start + self.page_bytes]


class _Commit:
    """What the trees of one commit lead to; `counts` of the entries that the trees should have."""

    def __init__(self, remains: "Remains", main: Tree, free: Tree | None) -> None:
        self._remains = remains
        self.values: dict[bytes, dict[bytes, Any]] = {}
        self.counts: dict[bytes, int] = {}
        self.is_torn = False
        self._seen: set[int] = set()
        self.is_used = np.zeros(remains.page_count, np.bool_)
        self.is_used[:META_PAGES] = True
        self.is_listed = np.zeros(remains.page_count, np.bool_)  # as free
        has_free = free is not None and self._take_free(free)
        self._take_tree(main, MAIN)
        if not has_free:
            self.is_listed[:] = True  # what is valid could not be told from what was
        self.progress = _progress(self.values)
        del self.values[MAIN], self.counts[MAIN]

    def take_record(self, name: bytes, at: int) -> None:
        """Take the values of the tree of a sub-database, whose record is at a place of the file."""
        if name in NAMES and name not in self.values:
            with suppress(struct.error):
                self._take_tree(Tree(*TREE.unpack_from(self._remains.content, at)), name)

    def content(self, flags: int, size: int, at: int, *, is_value: bool = True) -> Any:
        """Return the data of a node, which begin at a place of the file; `is_value`: of simdb."""
        content, page_bytes = self._remains.content, self._remains.page_bytes
        if not flags & BIG_DATA:
            return bytes(content[at : at + size])
        (first,) = NUMBER.unpack_from(content, at)
        start = first * page_bytes + PAGE.size
        value = content[start : start + size]
        if not is_value or (len(value) == size and codec.has_length(value)):
            self.is_used[first : first + -(-(PAGE.size + size) // page_bytes)] = True
        else:
            self.is_torn = True  # the node may name pages of something else
        return value

    def _take_free(self, free: Tree) -> bool:
        """Note the pages of the lists of free pages; return whether all of them can be read."""
        self._take_tree(free, FREE)
        is_whole, self.is_torn = not self.is_torn, False
        for listed in self.values.pop(FREE).values():
            numbers = np.frombuffer(listed, "<u8", len(listed) // NUMBER.size)[1:]
            self.is_listed[numbers[numbers < len(self.is_used)]] = True
        del self.counts[FREE]
        return is_whole

    def _take_tree(self, tree: Tree, name: bytes) -> None:
        found = self.values[name] = {}
        self.counts[name] = tree.entries
        count = 0
        if tree.root != NO_PAGE:
            count = self._take_page(tree.root, tree.depth, name, found)
        self.is_torn |= count != tree.entries

    def _take_page(self, number: int, depth: int, name: bytes, found: dict[bytes, Any]) -> int:
        """Take the values below a page; return the number of entries in its leaves."""
        kind = LEAF if depth == 1 else BRANCH
        try:
            if not 0 < depth <= DEPTH_MAX or number in self._seen:
                raise Damage(f"page {number} belongs to something else")
            nodes = self._remains.nodes(number, kind)
        except (Damage, IndexError, struct.error):
            self.is_torn = True
            return 0
        self._seen.add(number)
        self.is_used[number] = True
        if kind == BRANCH:
            below = [size | flags << 32 for _, flags, size, _ in nodes]
            return sum(self._take_page(each, depth - 1, name, found) for each in below)
        for key, flags, size, at in nodes:
            if flags & SUB_TREE:
                self.take_record(key, at)
            else:
                found[key] = self.content(flags, size, at, is_value=name != FREE)
        return len(nodes)


def _metas(descriptor: int) -> Iterator[Meta]:
    """Yield the meta pages that can be read; that of the second one depends on the page size."""
    for number, size in ((0, 0), *((1, 1 << bits) for bits in PAGE_BITS)):
        with suppress(Damage, struct.error):
            yield read_meta(descriptor, number, size)


def _place(values: dict[bytes, dict[bytes, Any]], key: bytes, value: Any) -> None:
    """Put a value whose checksum is right where its kind belongs, unless one is there."""
    name = PLACES.get(bytes(value[4:8]))
    is_stray = name in COLUMN_PLACES and len(key) != COLUMN_KEY_BYTES
    if name is None or is_stray or not _is_sound(key, value):
        return
    held = values.setdefault(name, {})
    if key not in held or not _is_sound(key, held[key]):
        held[key] = value


def _add_even(held: dict[bytes, Any], run: RunInfo) -> None:
    """Add the states and offsets of a run that were stored as evenly spaced numbers, and are lost.

    Such a value is so small that it lies in the page with its key.  The counts of the run tell the
    state that all its documents have; ids that can be decoded tell their one length.
    """
    state = None
    if run.weighted_count == len(run) or run.polytope_count == run.id_count > 0:
        state = WEIGHTED
    elif not run.weighted_count and run.entry_count == run.id_count > 0:
        state = BARE
    for segment in range(-(-len(run) // layout.SEGMENT_ORDINALS)):
        count = min(len(run) - segment * layout.SEGMENT_ORDINALS, layout.SEGMENT_ORDINALS)
        columns = (layout.STATE, layout.OFFSET, layout.ID)
        keys = [layout.segment_key(run.number, column, segment) for column in columns]
        if state is not None and keys[0] not in held:
            held[keys[0]] = codec.encode_even(keys[0], np.full(count, state, np.uint8)) or b""
        if keys[1] not in held and keys[2] in held and _is_sound(keys[2], held[keys[2]]):
            content = np.frombuffer(held[keys[2]], np.uint8, offset=codec.HEADER_BYTES)
            offsets = np.arange(count + 1, dtype=np.int64) * (len(content) // count)
            if count < EVEN_IDS_LEAST or len(content) % count:
                continue
            with suppress(CorruptError):
                kernel.decode_ids(offsets, content)
                held[keys[1]] = codec.encode_even(keys[1], offsets.astype(np.uint32)) or b""


def _is_sound(key: bytes, value: Any) -> bool:
    try:
        codec.verify_value(key, value)
    except CorruptError:
        return False
    return True


def _keys_of(name: bytes, kind: bytes, manifest: Manifest) -> Iterator[bytes]:
    """Yield the keys that a value of a kind can have."""
    if name == layout.PASSAGES:
        column = next(each for each, of in layout.TABLE_KINDS.items() if of == kind)
        for row in manifest.passages:
            for segment in range(len(row.counts)):
                yield layout.segment_key(row.number, column, segment)
    elif name in COLUMN_PLACES:
        columns = [each for each, of in layout.COLUMN_KINDS.items() if of == kind]
        for run in manifest.runs:
            for segment in range(-(-len(run) // layout.SEGMENT_ORDINALS)):
                for column in columns:
                    yield layout.segment_key(run.number, column, segment)
    elif name not in (layout.META, layout.MANIFEST):
        yield from map(layout.number_key, range(manifest.next_ordinal))


def _manifest_of(values: dict[bytes, dict[bytes, Any]]) -> Manifest | None:
    try:
        return decode_manifest(values[layout.MANIFEST][layout.MANIFEST_KEY])
    except (KeyError, CorruptError, FormatError):
        return None


def _progress(values: dict[bytes, dict[bytes, Any]]) -> tuple[int, ...]:
    """Return numbers of the manifest that no commit makes smaller; none without a manifest."""
    found = _manifest_of(values)
    if found is None:
        return ()
    return (
        found.next_run, found.delta_version, found.deleted_version, found.options_version,
        found.calibration, found.last_cluster, found.next_passage, found.next_ordinal,
    )  # fmt: skip
