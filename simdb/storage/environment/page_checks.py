"""Page checks: walks of the pages that a commit is going to read and drop, before LMDB does.

LMDB has no checksums, and damaged pages make it end the process or free pages that are in use.
"""

from collections.abc import Collection

from simdb.storage.files.watch import Watch


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
