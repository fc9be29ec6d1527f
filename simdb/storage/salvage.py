"""Salvage: finds the readable data of a damaged database, and reports the rest as lost.

`Remains` are the values that a damaged data file still holds, read page by page without LMDB.  The
checksum of every value covers its key, so a value is recognised wherever it is found.  First, the
trees of the last commit are followed as far as they lead.  If one of their pages is damaged, the
data below it may be on any page that no tree and no list of free pages names.  So all these pages
are examined.  If a meta page is damaged, the last commit is the one with the most advanced
manifest.  The leaf of its main tree is recognised by its records of trees.

`salvaged` verifies every value of an open database separately.  Tables are not read, because they
can be built again from the columns.  Without a manifest, the runs are found by their columns: later
runs have larger numbers and follow the earlier ones.  A run without states is a copy of others by
an unfinished merge.  A run whose states are of no documents was written ahead of a commit that
failed.
"""

import os
import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import BARE, ORDINALS_MAX, WEIGHTED
from simdb.core.dtypes import U32, U64, Bools
from simdb.core.errors import CorruptError, FormatError
from simdb.core.values import dataclass, field
from simdb.storage import codec, layout, pages
from simdb.storage.by_ordinal import COLUMNS
from simdb.storage.contents import has_open, read_manifest
from simdb.storage.delta import decode_batch
from simdb.storage.environment import Environment, Source
from simdb.storage.manifest import Manifest, PassageInfo, RunInfo, decode_manifest
from simdb.storage.metadata import decode_block, decode_times
from simdb.storage.passages import passage_differences
from simdb.storage.run import Run, Segment, as_segment, stored_ids
from simdb.storage.tombstones import decode_chunk, is_deleted

LOST_META = (
    "one of the two meta pages is lost: changes of metadata or notes in the last commit may be lost"
)
PAGE_BITS = range(9, 17)  # logarithms of the possible page sizes
FREE, MAIN = b"", b"/"  # names for LMDB's own trees that no sub-database has
# The sub-database of each kind of value.  Tables, also that of ids, are built again from the
# columns.
PLACES = {
    layout.FORMAT_KIND: layout.META, layout.OPTIONS_KIND: layout.META,
    layout.RESOURCES_KIND: layout.META, layout.CALIBRATION_KIND: layout.META,
    layout.NOTE_KIND: layout.META, layout.MANIFEST_KIND: layout.MANIFEST,
    layout.DELTA_KIND: layout.DELTA, layout.METADATA_KIND: layout.METADATA,
    layout.DELETED_KIND: layout.DELETED, layout.CLUSTERS_KIND: layout.CLUSTERS,
    layout.TIMES_KIND: layout.TIMES, layout.FEATURES_KIND: layout.FEATURES,
    layout.TEXTS_KIND: layout.TEXTS,
    codec.EVEN_KIND: layout.DOCUMENTS, codec.INTEGERS_KIND: layout.DOCUMENTS,
    **{kind: layout.column_name(column) for column, kind in layout.COLUMN_KINDS.items()},
    **dict.fromkeys(layout.TABLE_KINDS.values(), layout.PASSAGES),
}  # fmt: skip
DOCUMENT_KINDS = {*layout.COLUMN_KINDS.values(), codec.EVEN_KIND, codec.INTEGERS_KIND}
EVEN_IDS_LEAST = 8  # fewer ids of various lengths might also decode by chance
TRIED_BYTES = 1 << 36  # enough for some seconds of checksums
# Tables are not read, since they are built again.
NAMES = {*PLACES.values()}
COLUMN_PLACES = {layout.DOCUMENTS, layout.VOLATILITY, layout.PASSAGES}
COLUMN_KEY_BYTES = len(layout.segment_key(0, 0, 0))

# Key, flags, size of the data or number of the page below, and start of the data.
Node = tuple[bytes, int, int, int]
# The possible loss if whole pages of a sub-database are lost, since no key names their contents.
TORN = {
    layout.META: "notes, or the calibration",
    layout.METADATA: "unknown documents have lost their metadata",
}


class Remains:
    """The contents of a data file: `values` by sub-database and key, and the names of `torn` trees.

    A value is bytes or a part of the mapped file, and may itself be damaged.
    """

    def __init__(self, path: str) -> None:
        """Read the data file `path`; raise CorruptError if nothing in it is recognisable."""
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
        """Return a value with the right checksum; None if there is none."""
        value = self.values.get(name, {}).get(key)
        return value if value is not None and _is_sound(key, value) else None

    def object(self, key: bytes) -> Any:
        """Return an object of the sub-database `meta`; None if it cannot be read."""
        value = self.value(layout.META, key)
        return None if value is None else codec.decode_object(layout.OBJECT_KINDS[key], key, value)

    def _last_commit(self, metas: list[pages.Meta]) -> "_Commit":
        self.notes = [] if len(metas) == pages.META_PAGES else [LOST_META]
        metas.sort(key=lambda meta: meta.transaction, reverse=True)
        numbers = [meta.transaction for meta in metas]
        newest = _Commit(self, metas[0].main, metas[0].free)
        if len(metas) == pages.META_PAGES and numbers[0] - numbers[1] in (0, 1):
            return newest
        roots = [meta.main for meta in metas[1:]]
        for number in range(pages.META_PAGES, self.page_count):
            with suppress(pages.Damage, struct.error):
                nodes = self.nodes(number, pages.LEAF)
                if any(
                    key == layout.MANIFEST and flags & pages.SUB_TREE for key, flags, _, _ in nodes
                ):
                    roots.append(pages.Tree(0, 0, 1, 0, 1, 0, len(nodes), number))
        others = [_Commit(self, root, None) for root in roots]
        sound = [each for each in (newest, *others) if not each.is_torn and each.progress]
        return max(sound, key=lambda each: each.progress, default=newest)

    def _take_lost(self, found: "_Commit") -> None:
        """Collect the values below damaged pages, and the undamaged values on them."""
        for number in np.flatnonzero(~(found.is_used | found.is_listed)).tolist():
            for key, flags, size, at in self._whole_nodes(number):
                if flags & pages.SUB_TREE:
                    found.take_record(key, at)
                else:
                    _place(found.values, key, found.content(flags, size, at))
        self._take_nameless(found)
        manifest = _manifest_of(found.values)
        for run in () if manifest is None else manifest.runs:
            _add_even(found.values.setdefault(layout.DOCUMENTS, {}), run)

    def _take_nameless(self, found: "_Commit") -> None:
        """Collect values whose own pages remain although the page with their keys is lost.

        The manifest lists the possible keys, and the checksum decides which of them is right.
        """
        manifest = _manifest_of(found.values)
        spent = 0
        for number in np.flatnonzero(~(found.is_used | found.is_listed)).tolist():
            page, at = self._page(number), pages.PAGE.size
            if manifest is None or len(page) < at + codec.HEADER_BYTES:
                return
            named, _, flags, _, _ = pages.PAGE.unpack_from(page)
            magic, kind, _, _, _, size, _, _ = codec.HEADER.unpack_from(page, at)
            if (named, flags, magic) != (number, pages.OVERFLOW, codec.MAGIC) or kind not in PLACES:
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
        """Restore values that are stored twice from the second copy, or from a free page."""
        for key, value in self.values.get(layout.MANIFEST, {}).items():
            if key in layout.KEPT_TWICE:
                _place(self.values, key, value)
        if all(self.value(layout.META, key) is not None for key in layout.KEPT_TWICE):
            return
        for number in range(pages.META_PAGES, self.page_count):
            for key, flags, size, at in self._whole_nodes(number):
                if key in layout.KEPT_TWICE:
                    _place(self.values, key, found.content(flags, size, at))

    def _whole_nodes(self, number: int) -> Iterator[Node]:
        """Yield the nodes of a page that may be a damaged leaf."""
        page = self._page(number)
        with suppress(struct.error):
            count = (pages.PAGE.unpack_from(page)[3] - pages.PAGE.size) // 2
            for at in range(max(min(count, len(page) // pages.NODE.size), 0)):
                with suppress(pages.Damage, struct.error):
                    (start,) = struct.unpack_from("<H", page, pages.PAGE.size + 2 * at)
                    yield self._node(number, page, start, pages.LEAF)

    def nodes(self, number: int, kind: int) -> list[Node]:
        """Return the nodes of a page; raise Damage unless it is a whole page of this kind."""
        page = self._page(number)
        found, _, flags, lower, upper = pages.PAGE.unpack_from(page)
        count = (lower - pages.PAGE.size) // 2
        if (found, flags) != (number, kind) or count <= 0 or not lower <= upper <= len(page):
            raise pages.Damage(f"page {number} is damaged")
        starts = struct.unpack_from(f"<{count}H", page, pages.PAGE.size)
        return [self._node(number, page, start, kind) for start in starts]

    def _node(self, number: int, page: Any, start: int, kind: int) -> Node:
        low, high, flags, key_bytes = pages.NODE.unpack_from(page, start)
        size = low | high << 16
        middle = start + pages.NODE.size + key_bytes
        held = 0 if kind == pages.BRANCH else pages.NUMBER.size if flags & pages.BIG_DATA else size
        if start < pages.PAGE.size or key_bytes > pages.KEY_BYTES_MOST or middle + held > len(page):
            raise pages.Damage(f"page {number} has a node that is longer than the page")
        key = bytes(page[start + pages.NODE.size : middle])
        return key, flags, size, number * self.page_bytes + middle

    def _page(self, number: int) -> Any:
        start = number * self.page_bytes
        return self.content[start : start + self.page_bytes]


class _Commit:
    """The data that the trees of a commit lead to; `counts`: the entries each tree should have."""

    def __init__(self, remains: "Remains", main: pages.Tree, free: pages.Tree | None) -> None:
        self._remains = remains
        self.values: dict[bytes, dict[bytes, Any]] = {}
        self.counts: dict[bytes, int] = {}
        self.is_torn = False
        self._seen: set[int] = set()
        self.is_used = np.zeros(remains.page_count, np.bool_)
        self.is_used[: pages.META_PAGES] = True
        self.is_listed = np.zeros(remains.page_count, np.bool_)  # pages listed as free
        has_free = free is not None and self._take_free(free)
        self._take_tree(main, MAIN)
        if not has_free:
            self.is_listed[:] = True  # without the lists, old data would look valid
        self.progress = _progress(self.values)
        del self.values[MAIN], self.counts[MAIN]

    def take_record(self, name: bytes, at: int) -> None:
        """Collect the values of the sub-database whose record is at offset `at` of the file."""
        if name in NAMES and name not in self.values:
            with suppress(struct.error):
                self._take_tree(
                    pages.Tree(*pages.TREE.unpack_from(self._remains.content, at)), name
                )

    def content(self, flags: int, size: int, at: int, *, is_value: bool = True) -> Any:
        """Return the data of a node at offset `at` of the file.

        `is_value`: the data must be a value of simdb; otherwise the commit counts as torn.
        """
        content, page_bytes = self._remains.content, self._remains.page_bytes
        if not flags & pages.BIG_DATA:
            return bytes(content[at : at + size])
        (first,) = pages.NUMBER.unpack_from(content, at)
        start = first * page_bytes + pages.PAGE.size
        value = content[start : start + size]
        if not is_value or (len(value) == size and codec.has_length(value)):
            self.is_used[first : first + -(-(pages.PAGE.size + size) // page_bytes)] = True
        else:
            self.is_torn = True  # the node may refer to unrelated pages
        return value

    def _take_free(self, free: pages.Tree) -> bool:
        """Record the pages of the lists of free pages; return whether all lists can be read."""
        self._take_tree(free, FREE)
        is_whole, self.is_torn = not self.is_torn, False
        for listed in self.values.pop(FREE).values():
            numbers = np.frombuffer(listed, "<u8", len(listed) // pages.NUMBER.size)[1:]
            self.is_listed[numbers[numbers < len(self.is_used)]] = True
        del self.counts[FREE]
        return is_whole

    def _take_tree(self, tree: pages.Tree, name: bytes) -> None:
        found = self.values[name] = {}
        self.counts[name] = tree.entries
        count = 0
        if tree.root != pages.NO_PAGE:
            count = self._take_page(tree.root, tree.depth, name, found)
        self.is_torn |= count != tree.entries

    def _take_page(self, number: int, depth: int, name: bytes, found: dict[bytes, Any]) -> int:
        """Collect the values below a page; return the number of entries in its leaves."""
        kind = pages.LEAF if depth == 1 else pages.BRANCH
        try:
            if not 0 < depth <= pages.DEPTH_MAX or number in self._seen:
                raise pages.Damage(f"page {number} belongs to something else")
            nodes = self._remains.nodes(number, kind)
        except (pages.Damage, IndexError, struct.error):
            self.is_torn = True
            return 0
        self._seen.add(number)
        self.is_used[number] = True
        if kind == pages.BRANCH:
            below = [size | flags << 32 for _, flags, size, _ in nodes]
            return sum(self._take_page(each, depth - 1, name, found) for each in below)
        for key, flags, size, at in nodes:
            if flags & pages.SUB_TREE:
                self.take_record(key, at)
            else:
                found[key] = self.content(flags, size, at, is_value=name != FREE)
        return len(nodes)


def _metas(descriptor: int) -> Iterator[pages.Meta]:
    """Yield the readable meta pages; the place of the second one depends on the page size."""
    for number, size in ((0, 0), *((1, 1 << bits) for bits in PAGE_BITS)):
        with suppress(pages.Damage, struct.error):
            yield pages.read_meta(descriptor, number, size)


def _place(values: dict[bytes, dict[bytes, Any]], key: bytes, value: Any) -> None:
    """Put a value with the right checksum where its kind belongs, unless a sound one is there."""
    name = PLACES.get(bytes(value[4:8]))
    is_stray = name in COLUMN_PLACES and len(key) != COLUMN_KEY_BYTES
    if name is None or is_stray or not _is_sound(key, value):
        return
    held = values.setdefault(name, {})
    if key not in held or not _is_sound(key, held[key]):
        held[key] = value


def _add_even(held: dict[bytes, Any], run: RunInfo) -> None:
    """Add lost states, offsets and ids of a run that were stored as evenly spaced numbers.

    Such a value is small enough to be in the page with its key.  The counts of the run may tell the
    state that all its documents share.  Ids that can be decoded tell their common length.
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
        if run.ids and keys[2] not in held:
            row = kernel.row_at(run.ids, segment * layout.SEGMENT_ORDINALS)
            held[keys[2]] = codec.encode_packed(keys[2], kernel.row_ids(row, count))
        if keys[1] not in held and keys[2] in held and _is_sound(keys[2], held[keys[2]]):
            with suppress(CorruptError):
                ids = codec.decode_ids(layout.COLUMN_KINDS[layout.ID], keys[2], held[keys[2]])
                content = ids.forms if isinstance(ids, kernel.PackedIds) else ids
                offsets = np.arange(count + 1, dtype=np.int64) * (len(content) // count)
                if count < EVEN_IDS_LEAST or len(content) % count:
                    continue
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
        columns += [layout.ID] if kind == codec.INTEGERS_KIND else []
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
    """Return the numbers of the manifest that never decrease; empty without a manifest."""
    found = _manifest_of(values)
    if found is None:
        return ()
    return (
        found.next_run, found.delta_version, found.deleted_version, found.options_version,
        found.calibration, found.last_cluster, found.next_passage, found.next_ordinal,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loss:
    """Unreadable data, and the ordinals start .. stop that they concern.

    `takes_documents`: whether the documents themselves are lost, or only data next to them.
    """

    message: str
    start: int
    stop: int
    takes_documents: bool = True


@dataclass(slots=True)
class Salvage:
    """All readable data of a database, and all losses.

    `parts` can be read completely; in `named` at least the ids can be read.  `is_dead` is bool by
    ordinal.  `notes` describe losses that can be built again.  `passages` are the sound passage
    runs.  `torn` names sub-databases that have lost whole pages.  `is_guessed`: whether the
    manifest was reconstructed.
    """

    manifest: Manifest
    next_ordinal: int = 0
    parts: list[Segment] = field(default_factory=list)
    named: list[Segment] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    passages: list[PassageInfo] = field(default_factory=list)
    is_dead: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    torn: Collection[bytes] = ()
    is_guessed: bool = False

    def lose(self, why: str, start: int, stop: int, what: str = "") -> None:
        """Report a loss; `what`: the data that the documents lose, if they themselves survive."""
        if what:
            why = f"{why}; documents of {start} .. {stop} lose their {what}"
        self.losses.append(Loss(why, start, stop, takes_documents=not what))


def salvaged(environment: Environment, source: Source, torn: Collection[bytes] = ()) -> Salvage:
    """Verify everything except the tables; return the readable data and the losses.

    `torn`: the sub-databases that have lost whole pages, with values that nothing names.
    """
    try:
        manifest = read_manifest(environment, source.transaction)
        found = Salvage(manifest, manifest.next_ordinal, torn=torn)
    except (CorruptError, FormatError) as error:
        manifest = _guessed_manifest(environment, source)
        found = Salvage(manifest, torn=torn, is_guessed=True)
        found.notes.append(f"{error}; the runs were found by their columns")
    for info in found.manifest.runs:
        _look_at_run(found, Run(info), source)
    _look_at_delta(found, source)
    found.next_ordinal = max(found.next_ordinal, found.manifest.delta_start)
    _look_at_tombstones(found, source)
    _look_at_metadata(found, source)
    if layout.TIMES in environment.handles:
        _look_at_times(found, source)
    if layout.PASSAGES in environment.handles:
        _look_at_passages(found, source)
    for column in COLUMNS:
        if column.name in environment.handles:
            for why, start, stop in column.damage(source, found.next_ordinal):
                found.lose(why, start, stop, column.what)
    for name in TORN.keys() & set(torn):
        message = f"whole pages of {name.decode()} are lost: {TORN[name]}"
        found.losses.append(Loss(message, 0, 0, takes_documents=False))
    return found


def sound_metadata(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield (ordinal, packed metadata) from all readable blocks."""
    for key, value in source.every(layout.METADATA):
        with suppress(CorruptError, FormatError):  # `salvaged` has reported the block
            yield from _readable_block(key, value)


def sound_times(source: Source, count: int) -> U32:
    """Return the time of every ordinal below `count`; 0 if it cannot be read."""
    times = np.zeros(count, np.uint32)
    for key, value in source.every(layout.TIMES):
        with suppress(CorruptError, FormatError):  # `salvaged` has reported the chunk
            part = decode_times(key, value)
            start = layout.key_number(key) * layout.TIME_ORDINALS
            times[start : start + layout.TIME_ORDINALS] = part[: max(count - start, 0)]
    return times


def ids_of(segment: Segment) -> list[Any]:
    """Return the ids of a segment; raise CorruptError if they cannot be decoded."""
    return kernel.decode_ids(*stored_ids(segment))


def _look_at_run(found: Salvage, run: Run, source: Source) -> None:
    for number in range(run.segment_count):
        start, stop = run.segment_range(number)
        before = len(found.losses)
        for column in layout.COLUMN_KINDS:
            try:
                run.verify_column(column, number, source)
            except (CorruptError, FormatError) as error:
                found.lose(str(error), start, stop)
        try:
            for column in layout.ID_COLUMNS:
                run.verify_column(column, number, source)
            named = run.segment(number, source, layout.ID_COLUMNS)
            ids_of(named)
            found.named.append(named)
        except (CorruptError, FormatError) as error:
            if len(found.losses) == before:
                why = f"the ids of segment {number} of run {run.info.number}: {error}"
                found.lose(why, start, stop)
        if len(found.losses) == before:
            found.parts.append(run.segment(number, source))


def _look_at_delta(found: Salvage, source: Source) -> None:
    at = found.manifest.delta_start
    for key, value in _numbered(found, source, layout.DELTA):
        start = layout.key_number(key)
        try:
            batch = decode_batch(key, value)
            segment = as_segment(start, batch)
            if start < at or batch.vectors.shape[1] != source.width:
                raise CorruptError(f"the delta has documents at ordinal {start} that do not fit")
            ids_of(segment)
        except (CorruptError, FormatError) as error:
            found.lose(str(error), start, start)
            continue
        _close_gap(found, at, start)
        found.parts.append(segment)
        found.named.append(segment)
        at = segment.stop
    _close_gap(found, at, found.next_ordinal)
    found.next_ordinal = max(found.next_ordinal, at)


def _numbered(found: Salvage, source: Source, name: bytes) -> Iterator[tuple[bytes, Any]]:
    """Yield the values of a sub-database whose keys are numbers; report other keys as lost."""
    for key, value in source.every(name):
        if len(key) == layout.NUMBER_BYTES:
            yield key, value
        else:
            why = f"{name.decode()} has a value under {key.hex()}, which cannot be its key"
            found.lose(why, 0, 0)


def _close_gap(found: Salvage, start: int, stop: int) -> None:
    if start < stop:
        found.lose(
            f"the delta has no readable documents from ordinal {start} to {stop}", start, stop
        )


def _look_at_tombstones(found: Salvage, source: Source) -> None:
    found.is_dead = np.zeros(found.next_ordinal, np.bool_)
    before = len(found.losses)
    missing = set(range(-(-found.next_ordinal // layout.CHUNK_ORDINALS)))
    for key, value in _numbered(found, source, layout.DELETED):
        start = layout.key_number(key) * layout.CHUNK_ORDINALS
        stop = min(start + layout.CHUNK_ORDINALS, found.next_ordinal)
        try:
            bits = decode_chunk(key, value)
            if start > found.next_ordinal:
                raise CorruptError(
                    f"{codec.name(layout.DELETED_KIND, key)} lies beyond the last ordinal"
                )
            every = np.arange(stop - start, dtype=np.uint32)
            found.is_dead[start:stop] = is_deleted(bits, every)
            missing.discard(layout.key_number(key))
        except (CorruptError, FormatError) as error:
            _note_deletions(found, str(error), start, stop)
    count, wanted = int(np.count_nonzero(found.is_dead)), found.manifest.deleted_count
    is_short = not found.is_guessed and count < wanted and len(found.losses) == before
    if is_short or (found.is_guessed and layout.DELETED in found.torn):
        for number in sorted(missing):
            start = number * layout.CHUNK_ORDINALS
            stop = min(start + layout.CHUNK_ORDINALS, found.next_ordinal)
            _note_deletions(found, f"the tombstones have lost chunk {number}", start, stop)
    elif count != wanted and not found.losses and not found.is_guessed:
        found.notes.append(
            f"the manifest counts {wanted} deleted documents, but the tombstones {count}"
        )


def _note_deletions(found: Salvage, why: str, start: int, stop: int) -> None:
    """Report documents whose deletions are unknown, since no deleted document may come back."""
    why = f"{why}; deletions among the documents {start} .. {stop} are not known"
    found.lose(why, min(start, stop), stop)


def _look_at_metadata(found: Salvage, source: Source) -> None:
    problems = []
    for key, value in _numbered(found, source, layout.METADATA):
        problem = ""
        try:
            _readable_block(key, value)
        except (CorruptError, FormatError) as error:
            problem = str(error)
        problems.append((layout.key_number(key), problem))
    for (start, problem), (stop, _) in pairwise([*problems, (found.next_ordinal, "")]):
        if problem:
            found.lose(problem, start, stop, "metadata")


def _look_at_times(found: Salvage, source: Source) -> None:
    """Report chunks of times that are unreadable or missing."""
    missing = set(range(-(-found.next_ordinal // layout.TIME_ORDINALS)))
    for key, value in _numbered(found, source, layout.TIMES):
        number = layout.key_number(key)
        missing.discard(number)
        try:
            decode_times(key, value)
        except (CorruptError, FormatError) as error:
            _note_times(found, str(error), number)
    for number in sorted(missing):
        _note_times(found, f"the times have lost chunk {number}", number)


def _note_times(found: Salvage, why: str, number: int) -> None:
    start = min(number * layout.TIME_ORDINALS, found.next_ordinal)
    stop = min(start + layout.TIME_ORDINALS, found.next_ordinal)
    found.lose(why, start, stop, "times")


def _look_at_passages(found: Salvage, source: Source) -> None:
    """Report unreadable passage runs; without a manifest, all are lost."""
    for row in found.manifest.passages:
        problems = [problem for _, problem in passage_differences(row, source)]
        if not problems:
            found.passages.append(row)
        for problem in problems:
            found.lose(problem, row.start, row.stop, "passages")
    if found.next_ordinal and not found.manifest.passages:
        message = "the manifest, which lists the passages, is lost, and so are all passages"
        found.losses.append(Loss(message, 0, found.next_ordinal, takes_documents=False))


def _readable_block(key: bytes, value: Any) -> list[tuple[int, bytes]]:
    entries = decode_block(key, value)
    for ordinal, packed in entries:
        codec.unpack(packed, f"metadata of ordinal {ordinal}")
    return entries


def _guessed_manifest(environment: Environment, source: Source) -> Manifest:
    """Reconstruct a manifest from the stored columns; raise CorruptError if they are not enough."""
    lengths: dict[int, list[int]] = {}
    weighted: dict[int, int] = {}
    found: set[int] = set()
    for key, value in source.every(layout.DOCUMENTS):
        if codec.kind_of(value) not in DOCUMENT_KINDS:
            continue  # not a value of a run
        run, column, _ = layout.segment_key_parts(key)
        found.add(run)
        if column == layout.STATE:
            kind = layout.COLUMN_KINDS[layout.STATE]
            states = codec.decode_column(kind, key, value, np.uint8, verify=True)
            lengths.setdefault(run, []).append(len(states))
            weighted[run] = weighted.get(run, 0) + int(np.count_nonzero(states == WEIGHTED))
    at, rows = 0, []
    for run in sorted(lengths):
        if not sum(lengths[run]):
            continue
        stop = at + sum(lengths[run])
        rows.append(RunInfo(run, at, stop, 0, 0, weighted[run]))
        at = stop
    for run in found.difference(lengths):
        if not any(_begins_like(run, row, rows, source) for row in rows):
            raise CorruptError(
                f"neither the manifest nor the states of run {run} can be read;"
                " restore the database from a copy or a dump"
            )
    if at > ORDINALS_MAX:
        raise CorruptError(f"the runs have {at} documents, more than {ORDINALS_MAX}")
    # Versions above all stored ones, which never exceed the number of commits, tell readers that
    # data have changed.
    commits = int(source.transaction.id()) + 1
    has_changed = has_open(environment, source.transaction)
    return Manifest(
        runs=tuple(rows),
        next_run=max([commits, *(run + 1 for run in found)]),
        next_ordinal=at,
        delta_start=at,
        delta_version=commits,
        fields_version=commits,
        deleted_version=commits,
        calibration=commits,
        options_version=commits if has_changed else 0,
    )


def _begins_like(run: int, first: RunInfo, rows: Sequence[RunInfo], source: Source) -> bool:
    """Return whether `run` begins with the fingerprints of `first` and the runs after it."""
    wanted = _fingerprints(run, 0, source)
    held: list[U64] = []
    for row in rows[rows.index(first) :]:
        for segment in range(Run(row).segment_count):
            held.append(_fingerprints(row.number, segment, source))
            if sum(map(len, held)) >= len(wanted):
                return np.array_equal(np.concatenate(held)[: len(wanted)], wanted)
    return False


def _fingerprints(run: int, segment: int, source: Source) -> U64:
    """Return the verified fingerprints of a segment; raise CorruptError for damage."""
    key = layout.segment_key(run, layout.FINGERPRINT, segment)
    kind = layout.COLUMN_KINDS[layout.FINGERPRINT]
    value = source.value(layout.DOCUMENTS, kind, key)
    return codec.decode_array(kind, key, value, "<u8", verify=True)
