"""The quick cases of a test with several parameters are few, and have every value."""

from itertools import product

from covering import covering, drawn


def test_every_value_of_every_parameter_occurs_in_as_few_cases_as_the_longest_has_values():
    values = {"method": "abcd", "recall": (0.5, 1.0), "shape": (1, 2, 3)}
    cases = [dict(zip(values, each, strict=True)) for each in product(*values.values())]

    chosen = [cases[at] for at in covering(cases)]

    assert len(chosen) == 4
    for name, every in values.items():
        assert {case[name] for case in chosen} == {*every}


def test_a_value_that_only_one_case_has_is_not_left_out():
    cases = [{"size": 1, "kind": "a"}, {"size": 1, "kind": "b"}, {"size": 2, "kind": "a"}]

    assert covering(cases) == [0, 1, 2]


def test_the_order_of_cases_does_not_change_those_that_are_drawn_and_a_new_one_takes_one_place():
    names = [f"test_a[{kind}-{size}]" for kind in "abc" for size in range(20)]

    few = {names[at] for at in drawn(names, 3)}

    backwards = names[::-1]
    assert {backwards[at] for at in drawn(backwards, 3)} == few
    assert all(len(few - {[*names, new][at] for at in drawn([*names, new], 3)}) <= 1
               for new in (f"test_a[d-{size}]" for size in range(20)))  # fmt: skip


def test_tests_with_the_same_values_get_different_cases():
    values = [f"[{kind}]" for kind in "abcd"]

    first = {drawn([f"test_{number}{each}" for each in values], 1)[0] for number in range(40)}

    assert first == {0, 1, 2, 3}
