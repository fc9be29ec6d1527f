"""Program: runs the commands, turns errors into a line and an exit code, completes words.

Exit codes are 0 (done), 1 (skipped input, or findings where they count), 2 (wrong use) and 3
(database error).
"""

import errno
import gc
import io
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

import simdb
from simdb import cli
from simdb.cli import COMMANDS, NAMES, module_of
from simdb.cli.options.declare import command_of
from simdb.cli.output import render
from simdb.cli.output.render import Exit, in_words, print_note
from simdb.core.errors import full_disk
from simdb.core.foreign import own_words

NO_MEMORY = (
    "the memory of this process is used up; give it more, use fewer threads, as with the"
    " environment variable SIMDB_THREADS=1, or limit the memory of dedup, as with --memory 64M"
)
# Advice on errors of the system that name no file.
ADVICE = {
    errno.EBADF: "standard output is closed; let it go to a file, or to /dev/null",
    errno.ENOENT: "the current folder is gone, or there is none for temporary files: set TMPDIR",
}

PROGRAM = "simdb"
# The shell sets this variable when it asks the program for completions.
VARIABLE = "_SIMDB_COMPLETE"
DETECTED = "auto"
# For each shell: variable and usual path of the folder of completions, and the file in it.  Then
# variable and name of the start file, and a line for it if the shell does not search the folder.
DATA = ("XDG_DATA_HOME", ".local/share")
SHELLS = {
    "bash": (*DATA, "bash-completion/completions/simdb", "", ".bashrc", '[ -r "{0}" ] && . "{0}"'),
    "zsh": (
        *DATA, "zsh/site-functions/_simdb", "ZDOTDIR", ".zshrc",
        "fpath=({0.parent} $fpath); autoload -Uz compinit; compinit",
    ),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/simdb.fish", "", "", ""),
}  # fmt: skip


class Program(click.Group):
    """The group of all commands; loads the module of one when needed, and reports errors."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return NAMES

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or None."""
        if cmd_name not in NAMES:
            return None
        module = getattr(cli, module_of(cmd_name))
        made = getattr(module, cmd_name.replace("-", "_"))
        return made if isinstance(made, click.Command) else command_of(made)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that `args` begin with; suggest another for an unknown name."""
        if args[0] not in NAMES and not args[0].startswith("-"):
            own = own_words("commands").get(args[0])
            near = " or ".join(map(repr, get_close_matches(args[0], NAMES)))
            hint = f" Use simdb {own}." if own else f" Did you mean {near}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands, without loading them, or the options that can complete a word."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        texts = [each for group in COMMANDS.values() for each in group.items()]
        return [
            CompletionItem(name, help=text) for name, text in texts if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups, without loading them."""
        for title, group in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl(list(group.items()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options of the program; some of them print something and end it."""
        with _reported():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command named on the command line."""
        with _reported(), warnings.catch_warnings():
            warnings.showwarning = lambda message, *place, **more: print_note(
                in_words(str(message))
            )
            return super().invoke(ctx)


@contextmanager
def _reported() -> Iterator[None]:
    """Turn an error, also in printing, into one line on standard error and an exit code."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _close_output()
        raise Exit(render.BROKEN_PIPE) from None
    except KeyboardInterrupt:
        raise Exit(_report("interrupted", render.INTERRUPTED)) from None
    except simdb.Error as error:
        is_wrong = isinstance(error, simdb.OptionError | simdb.InputError)
        raise Exit(
            _report(
                in_words(error.at_command), render.WRONG_USE if is_wrong else render.DATABASE_ERROR
            )
        ) from None
    except OSError as error:
        _close_output()
        full = full_disk(error, error.filename or "standard output")
        message, code = (
            (str(full), render.DATABASE_ERROR) if full else (_advised(error), render.WRONG_USE)
        )
        raise Exit(_report(message, code)) from None
    except MemoryError:
        raise Exit(_report(NO_MEMORY, render.DATABASE_ERROR)) from None
    except AssertionError:
        # A bug in simdb, such as a lost record, must not look like skipped input, code 1.
        sys.excepthook(*sys.exc_info())
        raise Exit(render.DATABASE_ERROR) from None


def _complete(context: click.Context, option: click.Parameter, shell: str | None) -> None:
    if shell is not None:
        name = os.path.basename(os.environ.get("SHELL", "")) if shell == DETECTED else shell
        kind = get_completion_class(name) if name in SHELLS else None
        if kind is None:
            found = f"got {name!r}" if name else "and the variable SHELL names none"
            raise simdb.OptionError(
                f"completion works in {', '.join(SHELLS)}, {found}; name one of them"
            )
        made = kind(context.command, {}, PROGRAM, VARIABLE)
        print(made.source() if option.name == "show_completion" else _install(made))
        raise Exit(0)


# The shell is optional; by default, the variable SHELL names it.
OF_A_SHELL: dict[str, Any] = {
    "is_flag": False, "flag_value": DETECTED, "is_eager": True,
    "expose_value": False, "metavar": "[SHELL]", "callback": _complete,
}  # fmt: skip


@click.group(
    cls=Program,
    name=PROGRAM,
    help="Find near-duplicate documents, once or against an index of all documents seen before.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(simdb.__version__, message="simdb %(version)s")
@click.option(
    "--install-completion",
    help="Make Tab complete commands and options: in bash, zsh or fish; yours if not given.",
    **OF_A_SHELL,
)
@click.option(
    "--show-completion", help="Print the code that --install-completion installs.", **OF_A_SHELL
)
def app() -> None:
    """Run the named command."""


def main() -> None:
    """Run the program with the arguments of this process."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(render.TERMINATED))
    # Closed standard streams are reopened, so that no file of a run gets their descriptors.
    ways = {"stdin": ("r", os.O_WRONLY), "stdout": ("w", os.O_RDONLY), "stderr": ("w", os.O_WRONLY)}
    for name, (mode, access) in ways.items():
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, access), mode))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    # Imports make many lasting objects.  Python would search them for cycles after every 700 new
    # objects and, unless they are frozen, at exit.
    gc.set_threshold(50_000)
    try:
        app()
    finally:
        gc.freeze()


def _install(made: ShellComplete) -> str:
    """Install completion for this user; return a sentence about the changes."""
    variable, usual, name, start_variable, start, line = SHELLS[made.name]
    path = _folder(variable, usual) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(made.source(), encoding="utf-8")
    changed = f"{path}"
    if line:
        start_file = _folder(start_variable) / start
        _add_line(start_file, line.format(path))
        changed += f", and a line in {start_file}"
    return f"completion for {made.name} is in {changed}; it works in the next {made.name}"


def _folder(variable: str, usual: str = "") -> Path:
    """Return the folder that an environment variable names, or `usual` in the home folder."""
    return Path(os.environ.get(variable) or Path.home() / usual)


def _add_line(path: Path, line: str) -> None:
    """Append a line to a file unless the file has it."""
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    if line not in known.splitlines():
        break_before = "" if known.endswith("\n") or not known else "\n"
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{break_before}{line}\n")


def _advised(error: OSError) -> str:
    """Return the message of an error of the system, with advice if it names no file."""
    advice = None if error.filename is not None else ADVICE.get(error.errno or 0)
    return f"{advice} ({error})" if advice else str(error)


def _report(message: str, code: int) -> int:
    """Print an error message to standard error and return `code`."""
    print_note(f"simdb: {message}")
    return code


def _close_output() -> None:
    """Redirect standard output to the null device, since Python flushes it at exit."""
    with suppress(io.UnsupportedOperation):  # it has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
