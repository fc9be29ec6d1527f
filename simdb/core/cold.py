"""Cold modules: parts of the package that are loaded when they are first used.

`import simdb` loads only the errors.  Each public name is loaded with its module when a program
first uses the name, so a program pays for what it uses.  `simdb/__init__.py` imports the names for
type checkers only, and says at run time in which module each name is:

    if TYPE_CHECKING:
        from simdb.database.database import Database, open
    else:
        __getattr__ = cold.names(__name__, {"simdb.database.database": "Database open"})

A package whose modules few programs need lists them in its `__init__.py`, in the same way:

    __all__ = ["advice", "dump"]
    if TYPE_CHECKING:
        from simdb.database.maintenance import advice, dump
    else:
        __getattr__ = cold.modules(__name__, __all__)

Code that uses such a module imports the package and names the module in the call:
`maintenance.dump.dump(store, target)`.  The first call loads the module.

Whoever loads a module in the middle of a program holds `LOADING`.  Without it, a child forked by
another thread at that moment would wait for the module without end.
"""

import os
import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
LOADING = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=LOADING.acquire, after_in_parent=LOADING.release, after_in_child=LOADING.release
    )


class MadeOnce(Generic[Value]):
    """A property that is computed when it is first used, and kept.

    `functools.cached_property` of Python 3.11 and earlier has a lock for all objects of a class: a
    child forked while a thread computes one of them would wait for it without end.
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        """`make` computes the value of an object."""
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Keep values under the name of the property."""
        self._name = name

    def __get__(self, holder: Any, owner: type | None = None) -> Value:
        """Return the value; several threads may compute it at the same time."""
        if holder is None:
            return self  # type: ignore[return-value]
        value: Value = vars(holder).setdefault(self._name, self._make(holder))
        return value


def modules(package: str, cold: Collection[str]) -> Callable[[str], ModuleType]:
    """Make the `__getattr__` of a package that loads each of its `cold` modules when first used."""

    def load(name: str) -> ModuleType:
        if name not in cold:
            raise _unknown(package, name)
        with LOADING:
            return import_module(f"{package}.{name}")

    return load


def names(
    package: str, places: Mapping[str, str], moved: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """Make the `__getattr__` of a package that loads each of its names when first used.

    `places`: the names, separated by spaces, that each module gives to the package.  `moved`: what
    to use in place of names that the package had; such a name never means a package, as
    `simdb.plan` would.
    """
    place_of = {name: module for module, given in places.items() for name in given.split()}
    moved = {} if moved is None else moved
    vars(sys.modules[package])["__moved__"] = moved
    sys.modules[package].__class__ = _Package

    def load(name: str) -> Any:
        if name in moved:
            raise AttributeError(f"{package}.{name} is gone; use {moved[name]}")
        if name not in place_of:
            raise _unknown(package, name)
        with LOADING:
            value = getattr(import_module(place_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


class _Package(ModuleType):
    """A package that does not let one of its packages take the place of a name that is gone."""

    __moved__: Mapping[str, str]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, but drop a module under a name that is gone.

        Python sets each module that it has loaded as an attribute of the package.
        """
        if not (name in self.__moved__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        """Travel as a name: the functions of a notebook do, to other processes, with their globals.

        What pickles them, as Spark, Ray and Dask do, knows only modules of no class of their own.
        """
        return import_module, (self.__name__,)


def _unknown(package: str, name: str) -> AttributeError:
    return AttributeError(f"module {package!r} has no attribute {name!r}")
