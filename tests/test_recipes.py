"""The code of README.md, of crawlers and of several processes, run: it does what they say."""

import random
import re
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

import simdb
from simdb.database.state import staged

PAGES = Path(__file__).parent.parent / "docs" / "site" / "how-to"


def test_the_examples_of_the_readme_print_what_stands_below_them(tmp_path, monkeypatch, capsys):
    text = (PAGES.parents[2] / "README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    exec("\n".join(re.findall("```python\n(.*?)```", text, re.DOTALL)), {})

    assert capsys.readouterr().out == "".join(re.findall("```text\n(.*?)```", text, re.DOTALL))


def section(page, heading):
    """Return a page of the site from a heading on."""
    return (PAGES / f"{page}.md").read_text(encoding="utf-8").partition(f"## {heading}\n")[2]


def test_forked_workers_find_what_is_new(tmp_path, monkeypatch):
    recipe = section("crawlers", "Multiprocessing and datasets")
    block = re.search("```py\n(.*?)```", recipe, re.DOTALL)[1]
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


def test_digests_of_tlsh_differ_in_no_more_bits_than_tlsh_counts():
    tlsh = pytest.importorskip("tlsh", reason="needs pip install py-tlsh")
    recipe = (PAGES / "images.md").read_text(encoding="utf-8")
    names = {}
    exec(re.search("(def gray.*?\n)\n\n", recipe, re.DOTALL)[1], names)
    draw = random.Random(1)

    wrong = []
    for changes in range(200):
        left = right = draw.getrandbits(280)
        for bit in draw.choices(range(256), k=changes):
            right ^= 1 << bit
        left, right = (f"T1{each:070X}" for each in (left, right))
        bits = (names["gray"](left) ^ names["gray"](right)).bit_count()
        if not bits <= tlsh.diff(left, right) <= 6 * bits:
            wrong.append((left, right))

    assert wrong == []


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
