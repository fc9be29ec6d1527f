"""Classes that `core.values` makes are those that the standard library makes."""

import copy
import dataclasses
import inspect
import pickle
from itertools import product
from typing import ClassVar

import pytest

from simdb.core import values


def classes_of(make):
    """Return classes of some options, each made by `make`."""

    @make(frozen=True, slots=True)
    class Frozen:
        first: int
        second: tuple = ()

    @make(frozen=True)
    class One:
        first: int

    @make(slots=True)
    class Changing:
        first: int
        second: str = "b"

    @make(frozen=True, slots=True, kw_only=True)
    class Named:
        first: int
        second: int = dataclasses.field(default=2, compare=False, repr=False)

    @make(frozen=True, eq=False, repr=False)
    class Bare:
        first: int

    @make(frozen=True)
    class OwnWords:
        first: int

        def __repr__(self):
            return "own"

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 3

    @make(frozen=True, slots=True)
    class Child(Frozen):
        third: object = None

    @make(frozen=True, slots=True)
    class Checked:
        kind: ClassVar[str] = "checked"

        first: int
        made: list = dataclasses.field(default_factory=list)
        keep: dataclasses.InitVar[int] = 7
        _set: int = dataclasses.field(default=3, kw_only=True)

        def __post_init__(self, keep):
            self.made.append(keep)

    return [Frozen, One, Changing, Named, Bare, OwnWords, Checked, Child]


OURS, THEIRS = classes_of(values.dataclass), classes_of(dataclasses.dataclass)


def outcome(action):
    """Return what a call returns, or the error that it raises."""
    try:
        return action()
    except Exception as error:
        return type(error), str(error)


def facts(cls):
    """Return what objects of a class do, as values that do not name the class's object."""
    made = [cls(first=first) for first in (1, 1, 2, 1.0)]
    equal = [left == right for left, right in product([*made, 1], repeat=2)]
    hashes = [outcome(lambda each=each: hash(each) == hash(made[0])) for each in made]
    same_hash = cls.__hash__ is object.__hash__
    shown = [repr(each) for each in made] if cls.__repr__ is not object.__repr__ else []
    changed = outcome(lambda: setattr(made[0], "first", 5))
    wrong = [outcome(cls), outcome(lambda: cls(first=1, none=2))]
    deleted = outcome(lambda: delattr(made[0], "first"))
    stays = (same_hash, made[1].first, cls.__match_args__, str(inspect.signature(cls)))
    return equal, hashes, shown, changed, wrong, deleted, stays, copy.copy(made[2]).first


@pytest.mark.parametrize(
    ("ours", "theirs"), list(zip(OURS, THEIRS, strict=True)), ids=[each.__name__ for each in OURS]
)
def test_a_class_does_what_that_of_the_standard_library_does(ours, theirs):
    assert facts(ours) == facts(theirs)
    assert hasattr(ours(first=1), "__dict__") == hasattr(theirs(first=1), "__dict__")


def test_objects_of_two_classes_differ_even_if_one_is_a_child_of_the_other():
    frozen, child = OURS[0], OURS[-1]

    assert frozen(1) != child(1)
    assert child(1) != frozen(1)
    assert len({frozen(1), child(1), child(1, (), None)}) == 2


def test_the_tools_of_the_standard_library_take_them():
    frozen = OURS[0]

    assert values.replace(frozen(1), first=3) == frozen(3)
    assert values.asdict(frozen(1, (2,))) == {"first": 1, "second": (2,)}
    assert [each.name for each in values.fields(frozen)] == ["first", "second"]
    assert dataclasses.is_dataclass(frozen)


@values.dataclass(frozen=True, slots=True)
class Travelling:
    first: int


def test_they_travel_between_processes():
    assert pickle.loads(pickle.dumps(Travelling(4))) == Travelling(4)


class Heir(Travelling):
    """A class of users, which may have attributes of its own."""


def test_an_heir_has_other_attributes_but_keeps_the_fields():
    heir = Heir(4)

    heir.other = 5

    assert (heir.first, heir.other) == (4, 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        heir.first = 6
    del heir.other
    assert not hasattr(heir, "other")
