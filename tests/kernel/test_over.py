"""`over` runs a test for all values, and a failure says for which."""

import inspect

import pytest
from over import over


def test_all_values_are_taken_one_after_the_other():
    seen = []

    @over("left, right", [(1, "a"), (2, "b")])
    @over("size", [0, 7])
    def sees(fixture, size, left, right):
        seen.append((fixture, left, right, size))

    sees(fixture=9)

    assert list(inspect.signature(sees).parameters) == ["fixture"]
    assert seen == [(9, 1, "a", 0), (9, 1, "a", 7), (9, 2, "b", 0), (9, 2, "b", 7)]


def test_a_failure_says_with_which_values():
    @over("size", [3, 4, 5])
    def fails_at_four(size):
        assert size != 4

    with pytest.raises(AssertionError) as caught:
        fails_at_four()

    assert caught.value.__notes__ == ["with {'size': 4}"]
