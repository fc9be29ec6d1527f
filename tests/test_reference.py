"""The reference is made of signatures and docstrings: tools/generate/reference.py."""

import importlib.util
import re
from pathlib import Path

import pytest

import simdb

GENERATOR = Path(__file__).parent.parent / "tools" / "generate" / "reference.py"


@pytest.fixture(scope="module")
def text():
    specification = importlib.util.spec_from_file_location("reference", GENERATOR)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.reference()


def test_every_public_name_has_a_section(text):
    sections = re.findall(r"^## (\w+)$", text, re.MULTILINE)

    assert [name for name in simdb.__all__ if name not in [*sections, "__version__"]] == []


def test_every_public_verb_of_the_database_has_its_signature(text):
    verbs = [name for name in dir(simdb.Database) if not name.startswith("_")]

    described = re.findall(r"^### Database\.(\w+)\n\n```python\n\1\b", text, re.MULTILINE)

    assert sorted(described) == verbs


def test_no_section_is_without_words(text):
    sections = re.split(r"^###? ", text, flags=re.MULTILINE)[1:]

    without = [
        each
        for each in sections
        if not re.sub(r"```.*?```", "", each, flags=re.S).split("\n", 1)[1].strip()
    ]
    assert without == []
