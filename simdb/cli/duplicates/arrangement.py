"""Arrangement: the order in which `simdb dedup --db` claims the documents of a run.

A claim keeps what comes first, so with `--keep` the document that the rule prefers must come
first.  Then all documents are read before the first claim, and read again in that order: texts and
ids wait on disk, and only the values that sort them are in memory.  In either order, what is kept
is written at the end, in the order of the input.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat

import numpy as np
import numpy.typing as npt

from simdb import keeping
from simdb.cli.duplicates.work import Work
from simdb.outputs.text_spool import TextSpool
from simdb.sources.batch import Batch
from simdb.sources.preference import Preference
from simdb.sources.read_again import LinesAgain
from simdb.text_column import TextColumn

# How much is read again at a time.
BATCH_DOCUMENTS = 8192
BATCH_BYTES = 1 << 25

U32 = npt.NDArray[np.uint32]


class AsRead:
    """The batches of a run in the order of the input."""

    def __init__(self, work: Work, batches: Iterator[Batch], lines: LinesAgain) -> None:
        """Give the `batches` as they are; `lines`, empty, takes what is kept."""
        self._work = work
        self._batches, self._lines = batches, lines
        self._kept = 0

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches."""
        return self._batches

    def keep(self, batch: Batch, positions: Sequence[int]) -> None:
        """Keep the documents at `positions` in the batch that was yielded last."""
        if self._work.survivors:
            self._lines.add(batch, self._work.lines(batch), sorted(positions))
            self._kept += len(positions)

    def finish(self) -> None:
        """Write the survivors and complete them."""
        if self._work.survivors:
            self._lines.copy(repeat(True, self._kept), self._work.survivors)
            self._work.survivors.finish()


class ByRule:
    """The documents of a run in the order of `--keep`; survivors are in that of the input."""

    def __init__(
        self,
        work: Work,
        batches: Iterator[Batch],
        texts: TextSpool,
        places: TextSpool,
        lines: LinesAgain,
    ) -> None:
        """Read `batches` when they are needed; what must wait is put into the empty spools."""
        self._work = work
        self._read = batches
        self._texts, self._places, self._lines = texts, places, lines
        self._sizes: list[int] = []
        self._is_kept = bytearray()
        self._latest: U32 = np.empty(0, np.uint32)

    def __iter__(self) -> Iterator[Batch]:
        """Yield all documents in batches, the preferred ones first."""
        order = self._order()
        self._is_kept = bytearray(len(order))
        start = 0
        while start < len(order):
            some = order[start : start + BATCH_DOCUMENTS]
            ends = np.cumsum([self._sizes[at] for at in some.tolist()])
            self._latest = some[: max(int(np.searchsorted(ends, BATCH_BYTES, "right")), 1)]
            start += len(self._latest)
            yield self._batch(self._latest)
            share = start / len(order)
            self._work.progress.show(f"comparing {start:,} of {len(order):,} documents", share)

    def keep(self, batch: Batch, positions: Sequence[int]) -> None:
        """Keep the documents at `positions` in the batch that was yielded last."""
        for at in self._latest[list(positions)].tolist():
            self._is_kept[at] = True

    def finish(self) -> None:
        """Write the survivors and complete them."""
        if self._work.survivors:
            self._lines.copy(self._is_kept, self._work.survivors)
            self._work.survivors.finish()

    def _order(self) -> U32:
        """Read all documents; return their positions, sorted by the rule and then by position."""
        preference = Preference(keeping.parse(self._work.keep, "--keep"))
        for batch in self._read:
            preference.add(batch)
            self._texts.add(batch.texts)
            columns = batch.positions.tolist(), batch.sizes.tolist()
            places = zip(batch.ids, batch.sources, *columns, strict=True)
            self._places.add(list(map(json.dumps, places)))
            self._lines.add(batch, self._work.lines(batch))
            self._sizes += batch.sizes.tolist()
        order = preference.order(self._where)
        assert order is not None, "the order of the input needs no rule"
        return order.astype(np.uint32)

    def _where(self, at: int) -> str:
        """Return where a document of the input is."""
        return self._batch(np.array([at], np.uint32)).where(0)

    def _batch(self, chosen: U32) -> Batch:
        """Return the documents at some positions of the input, in that order."""
        places = [json.loads(each or b"") for each in self._places.texts(chosen)]
        ids, sources, positions, sizes = map(list, zip(*places, strict=True))
        texts = self._texts.texts(chosen)
        return Batch(
            ids=ids, texts=TextColumn(texts.addresses, texts.lengths, texts.owners),
            sources=sources, positions=np.array(positions), sizes=np.array(sizes),
        )  # fmt: skip


@contextmanager
def arranged(work: Work, batches: Iterator[Batch]) -> Iterator[AsRead | ByRule]:
    """Yield the batches of a run in the order in which they are claimed."""
    with LinesAgain(work.origins, work.folder) as lines:
        if work.keep == keeping.FIRST:
            yield AsRead(work, batches, lines)
            return
        with TextSpool() as texts, TextSpool() as places:
            yield ByRule(work, batches, texts, places, lines)
