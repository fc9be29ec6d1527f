"""Values: dataclasses that are made in a third of the time that the standard library takes.

The standard library compiles six methods for each class.  Here only `__init__` is compiled; all
classes share the functions for `repr`, comparison and hash.  A program that opens a database first
makes a hundred such classes.  Type checkers read `values.pyi`, which names the standard functions.
"""

import dataclasses
from dataclasses import InitVar, asdict, astuple, field, fields, replace
from operator import attrgetter
from typing import Any

__all__ = ["InitVar", "asdict", "astuple", "dataclass", "field", "fields", "replace"]


def dataclass(*, eq: bool = True, repr: bool = True, **options: Any) -> Any:
    """Return a decorator with the arguments and the effect of `dataclasses.dataclass`."""

    def make(cls: Any) -> Any:
        own = vars(cls)
        made = dataclasses.dataclass(eq=False, repr=False, **options)(cls)
        if repr and "__repr__" not in own:
            made.__repr__ = _repr
        if eq and "__eq__" not in own:
            _compare_by_fields(made, options.get("frozen", False))
        return made

    return make


def _compare_by_fields(cls: Any, is_frozen: bool) -> None:
    """Make a class compare and, if it is frozen, hash its objects by their fields."""
    values = attrgetter(*(each.name for each in fields(cls) if each.compare))

    def is_equal(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    cls.__eq__ = is_equal
    cls.__hash__ = (lambda self: hash(values(self))) if is_frozen else None


def _repr(self: Any) -> str:
    names = [each.name for each in fields(self) if each.repr]
    return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"
