"""Groups: finds the groups of near-duplicates within the input, by the library's main job."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np

import simdb
from simdb.cli.duplicates.beginnings import text_beginning
from simdb.cli.duplicates.names import Names
from simdb.cli.duplicates.preference import Preference
from simdb.cli.duplicates.read_again import LinesAgain, TextsAgain
from simdb.cli.duplicates.work import LARGEST_SHOWN, Outcome, Work
from simdb.cli.options.sketch_options import Given, make_sketch
from simdb.cli.output.render import rounded
from simdb.cli.reading.short_hint import is_default
from simdb.deduplication.decided import I64, Decided
from simdb.deduplication.within import within
from simdb.outputs.rows import Row
from simdb.text_column import TextColumn

# The rows of groups of so many documents are made at a time.
NAMED_DOCUMENTS = 1 << 14


def find_groups(work: Work, given: Given) -> Outcome:
    """Put the groups of documents into the rows, and write all other documents to the survivors.

    The representative of each group survives, too.  `given` are the sketch options.
    """
    options = simdb.Options(sketch=make_sketch(given))
    question = work.question(options.sketch)
    preference, outcome = Preference(work.keep), Outcome()
    needs_texts = question.is_exact or work.show is not None
    with (
        within(options, question) as documents,
        Names() as names,
        LinesAgain(work.origins, work.folder) as lines,
        TextsAgain(work.origins) if needs_texts else nullcontext() as again,
    ):
        notes_short = is_default(options, question.similarity, question.distance)

        def read() -> Iterator[list[str] | TextColumn]:
            for batch in work.intake.batches(options.sketch, notes_short=notes_short):
                names.add(batch)
                preference.add(batch)
                lines.add(batch, work.lines(batch))
                if again is not None:
                    again.add(batch)
                yield batch.texts

        def texts(positions: I64) -> Any:
            assert again is not None, "only what texts decide asks for them"
            return again.texts(positions.astype(np.uint32))

        for outcome.stored in documents.add_all(read(), work.intake.expected, errors="strict"):
            pass
        names.settle(work.progress)
        outcome.renamed, outcome.empty = names.renamed, documents.empty_count
        work.progress.begin("finding groups")
        order = preference.order(names.where)
        decided = documents.decide(order, texts)
        work.progress.timings.note = documents.way
        work.progress.begin("naming the documents of groups")
        outcome.add_verification(decided.verification)

        def beginnings(positions: I64) -> list[str]:
            return [text_beginning(text, work.show or 0) or "" for text in texts(positions)]

        read_beginnings = None if work.show is None else beginnings
        if work.rows is not None:
            for row in group_rows(decided, order, names, read_beginnings):
                work.rows.add(row)
        _count_groups(outcome, decided, names)
        work.check_share(outcome)
        if work.survivors:
            work.progress.begin("writing what is kept")
            is_kept = np.ones(outcome.stored, np.bool_)
            is_kept[decided.removed] = False
            lines.copy(is_kept, work.survivors)
            work.survivors.finish()
    return outcome


def _count_groups(outcome: Outcome, decided: Decided, names: Names) -> None:
    """Count the groups, and name the largest."""
    leaders, sizes = np.unique(decided.leaders, return_counts=True)
    outcome.groups, outcome.duplicates = len(leaders), len(decided.removed)
    largest = np.argsort(-sizes, kind="stable")[:LARGEST_SHOWN]
    named = zip(sizes[largest].tolist(), names.of(leaders[largest]), strict=True)
    outcome.largest = [(size + 1, str(name)) for size, name in named]


def group_rows(
    decided: Decided, order: I64 | None, names: Names, read: Callable[[I64], list[str]] | None
) -> Iterator[Row]:
    """Yield a row for each group: its representative, its size and its other documents.

    `read` returns the beginnings of texts, which the rows then have; None for rows without texts.
    """
    offsets, members, places = decided.groups(order)
    for first, end in _portions(offsets):
        part = slice(int(offsets[first]), int(offsets[end]))
        found = _matches(decided, places[part], names.of(members[part]))
        if read is not None:
            for row, text in zip(found, read(members[part]), strict=True):
                row["text"] = text
        for start, stop in pairwise(offsets[first : end + 1].tolist()):
            one, *others = found[start - part.start : stop - part.start]
            shown = {} if read is None else {"text": one["text"]}
            size = stop - start
            yield {"representative": one["id"], **shown, "size": size, "duplicates": others}


def _portions(offsets: I64) -> Iterator[tuple[int, int]]:
    """Yield the first group, and the one after the last, of groups of a bounded size in all."""
    first, count = 0, len(offsets) - 1
    while first < count:
        end = int(np.searchsorted(offsets, offsets[first] + NAMED_DOCUMENTS, "right")) - 1
        end = min(max(end, first + 1), count)
        yield first, end
        first = end


def _matches(decided: Decided, places: I64, ids: list[str | int]) -> list[Row]:
    """Return a row for each document of some groups; that of one that stays has only its id."""
    if not len(decided.removed):
        return []
    # Documents that texts decide have no fingerprints.
    distances = (
        [None] * len(ids) if decided.distances is None else decided.distances[places].tolist()
    )
    triples = zip(ids, distances, decided.similarities[places].tolist(), strict=True)
    return [
        {"id": id, "distance": distance, "similarity": rounded(similarity)}
        for id, distance, similarity in triples
    ]
