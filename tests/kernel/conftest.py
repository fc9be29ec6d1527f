"""The fixtures of the kernel tests: each module in its variants."""

import pytest

from simdb_ext import _arrange, _search, _sketch


def variants_of(module):
    """Return the definition and the fastest variant of this machine; the others are slow."""
    first, *between = module.variants()
    last = [between.pop()] if between else []
    slow = [pytest.param(name, marks=pytest.mark.slow) for name in between]
    return [first, *slow, *last]


def selected(module, variant):
    """Yield the module with this variant selected until the test is over."""
    before = module.select(variant)
    yield module
    module.select(before)


@pytest.fixture(params=variants_of(_arrange))
def arrange(request):
    yield from selected(_arrange, request.param)


@pytest.fixture(params=variants_of(_search))
def search(request):
    yield from selected(_search, request.param)


@pytest.fixture(params=variants_of(_sketch))
def sketch(request):
    yield from selected(_sketch, request.param)
