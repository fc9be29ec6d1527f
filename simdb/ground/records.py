"""Records: small frozen values that unpack like named tuples.

pandas makes a column of each field of a dataclass, but of each position of an iterable.  So records
are iterated by position: they have no `__iter__`, which only type checkers need.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar


class Record:
    """What the fields of a dataclass with slots are also for: positions, unpacking, and a dict."""

    __slots__: tuple[str, ...] = ()
    # The fields that it unpacks to, if these are not those of its class.
    FIELDS: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Any]:
            """Give the values in order."""

    def __getitem__(self, position: Any) -> Any:
        """Give the value of the field at a position, a tuple for a slice; so it unpacks."""
        return tuple(getattr(self, name) for name in self.FIELDS or self.__slots__)[position]

    def _asdict(self) -> dict[str, Any]:
        """Give the values by name, as a named tuple does."""
        names = (each.name for each in fields(self))  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names}
