"""Values: dataclasses that are made in a third of the time that the standard library takes.

The standard library compiles six methods for each class.  Here `__init__` is compiled when it is
first used, and all classes share the functions for `repr`, comparison, hash, frozen fields and
pickling.  A program that opens a database first makes a hundred such classes, and uses some of
them.  Type checkers read `values.pyi`, which names the standard functions.
"""

import dataclasses
from dataclasses import MISSING, InitVar, asdict, astuple, field, fields, replace
from operator import attrgetter
from typing import Any

__all__ = ["InitVar", "asdict", "astuple", "dataclass", "field", "fields", "replace"]

SETTINGS = "__dataclass_params__"
# The default, in the signature, of a field whose value a factory makes.
MADE = type("Made", (), {"__repr__": lambda self: "<factory>"})()


def dataclass(
    *, eq: bool = True, repr: bool = True, init: bool = True, frozen: bool = False, **options: Any
) -> Any:
    """Return a decorator with the arguments and the effect of `dataclasses.dataclass`."""

    def make(cls: Any) -> Any:
        own = vars(cls)
        # A frozen class can only inherit from frozen ones, so the standard library must know.
        is_known = frozen and any(hasattr(base, SETTINGS) for base in cls.__mro__[1:])
        options.update(eq=False, repr=False, init=False, frozen=is_known)
        made = dataclasses.dataclass(**options)(cls)
        if frozen and not is_known:
            made.__setattr__ = made.__delattr__ = _refuse
            getattr(made, SETTINGS).frozen = True
            if options.get("slots") and "__getstate__" not in own:
                made.__getstate__, made.__setstate__ = _values, _restore
        if init and "__init__" not in own:
            made.__init__ = _Init(made)
        if repr and "__repr__" not in own:
            made.__repr__ = _repr
        if eq and "__eq__" not in own:
            _compare_by_fields(made, frozen)
        return made

    return make


class _Init:
    """The `__init__` of a class, compiled when it is first looked up."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def __get__(self, holder: Any, owner: type) -> Any:
        self._cls.__init__ = made = _init_of(self._cls)
        return made if holder is None else made.__get__(holder, owner)


def _init_of(cls: Any) -> Any:
    """Compile the `__init__` of a class."""
    stored = {each.name for each in fields(cls)}
    names: dict[str, Any] = {"__set": object.__setattr__, "__made": MADE}
    line = "__set(self, {0!r}, {1})" if getattr(cls, SETTINGS).frozen else "self.{0} = {1}"
    first, named, others, types, lines = ["self"], ["*"], [], {}, ["pass"]
    for name, each in cls.__dataclass_fields__.items():
        if not (name in stored or isinstance(each.type, InitVar)):
            continue  # a variable of the class
        types[name], value, default = each.type, name, ""
        if each.default is not MISSING:
            names[f"__{name}"], default = each.default, f"=__{name}"
        elif each.default_factory is not MISSING:
            names[f"__make_{name}"], default = each.default_factory, "=__made"
            value = f"__make_{name}() if {name} is __made else {name}"
        (named if each.kw_only else first).append(f"{name}{default}")
        if name in stored:
            lines.append(line.format(name, value))
        else:
            others.append(name)
    if hasattr(cls, "__post_init__"):
        lines.append(f"self.__post_init__({', '.join(others)})")
    listed = ", ".join(first + named * (len(named) > 1))
    exec(f"def __init__({listed}):\n " + "\n ".join(lines), names)
    made: Any = names["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = types | {"return": None}
    return made


def _refuse(self: Any, name: str, *value: Any) -> None:
    """Refuse to change an object of a frozen class; an heir may have attributes besides."""
    if SETTINGS in vars(type(self)) or name in self.__dataclass_fields__:
        verb = "assign to" if value else "delete"
        raise dataclasses.FrozenInstanceError(f"cannot {verb} field {name!r}")
    (object.__setattr__ if value else object.__delattr__)(self, name, *value)


def _values(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _restore(self: Any, values: list[Any]) -> None:
    for each, value in zip(fields(self), values, strict=True):
        object.__setattr__(self, each.name, value)


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
