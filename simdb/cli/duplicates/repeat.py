"""Repeats: what a run of `simdb dedup --db` kept and left out, so that it can be run again.

The database has a note for each run: which documents the run stored, and what each document that it
left out matched.  It is part of the commit that stores the documents.  If the run is repeated, the
same documents are kept and left out again, without a search, whatever was stored since.

A document is known by its id, and by its fingerprint where it is stored or else by its text.

    kept        uint64[k], ascending: hashes of the ids of stored documents
    left        uint64[n], ascending: hashes of id and text of documents that were left out
    ids         n ids under which these were reported
    matches     n ids of what they match
    distances   uint8[n]
    similarities float32[n], NaN for none
    rule        how documents had to match
"""

import os
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from simdb import kernel
from simdb.cli.output.render import match_row
from simdb.errors import OptionError
from simdb.matches import Match
from simdb.outputs.remote import is_remote, remote_place
from simdb.outputs.rows import Row
from simdb.sources.batch import Batch
from simdb.sources.content import STANDARD_INPUT
from simdb.storage.layout import NOTE_NAME_BYTES_MAX
from simdb.values import Id

NOTE = "dedup/"
HASH_BYTES = 8

U64 = npt.NDArray[np.uint64]


def run_name(given: str | None, sources: Collection[str]) -> str | None:
    """Return the name of a run: the `given` one, or one made of the places of its sources.

    None if a source is standard input, which can be anything when it is read again.
    """
    if given is not None:
        if not given or len(os.fsencode(NOTE + given)) > NOTE_NAME_BYTES_MAX:
            most = NOTE_NAME_BYTES_MAX - len(NOTE)
            raise OptionError(f"--run needs a name of 1 to {most} bytes, got {given[:40]!r}")
        return given
    if STANDARD_INPUT in sources:
        return None
    places = sorted(
        {
            os.fsencode(remote_place(each) if is_remote(each) else os.path.realpath(each))
            for each in sources
        }
    )
    return blake2b(b"\0".join(places), digest_size=16).hexdigest()


class Repeat:
    """What a run did before, and what it does now."""

    def __init__(self, name: str | None, rule: Sequence[Any], before: simdb.Snapshot) -> None:
        """Read what the run `name` did, if `before` knows it; None for a run without a name.

        `rule`: how documents must match.  What was left out by another rule is decided again.
        """
        self._name = name
        self._rule = list(rule)
        self._before = before
        known = None if name is None else before.note(NOTE + name)
        self.is_known = known is not None
        self.again = 0
        self._kept = _hashes(known, "kept")
        self._is_used = np.zeros(len(self._kept), np.bool_)
        self._new_kept: list[U64] = []
        has_rule = known is not None and known["rule"] == self._rule
        self._left = _hashes(known if has_rule else None, "left")
        self._rows: list[Row] = _rows(known) if has_rule and known is not None else []
        self._new_left: dict[int, Row] = {}

    def take(self, id: Id) -> bool:
        """Return whether the run stored a document with this id; then it counts as kept again."""
        at = self._place(id)
        if at is None or self._is_used[at]:
            return False
        self._is_used[at] = True
        self.again += 1
        return True

    def has_taken(self, id: Id) -> bool:
        """Return whether the document with this id was kept again before."""
        at = self._place(id)
        return at is not None and bool(self._is_used[at])

    def left_rows(self, batch: Batch) -> dict[int, Row]:
        """Return the row of each document that the run left out, by its position in the batch.

        A document whose match is not stored any more is decided again.
        """
        if not len(self._left):
            return {}
        hashes = _text_hashes(batch, range(len(batch)))
        at = np.minimum(np.searchsorted(self._left, hashes), len(self._left) - 1)
        positions = np.flatnonzero(self._left[at] == hashes).tolist()
        rows = [self._rows[at[position]] for position in positions]
        is_stored, _ = self._before.bits_many([row["match"] for row in rows])
        return {
            position: row
            for position, row, stored in zip(positions, rows, is_stored.tolist(), strict=True)
            if stored
        }

    def add_kept(self, ids: Sequence[Id]) -> None:
        """Remember documents that the run has stored."""
        if self._name is not None and ids:
            self._new_kept.append(_id_hashes(ids))

    def add_left(self, batch: Batch, positions: Sequence[int], rows: Sequence[Row]) -> None:
        """Remember documents of a batch that the run has left out; their ids are as they were read.

        `rows`: how they were reported.
        """
        if self._name is not None:
            hashes = _text_hashes(batch, positions).tolist()
            self._new_left.update(zip(hashes, rows, strict=True))

    def store(self, transaction: simdb.WriteTransaction) -> None:
        """Stage the note of the run, unless nothing was added."""
        if self._name is None or not (self._new_kept or self._new_left or not self.is_known):
            return
        left = dict(zip(self._left.tolist(), self._rows, strict=True)) | self._new_left
        order = sorted(left)
        rows = [left[each] for each in order]
        similarities = [row["similarity"] for row in rows]
        kept = np.unique(np.concatenate([self._kept, *self._new_kept]))
        transaction.set_note(
            NOTE + self._name,
            {
                "kept": kept.astype("<u8").tobytes(),
                "left": np.array(order, "<u8").tobytes(),
                "ids": [row["id"] for row in rows],
                "matches": [row["match"] for row in rows],
                "distances": np.array([row["distance"] for row in rows], np.uint8).tobytes(),
                "similarities": np.array(similarities, "<f4").tobytes(),
                "rule": self._rule,
            },
        )

    def _place(self, id: Id) -> int | None:
        """Return the place of a document among those that the run stored; None if it is none."""
        if not len(self._kept):
            return None
        hash = _id_hashes([id])[0]
        at = int(np.searchsorted(self._kept, hash))
        return at if at < len(self._kept) and self._kept[at] == hash else None


def _hashes(known: Any, name: str) -> U64:
    return np.frombuffer(b"" if known is None else known[name], "<u8").astype(np.uint64)


def _rows(known: dict[str, Any]) -> list[Row]:
    distances = np.frombuffer(known["distances"], np.uint8).tolist()
    similarities = np.frombuffer(known["similarities"], "<f4")
    return [
        {"id": id, **match_row(Match(match, distance, None if lost else similarity), "match")}
        for id, match, distance, similarity, lost in zip(
            known["ids"], known["matches"], distances, similarities.tolist(),
            np.isnan(similarities).tolist(), strict=True,
        )
    ]  # fmt: skip


def _id_hashes(ids: Sequence[Id]) -> U64:
    return np.asarray(kernel.encode_ids(list(ids))[2], np.uint64)


def _text_hashes(batch: Batch, positions: Sequence[int]) -> U64:
    """Return hashes of id and text of documents of a batch."""
    chosen = batch.chosen(list(positions))
    hashes = [
        blake2b(content, digest_size=HASH_BYTES, salt=own.to_bytes(HASH_BYTES, "little")).digest()
        for content, own in zip(chosen.contents(), _id_hashes(chosen.ids).tolist(), strict=True)
    ]
    return np.frombuffer(b"".join(hashes), "<u8").astype(np.uint64)
