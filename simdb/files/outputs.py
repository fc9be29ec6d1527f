"""Outputs: files and folders, which get their names together when all are complete.

Their places are checked together before anything is read: two outputs never have one place, by
whatever names, and no output takes the place of a source, a database or a file that stays as it is.

Until an output is complete, its name ends in `.partial`.  While the outputs of a run get their
names, and the run is committed, what they replace has a name that ends in `.before`: after an error
in any of these steps all of it comes back.  In the end it is removed, unless the new file has no
rows, so that a run without results never destroys the results of another run.  So is an input kept
of which some was skipped, because what was skipped is nowhere else.  What is kept already stays:
the next name ends in `.before.2`.

Zstandard and gzip are compressed piece by piece, so memory stays bounded.  pyarrow compresses
Zstandard in one thread only; so `compression.zstd` of Python 3.14 does that or, before it, the
package zstandard.  A gzip file is written as a row of members, each compressed for itself, which
every program reads as one file.  The members do not depend on the number of threads, and have no
name and no time, so equal content makes equal files.
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

# Files that no output replaces, by what one of them is called.
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
    """Raise OptionError unless the outputs of a run, by their options, can be written together.

    `staying`: see `check_staying`.  `kept`: the options whose output holds documents of the
    sources; with `in_place` it may be a source.  `remedy`: what would allow that.
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
                _check_asked(in_place, f"{name} {path} is there, in the source {each}", remedy)
            if _is_within(each, path):
                raise OptionError(f"{name} {path}: it is the folder of {each}; name another one")


def _check_asked(in_place: bool, what: str, remedy: str) -> None:
    if not in_place:
        raise OptionError(f"{what}; give {remedy} if that is meant, or name another place")


def check_staying(outputs: Collection[str], staying: Staying, *, has_folders: bool = False) -> None:
    """Raise OptionError for an output that would replace a file that stays as it is.

    `staying`: such files, by what one of them is called.  `has_folders`: they can be folders, of
    which all files stay.
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

    A folder is made with all that are missing above it; a file needs its folder.
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
    """Return the paths that outputs use: their own, and those before they are complete."""
    files = [path for path in paths if path is not None and path != STANDARD_OUTPUT]
    places = [path.rstrip("/") or path for path in files]
    kept = (glob.glob(f"{glob.escape(place + BEFORE)}.*") for place in places)
    own = (place + end for place in places for end in ("", PARTIAL, BEFORE))
    return [*own, *chain.from_iterable(kept)]


def is_special(place: str) -> bool:
    """Return whether something that is no regular file, such as a pipe, is at this place."""
    return os.path.exists(place) and not os.path.isfile(place)


def unwritable(path: str, reason: str) -> OptionError:
    """Return the error for a place where this user cannot make an output."""
    return OptionError(f"{path} cannot be written: {reason}; name another place for the output")


def _identity(path: str) -> Any:
    """Return what all names of one place have in common: links, hard links and relative names."""
    if is_remote(path):
        return remote_place(path)
    place = os.path.realpath(path)
    try:
        found = os.stat(place)
    except OSError:
        return place
    # What is written to a device such as /dev/null replaces nothing.
    is_device = stat.S_ISCHR(found.st_mode)
    return object() if is_device else (found.st_dev, found.st_ino)


def _is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or lies in it, at any depth."""
    if STANDARD_OUTPUT in (path, folder) or is_remote(path) or is_remote(folder):
        return False
    place, root = os.path.realpath(path), os.path.realpath(folder)
    return place.startswith(os.path.join(root, "")) and not os.path.isfile(root)


class Target:
    """An output in the making: the stream to write, and how many `rows` it has so far.

    This one is a stream that nothing can undo, such as standard output, a pipe or a device.
    `partial`: the file or folder of another one until it has its name.
    """

    def __init__(self, path: str, form: Format) -> None:
        """Make nothing yet."""
        self.path = path
        self.form = form
        self.partial = ""
        self.rows = 0
        self.saved = ""
        # Whether it replaces an input, and one of which some was skipped.
        self.is_source = self.is_sparing = False
        # Of several files in a folder, the names of those without rows.
        self.without_rows: set[str] = set()
        self.stream: IO[bytes] | None = None
        self._file: IO[bytes] | None = None
        self._place = os.path.realpath(path)
        self._replacements: list[Replacement] = []

    @property
    def folder(self) -> str | None:
        """The folder where temporary files for this output fit; None for any."""
        return os.path.dirname(self.partial) if self.partial else None

    @property
    def descriptor(self) -> int | None:
        """The descriptor of a new file whose bytes are written as they are; None for any other."""
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
        """Write all that is held, so that a full disk is noticed before anything is committed."""
        if self.stream is not self._file and self._file is not None and self.stream is not None:
            self.stream.close()
        for each in (self._file, self.stream):
            if each is not None and not each.closed:
                each.flush()

    def complete(self, *, is_synced: bool) -> None:
        """Write all that is held; with `is_synced` it is on the disk then."""
        self.finish()

    def place(self) -> None:
        """Give the output its name."""
        for each in self._replacements:
            each.put()

    def put_back(self) -> None:
        """Give the name back to what had it before, after an error at any moment of `place`."""
        for each in reversed(self._replacements):
            each.put_back()

    def settle(self) -> None:
        """Remove what was replaced, unless it is kept."""
        for each in self._replacements:
            name = os.path.relpath(each.place, self._place)
            is_whole = name == os.curdir
            is_bare = self.is_sparing or not self.rows if is_whole else name in self.without_rows
            kept = each.settle(keeps=is_bare)
            is_near = kept and not os.path.islink(self.path)
            own = self.path.rstrip("/") + kept.removeprefix(self._place)
            self.saved = (own if is_near else kept) or self.saved

    def remove(self) -> None:
        """Remove what has no name by now."""
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
            lost = f"{self.path} was replaced, and what was left out of it is kept nowhere"
            return lost if self.is_source else None
        if self.is_sparing:
            return f"{self.path} was read, and some of it was skipped{kept}"
        empty = f"{len(self.without_rows)} files in {self.path} are empty"
        return f"{empty}; what one held before is in {self.saved}"

    def _open(self, place: str) -> None:
        self._file = open(place, "wb")  # noqa: SIM115 - `remove` closes it
        self.stream = _packing(self._file, self.form.compression)


class FileTarget(Target):
    """A new file beside its place; for a remote place in a temporary folder, until it is sent."""

    _sent: TemporaryFolder | None = None

    def begin(self) -> None:
        """Make the file, with the permissions of the one that it replaces."""
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
        """Write all that is held, and close the file, or send it to where it is needed."""
        assert self._file is not None, "it has begun"
        self.finish()
        if is_synced or self.is_source:
            os.fsync(self._file.fileno())
        self._file.close()
        self._files.send(self.partial, self._place + PARTIAL)

    def remove(self) -> None:
        """Remove what has no name by now."""
        super().remove()
        if self._sent is not None:
            self._sent.remove()


class FolderTarget(Target):
    """A new folder beside its place, or new files on their way into a folder that exists."""

    def begin(self) -> None:
        """Make the folder, and all that are missing above it."""
        self._made: list[str] = []
        # With this one given back, the folder can be removed when no other descriptor is free.
        self._file = open(os.devnull, "rb")  # noqa: SIM115 - `remove` closes it
        self._was_there = os.path.isdir(self._place)
        self.partial = self._place + PARTIAL
        LOCAL.remove(self.partial)
        self._make_folders(self.partial)

    def complete(self, *, is_synced: bool) -> None:
        """Leave what was written to the disk; with `is_synced` all of it is there then."""
        for folder, _, names in os.walk(self.partial) if is_synced else ():
            for each in (*(os.path.join(folder, name) for name in names), folder):
                sync_directory(each)

    def place(self) -> None:
        """Give the folder its name, or each of its files."""
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
        """Remove what has no name by now."""
        super().remove()
        with suppress(OSError):
            LOCAL.remove(self.partial)
        for each in reversed(self._made):
            with suppress(OSError):  # what is not empty stays
                os.rmdir(each)

    def _make_folders(self, folder: str) -> None:
        """Make a folder and those above it, and note which were missing."""
        if not os.path.lexists(folder):
            self._make_folders(os.path.dirname(folder))
            self._made.append(folder)
            os.mkdir(folder)


class Outputs:
    """The outputs of one run: all of them get their names, or none does.

    `with` removes those that have no name at its end.  Raises FullError if a disk has no room or
    fails.
    """

    def __init__(self, name: str = "") -> None:
        """Begin without outputs; `name`: what errors call them, their paths if not given."""
        self._name = name
        self._targets: list[Target] = []

    def open(self, path: str | None, form: Format | None) -> Target | None:
        """Return a target, which gets its name `path` later; None if `path` is None.

        Raises OptionError for a place where nothing can be written.
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
        """Give all outputs their names for a `with` statement; if that fails, all are as before.

        `is_synced`: they are on the disk first.  `is_stored` is asked after an error of the
        statement: what is stored all the same needs the outputs.
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
        """Remove what has no name; FullError in place of an error of the disk."""
        for each in self._targets:
            each.remove()
        if isinstance(error, OSError):
            paths = dict.fromkeys(each.path for each in self._targets)
            full = full_disk(error, self._name or ", ".join(paths)) if paths else None
            if full is not None:
                raise full from error

    def _settle(self) -> None:
        for each in self._targets:
            with suppress(OSError):  # all is done, and what should go stays
                each.settle()
            each.remove()
        self._targets = []

    def _put_back(self, error: BaseException) -> None:
        """Put all back, one after the other; FullError if what an output replaced stays aside."""
        aside = []
        for each in reversed(self._targets):
            try:
                each.put_back()
            except OSError as failed:
                aside.append(f"{each.path} ({failed.strerror or failed})")
        if aside:
            raise FullError(
                f"{error}; then what had been at these places could not be put back, and is beside"
                f" them, as {BEFORE}: {', '.join(aside)}"
            ) from error

    @contextmanager
    def _said(self, target: Target) -> Iterator[None]:
        """Name the target in errors of the disk."""
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
    """Yield a target, which gets its name `path` at the end.

    Errors and `name`: see `Outputs`.
    """
    with Outputs(name) as outputs:
        target = outputs.open(path, form)
        assert target is not None, "a path and a format make a target"
        yield target
        outputs.place()


class LocalFiles:
    """What outputs do with files of this machine."""

    def exists(self, path: str) -> bool:
        """Return whether something is at a path."""
        return os.path.lexists(path)

    def send(self, local: str, path: str) -> None:
        """Leave a file where it is."""

    def keep(self, path: str, name: str) -> None:
        """Give a file another name, too, so that it has one of the two at any moment."""
        try:
            os.link(path, name)
        except OSError:  # this file system has no links
            os.replace(path, name)

    def move(self, path: str, place: str) -> None:
        """Give a file another name, and take that of what is there."""
        os.replace(path, place)

    def remove(self, path: str) -> None:
        """Remove what is at a path, folders with one descriptor at a time."""
        if os.path.isdir(path) and not os.path.islink(path):
            for name in os.listdir(path):
                self.remove(os.path.join(path, name))
            os.rmdir(path)
        elif os.path.lexists(path):
            os.remove(path)

    def is_other(self, old: str, new: str) -> bool:
        """Return whether an old file holds anything but what a new one holds."""
        return os.path.getsize(old) > 0 and not self.is_same(old, new)

    def is_same(self, old: str, new: str) -> bool:
        """Return whether two files have the same content."""
        return os.path.isfile(new) and cmp(old, new, shallow=False)


LOCAL = LocalFiles()
Files = LocalFiles | RemoteFiles


class Replacement:
    """A new file on its way to its place, so that what was there can come back.

    What has happened follows from what is there, so an interruption may strike anywhere.
    """

    def __init__(self, new: str, place: str, files: Files) -> None:
        """Move the file `new` to `place` later; both are names of `files`."""
        self.new, self.place, self._files = new, place, files
        self._old = ""

    def put(self) -> None:
        """Give what is at the place another name, and the new file that of the place."""
        files = self._files
        if files.exists(self.place):
            names = _names_before(self.place)
            self._old = next(name for name in names if not files.exists(name))
            files.keep(self.place, self._old)
        files.move(self.new, self.place)

    def put_back(self) -> None:
        """Undo `put`, which may have ended anywhere."""
        files, old, has_moved = self._files, self._old, not self._files.exists(self.new)
        if not old and has_moved:
            files.remove(self.place)
        elif old and files.exists(old):
            if files.exists(self.place) and not has_moved:
                files.remove(old)  # which is at its place, too
                return
            try:
                files.move(old, self.place)
            except OSError:  # a disk that renames nothing may still link
                files.remove(self.place)
                files.keep(old, self.place)
                files.remove(old)

    def settle(self, *, keeps: bool) -> str:
        """Remove what was replaced, or return where it is kept; the same content is kept once."""
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
    """Yield the names under which what is at a place can be kept, without end."""
    return (place + BEFORE + end for end in chain([""], (f".{number}" for number in count(2))))


def _standard_output() -> IO[bytes]:
    """Return standard output as a stream that writes all it is given, also to a slow pipe."""
    stream: IO[bytes] = sys.stdout.buffer
    # With PYTHONUNBUFFERED a call can write a part, and that is then the result of the call.
    return io.BufferedWriter(Unclosed(stream)) if isinstance(stream, io.RawIOBase) else stream


def _packing(file: IO[bytes], compression: str) -> IO[bytes]:
    """Return a stream that compresses into `file`, or `file` itself."""
    if compression == GZIP:
        return GzipWriter(file)  # type: ignore[return-value]
    if compression == ZSTD:
        return zstd_writer(file, thread_count())  # type: ignore[no-any-return]
    return packed_file(file, compression, "wb") if compression else file


class Unclosed(io.RawIOBase):
    """A stream that writes into another stream, and leaves that open."""

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
    """A stream that compresses what is written into another stream, which stays open."""

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
        """Compress what is held; a file of nothing has one member."""
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
    """Return a stream that compresses what is written into another stream, which stays open.

    It makes one frame, since many programs read no more than the first frame of a file.  The
    library compresses parts of the frame in threads of its own, which end with the stream.  If the
    system does not have so many threads, the thread that writes compresses.
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
