"""Collection: makes fingerprints, weights and features of the corpus by the paper's options.

Words without stop words, stemmed, with TF-IDF weights and 64-bit Murmur hashes
(`simdb.Simhash.paper`).  The exact cosine of two documents comes from all their features.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from corpus import Corpus
from simdb.core import kernel
from simdb.plan import volatility
from simdb.sketch import weighing
from simdb.sketch.sketcher import Sketcher

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
U8 = npt.NDArray[np.uint8]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
PART = 4_000
DISTANCE = 3


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents as arrays.

    `bits` uint64[n], `weights` float32[n, 128]; document i has the features
    hashes[offsets[i]:offsets[i + 1]] with TF-IDF weights `shares`, of the length norms[i].
    """

    bits: U64
    weights: F32
    offsets: I64
    hashes: U64
    shares: F32
    norms: F64
    origin: str

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.bits)

    def cosines(self, left: I64, right: I64) -> F64:
        """Return the exact cosines of documents left[i] and right[i]."""
        left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
        shared = kernel.overlaps(self.offsets, self.hashes, self.shares, left, right)
        return np.asarray(shared / (self.norms[left] * self.norms[right]))

    def levels(self, chosen: I64) -> U8:
        """Return how far each fingerprint bit of some documents is from flipping: uint8[k, 64]."""
        return volatility.levels(self.weights[chosen])


def collect(corpus: Corpus) -> Collection:
    """Sketch a corpus, without documents that have no features."""
    sketch = simdb.Simhash.paper(simdb.fit_idf(corpus.texts, simdb.Simhash.paper()))
    sketcher = Sketcher(sketch)
    made = [
        _part(corpus.texts[at : at + PART], sketcher) for at in range(0, len(corpus.texts), PART)
    ]
    bits, weights, counts, hashes, shares = (
        np.concatenate(columns) for columns in zip(*made, strict=True)
    )
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    squares = np.concatenate([[0.0], np.cumsum(shares.astype(np.float64) ** 2)])
    norms = np.sqrt(squares[offsets[1:]] - squares[offsets[:-1]])
    return Collection(bits, weights, offsets, hashes, shares, norms, corpus.origin)


def _part(texts: list[str], sketcher: Sketcher) -> tuple[npt.NDArray[Any], ...]:
    """Return the bits, weights and features of the texts that have features."""
    offsets, hashes, counts = sketcher.count_features(texts, errors="replace")
    shares = weighing.weigh(hashes, counts.astype(np.int64), "tf", sketcher.options.idf)
    sizes = np.diff(offsets)
    squares = np.add.reduceat(np.append(shares.astype(np.float64) ** 2, 0.0), offsets[:-1])
    present = (sizes > 0) & (squares > 0)
    # A feature without weight is in no document.
    kept = np.repeat(present, sizes)
    made = sketcher.fingerprints(
        [text for text, is_kept in zip(texts, present, strict=True) if is_kept]
    )
    shares = (shares / weighing.UNITS).astype(np.float32)
    return made.bits, made.weights, sizes[present], hashes[kept], shares[kept]
