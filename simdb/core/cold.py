"""Doors: the names that a package offers to other packages, loaded when a program first uses them.

A package lists its names once, in `__init__.pyi`, where type checkers look for them:

    from simdb.storage.contents import Contents as Contents

and `__init__.py` opens the door:

    from simdb.core import cold
    __getattr__, __dir__, __all__ = cold.door(__name__)

(`from simdb.core.cold import door` would take the import lock of this module; two threads that
import two packages for the first time could then wait for each other.)

`from simdb.storage import Contents` then loads one module of the package.  With
`from simdb import storage`, the first use of a name, such as `storage.Contents(...)`, loads its
module.  So `import simdb` loads no other module, and a program pays only for names that it uses.

A thread that loads a module in the middle of a program holds `LOADING`.  Otherwise a child forked
by another thread at that moment would wait for the module for ever.
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

    Up to Python 3.11, `functools.cached_property` has one lock for all objects of a class.  A child
    that is forked while a thread computes a value would wait for that lock for ever.
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        """Take `make`, which computes the value for an object."""
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

    `moved`: names that the package had, with their replacements.  Such a name never means a
    subpackage, as `simdb.plan` otherwise would.
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
        value = vars(loaded(place_of[name])).get(name)
        if value is None:
            value = loaded(f"{place_of[name]}.{name}")
        setattr(own, name, value)
        return value

    return load, lambda: names, names


def modules(package: str, cold: Collection[str]) -> Callable[[str], ModuleType]:
    """Make the `__getattr__` of a package whose `cold` modules are loaded when first used."""

    def load(name: str) -> ModuleType:
        if name not in cold:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return loaded(f"{package}.{name}")

    return load


def loaded(name: str) -> ModuleType:
    """Return a module, loading it with `LOADING` held if no thread has loaded it.

    The wait for `LOADING` has a limit, against a deadlock: a thread that imports a package of simdb
    directly may hold a module for which the thread with `LOADING` waits.
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
    """Return the lines of a text file from [`name`] up to the next empty line.

    Tables that few programs need are in such files instead of modules.
    """
    return path.read_text(encoding="ascii").split(f"\n[{name}]\n")[1].partition("\n\n")[0]


class _Package(ModuleType):
    """A package whose subpackages cannot take the place of its former names."""

    __moved__: Mapping[str, str]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, except a module under a former name.

        Python sets each module that it loads as an attribute of its package.
        """
        if not (name in self.__moved__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        """Pickle the package by its name.

        Spark, Ray and Dask pickle functions of a notebook with their globals, and know only modules
        whose class is `ModuleType` itself.
        """
        return import_module, (self.__name__,)
