"""A function with annotated parameters becomes a command of click."""

from typing import Annotated

from click.testing import CliRunner
from over import over

from simdb.cli.options.declare import Argument, Option, command_of


def show(
    first: Annotated[str, Argument(metavar="FIRST", help="The first word.")],
    others: Annotated[list[str] | None, Argument(metavar="WORD...", help="More words.")] = None,
    count: Annotated[int, Option(min=0, max=9, help="How many.")] = 3,
    share: Annotated[float | None, Option(help="A share.")] = None,
    named: Annotated[list[str] | None, Option(metavar="NAME", help="Names.")] = None,
    shape: Annotated[tuple[int, int] | None, Option(metavar="B R", help="Two.")] = None,
    lowercase: Annotated[bool | None, Option(help="Ignore case.", panel="Case")] = None,
    is_loud: Annotated[bool, Option("--loud", "-l", help="Print more.")] = False,
) -> None:
    """Show all values.

    They are printed as a tuple.
    """
    print((first, others, count, share, named, shape, lowercase, is_loud))


def run(*arguments):
    return CliRunner().invoke(command_of(show), arguments)


@over(
    ("arguments", "printed"),
    [
        (["a"], ("a", None, 3, None, None, None, None, False)),
        (["a", "b", "--count", "9", "c"], ("a", ["b", "c"], 9, None, None, None, None, False)),
        (["--share=.5", "a"], ("a", None, 3, 0.5, None, None, None, False)),
        (["a", "--named", "-x", "--named", "y"], ("a", None, 3, None, ["-x", "y"], None, None,
                                                  False)),
        (["a", "--shape", "4", "5"], ("a", None, 3, None, None, (4, 5), None, False)),
        (["a", "--lowercase"], ("a", None, 3, None, None, None, True, False)),
        (["a", "--no-lowercase", "-l"], ("a", None, 3, None, None, None, False, True)),
        (["--loud", "--", "-a"], ("-a", None, 3, None, None, None, None, True)),
    ],
)  # fmt: skip
def test_values_have_the_types_of_the_annotations(arguments, printed):
    ran = run(*arguments)

    assert ran.output == f"{printed}\n"


@over(
    "arguments",
    [[], ["a", "--count", "10"], ["a", "--count", "x"], ["a", "--shape", "1"], ["a", "--quiet"]],
)
def test_other_values_are_wrong_use(arguments):
    ran = run(*arguments)

    assert ran.exit_code == 2


def test_the_help_has_the_docstring_and_every_parameter(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    output = run("--help").output.replace("\u2502", " ")
    lines = [" ".join(line.split()) for line in output.splitlines()]

    assert "Usage: show [OPTIONS] FIRST [WORD...]" in lines
    assert "Show all values." in lines
    assert "They are printed as a tuple." in lines
    assert "* FIRST The first word. [required]" in lines
    assert "WORD... More words." in lines
    assert "--count INTEGER How many. [0 to 9] [default: 3]" in lines
    assert "--loud -l Print more." in lines
    assert "--lowercase --no-lowercase Ignore case." in lines


def test_the_help_has_a_panel_for_each_group_of_options():
    output = run("--help").output

    places = [output.index(f"\u2500 {title} \u2500") for title in ("Arguments", "Options", "Case")]
    assert places == sorted(places)
