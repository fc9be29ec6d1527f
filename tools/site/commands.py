"""The command line, described from its own help: every command with its options as a table.

python tools/site/commands.py     (writes build/CLI.md; also `make reference`)
"""

from pathlib import Path

import click

from simdb.cli import COMMANDS
from simdb.cli.app import Program
from simdb.cli.options.declare import OPTIONS, TITLES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "site" / "reference" / "command-line.md"
TARGET = ROOT / "build" / "CLI.md"


def main() -> None:
    """Write the page of the site about the command line as one file."""
    text = PAGE.read_text(encoding="utf-8").replace("](../", "](../docs/site/")
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(text.replace("{{ commands: all }}", described()), encoding="utf-8")


def described() -> str:
    """Describe all commands, in the groups and the order of `simdb --help`."""
    program = Program("simdb")
    parts = []
    for group, names in COMMANDS.items():
        parts.append(f"## {group}\n")
        for name in names:
            context = click.Context(program, info_name="simdb")
            command = program.get_command(context, name)
            assert command is not None
            parts += section(name, command, click.Context(command, context, info_name=name))
    return "\n".join(parts)


def section(name: str, command: click.Command, context: click.Context) -> list[str]:
    """Make heading, usage, text and tables of one command, a table for each group of options."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    text = (command.help or "").replace("\b", "").partition("\f")[0].strip()
    lines = [f"### {name}\n", f"```text\n{usage}\n```\n", escaped(text) + "\n"]
    groups: dict[str, list[str]] = {title: [] for title in (OPTIONS, *TITLES)}
    for each in command.get_params(context):
        if isinstance(each, click.Option) and not each.hidden:
            row = f"| {named(each, context)} | {meaning(each, context)} |"
            groups[getattr(each, "panel", OPTIONS)].append(row)
    for title, rows in groups.items():
        if rows:
            heading = [f"**{title}**", ""] if title != OPTIONS else []
            lines += [*heading, "| option | meaning |", "|---|---|", *rows, ""]
    return [*lines, escaped(command.epilog) + "\n"] if command.epilog else lines


def named(option: click.Option, context: click.Context) -> str:
    """Write the names of an option and what it takes."""
    names = ", ".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag or option.count else f" {option.make_metavar(context)}"
    return "`" + f"{names}{value}".replace("|", "\\|") + "`"


def meaning(option: click.Option, context: click.Context) -> str:
    """Write the help of an option on one line, with its default."""
    record = option.get_help_record(context)
    return escaped(" ".join(record[1].split())) if record else ""


def escaped(text: str) -> str:
    """Let Markdown show the signs that it would read otherwise."""
    for sign in "\\|*<>[]_":
        text = text.replace(sign, f"\\{sign}")
    return text


if __name__ == "__main__":
    main()
