"""The terminal: result rows as tables, the line of a running command, and the texts of --help.

All of it is as wide as the terminal.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

import click
from rich import progress as bars
from rich.console import Console, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

BAR_WIDTH = 20
ARGUMENTS_PANEL = "Arguments"
OPTIONS_PANEL = "Options"
NAME, NEGATIVE, SHORT = "bold cyan", "bold magenta", "bold green"
VALUE, REQUIRED = "bold yellow", "red"


class ProgressLine:
    """The line of a running command on standard error; it disappears when it stops."""

    def __init__(self, elapsed_seconds: float = 0.0) -> None:
        """Show the line of a command that has run for some time already."""
        self._begun = time.monotonic() - elapsed_seconds
        self._bar = bars.Progress(
            bars.SpinnerColumn(), bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(BAR_WIDTH), bars.TaskProgressColumn(), bars.TimeElapsedColumn(),
            bars.TimeRemainingColumn(), console=Console(stderr=True), transient=True,
            # Results must reach standard output unchanged.
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=None)
        self.begin_part()

    def show(self, text: str, share: float | None = None) -> None:
        """Show `text` in the line; with a `share` that is done, also a percentage and the rest."""
        self._bar.tasks[0].total = None if share is None else 1.0
        self._bar.update(self._task, completed=share or 0.0, description=text)
        # Without a thread of its own the line is only drawn at the end.
        with suppress(RuntimeError):
            self._bar.start()  # the first time; a line without words would say nothing

    def begin_part(self) -> None:
        """Begin another part of the work: the shares that follow are shares of this part."""
        self._bar.reset(self._task)
        self._bar.tasks[0].start_time = self._begun

    def note(self, text: str) -> None:
        """Write one line that stays, above this line."""
        self._bar.console.out(text, highlight=False)

    def stop(self) -> None:
        """Remove the line."""
        self._bar.stop()


def print_table(columns: Iterable[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> None:
    """Print a table with a heading; a column is its name, and whether it has only numbers."""
    table = Table(header_style="bold", box=None, pad_edge=False)
    for name, is_number in columns:
        table.add_column(name, overflow="fold", justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def print_fields(fields: Iterable[tuple[str, str]]) -> None:
    """Print names and values, one pair on each line."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in fields:
        table.add_row(Text(name), Text(value))
    Console().print(table)


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
    paragraphs = (command.help or "").split("\n\n")
    first, *others = (each.replace("\n", " ") for each in paragraphs)
    texts = [Text(first), *(Text(f"\n{each}", "dim") for each in others)]
    console = Console()
    with console.capture() as captured:
        console.print(Padding(Group(usage, Text(), *texts, Text()), (1, 1, 0, 1)))
        for panel in panels:
            console.print(panel)
    return captured.get()


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
