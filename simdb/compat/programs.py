"""Programs `simhash-find-all` and `simhash-find-clusters`, with the flags of simhash-cpp.

They read one decimal hash per line and write one JSON array per line: both hashes of a pair, the
smaller one first, or all hashes of a cluster.  Repeated hashes count once. argparse parses the
flags, not click, since only argparse accepts all their forms (`-b6`, `--dist 3`).
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import BinaryIO, NoReturn

import numpy as np

from simdb import database
from simdb.core.arrays import flags_at
from simdb.core.bits import ALL_BITS
from simdb.core.dtypes import U8, U64, Bools
from simdb.core.errors import InputError, OptionError
from simdb.database import distinct
from simdb.plan import check_arrangement

STANDARD = "-"
WHOLE_NUMBER = re.compile("0*[1-9][0-9]{0,8}", re.ASCII)
NUMBERS_WRITTEN = 1 << 14  # numbers in a write
# Exit codes of simhash-cpp, except BAD_LINE: simhash-cpp aborts at an invalid line.
USAGE, BLOCKS, DISTANCE, INPUT, OUTPUT, ARRANGEMENT, UNREADABLE, UNWRITABLE = range(1, 9)
BAD_LINE = 9
INTERRUPTED, BROKEN_PIPE = 130, 141
BLOCK_BYTES = 1 << 19  # about 26,000 lines, whose arrays fit in the second-level cache
DIGITS_MAX = 20  # of 2**64 - 1
NUMBER = re.compile(rb"\s*([+-]?)([0-9]+)\s*")
SHOWN_BYTES = 40
# The four digits of each number 0 .. 9999, as bytes in one 32-bit word.
FOURS = np.frombuffer(b"".join(b"%04d" % number for number in range(10**4)), np.uint32)
POWERS = np.array([10**power for power in range(1, DIGITS_MAX)], np.uint64)
CELLS = DIGITS_MAX + 4  # bytes per number: "[" or ", " before it, "]" and a newline after it

Lines = Callable[[U64, int, int], Iterator[U8]]


class Stop(Exception):  # noqa: N818
    """An early end of a program, with an exit code and a message."""

    def __init__(self, code: int, message: str) -> None:
        """Prepare to end with exit code `code` and print `message` to standard error."""
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
    for flag, default, meaning in (
        ("blocks", None, "largest number of blocks of bits; more than DISTANCE"),
        ("distance", None, "largest number of differing bits of a pair"),
        ("input", STANDARD, "file to read, - for stdin (-)"),
        ("output", STANDARD, "file to write, - for stdout (-)"),
    ):
        names = f"-{flag[0]}", f"--{flag}"
        parser.add_argument(*names, metavar=flag.upper(), default=default, help=meaning)
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
        with nullcontext(sys.stdin.buffer) if path == STANDARD else open(path, "rb") as stream:
            return distinct(np.concatenate([np.empty(0, np.uint64), *read_numbers(stream)]))
    except OSError as error:
        raise Stop(UNREADABLE, f"cannot read {path}: {error.strerror}") from error
    except InputError as error:
        raise Stop(BAD_LINE, f"{path}: {error}") from error


def _write(path: str, lines: Iterator[U8]) -> None:
    try:
        with nullcontext(sys.stdout.buffer) if path == STANDARD else open(path, "wb") as stream:
            for text in lines:
                stream.write(text.data)
            stream.flush()
    except BrokenPipeError as error:
        # Python still flushes at exit; send that to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Stop(BROKEN_PIPE, "") from error
    except OSError as error:
        raise Stop(UNWRITABLE, f"cannot write {path}: {error.strerror}") from error


def _pair_lines(hashes: U64, blocks: int, distance: int) -> Iterator[U8]:
    """Yield the lines of all pairs in the order in which they are found."""
    for chunk in database.find_all(hashes, blocks, distance).chunks():
        numbers = hashes[np.stack([chunk.left, chunk.right], axis=1).reshape(-1)]
        yield from _pieces(numbers, np.arange(len(numbers)) % 2 == 0)


def _cluster_lines(hashes: U64, blocks: int, distance: int) -> Iterator[U8]:
    """Yield the lines of all clusters, ordered by their smallest hashes."""
    clusters = database.find_clusters(hashes, blocks, distance)
    starts = flags_at(clusters.offsets[:-1], len(clusters.positions))
    yield from _pieces(hashes[clusters.positions], starts)


def _pieces(numbers: U64, starts: Bools) -> Iterator[U8]:
    """Yield the text of arrays in pieces."""
    for start in range(0, len(numbers), NUMBERS_WRITTEN):
        stop = start + NUMBERS_WRITTEN
        is_last = stop >= len(numbers) or bool(starts[stop])
        yield write_arrays(numbers[start:stop], starts[start:stop], is_closed=is_last)


def read_numbers(stream: BinaryIO) -> Iterator[U64]:
    """Yield the numbers of a text in order, in arrays; raise InputError for an invalid line.

    A line holds a whole number below 2**64 in digits, and possibly spaces around it.  With a minus
    sign it is the number with the same 64 bits in two's complement, like C's strtoull.  Blank lines
    are skipped.
    """
    rest, line = b"", 1
    while block := stream.read(BLOCK_BYTES):
        head, newline, tail = block.rpartition(b"\n")
        if not newline:
            rest += block
            continue
        whole = rest + head + newline
        yield _parse(whole, line)
        rest, line = tail, line + whole.count(newline)
    if rest:
        yield _parse(rest + b"\n", line)


def write_arrays(numbers: U64, starts: Bools, *, is_closed: bool) -> U8:
    """Return lines of JSON arrays, `[1, 2]`, in ASCII; an array begins wherever `starts` is true.

    `is_closed`: the last array ends here.  Otherwise a later call writes the rest of it.
    """
    count = len(numbers)
    cells = np.empty((count, CELLS), np.uint8)
    cells[:, 0] = np.where(starts, ord("["), ord(","))
    cells[:, 1] = ord(" ")
    cells[:, -2:] = np.frombuffer(b"]\n", np.uint8)
    fours, rest = np.empty((count, DIGITS_MAX // 4), np.uint32), numbers
    for place in reversed(range(DIGITS_MAX // 4)):
        rest, four = np.divmod(rest, np.uint64(10**4))
        fours[:, place] = FOURS[four.astype(np.intp)]
    cells[:, 2:-2] = fours.view(np.uint8)
    first = DIGITS_MAX + 1 - np.searchsorted(POWERS, numbers, side="right")
    is_written = np.arange(CELLS, dtype=np.int8) >= first.astype(np.int8)[:, None]
    is_written[:, 0] = True
    is_written[:, 1] = ~starts
    is_written[:, -2:] = np.append(starts[1:], is_closed)[:count, None]
    return cells[is_written]


def _parse(text: bytes, line: int) -> U64:
    """Return the numbers of complete lines, the first of which has the number `line`.

    NumPy reads a block whose lines are plain numbers; other blocks are read line by line.
    """
    plain = text.replace(b"\r\n", b"\n") if b"\r" in text else text
    signs = plain.count(b"-")
    is_plain = not plain.startswith(b"\n") and not plain.translate(None, b"-0123456789\n")
    if is_plain and signs:
        is_plain = signs == (b"\n" + plain).count(b"\n-") and b"-\n" not in plain
    if is_plain:
        kind = np.int64 if signs else np.uint64
        numbers = np.fromstring(plain, kind, sep="\n")
        # A number that does not fit becomes the largest value, and a blank line gives no number.
        if len(numbers) == plain.count(b"\n") and (numbers != np.iinfo(kind).max).all():
            return numbers.view(np.uint64)
    found = (_parse_one(each, at) for at, each in enumerate(text.split(b"\n")[:-1], line))
    return np.array([number for number in found if number is not None], np.uint64)


def _parse_one(text: bytes, line: int) -> int | None:
    """Return the number on one line; None if the line is blank."""
    if not text.strip():
        return None
    found = NUMBER.fullmatch(text)
    shown = text[:SHOWN_BYTES].decode("ascii", "backslashreplace")
    if found is None:
        raise InputError(f"line {line} is not a decimal number: {shown!r}")
    digits = found[2].lstrip(b"0") or b"0"
    number = int(digits) if len(digits) <= DIGITS_MAX else ALL_BITS + 1
    if number > ALL_BITS:
        raise InputError(f"line {line} is out of range, 0 .. 2**64 - 1: {shown!r}")
    return -number & ALL_BITS if found[1] == b"-" else number
