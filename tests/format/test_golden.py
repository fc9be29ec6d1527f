"""The same text has the same fingerprint on every kernel, platform and Python, for ever."""

import json

import golden
import pytest
from over import over

from simdb.core import kernel

STORED = json.loads(golden.STORED.read_text())


@pytest.fixture
def select():
    yield kernel.select
    kernel.select(kernel.variants()[-1])


@over("variant", kernel.variants())
@over("name", golden.SETS)
def test_fingerprints_never_change(select, variant, name):
    select(variant)

    found = {title: golden.fingerprint(name, text) for title, text in STORED["texts"].items()}

    assert found == STORED["fingerprints"][name]


def test_every_set_of_options_is_stored_for_every_text():
    assert list(STORED["fingerprints"]) == list(golden.SETS)
    for found in STORED["fingerprints"].values():
        assert list(found) == list(STORED["texts"])
