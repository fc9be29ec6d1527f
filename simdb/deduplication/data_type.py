"""Type of data: what a type checker knows of survivors, which are of the kind that was given.

`Deduplicated[DataFrame]` is the result for a DataFrame, and its `data` is one too.  What was given
decides, not what comes back, so that the functions need no overloads, each with all arguments.
"""

from collections.abc import Callable, Iterator, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Protocol, overload

if TYPE_CHECKING:
    # Type checkers know this module even if it is not installed.
    from typing_extensions import TypeVar

    from simdb.columns.arrow import Table

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
