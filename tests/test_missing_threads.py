"""Verbs go on with the threads that the system has, down to the one that calls them."""

import io
import subprocess
import sys
import threading

import pytest
import rich.console
import rich.live

import simdb
from simdb.cli.output.terminal import ProgressLine
from simdb.core import threads
from simdb.core.progress import Bar
from simdb.core.threads import crew, mapped, read_ahead

COUNTS = pytest.mark.parametrize("startable", [0, 1, 3])
TEXTS = [f"a text of some words {at % 700} and {at % 700 * 7} more of them" for at in range(3000)]
# The threads of a user count as processes do, but those of root do not.
LIMITED = """
import io, os, resource
import numpy, zstandard, simdb
from simdb.files.content import packed_file
from simdb.files.formats import ZSTD
from simdb.files.outputs import zstd_writer

def answers():
    with simdb.open(None) as database:
        database.insert_many(range(3000), [f"a text of some words {at}" for at in range(3000)])
        found = len(database), len(simdb.deduplicate(["a b c d e f"] * 5000, threads=4).data)
    with zstd_writer(file := io.BytesIO(), 4) as stream:
        stream.write(b"some bytes")
    file.seek(0)
    return found, packed_file(file, ZSTD).read(99)

wanted = answers()
if os.getuid() == 0:
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
print(answers() == wanted, wanted)
"""


@pytest.fixture
def limit(monkeypatch):
    """Lets so many threads of the package run at a time, and tells how many were refused."""

    def limit(startable):
        refused, before = [], threading.active_count()

        class Limited(threading.Thread):
            def start(self):
                if threading.active_count() - before >= startable:
                    refused.append(self.name)
                    raise RuntimeError("can't start new thread")
                super().start()

        monkeypatch.setattr(threads, "Thread", Limited)
        return refused

    return limit


@COUNTS
@pytest.mark.parametrize("has_crew", [False, True])
def test_a_batch_goes_on_with_the_threads_that_there_are(limit, startable, has_crew):
    refused, before = limit(startable), threading.active_count()

    def batches():
        for _ in range(3):
            yield list(mapped(lambda number: number * number, range(50), 6))

    if has_crew:
        with crew():
            found = list(batches())
    else:
        found = list(batches())

    assert found == [[number * number for number in range(50)]] * 3
    assert refused
    assert threading.active_count() == before


@COUNTS
def test_nothing_is_left_out_of_what_is_read_ahead(limit, startable):
    refused = limit(startable)

    assert list(read_ahead(iter(range(20)), 2)) == list(range(20))
    assert bool(refused) == (startable == 0)


@COUNTS
def test_verbs_answer_the_same(limit, startable, tmp_path):
    def answers(name, number):
        with simdb.open(tmp_path / name) as database:
            database.insert_many(range(len(TEXTS)), TEXTS, threads=number)
            rows = database.query_many(TEXTS[:300], threads=number)
            pairs = database.find_all(threads=number)
            found = sorted((pair.left, pair.right) for pair in pairs)
            left = simdb.deduplicate(TEXTS, threads=number).data
            assert not list(database.check())
            return [[match.id for match in row] for row in rows], found, left

    expected = answers("first", 1)
    refused = limit(startable)

    assert answers("second", 6) == expected
    assert refused


def test_calls_whose_results_are_large_are_not_kept_without_threads(limit):
    limit(0)

    class Large:
        alive = 0

        def __init__(self):
            Large.alive += 1

        def __del__(self):
            Large.alive -= 1

    most = 0
    with crew():
        for _ in mapped(lambda _: Large(), range(200), 4):
            most = max(most, Large.alive)

    assert most <= 16


def test_a_bar_that_no_thread_draws_stops_as_any_other(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(rich.live._RefreshThread, "start", refuse)
    monkeypatch.setattr("sys.stderr", file := io.StringIO())
    console = rich.console.Console(file=file, force_terminal=True)
    bar, line = Bar(console), ProgressLine()

    bar(7)
    line.show("some words")
    line.stop()
    del bar

    shown, hidden = "\x1b[?25h", "\x1b[?25l"
    assert file.getvalue().count(hidden) == file.getvalue().count(shown) == 1


def test_a_program_under_a_limit_of_threads_ends_as_any_other():
    pytest.importorskip("zstandard")

    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=120, check=False
    )

    assert (done.stdout, done.returncode) == ("True ((3000, 1), b'some bytes')\n", 0), done.stderr
