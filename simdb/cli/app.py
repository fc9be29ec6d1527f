"""The program: its commands, its exit codes, and errors as one line each.

0 done; 1 findings: duplicates, problems; 2 wrong use; 3 an error of the database.
"""

import io
import os
import signal
import sys
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

COMMANDS = (
    dedup, create, idf, insert, delete, get, query, pairs, clusters, cluster, fingerprint, explain,
    plan, calibrate, stats, check, doctor, compact, copy, rebuild, dump, load,
    import_datasketch, demo,
)  # fmt: skip


class Commands(TyperGroup):
    """The commands; what they raise becomes an exit code and a line on standard error."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            _close_output()
            raise typer.Exit(BROKEN_PIPE) from None
        except KeyboardInterrupt:
            raise typer.Exit(_told("interrupted", INTERRUPTED)) from None
        except (simdb.OptionError, simdb.InputError) as error:
            raise typer.Exit(_told(str(error), WRONG_USE)) from None
        except simdb.Error as error:
            raise typer.Exit(_told(str(error), DATABASE_ERROR)) from None
        except OSError as error:
            raise typer.Exit(_told(str(error), WRONG_USE)) from None


app = typer.Typer(
    cls=Commands,
    name="simdb",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in COMMANDS:
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"simdb {simdb.__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version."),
    ] = False,
) -> None:
    """Near-duplicates of text: find them, and keep an index of what was seen."""


def main() -> None:
    """Run the command line of this process."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    app()


def _told(message: str, code: int) -> int:
    """Say what went wrong; returns the exit code."""
    print(f"simdb: {plain(message)}", file=sys.stderr)
    return code


def _close_output() -> None:
    """Nobody reads any more: what is still to be flushed goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
