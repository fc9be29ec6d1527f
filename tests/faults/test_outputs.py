"""Whatever step of writing outputs fails, the outputs and what is stored agree.

Each call of the system that gives outputs their names fails in turn, once or from then on, and the
process is killed at each of them.
"""

import errno
import json
import os
import sys
from pathlib import Path

import fsspec
import pytest
from click.testing import CliRunner
from forked import run_until_killed

import simdb
from simdb.cli.app import app
from simdb.database.write.write_state import WriteState
from simdb.files import outputs, remote
from simdb.files.pieces import Spool
from simdb.storage import files

CALLS = ("replace", "rename", "link", "remove", "rmdir", "mkdir", "fsync", "listdir", "open")
# Calls of these are calls of outputs.
SYNCING = (files.write_whole.__code__, files.sync_directory.__code__)
FOX = " ".join(f"w{number}" for number in range(40))
SEA = " ".join(f"v{number}" for number in range(40))
OLD = "what it held\n"
OPTIONS = simdb.Options(keep_times="seen")
REMOTE = fsspec.filesystem("memory")
OUTPUTS = {
    "one": ["-o", "k.jsonl"],
    "new": ["-o", "new.jsonl", "--groups", "g.csv"],
    "three": ["-o", "k.jsonl.gz", "--groups", "g.csv", "--report", "r.html"],
    "folder": ["-o", "deep/out/", "--groups", "g.csv"],
    "shards": ["-o", "shards/", "--groups", "g.csv"],
    "copies": ["-o", "copies/", "--groups", "g.csv"],
    "remote": ["-o", "memory://k.jsonl", "--groups", "memory://new.csv", "--report", "r.html"],
    "in place": ["-o", "a.jsonl", "--in-place"],
}


KILLED = """
import os, signal, sys
chosen, *arguments = sys.argv[1:]
from simdb.files import outputs
from simdb.storage import files
syncing = (files.write_whole.__code__, files.sync_directory.__code__)
names = ("replace", "rename", "link", "remove", "rmdir", "mkdir", "fsync", "listdir", "open")
count = -1
def of(call):
    def counted(*given, **named):
        global count
        caller = sys._getframe(1).f_code
        if caller.co_filename == outputs.__file__ or caller in syncing:
            count += 1
            if count == int(chosen):
                os.kill(os.getpid(), signal.SIGKILL)
        return call(*given, **named)
    return counted
for name in names:
    setattr(os, name, of(getattr(os, name)))
outputs.open = of(open)
from simdb.cli.app import main
sys.argv = ["simdb", *arguments]
main()
"""


class Faults:
    """A failure of one call that outputs make, by its number; with `lasts` of later ones, too."""

    def __init__(self, chosen, code, *, lasts=False):
        self.chosen, self.code, self.lasts, self.count = chosen, code, lasts, 0
        self.failed = []

    def may(self, name):
        """Count a call; raise OSError if it fails."""
        self.count += 1
        is_later = self.lasts and self.count > self.chosen + 1
        if self.count == self.chosen + 1 or (is_later and name == self.failed[0]):
            self.failed.append(name)
            raise OSError(self.code, os.strerror(self.code))

    def put_into(self, patch):
        """Let the calls of outputs fail."""
        for name in CALLS:
            patch.setattr(os, name, self._of(name, getattr(os, name)))
        patch.setattr(outputs, "open", self._of("opening", open), raising=False)
        for name in ("exists", "send", "move", "remove"):
            patch.setattr(remote.RemoteFiles, name, self._far(name))

    def _of(self, name, call):
        def checked(*given, **named):
            caller = sys._getframe(1).f_code
            if caller.co_filename == outputs.__file__ or caller in SYNCING:
                self.may(name)
                if name == "fsync":
                    return None  # which takes its time
            return call(*given, **named)

        return checked

    def _far(self, name):
        call = getattr(remote.RemoteFiles, name)

        def checked(files, *paths):
            self.may(name)
            return call(files, *paths)

        return checked


def prepare(folder):
    """Make two sources, what outputs replace, and a database of another document."""
    os.makedirs(folder)
    os.chdir(folder)
    rows = [{"id": 1, "text": FOX}, {"id": 2, "text": SEA}, {"id": 3, "text": FOX}]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("b.jsonl").write_text(json.dumps({"id": 4, "text": SEA[:-3]}) + "\n")
    os.mkdir("texts")
    for name, text in (("a.txt", FOX), ("b.txt", SEA), ("c.txt", FOX)):
        Path("texts", name).write_text(text)
    for name in ("k.jsonl", "k.jsonl.gz", "g.csv", "r.html"):
        Path(name).write_text(OLD)
    REMOTE.store.clear()
    REMOTE.pipe_file("/k.jsonl", OLD.encode())
    os.mkdir("shards")
    for name in ("a.jsonl", "b.jsonl"):
        Path("shards", name).write_text(OLD)
    with simdb.open("d", options=OPTIONS, durability="none") as database:
        database.insert("other", "an entirely different text about birds")


def state():
    """Return the content of each file but those of the database, and the ids in this."""
    files = (Path(folder, name) for folder, _, names in os.walk(".") for name in names)
    folders = [folder for folder, _, _ in os.walk(".")]
    with simdb.open("d", "r") as database:
        stored = sorted(database)
    far = {name: REMOTE.cat_file(name) for name in REMOTE.store}
    content = {str(path): path.read_bytes() for path in files if not str(path).startswith("d/")}
    return {"stored": stored, "folders": sorted(folders), **content, **far}


def without_kept(found):
    return {name: held for name, held in found.items() if ".before" not in name}


def dedup(outputs, *options):
    sources = ["a.jsonl"] if "--in-place" in outputs else ["a.jsonl", "b.jsonl"]
    sources = ["texts"] if "copies/" in outputs else sources
    return CliRunner().invoke(app, ["dedup", *sources, "--db", "d", *outputs, *options])


def sweep(tmp_path, monkeypatch, outputs, code, *, lasts):
    """Fail each call in turn; return which failed, and check the state after each."""
    monkeypatch.chdir(tmp_path)
    failed = []
    for chosen in range(200):
        prepare(tmp_path / str(chosen))
        before = state()
        faults = Faults(chosen, code, lasts=lasts)
        with monkeypatch.context() as patch:
            faults.put_into(patch)
            ran = dedup(outputs)
        if not faults.failed:
            assert ran.exit_code == 0, ran.output
            assert faults.count > 3
            return failed
        failed.append(faults.failed[0])
        after = state()
        if ran.exit_code == 0:
            assert after["stored"] != before["stored"], (chosen, faults.failed)
            assert not any(name.endswith(".partial") for name in after), (chosen, faults.failed)
        else:
            assert ran.exit_code == 3, ran.output
            assert "[Errno" not in ran.output
            assert "d/" not in ran.output
            assert after == before, (chosen, faults.failed, ran.output)
            ran = dedup(outputs)
            assert ran.exit_code == 0, ran.output
        with simdb.open("d", "r") as database:
            assert len(database) == 3
    raise AssertionError("the calls never ended")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("outputs", "code", "lasts"),
    [
        (outputs, code, lasts)
        for code in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EMFILE)
        for lasts in (False, True)
        for outputs in OUTPUTS
        if not (lasts and outputs == "remote")  # what cannot be reached cannot be removed
    ],
)
def test_after_a_step_that_failed_outputs_and_database_are_as_before(
    tmp_path, monkeypatch, outputs, code, lasts
):
    """The documents were stored, and some of the outputs were the old ones."""
    failed = sweep(tmp_path, monkeypatch, OUTPUTS[outputs], code, lasts=lasts)

    assert {"fsync", "link", "replace"} & set(failed)


@pytest.mark.few(3)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_after_a_commit_that_failed_outputs_are_as_before(tmp_path, monkeypatch, outputs):
    prepare(tmp_path / "folder")
    before = state()

    def fails(writing):
        is_empty = not (writing.staging.has_changes or writing.staging.notes)
        writing.end()
        if not is_empty:
            raise simdb.FullError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(WriteState, "commit", fails)
        ran = dedup(OUTPUTS[outputs])

    assert (ran.exit_code, ran.output.splitlines()[-1]) == (3, "simdb: no room")
    assert state() == before


def test_no_room_for_the_rows_that_wait_to_be_printed_is_noticed_before_outputs_have_names(
    tmp_path, monkeypatch
):
    """Rows with texts, which are where -o may write, wait in a file until they are printed."""

    def fails(spool):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    prepare(tmp_path / "folder")
    before = state()
    monkeypatch.setattr(Spool, "flush", fails)

    call = ["dedup", "a.jsonl", "b.jsonl", "--show", "9", *OUTPUTS["one"]]
    ran = CliRunner().invoke(app, call)

    assert ran.exit_code == 3
    assert "no room on the disk of k.jsonl, or on that of temporary files" in ran.output
    assert state() == before


@pytest.mark.parametrize("options", [[], ["--unit", "line"]])
def test_an_interruption_right_after_the_commit_leaves_the_new_outputs(
    tmp_path, monkeypatch, options
):
    def commit_and_interrupt(writing):
        is_empty = not (writing.staging.has_changes or writing.staging.notes)
        commit(writing)
        if not is_empty:
            raise KeyboardInterrupt

    commit = WriteState.commit
    prepare(tmp_path / "folder")

    with monkeypatch.context() as patch:
        patch.setattr(WriteState, "commit", commit_and_interrupt)
        ran = dedup(OUTPUTS["three"], *options)

    after = state()
    assert ran.exit_code == 130
    assert after["g.csv"] != OLD.encode()
    assert dedup(OUTPUTS["three"], *options).exit_code == 0
    assert state()["k.jsonl.gz"] == after["k.jsonl.gz"]


@pytest.mark.few(1)
@pytest.mark.parametrize("outputs", ["new", "three", "folder", "shards", "in place"])
def test_a_run_that_was_killed_at_any_step_writes_and_stores_the_same_when_repeated(
    tmp_path, monkeypatch, outputs
):
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path / "whole")
    assert dedup(OUTPUTS[outputs]).exit_code == 0
    wanted = state()
    counted = Faults(-1, 0)
    prepare(tmp_path / "counted")
    with monkeypatch.context() as patch:
        counted.put_into(patch)
        dedup(OUTPUTS[outputs])

    for chosen in range(counted.count):
        prepare(tmp_path / str(chosen))
        command = ["dedup", "a.jsonl", "b.jsonl"][: 2 + (outputs != "in place")]
        run_until_killed(KILLED, chosen, *command, "--db", "d", *OUTPUTS[outputs])
        ran = dedup(OUTPUTS[outputs])

        assert ran.exit_code == 0, ran.output
        assert without_kept(state()) == without_kept(wanted), chosen
