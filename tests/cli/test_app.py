"""The program as a process: exit codes, signals, pipes and terminals."""

import errno
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

import simdb
from simdb.cli import NAMES
from simdb.cli.app import app, main
from simdb.cli.options.declare import described
from simdb.core import foreign

PROGRAM = [sys.executable, "-W", "ignore", "-m", "simdb"]
SHELL_PROGRAM = " ".join(PROGRAM)
FOX = "the quick brown fox jumps over the lazy dog and then it runs home to sleep until the morning"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    root = os.path.dirname(os.path.dirname(simdb.__file__))
    monkeypatch.setenv("PYTHONPATH", root)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)


def start(*arguments, **streams):
    return subprocess.Popen([*PROGRAM, *arguments], **streams)


def test_the_version_is_printed(simdb_run):
    ran = simdb_run("--version")

    assert (ran.code, ran.output) == (0, f"simdb {simdb.__version__}\n")


@pytest.mark.parametrize(
    "verb",
    NAMES,
)
def test_every_command_has_help_with_its_notes_behind_the_options(simdb_run, verb):
    notes = "".join(described(verb)[2].split())

    ran = simdb_run(verb, "--help")

    assert ran.code == 0
    assert "Usage" in ran.output
    assert "".join(ran.output.partition("Options:")[2].split()).endswith(notes)


@pytest.mark.parametrize(
    "arguments", [["magic"], ["query"], ["stats", "a", "b"], ["stats", "a", "--nonsense"]]
)
def test_wrong_use_is_exit_code_2(simdb_run, arguments):
    assert simdb_run(*arguments).code == 2


def test_the_commands_of_other_programs_are_answered_with_ours(simdb_run):
    assert "Use simdb delete DB --older-than 30d." in simdb_run("expire", "d").notes
    assert not set(foreign.own_words("commands")) & set(NAMES)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (simdb.OptionError("x"), 2),
        (simdb.InputError("x"), 2),
        (FileNotFoundError("x"), 2),
        (simdb.NotFoundError("x"), 3),
        (simdb.ExistsError("x"), 3),
        (simdb.BusyError("x"), 3),
        (simdb.FullError("x"), 3),
        (simdb.FormatError("x"), 3),
        (simdb.CorruptError("x"), 3),
        (KeyboardInterrupt(), 130),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(simdb_run, monkeypatch, error, code):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(simdb, "open", fail)

    ran = simdb_run("stats", "db")

    assert ran.code == code
    assert ran.output == ""
    assert ran.notes == ("simdb: interrupted\n" if code == 130 else "simdb: x\n")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError("Unable to allocate 8 GiB"), 3, "the memory of this process is used up"),
        (OSError(errno.EMFILE, "Too many open files", "a.jsonl"), 3, "raise this limit"),
        (FileNotFoundError(errno.ENOENT, "No such file"), 2, "the current folder is gone"),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory"), 2, "set TMPDIR"),
        (FileNotFoundError(errno.ENOENT, "No such file", "a"), 2, "[Errno 2] No such file: 'a'"),
    ],
)
def test_what_a_system_is_short_of_is_told_with_a_remedy(
    simdb_run, monkeypatch, error, code, message
):
    # Too little memory was a traceback, and exit code 1, as if some input had been skipped.
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(simdb, "open", fail)

    ran = simdb_run("stats", "db")

    assert ran.code == code
    assert ran.notes.startswith("simdb: ")
    assert message in ran.notes
    assert ran.notes.count("\n") == 1


def test_a_bug_in_the_program_is_not_hidden(simdb_run, monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(simdb, "open", fail)

    assert isinstance(simdb_run("stats", "db").error, ZeroDivisionError)


@pytest.fixture
def default_signals():
    """Let programs be interrupted, also where the shell ignores the signal for its jobs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.few(1)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_and_nothing_is_stored(tmp_path, number, code, default_signals):
    record = json.dumps({"text": FOX}) + "\n"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = start("insert", "db", "-", **pipes)
    program.stdin.write(record.encode() * 20_000)
    program.stdin.flush()
    wait_for(lambda: (tmp_path / "db" / "data.mdb").exists())

    program.send_signal(number)
    _, notes = program.communicate(timeout=20)

    assert program.returncode == code
    assert b"Traceback" not in notes
    with simdb.open("db", "r") as db:
        assert len(db) == 0


def test_a_terminal_gets_a_table_and_a_file_gets_pure_json(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        json.dumps({"text": FOX}) * 1 + "\n" + json.dumps({"text": FOX})
    )

    table = in_terminal("dedup a.jsonl")
    notes = in_terminal("dedup a.jsonl > rows.jsonl")

    assert "representative" not in table
    assert re.search(r"2 +a\.jsonl:1 .*\n +1\.000 +a\.jsonl:2", table)
    assert "{" not in table
    assert "2 documents, 1 group, 1 duplicate" in notes
    assert json.loads((tmp_path / "rows.jsonl").read_text())["representative"] == "a.jsonl:1"


def test_main_ends_with_the_exit_code(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["simdb", "stats", "nowhere"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 3
    assert capsys.readouterr().err.startswith("simdb: there is no database")
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_without_docstrings_every_help_is_the_same():
    code = (
        "import click; from simdb.cli.app import app\n"
        "context = click.Context(app, info_name='simdb')\n"
        "print(app.get_help(context))\n"
        "made = [app.get_command(context, name) for name in app.list_commands(context)]\n"
        "made += [each for one in made for each in getattr(one, 'commands', {}).values()]\n"
        "for each in made: print(each.get_help(click.Context(each, context)))\n"
    )
    with_docstrings, without = (
        subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, timeout=60)
        for flags in ([], ["-OO"])
    )

    assert (without.returncode, without.stderr) == (0, b"")
    assert without.stdout == with_docstrings.stdout
    assert without.stdout.count(b"Usage: ") == len(app.list_commands(None)) + 2


def test_the_name_of_the_program_is_that_of_the_package():
    assert app.name == "simdb"


def wait_for(condition):
    """Waits until a condition is true, at most ten seconds."""
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never was")


def in_terminal(command, program=SHELL_PROGRAM):
    """Returns the output of a shell command on a terminal."""
    own, other = pty.openpty()
    shell = subprocess.Popen(["sh", "-c", f"{program} {command}"], stdout=other, stderr=other)
    os.close(other)
    shown = b""
    with suppress(OSError):
        while part := os.read(own, 65536):
            shown += part
    os.close(own)
    shell.wait(20)
    return shown.decode()


def after_closing(stream, arguments):
    """Returns what a command gave whose shell has closed a stream."""
    command = f"{SHELL_PROGRAM} {arguments} {stream}"
    return subprocess.run(["sh", "-c", command], capture_output=True, timeout=60)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
@pytest.mark.parametrize("verb", [["dedup", "-o"], ["lookup", "d", "--new"], ["dedup", "--groups"]])
def test_a_full_disk_is_named_with_what_may_lie_on_it(simdb_run, write_lines, tmp_path, verb):
    write_lines("a.jsonl", *({"id": at, "text": FOX} for at in range(2)))
    simdb.open("d").close()

    ran = simdb_run(*verb[:-1], "a.jsonl", verb[-1], "/dev/full")

    assert ran.code == 3
    told = "simdb: no room on the disk of /dev/full, or on that of temporary files, whose folder"
    assert f"{told} TMPDIR names: " in ran.notes


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_full_disk_of_what_is_printed_is_told(write_lines):
    write_lines("a.jsonl", *({"id": at, "text": FOX} for at in range(2)))

    with (
        open("/dev/full", "wb") as full,
        start("dedup", "a.jsonl", stdout=full, stderr=-1) as process,
    ):
        _, notes = process.communicate()

    assert process.returncode == 3
    assert b"on the disk of standard output" in notes


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
@pytest.mark.parametrize("argument", ["--version", "--help", "--show-completion=bash"])
def test_a_full_disk_of_what_the_program_itself_prints_is_told(argument):
    with open("/dev/full", "wb") as full, start(argument, stdout=full, stderr=-1) as process:
        _, notes = process.communicate()

    assert process.returncode == 3
    assert notes.startswith(b"simdb: no room on the disk of standard output")
    assert notes.count(b"\n") == 1


def test_a_closed_output_fails_whoever_prints_and_nobody_else(write_lines):
    """It used to end every command with a traceback, also one that had stored its documents."""
    write_lines("a.jsonl", {"id": 1, "text": FOX})
    simdb.open("d").close()

    verbs = ("--version", "dedup a.jsonl", "check d")
    closed = {verb: after_closing(">&-", verb) for verb in verbs}

    assert {verb: ran.returncode for verb, ran in closed.items()} == {
        "--version": 2, "dedup a.jsonl": 0, "check d": 0,
    }  # fmt: skip
    assert closed["--version"].stderr.startswith(b"simdb: standard output is closed; ")


def test_messages_get_lost_and_no_input_is_found_where_their_streams_are_closed(write_lines):
    """Messages used to be printed among the results."""
    write_lines("a.jsonl", {"id": 1, "text": FOX})

    silent, without = after_closing("2>&-", "dedup a.jsonl -o -"), after_closing("<&-", "dedup -")

    assert [json.loads(line) for line in silent.stdout.splitlines()] == [{"id": 1, "text": FOX}]
    assert without.returncode == 2
    assert b"Bad file descriptor" in without.stderr


def test_an_output_in_python_names_the_full_disk(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("a device that is always full")

    with pytest.raises(simdb.FullError, match="no room on the disk of /dev/full, or on that of"):
        simdb.deduplicate([{"text": FOX}]).write("/dev/full")
