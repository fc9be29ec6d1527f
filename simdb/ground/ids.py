"""Ids: the type of the ids of documents, as a type checker sees it.

A database can hold ids of several kinds, so ids in its answers have the type Any, unless the
program names one: `database: simdb.Database[str] = simdb.open(path)`.  Nothing is checked at run
time.
"""

from typing import TYPE_CHECKING, Any

Id = str | bytes | int

if TYPE_CHECKING:
    # Type checkers know this module even if it is not installed.
    from typing_extensions import TypeVar

    IdT = TypeVar("IdT", bound=Id, default=Any)
    IdT_co = TypeVar("IdT_co", bound=Id, default=Any, covariant=True)
else:
    from typing import TypeVar

    IdT = TypeVar("IdT", bound=Id)
    IdT_co = TypeVar("IdT_co", bound=Id, covariant=True)
