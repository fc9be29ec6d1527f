"""Origins: remembers where input lines lie in their files, so that they can be read again.

All sources form one sequence of bytes; the origin of a line is its start in this sequence.  A plain
file is read again in its place.  If lines from pipes, compressed files or encodings other than
UTF-8 may be needed, a temporary file holds them at their places in the sequence.

A file is suspected of a change if its size or times differ from the first reading.  The times
include ctime, which no program can reset.  Each block that is needed from a suspected file is
compared with the checksum of the first reading.
"""

import io
import os
import resource
import shutil
import stat
import tempfile
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, TypeAlias

import numpy as np

from simdb.core.arrow import TextColumn, joined
from simdb.core.dtypes import I64
from simdb.core.errors import DISK_FULL, Error, FullError
from simdb.core.values import dataclass
from simdb.files import pieces
from simdb.storage import codec

# The origin of a line that was parsed by itself or is not needed again.
NOWHERE = -1
# At most OPEN_FILES files stay open, and at most the process's limit divided by OPEN_PART.  Other
# files are reopened when they are needed.
OPEN_FILES = 64
OPEN_PART = 8
LINE_FEED = b"\n"
# Two changes within one tick of the system's clock, up to 10 ms, leave equal times.  So equal times
# prove nothing for a file that was changed less than TICKS_NS before it was opened.
TICKS_NS = 20_000_000

# Takes the bytes and the number of lines; returns their texts, or None if a line is refused.
Parse: TypeAlias = Callable[[bytes, int], TextColumn | None]


@dataclass(slots=True)
class _File:
    """A file with the lines of a source, its `start` in the sequence and the parser of its lines.

    `waits`: whether it is the temporary file, which starts where the sequence does.  `descriptor`:
    descriptor of the open file, or None.  `identity`: size, times and inode of another file at the
    first reading.  `is_same`: whether the identity was the same at the last reading; None before
    that, and False if equal times prove nothing.
    """

    path: str
    start: int
    parse: Parse
    table: pieces.CsvHead | None
    waits: bool = False
    identity: tuple[int, ...] = ()
    descriptor: int | None = None
    is_same: bool | None = None


class Origins:
    """The origins of the lines in the sources of one run; `with` closes the files."""

    def __init__(self) -> None:
        """Begin without sources."""
        self._is_needed = False
        self._folder: str | None = None
        self._waiting: IO[bytes] | None = None
        # Column names of each source that is a table.
        self.headers: dict[str, Sequence[str]] = {}
        # Tables whose columns have numbers instead of names.
        self.nameless: set[str] = set()
        self._spools: dict[str, Any] = {}
        self._files: list[_File] = []
        self._starts: list[int] = []
        self._size = 0
        # Start, size and checksum of each block.
        self._blocks = array("q"), array("q"), array("Q")
        # Unchanged blocks: the number of each, and the identity of its file when it was compared.
        self._checked: set[tuple[int, tuple[int, ...]]] = set()

    def __enter__(self) -> "Origins":
        """Return the object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the files."""
        for file in self._files:
            if file.descriptor is not None and not file.waits:
                os.close(file.descriptor)
            file.descriptor = None
        for waiting in filter(None, [self._waiting, *self._spools.values()]):
            waiting.close()

    def need(self, folder: str | None = None) -> None:
        """Keep the lines of later sources that cannot be read again in a temporary file.

        `folder`: folder of that file; the first one given counts, else that for temporary files.
        """
        self._is_needed = True
        self._folder = self._folder or folder

    def begin(
        self, stream: io.BufferedReader | None, parse: Parse, table: pieces.CsvHead | None = None
    ) -> bool:
        """Register the source that is read next; return False if its lines get no origins.

        `stream`: stream with the bytes of the lines, or None if the lines were recoded.  `parse`
        returns the texts of lines.  `table`: see `Lines`.
        """
        plain = _plain(stream)
        if plain is not None:
            own = self._kept_open(plain.fileno())
            identity = _identity(plain.fileno())
            is_same = False if abs(time.time_ns() - identity[-1]) < TICKS_NS else None
            file = _File(plain.name, self._size, parse, table, False, identity, own, is_same)
        elif self._is_needed:
            descriptor = self._waiting_room().fileno()
            file = _File("the temporary file", 0, parse, table, True, descriptor=descriptor)
        else:
            return False
        self._files.append(file)
        self._starts.append(self._size)
        return True

    def _kept_open(self, descriptor: int) -> int | None:
        """Duplicate the descriptor of a file to keep it open; None if it is to be reopened."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        most = OPEN_FILES if limit < 0 else min(OPEN_FILES, limit // OPEN_PART)
        try:
            return os.dup(descriptor) if len(self._files) < most else None
        except OSError:
            return None

    def keep(self, start: int, block: bytes) -> None:
        """Keep a block of the latest source if the source cannot be read again; see `add`.

        Several threads may call this.  Raises FullError if the disk is full and Error for other
        failures: an OSError would mean that the source cannot be read.
        """
        file = self._files[-1]
        if file.waits:
            assert file.descriptor is not None, "it is open"
            with self._waits():
                pieces.write_at(file.descriptor, self._starts[-1] + start, block)

    def _waiting_room(self) -> IO[bytes]:
        """Return the temporary file; create it at the first call."""
        if self._waiting is None:
            with self._waits():
                # __exit__ closes the file.
                self._waiting = tempfile.TemporaryFile("w+b", 0, dir=self._folder)  # noqa: SIM115
        return self._waiting

    @contextmanager
    def _waits(self) -> Iterator[None]:
        """Turn an OSError in a `with` block into an error that names the folder and a remedy."""
        try:
            yield
        except OSError as error:
            what, rest = "lines of pipes and compressed files", "decompress the files first"
            folder = self._folder or tempfile.tempdir or "any folder for temporary files"
            if error.errno in DISK_FULL:
                no_room = f"which has no room ({error.strerror}); free some, or {rest}"
                raise FullError(f"{what} wait in {folder}, {no_room}") from error
            remedy = f"({error.strerror}); name another folder in TMPDIR, or {rest}"
            raise Error(f"{what} cannot wait in {folder} {remedy}") from error

    def spooled(self, source: str, stream: io.BufferedReader) -> str:
        """Copy a source that is not a regular file to a temporary file; return its path."""
        with self._waits():
            # __exit__ closes this file, too.
            file = tempfile.NamedTemporaryFile(prefix="simdb-", dir=self._folder)  # noqa: SIM115
            self._spools[source] = file
            shutil.copyfileobj(stream, file)
            file.flush()
        return file.name

    def place(self, source: str) -> str:
        """Return the path of the file with the rows of a source: its own, or a temporary one."""
        return self._spools[source].name if source in self._spools else source

    def add(self, start: int, size: int, checksum: int) -> int:
        """Register a block of whole lines of the latest source; return its start in the sequence.

        `start`: its start in the source.
        """
        place = self._starts[-1] + start
        starts, sizes, checksums = self._blocks
        starts.append(place)
        sizes.append(size)
        checksums.append(checksum)
        self._size = place + size
        return place

    def texts(self, starts: I64, sizes: I64) -> TextColumn:
        """Return the texts of ascending lines; raise InputError if a line was changed meanwhile."""
        found = []
        for lines in self.spans(starts, sizes):
            values = self._files[lines.number].parse(b"".join(pieces.contents(lines)), lines.count)
            if values is None:
                raise pieces.changed(lines.path)
            found.append(values)
        return joined(found) if found else TextColumn(starts.astype(np.uint64), sizes, ())

    def spans(self, starts: I64, sizes: I64) -> Iterator[pieces.Lines]:
        """Yield ascending lines file by file, with adjacent lines as one range.

        Raises InputError like `texts`.
        """
        files = np.asarray(self._starts, np.int64)
        at = 0
        while at < len(starts):
            number = bisect_right(self._starts, int(starts[at])) - 1
            later = files[number + 1 : number + 2]
            stop = int(np.searchsorted(starts, later[0])) if len(later) else len(starts)
            file = self._files[number]
            with self._opened(file) as descriptor:
                self._check(file, descriptor, starts[at:stop])
                own = starts[at:stop] - file.start
                ranges = pieces.merged(own, own + sizes[at:stop])
                yield pieces.Lines(file.path, descriptor, *ranges, stop - at, number, file.table)
            at = stop

    @contextmanager
    def _opened(self, file: _File) -> Iterator[int]:
        """Yield the descriptor of a file; open the file temporarily if it is not open."""
        descriptor = file.descriptor
        is_own = descriptor is None
        try:
            if descriptor is None:
                descriptor = os.open(file.path, os.O_RDONLY | os.O_CLOEXEC)
            yield descriptor
        except OSError as error:
            raise pieces.unreadable(file.path, error) from error
        finally:
            if is_own and descriptor is not None:
                os.close(descriptor)

    def _check(self, file: _File, descriptor: int, starts: I64) -> None:
        """Raise InputError if blocks of a file that hold some of its lines were changed."""
        if file.waits:
            return
        identity = _identity(descriptor)
        if file.is_same is not False:
            file.is_same = identity == file.identity
        if file.is_same:
            return
        firsts, sizes, checksums = self._blocks
        for start in starts.tolist():
            number = bisect_right(firsts, start) - 1
            if (number, identity) in self._checked:
                continue
            block = os.pread(descriptor, sizes[number], firsts[number] - file.start)
            # Readers add a line feed to the last line of a file.
            ended = block + LINE_FEED if len(block) == sizes[number] - 1 else block
            if codec.checksum_of(ended) != checksums[number]:
                raise pieces.changed(file.path)
            self._checked.add((number, identity))


def _plain(stream: io.BufferedReader | None) -> io.FileIO | None:
    """Return the regular file that a stream reads; None if it reads something else."""
    raw = getattr(stream, "raw", None)
    if not isinstance(raw, io.FileIO) or not isinstance(raw.name, str):
        return None
    return raw if stat.S_ISREG(os.fstat(raw.fileno()).st_mode) else None


def _identity(descriptor: int) -> tuple[int, ...]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
