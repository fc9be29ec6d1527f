"""The manifest: which runs are live, and the counters that change with every commit."""

from dataclasses import dataclass, replace
from typing import Any

from simdb.decoding import a_map, a_whole, expecting
from simdb.errors import CorruptError
from simdb.storage import codec, layout


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A sealed run: its number and the ordinals start .. stop that it covers.

    `entry_count` of these documents are in each table of keys and `id_count` in the table of ids;
    the others are deleted, or have no features and so are in the table of ids only.
    `weighted_count` documents have a volatility vector; if it is 0, no vectors are stored.
    """

    number: int
    start: int
    stop: int
    entry_count: int
    id_count: int
    weighted_count: int

    def __len__(self) -> int:
        """Number of ordinals covered."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of the database after a commit.

    Runs are sorted by ordinal and cover 0 .. `delta_start` without gaps; the delta holds
    `delta_start` .. `next_ordinal`.  `delta_version` changes when the delta is emptied and
    `deleted_version` when a document is deleted, so that a reader knows which data it can still
    use.  `document_count`, `empty_count` and `bare_count` count live documents.  `calibration`
    changes when a calibration is stored; it is 0 before the first.  `cluster_count` clusters are
    maintained, and the next one gets the number `last_cluster` + 1.
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

    @property
    def is_unmoved(self) -> bool:
        """Whether no document was ever deleted or renumbered: ordinals count all insertions."""
        return self.deleted_version == 0


# Ordinals, and the numbers of runs, are uint32; the rest counts commits.
NUMBER_STOP = (1 << 32) + 1
COUNTER_STOP = 1 << 63
# Fields that are younger than the format are stored only if they are not 0.
YOUNGER = ("cluster_count", "last_cluster")


def renumbered(manifest: Manifest, runs: tuple[RunInfo, ...], count: int) -> Manifest:
    """Return the manifest after `count` documents got new ordinals from 0, all in `runs`."""
    return replace(
        manifest,
        runs=runs,
        next_run=manifest.next_run + 1,
        next_ordinal=count,
        delta_start=count,
        delta_version=manifest.delta_version + 1,
        deleted_version=manifest.deleted_version + 1,
        deleted_count=0,
    )


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the stored form of a manifest."""
    fields = {
        name: getattr(manifest, name) for name in Manifest.__dataclass_fields__ if name != "runs"
    }
    rows = [[getattr(run, name) for name in RunInfo.__dataclass_fields__] for run in manifest.runs]
    for name in YOUNGER:
        if not fields[name]:
            del fields[name]
    stored = {**fields, "runs": rows}
    return codec.encode_object(layout.MANIFEST_KIND, layout.MANIFEST_KEY, stored)


def decode_manifest(value: Any) -> Manifest:
    """Return the stored manifest; CorruptError unless it describes a possible state."""
    stored = codec.decode_object(layout.MANIFEST_KIND, layout.MANIFEST_KEY, value)
    with expecting("the manifest"):
        fields = dict(a_map(stored))
        rows = tuple(_decode_run(row) for row in fields.pop("runs"))
        for number in fields.values():
            a_whole(number, COUNTER_STOP)
        manifest = Manifest(runs=rows, **fields)
        a_whole(max(manifest.next_ordinal, manifest.next_run), NUMBER_STOP)
    at = 0
    for run in rows:
        if run.start != at or run.stop <= at:
            raise CorruptError(f"run {run.number} covers {run.start}..{run.stop}, not from {at}")
        if max(run.entry_count, run.id_count, run.weighted_count) > len(run):
            raise CorruptError(
                f"run {run.number} has {len(run)} documents, but more entries in a table"
            )
        if run.number >= manifest.next_run:
            raise CorruptError(
                f"run {run.number} exists, but the next run has the number {manifest.next_run}"
            )
        at = run.stop
    if len({run.number for run in rows}) != len(rows):
        raise CorruptError("two runs have the same number")
    if max(manifest.document_count, manifest.deleted_count) > manifest.next_ordinal:
        raise CorruptError(
            f"the manifest counts {manifest.document_count} live and {manifest.deleted_count}"
            f" deleted documents, more than its {manifest.next_ordinal} ordinals"
        )
    if at != manifest.delta_start or at > manifest.next_ordinal:
        raise CorruptError(f"the runs end at {at}, but the delta starts at {manifest.delta_start}")
    return manifest


def _decode_run(row: Any) -> RunInfo:
    return RunInfo(*(a_whole(number, NUMBER_STOP) for number in row))
