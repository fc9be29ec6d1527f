"""The table of commands, which is read without loading them."""

import re
from pathlib import Path

import click
from over import over

from simdb import Options, cli, jobs
from simdb.cli import COMMANDS, NAMES, module_of
from simdb.cli.app import app
from simdb.cli.options.declare import DAILY, NO_BREAK, TITLES, described
from simdb.core.values import fields

SENTENCES = [pair for group in COMMANDS.values() for pair in group.items()]


@over(("verb", "sentence"), SENTENCES)
def test_every_command_has_help_that_begins_with_its_sentence_and_ends_with_its_notes(
    simdb_run, verb, sentence
):
    ran = simdb_run(verb, "--help")

    usage, first, *_ = ran.output.split("\n\n")
    notes = "".join(described(verb)[2].replace(NO_BREAK, "-").split())
    assert (ran.code, usage.startswith("Usage: ")) == (0, True)
    assert " ".join(first.split()) == sentence
    assert "".join(ran.output.partition("Options:")[2].split()).endswith(notes)


def flags_of(name):
    context = click.Context(app)
    found = app.get_command(context, name.split()[0])
    for each in name.split()[1:]:
        found = found.get_command(context, each)
    return {each.opts[-1] for each in found.params if isinstance(each, click.Option)}


def test_options_in_groups_are_options_of_commands():
    every = [flag for flags in TITLES.values() for flag in flags]

    assert len(set(every)) == len(every)
    assert set(every) <= set().union(*map(flags_of, [*NAMES, "spark dedup"]))
    assert all(set(flags) <= flags_of(name) for name, flags in DAILY.items())


def test_the_help_of_the_main_job_begins_with_ten_options_of_daily_use(simdb_run):
    output = simdb_run("dedup", "--help").output

    groups = [line[:-1] for line in output.splitlines() if line and line.endswith(":")]
    titles = [each for each in groups if each[0] != " "]
    first = output.partition("Options:\n")[2].partition("\nMatching:")[0]
    flags = [line.split()[:2] for line in first.splitlines() if line.startswith("  -")]
    assert titles == ["Arguments", "Options", *[each for each in TITLES if each != "Tables"]]
    assert not re.search("--[a-z-]*-$", output, re.M)
    assert flags[0] == ["-o,", "--output"]
    assert [each for each, _ in flags[1:]] == [*DAILY["dedup"][1:], "-h,"]
    assert len(DAILY["dedup"]) == 10


def test_every_module_of_the_command_line_has_commands_or_serves_all():
    modules = {path.stem for path in Path(cli.__file__).parent.glob("[!_]*.py")}

    assert modules - set(map(module_of, NAMES)) == {"app"}


def test_the_help_of_the_program_lists_every_command(simdb_run):
    output = simdb_run("--help").output
    lines = " ".join(output.split())

    assert all(f" {verb} {sentence}" in lines for verb, sentence in SENTENCES)
    assert all(f"\n{title}:\n" in output for title in ("Options", *COMMANDS))


def test_the_defaults_that_help_shows_are_those_of_the_library():
    made, limits = Options(), jobs.Limits()
    shown = {each.name: each.default for each in fields(cli.plan.CreatedOptions)}
    report = cli.report.report.__kwdefaults__

    chosen = {name: value for name, value in shown.items() if value is not None}
    assert chosen == {name: getattr(made, name) for name in chosen}
    for name in ("groups", "sample", "seed"):
        assert report[name] == getattr(limits, name)
