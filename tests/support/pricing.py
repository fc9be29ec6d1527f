"""Makes the planner prefer tables on collections so small that it would compare everything."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from simdb.plan import planner


@contextmanager
def tables_first(is_so=True):
    """While this lasts, comparing with everything costs more than any search by tables."""
    exhaustive = planner._exhaustive

    def dear(*arguments):
        return replace(exhaustive(*arguments), cost_seconds=1e9)

    with pytest.MonkeyPatch.context() as patch:
        if is_so:
            patch.setattr(planner, "_exhaustive", dear)
        yield
