"""Pricing: makes the planner prefer tables in small collections, and checks sets of flips."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from simdb.plan import parts, tables
from simdb.plan.pigeonhole import sums_of_spreads


@contextmanager
def tables_first(is_so=True):
    """Make comparing with everything cost more than any search by tables, for a `with` block."""
    comparing, comparing_hashes = tables._by_comparing, parts.comparing

    def dear(*arguments):
        return replace(comparing(*arguments), cost_seconds=1e9)

    def dear_hashes(problem):
        return [replace(plan, cost_seconds=1e9) for plan in comparing_hashes(problem)]

    with pytest.MonkeyPatch.context() as patch:
        if is_so:
            patch.setattr(tables, "_by_comparing", dear)
            patch.setattr(parts, "comparing", dear_hashes)
        yield


def serves(blocks, leading, flips, distance):
    """Return whether the tables find all matches within `distance` with the given flips of each."""
    sums = sums_of_spreads(blocks, leading, distance)
    return bool((sums <= np.array(flips, np.int8)).any(axis=1).all())
