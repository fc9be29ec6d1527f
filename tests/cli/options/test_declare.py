"""A function with annotated parameters, and a text about them, becomes a command of click."""

from dataclasses import dataclass
from typing import Annotated, Literal

import click
import pytest
from click.testing import CliRunner
from over import over

from simdb.cli import HELP, NAMES
from simdb.cli.app import app
from simdb.cli.options.declare import SHARED, command_of, described

TEXT = """
Show all values.

They are printed as a tuple.

    FIRST: The first word.
    WORD...: More words.
    --count: How many.
    --share: A share, as
        a number.
    --named NAME: Names.
    --shape B R: Two.
    -w, --where FILE: A place.
    --size: How large.
    -l, --loud: Print more.
    --lowercase/--no-lowercase: Ignore case.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Options about case."""

    lowercase: bool | None = None


def show(
    first: str,
    others: Annotated[list[str] | None, "WORD..."] = None,
    *,
    count: Annotated[int, click.IntRange(0, 9)] = 3,
    share: float | None = None,
    named: list[str] | None = None,
    shape: tuple[int, int] | None = None,
    size: Literal["small", "large"] | None = None,
    where: str | None = None,
    case: Case,
    is_loud: Annotated[bool, "--loud"] = False,
) -> None:
    """Show all values."""
    print((first, others, count, share, named, shape, size, case.lowercase, is_loud))


@pytest.fixture(autouse=True)
def _has_text(monkeypatch):
    monkeypatch.setitem(HELP, "show", TEXT)


def run(*arguments):
    return CliRunner().invoke(command_of(show), arguments)


@over(
    ("arguments", "printed"),
    [
        (["a"], ("a", None, 3, None, None, None, None, None, False)),
        (
            ["a", "b", "--count", "9", "c"],
            ("a", ["b", "c"], 9, None, None, None, None, None, False),
        ),
        (["--share=.5", "a"], ("a", None, 3, 0.5, None, None, None, None, False)),
        (["a", "--named", "-x", "--named", "y"], ("a", None, 3, None, ["-x", "y"], None, None,
                                                  None, False)),
        (["a", "--shape", "4", "5"], ("a", None, 3, None, None, (4, 5), None, None, False)),
        (["a", "--size", "large"], ("a", None, 3, None, None, None, "large", None, False)),
        (["a", "--lowercase"], ("a", None, 3, None, None, None, None, True, False)),
        (["a", "--no-lowercase", "-l"], ("a", None, 3, None, None, None, None, False, True)),
        (["--loud", "--", "-a"], ("-a", None, 3, None, None, None, None, None, True)),
        (["a", "-l", "--loud", "-w", "-"], ("a", None, 3, None, None, None, None, None, True)),
        (["a", "--where", "./-x.csv"], ("a", None, 3, None, None, None, None, None, False)),
    ],
)  # fmt: skip
def test_values_have_the_types_of_the_annotations(arguments, printed):
    ran = run(*arguments)

    assert ran.output == f"{printed}\n"


@over(
    "arguments",
    [
        [],
        ["a", "--count", "10"],
        ["a", "--count", "x"],
        ["a", "--size", "9"],
        ["a", "--shape", "1"],
        ["a", "--quiet"],
    ],
)
def test_other_values_are_wrong_use(arguments):
    ran = run(*arguments)

    assert ran.exit_code == 2


@over(
    ("arguments", "message"),
    [
        (["a", "--count", "1", "--count", "1"], "--count is given twice; give it once"),
        (["a", "--share", "1", "--share=.5"], "--share is given twice; give it once"),
        (["a", "--shape", "1", "2", "--shape", "1", "2"], "--shape is given twice; give it once"),
        (["a", "--where", "x", "-w", "y"], "--where is given twice; give it once"),
        (["a", "--where", "--loud"], "--where needs a FILE, got the option --loud; ./--loud is"),
        (["a", "--where", "-x.csv"], "--where needs a FILE, got the option -x.csv; ./-x.csv is"),
        (["a", "--named", "--loud"], "--named needs a NAME, got the option --loud"),
        (["a", "--named", "x", "--named", "--loud"], "--named needs a NAME, got the option --loud"),
    ],
)
def test_a_slip_of_an_option_is_not_taken_for_a_value(arguments, message):
    """The last of two outputs counted without a word, and -o was taken for the name of a file."""
    ran = run(*arguments)

    assert ran.exit_code == 2
    assert message in ran.output


def test_the_help_has_the_text_and_every_parameter(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    output = run("--help").output
    lines = [" ".join(line.split()) for line in output.splitlines()]

    places = [output.index(f"{title}:\n") for title in ("Arguments", "Options", "Sketch")]
    assert places == sorted(places)
    assert "Usage: show [OPTIONS] FIRST [WORD...]" in lines
    assert "Show all values." in lines
    assert "They are printed as a tuple." in lines
    assert "FIRST The first word." in lines
    assert "WORD... More words." in lines
    assert "--count INTEGER How many. [default: 3; 0<=x<=9]" in lines
    assert "--share FLOAT A share, as a number." in lines
    assert "-l, --loud Print more." in lines
    assert "--json Print JSON lines, also on a terminal." in lines
    assert "--lowercase / --no-lowercase Ignore case." in lines


def test_each_line_about_a_parameter_belongs_to_a_parameter():
    unused, used = [], set()
    for name in [*NAMES, "spark dedup"]:
        made = app.get_command(None, name.split()[0])
        made = getattr(made, "commands", {}).get(name.split()[-1], made)
        heads = {flag for each in made.params for flag in each.opts}
        heads |= {each.metavar for each in made.params}
        heads |= {(each.metavar or "").strip("[]") for each in made.params}
        unused += [f"{name} {line}" for line in described(name)[1] if line not in heads]
        used |= heads

    assert unused == []
    assert set(SHARED) <= used
