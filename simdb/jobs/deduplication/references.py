"""References: what `against=` says, as the texts that data are compared with."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from simdb import database
from simdb.core.arrays import class_of
from simdb.core.checks import shown
from simdb.core.choices import KEEP
from simdb.core.errors import InputError, OptionError
from simdb.core.fields import FieldName
from simdb.core.options import Options
from simdb.core.skipped import Skipped
from simdb.files import AMOUNT, STANDARD_INPUT, Origins, expanded, is_under, valid_name
from simdb.jobs.deduplication.files import Files, paths_of, reading_of, sources_of
from simdb.jobs.deduplication.question import DedupQuestion
from simdb.jobs.deduplication.reference import DatabaseReference, FileReference, Listed, Reference
from simdb.jobs.deduplication.rows import DataRows, Values, own_ids, rows_of
from simdb.jobs.deduplication.texts import RowTexts, readable_texts
from simdb.storage import is_database


@contextmanager
def reference_of(
    against: Any, data: Any, text: FieldName, id: Any, question: DedupQuestion
) -> Iterator[Reference | None]:
    """Yield what `against` says, None for None; it can be used until `data` are compared.

    What names and texts of it need stays until the object goes.  Raises InputError for what is no
    reference, and for a file that is one of `data`, too.
    """
    if against is None:
        yield None
    elif isinstance(against, database.Database):
        yield DatabaseReference(against)
    elif (paths := paths_of(against)) is None:
        yield _listed(against, text, id, question)
    elif len(paths) == 1 and is_database(paths[0]):
        with database.open(paths[0], "r") as held:
            yield DatabaseReference(held)
    else:
        yield _read(paths, paths_of(data), text, id, question)


def check_apart(sources: Sequence[str], against: Sequence[str]) -> None:
    """Raise InputError for a source that is in `against`, too, or a database among others there."""
    own = {_place(source): source for source in sources}
    for each in against:
        if is_database(each):
            raise InputError(
                f"{valid_name(each)} is a database, which is a reference by itself; give it alone"
            )
        place = _place(each)
        twice = [source for at, source in own.items() if is_under(at, [place])]
        if twice or is_under(place, own):
            raise InputError(
                f"{valid_name(twice[0] if twice else each)} is in the data and in what they are"
                " compared with, where all of it would go; leave it out of one of the two"
            )


def options_of(reference: Reference | None, given: Options | None) -> Options | None:
    """Return the options of the database of a reference, and otherwise those `given`.

    Raises OptionError if such a database makes other sketches than those asked for.
    """
    if not isinstance(reference, DatabaseReference):
        return given
    check_sketch(reference.held, given)
    return reference.held.options


def check_sketch(held: database.Database, given: Options | None) -> None:
    """Raise OptionError if a database makes other sketches than those asked for."""
    if given is not None and held.options.sketch != given.sketch:
        raise OptionError(
            f"{held.path} makes its sketches with {held.options.sketch}; leave out sketch= and"
            " options=, or use another database"
        )


def ids_in(rows: DataRows, id: object) -> Sequence[Any]:
    """Return the ids of rows: the keys of a dict, what a field `id` has, or else positions."""
    own = own_ids(rows)
    if own is not None:
        return own
    if isinstance(id, str | tuple) and not isinstance(rows, Values):
        try:
            return rows.column(id)
        except OptionError:
            pass
    return range(len(rows))


def _listed(against: Any, text: FieldName, id: Any, question: DedupQuestion) -> Listed:
    """Return a reference in memory."""
    skipped = question.skipped.other()
    try:
        rows = rows_of(against, skipped)
    except InputError as error:
        raise InputError(
            "against must be texts, rows, a dict of texts by id, paths or a simdb.Database, as"
            f" deduplicate() takes data; got {class_of(against)} {shown(against)}"
        ) from error
    ids = ids_in(rows, id)
    found = Listed(_texts(rows, text, skipped, question), ids)
    skipped.named(ids).warn("against")
    return found


def _texts(rows: DataRows, text: FieldName, skipped: Skipped, question: DedupQuestion) -> RowTexts:
    try:
        values = rows.texts(text) if len(rows) else []
        return readable_texts(values, skipped, None, question.encoding, question.errors)
    except OptionError as error:
        raise OptionError(f"against: {error}; {_same(text)}") from error
    except InputError as error:
        raise InputError(f"against: {error}") from error


def _read(
    paths: Sequence[str],
    data: Sequence[str] | None,
    text: FieldName,
    id: Any,
    question: DedupQuestion,
) -> FileReference:
    """Return a reference in files; `data`: the paths of the data, None for data in memory."""
    origins, own = Origins(), id if isinstance(id, str) else None
    reading = replace(
        reading_of(
            own, text, question.encoding, question.errors, KEEP, threads=question.threads,
            memory=question.memory,
        ),
        origins=origins, has_lines=False,
    )  # fmt: skip
    try:
        sources = sources_of(paths, reading)
    except InputError as error:
        raise InputError(f"against: {error}") from error
    check_apart(expanded(data or []), sources)

    def batches() -> Iterator[Any]:
        try:
            skipped = question.skipped.other()
            yield from Files(sources, reading, skipped).batches()
            skipped.named().warn("against")
        except InputError as error:
            remedy = f"; {_same(text)}" if "text=" in str(error) else ""
            raise InputError(f"against: {error}{remedy}") from error

    return FileReference(batches(), origins, AMOUNT.expected_documents(sources), sources)


def _same(text: FieldName) -> str:
    """Return what to do if the texts of data and reference are in different fields."""
    return (
        f"text={text!r} names the field with the texts in data and in against; where it has another"
        " name, give both, such as text='text|body', or give against= a list of texts"
    )


def _place(source: str) -> str:
    return source if source == STANDARD_INPUT else os.path.realpath(source)
