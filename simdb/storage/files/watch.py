"""The watch: whether somebody else has written the data file since its pages were looked at.

LMDB would follow what was damaged while the database is open, as it would before.  The system
notes when a file was written, and every commit of LMDB has a number.  A file that was written, and
not by a transaction of this process, has a greater number because another process has committed;
otherwise its pages are walked again before LMDB reads any of them.

That costs one call of the system for each commit, and one, at most once in a millisecond, for what
is fetched from LMDB; a query in arrays that were fetched before pays nothing.  Not seen are pages
that decay without being written, what is written within the same tick of the system's clock as a
commit (some milliseconds), and what is hidden behind the commit of another process.
"""

import os
from collections.abc import Collection
from time import monotonic

from simdb.storage.files.meta_pages import last_commit
from simdb.storage.files.pages import check_metas, check_pages

# While another process writes, the file changes all the time.  Walks take one part in so many.
REST = 20
# Shorter than a tick of the clock by which the system notes when a file was written.
BETWEEN_SECONDS = 0.001

Stamp = tuple[int, int]


class Watch:
    """The pages of one data file, and when they were last known to be sound."""

    def __init__(self) -> None:
        """Of no file yet."""
        self._path = ""
        self._descriptor = -1
        self._stamp: Stamp = (0, 0)
        self._commit = 0  # the last that is known, or the one that would have followed
        self._least = 0  # the last that is known
        self._is_own = False  # whether a transaction of this process is writing
        self._looks_again = self._rests_until = 0.0

    def follow(self, path: str) -> None:
        """Trust the file `path` as it is now; `walk` looks at it."""
        self.close()
        self._path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._stamp = self._now()
        self._commit = self._least = last_commit(self._descriptor) or 0

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def look(self) -> None:
        """Raise CorruptError where LMDB must not go on reading; a transaction is open."""
        now = monotonic()
        if now >= self._looks_again and not self._is_own and self._descriptor >= 0:
            stamp = self._now()
            if stamp != self._stamp:
                self._look_closer(stamp)
            self._looks_again = now + BETWEEN_SECONDS

    def walk(self, only: Collection[bytes] | None = None) -> None:
        """Raise CorruptError where LMDB cannot bear the pages; `only`: of these sub-databases."""
        stamp = self._now()
        commit = check_pages(self._descriptor, self._path, least=self._least, only=only)
        if only is None and not self._is_own:
            self._stamp, self._commit, self._least = stamp, commit, commit

    def check_metas(self) -> None:
        """Raise CorruptError where the last commit cannot be told; without a transaction, too."""
        check_metas(self._descriptor, self._path, least=self._least)

    def begin_own(self) -> None:
        """A transaction of this process writes from now on, and nobody else can."""
        self.look()
        self._is_own = True

    def end_own(self, number: int | None) -> None:
        """It has ended; `number`: of the transaction, if it was committed."""
        if self._is_own and number is not None:
            # One that has changed nothing leaves no commit, and its number to the next.
            self._stamp, self._commit, self._least = self._now(), number, number - 1
        self._is_own = False

    def _now(self) -> Stamp:
        found = os.fstat(self._descriptor)
        # When it was last written, or anything else of it changed: nobody can set that.
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
