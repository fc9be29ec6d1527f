"""What `help()` shows of the public callables: their sections name what the signatures have."""

import dataclasses
import doctest
import inspect
import re

import pytest

import simdb
import simdb.distributed
import simdb.spark

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)
# Of numpydoc's own checks: where a docstring begins, what every one of them must have (an extended
# summary, see also, examples), and types of parameters, which are in words.
LEFT_OUT = {"GL01", "GL02", "ES01", "SA01", "SA04", "EX01", "PR06", "RT01", "RT02"}
OF_CALLS = ("PR", "RT", "YD")  # also checked, by name, for each callable


def members_of(owner):
    """Yield name, function and whether it is a property of the public members of a class."""
    for cls in owner.__mro__:
        for name, member in vars(cls).items() if cls.__module__.startswith("simdb") else ():
            if name.startswith("_") or getattr(owner, name) is not getattr(cls, name):
                continue
            is_property = isinstance(member, property)
            function = member.fget if is_property else getattr(member, "__func__", member)
            if callable(function):
                yield name, function, is_property


def public_callables():
    """Return name, object and whether it is a property of what `help()` is asked about."""
    found = {}
    for module in (simdb, simdb.spark, simdb.distributed):
        for name in module.__all__:
            value = getattr(module, name)
            if not callable(value) or not getattr(value, "__module__", "").startswith("simdb"):
                continue
            place = f"{module.__name__}.{name}"
            found.setdefault(id(value), (place, value, False))
            for own, member, is_property in members_of(value) if inspect.isclass(value) else ():
                found.setdefault(id(member), (f"{place}.{own}", member, is_property))
    return list(found.values())


def sections_of(value):
    """Return the sections of a docstring: their text by their name."""
    parts = SECTION.split(inspect.getdoc(value) or "")
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented(text):
    """Return the names of a section of parameters."""
    heads = (line for line in text.splitlines() if line and not line.startswith(" "))
    return [name.strip(" *") for head in heads for name in head.partition(" : ")[0].split(",")]


CALLABLES = public_callables()
CALLS = [(name, value) for name, value, is_property in CALLABLES if not is_property]


def test_there_are_as_many_as_a_user_meets():
    assert len(CALLS) > 180


@pytest.mark.parametrize(("name", "value"), CALLS, ids=[name for name, _ in CALLS])
def test_what_is_documented_is_what_there_is(name, value):
    sections = sections_of(value)
    named = documented(sections.get("Parameters", sections.get("Attributes", "")))
    if inspect.isclass(value):
        is_made = dataclasses.is_dataclass(value)
        there = [each.name for each in dataclasses.fields(value)] if is_made else []
        assert {each for each in there if each[0] != "_"} <= {*named}
        return
    signature = inspect.signature(value)

    assert named == [each for each in signature.parameters if each not in ("self", "cls")]
    returned = str(signature.return_annotation)
    assert (returned == "None") or {"Returns", "Yields"} & {*sections}


def test_numpydoc_has_nothing_to_say():
    validate = pytest.importorskip("numpydoc.validate", reason="needs numpydoc").validate

    wrong = [
        f"{name}: {code} {text}"
        for name, value, is_property in CALLABLES
        for is_value in [is_property or "Parameters" not in sections_of(value)]
        for code, text in validate(name)["errors"]
        if code not in LEFT_OUT and not (is_value and code.startswith(OF_CALLS))
    ]

    assert wrong == []


def test_examples_run():
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for name, value, _ in CALLABLES:
        for test in finder.find(value, name, module=False, globs={"simdb": simdb}):
            runner.run(test)

    assert runner.failures == 0
    assert runner.tries > 20
