"""The service of docs/site/how-to/processes.md, run by uvicorn with several workers."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import simdb

pytest.importorskip("fastapi", reason="needs FastAPI: pip install fastapi uvicorn")
pytest.importorskip("uvicorn", reason="needs uvicorn: pip install fastapi uvicorn")

ROOT = Path(simdb.__file__).parent.parent
WORKERS, PAGES, COPIES = 2, 20, 3


@pytest.fixture
def recipe(tmp_path):
    """Writes the block of code of the recipe as the module `service`."""
    text = (ROOT / "docs" / "site" / "how-to" / "processes.md").read_text(encoding="utf-8")
    chapter = text.partition("## A service with several workers")[2]
    (tmp_path / "service.py").write_text(re.search("```python\n(.*?)```", chapter, re.DOTALL)[1])
    return tmp_path


@pytest.fixture
def port(recipe):
    """The port of a service with several workers, which are ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number = probe.getsockname()[1]
    service = subprocess.Popen(
        [
            sys.executable, "-m", "uvicorn", "service:app", "--workers", str(WORKERS),
            "--port", str(number), "--log-level", "warning",
        ],
        cwd=recipe,
        env=os.environ | {"PYTHONPATH": str(ROOT), "SIMDB_PATH": str(recipe / "seen.simdb")},
    )  # fmt: skip
    try:
        wait_for(number)
        yield number
    finally:
        service.send_signal(signal.SIGINT)
        service.wait(30)


def wait_for(port):
    for _ in range(600):
        try:
            send(port, {"id": "first", "text": "the first page"})
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the service does not answer")


def send(port, page):
    """Post one page over a connection of its own; return the status and the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/pages", json.dumps(page), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def send_at_once(port, pages):
    with ThreadPoolExecutor(len(pages)) as pool:
        return list(pool.map(lambda page: send(port, page), pages))


def test_one_of_many_copies_sent_at_once_is_new_and_all_workers_agree(port, recipe):
    pages = [
        {"id": f"{at}/{copy}", "text": " ".join(f"word{at * 1000 + each}" for each in range(90))}
        for copy in range(COPIES)
        for at in range(PAGES)
    ]

    first = send_at_once(port, pages)
    again = send_at_once(port, pages * 2)

    assert {status for status, _ in first + again} == {200}
    new = {page["id"] for page, (_, answer) in zip(pages, first, strict=True) if answer["is_new"]}
    kept = {id.partition("/")[0]: id for id in new}
    assert len(new) == len(kept) == PAGES
    assert not any(answer["is_new"] for _, answer in again)
    for page, (_, answer) in zip(pages * 3, first + again, strict=True):
        expected = None if answer["is_new"] else kept[page["id"].partition("/")[0]]
        assert answer["match"] == expected
    with simdb.open(recipe / "seen.simdb", "r") as database:
        assert set(database) == new | {"first"}
        assert list(database.check(deep=True)) == []


def test_another_page_with_the_same_id_is_refused_and_named(port):
    page = {"id": "a", "text": "the quick brown fox jumps over the lazy dog"}
    assert send(port, page)[1]["is_new"]

    status, answer = send(port, page | {"text": "hens lay eggs in the barn behind the house"})

    assert (status, answer["detail"]) == (409, "another page has the id 'a'")
    assert send(port, page) == (200, {"is_new": False, "match": "a", "similarity": 1.0})
