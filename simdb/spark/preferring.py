"""Preferring: which document of a cluster stays for the others, as an order of its members."""

from dataclasses import dataclass
from typing import Any

from simdb import keeping
from simdb.errors import OptionError
from simdb.spark import frames

# The column with the values by which a rule chooses.
VALUE = "simdb_value"
DESCENDING = (keeping.LAST, keeping.LONGEST, keeping.GREATEST)
BY_SIZE = (keeping.LONGEST, keeping.SHORTEST)


@dataclass(frozen=True, slots=True)
class Preference:
    """An order of the members of a cluster: by a value of each, of equal ones by their ids.

    `value`: the value, computed of other columns.  `sizes`: id and value of documents, if no other
    columns have it.  Without both, ids decide alone.
    """

    is_descending: bool
    value: Any = None
    sizes: Any = None

    def with_value(self, df: Any) -> Any:
        """Return a DataFrame with the value as one more column, if other columns have it."""
        return df if self.value is None else df.withColumn(VALUE, self.value)

    def placed(self, members: Any) -> Any:
        """Return key, root, id and value of members, which are sketches with keys and roots."""
        columns = ["key", "root", "id"]
        if self.value is not None:
            return members.select(*columns, VALUE)
        named = members.select(*columns)
        return named if self.sizes is None else named.join(self.sizes, "id", "left")

    def order(self) -> list[Any]:
        """Return the columns by which the members of a cluster are sorted."""
        column = frames.functions().col
        if self.value is None and self.sizes is None:
            return [column("id").desc() if self.is_descending else column("id").asc()]
        value, id = column(VALUE), column("id").asc()
        return [value.desc_nulls_last() if self.is_descending else value.asc_nulls_last(), id]


def preference_of(keep: str, df: Any, *, text: str | None, texts: Any = None) -> Preference:
    """Return the preference that a rule is; OptionError for a rule that SQL cannot follow.

    `df`: has the field of the rule.  `text`: its column with the texts; None if it has none.
    `texts`: id and text of the documents in that case, None if texts are not at hand.
    """
    if callable(keep):
        raise OptionError(
            "keep= must be a rule, a function cannot run in SQL; put its results into a column, and"
            " give keep='max:COLUMN'"
        )
    kind, field = keeping.parse(keep)
    is_descending = kind in DESCENDING
    if field is not None:
        return Preference(is_descending, _known(df, field))
    if kind not in BY_SIZE:
        return Preference(is_descending)
    if text is not None:
        return Preference(is_descending, _size(text))
    if texts is None:
        raise OptionError(f"keep={keep!r} needs texts=: the DataFrame or the column with the texts")
    sizes = texts.groupBy("id").agg(frames.functions().max(_size("text")).alias(VALUE))
    return Preference(is_descending, None, sizes)


def _size(text: str) -> Any:
    """Return the bytes of texts, in UTF-8."""
    functions = frames.functions()
    return functions.octet_length(functions.col(text).cast("string"))


def _known(df: Any, field: str) -> Any:
    """Return the values of a column; null in place of NaN."""
    functions = frames.functions()
    column = functions.col(field)
    if frames.column_type(df, field) in ("float", "double"):
        return functions.when(~functions.isnan(column), column)
    return column
