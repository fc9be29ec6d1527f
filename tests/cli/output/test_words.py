"""Words: no message of the library reaches a terminal in the words of Python."""

import pickle
import re
from pathlib import Path

import pytest
from over import over
from source_trees import PACKAGE

import simdb
from simdb.cli import FLAGS
from simdb.cli.app import NAMES, app
from simdb.cli.output import render
from simdb.cli.output.render import in_words


def commands():
    """Yield every command, and those of a group."""
    for verb in NAMES:
        command = app.get_command(None, verb)
        yield from getattr(command, "commands", {"": command}).values()


def test_every_command_and_option_that_a_message_names_exists():
    known = {
        name
        for command in commands()
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    folders = ("core", "database", "files", "plan", "sketch", "storage")
    paths = [path for folder in folders for path in (PACKAGE / folder).rglob("*.py")]
    named = {
        name
        for path in paths
        for name in re.findall(r"[ (`\"]--([a-z][a-z0-9-]*[a-z0-9])", path.read_text())
    }

    assert len(named) > 10
    assert {f"--{name}" for name in named} - known == set()
    assert FLAGS - {"--version"} <= known
    assert {command.split()[0] for command in render.COMMANDS.values()} <= set(NAMES)


@over(
    ("message", "expected"),
    [
        ("use search='exhaustive' or recall=0.5.", "use --search exhaustive or --recall 0.5."),
        ("leave it out: lowercase=False", "leave it out: --no-lowercase"),
        ("give similarity= (besides distance=)", "give --similarity (besides --distance)"),
        ("blocks=4, leading=1", "--blocks 4, --leading 1"),
        ("seed=-3; compact() frees", "--seed -3; simdb compact frees"),
        ("use find_all or rebuild(polytopes=4)", "use simdb pairs or simdb rebuild --polytopes 4"),
        ("make it again: rebuild(), simdb rebuild", "make it again: simdb rebuild"),
        ("keep='max:FIELD' or 'min:FIELD'", "--keep max:FIELD or min:FIELD"),
        ("use Simhash(store_volatility=True)", "use --volatility"),
    ],
)  # fmt: skip
def test_arguments_become_options(message, expected):
    assert in_words(message) == expected


@over(
    "name", ["page-id=3", "id=3", "/data/seed=3/x", "find_all.py", "a/compact()", "similarity='x'"]
)
def test_names_of_users_stay_as_they_are(name, simdb_run):
    message = f"no document has the id {name!r}"

    assert in_words(message) == message
    assert f"no file or folder {name}\n" in simdb_run("dedup", name).notes


@over(
    ("words", "told"),
    [
        ("stats nowhere", "simdb create nowhere makes one"),
        ("create db", "simdb insert db SOURCE adds to it"),
        ("pairs pages.jsonl", "simdb dedup finds near-duplicates in files"),
        ("create :memory:", "simdb: a database is a directory on a local disk\n"),
        ("query db fox --search bphs --recall 1 --similarity .5", "use --search exhaustive"),
    ],
)
def test_an_error_is_printed_in_words_of_the_command_line(simdb_run, words, told):
    simdb_run("create", "db")
    Path("pages.jsonl").write_text("")

    assert told in simdb_run(*words.split()).notes


def test_an_argument_is_the_option_that_the_command_has_for_it(simdb_run):
    simdb_run("create", "db")
    Path("a.jsonl").write_text('{"title": "a", "id": 1}\n')

    assert "use --text-field to name the field with the text" in simdb_run("dedup", "a.jsonl").notes
    assert "or the --id of a stored" in in_words("needs a document, or the id= of a stored one")


def test_an_error_has_a_remedy_for_programs_and_one_for_the_command_line():
    with pytest.raises(simdb.NotFoundError) as raised:
        simdb.open("nowhere", "r")

    error = pickle.loads(pickle.dumps(raised.value))
    assert str(error) == "there is no database at nowhere; mode 'c' creates one"
    assert error.at_command == "there is no database at nowhere; simdb create nowhere makes one"
