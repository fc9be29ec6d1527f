"""Cold modules: parts of the package that are loaded when they are first used.

`import simdb` loads only the modules that open a database, store documents and search.  A package
whose modules few programs need lists them in its `__init__.py`, which imports them for type
checkers only:

    __all__ = ["advice", "dump"]
    if TYPE_CHECKING:
        from simdb.engine.maintenance import advice, dump
    else:
        __getattr__ = cold.modules(__name__, __all__)

Code that uses such a module imports the package and names the module in the call:
`maintenance.dump.dump(store, target)`.  The first call loads the module.
"""

import sys
from collections.abc import Callable, Collection
from importlib import import_module
from types import ModuleType
from typing import Any


def modules(package: str, cold: Collection[str]) -> Callable[[str], ModuleType]:
    """Make the `__getattr__` of a package that loads each of its `cold` modules when first used."""

    def load(name: str) -> ModuleType:
        if name not in cold:
            raise _unknown(package, name)
        return import_module(f"{package}.{name}")

    return load


def names(package: str, module: str, cold: Collection[str]) -> Callable[[str], Any]:
    """Make the `__getattr__` of a package that takes `cold` names from `module` when first used."""

    def load(name: str) -> Any:
        if name not in cold:
            raise _unknown(package, name)
        value = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


def _unknown(package: str, name: str) -> AttributeError:
    return AttributeError(f"module {package!r} has no attribute {name!r}")
