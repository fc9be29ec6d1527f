"""Overlap: sums over the features that pairs of documents have in common, in numpy."""

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


def overlaps(
    offsets: I64, hashes: U64, weights: F32 | None, left: I64, right: I64, *, is_least: bool = False
) -> F64:
    """Return the sum over the common features of each pair of documents: float64[k]."""
    _check(offsets, hashes, weights, left, right)
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    return np.array([_sum(offsets, hashes, weights, *pair, is_least) for pair in pairs], np.float64)


def _sum(
    offsets: I64, hashes: U64, weights: F32 | None, left: int, right: int, is_least: bool
) -> float:
    """Return the sum of one pair, added up in the order of the right document."""
    one = slice(int(offsets[left]), int(offsets[left + 1]))
    two = slice(int(offsets[right]), int(offsets[right + 1]))
    _, of_one, of_two = np.intersect1d(
        hashes[one], hashes[two], assume_unique=True, return_indices=True
    )
    if weights is None:
        return float(len(of_one))
    order = np.argsort(of_two)
    first = weights[one][of_one[order]].astype(np.float64)
    second = weights[two][of_two[order]].astype(np.float64)
    return float(sum((np.minimum(first, second) if is_least else first * second).tolist()))


def _check(offsets: I64, hashes: U64, weights: F32 | None, left: I64, right: I64) -> None:
    """Raise ValueError unless the arrays fit together."""
    count = len(offsets) - 1
    if count < 0 or (len(hashes) < offsets[-1]) or (np.diff(offsets) < 0).any() or offsets[0] < 0:
        raise ValueError(f"offsets do not lie within the {len(hashes)} hashes")
    if weights is not None and (len(weights) != len(hashes) or not np.isfinite(weights).all()):
        raise ValueError("there must be one finite weight for each hash")
    if len(left) != len(right):
        raise ValueError(f"there are {len(left)} documents on the left and {len(right)} others")
    for side in (left, right):
        if len(side) and not 0 <= side.min() <= side.max() < count:
            raise ValueError(f"positions do not lie within the {count} documents")
