"""Tables: result rows drawn on a terminal."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


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
