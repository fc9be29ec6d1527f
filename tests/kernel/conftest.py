"""What the tests of one kernel module share: every implementation of it in turn."""

import arrange_oracle
import pytest
import search_oracle


@pytest.fixture(params=arrange_oracle.implementations())
def arrange(request):
    yield from selected(*request.param)


@pytest.fixture(params=search_oracle.implementations())
def search(request):
    yield from selected(*request.param)


def selected(module, variant):
    """The module with that variant, until the test is over."""
    before = module.select(variant)
    yield module
    module.select(before)
