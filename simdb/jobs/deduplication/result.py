"""Result: what `simdb.deduplicate` gives back.

`Deduplicated[DataFrame]` is the result for a DataFrame, and its `data` is one too.  What was given
decides, not what comes back, so that the functions need no overloads, each with all arguments.
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
    """A result for some data; its type says of which."""

    __slots__ = ()


if TYPE_CHECKING:

    class Relation(Protocol):
        """A relation of DuckDB, by a method that nothing else has."""

        def fetch_arrow_reader(self, batch_size: int = ..., /) -> Any:
            """Return its rows in batches."""

    class data_property:  # noqa: N801 - it is used as `property` is
        """A property of a result: the survivors."""

        def __init__(self, survivors: Callable[[Any], Any]) -> None:
            """Take the method that returns them."""

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
        # The survivors can be fewer.
        def __get__(self, result: OfData[tuple[Row, ...]], owner: type[Any]) -> tuple[Row, ...]: ...
        @overload
        def __get__(self, result: OfData[Given], owner: type[Any]) -> Given: ...
        def __get__(self, result: Any, owner: type[Any]) -> Any:
            """Return the survivors of a result."""
            return self if result is None else result.survivors.data

else:
    data_property = property


class Survivors(Protocol):
    """What stays of some data."""

    @property
    def data(self) -> Any:
        """The survivors, of the kind that was given."""

    @property
    def staying(self) -> Staying:
        """Files and folders that no other output replaces; see `check_staying`."""

    def write(self, path: str, *, in_place: bool = False) -> None:
        """Write them to a file, see `Deduplicated.write`."""


@dataclass(frozen=True, slots=True, eq=False)
class InMemory:
    """Survivors in memory: data of any kind; `text`: the field of texts that have no fields.

    `staying`: see `Survivors`.
    """

    data: Any
    text: FieldName
    threads: int | None = None
    staying: Staying = field(default_factory=dict)

    def write(self, path: str, *, in_place: bool = False) -> None:
        """Write them to a file; they are in none that `in_place` could mean."""
        check_staying([path], self.staying, has_folders=True)
        with bounded(self.threads), written(path, output_format(path, "path")) as target:
            names = rows_of(self.data).names
            given = dict(zip(distinct(names), names, strict=True))
            write_rows(self._rows, target, [field_named(self.text).label], given)
            target.finish()

    def _rows(self) -> Iterator[dict[str, Any]]:
        # Pandas has no other word for a missing number than NaN.
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
    """The parts of documents by `unit`, paragraphs, lines or sentences, and how many were removed.

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
    """The survivors of some data, and what became of the other rows.

    For type checkers, `Deduplicated[list[str]]` is the result for data of this type.  `data` has
    the survivors, `removed` and `skipped` are tables, and `report` writes a page with the texts.

    Attributes
    ----------
    survivors : object
        Makes `data`.
    kept : ndarray
        Whether each row survived: bool[n].
    groups : Clusters
        The rows that match, the survivor of each group first, by their ids, or by their positions
        if no ids were given.  With `against`, the first member can be a text of it; these groups
        precede the others.
    null_count : int
        Number of rows without a text, which were kept or dropped by `on_null`.
    on_null : str
        The argument.
    removed_ids : ndarray
        The duplicates, in the order of the data: object[k].
    representatives : ndarray
        The row, or other document, that is kept in place of each duplicate: object[k].
    similarities : ndarray
        The similarity of each duplicate with its representative: float32[k].
    evidence : object
        The data or, of files, the places of the texts, for `at`, `write` and `report`.
    verification : Verification or None
        The decisions of texts, with verify="exact"; otherwise None.
    parts : Parts or None
        With a `unit` of parts, their numbers; `groups` is then empty, there are no duplicates, and
        `data` has the texts without the removed parts.
    is_reference : ndarray or None
        With `against`, which duplicates match a text of it, whose id is in `representatives`:
        bool[k].
    left_out : Skipped
        The rows omitted by on_error="skip", which are neither kept nor removed.  Of files, such a
        record has no place in `kept`; its row counts all records, and its id is FILE:LINE or the
        name of the file.
    distances : ndarray or None
        Only of hashes, which have no similarity (NaN): the number of bits in which each duplicate
        differs from its representative, int64[k].
    lost : ndarray or None
        Only with rule="contained": the number of word 3-grams of each duplicate that its
        representative does not have, int64[k].
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
        """The survivors, in their order and of the kind that was given.

        Those of files are a pyarrow.Table, which is read when this is asked for.
        """
        return self.survivors.data

    def write(self, path: "str | os.PathLike[str]", *, in_place: bool = False) -> None:
        """Write the survivors to a file.

        Lines are copied as they are.  The file gets its name when it is complete.

        Parameters
        ----------
        path : str or path
            A file that ends in .jsonl, .csv, .tsv or .parquet; all but the last can end in .gz or
            .zst as well.  Survivors of files of records can go into a folder, with a file for each
            source.
        in_place : bool, default False
            `path` may be a file of the data, of which nothing else is kept.

        Raises
        ------
        OptionError
            For another ending, or a place where nothing can be written.
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
        """What the similarities are: "jaccard", or "cosine" of vectors and weights; or None."""
        return self.groups.measure

    @property
    def removed(self) -> Any:
        """The duplicates as a pyarrow.Table: id, kept (what stays for it), similarity float32.

        Of hashes, distance int64 stands where similarity does: the number of bits that differ.
        By the rule "contained", lost int64: the word 3-grams that what stays does not have.
        With `against`, also reference bool: whether what stays is a text of that.  A row without a
        text that was dropped is not among them.  Ids of several types become text.
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
        """The rows that on_error="skip" has left out, as a pyarrow.Table: row, id, reason."""
        return self.left_out.table()

    def report(self, path: "str | os.PathLike[str]") -> None:
        """Write a page that shows each removed text next to the text that is kept for it.

        The page is one HTML file that loads nothing.  It marks the words that differ, begins with
        the least similar pairs, has at most 2,000 of them, and a search.  The text of a document
        that was stored in `db` before is not known.

        Parameters
        ----------
        path : str or path
            The file.

        Raises
        ------
        OptionError
            If jinja2 is not installed, or nothing can be written there.
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

        A removed row comes back if it is less similar than that to the row that is kept for it.
        All other rows remain as they are.

        Parameters
        ----------
        similarity : float
            The least similarity.

        Returns
        -------
        Deduplicated
            The result; each removed row still matches the row that is kept for it.

        Raises
        ------
        OptionError
            For a similarity below that of this result, for a result that was decided by distance or
            with policy="connected", and with `db`, which has not stored the rows that would come
            back.

        Notes
        -----
        A new search at that similarity would compare the rows that came back with all rows.  So it
        can differ where one of these matches another row; otherwise it returns the same.
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
        """Return the counts, and a table of the least similar rows removed, for notebooks."""
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
    """What a search has found out about rows, by the ids of documents.

    `removed` int64[k]: the rows that are duplicates; `representatives` object[k], `similarities`
    float32[k], `distances` and `lost` int64[k], None if not known: what stands for each.  `leaders`
    int64[k]: the rows that stay, None if they may be stored documents; `order`: the rows that were
    compared, those to be preferred first.
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
        """Return what would be found if only some of the duplicates were: bool[k]."""
        assert self.leaders is not None, "what stays is a row"
        found = self.removed, self.leaders, self.similarities, self.distances
        decided = Decided(*found, self.groups.verification, self.lost)
        return found_of(decided.chosen(is_chosen), self.order, names)


def found_of(decided: Decided, order: I64 | None, names: NamesAt) -> RowMatches:
    """Return what was decided about rows, by their `names`; `order`: see `Decided.groups`."""
    offsets, members, _ = decided.groups(order)
    groups = Clusters(offsets, object_array(list(names(members))), decided.verification)
    leaders, representatives = decided.leaders, list(names(decided.leaders))
    return RowMatches(
        decided.removed, representatives, decided.similarities, groups, leaders, order,
        decided.distances, decided.lost,
    )  # fmt: skip
