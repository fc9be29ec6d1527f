"""Reference: the texts with which data are compared; they are never removed, stored or written.

The documents of a reference have positions of their own.  The leader of a row is -1 - p if the row
matches the document at the position p of a reference.
"""

import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any, NoReturn, Protocol

import numpy as np

from simdb import database
from simdb.core.arrays import Id, class_of, object_array
from simdb.core.arrow import TextColumn, joined
from simdb.core.checks import shown
from simdb.core.choices import KEEP
from simdb.core.dtypes import I64, Bools
from simdb.core.errors import InputError, OptionError
from simdb.core.fields import FieldName
from simdb.core.options import Bits, Options
from simdb.core.skipped import Skipped
from simdb.files import AMOUNT, Batch, Names, Origins, Staying, TextsAgain, check_apart, expanded
from simdb.jobs.deduplication.files import Files, not_pickled, paths_of, reading_of, sources_of
from simdb.jobs.deduplication.question import DedupQuestion
from simdb.jobs.deduplication.rows import (
    DataRows,
    RowHashes,
    RowTexts,
    Values,
    own_ids,
    readable_texts,
    rows_of,
)
from simdb.storage import is_database


class Reference(Protocol):
    """The documents of a reference, by their positions."""

    @property
    def staying(self) -> Staying:
        """The files and folders of the documents; see `check_staying`."""

    @property
    def expected(self) -> float:
        """The approximate number of documents."""

    def portions(self) -> Iterator[Any]:
        """Yield the texts of all documents in portions, once; an empty text for a null."""

    def texts(self, positions: I64) -> Any:
        """Return the texts at given positions, None for an unknown text."""

    def names(self, positions: I64) -> Sequence[Any]:
        """Return the ids at given positions."""


def unknown(documents: Sequence[Any] | I64) -> list[None]:
    """Return None for each document, since the texts of stored documents are unknown."""
    return [None] * len(documents)


class Listed:
    """A reference in memory."""

    def __init__(self, rows: RowTexts, ids: Sequence[Any]) -> None:
        """Take the texts `rows`, and the id of each."""
        self.rows, self._ids = rows, ids
        self.staying: Staying = {}

    @property
    def expected(self) -> float:
        """The number of documents."""
        return len(self.rows)

    def portions(self) -> Iterator[Any]:
        """Yield the texts of all documents in portions; see `Reference`."""
        return self.rows.batches()

    def texts(self, positions: I64) -> Any:
        """Return the texts at given positions; the text of a null is empty."""
        return self.rows.filled(positions)

    def names(self, positions: I64) -> list[Any]:
        """Return the ids at given positions."""
        return [self._ids[place] for place in positions.tolist()]


class FileReference:
    """A reference in files, without texts in memory; it removes its temporary files at its end."""

    def __init__(
        self, batches: Iterable[Batch], origins: Origins, expected: float, files: Sequence[str]
    ) -> None:
        """Read `batches` of the documents of `files`.

        `origins`: the places of lines that are read again; this object frees them.
        """
        self._batches, self.expected, self.staying = batches, expected, {"in against=": files}
        held = ExitStack()
        weakref.finalize(self, held.close)
        held.enter_context(origins)
        self._names, self._texts = Names(), TextsAgain(origins)
        for each in (self._names, self._texts):
            held.push(each)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        raise not_pickled()

    def portions(self) -> Iterator[Any]:
        """Yield the texts of all documents in portions; see `Reference`."""
        for batch in self._batches:
            self._names.add(batch)
            self._texts.add(batch)
            yield batch.texts

    def texts(self, positions: I64) -> Any:
        """Return the texts at given positions; raise InputError if a file has changed."""
        return self._texts.texts(positions.astype(np.uint32))

    def names(self, positions: I64) -> list[Any]:
        """Return the ids at given positions, as they were read."""
        return self._names.of(positions, as_read=True)


class DatabaseReference:
    """The documents of a database as a reference; only matched documents have positions."""

    expected = 0.0  # `portions` yields no documents

    def __init__(self, held: "database.Database") -> None:
        """Compare with the documents of `held`."""
        self.held = held
        self.staying: Staying = {}
        # Returns the texts of documents by their ids.
        self.known: Callable[[list[Id]], Sequence[Any]] = unknown
        if held.options.texts:
            self.known = held.texts_many
        self._positions: dict[Id, int] = {}
        self._ids: list[Id] = []

    @property
    def is_exact(self) -> bool:
        """Whether stored texts or features can decide matches exactly."""
        return self.known is not unknown or self.held.options.decides

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the database, which is no longer needed."""
        known = unknown if self.held.options.texts else self.known
        return vars(self) | {"held": None, "known": known}

    def portions(self) -> Iterator[Any]:
        """Yield nothing: only the matched texts of a database are read."""
        return iter(())

    def texts(self, positions: I64) -> Sequence[Any]:
        """Return the texts at given positions, None for an unknown text."""
        return self.known(self.names(positions))

    def names(self, positions: I64) -> list[Id]:
        """Return the ids at given positions."""
        return [self._ids[place] for place in positions.tolist()]

    def numbers(self, ids: Sequence[Id]) -> I64:
        """Return the positions of stored documents; a new id gets the next position."""
        found = np.empty(len(ids), np.int64)
        for at, id in enumerate(ids):
            found[at] = self._positions.setdefault(id, len(self._ids))
            if found[at] == len(self._ids):
                self._ids.append(id)
        return found


def either(
    positions: I64, own: Callable[[I64], Any], other: Callable[[I64], Any]
) -> "TextColumn | Sequence[Any]":
    """Return the values of `own` for rows of data, and of `other` for documents of a reference.

    Positions below 0 are of a reference: -1 - p for its position p.
    """
    is_own: Bools = positions >= 0
    if is_own.all():
        found: TextColumn | Sequence[Any] = own(positions)
        return found
    before = other(-1 - positions[~is_own])
    if not is_own.any():
        return before  # type: ignore[no-any-return]
    after = own(positions[is_own])
    columns = [each for each in (before, after) if isinstance(each, TextColumn)]
    if len(columns) == 2:
        places = np.where(is_own, np.cumsum(is_own) + len(before), np.cumsum(~is_own)) - 1
        return joined(columns).chosen(places)
    made = np.empty(len(positions), object)
    made[~is_own], made[is_own] = object_array(list(before)), object_array(list(after))
    return list(made)


@contextmanager
def reference_of(
    against: Any, data: Any, text: FieldName, id: Any, question: DedupQuestion
) -> Iterator[Reference | None]:
    """Yield the reference that `against` names, None for None; a database is closed afterwards.

    Names and texts in files can be read as long as the object exists.  Raises InputError for an
    object that cannot be a reference, and for a file that is also one of `data`.
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


def options_of(reference: Reference | None, given: Options | None) -> Options | None:
    """Return the options of the database of a reference; `given` for any other reference.

    Raises OptionError if the database makes other sketches than `given` asks for.
    """
    if not isinstance(reference, DatabaseReference):
        return given
    check_sketch(reference.held, given)
    return reference.held.options


def check_sketch(held: "database.Database", given: Options | None) -> None:
    """Raise OptionError if a database makes other sketches than `given` asks for."""
    own = held.options.sketch
    plain = Bits(own.bits) if isinstance(own, Bits) else own  # any order of bits will do
    if given is not None and given.sketch not in (own, plain):
        raise OptionError(
            f"{held.path} makes its sketches with {own}; leave out sketch=, or use another database"
        )


def ids_in(rows: DataRows, id: object) -> Sequence[Any]:
    """Return the ids of rows: the keys of a dict, else the field `id`, else positions."""
    own = own_ids(rows)
    if own is not None:
        return own
    if isinstance(id, str | tuple) and not isinstance(rows, Values):
        with suppress(OptionError):
            return rows.column(id)
    return range(len(rows))


def _listed(against: Any, text: FieldName, id: Any, question: DedupQuestion) -> Listed:
    """Return a reference in memory."""
    skipped = question.skipped.other()
    try:
        rows = rows_of(against, skipped, are_hashes=question.hashes is not None)
    except InputError as error:
        raise InputError(
            "against must be texts, rows, a dict of texts by id, paths or a simdb.Database, as"
            f" deduplicate() takes data; got {class_of(against)} {shown(against)}"
        ) from error
    ids = ids_in(rows, id)
    texts, chosen = _texts(rows, text, skipped, question), ids
    if isinstance(texts, RowHashes):
        known = np.flatnonzero(~(texts.is_null | skipped.flags(len(texts))))
        texts = RowHashes(texts.hashes[known], texts.is_null[known])
        chosen = [ids[row] for row in known.tolist()]
    skipped.named(ids).warn("against")
    return Listed(texts, chosen)


def _texts(rows: DataRows, text: FieldName, skipped: Skipped, question: DedupQuestion) -> RowTexts:
    with naming(text):
        values = rows.texts(text) if len(rows) else []
        if question.hashes is not None:
            return RowHashes.read(values, question.hashes, skipped)
        return readable_texts(values, skipped, None, question.encoding, question.errors)


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
            memory=question.memory, hashes=question.hashes,
        ),
        origins=origins, has_lines=False,
    )  # fmt: skip
    with naming():
        sources = sources_of(paths, reading)
    check_apart(expanded(data or []), sources)

    def batches() -> Iterator[Any]:
        with naming(text):
            skipped = question.skipped.other()
            for batch in Files(sources, reading, skipped, hashes=question.hashes).batches():
                has_nulls = question.hashes is not None and batch.nulls is not None
                yield batch.chosen(np.flatnonzero(batch.nulls == 0)) if has_nulls else batch
            skipped.named().warn("against")

    return FileReference(batches(), origins, AMOUNT.expected_documents(sources), sources)


@contextmanager
def naming(text: FieldName | None = None) -> Iterator[None]:
    """Let errors about rows name against= instead of data.

    `text`: the field with the texts, for a hint if the reference has none of that name.
    """
    try:
        yield
    except (InputError, OptionError) as error:
        said = re.sub("^data ", "against ", str(error).replace(" in data;", ";"))
        said = said if said.startswith(("against ", "against: ")) else f"against: {said}"
        if text is not None and ("no field" in said or "text=" in said):
            said += f"; text={text!r} names the field of both: give two, such as text='text|body',"
            said += " or give against= a list of texts"
        raise type(error)(said) from error
