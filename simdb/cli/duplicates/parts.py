"""Parts: takes paragraphs, lines or sentences that occurred before out of the documents."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

import simdb
from simdb.cli.duplicates.work import DedupWork, Outcome
from simdb.cli.options.opening import begin_write, open_or_create
from simdb.cli.options.sketch_options import Given, allowed, check_given, make_sketch
from simdb.cli.output.render import quantity
from simdb.deduplication.dropping import PartsRun
from simdb.deduplication.result import Parts
from simdb.deduplication.sieve import DOCUMENT, NAMELESS, UNITS, Dropped, Sieve, UnitKeys
from simdb.ground.checks import one_of
from simdb.ground.errors import OptionError
from simdb.outputs.formats import FOLDER, PATHS
from simdb.outputs.rows import Row
from simdb.running.threads import thread_count
from simdb.settings.text_sketch import UNITS as TOKEN_UNITS
from simdb.settings.text_sketch import TextSketch
from simdb.sources.batch import Batch
from simdb.sources.read_again import Names
from simdb.sources.records import SourceOptions

# The rows of so many documents are made at a time.
NAMED_DOCUMENTS = 1 << 14


def taken_unit(sketch: Given) -> str:
    """Return the unit that --unit asks for, and take it from the options of the sketch.

    There --unit says what a token is; then the unit is a document.
    """
    given = sketch.get("unit", DOCUMENT)
    one_of("--unit", given, (*UNITS, *TOKEN_UNITS))
    return DOCUMENT if given in TOKEN_UNITS else str(sketch.pop("unit", DOCUMENT))


class PartsJob:
    """What `--unit` asks of a run of `simdb dedup`."""

    def __init__(self, work: DedupWork, unit: str, min_words: int, reading: SourceOptions) -> None:
        """Take the options; OptionError for one that has no meaning here."""
        self._work, self._unit, self._min_words, self._reading = work, unit, min_words, reading
        if work.results.show is not None:
            raise OptionError("--show shows texts that are alike; leave it out with --unit")
        survivors = work.survivors
        if survivors is not None and survivors.target.form.kind in (FOLDER, PATHS):
            raise OptionError(
                "with --unit, documents that are files are written as records, each with its id and"
                " its text; let -o FILE end in .jsonl, .csv, .tsv or .parquet"
            )

    def drop(self, sketch: Given) -> Outcome:
        """Put a row for each document that loses parts into the rows; write what is left."""
        return self._dropped(self._sieve(make_sketch(sketch), is_stored=False), None)

    def drop_against(
        self, path: str, sketch: Given, allow: Sequence[str] | None, *, must_exist: bool
    ) -> Outcome:
        """Do the same against the parts that earlier runs have stored in the database at `path`."""
        work = self._work

        def try_out(database: simdb.Database) -> None:
            check_given(sketch, database.options.sketch, path)
            self._sieve(database.options.sketch, is_stored=True)

        with (
            open_or_create(
                path, make_options=lambda: simdb.Options(sketch=make_sketch(sketch)),
                try_out=try_out, intake=work.intake,
                allow=allowed(sketch, allow), must_exist=must_exist,
            ) as database,
            begin_write(database, work.progress) as transaction,
        ):  # fmt: skip
            sieve = self._sieve(database.options.sketch, is_stored=True)
            return self._dropped(sieve, UnitKeys(transaction, self._unit))

    def _sieve(self, sketch: TextSketch, *, is_stored: bool) -> Sieve:
        self._sketch = sketch
        return Sieve(
            sketch, self._unit, self._min_words, errors=self._reading.errors,
            threads=thread_count(), is_stored=is_stored,
            alike=None if self._work.given.similarity is None else self._work.question(sketch),
        )  # fmt: skip

    def _dropped(self, sieve: Sieve, stored: UnitKeys | None) -> Outcome:
        work, survivors, outcome = self._work, self._work.survivors, Outcome()
        with Names() as names, PartsRun(sieve, work.origins, survivors) as run:
            for _ in run.read(_named(work.intake.batches(self._sketch), names)):
                pass
            work.progress.begin("finding parts that occurred before")
            names.settle(work.progress.note)
            if stored is not None:
                sieve.settle(stored, work.run or NAMELESS)
            sieve.settle_alike()
            dropped = sieve.dropped()
            outcome.stored = int(np.count_nonzero(dropped.kept))
            outcome.duplicates, outcome.renamed = int(dropped.counts.sum()), names.renamed
            outcome.parts = Parts(self._unit, int(sieve.spoken.sum()), sieve.short, dropped.counts)
            if work.rows is not None:
                for row in _rows(dropped, sieve, names):
                    work.rows.add(row)
            if survivors is not None:
                work.progress.begin("writing what is left")
                run.change(dropped, survivors.sources, self._reading.text_field)
                run.write(dropped.kept, survivors)
        return outcome


def parts_counts(outcome: Outcome, parts: Parts) -> list[str]:
    """Return what the summary of a run counts of parts."""
    changed = int(np.count_nonzero(parts.dropped))
    left_out = len(parts.dropped) - outcome.stored
    counts = [
        quantity(parts.seen, parts.unit),
        f"{outcome.duplicates:,} dropped from {quantity(changed, 'document')}",
    ]
    return [*counts, f"{left_out:,} left out"] if left_out else counts


def _named(batches: Iterable[Batch], names: Names) -> Iterator[Batch]:
    """Yield all batches, and take the ids of their documents."""
    for batch in batches:
        names.add(batch)
        yield batch


def _rows(dropped: Dropped, sieve: Sieve, names: Names) -> Iterator[Row]:
    """Yield a row for each document that loses parts, in the order of the input."""
    spoken, positions = sieve.spoken, np.flatnonzero(dropped.counts)
    for start in range(0, len(positions), NAMED_DOCUMENTS):
        some = positions[start : start + NAMED_DOCUMENTS]
        columns = names.of(some), spoken[some].tolist(), dropped.counts[some].tolist()
        for id, parts, lost in zip(*columns, strict=True):
            yield {"id": id, "parts": parts, "dropped": lost, "left": parts - lost}
