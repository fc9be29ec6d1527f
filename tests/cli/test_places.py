"""Outputs in the place of sources, of pipes and of the null device, and on other disks."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest

WORDS = " ".join(f"word{at}" for at in range(30))
MINE = "my earlier result\n"


@pytest.fixture
def run(simdb_run):
    """Runs a command beside a.jsonl with a pair, folder/b.txt, other names of them, and d."""
    rows = [{"id": at, "text": WORDS} for at in range(2)]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("folder").mkdir()
    Path("folder/b.txt").write_text(WORDS)
    os.symlink("a.jsonl", "source.jsonl")
    os.symlink("folder", "other")
    simdb_run("insert", "d", "a.jsonl")
    return simdb_run


def contents():
    files = (Path(folder, name) for folder, _, names in os.walk(".") for name in names)
    return {str(path): path.read_bytes() for path in files if not str(path).startswith("d/")}


DEDUP, LOOKUP, DECONTAMINATE = (
    ["dedup", "a.jsonl"], ["lookup", "d", "a.jsonl"],
    ["decontaminate", "a.jsonl", "--against", "folder"],
)  # fmt: skip
SOURCES = [
    ["dedup", "source.jsonl", "-o", "a.jsonl"], [*DEDUP, "--db", "new", "-o", "./a.jsonl"],
    [*LOOKUP, "--found", "source.jsonl"], [*DECONTAMINATE, "-o", "a.jsonl"],
    ["dedup", "other", "-o", "folder/k.jsonl"], ["dedup", "folder", "--groups", "folder/k.jsonl"],
]  # fmt: skip


@pytest.mark.parametrize("command", SOURCES, ids=" ".join)
def test_an_output_takes_the_place_of_a_source_only_with_in_place(run, command):
    Path("folder/k.jsonl").write_text(MINE)
    before = contents()

    ran = run(*command)
    after = contents()
    allowed = run(*command, "--in-place")

    assert ran.code == 2
    assert after == before
    assert "give --in-place if that is meant, or name another place" in ran.notes
    assert allowed.code == 0, allowed.notes


@pytest.mark.parametrize("verb", [["dump", "d"], ["dedup", "a.jsonl"]])
def test_a_pipe_takes_an_output_and_stays_a_pipe(run, verb):
    """A dump took the place of the null device of the machine."""
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)

    ran = run(*verb, "-o", "pipe")

    assert ran.code == 0, ran.notes
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    assert len(os.read(reader, 1 << 20)) > 100
    os.close(reader)


def test_links_to_another_disk_are_refused_in_words(run, monkeypatch):
    def refused(path, place):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path, None, place)

    monkeypatch.setattr(os, "link", refused)

    ran = run("dedup", "folder", "-o", "new/", "--link")

    assert ran.code == 2
    assert "folder/b.txt cannot be linked into new/ (Invalid cross-device link); leave" in ran.notes
    assert not list(Path().glob("new*"))


def test_two_outputs_may_go_to_the_null_device_and_to_names_that_begin_alike(run):
    assert run(*DEDUP, "-o", "/dev/null", "--groups", "/dev/null").code == 0
    assert run(*DEDUP, "-o", "new.jsonl", "--groups", "new.jsonl.csv").code == 0
    assert run("dedup", "folder", "-o", "folder2.jsonl", "--groups", "dd.csv").code == 0
