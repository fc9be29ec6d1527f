"""Program: runs the commands and turns errors into one line and an exit code.

Exit codes: 0 done; 1 findings, such as duplicates or problems; 2 wrong use; 3 database error.
"""

import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import simdb
from simdb.cli.calibrate import calibrate
from simdb.cli.check import check
from simdb.cli.cluster import cluster
from simdb.cli.clusters import clusters
from simdb.cli.compact import compact
from simdb.cli.copy import copy
from simdb.cli.create import create
from simdb.cli.dedup import dedup
from simdb.cli.delete import delete
from simdb.cli.demo import demo
from simdb.cli.doctor import doctor
from simdb.cli.dump import dump
from simdb.cli.explain import explain
from simdb.cli.fingerprint import fingerprint
from simdb.cli.get import get
from simdb.cli.idf import idf
from simdb.cli.import_datasketch import import_datasketch
from simdb.cli.insert import insert
from simdb.cli.load import load
from simdb.cli.output.exit_codes import (
    BROKEN_PIPE,
    DATABASE_ERROR,
    INTERRUPTED,
    TERMINATED,
    WRONG_USE,
)
from simdb.cli.output.render import plain
from simdb.cli.pairs import pairs
from simdb.cli.plan import plan
from simdb.cli.query import query
from simdb.cli.rebuild import rebuild
from simdb.cli.stats import stats

# The commands in the groups and the order in which --help lists them.
COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Find near-duplicates": (dedup, query, pairs, clusters, cluster, demo),
    "Store documents": (create, insert, delete, get, idf, import_datasketch),
    "Understand and tune": (explain, fingerprint, plan, calibrate),
    "Look after a database": (stats, check, doctor, compact, rebuild, copy, dump, load),
}


class Commands(TyperGroup):
    """The group of all commands, which reports an error as one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command named on the command line."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            _close_output()
            raise typer.Exit(BROKEN_PIPE) from None
        except KeyboardInterrupt:
            raise typer.Exit(_report("interrupted", INTERRUPTED)) from None
        except (simdb.OptionError, simdb.InputError) as error:
            raise typer.Exit(_report(str(error), WRONG_USE)) from None
        except simdb.Error as error:
            raise typer.Exit(_report(str(error), DATABASE_ERROR)) from None
        except OSError as error:
            raise typer.Exit(_report(str(error), WRONG_USE)) from None


app = typer.Typer(
    cls=Commands,
    name="simdb",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=group)(command)


def _show_version(is_given: bool) -> None:
    if is_given:
        print(f"simdb {simdb.__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_show_version, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Find near-duplicate documents, once or against an index of all documents seen before."""


def main() -> None:
    """Run the program with the arguments of this process."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    app()


def _report(message: str, code: int) -> int:
    """Print an error message to standard error and return `code`."""
    print(f"simdb: {plain(message)}", file=sys.stderr)
    return code


def _close_output() -> None:
    """Send what Python still flushes at exit to the null device: the reader has gone."""
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, sys.stdout.fileno())
