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


def test_the_tool_names_what_has_changed():
    stored = STORED["fingerprints"]
    today = json.loads(json.dumps(stored))
    today["words 3"]["english"] = "0" * 16
    del today["moz"]["emoji"]
    del today["bytes"]
    today["more"] = {"english": "0" * 16}

    changed = golden.differing(stored, today)

    assert changed[0] == "words 3: english"
    assert changed[1:-1] == [f"bytes: {title}" for title in STORED["texts"]]
    assert changed[-1] == "moz: emoji"


def test_the_sets_tell_texts_apart():
    """Case, composition and width matter under the right options only."""
    words, cased = (STORED["fingerprints"][name] for name in ("words 3", "words 3, case kept"))

    assert words["english"] == words["english upper case"] != words["english one word less"]
    assert cased["english"] != cased["english upper case"]
    assert STORED["fingerprints"]["bytes"] == words
    assert words["empty"] == words["spaces"] == words["punctuation"] == "empty"
