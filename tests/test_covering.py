"""The quick cases of a test with several parameters have every value, and are few."""

from itertools import product

from covering import covering


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
