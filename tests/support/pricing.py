"""Prices: make the planner prefer tables in collections so small that it would compare all."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from simdb.plan import tables


@contextmanager
def tables_first(is_so=True):
    """Make comparing with everything cost more than any search by tables, for a `with` block."""
    comparing = tables._by_comparing

    def dear(*arguments):
        return replace(comparing(*arguments), cost_seconds=1e9)

    with pytest.MonkeyPatch.context() as patch:
        if is_so:
            patch.setattr(tables, "_by_comparing", dear)
        yield
