"""The table of commands, which is read without loading them."""

from pathlib import Path

from over import over

from simdb import cli
from simdb.cli import COMMANDS, NAMES, module_of

SENTENCES = [pair for group in COMMANDS.values() for pair in group.items()]


@over(("verb", "sentence"), SENTENCES)
def test_a_sentence_of_the_program_is_the_first_of_the_command(simdb_run, verb, sentence):
    _, first, *_ = simdb_run(verb, "--help").output.split("\n\n")

    assert " ".join(first.split()) == sentence


def test_every_module_of_the_command_line_has_commands_or_serves_all():
    modules = {path.stem for path in Path(cli.__file__).parent.glob("[!_]*.py")}

    assert modules - set(map(module_of, NAMES)) == {"app"}


def test_the_help_of_the_program_lists_every_command(simdb_run):
    output = simdb_run("--help").output
    lines = " ".join(output.split())

    assert all(f" {verb} {sentence}" in lines for verb, sentence in SENTENCES)
    assert all(f"\n{title}:\n" in output for title in ("Options", *COMMANDS))
