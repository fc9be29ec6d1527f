"""A file that is opened while another process commits is not taken for a replaced one."""

from contextlib import contextmanager

import pytest

from simdb.core.errors import ReplacedError
from simdb.storage import environment


class Transaction:
    def __init__(self, number):
        self._number = number

    def id(self):
        return self._number


def reading_of(numbers):
    """Return a function that reads one number after the other; the last one stays."""

    @contextmanager
    def reading():
        yield Transaction(numbers.pop(0) if len(numbers) > 1 else numbers[0])

    return reading


@pytest.fixture(autouse=True)
def written(monkeypatch):
    monkeypatch.setattr(environment, "last_number", lambda environment: 7)


def test_a_commit_that_is_held_up_between_its_two_steps_is_waited_for():
    reading = reading_of([6] * 30 + [7])

    environment.check_number(None, "place", reading)


def test_numbers_that_stay_different_are_those_of_a_replaced_file(monkeypatch):
    monkeypatch.setattr(environment, "COMPARED_SECONDS", 0.01)
    reading = reading_of([5])

    with pytest.raises(ReplacedError, match=r"at transaction 7, but other .* are at 5"):
        environment.check_number(None, "place", reading)


class Lmdb:
    """An environment whose reader table is one behind, until somebody writes."""

    def __init__(self, numbers, later, *, readonly=False):
        self.numbers, self.later, self.readonly = numbers, later, readonly

    def flags(self):
        return {"readonly": self.readonly}

    def begin(self, *, write):
        self.numbers[:] = [self.later]
        return self

    def abort(self):
        pass


def test_a_number_that_stays_one_behind_is_that_of_a_killed_writer(monkeypatch):
    monkeypatch.setattr(environment, "COMPARED_SECONDS", 0.01)
    numbers, read_only = [6], [6]

    environment.check_number(Lmdb(numbers, 7), "place", reading_of(numbers))
    environment.check_number(Lmdb([], 7, readonly=True), "place", reading_of(read_only))

    assert (numbers, read_only) == ([7], [6])
    with pytest.raises(ReplacedError, match=r"at transaction 7, but other .* are at 6"):
        environment.check_number(Lmdb(read_only, 6), "place", reading_of(read_only))
