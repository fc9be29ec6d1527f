"""The code of README.md and of the recipes of the site, run: it does what they say."""

import re
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import simdb
from simdb.database.state import staged

PAGES = Path(__file__).parent.parent / "docs" / "site" / "how-to"
IMAGES = 12


def test_the_examples_of_the_readme_print_what_stands_below_them(tmp_path, monkeypatch, capsys):
    text = (PAGES.parents[2] / "README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    exec("\n".join(re.findall("```python\n(.*?)```", text, re.DOTALL)), {})

    assert capsys.readouterr().out == "".join(re.findall("```text\n(.*?)```", text, re.DOTALL))


def section(page, heading):
    """Return a page of the site from a heading on."""
    return (PAGES / f"{page}.md").read_text(encoding="utf-8").partition(f"## {heading}\n")[2]


@pytest.fixture(scope="module")
def recipe():
    """Return the functions of the first block of code under "Images"."""
    pytest.importorskip("imagehash")
    text = section("vectors", "Images")
    names = {}
    exec(re.search("```python\n(.*?)```", text, re.DOTALL)[1], names)
    return names


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Make images of smooth gradients in random directions, with noise; return their paths."""
    image_module = pytest.importorskip("PIL.Image")
    folder = tmp_path_factory.mktemp("images")
    random = np.random.default_rng(1)
    for at in range(IMAGES):
        coarse = image_module.fromarray(random.integers(0, 256, (6, 6, 3), np.uint8))
        smooth = np.asarray(coarse.resize((240, 180), image_module.Resampling.BICUBIC), np.float64)
        noisy = np.clip(smooth + random.normal(0, 4, smooth.shape), 0, 255).astype(np.uint8)
        image_module.fromarray(noisy).save(folder / f"{at}.png")
    return sorted(folder.glob("*.png"))


def compressed(image, path):
    image.save(path, quality=40)


def scaled(image, path):
    image.resize((100, 75)).save(path, quality=90)


def brightened(image, path):
    image.point(lambda value: min(255, int(value * 1.1) + 5)).save(path, quality=90)


def test_hashes_of_ones_own_make_the_fingerprints_of_their_majorities(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = section("from-others", "Hashes of your own")
    first, second = re.findall("```python\n(.*?)```", text.partition("\n## ")[0], re.DOTALL)
    names = {}

    exec(first, names)
    exec(second, names)

    hashes = names["features"]("a text and what it says").hashes.tolist()
    counts = [sum(each >> bit & 1 for each in hashes) for bit in range(64)]
    clear = [bit for bit in range(64) if 2 * counts[bit] != len(hashes)]
    for bit in clear:
        assert names["fingerprint"].bits >> bit & 1 == (2 * counts[bit] > len(hashes))
    assert [match.id for match in names["matches"]] == [0, 1]


@pytest.mark.few(1)
@pytest.mark.parametrize("change", [compressed, scaled, brightened])
def test_near_copies_of_images_are_found_and_other_images_are_not(
    recipe, originals, tmp_path, change
):
    """Two unrelated images of 64 random bits are within 8 once in ten thousand million."""
    database = recipe["index_images"](tmp_path / "db", originals)

    found = []
    for path in originals:
        copy = tmp_path / f"{path.stem}.jpg"
        with recipe["Image"].open(path) as image:
            change(image, copy)
        found.append([match.id for match in database.query(recipe["image_bits"](copy))])

    database.close()
    assert found == [[str(path)] for path in originals]


def test_results_become_tables_of_pyarrow(tmp_path):
    pytest.importorskip("pyarrow")
    recipe = section("tables", "Results as tables: Arrow, Polars, DuckDB")
    texts = ["the cat sat on the mat today", "the cat sat on the mat today", "quite another text"]
    with simdb.open(tmp_path / "db") as database:
        database.insert_many(["a", "b", "c"], texts)
        names = {"database": database, "texts": texts}

        exec(re.search("```python\n(.*?)```", recipe, re.DOTALL)[1], names)

    assert names["matches"]["id"].to_pylist() == ["a", "b", "a", "b", "c"]
    assert names["members"]["representative"].to_pylist() == ["a", "a"]
    assert names["table"].select(["left", "right"]).to_pylist() == [{"left": "a", "right": "b"}]


def test_forked_workers_find_what_is_new(tmp_path, monkeypatch):
    recipe = section("processes", "Multiprocessing and datasets")
    block = re.search("```python\n(.*?)```", recipe, re.DOTALL)[1]
    texts = ["the cat sat on the mat today", "quite another text about dogs", "the third of them"]
    with simdb.open(tmp_path / "pages.simdb") as database:
        database.insert("a", texts[0])
    # A pool sends a function to its workers by its name in a module.
    module = ModuleType("recipe_of_processes")
    module.texts = texts
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)

    exec(block, vars(module))

    module.database.close()
    assert module.new == [False, True, True]


def test_the_filter_of_a_crawler_keeps_each_page_once(open_database):
    text = section("crawlers", "A crawler's filter")
    names = {}
    exec(re.search("```python\n(.*?)```", text, re.DOTALL)[1], names)
    is_new, database = names["is_new"], open_database()
    page = "the quick brown fox jumps over the lazy dog and then it sleeps for a while"

    assert is_new(database, "http://a/", page)
    assert not is_new(database, "http://mirror/", page)
    assert is_new(database, "http://a/", page)
    assert is_new(database, "http://a/", "a wholly different page about hens and their eggs")
    assert is_new(database, "http://mirror/", page)
    assert list(database) == ["http://a/", "http://mirror/"]


def test_metadata_filter_and_old_pages_are_deleted(tmp_path, monkeypatch):
    text = section("crawlers", "Metadata, filters and old documents")
    names = {}
    exec(re.search("```python\n(.*?)```", text, re.DOTALL)[1], names)
    page = "the quick brown fox jumps over the lazy dog and then it sleeps for a while"
    languages = [("en", "a.example"), ("de", "a.example"), ("en", "closed.example")]
    metadata = [{"lang": language, "site": site} for language, site in languages]
    with names["open_pages"](tmp_path / "db") as database:
        monkeypatch.setattr(staged, "time", lambda: time.time() - 40 * 86_400)
        database.insert_many(["old", "seen", "closed"], [page + " x", page, page], metadata)
        monkeypatch.undo()
        assert database.add_if_new("again", page).id == "seen"

        assert [each.id for each in names["similar_in"](database, page, "en", 1)] == ["closed"]
        assert [each.id for each in names["similar_in"](database, page, "de")] == ["seen"]
        assert names["clean_up"](database) == 2
        assert list(database) == ["seen"]
