"""Rows are quantised some at a time, which changes nothing."""

import numpy as np
import pytest

from simdb.sketch import sketcher


@pytest.mark.parametrize("width", [0, 64])
@pytest.mark.parametrize("rows", [1, 3, 10])
def test_queries_are_quantised_in_portions_of_any_size(monkeypatch, width, rows):
    weights = np.random.default_rng(4).normal(size=(10, 128)).astype(np.float32)
    whole = sketcher.columns_of(weights, width, is_query=True)
    monkeypatch.setattr(sketcher, "CACHED_ROWS", rows)

    parts = sketcher.columns_of(weights, width, is_query=True)

    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_the_last_row_of_a_portion_is_that_of_a_query_of_its_own(over):
    count = sketcher.CACHED_ROWS + over
    weights = np.random.default_rng(4).normal(size=(count, 128)).astype(np.float32)

    whole = sketcher.columns_of(weights, 64, is_query=True)

    for at in (0, sketcher.CACHED_ROWS - 2, count - 1):
        alone = sketcher.columns_of(weights[at : at + 1], 64, is_query=True)
        for one, other in zip(whole, alone, strict=True):
            np.testing.assert_array_equal(one[at : at + 1], other)
