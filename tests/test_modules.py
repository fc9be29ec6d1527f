"""The list of modules is made of their docstrings: tools/generate/modules.py."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def generator():
    specification = importlib.util.spec_from_file_location(
        "modules", ROOT / "tools" / "generate" / "modules.py"
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_list_names_every_module(generator):
    text = generator.listing()

    files = [path for path in (ROOT / "simdb").rglob("*.py") if not path.name.startswith("_")]
    entries = [line for line in text.splitlines() if line.startswith("* `") and ".py`" in line]
    assert len(entries) == len(files)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One sentence.", "One sentence."),
        ("Two lines\nare one.  Another follows.", "Two lines are one."),
        ("Runs: v1.2 of `x`.  `y` follows.", "Runs: v1.2 of `x`."),
        ("The idea.\n\nThe rest.", "The idea."),
    ],
)
def test_the_first_sentence_of_a_docstring_ends_where_another_begins(generator, text, sentence):
    assert generator.first_sentence(text) == sentence
