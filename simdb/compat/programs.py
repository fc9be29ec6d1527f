"""Programs `simhash-find-all` and `simhash-find-clusters`, with the flags of simhash-cpp.

They read one decimal hash per line and write one JSON array per line: both hashes of a pair, the
smaller one first, or all hashes of a cluster.  Repeated hashes count once.  The flags are parsed by
argparse, not click, since only argparse accepts all their forms (`-b6`, `--dist 3`).
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
from simdb.ground.errors import InputError, OptionError
from simdb.plan.arrangement import check_arrangement

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
Lines = Callable[[U64, int, int], Iterator[U8]]

STANDARD = "-"
WHOLE_NUMBER = re.compile("0*[1-9][0-9]{0,8}", re.ASCII)
NUMBERS_WRITTEN = 1 << 14  # per write
# Exit codes of simhash-cpp, except BAD_LINE: simhash-cpp aborts at an invalid line.
USAGE, BLOCKS, DISTANCE, INPUT, OUTPUT, ARRANGEMENT, UNREADABLE, UNWRITABLE = range(1, 9)
BAD_LINE = 9
INTERRUPTED, BROKEN_PIPE = 130, 141


class Stop(Exception):  # noqa: N818
    """An early end of a program, with an exit code and a message."""

    def __init__(self, code: int, message: str) -> None:
        """End with exit code `code`, and print `message` to standard error."""
        super().__init__(message)
        self.code = code


class Parser(argparse.ArgumentParser):
    """A parser that ends with the exit code of simhash-cpp on an unknown or incomplete flag."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and end the program."""
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def find_all() -> None:
    """Run the program that finds all pairs of hashes within a distance."""
    sys.exit(run("simhash-find-all", "Find all pairs of hashes within a distance.", _pair_lines))


def find_clusters() -> None:
    """Run the program that finds all clusters of hashes, connected by pairs within a distance."""
    text = "Find all clusters of hashes: sets connected by pairs within a distance."
    sys.exit(run("simhash-find-clusters", text, _cluster_lines))


def run(name: str, description: str, lines: Lines) -> int:
    """Read, search and write as the command line says; return the exit code."""
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
    form = "Reads one decimal hash per line; writes one JSON array per line."
    parser = Parser(name, description=f"{description} {form}")
    add = parser.add_argument
    add(
        "-b",
        "--blocks",
        metavar="BLOCKS",
        help="largest number of blocks of bits; more than DISTANCE",
    )
    add("-d", "--distance", metavar="DISTANCE", help="largest number of differing bits of a pair")
    add("-i", "--input", metavar="INPUT", default=STANDARD, help="file to read, - for stdin (-)")
    add(
        "-o", "--output", metavar="OUTPUT", default=STANDARD, help="file to write, - for stdout (-)"
    )
    return parser


def _arrangement(blocks: str | None, distance: str | None) -> tuple[int, int]:
    numbers = []
    for code, flag, value in ((BLOCKS, "blocks", blocks), (DISTANCE, "distance", distance)):
        if value is None or not WHOLE_NUMBER.fullmatch(value):
            given = ", but is missing" if value is None else f", got {value!r}"
            raise Stop(code, f"--{flag} must be a whole number of 1 or more{given}")
        numbers.append(int(value))
    try:
        check_arrangement(*numbers)
    except OptionError as error:
        raise Stop(ARRANGEMENT, str(error)) from error
    return numbers[0], numbers[1]


def _read(path: str) -> U64:
    """Return the distinct hashes in a file, in ascending order."""
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
        # Python still flushes at exit: that goes to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Stop(BROKEN_PIPE, "") from error
    except OSError as error:
        raise Stop(UNWRITABLE, f"cannot write {path}: {error.strerror}") from error


def _write_all(stream: BinaryIO, lines: Iterator[U8]) -> None:
    for text in lines:
        stream.write(text.data)
    stream.flush()


def _pair_lines(hashes: U64, blocks: int, distance: int) -> Iterator[U8]:
    """Yield the lines of all pairs, in the order in which they are found."""
    for chunk in functions.find_all(hashes, blocks, distance).chunks():
        numbers = hashes[np.stack([chunk.left, chunk.right], axis=1).reshape(-1)]
        yield from _pieces(numbers, np.arange(len(numbers)) % 2 == 0)


def _cluster_lines(hashes: U64, blocks: int, distance: int) -> Iterator[U8]:
    """Yield the lines of all clusters, ordered by their smallest hashes."""
    clusters = functions.find_clusters(hashes, blocks, distance)
    starts = np.zeros(len(clusters.positions), np.bool_)
    starts[clusters.offsets[:-1]] = True
    yield from _pieces(hashes[clusters.positions], starts)


def _pieces(numbers: U64, starts: npt.NDArray[np.bool_]) -> Iterator[U8]:
    """Yield the text of arrays, a few thousand numbers at a time."""
    for start in range(0, len(numbers), NUMBERS_WRITTEN):
        stop = start + NUMBERS_WRITTEN
        is_last = stop >= len(numbers) or bool(starts[stop])
        yield write_arrays(numbers[start:stop], starts[start:stop], is_closed=is_last)
