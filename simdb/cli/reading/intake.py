"""Intake: records in batches of bounded size, counted, their problems reported."""

from collections import Counter
from collections.abc import Iterator

from simdb.cli.output.progress import Progress
from simdb.cli.output.render import quantity
from simdb.cli.reading.markup_hint import markup_hint
from simdb.cli.reading.records import Found, Problem, Record
from simdb.text_sketch import TextSketch

BATCH_DOCUMENTS = 8192
BATCH_BYTES = 1 << 25
# A source of the wrong kind has as many problems as records; more lines would tell nothing new.
REPORTED_PROBLEMS = 100


class Intake:
    """Takes in what a source gives; counts `documents`, `size_bytes` and what was `skipped`."""

    def __init__(self, found: Found, progress: Progress) -> None:
        """`progress` shows how far it is and says what is wrong."""
        self._found = found
        self._progress = progress
        self._problems: Counter[str] = Counter()
        self._has_hinted = False
        self.documents = 0
        self.size_bytes = 0
        self.skipped = 0

    def batches(self, sketch: TextSketch) -> Iterator[list[Record]]:
        """All records, some thousands at a time, which will be sketched by `sketch`."""
        batch: list[Record] = []
        size = 0
        for each in self._found:
            if isinstance(each, Problem):
                self._report(each)
                continue
            self._look_at(each, sketch)
            batch.append(each)
            size += each.size_bytes
            if len(batch) == BATCH_DOCUMENTS or size >= BATCH_BYTES:
                yield self._counted(batch, size)
                batch, size = [], 0
        if batch:
            yield self._counted(batch, size)
        for source, count in self._problems.items():
            if count > REPORTED_PROBLEMS:
                self._progress.note(f"{source}: {count - REPORTED_PROBLEMS:,} more like these")

    def skipped_note(self) -> str:
        """What the summary says of what was skipped: nothing, or that it is above."""
        if not self.skipped:
            return ""
        return f"; {quantity(self.skipped, 'bad file')} or records skipped, reported above"

    def _counted(self, batch: list[Record], size: int) -> list[Record]:
        self.documents += len(batch)
        self.size_bytes += size
        megabytes = self.size_bytes / 1e6
        self._progress.show(f"{quantity(self.documents, 'document')}, {megabytes:,.0f} MB")
        return batch

    def _look_at(self, record: Record, sketch: TextSketch) -> None:
        if not self._has_hinted:
            hint = markup_hint(record.text, record.where, sketch)
            if hint is not None:
                self._has_hinted = True
                self._progress.note(hint)

    def _report(self, problem: Problem) -> None:
        self.skipped += 1
        if problem.source:
            self._problems[problem.source] += 1
        if self._problems[problem.source] <= REPORTED_PROBLEMS:
            self._progress.note(f"{problem.where}: {problem.reason}")
