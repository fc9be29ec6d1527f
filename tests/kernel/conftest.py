"""The fixture of the kernel tests: every implementation of a module in turn."""

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
    """Yield the module with this variant selected until the test is over."""
    before = module.select(variant)
    yield module
    module.select(before)
