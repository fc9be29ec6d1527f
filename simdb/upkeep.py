"""Upkeep: the verbs that look after a database, each by itself."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from simdb.engine.maintenance.advice import advice
from simdb.engine.maintenance.calibration import calibrate, is_due
from simdb.engine.maintenance.compaction import compact, copy
from simdb.engine.maintenance.dump import dump
from simdb.engine.maintenance.inspection import check, statistics
from simdb.engine.maintenance.rebuild import rebuild
from simdb.engine.state.incoming import Progress, sketch_queries
from simdb.engine.state.store import Store
from simdb.errors import ClosedError, OptionError, ReadOnlyError
from simdb.plan.calibration import Calibration
from simdb.reports import Advice, Compaction, Finding, Rebuild, Statistics


class Upkeep:
    """What an open database says of itself, and what can be done for it."""

    _store: Store
    _path: str
    _mode: str

    def stats(self) -> Statistics:
        """The database in numbers."""
        self._check_open()
        return statistics(self._store)

    def check(self, deep: bool = False) -> Iterator[Finding]:
        """What is wrong with the stored database, one finding at a time; nothing if it is sound.

        `deep` reads every byte, compares all checksums and rebuilds every table to compare.
        """
        self._check_open()
        return check(self._store, deep=deep)

    def advice(self) -> Iterator[Advice]:
        """What would do the database good, and why; nothing when all is well.

        On readers that are gone or stay long, deleted documents, runs, sizes, free space, headers
        that many documents share, the calibration, packages, permissions and the file system.
        Nothing is changed; damage is for `check`.
        """
        self._check_open()
        return advice(self._store)

    def calibrate(
        self, sample: Any = None, *, seed: int = 0, errors: str = "strict"
    ) -> Calibration:
        """Learn how similar documents differ here, so that queries ask for no more than they must.

        `sample`: how many stored documents to ask about, drawn at random by `seed`; None for as
        many as take about a second.  Or documents like those that will be queries, which tell
        more, since their weights are known exactly.
        What is learnt is stored and used from then on, with the speed of this machine; see `plan`.
        Documents inserted later are compared one by one until it is done again, by this or by
        `compact`, or are found as without a calibration where that is faster.
        """
        self._check_writable()
        if self._store.options.is_signed:
            raise OptionError(
                "calibrate is for databases of fingerprints; what bands of signatures find follows"
                " from the similarity alone"
            )
        count, given = None, None
        if sample is None:
            pass
        elif isinstance(sample, int | np.integer) and not isinstance(sample, bool):
            if sample < 1:
                raise OptionError(f"sample is a number from 1 on, or documents, not {sample!r}")
            count = int(sample)
        else:
            given = sketch_queries(self._store.sketcher, sample, errors)
        if not self._store.width and given is None:
            raise OptionError(
                "this database stores no volatility, so its documents cannot tell how they differ;"
                " give documents like your queries as sample=, or create it with"
                " Simhash(store_volatility=True)"
            )
        return calibrate(self._store, count, given, seed)

    def compact(self) -> Compaction:
        """Merge everything into one run, drop what is deleted, and shrink the file.

        The file shrinks only while nobody else has it open; the note says so when it did not.
        """
        self._check_writable()
        done = compact(self._store)
        if is_due(self._store):
            calibrate(self._store, None, None, seed=0)
        return done

    def copy(self, path: str | os.PathLike[str]) -> None:
        """Write a compacted copy of the database, as of now, to the new directory `path`."""
        self._check_open()
        copy(self._store, os.fsdecode(path))

    def rebuild(self, *, drop_damaged: bool = False) -> Rebuild:
        """Make all tables anew from the stored columns, when `check` has found them damaged.

        Fingerprints, ids, vectors and metadata are verified as they are read.  Where some of them
        are damaged, CorruptError names them and nothing is changed; with `drop_damaged` the
        documents that they belong to are removed, and the report has their ids.  Metadata that
        cannot be read goes, and its documents stay.  Otherwise it ends as `compact` does.
        """
        self._check_writable()
        return rebuild(self._store, drop_damaged=drop_damaged)

    def dump(self, target: Any, progress: Progress | None = None) -> int:
        """Write everything that the database holds, as of now, to a path or a binary stream.

        The form is portable: `simdb.load` makes a database of it with any later version, on any
        machine.  Documents come in order of insertion, a few thousand in memory at a time;
        others may go on writing.  A file appears when it is whole, and only its owner may read it.
        Returns the number of documents; `progress(done)` is called with it.  CorruptError when
        stored values are damaged.
        """
        self._check_open()
        return dump(self._store, target, progress)

    def _check_open(self) -> None:
        if self._store.is_closed:
            raise ClosedError(f"{self._path} is closed")

    def _check_writable(self) -> None:
        self._check_open()
        if self._mode == "r":
            raise ReadOnlyError(f"{self._path} was opened for reading; open it with mode 'w'")
