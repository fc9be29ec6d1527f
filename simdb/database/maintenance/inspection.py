"""Inspection: statistics of the database, and checks that it is sound.

Maintained clusters by distance, or by similarity with recall 1, are compared with clusters found
again.  With a lower recall the insertions may have missed matches, so only the links inside each
cluster are measured again: its members must still be connected.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone

import numpy as np

from simdb import storage
from simdb.core import kernel, reports
from simdb.core.arrays import is_first, sorted_unique
from simdb.core.dtypes import U32, U64
from simdb.core.errors import CorruptError, FormatError, ReplacedError
from simdb.core.reports import Finding, HeaderFill, ReaderStatistics, RunStatistics, Statistics
from simdb.core.stored_options import encode_options
from simdb.database.clusters.find import connected_labels
from simdb.database.clusters.links import EXACT_MAX, parts_of
from simdb.database.maintenance.calibration import problem_of
from simdb.database.search.buckets import labels_of
from simdb.database.search.couples import searched_parts
from simdb.database.search.question import of_maintained
from simdb.database.state.state import State
from simdb.database.state.store import Store
from simdb.plan import Criterion
from simdb.storage import check as checks, codec, metadata

REOPEN = "close the database in every process, then open it again"
CALIBRATE = "calibrate again: calibrate(), simdb calibrate"
# Batch size for counting headers, which limits the memory for large directories.
COUNTED_HEADERS = 1 << 20
GROUPED_DOCUMENTS = 1 << 23  # batch whose fingerprints are sorted together
ENTRY_CLASSES = 33  # for the number of entries of a header, a uint32
PLACE = "clusters"


def statistics(store: Store) -> Statistics:
    """Return counts, sizes, runs and readers."""
    with store.state() as state:
        contents = store.contents(state.source)
        manifest = contents.manifest
        sizes, measure = store.environment.sizes(state.source.transaction), state.scale.measure
        return Statistics(
            path=store.environment.path, format_version=codec.FORMAT_VERSION,
            document_count=manifest.document_count, empty_count=manifest.empty_count,
            bare_count=manifest.bare_count, deleted_count=manifest.deleted_count,
            delta_count=manifest.next_ordinal - manifest.delta_start, file_bytes=sizes[0],
            live_bytes=sizes[1], map_bytes=sizes[2],
            calibrated_count=_calibrated_count(state, contents),
            transaction=contents.transaction_number, largest_group=_largest_group(state),
            cluster_count=manifest.cluster_count if store.options.keeps_clusters else None,
            section_bytes=_section_bytes(store, state.source),
            runs=tuple(_run_statistics(store, run, state.source) for run in contents.runs),
            readers=_readers(store, contents.transaction_number),
            options=encode_options(store.options, _idf_in_numbers(store))
            | {"similarity": store.options.similarity_in(measure), "measure": measure},
            **_times(store, state), fields=_fields(state),
        )  # fmt: skip


def check(store: Store, *, deep: bool) -> Iterator[Finding]:
    """Yield each finding on the stored database once; nothing if it is sound.

    The tables and columns of runs are read once and compared with their checksums.  `deep` reads
    every byte and makes every table again to compare it.
    """
    seen: set[Finding] = set()
    for finding in _findings(store, deep=deep):
        if finding not in seen:
            seen.add(finding)
            yield finding


def _findings(store: Store, *, deep: bool) -> Iterator[Finding]:
    with suppress(CorruptError, FormatError):
        store.take_options()
    with store.source() as source:
        options = store.options
        try:
            store.environment.presence.check()
        except ReplacedError as error:
            yield Finding("files", str(error), REOPEN)
            return  # the names belong to other files now
        if deep:
            path = os.path.join(store.environment.path, storage.DATA_FILE)
            with storage.translated(path):
                problems = list(storage.problems_of_pages(path))
            yield from (Finding(storage.DATA_FILE, problem, checks.RESTORE) for problem in problems)
            if problems:
                return  # LMDB would follow damaged page numbers
            yield from checks.check_values(source, options)
        try:
            contents = storage.Contents.load(source, None)
            broken = list(checks.check_written_values(contents, source, options))
            yield from broken
            packed_bytes = store.exact_similarity().packed_bytes if options.features else 0
            yield from checks.check_records(
                contents, source, options, packed_bytes=packed_bytes, counts=not broken, deep=deep
            )
            problem = problem_of(contents.calibration)
            if problem is not None:
                yield Finding("calibration", problem, CALIBRATE)
            if options.keeps_clusters and not broken:
                state = State(store, store.view_of(contents), source, contents.manifest)
                yield from check_clusters(
                    state, contents.manifest, of_maintained(options), deep=deep
                )
            if deep:
                yield from checks.check_entries(contents, source, options)
        except (CorruptError, FormatError) as error:
            yield Finding("database", str(error), f"{checks.REBUILD}; or {checks.RESTORE}")


def _calibrated_count(state: State, contents: storage.Contents) -> int | None:
    """Return the number of live documents that the calibration covers; None without one."""
    if state.calibration is None:
        return None
    return storage.live_count(contents.dead, min(state.view.uncovered_from, state.next_ordinal))


def _idf_in_numbers(store: Store) -> dict[str, int] | None:
    """Return the sizes of the IDF table, which represent it among the options."""
    store.look_for_idf()
    idf = store.options.sketch.idf
    if idf is None:
        return None
    return {"features": len(idf), "documents": idf.document_count, "bytes": idf.size_bytes}


def _largest_group(state: State) -> int:
    """Return the largest number of documents with the same fingerprint."""
    parts = max(-(-state.next_ordinal // GROUPED_DOCUMENTS), 1)
    return max(_largest_of(_fingerprints_in(state, part, parts)) for part in range(parts))


def _fingerprints_in(state: State, part: int, parts: int) -> U64:
    """Return the fingerprints of live documents with features, in one of `parts` ranges."""
    found = [np.empty(0, np.uint64)]
    for bits, *_ in searched_parts(state, is_measured=False):
        found.append(bits[(bits >> np.uint64(32)) * np.uint64(parts) >> np.uint64(32) == part])
    return np.concatenate(found)


def _largest_of(fingerprints: U64) -> int:
    """Sort fingerprints in place and return the largest number of equal ones."""
    kernel.sort(fingerprints)
    begins = np.flatnonzero(is_first(fingerprints))
    return int(np.diff(begins, append=len(fingerprints)).max(initial=0))


def _section_bytes(store: Store, source: storage.Source) -> dict[str, int]:
    """Return the bytes of the pages of each sub-database."""
    return {name.decode(): source.pages_bytes(name) for name in storage.all_names(store.options)}


def _times(store: Store, state: State) -> dict[str, datetime]:
    """Return the oldest and the newest time of a document, if there are any."""
    if not store.options.keeps_times:
        return {}
    times = state.times()[state.live()]
    known = times[times > 0]
    if not len(known):
        return {}
    return {
        "oldest_time": datetime.fromtimestamp(int(known.min()), timezone.utc),
        "newest_time": datetime.fromtimestamp(int(known.max()), timezone.utc),
    }


def _fields(state: State) -> reports.FieldCounts:
    """Count the documents with each value of each field, the most frequent value first."""
    found: reports.FieldCounts = {}
    live = state.live()
    for number, field in enumerate(state.store.options.fields):
        own = state.codes()[live, number]
        _, first, counts = np.unique(own, return_index=True, return_counts=True)
        order = np.lexsort((first, -counts))
        examples = live[first[order]].tolist()
        packed = state.metadata_of_many(examples)
        values = (metadata.unpacked(packed, ordinal) for ordinal in examples)
        each = (value.get(field) if isinstance(value, dict) else None for value in values)
        found[field] = list(zip(each, counts[order].tolist(), strict=True))
    return found


def _run_statistics(store: Store, run: storage.Run, source: storage.Source) -> RunStatistics:
    total = 0
    for name, key in run.value_keys(storage.table_names(store.options), store.width):
        total += len(source.find(name, key) or b"")
    return RunStatistics(run.info.number, len(run.info), run.info.entry_count, total)


def _readers(store: Store, newest: int) -> tuple[ReaderStatistics, ...]:
    return tuple(
        ReaderStatistics(process, thread, number, max(newest - number, 0))
        for process, thread, number in store.environment.readers()
    )


def header_fill(store: Store) -> tuple[HeaderFill, ...]:
    """Return the fill of every table, over all runs."""
    with store.state() as state:
        return tuple(_fill_of(name, state) for name in storage.table_names(store.options))


def _fill_of(name: bytes, state: State) -> HeaderFill:
    counts = np.zeros(ENTRY_CLASSES, np.int64)
    headers = entries = largest = 0
    for run in state.runs:
        if not storage.stored_kinds(run.info, name):
            continue
        table = run.named_table(name, state.source)
        headers += len(table.directory) - 1
        entries += len(table.keys)
        for start in range(0, len(table.directory) - 1, COUNTED_HEADERS):
            sizes = np.diff(table.directory[start : start + COUNTED_HEADERS + 1])
            largest = max(largest, int(sizes.max()))
            # The class of a number of entries: 0 for 0, i for 2^(i - 1) to 2^i - 1.
            classes = np.frexp(sizes.astype(np.float64))[1]
            counts += np.bincount(classes, minlength=ENTRY_CLASSES)
    classed = tuple(np.trim_zeros(counts, "b").tolist())
    return HeaderFill(name.decode(), headers, entries, largest, classed)


def check_clusters(
    state: State, manifest: storage.Manifest, criterion: Criterion, *, deep: bool
) -> Iterator[Finding]:
    """Yield findings on damaged maintained clusters; `deep`: also if they disagree with matches."""
    numbers, following = storage.Membership(state.source).whole(state.next_ordinal)
    problems = list(_problems(state, numbers, following, manifest))
    if deep and not problems:
        problems = list(_differences(state, numbers, criterion))
    for problem in problems:
        yield Finding(PLACE, problem, checks.REBUILD)


def _problems(
    state: State, numbers: U32, following: U32, manifest: storage.Manifest
) -> Iterator[str]:
    """Yield contradictions between the cluster numbers, the rings and the manifest."""
    members = np.flatnonzero(numbers).astype(np.uint32)
    count = len(sorted_unique(numbers)) - int(len(members) < len(numbers))
    if count != manifest.cluster_count:
        yield f"cluster_count is {manifest.cluster_count}, counted {count}"
    if len(members) and numbers.max() > manifest.last_cluster:
        yield f"cluster number {numbers.max()} is beyond the last number {manifest.last_cluster}"
    if storage.is_deleted(state.dead, members).any():
        yield "deleted documents are members of clusters"
    after = following[members]
    inside = bool((after < len(numbers)).all())
    if not inside or (numbers[after] != numbers[members]).any() or (after == members).any():
        yield "a member is not followed by another member of its cluster"
        return
    forest = kernel.Forest(len(numbers))
    forest.join(members, after)
    rings = len(sorted_unique(forest.labels()[members]))
    if rings != count or len(sorted_unique(after)) != len(after):
        yield f"the members of {count} clusters form {rings} rings, or rings that do not close"


def _differences(state: State, numbers: U32, criterion: Criterion) -> Iterator[str]:
    """Yield differences between the stored clusters and the matches of the documents."""
    stored = labels_of(numbers)
    if criterion.similarity is None or criterion.recall == 1.0:
        wanted = connected_labels(state, criterion)
        different = int(np.count_nonzero(stored != wanted))
        if different:
            yield f"{different} documents are not in the clusters of their matches"
        return
    members = np.flatnonzero(numbers).astype(np.uint32)
    sizes = np.bincount(stored)[stored[members]]
    members = members[sizes <= EXACT_MAX]
    if len(members):
        parts = parts_of(state, criterion, members, numbers[members])
        apart = int(np.count_nonzero(members[parts] != stored[members]))
        if apart:
            yield f"{apart} documents are not connected with the first document of their cluster"
