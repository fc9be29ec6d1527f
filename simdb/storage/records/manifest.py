"""The manifest: which runs are live, and the counters that change with every commit."""

from dataclasses import dataclass, replace
from typing import Any

from simdb.decoding import a_map, a_whole, expecting
from simdb.errors import CorruptError
from simdb.storage import codec, layout


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A sealed run: its number and the ordinals start .. stop that it covers.

    `entry_count` of them stand in each table of fingerprints and `id_count` in the table of ids;
    the others are deleted, or empty and therefore only among the ids.  `weighted_count` have a
    volatility vector; where none has, no vectors are stored.
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

    Runs are in order of ordinals and cover 0 .. `delta_start` without gaps; the delta holds
    delta_start .. next_ordinal.  `delta_version` changes when the delta is emptied and
    `deleted_version` when a document is deleted, so that a reader knows what it may keep.
    `document_count`, `empty_count` and `bare_count` are of live documents.  `calibration` changes
    when a calibration is stored; 0 while there is none.  `cluster_count` clusters are kept, and the
    next one gets the number `last_cluster` + 1.
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
# Fields that are younger than the format are stored only where they say something.
YOUNGER = ("cluster_count", "last_cluster")


def renumbered(manifest: Manifest, runs: tuple[RunInfo, ...], count: int) -> Manifest:
    """The manifest once `count` documents have new ordinals, from 0, and all stand in `runs`."""
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
    """Its stored form."""
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
    """The opposite; CorruptError unless it describes a possible state."""
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
            raise CorruptError(f"run {run.number} of {len(run)} documents has more in a table")
        if run.number >= manifest.next_run:
            raise CorruptError(f"run {run.number} is there before run {manifest.next_run} is made")
        at = run.stop
    if len({run.number for run in rows}) != len(rows):
        raise CorruptError("two runs have one number")
    if max(manifest.document_count, manifest.deleted_count) > manifest.next_ordinal:
        raise CorruptError(f"more is counted than the {manifest.next_ordinal} documents there are")
    if at != manifest.delta_start or at > manifest.next_ordinal:
        raise CorruptError(f"the runs end at {at} and the delta starts at {manifest.delta_start}")
    return manifest


def _decode_run(row: Any) -> RunInfo:
    return RunInfo(*(a_whole(number, NUMBER_STOP) for number in row))
