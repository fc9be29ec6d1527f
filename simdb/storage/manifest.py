"""The manifest: the live runs and the counters that change with every commit.

It also records the progress of a merge that takes several commits.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from simdb.core import kernel
from simdb.core.checks import a_map, a_whole, expecting
from simdb.core.errors import CorruptError
from simdb.core.values import dataclass, field, replace
from simdb.storage import codec, layout


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A sealed run: its number and the ordinals start .. stop that it covers.

    Each table of keys has `entry_count` documents; deleted documents and documents without features
    may be missing.  The table of ids has `id_count` documents, also those without features.
    `weighted_count` documents have a volatility vector; if it is 0, no vectors are stored.  Each
    cross-polytope table has `polytope_count` documents; if it is 0, none is stored.

    `ids` is None if the table of ids has hashes as keys.  It is () if all ids are integers in no
    regular row: then the table has no keys.  Otherwise it is the row of the ids, see `describe_ids`
    of the kernel.  Then there is no table of ids, only a bitmap of the documents that left the
    tables, if any.

    `sums`: the checksums of the entries of each table, 8 bytes little-endian, first of the table of
    ids (if it has keys), then of the tables of keys.  Runs of older versions have none.
    """

    number: int
    start: int
    stop: int
    entry_count: int
    id_count: int
    weighted_count: int
    polytope_count: int = 0
    ids: tuple[int, ...] | None = field(default=None, kw_only=True)
    sums: bytes = field(default=b"", kw_only=True)

    def __len__(self) -> int:
        """Return the number of ordinals covered."""
        return self.stop - self.start


class PassageInfo(NamedTuple):
    """A passage run: its number, the ordinals start .. stop that it covers, and its entries.

    `counts`: the number of entries for each value of the highest bits of their keys; its length is
    a power of two.  `checksum`: the checksum of all entries, see `entry_sum` of the kernel.
    """

    number: int
    start: int
    stop: int
    counts: tuple[int, ...]
    checksum: int

    @property
    def entry_count(self) -> int:
        """Number of entries."""
        return sum(self.counts)

    def value_keys(self) -> Iterator[bytes]:
        """Yield the key of every stored value."""
        for number, count in enumerate(self.counts):
            if count:
                for column in (layout.KEYS, layout.ORDINALS):
                    yield layout.segment_key(self.number, column, number)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A merge over several commits: the run that it writes, and its progress.

    The live runs from `run.start` to `run.stop` become this run.  `done` steps are done; counts of
    `run` that later steps determine are still 0.  `begun` was the next ordinal when the merge
    began.
    """

    run: RunInfo
    done: int
    begun: int

    def merged(self, rows: Iterable[RunInfo]) -> list[RunInfo]:
        """Return the rows of the runs that become `run`."""
        return [row for row in rows if self.run.start <= row.start < self.run.stop]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of the database after a commit.

    Runs are sorted by ordinal and cover 0 .. `delta_start` without gaps; the delta holds
    `delta_start` .. `next_ordinal`.  `document_count`, `empty_count` and `bare_count` count live
    documents.  At most one merge is unfinished.

    Versions tell a reader which data it can still use.  `delta_version` changes when the delta is
    emptied, and `deleted_version` when a document is deleted.  `calibration` changes when a
    calibration is stored; 0 means none.  `options_version` changes when other options are stored,
    and `fields_version` when stored codes of fields are replaced.

    `cluster_count` clusters are maintained; the next one gets the number `last_cluster` + 1.
    `ahead`: runs with this number or a larger one were written ahead of a commit that failed; 0 if
    there are none.  `passages`: the passage runs, sorted by ordinal, covering 0 .. `next_ordinal`;
    the next one gets the number `next_passage`.  `passages_ahead`: like `ahead` for passage runs,
    plus 1.  `content`: the kind of the first document, see `Sketches`.  `id_key`: the key of the
    hash of ids, see `encode_ids` of the kernel; empty in databases of older versions.
    """

    runs: tuple[RunInfo, ...] = ()
    next_run: int = 0
    next_ordinal: int = 0
    delta_start: int = 0
    delta_version: int = 0
    deleted_version: int = 0
    deleted_count: int = 0
    document_count: int = 0
    empty_count: int = 0
    bare_count: int = 0
    calibration: int = 0
    cluster_count: int = 0
    last_cluster: int = 0
    unfinished: Unfinished | None = None
    options_version: int = 0
    ahead: int = 0
    passages: tuple[PassageInfo, ...] = ()
    next_passage: int = 0
    passages_ahead: int = 0
    content: int = 0
    fields_version: int = 0
    id_key: bytes = b""

    @property
    def live_next_run(self) -> int:
        """Number of the next run, not counting runs that were written ahead."""
        return self.ahead - 1 if self.ahead else self.next_run

    def renumbered(self, runs: tuple[RunInfo, ...], count: int) -> "Manifest":
        """Return the manifest after `count` documents, all in `runs`, got ordinals starting at 0.

        It has no passage runs.
        """
        return replace(
            self,
            runs=runs,
            next_run=self.next_run + 1,
            next_ordinal=count,
            delta_start=count,
            delta_version=self.delta_version + 1,
            deleted_version=self.deleted_version + 1,
            deleted_count=0,
            unfinished=None,
            ahead=0,
            passages=(),
        )

    def with_passages(self, rows: tuple[PassageInfo, ...]) -> "Manifest":
        """Return the manifest with exactly these passage runs, and none written ahead."""
        following = max([self.next_passage, *(row.number + 1 for row in rows)])
        return replace(self, passages=rows, next_passage=following, passages_ahead=0)


def joined_ids(parts: Iterable[tuple[tuple[int, ...] | None, int]]) -> tuple[int, ...] | None:
    """Return `RunInfo.ids` for consecutive parts, each given by its own `ids` and its length."""
    ids, count = next(parts := iter(parts))
    for own, length in parts:
        ids, count = kernel.join_rows(ids, count, own, length), count + length
    return ids


# Ordinals and run numbers are uint32; other counters count commits.
NUMBER_STOP = (1 << 32) + 1
COUNTER_STOP = 1 << 63
# Fields added after the first format are stored only if they are not 0 or None.
YOUNGER = (
    "cluster_count", "last_cluster", "unfinished", "options_version", "ahead", "passages",
    "next_passage", "passages_ahead", "content", "fields_version", "id_key",
)  # fmt: skip
SUM_BYTES = 8
# The fields that every row of a run has, in this order.
_NUMBERS = (
    "number", "start", "stop", "entry_count", "id_count", "weighted_count", "polytope_count",
)  # fmt: skip
# The limit of parts of a passage run: 2^13 parts of 2^21 entries are four entries for each ordinal.
PARTS_MAX = 1 << 13


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the stored form of a manifest."""
    fields = {
        name: getattr(manifest, name) for name in Manifest.__dataclass_fields__ if name != "runs"
    }
    rows = [_encode_run(run) for run in manifest.runs]
    if manifest.unfinished is not None:
        merge = manifest.unfinished
        fields["unfinished"] = [*_encode_run(merge.run), merge.done, merge.begun]
    fields["passages"] = [_encode_passages(row) for row in manifest.passages]
    for name in YOUNGER:
        if not fields[name]:
            del fields[name]
    stored = {**fields, "runs": rows}
    return codec.encode_object(layout.MANIFEST_KIND, layout.MANIFEST_KEY, stored)


def decode_manifest(value: Any) -> Manifest:
    """Return the stored manifest; raise CorruptError if it describes an impossible state."""
    stored = codec.decode_object(layout.MANIFEST_KIND, layout.MANIFEST_KEY, value)
    with expecting("the manifest"):
        fields = dict(a_map(stored))
        rows = tuple(_decode_run(row) for row in fields.pop("runs"))
        unfinished = _decode_unfinished(fields.pop("unfinished", None))
        passages = tuple(_decode_passages(row) for row in fields.pop("passages", ()))
        id_key = fields.pop("id_key", b"")
        if not isinstance(id_key, bytes) or len(id_key) not in (0, kernel.ID_KEY_BYTES):
            raise CorruptError(f"the key of the ids is not {kernel.ID_KEY_BYTES} bytes long")
        for number in fields.values():
            a_whole(number, COUNTER_STOP)
        manifest = Manifest(
            runs=rows, **fields, unfinished=unfinished, passages=passages, id_key=id_key
        )
        a_whole(max(manifest.next_ordinal, manifest.next_run), NUMBER_STOP)
    for contradiction in _contradictions(manifest):
        raise CorruptError(contradiction)
    return manifest


def _encode_run(run: RunInfo) -> list[Any]:
    """Return the row of a run; an older simdb refuses a row without hashes of ids."""
    ids = [] if run.ids is None else [list(run.ids)]
    return [*(getattr(run, name) for name in _NUMBERS), *ids, run.sums]


def _encode_passages(row: PassageInfo) -> list[Any]:
    checksum = row.checksum.to_bytes(SUM_BYTES, "little")
    return [row.number, row.start, row.stop, list(row.counts), checksum]


def _decode_run(row: Any) -> RunInfo:
    """Return a run; older rows lack `polytope_count` and `sums`."""
    *numbers, sums = row if isinstance(row[-1], bytes) else (*row, b"")
    ids = None
    if isinstance(numbers[-1], list):
        ids = tuple(a_whole(number, 1 << 64) for number in numbers.pop())
        if len(ids) not in (0, 3):
            raise CorruptError(f"a run has a row of {len(ids)} numbers for its ids")
    known = numbers[: len(_NUMBERS)]  # unreleased versions stored one more number
    return RunInfo(*(a_whole(number, NUMBER_STOP) for number in known), ids=ids, sums=sums)


def _decode_passages(row: Any) -> PassageInfo:
    *span, counts, checksum = row
    number, start, stop = (a_whole(each, NUMBER_STOP) for each in span)
    kept = tuple(a_whole(count, COUNTER_STOP) for count in counts)
    if not 0 < len(kept) <= PARTS_MAX or len(kept) & (len(kept) - 1):
        raise CorruptError(f"a passage run has {len(kept)} parts, which is not a power of two")
    if not isinstance(checksum, bytes) or len(checksum) != SUM_BYTES:
        raise CorruptError(f"the checksum of passage run {number} is not {SUM_BYTES} bytes long")
    return PassageInfo(number, start, stop, kept, int.from_bytes(checksum, "little"))


def _decode_unfinished(row: Any) -> Unfinished | None:
    if row is None:
        return None
    *run, done, begun = row
    return Unfinished(_decode_run(run), a_whole(done, NUMBER_STOP), a_whole(begun, NUMBER_STOP))


def _contradictions(manifest: Manifest) -> Iterator[str]:
    """Yield the contradictions in a manifest."""
    merge, at = manifest.unfinished, 0
    for run in manifest.runs:
        if run.start != at or run.stop <= at:
            yield f"run {run.number} covers {run.start}..{run.stop}, not from {at}"
        at = run.stop
    every = manifest.runs if merge is None else (*manifest.runs, merge.run)
    for run in every:
        most = max(run.entry_count, run.id_count, run.weighted_count)
        if most > len(run) or run.polytope_count > run.weighted_count:
            yield f"run {run.number} has {len(run)} documents, but a table has more entries"
        if run.number >= manifest.next_run:
            yield f"run {run.number} exists, but the next run has the number {manifest.next_run}"
        if 0 < manifest.ahead <= run.number:
            yield f"run {run.number} exists, but runs from {manifest.ahead} on do not count"
    if len({run.number for run in every}) != len(every):
        yield "two runs have the same number"
    if merge is not None and not _fits(merge, manifest):
        yield (
            f"the unfinished merge into run {merge.run.number} covers"
            f" {merge.run.start}..{merge.run.stop} and began at {merge.begun}, which does not fit"
            " the runs"
        )
    if manifest.passages:
        yield from _contradictions_of_passages(manifest)
    if max(manifest.document_count, manifest.deleted_count) > manifest.next_ordinal:
        yield (
            f"the manifest counts {manifest.document_count} live and {manifest.deleted_count}"
            f" deleted documents, more than its {manifest.next_ordinal} ordinals"
        )
    if at != manifest.delta_start or at > manifest.next_ordinal:
        yield f"the runs end at {at}, but the delta starts at {manifest.delta_start}"


def _fits(merge: Unfinished, manifest: Manifest) -> bool:
    """Return whether a merge joins at least two whole runs."""
    run, merged = merge.run, merge.merged(manifest.runs)
    is_whole = len(merged) > 1 and (merged[0].start, merged[-1].stop) == (run.start, run.stop)
    return is_whole and merge.begun <= manifest.next_ordinal


def _contradictions_of_passages(manifest: Manifest) -> Iterator[str]:
    """Yield a message unless the passage runs cover all ordinals and have distinct numbers.

    Runs that were written ahead of a failed commit are not among them.
    """
    at, last = 0, (manifest.passages_ahead or manifest.next_passage + 1) - 1
    for row in manifest.passages:
        if row.start != at or row.stop < at or row.number >= last:
            yield (
                f"passage run {row.number} covers {row.start}..{row.stop}, not from {at}, or has a"
                f" number that was not given yet: the next is {last}"
            )
        at = row.stop
    if at != manifest.next_ordinal:
        yield f"the passage runs cover {at} of {manifest.next_ordinal} ordinals"
    if len({row.number for row in manifest.passages}) < len(manifest.passages):
        yield "two passage runs have the same number"
