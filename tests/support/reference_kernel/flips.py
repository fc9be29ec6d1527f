"""Flips: finds the levels of weights and the sets of header bits that cost little, in numpy.

`simdb_ext/_search.pyi` has the contract of every public name of the kernel.  The sets are built bit
by bit: each bit is added to every earlier set whose cost stays within the limit.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reference_kernel.vectors import WIDTH_MAX
from simdb.bits import FINGERPRINT_BITS
from simdb.vector_form import unpack

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

LEVEL_UNIT = 64.0  # levels in one root mean square
LEVEL_MAX = 255
NEVER = 255  # the cost of a bit that is never flipped
THETA_MAX = 254 * FINGERPRINT_BITS  # the most that all bits can cost together
CAP_MAX = 65536


def levels(weights: F32 | I32) -> U8:
    """Return the levels of the first 64 weights of each row: uint8[n, 64]."""
    if not isinstance(weights, np.ndarray):
        raise TypeError(f"wanted an array, not {type(weights).__name__}")
    if weights.dtype not in (np.float32, np.int32) or not weights.flags.c_contiguous:
        raise ValueError(f"wanted contiguous float32 or int32 weights, not {weights.dtype}")
    if weights.ndim != 2 or weights.shape[1] < FINGERPRINT_BITS:
        raise ValueError(f"wanted weights[n, 64 or more], not {weights.shape}")
    wide = weights.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return _levels(wide, _sum_of_squares(wide))


def levels_of_vectors(vectors: U8) -> U8:
    """Return the levels for packed volatility vectors, uint8[n, width], width >= 32."""
    if not isinstance(vectors, np.ndarray):
        raise TypeError(f"wanted an array, not {type(vectors).__name__}")
    if vectors.dtype != np.uint8 or vectors.ndim != 2 or not vectors.flags.c_contiguous:
        raise ValueError(f"wanted contiguous uint8[n, width], not {vectors.dtype}{vectors.shape}")
    if not FINGERPRINT_BITS // 2 <= vectors.shape[1] <= WIDTH_MAX:
        raise ValueError(f"wanted vectors of 32 to {WIDTH_MAX} bytes, not {vectors.shape[1]}")
    weights = unpack(vectors).astype(np.float64)
    # Sums of whole numbers are exact in any order.
    return _levels(weights, np.einsum("ij,ij->i", weights, weights))


def _sum_of_squares(weights: F64) -> F64:
    """Return the sum of squares of each row, added in the order that the contract fixes."""
    squares = np.zeros((len(weights), -(-weights.shape[1] // 8) * 8))
    squares[:, : weights.shape[1]] = weights * weights
    sums = np.zeros((len(weights), 8))
    for start in range(0, squares.shape[1], 8):
        sums += squares[:, start : start + 8]
    halves = sums[:, :4] + sums[:, 4:]
    quarters = halves[:, :2] + halves[:, 2:]
    total: F64 = quarters[:, 0] + quarters[:, 1]
    return total


def _levels(weights: F64, squares: F64) -> U8:
    """Return the levels of rows whose sums of squares are given."""
    means = np.sqrt(squares / weights.shape[1])
    has_scale = means > 0
    scales = LEVEL_UNIT / np.where(has_scale, means, 1.0)
    values = np.abs(weights[:, :FINGERPRINT_BITS]) * scales[:, None]
    values = np.where(has_scale[:, None] & (values < LEVEL_MAX), values, LEVEL_MAX)
    return values.astype(np.uint8)


@dataclass(frozen=True, slots=True)
class Flips:
    """The costs of flips for a batch of queries, and their limits."""

    costs: I64  # [m, 64], the cost of the bit of each weight
    theta: int  # the most that a set of bits may cost
    cap: int  # the most sets of one table

    def sets(self, number: int, order: list[int]) -> tuple[U64, int]:
        """Return the sets of bits to flip for query `number`, the cheapest first, and its theta.

        `order`: the number of the weight behind each bit of the header, the highest bit first.  A
        set is a word with as many bits as the header.  If there would be more than `cap` sets, the
        query's theta is lower than the batch's.
        """
        costs, theta = self.costs[number, order], self.theta
        chosen, sums = np.zeros(1, np.uint64), np.zeros(1, np.int64)
        for place in np.argsort(costs, kind="stable").tolist():
            cost = int(costs[place])
            if cost == NEVER or cost > theta:
                break
            can_join = sums + cost <= theta
            bit = np.uint64(1 << (len(order) - 1 - place))
            chosen = np.concatenate([chosen, chosen[can_join] | bit])
            sums = np.concatenate([sums, sums[can_join] + cost])
            if len(sums) > self.cap:
                # The first set beyond the cap costs too much, whatever sets are still to come.
                theta = int(np.sort(sums)[self.cap]) - 1
                is_cheap = (sums <= theta) | (chosen == 0)
                chosen, sums = chosen[is_cheap], sums[is_cheap]
        return chosen[np.argsort(sums, kind="stable")], theta

    def reached(self, numbers: I64, bits: Flags, limits: I64) -> Flags:
        """Return whether each query of `numbers` flips its row of `bits`, one column a weight.

        `limits`: the theta of every query.
        """
        costs = self.costs[numbers]
        sums = np.where(bits, costs, 0).sum(axis=1)
        is_possible = ~(bits & (costs == NEVER)).any(axis=1) & (sums <= limits[numbers])
        result: Flags = is_possible | ~bits.any(axis=1)
        return result


def flips_of(levels: U8, costs: U8, theta: int, cap: int, count: int) -> Flips:
    """Return the flips for `count` queries; ValueError for arguments that are out of range."""
    _check(levels, "levels", (count, FINGERPRINT_BITS))
    _check(costs, "costs", (LEVEL_MAX + 1,))
    if theta < 0:
        raise ValueError(f"theta is {theta}, below 0")
    if not 1 <= cap <= CAP_MAX:
        raise ValueError(f"cap is {cap}, not 1 to {CAP_MAX}")
    return Flips(costs.astype(np.int64)[levels], min(theta, THETA_MAX), cap)


def _check(values: Any, name: str, shape: tuple[int, ...]) -> None:
    """Raise TypeError or ValueError unless `values` is contiguous uint8 of this shape."""
    if not isinstance(values, np.ndarray):
        raise TypeError(f"{name} must be an array, not {type(values).__name__}")
    if values.dtype != np.uint8 or values.shape != shape or not values.flags.c_contiguous:
        raise ValueError(
            f"{name} must be contiguous uint8{list(shape)}, not {values.dtype}{list(values.shape)}"
        )
