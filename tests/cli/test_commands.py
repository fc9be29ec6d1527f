"""The table of commands, which is read without loading them."""

from pathlib import Path

from over import over

from simdb import cli
from simdb.cli import COMMANDS, NAMES, module_of
from simdb.cli.options.declare import described

SENTENCES = [pair for group in COMMANDS.values() for pair in group.items()]


@over(("verb", "sentence"), SENTENCES)
def test_every_command_has_help_that_begins_with_its_sentence_and_ends_with_its_notes(
    simdb_run, verb, sentence
):
    ran = simdb_run(verb, "--help")

    usage, first, *_ = ran.output.split("\n\n")
    notes = "".join(described(verb)[2].split())
    assert (ran.code, usage.startswith("Usage: ")) == (0, True)
    assert " ".join(first.split()) == sentence
    assert "".join(ran.output.partition("Options:")[2].split()).endswith(notes)


def test_every_module_of_the_command_line_has_commands_or_serves_all():
    modules = {path.stem for path in Path(cli.__file__).parent.glob("[!_]*.py")}

    assert modules - set(map(module_of, NAMES)) == {"app"}


def test_the_help_of_the_program_lists_every_command(simdb_run):
    output = simdb_run("--help").output
    lines = " ".join(output.split())

    assert all(f" {verb} {sentence}" in lines for verb, sentence in SENTENCES)
    assert all(f"\n{title}:\n" in output for title in ("Options", *COMMANDS))
