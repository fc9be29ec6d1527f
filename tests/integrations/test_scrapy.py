"""Scrapy's pipeline, with the real package, on a site with mirrored pages.

The crawls are processes of their own, since Twisted's reactor runs once in a process.
"""

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import simdb

pytest.importorskip("scrapy", reason="needs Scrapy: pip install scrapy")

PROGRAM = Path(__file__).parent / "crawler.py"
ARTICLES, MIRRORS = 30, 12
WORDS = 120


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *given):
        pass


@pytest.fixture
def site(tmp_path):
    """A site of articles, some of them mirrored with small changes; yields its address."""
    folder = tmp_path / "site"
    draw = random.Random(1)
    pages = {}
    for at in range(ARTICLES):
        pages[f"article-{at}.html"] = [f"word{draw.randrange(5000)}" for _ in range(WORDS)]
    for at in range(MIRRORS):
        pages[f"mirror-{at}.html"] = [*pages[f"article-{at}.html"], "mirrored"]
    folder.mkdir()
    names = sorted(pages)
    draw.shuffle(names)
    for name in names:
        (folder / name).write_text(f"<html><p>{' '.join(pages[name])}</p></html>")
    links = "".join(f'<a href="{name}">page</a>' for name in names)
    (folder / "index.html").write_text(f"<html>{links}</html>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def crawl(tmp_path, site):
    """Crawls the site with some settings; returns the pages passed on and the counts."""

    def run(**settings):
        passed, statistics = tmp_path / "passed", tmp_path / "statistics.json"
        passed.write_text("")
        statistics.unlink(missing_ok=True)
        root = os.path.dirname(os.path.dirname(simdb.__file__))
        done = subprocess.run(
            [sys.executable, str(PROGRAM), site, str(tmp_path), json.dumps(settings)],
            env=os.environ | {"PYTHONPATH": root},
            capture_output=True,
            text=True,
            timeout=60,
        )
        counts = {}
        if statistics.exists():
            for name, value in json.loads(statistics.read_text()).items():
                if name.startswith("simdb/"):
                    counts[name.removeprefix("simdb/")] = value
        names = [line.rpartition("/")[2] for line in passed.read_text().splitlines()]
        return names, counts, done

    return run


@pytest.fixture
def stored(tmp_path):
    """Returns the pages that are stored now."""

    def names():
        with simdb.open(tmp_path / "seen.simdb", "r") as database:
            assert list(database.check(deep=True)) == []
            return {id.rpartition("/")[2] for id in database if isinstance(id, str)}

    return names


def article_of(name):
    return int(name.partition("-")[2].removesuffix(".html"))


def test_one_page_of_each_article_is_passed_on_and_stored(crawl, stored):
    names, counts, done = crawl()

    assert sorted(map(article_of, names)) == list(range(ARTICLES))
    assert stored() == set(names)
    assert counts == {"new": ARTICLES, "near_duplicate": MIRRORS}
    assert done.stderr.count("near-duplicate of 'http://127.0.0.1") == MIRRORS
    assert done.stderr.count("similarity 0.9") + done.stderr.count("similarity 1.0") == MIRRORS
    assert "ERROR" not in done.stderr
    assert not re.search("Deprecat.*simdb|simdb.*Deprecat", done.stderr)


def test_a_crawl_that_is_repeated_passes_nothing_on_unless_asked_to(crawl, stored):
    names, _, _ = crawl()

    again, counts, done = crawl()
    asked, seen, _ = crawl(SIMDB_PASS_SEEN=True)

    assert again == []
    assert counts == {"seen": ARTICLES, "near_duplicate": MIRRORS}
    assert sorted(asked) == sorted(names)
    assert seen == {"again": ARTICLES, "near_duplicate": MIRRORS}
    assert stored() == set(names)
    assert "ERROR" not in done.stderr


def test_a_killed_crawl_has_stored_what_it_passed_on_and_loses_nothing(crawl, stored):
    first, counts, done = crawl(KILLED_AFTER=7)

    assert done.returncode == -9
    assert (len(first), counts) == (7, {})
    assert stored() >= set(first)

    before = stored()
    second, counts, _ = crawl()

    # What was stored comes again, whether it had been written or not; mirrors of it do not.
    assert sorted(map(article_of, second)) == list(range(ARTICLES))
    assert set(second) >= before
    assert counts["again"] == len(before)
    assert counts["near_duplicate"] == MIRRORS
    third, counts, _ = crawl()
    assert third == []
    assert counts["seen"] == ARTICLES


def test_the_settings_reach_the_database(crawl, tmp_path):
    names, counts, _ = crawl(
        SIMDB_SIMILARITY=1.0, SIMDB_SKETCH={"shingle": 2}, SIMDB_DURABILITY="process",
        SIMDB_COMMIT_ITEMS=1, SIMDB_PATH=str(tmp_path / "other"),
    )  # fmt: skip

    assert counts == {"new": ARTICLES + MIRRORS}
    assert Counter(names).most_common(1)[0][1] == 1
    with simdb.open(tmp_path / "other", "r") as database:
        assert database.options.sketch.shingle == 2
        assert len(database) == ARTICLES + MIRRORS


def test_an_item_without_an_id_is_an_error_and_one_without_a_text_is_passed_on(crawl):
    names, _, done = crawl(SIMDB_ID_FIELD="address")
    _, without_text, _ = crawl(SIMDB_TEXT_FIELD="body")

    assert names == []
    assert without_text == {"without_text": ARTICLES + MIRRORS}
    assert "an item has no 'address'; SIMDB_ID_FIELD names the field" in done.stderr
    assert "(found: 'url', 'text')" in done.stderr
