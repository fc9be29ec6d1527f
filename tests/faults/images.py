"""What a power cut can leave of a database, from the log of shim.c.

A write is on the disk after a sync of its file, or at once if the file was opened with O_DSYNC.  A
new name, a rename or a removal is on the disk after a sync of the directory.  Of later calls, any
part may be on the disk: any sectors of the writes, and the first ones of the changes of names.
"""

import os
import random
import struct
from dataclasses import dataclass, field

RECORD = struct.Struct("<BBHIQQQ")
SECTOR_BYTES = 512


@dataclass
class Entry:
    """One call in the log: `call` is the letter of shim.c, `number` an offset, a size or a mark."""

    call: str
    is_durable: bool
    inode: int
    number: int
    path: str
    data: bytes


@dataclass
class File:
    """A file: the bytes on the disk, and the writes (offset, data) that may be there."""

    content: bytearray = field(default_factory=bytearray)
    pending: list = field(default_factory=list)


class Disk:
    """The files of one directory: what is on the disk, and the calls that may not be."""

    def __init__(self, directory, files=None):
        """Begin with some files, {name: (inode, bytes)}, or with none."""
        every = (files or {}).items()
        begun = {name: (inode, File(bytearray(content))) for name, (inode, content) in every}
        self._directory = str(directory)
        self._inodes = dict(begun.values())  # inode -> File, as the process sees it
        self._names = {name: file for name, (_, file) in begun.items()}  # as the process sees them
        self._durable = dict(self._names)  # name -> File, as it is on the disk
        self._changes = []  # the states of the names after that
        self.mark = -1

    def take(self, entry):
        """Apply the next call."""
        if entry.call == "m":
            self.mark = entry.number
        elif entry.path == self._directory:
            self._durable, self._changes = dict(self._names), []
        elif os.path.dirname(entry.path) == self._directory and "lock" not in entry.path:
            getattr(self, f"_take_{entry.call}")(entry, os.path.basename(entry.path))

    @property
    def writes(self):
        """The number of writes that may not be on the disk yet."""
        return sum(len(file.pending) for file in self._inodes.values())

    def image(self, chance=None, *, first=None):
        """Return {name: bytes} after a power cut.

        Without `chance`, the first `first` pending writes are on the disk, all by default.  With
        `chance`, any sectors of any pending writes are, and any number of changes of names.
        """
        states = [self._durable, *self._changes]
        names = states[-1] if chance is None else chance.choice(states)
        left = [first] if first is not None else [self.writes]
        return {name: _content(file, chance, left) for name, file in names.items()}

    def _file(self, entry, name):
        if entry.inode not in self._inodes:
            self._inodes[entry.inode] = self._names[name] = File()
            self._changes.append(dict(self._names))
        return self._inodes[entry.inode]

    def _take_w(self, entry, name):
        file = self._file(entry, name)
        if entry.is_durable:
            _put(file.content, entry.number, entry.data)
        file.pending.append((entry.number, entry.data))

    def _take_s(self, entry, name):
        file = self._file(entry, name)
        for offset, data in file.pending:
            _put(file.content, offset, data)
        file.pending.clear()

    def _take_r(self, entry, name):
        target = os.path.basename(entry.data.decode())
        self._forget(self._names.get(target))
        self._names[target] = self._names.pop(name)
        self._changes.append(dict(self._names))

    def _take_u(self, entry, name):
        self._forget(self._names.pop(name, None))
        self._changes.append(dict(self._names))

    def _forget(self, file):
        """Forget a file; another file may get its inode."""
        self._inodes = {inode: each for inode, each in self._inodes.items() if each is not file}


def entries(log):
    """Read all entries of a log file."""
    content, at, found = log.read_bytes(), 0, []
    while at < len(content):
        call, durable, path_bytes, _, inode, number, size = RECORD.unpack_from(content, at)
        at += RECORD.size
        path = content[at : at + path_bytes].decode()
        at += path_bytes
        found.append(Entry(chr(call), bool(durable), inode, number, path, content[at : at + size]))
        at += size
    return found


def images(log, directory, *, seed, every=1, random_images=3, files=None):
    """Yield (mark, {name: bytes}) for power cuts after each `every`-th call; `files`: see `Disk`.

    Each cut has several images: with all pending writes, with the first few of them (about ten
    different numbers), and `random_images` with random parts.
    """
    disk, chance = Disk(directory, files), random.Random(seed)
    for number, entry in enumerate(entries(log)):
        disk.take(entry)
        if number % every:
            continue
        for first in sorted({disk.writes, *range(0, disk.writes, 1 + disk.writes // 10)}):
            yield disk.mark, disk.image(first=first)
        for _ in range(random_images):
            yield disk.mark, disk.image(chance)


def _content(file, chance, left):
    content = bytearray(file.content)
    for offset, data in file.pending:
        if chance is None:
            if left[0] > 0:
                _put(content, offset, data)
            left[0] -= 1
        else:
            share = chance.choice([0, 0.5, 1])
            for start in range(0, len(data), SECTOR_BYTES):
                if chance.random() < share:
                    _put(content, offset + start, data[start : start + SECTOR_BYTES])
    return bytes(content)


def _put(content, offset, data):
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data
