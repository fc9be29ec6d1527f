"""Help: the texts of --help, drawn in panels of the width of the terminal."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import click
from rich.console import Console, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

ARGUMENTS_PANEL = "Arguments"
OPTIONS_PANEL = "Options"
NAME, NEGATIVE, SHORT, VALUE, REQUIRED = (
    "bold cyan",
    "bold magenta",
    "bold green",
    "bold yellow",
    "red",
)


def command_help(command: click.Command, context: click.Context) -> str:
    """Return the help of one command: its usage, text, arguments and options."""
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    panels = {ARGUMENTS_PANEL: [_argument_row(each) for each in arguments], OPTIONS_PANEL: []}
    for option in command.get_params(context):
        if isinstance(option, click.Option):
            rows = panels.setdefault(getattr(option, "panel", OPTIONS_PANEL), [])
            rows.append(_option_row(option))
    return _drawn(command, context, [_panel(name, panels[name]) for name in panels if panels[name]])


def program_help(
    program: click.Command, context: click.Context, groups: Mapping[str, Mapping[str, str]]
) -> str:
    """Return the help of the program: its options, and its commands, each with a sentence."""
    options = [_option_row(each) for each in program.get_params(context)]
    width = max(len(name) for group in groups.values() for name in group)
    panels = [_panel(OPTIONS_PANEL, options)]
    for title, group in groups.items():
        rows = [[Text(name.ljust(width), NAME), Text(text)] for name, text in group.items()]
        panels.append(_panel(title, rows))
    return _drawn(program, context, panels)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the known names that are like `name`; no text if there are none."""
    near = get_close_matches(name, list(known))
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def _drawn(command: click.Command, context: click.Context, panels: Iterable[Panel]) -> str:
    """Return usage, text and panels as one text, in colours on a terminal."""
    pieces = " ".join(command.collect_usage_pieces(context))
    usage = Text.assemble(("Usage: ", "yellow"), (context.command_path, "bold"), " ", pieces)
    first, *others = (command.help or "").split("\n\n")
    texts = [Text(_joined(first)), *(Text("\n" + _joined(each), "dim") for each in others)]
    console = Console()
    with console.capture() as captured:
        console.print(Padding(Group(usage, Text(), *texts, Text()), (1, 1, 0, 1)))
        for panel in panels:
            console.print(panel)
    return captured.get()


def _joined(paragraph: str) -> str:
    """Return a paragraph of a docstring without its line ends."""
    return " ".join(paragraph.split("\n"))


def _panel(title: str, rows: Iterable[list[Text]]) -> Panel:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1), expand=True)
    for row in rows:
        while len(table.columns) < len(row):
            is_last = len(table.columns) == len(row) - 1
            table.add_column(no_wrap=not is_last, ratio=1 if is_last else None)
        table.add_row(*row)
    return Panel(table, title=title, title_align="left", border_style="dim")


def _argument_row(argument: Any) -> list[Text]:
    text = Text(argument.help)
    if argument.required:
        text.append(" [required]", "dim red")
    name = argument.human_readable_name.strip("[]")
    return [Text("*" if argument.required else " ", REQUIRED), Text(name, NAME), text]


def _option_row(option: Any) -> list[Text]:
    long = [name for name in option.opts if name.startswith("--")]
    short = [name for name in option.opts if name not in long]
    names = Text(",".join(long), NAME)
    if option.secondary_opts:
        names.append(" ").append(",".join(option.secondary_opts), NEGATIVE)
    value = "" if option.is_flag else option.metavar or ""
    return [names, Text(",".join(short), SHORT), Text(value, VALUE), _option_text(option)]


def _option_text(option: Any) -> Text:
    """Return the help of an option, with the bounds of its value and its default."""
    text = Text(option.help or "")
    least, most = (getattr(option.type, name, None) for name in ("min", "max"))
    if least is not None:
        bounds = f"at least {least}" if most is None else f"{least} to {most}"
        text.append(f" [{bounds}]", "dim")
    if option.default is not None and not option.is_flag and not option.multiple:
        text.append(f" [default: {option.default}]", "dim")
    return text
