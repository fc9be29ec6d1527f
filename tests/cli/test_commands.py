"""The table of commands, which is read without loading them."""

import inspect
from importlib import import_module
from pathlib import Path

from over import over

from simdb import cli
from simdb.cli import COMMANDS, NAMES, module_of

SENTENCES = [pair for group in COMMANDS.values() for pair in group.items()]


@over(("verb", "sentence"), SENTENCES)
def test_a_sentence_of_the_program_is_the_first_of_the_command(verb, sentence):
    command = getattr(import_module(f"simdb.cli.{module_of(verb)}"), verb.replace("-", "_"))

    assert inspect.getdoc(command).split("\n\n")[0].replace("\n", " ") == sentence


def test_every_module_of_the_command_line_has_commands_or_serves_all():
    modules = {path.stem for path in Path(cli.__file__).parent.glob("[!_]*.py")}

    assert modules - set(map(module_of, NAMES)) == {"app"}


def test_the_help_of_the_program_lists_every_command(simdb_run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    output = simdb_run("--help").output

    assert all(f" {verb} " in output and sentence in output for verb, sentence in SENTENCES)
    assert all(f"\u2500 {title} \u2500" in output for title in ("Options", *COMMANDS))


def test_an_unknown_command_is_answered_with_similar_names(simdb_run):
    assert "No such command 'qery'. Did you mean 'query'?" in simdb_run("qery").notes
    assert simdb_run("xyz").notes.endswith("No such command 'xyz'.\n")
