"""Words: no message of the library reaches a terminal in the words of Python."""

import ast
import pickle
import re
from functools import cache
from pathlib import Path

import pytest
from over import over
from source_trees import PACKAGE, nodes_of

import simdb
from simdb.cli import FLAGS
from simdb.cli.app import NAMES, app
from simdb.cli.output import render
from simdb.cli.output.render import in_words

# Folders whose messages commands do not print: other libraries' names, and the kernel.
APART = {"compat", "cli", "distributed", "spark", "integrations", "deduplication"}


def message_of(node):
    """Return the text that an f-string or a string makes, with sample values; None for others."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    return "".join(
        part.value
        if isinstance(part, ast.Constant)
        else "similarity"  # the name of an argument
        if is_assigned
        else "'x'"
        if part.conversion == ord("r")
        else "x"
        for part, is_assigned in zip(node.values, followers(node.values), strict=True)
    )


def followers(parts):
    """Return for each part of an f-string whether an equals sign follows it."""
    after = [getattr(part, "value", None) for part in parts[1:]]
    return [isinstance(each, str) and each.startswith("=") for each in after] + [False]


@cache
def messages():
    """Return place and text of every message that the library can write."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        if APART & set(inside.parts):
            continue
        nodes = nodes_of(path)
        parts = {
            id(part)
            for node in nodes
            if isinstance(node, ast.JoinedStr)
            for part in ast.walk(node)
            if part is not node
        }
        notes = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        # What only a program is told.
        remedies = {
            id(node.value)
            for node in nodes
            if isinstance(node, ast.keyword) and node.arg == "python"
        }
        inner = parts | notes | remedies
        for node in nodes:
            text = message_of(node)
            if text and " " in text and id(node) not in inner:
                found.append((f"{inside}:{node.lineno}", text))
    return found


def test_every_verb_and_argument_with_another_name_is_still_written_by_the_library():
    every = "\n".join(text for _, text in messages())

    named = [*render.COMMANDS, *(name.replace("-", "_") for name in render.ARGUMENTS)]
    assert [name for name in named if name not in every] == []
    assert {command.split()[0] for command in render.COMMANDS.values()} <= set(NAMES)


def commands():
    """Yield every command, and those of a group."""
    for verb in NAMES:
        command = app.get_command(None, verb)
        yield from getattr(command, "commands", {"": command}).values()


def test_every_option_that_a_translation_names_exists():
    known = {
        name
        for command in commands()
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    named = {
        name for _, text in messages() for name in re.findall(r"--[a-z-]+[a-z]", in_words(text))
    }

    assert named - known == set()
    assert FLAGS - {"--version"} <= known


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
    "name", ["page?id=3", "id=3", "/data/seed=3/x", "find_all.py", "a/compact()", "similarity='x'"]
)
def test_names_of_users_stay_as_they_are(name):
    message = f"no document has the id {name!r}"

    assert in_words(message) == message


def test_an_error_is_printed_in_words_of_the_command_line(simdb_run):
    simdb_run("create", "db")

    assert simdb_run("stats", "nowhere").notes == (
        "simdb: there is no database at nowhere; simdb create nowhere makes one\n"
    )
    assert simdb_run("create", "db").notes == (
        "simdb: there is a database at db already; simdb insert db SOURCE adds to it\n"
    )
    Path("pages.jsonl").write_text("")
    assert simdb_run("pairs", "pages.jsonl").notes == (
        "simdb: pages.jsonl is a file; a database is a directory;"
        " simdb dedup finds near-duplicates in files\n"
    )
    assert simdb_run("create", ":memory:").notes == (
        "simdb: a database is a directory on a local disk\n"
    )
    assert (
        "use --search exhaustive"
        in simdb_run(
            "query", "db", "a text", "--search", "bphs", "--recall", "1", "--similarity", "0.5"
        ).notes
    )


def test_a_name_that_was_given_is_not_changed(simdb_run):
    assert simdb_run("dedup", "id=3").notes == "simdb: there is no file or folder id=3\n"
    assert (
        "no database at find_all; simdb create find_all makes"
        in simdb_run("get", "find_all", "a").notes
    )


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
