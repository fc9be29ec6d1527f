"""Outputs: files and folders, which get their names together when all are complete.

Their places are checked together before anything is read.  Two outputs never share a place, even
under different names.  No output replaces a source, a database or a file that must stay.

Until an output is complete, its name ends in `.partial`.  While the outputs get their names and the
run is committed, the files that they replace have names that end in `.before`.  An error in any of
these steps restores all replaced files; success removes them, with two exceptions.  A file is kept
if its replacement has no rows, so that a run without results never destroys earlier results.  A
source is kept if some of it was skipped, since the skipped part is nowhere else.  Kept files are
never overwritten: the next name ends in `.before.2`.

Output is compressed piece by piece, so memory is bounded.  For Zstandard, pyarrow would use one
thread only, so `compression.zstd` of Python 3.14 or the package zstandard is used.  A gzip file is
a sequence of members, compressed independently, which every program reads as one file.  The members
do not depend on the number of threads and contain neither name nor time, so equal content makes
equal files.
"""

import glob
import io
import os
import shutil
import stat
import sys
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from filecmp import cmp
from functools import partial
from itertools import chain, count, takewhile
from typing import IO, Any

from simdb.core.compression import load_zstd
from simdb.core.errors import Error, FullError, OptionError, full_disk
from simdb.core.threads import AHEAD, mapped, thread_count
from simdb.files.content import GZIP_WINDOW, packed_file
from simdb.files.formats import FOLDER, GZIP, SHARDS, STANDARD_OUTPUT, ZSTD, Format
from simdb.files.remote import RemoteFiles, is_remote, remote_place
from simdb.storage import TemporaryFolder, sync_directory

PARTIAL = ".partial"
BEFORE = ".before"

# Files that no output may replace; each key is the name for such a file in messages.
Staying = Mapping[str, Collection[str] | None]
LEVEL = 6
MEMBER_BYTES = 1 << 20


def check_outputs(
    outputs: Mapping[str, str | None],
    sources: Collection[str],
    staying: Staying,
    databases: Collection[str | None] = (),
    *,
    kept: Collection[str] = (),
    in_place: bool = False,
    remedy: str = "--in-place",
) -> None:
    """Raise OptionError unless the outputs of a run can be written together.

    `outputs`: the path of each output, by its option.  `staying`: see `check_staying`.  `kept`:
    options whose output holds documents of the sources; with `in_place`, it may replace a source.
    `remedy`: the option that allows this.
    """
    given = {name: path for name, path in outputs.items() if path is not None}
    if in_place and not given:
        own = " or ".join(kept).replace("--output", "-o")
        raise OptionError(f"{remedy} says that {own} may be one of the sources; give {own} FILE")
    check_staying(given.values(), staying, has_folders=True)
    named: dict[Any, str] = {}
    for name, path in given.items():
        for end in [""] if is_special(path) else ["", PARTIAL]:
            other = named.setdefault(_identity(path.rstrip("/") + end), name)
            if other != name:
                raise OptionError(f"{name} and {other} are both {path}; name two outputs")
    files = {name: path for name, path in given.items() if path != STANDARD_OUTPUT}
    if not files:
        return
    read = {_identity(each): each for each in sources if each != STANDARD_OUTPUT}
    for name, path in files.items():
        others = [files[each] for each in files if each != name]
        for other in filter(None, [*databases, *others]):
            is_same = _identity(path) == _identity(other)
            if is_same or _is_within(path, other) or _is_within(other, path):
                raise OptionError(f"{name} {path}: {other} has its place there; name another one")
        apart = {own: each for own, each in read.items() if own != _identity(path)}
        if len(apart) < len(read):
            if name not in kept:
                check_staying([path], {"a source": [path]})
            _check_asked(in_place, f"{name} {path} is a source, which it would replace", remedy)
        for each in apart.values():
            if os.path.lexists(path) and _is_within(path, each):
                _check_asked(in_place, f"{name} {path} is already in the source {each}", remedy)
            if _is_within(each, path):
                raise OptionError(f"{name} {path}: it is the folder of {each}; name another one")


def _check_asked(in_place: bool, what: str, remedy: str) -> None:
    if not in_place:
        raise OptionError(f"{what}; give {remedy} if that is meant, or name another place")


def check_staying(outputs: Collection[str], staying: Staying, *, has_folders: bool = False) -> None:
    """Raise OptionError for an output that would replace a file that must stay.

    `staying`: such files, by their name in messages.  `has_folders`: they may be folders, in which
    every file must stay.
    """
    for path in outputs:
        if path == STANDARD_OUTPUT or is_special(path):
            continue
        for name, files in staying.items():
            for each in files or ():
                is_inside = has_folders and os.path.isfile(path) and _is_within(path, each)
                if is_inside or _identity(path) == _identity(each):
                    raise OptionError(
                        f"{path} is {name}, which stays as it is; name another file for the output"
                    )


def check_place(path: str, *, is_folder: bool = False) -> None:
    """Raise OptionError unless an output can be made at `path`, which may exist.

    A folder is created with its missing parents; the folder of a file must exist.
    """
    if is_remote(path):
        return
    place = os.path.realpath(path)
    above = os.path.dirname(place)
    while is_folder and not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        raise unwritable(path, f"there is no folder {above}")
    if not is_folder and os.path.isdir(place):
        raise unwritable(path, "it is a folder")
    if not os.access(above, os.W_OK | os.X_OK) and (is_folder or not is_special(place)):
        raise unwritable(path, f"this user may not write into the folder {above}")


def side_files(*paths: str | None) -> list[str]:
    """Return the paths that outputs may use: their own, and partial and replaced files."""
    files = [path for path in paths if path is not None and path != STANDARD_OUTPUT]
    places = [path.rstrip("/") or path for path in files]
    kept = (glob.glob(f"{glob.escape(place + BEFORE)}.*") for place in places)
    own = (place + end for place in places for end in ("", PARTIAL, BEFORE))
    return [*own, *chain.from_iterable(kept)]


def is_special(place: str) -> bool:
    """Return whether `place` exists but is not a regular file: a pipe, for example."""
    return os.path.exists(place) and not os.path.isfile(place)


def unwritable(path: str, reason: str) -> OptionError:
    """Return the error for a place where this user cannot make an output."""
    return OptionError(f"{path} cannot be written: {reason}; name another place for the output")


def _identity(path: str) -> Any:
    """Return a key that all names of one place share: links, hard links, relative names."""
    if is_remote(path):
        return remote_place(path)
    place = os.path.realpath(path)
    try:
        found = os.stat(place)
    except OSError:
        return place
    # Output to a device such as /dev/null replaces nothing.
    is_device = stat.S_ISCHR(found.st_mode)
    return object() if is_device else (found.st_dev, found.st_ino)


def _is_within(path: str, folder: str) -> bool:
    """Return whether a path lies in a folder, at any depth."""
    if STANDARD_OUTPUT in (path, folder) or is_remote(path) or is_remote(folder):
        return False
    place, root = os.path.realpath(path), os.path.realpath(folder)
    return place.startswith(os.path.join(root, "")) and not os.path.isfile(root)


class Target:
    """An output that is being written: its stream, and the number of `rows` so far.

    This class itself is for a stream that nothing can undo: standard output, a pipe or a device.
    `partial`: path of a new file or folder until it gets its name; empty for a stream.
    """

    def __init__(self, path: str, form: Format) -> None:
        """Create nothing yet."""
        self.path = path
        self.form = form
        self.partial = ""
        self.rows = 0
        self.saved = ""
        # It replaces a source (`is_source`), of which some was skipped (`is_sparing`).
        self.is_source = self.is_sparing = False
        # Names of the files in an output folder that have no rows.
        self.without_rows: set[str] = set()
        self.stream: IO[bytes] | None = None
        self._file: IO[bytes] | None = None
        self._place = os.path.realpath(path)
        self._replacements: list[Replacement] = []

    @property
    def folder(self) -> str | None:
        """The folder for temporary files of this output; None for any folder."""
        return os.path.dirname(self.partial) if self.partial else None

    @property
    def descriptor(self) -> int | None:
        """The descriptor of a new file that is not compressed; None for any other output."""
        is_new = self._file is not None and self.stream is self._file and self.partial
        return self._file.fileno() if is_new and self._file is not None else None

    def begin(self) -> None:
        """Open the stream."""
        if self.path != STANDARD_OUTPUT:
            self._open(self.path)
            return
        sys.stdout.flush()
        self.path, self.stream = "standard output", _standard_output()

    def finish(self) -> None:
        """Write buffered bytes, so that a full disk is noticed before anything is committed."""
        if self.stream is not self._file and self._file is not None and self.stream is not None:
            self.stream.close()
        for each in (self._file, self.stream):
            if each is not None and not each.closed:
                each.flush()

    def complete(self, *, is_synced: bool) -> None:
        """Write buffered bytes; with `is_synced`, wait until they are on disk."""
        self.finish()

    def place(self) -> None:
        """Give the output its name."""
        for each in self._replacements:
            each.put()

    def put_back(self) -> None:
        """Restore the replaced files after an error at any moment of `place`."""
        for each in reversed(self._replacements):
            each.put_back()

    def settle(self) -> None:
        """Remove the replaced files, except those to keep."""
        for each in self._replacements:
            name = os.path.relpath(each.place, self._place)
            is_whole = name == os.curdir
            is_bare = self.is_sparing or not self.rows if is_whole else name in self.without_rows
            kept = each.settle(keeps=is_bare)
            is_near = kept and not os.path.islink(self.path)
            own = self.path.rstrip("/") + kept.removeprefix(self._place)
            self.saved = (own if is_near else kept) or self.saved

    def remove(self) -> None:
        """Close the output, and remove files that still have temporary names."""
        if self._file is not None:
            with suppress(OSError, ValueError):  # it may be closed
                self.finish()
            with suppress(OSError):
                self._file.close()
        for each in self._replacements:
            each.remove()

    def note(self, reason: str) -> str | None:
        """Return a line that says what is kept, or why nothing was written; None for neither."""
        kept = f"; what it held before is in {self.saved}" if self.saved else ""
        if not self.rows:
            return f"{self.path} is empty: {reason}{kept}"
        if not kept:
            lost = f"{self.path} was replaced, and its omitted documents are kept nowhere"
            return lost if self.is_source else None
        if self.is_sparing:
            return f"{self.path} was read, and some of it was skipped{kept}"
        empty = f"{len(self.without_rows)} files in {self.path} are empty"
        return f"{empty}; what one held before is in {self.saved}"

    def _open(self, place: str) -> None:
        self._file = open(place, "wb")  # noqa: SIM115 - `remove` closes it
        self.stream = _packing(self._file, self.form.compression)


class FileTarget(Target):
    """A new file next to its place; for a remote place, a temporary file that is sent there."""

    _sent: TemporaryFolder | None = None

    def begin(self) -> None:
        """Create the file with the permissions of the file that it replaces."""
        self.partial = self._place + PARTIAL
        self._files: Files = LOCAL
        if is_remote(self.path):
            self._place, self._files = self.path, RemoteFiles()
            self._sent = TemporaryFolder(None)
            self.partial = os.path.join(self._sent.path, os.path.basename(self.path) or "output")
        self._replacements = [Replacement(self._place + PARTIAL, self._place, self._files)]
        self._open(self.partial)
        if os.path.exists(self._place):
            shutil.copymode(self._place, self.partial)

    def complete(self, *, is_synced: bool) -> None:
        """Write buffered bytes, close the file and send it to its remote place, if any."""
        assert self._file is not None, "it has begun"
        self.finish()
        if is_synced or self.is_source:
            os.fsync(self._file.fileno())
        self._file.close()
        self._files.send(self.partial, self._place + PARTIAL)

    def remove(self) -> None:
        """Close the output, and remove files that still have temporary names."""
        super().remove()
        if self._sent is not None:
            self._sent.remove()


class FolderTarget(Target):
    """A new folder next to its place, or new files for a folder that exists."""

    def begin(self) -> None:
        """Create the partial folder and its missing parents."""
        self._made: list[str] = []
        # Closing this file frees a descriptor, which is needed to remove the folder.
        self._file = open(os.devnull, "rb")  # noqa: SIM115 - `remove` closes it
        self._was_there = os.path.isdir(self._place)
        self.partial = self._place + PARTIAL
        LOCAL.remove(self.partial)
        self._make_folders(self.partial)

    def complete(self, *, is_synced: bool) -> None:
        """With `is_synced`, wait until all files are on disk."""
        for folder, _, names in os.walk(self.partial) if is_synced else ():
            for each in (*(os.path.join(folder, name) for name in names), folder):
                sync_directory(each)

    def place(self) -> None:
        """Give the folder its name, or move each of its files into the folder that exists."""
        moved = [(self.partial, self._place)]
        if self._was_there:
            below = os.walk(self.partial)
            found = (os.path.join(folder, name) for folder, _, names in below for name in names)
            moved = [(each, self._place + each.removeprefix(self.partial)) for each in found]
        self._replacements = [Replacement(new, place, LOCAL) for new, place in moved]
        for _, place in moved:
            self._make_folders(os.path.dirname(place))
        super().place()

    def remove(self) -> None:
        """Remove the files and new folders that have not got their names."""
        super().remove()
        with suppress(OSError):
            LOCAL.remove(self.partial)
        for each in reversed(self._made):
            with suppress(OSError):  # a folder that is not empty stays
                os.rmdir(each)

    def _make_folders(self, folder: str) -> None:
        """Create a folder and its missing parents, and note which are new."""
        if not os.path.lexists(folder):
            self._make_folders(os.path.dirname(folder))
            self._made.append(folder)
            os.mkdir(folder)


class Outputs:
    """The outputs of one run: all of them get their names, or none does.

    Leaving `with` removes the outputs without their names.  Raises FullError if a disk is full or
    fails.
    """

    def __init__(self, name: str = "") -> None:
        """Begin without outputs; `name` takes the place of their paths in errors."""
        self._name = name
        self._targets: list[Target] = []

    def open(self, path: str | None, form: Format | None) -> Target | None:
        """Return a new target, which gets its name `path` later; None if `path` is None.

        Raises OptionError if nothing can be written there.
        """
        if path is None or form is None:
            return None
        is_folder = form.kind in (FOLDER, SHARDS)
        kind: type[Target] = FolderTarget if is_folder else FileTarget
        if path == STANDARD_OUTPUT or (is_special(path) and not is_folder):
            kind = Target
        if path != STANDARD_OUTPUT:
            check_place(path, is_folder=is_folder)
        target = kind(path, form)
        self._targets.append(target)
        try:
            target.begin()
        except OSError as error:
            full = full_disk(error, path)
            raise full or unwritable(path, error.strerror or str(error)) from error
        return target

    def place(self) -> None:
        """Give all outputs their names."""
        with self.placed():
            pass

    @contextmanager
    def placed(
        self, *, is_synced: bool = False, is_stored: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Give all outputs their names for a `with` block; if that fails, restore all files.

        `is_synced`: write them to disk first.  `is_stored` is called after an error in the block:
        True means that documents were stored nevertheless, so their outputs are kept.
        """
        for each in self._targets:
            with self._said(each):
                each.complete(is_synced=is_synced)
        try:
            for each in self._targets:
                with self._said(each):
                    each.place()
                    if is_synced and each.folder and not is_remote(each.path):
                        sync_directory(each.folder)
            yield
        except BaseException as error:
            is_done = False
            with suppress(Error):  # it may be closed
                is_done = is_stored()
            if is_done:
                self._settle()
            else:
                self._put_back(error)
            raise
        self._settle()

    def __enter__(self) -> "Outputs":
        """Return this object."""
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Remove outputs without their names; raise FullError in place of a disk error."""
        for each in self._targets:
            each.remove()
        if isinstance(error, OSError):
            paths = dict.fromkeys(each.path for each in self._targets)
            full = full_disk(error, self._name or ", ".join(paths)) if paths else None
            if full is not None:
                raise full from error

    def _settle(self) -> None:
        for each in self._targets:
            with suppress(OSError):  # the run is done, so a replaced file may stay
                each.settle()
            each.remove()
        self._targets = []

    def _put_back(self, error: BaseException) -> None:
        """Restore all replaced files; raise FullError if any restoring fails."""
        aside = []
        for each in reversed(self._targets):
            try:
                each.put_back()
            except OSError as failed:
                aside.append(f"{each.path} ({failed.strerror or failed})")
        if aside:
            raise FullError(
                f"{error}; then these replaced files could not be restored, and are next to their"
                f" places, named {BEFORE}: {', '.join(aside)}"
            ) from error

    @contextmanager
    def _said(self, target: Target) -> Iterator[None]:
        """Name the target in a disk error."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            name = self._name or target.path
            said = FullError(f"{name} cannot be written: {error.strerror or error}")
            raise full_disk(error, name) or said from error


@contextmanager
def written(path: str, form: Format, name: str = "") -> Iterator[Target]:
    """Yield a target, which gets its name `path` after the `with` block.

    Errors and `name`: see `Outputs`.
    """
    with Outputs(name) as outputs:
        target = outputs.open(path, form)
        assert target is not None, "a path and a format make a target"
        yield target
        outputs.place()


class LocalFiles:
    """The operations of outputs on local files."""

    def exists(self, path: str) -> bool:
        """Return whether something is at a path."""
        return os.path.lexists(path)

    def send(self, local: str, path: str) -> None:
        """Do nothing, since a local file is already in place."""

    def keep(self, path: str, name: str) -> None:
        """Rename a file, or add a name, so that it never lacks a name."""
        try:
            os.link(path, name)
        except OSError:  # this file system has no links
            os.replace(path, name)

    def move(self, path: str, place: str) -> None:
        """Rename a file, and replace any file of the new name."""
        os.replace(path, place)

    def remove(self, path: str) -> None:
        """Remove a file or folder, with one open descriptor at a time."""
        if os.path.isdir(path) and not os.path.islink(path):
            for name in os.listdir(path):
                self.remove(os.path.join(path, name))
            os.rmdir(path)
        elif os.path.lexists(path):
            os.remove(path)

    def is_other(self, old: str, new: str) -> bool:
        """Return whether an old file is not empty and differs from a new one."""
        return os.path.getsize(old) > 0 and not self.is_same(old, new)

    def is_same(self, old: str, new: str) -> bool:
        """Return whether two files have the same content."""
        return os.path.isfile(new) and cmp(old, new, shallow=False)


LOCAL = LocalFiles()
Files = LocalFiles | RemoteFiles


class Replacement:
    """The replacement of a file by a new one, which can be undone.

    `put_back` sees from the files how far `put` came, so `put` may be interrupted anywhere.
    """

    def __init__(self, new: str, place: str, files: Files) -> None:
        """Prepare to move the file `new` to `place`; both are paths in `files`."""
        self.new, self.place, self._files = new, place, files
        self._old = ""

    def put(self) -> None:
        """Rename the file at the place, if any, and move the new file there."""
        files = self._files
        if files.exists(self.place):
            names = _names_before(self.place)
            self._old = next(name for name in names if not files.exists(name))
            files.keep(self.place, self._old)
        files.move(self.new, self.place)

    def put_back(self) -> None:
        """Undo `put`, which may have been interrupted anywhere."""
        files, old, has_moved = self._files, self._old, not self._files.exists(self.new)
        if not old and has_moved:
            files.remove(self.place)
        elif old and files.exists(old):
            if files.exists(self.place) and not has_moved:
                files.remove(old)  # a second name of the file at the place
                return
            try:
                files.move(old, self.place)
            except OSError:  # a disk that renames nothing may still link
                files.remove(self.place)
                files.keep(old, self.place)
                files.remove(old)

    def settle(self, *, keeps: bool) -> str:
        """Remove the replaced file, or return its path if it is kept; keep equal content once."""
        files, old = self._files, self._old
        if not old:
            return ""
        kept = ""
        if keeps and files.is_other(old, self.place):
            earlier = takewhile(lambda name: name != old, _names_before(self.place))
            kept = next((name for name in earlier if files.is_same(name, old)), old)
        if kept != old:
            files.remove(old)
        return kept

    def remove(self) -> None:
        """Remove the new file if it has not moved."""
        with suppress(OSError):
            if self._files.exists(self.new):
                self._files.remove(self.new)


def _names_before(place: str) -> Iterator[str]:
    """Yield the names under which replaced files of a place can be kept, without end."""
    return (place + BEFORE + end for end in chain([""], (f".{number}" for number in count(2))))


def _standard_output() -> IO[bytes]:
    """Return standard output as a stream that writes everything, even to a slow pipe."""
    stream: IO[bytes] = sys.stdout.buffer
    # With PYTHONUNBUFFERED, a call may write only a part and return its length.
    return io.BufferedWriter(Unclosed(stream)) if isinstance(stream, io.RawIOBase) else stream


def _packing(file: IO[bytes], compression: str) -> IO[bytes]:
    """Return a stream that compresses into `file`, or `file` itself."""
    if compression == GZIP:
        return GzipWriter(file)  # type: ignore[return-value]
    if compression == ZSTD:
        return zstd_writer(file, thread_count())  # type: ignore[no-any-return]
    return packed_file(file, compression, "wb") if compression else file


class Unclosed(io.RawIOBase):
    """A stream that writes into another stream and leaves it open."""

    def __init__(self, file: IO[bytes]) -> None:
        """Begin at the end of `file`."""
        self._file = file

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: Any, /) -> int:
        """Write some bytes; return their number."""
        return self._file.write(content)


class GzipWriter(Unclosed):
    """A stream that compresses into another stream and leaves it open."""

    def __init__(self, file: IO[bytes]) -> None:
        """Begin a gzip file at the end of `file`."""
        super().__init__(file)
        self._threads = thread_count()
        self._held = bytearray()
        self._is_empty = True

    def write(self, content: Any, /) -> int:
        """Compress some bytes, now or later; return their number."""
        self._held += content
        members = len(self._held) // MEMBER_BYTES
        if members >= AHEAD * self._threads:
            self._write_members(members * MEMBER_BYTES)
        return len(content)

    def close(self) -> None:
        """Compress the remaining bytes; an empty file gets one member."""
        if not self.closed:
            super().close()
            if self._held or self._is_empty:
                self._write_members(max(len(self._held), 1))

    def _write_members(self, stop: int) -> None:
        """Write members of the held bytes up to `stop`, and forget these bytes."""
        parts = [bytes(self._held[at : at + MEMBER_BYTES]) for at in range(0, stop, MEMBER_BYTES)]
        del self._held[:stop]
        self._is_empty = False
        for member in mapped(_member, parts, self._threads):
            self._file.write(member)


def zstd_writer(file: IO[bytes], threads: int) -> Any:
    """Return a stream that compresses into another stream and leaves it open.

    It writes one frame, since many programs read only the first frame of a file.  The library
    compresses parts of the frame in its own threads, which end with the stream.  If the system
    cannot start them, the writing thread compresses.
    """
    module = load_zstd("writing .zst")
    if hasattr(module, "CompressionParameter"):
        workers = module.CompressionParameter.nb_workers
        options = {workers: min(threads, workers.bounds()[1])}
        begin = partial(module.ZstdCompressor, options=options)
        stream = partial(module.ZstdFile, file, "wb", options=options)
    else:
        begin = module.ZstdCompressor(threads=threads).compressobj
        stream = partial(module.ZstdCompressor(threads=threads).stream_writer, file, closefd=False)
    try:
        begin().compress(b" ")  # starts the threads
    except module.ZstdError:
        return zstd_writer(file, 0)
    return stream()


def _member(content: bytes) -> bytes:
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP_WINDOW)
    return compressor.compress(content) + compressor.flush()
