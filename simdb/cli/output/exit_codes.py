"""Exit codes: the numbers with which commands end, and the exception that ends one."""

import signal

import click

FINDINGS = 1  # input that was skipped, or findings where they count
WRONG_USE = 2
DATABASE_ERROR = 3
# A shell reports a program that a signal ended with 128 + the number of the signal.
INTERRUPTED = 128 + signal.SIGINT
BROKEN_PIPE = 128 + signal.SIGPIPE
TERMINATED = 128 + signal.SIGTERM


class Exit(click.exceptions.Exit):
    """The end of a command, with an exit code."""
