"""Targets: output files and folders, which get their name when they are complete.

Until then the name ends in `.partial`.  After an error what was there before remains.  If a new
file has no rows, and the file that it replaces may have some, the old one is kept under a name that
ends in `.before`, so that a run without results never destroys the results of another run.  So is
an input of which some was skipped, because what was skipped is nowhere else.  What is kept already
stays: the next name ends in `.before.2`.
"""

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from filecmp import cmp
from itertools import chain, count
from typing import IO, Any

from simdb.ground.errors import full_disk
from simdb.outputs import formats
from simdb.outputs.places import BEFORE, PARTIAL, check_place, is_special, unwritable
from simdb.storage.files.location import TemporaryFolder


class Target:
    """An output in the making: the stream to write, and how many `rows` it has so far."""

    def __init__(
        self, path: str, form: formats.Format, file: IO[bytes] | None, partial: str
    ) -> None:
        """`file` is the partial file, None for a folder; `partial`: its path."""
        self.path = path
        self.form = form
        self.partial = partial
        self.rows = 0
        self.saved = ""
        # Whether it replaces an input, and one of which some was skipped.
        self.is_source = self.is_sparing = False
        # Of several files in a folder, the names of those without rows.
        self.without_rows: set[str] = set()
        self._file = file
        self.stream = file if file is None else _compressing(file, form.compression)

    @property
    def folder(self) -> str | None:
        """The folder where temporary files for this output fit; None for any."""
        return os.path.dirname(self.partial) if self.partial else None

    @property
    def descriptor(self) -> int | None:
        """The descriptor of a new file whose bytes are written as they are; None for any other."""
        is_new = self._file is not None and self.stream is self._file and self.partial
        return self._file.fileno() if is_new and self._file is not None else None

    def finish(self) -> None:
        """Write all that is held, so that a full disk is noticed before anything is committed."""
        if self.stream is not self._file and self.stream is not None:
            self.stream.close()
        if self._file is not None:
            self._file.flush()

    def note(self, reason: str) -> str | None:
        """Return a line that says what is kept, or why nothing was written; None for neither."""
        kept = f"; what it held before is in {self.saved}" if self.saved else ""
        if not self.rows:
            return f"{self.path} is empty: {reason}{kept}"
        if not kept:
            lost = f"{self.path} was replaced, and what was left out of it is kept nowhere"
            return lost if self.is_source else None
        if self.is_sparing:
            return f"{self.path} was read, and some of it was skipped{kept}"
        empty = f"{len(self.without_rows)} files in {self.path} are empty"
        return f"{empty}; what one held before is in {self.saved}"


@contextmanager
def written(path: str | None, form: formats.Format | None) -> Iterator[Target | None]:
    """Yield a target, which gets its name `path` at the end; None if `path` is None.

    Raises FullError if the disk of the output, or that of temporary files, is full.
    """
    try:
        with _written(path, form) as target:
            yield target
    except OSError as error:
        full = full_disk(error, path) if path not in (None, formats.STANDARD_OUTPUT) else None
        if full is None:
            raise
        raise full from error


@contextmanager
def _written(path: str | None, form: formats.Format | None) -> Iterator[Target | None]:
    """Yield the target of `written`, without words for a full disk."""
    if path is None or form is None:
        yield None
        return
    if path == formats.STANDARD_OUTPUT:
        sys.stdout.flush()
        target = Target("standard output", form, _standard_output(), "")
        yield target
        target.finish()
        return
    check_place(path, is_folder=form.kind in (formats.FOLDER, formats.SHARDS))
    if form.kind in (formats.FOLDER, formats.SHARDS):
        with _written_folder(path, form) as target:
            yield target
    elif formats.is_remote(path):
        with _written_remote(path, form) as target:
            yield target
    elif is_special(path):
        with _made(path, path) as file:  # a pipe or a device
            target = Target(path, form, file, "")
            yield target
            target.finish()
    else:
        with _written_file(path, form) as target:
            yield target


def _standard_output() -> IO[bytes]:
    """Return standard output as a stream that writes all it is given, also to a slow pipe."""
    stream: IO[bytes] = sys.stdout.buffer
    # With PYTHONUNBUFFERED a call can write a part, and that is then the result of the call.
    return io.BufferedWriter(Unclosed(stream)) if isinstance(stream, io.RawIOBase) else stream


def _made(partial: str, path: str) -> IO[bytes]:
    """Open the file in which the output `path` is written."""
    try:
        return open(partial, "wb")
    except OSError as error:
        raise unwritable(path, error.strerror or str(error)) from error


@contextmanager
def _written_file(path: str, form: formats.Format) -> Iterator[Target]:
    place = os.path.realpath(path)
    partial = place + PARTIAL
    try:
        with _made(partial, path) as file:
            if os.path.exists(place):
                shutil.copymode(place, partial)
            target = Target(path, form, file, partial)
            try:
                yield target
                target.finish()
                if target.is_source:
                    os.fsync(file.fileno())
            except BaseException:
                with suppress(OSError):
                    target.finish()
                raise
        if (target.is_sparing or not target.rows) and _has_other(place, partial):
            kept = _kept_before(place)
            target.saved = kept if os.path.islink(path) else path + kept.removeprefix(place)
        os.replace(partial, place)
    except BaseException:
        if os.path.exists(partial):
            os.remove(partial)
        raise


def _kept_before(place: str) -> str:
    """Keep a file under another name, too; return that name."""
    name = next(
        name for name in _names_before(place) if not os.path.lexists(name) or _is_same(place, name)
    )
    if not os.path.lexists(name):
        try:
            # So the file has one of the two names at any moment.
            os.link(place, name)
        except OSError:  # this file system has no links
            os.replace(place, name)
    return name


def _names_before(place: str) -> Iterator[str]:
    """Yield the names under which what is at a place can be kept, without end."""
    return (place + BEFORE + end for end in chain([""], (f".{number}" for number in count(2))))


@contextmanager
def _written_remote(path: str, form: formats.Format) -> Iterator[Target]:
    """Yield a target in a temporary file, which is copied to its remote place at the end."""
    with TemporaryFolder(None) as folder:
        partial = os.path.join(folder, os.path.basename(path) or "output")
        with open(partial, "wb") as file:
            target = Target(path, form, file, partial)
            yield target
            target.finish()
        names = () if target.rows and not target.is_sparing else _names_before(path)
        target.saved = formats.put_remote(partial, path, names=names)


@contextmanager
def _written_folder(path: str, form: formats.Format) -> Iterator[Target]:
    place = os.path.realpath(path)
    partial = place + PARTIAL
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(partial)
    try:
        target = Target(path, form, None, partial)
        yield target
        if form.kind == formats.SHARDS and os.path.isdir(place):
            for folder, _, names in os.walk(partial):
                inside = os.path.relpath(folder, partial)
                os.makedirs(os.path.join(place, inside), exist_ok=True)
                for name in (os.path.normpath(os.path.join(inside, each)) for each in names):
                    target.saved = _put_in_place(partial, place, name, target) or target.saved
            shutil.rmtree(partial)
        else:
            os.rename(partial, place)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _put_in_place(partial: str, place: str, name: str, target: Target) -> str:
    """Move a new file into a folder; return where an old one with rows is kept, if it is."""
    new, old = os.path.join(partial, name), os.path.join(place, name)
    saved = ""
    if name in target.without_rows and _has_other(old, new):
        saved = os.path.join(target.path, os.path.relpath(_kept_before(old), place))
    os.replace(new, old)
    return saved


def _compressing(file: IO[bytes], compression: str) -> IO[bytes]:
    """Return a stream that compresses into `file`, or `file` itself."""
    if compression == formats.GZIP:
        return formats.GzipWriter(file)  # type: ignore[return-value]
    if compression == formats.ZSTD:
        return formats.ZstdWriter(file)  # type: ignore[return-value]
    return formats.packed_file(file, compression, "wb") if compression else file


def _has_other(old: str, new: str) -> bool:
    """Return whether an old file exists and holds anything but what a new one holds."""
    if not os.path.exists(old) or not os.path.getsize(old):
        return False
    return not _is_same(old, new)


def _is_same(old: str, new: str) -> bool:
    return os.path.isfile(new) and cmp(old, new, shallow=False)


class Unclosed(io.RawIOBase):
    """A stream whose `close` leaves the inner stream open."""

    def __init__(self, stream: IO[bytes]) -> None:
        """Pass everything on to `stream`."""
        self._stream = stream

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: Any, /) -> int:
        """Write some bytes; return their number."""
        return self._stream.write(content)
