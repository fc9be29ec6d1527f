"""The programs `simhash-find-all` and `simhash-find-clusters` of simhash-cpp: flags, form, codes.

They read decimal hashes, one to a line, and write one JSON array to a line: both hashes of a pair,
the smaller one first, or all hashes of a cluster.  Hashes that are repeated count once.  argparse
parses, not typer, for the same flags in all their forms (`-b6`, `--dist 3`) and exit codes.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

from simdb import functions
from simdb.compat.decimal_lines import read_numbers, write_arrays
from simdb.engine.clusters.arrays import distinct
from simdb.errors import InputError, OptionError
from simdb.plan.arrangement import check_arrangement

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
Lines = Callable[[U64, int, int], Iterator[U8]]

STANDARD = "-"
WHOLE_NUMBER = re.compile("0*[1-9][0-9]{0,8}", re.ASCII)
NUMBERS_WRITTEN = 1 << 14  # at once
# Exit codes of simhash-cpp; where a line is no hash it aborts, and this is ours.
USAGE, BLOCKS, DISTANCE, INPUT, OUTPUT, ARRANGEMENT, UNREADABLE, UNWRITABLE = range(1, 9)
BAD_LINE = 9
INTERRUPTED, NOBODY_READS = 130, 141


class Stop(Exception):  # noqa: N818
    """The end of a program before its time: an exit code and what to say."""

    def __init__(self, code: int, message: str) -> None:
        """`message` goes to standard error."""
        super().__init__(message)
        self.code = code


class Parser(argparse.ArgumentParser):
    """Leaves with simhash-cpp's exit code where a flag is unknown or lacks its value."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and how the program is used."""
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def find_all() -> None:
    """Program: all pairs of hashes within a distance."""
    sys.exit(run("simhash-find-all", "Find all pairs of hashes that are near.", _pair_lines))


def find_clusters() -> None:
    """Program: all clusters of hashes, connected by pairs within a distance."""
    text = "Find all clusters of hashes: whatever near pairs connect."
    sys.exit(run("simhash-find-clusters", text, _cluster_lines))


def run(name: str, description: str, lines: Lines) -> int:
    """Read, search and write as the command line says; returns the exit code."""
    try:
        arguments = _parser(name, description).parse_args()
        blocks, distance = _arrangement(arguments.blocks, arguments.distance)
        for code, flag in ((INPUT, "input"), (OUTPUT, "output")):
            if not getattr(arguments, flag):
                raise Stop(code, f"--{flag} must not be empty; {STANDARD} is the standard {flag}")
        hashes = _read(arguments.input)
        _write(arguments.output, lines(hashes, blocks, distance))
    except Stop as stop:
        if str(stop):
            print(f"{name}: {stop}", file=sys.stderr)
        return stop.code
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _parser(name: str, description: str) -> Parser:
    form = "Decimal hashes in, one to a line; one JSON array to a line out."
    parser = Parser(name, description=f"{description} {form}")
    add = parser.add_argument
    add(
        "-b", "--blocks", metavar="BLOCKS", help="blocks of bits to use at most, more than DISTANCE"
    )
    add("-d", "--distance", metavar="DISTANCE", help="largest number of differing bits of a pair")
    add("-i", "--input", metavar="INPUT", default=STANDARD, help="file to read, - for stdin (-)")
    add(
        "-o", "--output", metavar="OUTPUT", default=STANDARD, help="file to write, - for stdout (-)"
    )
    return parser


def _arrangement(blocks: str | None, distance: str | None) -> tuple[int, int]:
    asked = []
    for code, flag, value in ((BLOCKS, "blocks", blocks), (DISTANCE, "distance", distance)):
        if value is None or not WHOLE_NUMBER.fullmatch(value):
            given = "" if value is None else f", not {value!r}"
            raise Stop(code, f"--{flag} is a whole number of 1 or more, and must be given{given}")
        asked.append(int(value))
    try:
        check_arrangement(*asked)
    except OptionError as error:
        raise Stop(ARRANGEMENT, str(error)) from error
    return asked[0], asked[1]


def _read(path: str) -> U64:
    """The distinct hashes of a file, ascending."""
    try:
        if path == STANDARD:
            return _distinct_numbers(sys.stdin.buffer)
        with open(path, "rb") as stream:
            return _distinct_numbers(stream)
    except OSError as error:
        raise Stop(UNREADABLE, f"cannot read {path}: {error.strerror}") from error
    except InputError as error:
        raise Stop(BAD_LINE, f"{path}: {error}") from error


def _distinct_numbers(stream: BinaryIO) -> U64:
    return distinct(np.concatenate([np.empty(0, np.uint64), *read_numbers(stream)]))


def _write(path: str, lines: Iterator[U8]) -> None:
    try:
        if path == STANDARD:
            _write_all(sys.stdout.buffer, lines)
        else:
            with open(path, "wb") as stream:
                _write_all(stream, lines)
    except BrokenPipeError as error:
        # What the interpreter flushes at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Stop(NOBODY_READS, "") from error
    except OSError as error:
        raise Stop(UNWRITABLE, f"cannot write {path}: {error.strerror}") from error


def _write_all(stream: BinaryIO, lines: Iterator[U8]) -> None:
    for text in lines:
        stream.write(text.data)
    stream.flush()


def _pair_lines(hashes: U64, blocks: int, distance: int) -> Iterator[U8]:
    """Each pair, in the order in which they are found."""
    for chunk in functions.find_all(hashes, blocks, distance).chunks():
        numbers = hashes[np.stack([chunk.left, chunk.right], axis=1).reshape(-1)]
        yield from _pieces(numbers, np.arange(len(numbers)) % 2 == 0)


def _cluster_lines(hashes: U64, blocks: int, distance: int) -> Iterator[U8]:
    """Each cluster, in the order of their smallest hashes."""
    clusters = functions.find_clusters(hashes, blocks, distance)
    starts = np.zeros(len(clusters.positions), np.bool_)
    starts[clusters.offsets[:-1]] = True
    yield from _pieces(hashes[clusters.positions], starts)


def _pieces(numbers: U64, starts: npt.NDArray[np.bool_]) -> Iterator[U8]:
    """The text of arrays, a few thousand numbers at a time."""
    for start in range(0, len(numbers), NUMBERS_WRITTEN):
        stop = start + NUMBERS_WRITTEN
        is_last = stop >= len(numbers) or bool(starts[stop])
        yield write_arrays(numbers[start:stop], starts[start:stop], is_closed=is_last)
