"""Rotation: finds all pairs by sorting in several orders and comparing neighbours."""

from collections.abc import Iterator

import numpy as np

from simdb.engine.search.couples import Couples, measured, searched
from simdb.engine.search.method import Method
from simdb.engine.state.state import State
from simdb.index.rotation import find_neighbours
from simdb.plan.problem import Criterion
from simdb.plan.rotation import WINDOW
from simdb.results.plans import Plan


def links(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Yield the matching pairs that are neighbours in some rotation."""
    every = searched(state, is_measured=criterion.similarity is not None)
    for left, right, distances in find_neighbours(
        every.fingerprints, rotations=plan.tables, window=WINDOW, distance=plan.distance
    ):
        unknown = np.full(len(left), np.nan, np.float32)
        couples = Couples(every.ordinals[left], every.ordinals[right], distances, unknown)
        yield measured(state, criterion, couples)


METHOD: Method = Method(links=links)
