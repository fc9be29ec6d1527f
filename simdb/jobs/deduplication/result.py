"""Result: the result of `simdb.deduplicate`.

`Deduplicated[DataFrame]` is the result for a DataFrame, and its `data` is a DataFrame.  The type
parameter is the type of the given data, so that one signature serves all kinds of data, without
overloads.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set as AbstractSet, ValuesView
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Protocol, overload

import numpy as np
import numpy.typing as npt

from simdb.core import previews
from simdb.core.arrays import Id, object_array
from simdb.core.arrow import id_array, load_arrow
from simdb.core.checks import share
from simdb.core.choices import DROP, MeasureName
from simdb.core.clusters import Clusters
from simdb.core.dtypes import I64, Bools
from simdb.core.fields import FieldName, distinct, field_named
from simdb.core.foreign import hinting
from simdb.core.keeping import is_missing
from simdb.core.matches import Verification
from simdb.core.skipped import Skipped
from simdb.core.threads import bounded
from simdb.core.values import dataclass, field, replace
from simdb.files import Staying, check_staying, output_format, write_rows, written
from simdb.jobs import report
from simdb.jobs.deduplication.question import Decided, Evidence, NamesAt
from simdb.jobs.deduplication.rows import rows_of

if TYPE_CHECKING:
    # Type checkers know this module even if it is not installed.
    from typing_extensions import TypeVar

    from simdb.core.arrow import Table

    Given = TypeVar("Given")
    Given_co = TypeVar("Given_co", default=Any, covariant=True)
    Row = TypeVar("Row")
else:
    from typing import TypeVar

    Given = TypeVar("Given")
    Given_co = TypeVar("Given_co", covariant=True)


class OfData(Generic[Given_co]):
    """A result; its parameter is the type of the given data."""

    __slots__ = ()


if TYPE_CHECKING:

    class Relation(Protocol):
        """A DuckDB relation, recognised by a method that no other input has."""

        def fetch_arrow_reader(self, batch_size: int = ..., /) -> Any:
            """Return its rows in batches."""

    class data_property:  # noqa: N801 - it is used as `property` is
        """The property `data` of a result, typed by the given data."""

        def __init__(self, survivors: Callable[[Any], Any]) -> None:
            """Take the method that returns the survivors."""

        @overload
        def __get__(self, result: None, owner: type[Any]) -> property: ...
        @overload
        def __get__(
            self,
            result: OfData[str | PathLike[str]]
            | OfData[Sequence[PathLike[str]]]
            | OfData[Relation | None],
            owner: type[Any],
        ) -> Table: ...
        @overload
        def __get__(
            self,
            result: OfData[Iterator[Row]] | OfData[AbstractSet[Row]] | OfData[ValuesView[Row]],
            owner: type[Any],
        ) -> list[Row]: ...
        @overload
        # The survivors can be fewer, so the tuple has no fixed length.
        def __get__(self, result: OfData[tuple[Row, ...]], owner: type[Any]) -> tuple[Row, ...]: ...
        @overload
        def __get__(self, result: OfData[Given], owner: type[Any]) -> Given: ...
        def __get__(self, result: Any, owner: type[Any]) -> Any:
            """Return the survivors of a result."""
            return self if result is None else result.survivors.data

else:
    data_property = property


class Survivors(Protocol):
    """The kept rows of some data."""

    @property
    def data(self) -> Any:
        """The survivors, in the form of the given data."""

    @property
    def staying(self) -> Staying:
        """The files and folders that no other output may replace; see `check_staying`."""

    def write(self, path: str, *, in_place: bool = False) -> None:
        """Write the survivors to a file; see `Deduplicated.write`."""


@dataclass(frozen=True, slots=True, eq=False)
class InMemory:
    """Survivors in memory: data of any kind.

    `text`: the field in files for texts without fields.  `staying`: see `Survivors`.
    """

    data: Any
    text: FieldName
    threads: int | None = None
    staying: Staying = field(default_factory=dict)

    def write(self, path: str, *, in_place: bool = False) -> None:
        """Write the survivors to a file; `in_place` does not matter, since no file holds them."""
        check_staying([path], self.staying, has_folders=True)
        with bounded(self.threads), written(path, output_format(path, "path")) as target:
            names = rows_of(self.data).names
            given = dict(zip(distinct(names), names, strict=True))
            write_rows(self._rows, target, [field_named(self.text).label], given)
            target.finish()

    def _rows(self) -> Iterator[dict[str, Any]]:
        # In pandas, NaN is the only missing number.
        has_nan = not type(self.data).__module__.startswith("pandas")

        def plain(value: Any) -> Any:
            return None if is_missing(value) and not (has_nan and type(value) is float) else value

        for each in rows_of(self.data).records():
            if isinstance(each, Mapping):
                yield {name: plain(value) for name, value in each.items()}
            else:
                value = each.tolist() if isinstance(each, np.ndarray) else plain(each)
                yield {field_named(self.text).label: value}


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The numbers of parts and of removed parts.

    Attributes
    ----------
    unit : str
        "paragraph", "line" or "sentence".
    seen : int
        Number of parts with words.
    short : int
        Number of parts with fewer words than `Unit.min_words`, which are always kept.
    dropped : ndarray
        Number of removed parts of each document: int64[n].
    """

    unit: str
    seen: int
    short: int
    dropped: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Deduplicated(OfData[Given_co]):
    """The survivors of some data, and the duplicates with their matches.

    `data` has the survivors, `removed` and `skipped` are tables, and `report` writes a page with
    the texts.  For type checkers, `Deduplicated[list[str]]` is the result for a list of str.

    Attributes
    ----------
    survivors : object
        The source of `data`.
    kept : ndarray
        Whether each row survived: bool[n].
    groups : Clusters
        The groups of matching rows, by their ids, or by their positions if no ids were given.  The
        survivor is the first member of its group.  With `against`, the first member can also be a
        document of that; such groups precede all others.
    null_count : int
        Number of rows without a text, which `on_null` kept or dropped.
    on_null : str
        The argument `on_null` of the call.
    removed_ids : ndarray
        The ids of the duplicates, in the order of the data: object[k].
    representatives : ndarray
        The id of the row or document that is kept for each duplicate: object[k].
    similarities : ndarray
        The similarity of each duplicate with its representative: float32[k].
    evidence : object
        The texts, or their places in files, for `at` and `report`.
    verification : Verification or None
        The decisions of exact similarities; None with verify="estimate".
    parts : Parts or None
        The numbers of parts, if `unit` is a kind of parts.  Then `data` has the texts without the
        removed parts, and there are no groups and no duplicates.
    is_reference : ndarray or None
        Whether each duplicate matches a document of `against`, with its id in `representatives`:
        bool[k].  None without `against`.
    left_out : Skipped
        The rows that on_error="skip" omitted, which are neither kept nor removed.  In files, an
        omitted record has no place in `kept`.  Its row counts all records, and its id is FILE:LINE
        or the name of the file.
    distances : ndarray or None
        For hashes, whose similarity is NaN: the number of bits in which each duplicate differs from
        its representative, int64[k].  Otherwise None.
    lost : ndarray or None
        With rule="contained": the number of word 3-grams of each duplicate that its representative
        lacks, int64[k].  Otherwise None.
    """

    survivors: Survivors
    kept: npt.NDArray[np.bool_]
    groups: Clusters
    null_count: int
    on_null: str
    removed_ids: npt.NDArray[np.object_]
    representatives: npt.NDArray[np.object_]
    similarities: npt.NDArray[np.float32]
    evidence: Evidence
    verification: Verification | None = None
    parts: Parts | None = None
    is_reference: Bools | None = None
    left_out: Skipped = field(default_factory=Skipped)
    distances: npt.NDArray[np.int64] | None = None
    lost: npt.NDArray[np.int64] | None = None

    if not TYPE_CHECKING:
        __getattr__ = hinting("Deduplicated")

    @data_property
    def data(self) -> Any:
        """The survivors, in the order and form of the given data.

        For files it is a pyarrow.Table, which is read again at each access.
        """
        return self.survivors.data

    def write(self, path: "str | os.PathLike[str]", *, in_place: bool = False) -> None:
        """Write the survivors to a file.

        Lines are copied as they are.  The file gets its name when it is complete.

        Parameters
        ----------
        path : str or path
            A file that ends in .jsonl, .csv, .tsv or .parquet.  All except .parquet can also end in
            .gz or .zst.  If the data are files of records, it can be a folder, which gets a file
            for each source.
        in_place : bool, default False
            Allow `path` to be a file of the data, whose other records are then lost.

        Raises
        ------
        OptionError
            If the ending is unknown, or the file cannot be written.
        InputError
            If a file has changed since it was read.

        Notes
        -----
        Texts without fields get the field "text".  Dates are written as text and missing values as
        null, except to Parquet, which has both.  NaN and infinite numbers are null in JSON lines.
        """
        self.survivors.write(os.fspath(path), in_place=in_place)

    @property
    def measure(self) -> MeasureName:
        """The measure of the similarities: "jaccard", "cosine" (vectors and weights) or None."""
        return self.groups.measure

    @property
    def removed(self) -> Any:
        """The duplicates as a pyarrow.Table, with the columns id, kept and similarity.

        kept is the id of the row that is kept for the duplicate, and similarity float32.  For
        hashes, distance int64, the number of differing bits, replaces similarity.  With
        rule="contained", lost int64 is the number of word 3-grams that the kept row lacks.  With
        `against`, reference bool says whether the kept row belongs to it.  The table omits rows
        that were dropped because they have no text.  Ids of several types become text.
        """
        arrow = load_arrow("the table of what was removed")
        ids = id_array([*self.removed_ids, *self.representatives])
        count, is_unknown = len(self.removed_ids), np.isnan(self.similarities)
        columns: dict[str, Any] = {"id": ids[:count], "kept": ids[count:]}
        if self.distances is None:
            columns["similarity"] = arrow.array(self.similarities, mask=is_unknown)
        else:
            columns["distance"] = self.distances
        if self.lost is not None:
            columns["lost"] = self.lost
        if self.is_reference is not None:
            columns["reference"] = self.is_reference
        return arrow.table(columns)

    @property
    def skipped(self) -> Any:
        """The rows that on_error="skip" omitted, as a pyarrow.Table: row, id, reason."""
        return self.left_out.table()

    def report(self, path: "str | os.PathLike[str]") -> None:
        """Write a page that shows each removed text next to the text that is kept for it.

        The page is one HTML file that loads nothing else.  It has a search, marks the words that
        differ, and begins with the least similar pairs; it has at most 2,000 pairs.  The text of a
        document that was already stored in `db` is unknown.

        Parameters
        ----------
        path : str or path
            The HTML file.

        Raises
        ------
        OptionError
            If jinja2 is not installed, or the file cannot be written.
        InputError
            If a file has changed since it was read.
        """
        place = os.fspath(path)
        check_staying([place], self.survivors.staying, has_folders=True)
        report.page.check_page(place)
        sides = self.removed_ids, self.representatives
        pairs = self.evidence.pairs(*sides, self.similarities, self.lost)
        measure = None if self.verification is None else self.verification.measure
        rule = report.page.rule_in_words(measure, self.evidence.least)
        page = report.page.render_removed(len(self.kept), len(self.removed_ids), rule, pairs)
        report.page.write_page(page, place)

    def at(self, similarity: float) -> "Deduplicated[Given_co]":
        """Return the result at a higher similarity, without a new search.

        The new result also keeps each removed row whose similarity with its representative is lower
        than `similarity`.  It does not change anything else.

        Parameters
        ----------
        similarity : float
            The new threshold.

        Returns
        -------
        Deduplicated
            The new result.

        Raises
        ------
        OptionError
            If the similarity is lower than that of this result.  If this result was decided by
            distance, with policy="connected", or with `db`, which has not stored the rows that
            would be kept.

        Notes
        -----
        A new search at that similarity would also compare the additional kept rows with all rows.
        Its result differs only if such a row matches another row.
        """
        share("similarity", similarity)
        self.evidence.check_stricter(similarity)
        found: Deduplicated[Given_co] = self.evidence.again(
            self.similarities >= np.float32(similarity)
        )
        counts = self.verification
        return replace(
            found, evidence=replace(found.evidence, least=similarity),
            verification=None if counts is None else replace(counts, least=similarity),
        )  # fmt: skip

    def __len__(self) -> int:
        """Count the survivors."""
        return int(np.count_nonzero(self.kept))

    def __repr__(self) -> str:
        """Return the counts in two lines."""
        if self.parts is not None:
            return self._repr_of_parts(self.parts)
        count, groups = len(self.removed_ids), previews.counted(len(self.groups), "group")
        first = (
            f"<simdb.Deduplicated: {len(self):,} of {len(self.kept):,} rows kept, {count:,} removed"
            f" in {groups}"
        )
        if self.is_reference is not None:
            first += f", {np.count_nonzero(self.is_reference):,} for the reference"
        done = "dropped" if self.on_null == DROP else "kept"
        parts = [f"{self.null_count:,} without text {done}"] if self.null_count else []
        if len(self.left_out):
            parts.append(f"{len(self.left_out):,} skipped")
        if self.verification is not None:
            parts.append(
                f"{self.verification.measure} similarity of at least {self.verification.least:g},"
                f" {previews.counted(self.verification.judged, 'pair')} compared exactly"
            )
        return f"{first}\n {'; '.join(parts)}>" if parts else f"{first}>"

    def _repr_html_(self) -> str:
        """Return the counts, and a table of the least similar removed rows, for notebooks."""
        text = " ".join(repr(self)[1:-1].split())
        if not len(self.removed_ids):
            return previews.paragraph(text)
        order = np.argsort(self.similarities, kind="stable")[: previews.SHOWN_ROWS]
        columns = self.removed_ids, self.representatives, self.similarities
        rows = zip(*(column[order].tolist() for column in columns), strict=True)
        names = ("removed", "stays", "similarity")
        return previews.table(text, names, rows, len(self.removed_ids))

    def _repr_of_parts(self, parts: Parts) -> str:
        dropped, unit = int(parts.dropped.sum()), parts.unit
        skipped = f"; {len(self.left_out):,} skipped" if len(self.left_out) else ""
        changed = int(np.count_nonzero(parts.dropped))
        return (
            f"<simdb.Deduplicated: {len(self):,} of {len(self.kept):,} rows kept, {dropped:,} of"
            f" {previews.counted(parts.seen, unit)} dropped from {changed:,}\n"
            f" {parts.short:,} too short to be dropped{skipped}>"
        )


@dataclass(frozen=True, slots=True)
class RowMatches:
    """The duplicates that a search has found, and their groups, by the ids of documents.

    `removed` int64[k]: the duplicates.  `representatives` object[k]: the id kept for each.
    `similarities` float32[k], `distances` and `lost` int64[k] are between both; the last two may be
    None.  `leaders` int64[k]: the row kept for each; None if it may be a stored document.  `order`:
    the compared rows, the preferred first.
    """

    removed: npt.NDArray[np.int64]
    representatives: list[Id]
    similarities: npt.NDArray[np.float32]
    groups: Clusters
    leaders: I64 | None = None
    order: I64 | None = None
    distances: I64 | None = None
    lost: I64 | None = None

    def chosen(self, is_chosen: Bools, names: NamesAt) -> "RowMatches":
        """Return the matches of only the flagged duplicates: bool[k]."""
        assert self.leaders is not None, "what stays is a row"
        found = self.removed, self.leaders, self.similarities, self.distances
        decided = Decided(*found, self.groups.verification, self.lost)
        return found_of(decided.chosen(is_chosen), self.order, names)


def found_of(decided: Decided, order: I64 | None, names: NamesAt) -> RowMatches:
    """Return the decisions about rows, by their `names`; `order`: see `Decided.groups`."""
    offsets, members, _ = decided.groups(order)
    groups = Clusters(offsets, object_array(list(names(members))), decided.verification)
    leaders, representatives = decided.leaders, list(names(decided.leaders))
    return RowMatches(
        decided.removed, representatives, decided.similarities, groups, leaders, order,
        decided.distances, decided.lost,
    )  # fmt: skip
