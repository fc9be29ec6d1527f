"""Repeats: a note of the documents that a run over a database kept and left out.

The note of a run says which documents the run stored, and what each document matched that it left
out.  The commit that stores the documents also stores the note.  If the run is repeated, it keeps
and omits the same documents without a search, even if others have been stored meanwhile.

A stored document is recognised by its id and fingerprint.  A document that was left out is
recognised by the id under which it was reported and by its text.

    `kept`         uint64[k], ascending: hashes of the ids of stored documents.
    `left`         uint64[n], ascending: hashes of `ids` and texts of documents that were left out.
    `ids`          The n ids under which these were reported.
    `matches`      The n ids of the documents that they match.
    `bits`         uint64[n]: bits of the sketches of `matches`, absent in older notes.
    `distances`    uint8[n], or uint16[n] for hashes of other than 64 bits.
    `similarities` float32[n], NaN for none.
    `rule`         The arguments that decided which documents matched.
    `key`          The key of the hashes, see `encode_ids` of the kernel; absent without one.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Columns, Id, is_first, object_array, places_in, sorted_unique
from simdb.core.dtypes import F32, I64, U8, U16, U64, Bools, Objects
from simdb.core.errors import OptionError
from simdb.core.values import dataclass
from simdb.storage import layout

NOTE = "dedup/"
HASH_BYTES = 8


class Noted(Protocol):
    """A transaction, as far as notes need it."""

    def note(self, name: str) -> Any:
        """Return the content of a note; None if there is none."""

    def set_note(self, name: str, content: Any) -> None:
        """Store the content of a note."""

    def bits_many(self, ids: Any) -> tuple[Bools, U64]:
        """Return whether each id is stored, and the bits of its sketch."""


@dataclass(frozen=True, slots=True, eq=False)
class Left(Columns):
    """Documents that were left out, and their matches.

    `ids` object[n]: the ids under which the documents were reported.  `matches` object[n],
    `distances` uint8[n] or uint16[n], `similarities` float32[n], NaN for none.
    """

    ids: Objects
    matches: Objects
    distances: U8 | U16
    similarities: F32


NOTHING = Left(
    object_array([]), object_array([]), np.empty(0, np.uint8), np.empty(0, np.float32)
)  # fmt: skip


class Repeat:
    """The note of a run from an earlier occasion, and the additions to it.

    Documents are given by the hashes of their ids; see `hashes`.
    """

    def __init__(
        self, name: str | None, rule: Sequence[Any], transaction: Noted, key: bytes
    ) -> None:
        """Read the note of the run `name`, if there is one; None for a run without a name.

        `rule`: the arguments that decide which documents match.  If the note has another rule, the
        documents that were left out are decided again.  `key`: the key of the hashes in a new note.
        """
        self._name = name
        self._rule = list(rule)
        self._transaction = transaction
        known = None if name is None else transaction.note(NOTE + name)
        self.is_known = known is not None
        self.key: bytes = key if known is None else known.get("key", b"")
        self._kept = _hashes(known, "kept")
        self._new_kept: list[U64] = []
        if known is not None and known["rule"] != self._rule:
            known = None
        self._left_hashes = _hashes(known, "left")
        self._left = NOTHING if known is None else _left_of(known)
        has_bits = known is not None and "bits" in known
        self._left_bits = _hashes(known, "bits") if has_bits else self._bits_of(self._left)
        self._new_hashes: list[U64] = []
        self._new_left: list[Left] = []

    @property
    def kept_count(self) -> int:
        """The number of documents that the run stored."""
        return len(self._kept)

    def hashes(self, ids: Sequence[Id]) -> U64:
        """Return the hashes of ids as in the note: uint64[n].

        Raises InputError for an invalid id.
        """
        return hashes_of(ids, self.key)

    def kept(self, hashes: U64) -> I64:
        """Return the place of each id among the stored ids of the run, -1 if absent: int64[n]."""
        return places_in(self._kept, hashes)

    def left(self, hashes: U64, contents: Callable[[], Iterable[bytes]]) -> tuple[I64, Left]:
        """Return the positions of documents that the run left out, int64[k], and their matches.

        `contents` returns all texts in UTF-8.  The result omits documents whose match was deleted
        or got another text meanwhile: they are decided again.
        """
        if not len(self._left_hashes):
            return np.empty(0, np.int64), NOTHING
        places = places_in(self._left_hashes, _text_hashes(hashes, contents()))
        positions = np.flatnonzero(places >= 0)
        found = self._left.taken(places[positions])
        is_there, bits = self._transaction.bits_many(found.matches.tolist())
        is_there &= bits == self._left_bits[places[positions]]
        return positions[is_there], found.taken(is_there)

    def add_kept(self, hashes: U64) -> None:
        """Add documents that the run has stored to the note."""
        if self._name is not None and len(hashes):
            self._new_kept.append(hashes)

    def add_left(self, contents: Callable[[], Iterable[bytes]], left: Left) -> None:
        """Add documents that the run has left out to the note; `contents`: see `left`."""
        if self._name is not None and len(left):
            self._new_hashes.append(_text_hashes(self.hashes(left.ids.tolist()), contents()))
            self._new_left.append(left)

    def store(self) -> None:
        """Stage the note of the run, unless nothing was added."""
        if self._name is None or not (self._new_kept or self._new_left or not self.is_known):
            return
        # The first of equal hashes is kept, and newer matches precede older ones.
        hashes = np.concatenate([*self._new_hashes[::-1], self._left_hashes])
        order = np.argsort(hashes, kind="stable")
        order = order[is_first(hashes[order])]
        left = Left.joined([*self._new_left[::-1], self._left]).taken(order)
        new = [self._bits_of(each) for each in self._new_left[::-1]]
        bits = np.concatenate([*new, self._left_bits])[order]
        self._transaction.set_note(
            NOTE + self._name,
            {
                "kept": _stored(sorted_unique(np.concatenate([self._kept, *self._new_kept]))),
                "left": _stored(hashes[order]),
                "ids": left.ids.tolist(),
                "matches": left.matches.tolist(),
                "bits": _stored(bits),
                "distances": left.distances.astype(
                    left.distances.dtype.newbyteorder("<")
                ).tobytes(),
                "similarities": left.similarities.astype("<f4").tobytes(),
                "rule": self._rule,
                **({"key": self.key} if self.key else {}),
            },
        )

    def _bits_of(self, left: Left) -> U64:
        """Return the present bits of the sketches of the matches."""
        return self._transaction.bits_many(left.matches.tolist())[1]


def checked_name(run: object) -> str:
    """Return the name of a run; raise OptionError if it cannot name a note."""
    most = layout.NOTE_NAME_BYTES_MAX - len(NOTE)
    if not isinstance(run, str) or not 0 < len(run.encode("utf-8", "surrogatepass")) <= most:
        shown = repr(run)[:40]
        raise OptionError(f"run= needs a name of 1 to {most} bytes, got {shown}")
    return run


def digest(content: bytes, size: int = 16) -> str:
    """Return a hash of some bytes, of `size` bytes, in hexadecimal digits."""
    return blake2b(content, digest_size=size).hexdigest()


def name_of(hashes: U64) -> str:
    """Return a name derived from the ids of all documents of a run, in any order."""
    return digest(_stored(sorted_unique(hashes)))


def hashes_of(ids: Sequence[Id], key: bytes = b"") -> U64:
    """Return the hashes of ids under a key: uint64[n]; raise InputError for an invalid id."""
    return np.asarray(kernel.encode_ids(list(ids), key)[2], np.uint64)


def _hashes(known: Any, name: str) -> U64:
    return np.frombuffer(b"" if known is None else known[name], "<u8").astype(np.uint64)


def _stored(hashes: U64) -> bytes:
    return hashes.astype("<u8").tobytes()


def _left_of(known: dict[str, Any]) -> Left:
    is_wide = len(known["distances"]) > len(known["ids"])
    return Left(
        object_array(known["ids"]),
        object_array(known["matches"]),
        np.frombuffer(known["distances"], "<u2" if is_wide else np.uint8),
        np.frombuffer(known["similarities"], "<f4").astype(np.float32),
    )


def _text_hashes(hashes: U64, contents: Iterable[bytes]) -> U64:
    """Return a hash of the id and text of each document."""
    digests = [
        blake2b(content, digest_size=HASH_BYTES, salt=own.to_bytes(HASH_BYTES, "little")).digest()
        for content, own in zip(contents, hashes.tolist(), strict=True)
    ]
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
