"""Drawn hashes: draws options of hashes of 32 to 512 bits, and hashes in all forms."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import simdb
from drawn import CENTRES, SHAPES, Few, Many, some_runs, some_text

WIDTHS = (32, 64, 64, 96, 128, 256, 256, 512)
TABLES_MOST = 64


@dataclass(frozen=True)
class Image:
    """An object whose hash is its document, such as an imagehash.ImageHash."""

    hash: Any


def some_hash(chance, width):
    """Draw the bytes of a hash from one of a few families, so that many are near or equal."""
    centre = int.from_bytes((chance.choice(CENTRES).to_bytes(8, "big") * 8)[: width // 8], "big")
    places = chance.sample(range(width), chance.choice([0, 0, 1, 2, 3, 6, width // 16, width // 8]))
    return (centre ^ sum(1 << place for place in places)).to_bytes(width // 8, "big")


def some_document(chance, options):
    """Draw a document of a database with these options."""
    return some_hash(chance, options.bits) if options.is_hashes else some_text(chance)


def flags_of(hash):
    return np.unpackbits(np.frombuffer(hash, np.uint8)).astype(bool)


FORMS = (
    bytes,
    bytes.hex,
    lambda hash: f"0x{hash.hex().upper()}",
    lambda hash: int.from_bytes(hash, "big"),
    lambda hash: flags_of(hash).reshape(8, -1),
    lambda hash: np.frombuffer(hash, np.uint8),
    lambda hash: Image(flags_of(hash)),
    lambda hash: simdb.Fingerprint(int.from_bytes(hash, "big"), size=8 * len(hash)),
)


def hash_of(document, width):
    """Return the bytes of a hash of any form."""
    if isinstance(document, Image):
        return hash_of(document.hash, width)
    if isinstance(document, str):
        return bytes.fromhex(document.removeprefix("0x"))
    if isinstance(document, np.ndarray) and document.dtype == bool:
        return np.packbits(document.ravel()).tobytes()
    if isinstance(document, np.ndarray) and document.dtype == np.uint64:
        return document.astype(">u8").tobytes()
    if isinstance(document, int | simdb.Fingerprint):
        return int(document).to_bytes(width // 8, "big")
    return bytes(document)


class FewHashes(Few):
    """Draws for a small database of hashes."""

    def __init__(self, *arguments):
        """Draw the number of bits."""
        self.width = arguments[0].choice(WIDTHS)
        few = (0, 1, 3, self.width // 16, self.width // 8)
        super().__init__(*arguments)
        self.distances = few if self.count else (*few, self.width // 4, self.width)

    def options(self):
        chance, chosen = self.chance, {}
        order = None
        if self.width != 64 and chance.random() < 0.3:
            order = tuple(chance.sample(range(self.width), self.width))
        if self.width == 64:
            chosen["blocks"], chosen["leading"] = chance.choice(SHAPES)
        elif chance.random() < 0.5:
            chosen["blocks"] = chance.randint(-(-self.width // 64), min(self.width, TABLES_MOST))
        return simdb.Options(
            sketch=simdb.Bits(self.width, order),
            recall=chance.choice([1.0, 1.0, 0.9]),
            distance=chance.choice([0, 1, self.width // 16, self.width // 8]),
            keep_clusters=chance.choice(["none", "distance"]),
            keep_times=chance.choice(["none", "inserted", "seen"]),
            fields=self.fields,
            **chosen | some_runs(chance),
        )

    def texts(self, count):
        """Draw hashes of several forms, or all of one."""
        chance = self.chance
        forms = FORMS if chance.random() < 0.3 else [chance.choice(FORMS)]
        return [chance.choice(forms)(some_hash(chance, self.width)) for _ in range(count)]

    def documents(self, model, count):
        return self.texts(count)


class ManyHashes(FewHashes, Many):
    """Draws for a large database of hashes.

    Two thirds of them match no other hash, as in `Many`.  Often some of their bits are
    nearly constant, so that some headers have many entries.
    """

    def __init__(self, *arguments):
        """Draw the share of bits that are nearly constant."""
        self.rare = arguments[0].choice([0, 0, 0.3, 0.6])
        super().__init__(*arguments)

    def options(self):
        found = super().options()
        return replace(found, delta_documents=self.chance.choice([100, 1000, 4096, 4096]))

    def texts(self, count):
        rows = self._rows(count)
        copied = np.flatnonzero(self.random.random(count) < 1 / 3)
        rows[copied] = self.bases[self.random.integers(1, len(self.bases), len(copied))]
        edits = self.random.choice([0, 0, 1, 2, self.width // 16], len(copied))
        for edit in range(self.width // 16):
            edited = copied[edits > edit]
            rows[edited, self.random.integers(0, self.width, len(edited))] ^= True
        rows[self.random.random(count) < self.crowd_share] = self.bases[0]
        packed = np.packbits(rows, axis=1)
        form = self.chance.choice([None, rows, packed, bytes, bytes.hex])
        if form is None:
            return packed.view(">u8").astype(np.uint64) if self.width % 64 == 0 else packed
        return form if isinstance(form, np.ndarray) else [form(row.tobytes()) for row in packed]

    def _rows(self, count):
        is_rare = np.random.default_rng(self.width).random(self.width) < self.rare
        return self.random.random((count, self.width)) < np.where(is_rare, 0.02, 0.5)
