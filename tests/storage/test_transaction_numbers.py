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
    reading = reading_of([6])

    with pytest.raises(ReplacedError, match=r"at transaction 7, but other .* are at 6"):
        environment.check_number(None, "place", reading)
