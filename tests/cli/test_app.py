"""The program as a process: exit codes, signals, pipes and terminals."""

import errno
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from forked import run
from over import over

import simdb
from simdb.cli import NAMES
from simdb.cli.app import main
from simdb.core import foreign

PROGRAM = [sys.executable, "-W", "ignore", "-m", "simdb"]
FOX = "the quick brown fox jumps over the lazy dog and then it runs home to sleep until the morning"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    root = os.path.dirname(os.path.dirname(simdb.__file__))
    monkeypatch.setenv("PYTHONPATH", root)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)


def test_the_version_is_printed(simdb_run):
    ran = simdb_run("--version")

    assert (ran.code, ran.output) == (0, f"simdb {simdb.__version__}\n")


def test_no_command_of_ours_is_answered_as_one_of_another_program():
    assert not set(foreign.own_words("commands")) & set(NAMES)


@over(
    ("error", "code", "message"),
    [
        (simdb.OptionError("x"), 2, "simdb: x\n"),
        (FileNotFoundError("x"), 2, "simdb: x\n"),
        (simdb.NotFoundError("x"), 3, "simdb: x\n"),
        (simdb.FullError("x"), 3, "simdb: x\n"),
        (simdb.CorruptError("x"), 3, "simdb: x\n"),
        (KeyboardInterrupt(), 130, "simdb: interrupted\n"),
        (MemoryError("Unable to allocate 8 GiB"), 3, "the memory of this process is used up"),
        (OSError(errno.EMFILE, "Too many open files", "a.jsonl"), 3, "raise this limit"),
        (FileNotFoundError(errno.ENOENT, "No such file"), 2, "the current folder is gone"),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory"), 2, "set TMPDIR"),
        (FileNotFoundError(errno.ENOENT, "No such file", "a"), 2, "[Errno 2] No such file: 'a'"),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(simdb_run, monkeypatch, error, code, message):
    """Too little memory was a traceback, and exit code 1, as if some input had been skipped."""

    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(simdb, "open", fail)

    ran = simdb_run("stats", "db")

    assert (ran.code, ran.output) == (code, "")
    assert ran.notes.startswith("simdb: ")
    assert ran.notes.count("\n") == 1
    assert message in ran.notes


def test_a_bug_in_the_program_is_not_hidden(simdb_run, monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(simdb, "open", fail)

    assert isinstance(simdb_run("stats", "db").error, ZeroDivisionError)


def test_a_signal_ends_a_run_and_nothing_is_stored(tmp_path):
    record = json.dumps({"text": FOX}) + "\n"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = subprocess.Popen([*PROGRAM, "insert", "db", "-"], **pipes)
    program.stdin.write(record.encode() * 20_000)
    program.stdin.flush()
    wait_for(lambda: (tmp_path / "db" / "data.mdb").exists())

    program.terminate()
    _, notes = program.communicate(timeout=20)

    assert program.returncode == 143
    assert b"Traceback" not in notes
    with simdb.open("db", "r") as db:
        assert len(db) == 0


def wait_for(condition):
    """Waits until a condition is true, at most ten seconds."""
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never was")


# Runs a command after some change of its streams.
CHANGED = """
import os, sys
from simdb.cli.app import main
exec(sys.argv.pop(1))
main()
"""


def test_a_terminal_gets_a_table_and_a_file_gets_pure_json(write_lines):
    write_lines("a.jsonl", {"text": FOX}, {"text": FOX})

    table, _ = in_terminal("12")
    notes, rows = in_terminal("2")

    assert "representative" not in table
    assert re.search(r"2 +a\.jsonl:1 .*\n +1\.000 +a\.jsonl:2", table)
    assert "{" not in table
    assert "2 documents, 1 group, 1 duplicate" in notes
    assert json.loads(rows)["representative"] == "a.jsonl:1"


def in_terminal(streams):
    """Return what dedup prints of a.jsonl on a terminal in place of some streams, and elsewhere."""
    own, other = pty.openpty()
    change = f"[os.dup2(os.open({os.ttyname(other)!r}, os.O_RDWR), int(n)) for n in {streams!r}]"
    _, rest, _ = run(CHANGED, change, "dedup", "a.jsonl")
    os.close(other)
    shown = b""
    with suppress(OSError):
        while part := os.read(own, 65536):
            shown += part
    os.close(own)
    return shown.decode(), rest


def test_main_ends_with_the_exit_code(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["simdb", "stats", "nowhere"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 3
    assert capsys.readouterr().err.startswith("simdb: there is no database")
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_without_docstrings_help_is_the_same():
    code = (
        "import click; from simdb.cli.app import app\n"
        "context = click.Context(app, info_name='simdb')\n"
        "made = [app, app.get_command(context, 'dedup')]\n"
        "for each in made: print(each.get_help(click.Context(each, context)))\n"
    )

    _, expected, _ = run(code)
    found = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)

    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == expected
    assert expected.count("Usage: ") == 2


@pytest.fixture
def full_disk():
    if not os.path.exists("/dev/full"):
        pytest.skip("a device that is always full")


@over("verb", [["dedup", "-o"], ["lookup", "d", "--new"], ["dedup", "--groups"]])
@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_named_with_what_may_lie_on_it(simdb_run, write_lines, verb):
    write_lines("a.jsonl", *({"id": at, "text": FOX} for at in range(2)))
    simdb.open("d").close()

    ran = simdb_run(*verb[:-1], "a.jsonl", verb[-1], "/dev/full")

    assert ran.code == 3
    told = "simdb: no room on the disk of /dev/full, or on that of temporary files, whose folder"
    assert f"{told} TMPDIR names: " in ran.notes


@over("words", [["dedup", "a.jsonl"], ["--version"], ["--help"], ["--show-completion=bash"]])
@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_of_what_is_printed_is_told(write_lines, words):
    write_lines("a.jsonl", *({"id": at, "text": FOX} for at in range(2)))

    code, _, notes = run(CHANGED, "os.dup2(os.open('/dev/full', os.O_WRONLY), 1)", *words)

    assert code == 3
    (told,) = [line for line in notes.splitlines() if line.startswith("simdb: ")]
    assert told.startswith("simdb: no room on the disk of standard output")


def test_a_closed_output_fails_whoever_prints_and_nobody_else(write_lines):
    """It used to end every command with a traceback, also one that had stored its documents."""
    write_lines("a.jsonl", {"id": 1, "text": FOX})
    simdb.open("d").close()

    verbs = ("--version", "dedup a.jsonl", "check d")
    closed = {verb: run(CHANGED, "os.close(1); sys.stdout = None", *verb.split()) for verb in verbs}

    assert {verb: code for verb, (code, *_) in closed.items()} == {
        "--version": 2, "dedup a.jsonl": 0, "check d": 0,
    }  # fmt: skip
    assert closed["--version"][2].startswith("simdb: standard output is closed; ")


def test_messages_get_lost_and_no_input_is_found_where_their_streams_are_closed(write_lines):
    """Messages used to be printed among the results."""
    write_lines("a.jsonl", {"id": 1, "text": FOX})
    command = f"{shlex.join(PROGRAM)} dedup"

    silent, without = (
        subprocess.run(["sh", "-c", f"{command} {words}"], capture_output=True)
        for words in ("a.jsonl -o - 2>&-", "- <&-")
    )

    assert [json.loads(line) for line in silent.stdout.splitlines()] == [{"id": 1, "text": FOX}]
    assert without.returncode == 2
    assert b"Bad file descriptor" in without.stderr


@pytest.mark.usefixtures("full_disk")
def test_an_output_in_python_names_the_full_disk():
    with pytest.raises(simdb.FullError, match="no room on the disk of /dev/full, or on that of"):
        simdb.deduplicate([{"text": FOX}]).write("/dev/full")
