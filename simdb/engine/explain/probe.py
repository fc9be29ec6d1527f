"""Trace: which header a search asks for when it finds a pair.

The kernel gives a match from the first table that reaches it, so what found it follows from the
two fingerprints and the plan; nothing is kept with the matches.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simdb.bits import header_mask, set_bits
from simdb.plan.probing import count_sets
from simdb.plan.recall import UNREACHABLE, SampledPairs, needs
from simdb.reports import Plan, Probe
from simdb.values import Probing

U8 = npt.NDArray[np.uint8]


def is_reached(plan: Plan | None, distance: int, probe: Probe | None, *, is_compared: bool) -> bool:
    """Whether a search by `plan` compares two documents at that `distance`.

    `is_compared`: it compares the stored one whatever it asks for.
    """
    if plan is None:
        return True
    return distance <= plan.distance and (
        is_compared or plan.method == "exhaustive" or probe is not None
    )


def probe_of(
    plan: Plan | None, asking: int, stored: int, levels: U8 | None, masks: Sequence[int]
) -> Probe | None:
    """The look-up by `plan` that finds the fingerprint `stored`; None where none does.

    `levels` uint8[64] of the fingerprint that asks; `masks`: the leading bits of each table.
    """
    if plan is None or plan.method == "exhaustive":
        return None
    if plan.probing is not None:
        return None if levels is None else _likely(plan.probing, asking, stored, levels, masks)
    for table, mask in enumerate(masks):
        flipped = (asking ^ stored) & mask
        if flipped.bit_count() <= plan.flips:
            return Probe(table, tuple(set_bits(flipped)), None)
    return None


def _likely(
    probing: Probing, asking: int, stored: int, levels: U8, masks: Sequence[int]
) -> Probe | None:
    """The same for headers that are asked for because they are likely."""
    pair = SampledPairs(
        np.array([asking], np.uint64), levels[None, :], np.array([stored], np.uint64)
    )
    for table, mask in enumerate(masks[: probing.tables]):
        need = int(needs(pair, probing.costs, [mask], probing.header_bits)[0])
        if need > probing.theta or need >= UNREACHABLE:
            continue
        header = header_mask(mask, probing.header_bits)
        flipped = tuple(set_bits((asking ^ stored) & header))
        asked = _asked(probing, levels, header, need)
        if flipped and asked > probing.cap:
            continue
        return Probe(table, flipped, _asked(probing, levels, header, need - 1) + 1)
    return None


def _asked(probing: Probing, levels: U8, header: int, theta: int) -> int:
    """How many headers cost at most `theta`."""
    if theta < 0:
        return 0
    return int(count_sets(levels[None, :], probing.costs, header, theta)[0])
