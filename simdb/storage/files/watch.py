"""The watch: whether another program has written the data file since its pages were checked.

LMDB would follow pages that are damaged while the database is open.  The system records when a file
was written, and every commit of LMDB has a number.  If the file was written, but not by a
transaction of this process, then either its last commit has a greater number, because another
process has committed, or its pages are walked again before LMDB reads any of them.

That costs one system call for each commit, and at most one in a millisecond for reads from LMDB; a
query in arrays that were fetched before pays nothing.  The watch does not see pages that decay
without a write, writes within the same clock tick as a commit (some milliseconds), and damage that
is followed by the commit of another process.
"""

import io
import os
from collections.abc import Collection
from time import monotonic

from simdb.storage.files.meta_pages import last_commit
from simdb.storage.files.pages import check_metas, check_pages

# While another program writes, the file changes all the time; walks take 1 / REST of the time.  The
# same holds for walks before small changes.
REST = 20
# Shorter than a tick of the clock with which the system records writes.
BETWEEN_SECONDS = 0.001

Stamp = tuple[int, int]


class Watch:
    """The pages of one data file, and when they were last known to be sound."""

    def __init__(self) -> None:
        """Start without a file."""
        self._path = ""
        self._file: io.FileIO | None = None
        self._stamp: Stamp = (0, 0)
        self._commit = 0  # the last known commit, or a later transaction that changed nothing
        self._least = 0  # the last commit that certainly exists
        self._is_own = False  # whether a transaction of this process is writing
        self._looks_again = self._rests_until = self._walks_again = 0.0

    def follow(self, path: str) -> None:
        """Trust the file `path` in its present state; `walk` checks it."""
        self.close()
        self._path = path
        self._walks_again = 0.0
        self._file = io.FileIO(path)
        self._stamp = self._now()
        self._commit = self._least = last_commit(self._descriptor) or 0

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    @property
    def _descriptor(self) -> int:
        assert self._file is not None
        return self._file.fileno()

    @property
    def _is_open(self) -> bool:
        return self._file is not None and not self._file.closed

    def look(self) -> None:
        """Raise CorruptError if LMDB must not read on; call this inside a transaction."""
        now = monotonic()
        if now >= self._looks_again and not self._is_own and self._is_open:
            stamp = self._now()
            if stamp != self._stamp:
                self._look_closer(stamp)
            self._looks_again = now + BETWEEN_SECONDS

    def walk(self, only: Collection[bytes] | None = None) -> None:
        """Raise CorruptError if the pages could make LMDB crash; `only`: in these sub-databases."""
        stamp = self._now()
        commit = check_pages(self._descriptor, self._path, least=self._least, only=only)
        if only is None and not self._is_own:
            self._stamp, self._commit, self._least = stamp, commit, commit

    def walk_rarely(self, only: Collection[bytes] | None = None) -> None:
        """Do what `walk` does, but not again before such walks take a small share of the time.

        Writes of another program are noticed by `look`, so this is for pages that decay.
        """
        started = monotonic()
        if started >= self._walks_again:
            self.walk(only)
            ended = monotonic()
            self._walks_again = ended + REST * (ended - started)

    def check_metas(self) -> None:
        """Raise CorruptError if the last commit cannot be told; this needs no transaction."""
        check_metas(self._descriptor, self._path, least=self._least)

    def begin_own(self) -> None:
        """Note that a transaction of this process begins to write."""
        self.look()
        self._is_own = True

    def end_own(self, number: int | None) -> None:
        """Note that the transaction has ended; `number`: its number if it was committed."""
        if self._is_own and number is not None:
            # A transaction without changes leaves no commit; the next one gets its number.
            self._stamp, self._commit, self._least = self._now(), number, number - 1
        self._is_own = False

    def _now(self) -> Stamp:
        found = os.fstat(self._descriptor)
        # The change time, which no program can set, and the size.
        return found.st_ctime_ns, found.st_size

    def _look_closer(self, stamp: Stamp) -> None:
        commit = last_commit(self._descriptor)
        if commit is not None and commit > self._commit:
            self._stamp, self._commit, self._least = stamp, commit, commit
            return
        started = monotonic()
        if started >= self._rests_until:
            self.walk()
            ended = monotonic()
            self._rests_until = ended + REST * (ended - started)


class PageChecks:
    """The walks of one data file; each raises CorruptError if its pages could make LMDB crash."""

    def __init__(self, watch: Watch) -> None:
        """Walk the pages of the file that `watch` follows."""
        self._watch = watch

    def walk_all(self) -> None:
        """Check the trees of all sub-databases, before a copy or a change of everything."""
        self._watch.walk()

    def walk(self, names: Collection[bytes]) -> None:
        """Check the trees of the sub-databases `names`, before something in them is dropped."""
        self._watch.walk(names)

    def walk_rarely(self, names: Collection[bytes]) -> None:
        """Do what `walk` does, unless such walks have lately taken more than a small share of time.

        This is for small changes that follow each other; see `Watch.walk_rarely`.
        """
        self._watch.walk_rarely(names)
