"""The tools of `make figures`, at tiny sizes: no network, no files outside the test's folder."""

import importlib
import random
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("snowballstemmer")
pytest.importorskip("stop_words")

TOOLS = Path(__file__).parents[2] / "tools" / "figures"
sys.path.insert(0, str(TOOLS))


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Pages of a few hundred words, each with versions in which some words were replaced."""
    drawn = random.Random(1)
    vocabulary = ["".join(drawn.choices("abcdefghijklmnop", k=7)) for _ in range(2_000)]
    pages = []
    for _ in range(60):
        words = drawn.choices(vocabulary, k=300)
        for version in range(5):
            changed = list(words)
            for place in drawn.sample(range(300), 2 * version):
                changed[place] = drawn.choice(vocabulary)
            pages.append(" ".join(changed))
    return pages


@pytest.fixture(scope="session")
def world(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> object:
    """A world of 300 documents and tiny sizes."""
    collection, corpus, worlds = map(importlib.import_module, ("collection", "corpus", "scene"))
    made = collection.collect(corpus.Corpus(texts, ["made"] * len(texts), corpus.OFFLINE))
    return worlds.World(made, tmp_path_factory.mktemp("figures") / "results", worlds.TINY)
