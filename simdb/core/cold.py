"""Doors: the names that a package gives to others, loaded when a program first uses them.

A package lists its names once, in `__init__.pyi`, where type checkers look for them:

    from simdb.storage.contents import Contents as Contents

and `__init__.py` opens the door:

    from simdb.core import cold
    __getattr__, __dir__, __all__ = cold.door(__name__)

(`from simdb.core.cold import door` would ask for the lock of this module, and two threads that
import two packages first would wait for each other.)  `from simdb.storage import Contents` then
loads one module of the package.  With `from simdb import storage`, the module is loaded by the
first call that names it, `storage.Contents(...)`: so a program pays for what it uses, and
`import simdb` loads nothing else.

Whoever loads a module in the middle of a program holds `LOADING`.  Without it, a child forked by
another thread at that moment would wait for the module without end.
"""

import os
import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
LOADING = RLock()
LOADING_SECONDS = 1.0
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


def door(
    package: str, moved: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of a package that lists its names.

    `moved`: what to use in place of names that the package had; such a name never means a package,
    as `simdb.plan` would.
    """
    own = sys.modules[package]
    place_of = _places(f"{own.__file__}i")
    moved = {} if moved is None else moved
    vars(own)["__moved__"] = moved
    own.__class__ = _Package
    names = sorted(place_of)

    def load(name: str) -> Any:
        if name in moved:
            raise AttributeError(f"{package}.{name} is gone; use {moved[name]}")
        if name not in place_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = vars(_loaded(place_of[name])).get(name)
        if value is None:
            value = _loaded(f"{place_of[name]}.{name}")
        setattr(own, name, value)
        return value

    return load, lambda: names, names


def modules(package: str, cold: Collection[str]) -> Callable[[str], ModuleType]:
    """Make the `__getattr__` of a package that loads each of its `cold` modules when first used."""

    def load(name: str) -> ModuleType:
        if name not in cold:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return _loaded(f"{package}.{name}")

    return load


def _places(path: str) -> dict[str, str]:
    """Return the module of each name that a stub imports, as `from module import name as name`."""
    with open(path, encoding="ascii") as stub:
        statements = f"\n{stub.read()}".split("\nfrom ")[1:]
    places = {}
    for statement in statements:
        module, _, names = statement.partition(" import ")
        words = names.replace("(", " ").replace(")", " ").replace(",", " ").split()
        places.update(dict.fromkeys(words[::3], module))
    return places


def section(path: Path, name: str) -> str:
    """Return the lines of a text file of tables from [`name`] up to the next empty line.

    Tables that few programs need are in such files, and not in modules.
    """
    return path.read_text(encoding="ascii").split(f"\n[{name}]\n")[1].partition("\n\n")[0]


def _loaded(name: str) -> ModuleType:
    """Return a module, and load it if no thread has done so, with `LOADING` held.

    Nobody waits for it too long: a thread that imports a package of simdb by itself may hold a
    module that the thread with `LOADING` waits for.
    """
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module
    is_held = LOADING.acquire(timeout=LOADING_SECONDS)
    try:
        return import_module(name)
    finally:
        if is_held:
            LOADING.release()


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
