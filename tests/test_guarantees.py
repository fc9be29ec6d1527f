"""Every test named in docs/GUARANTEES.md exists, and every promise there names a test."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
TEXT = (TESTS.parent / "docs" / "GUARANTEES.md").read_text(encoding="utf-8")

SLOW = "pytest.mark.slow"


def test_every_test_that_the_guarantees_and_the_page_on_security_name_exists():
    both = [TEXT, (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8")]
    guaranteed, secured = (set(re.findall(r"`(test_\w+)`", text)) for text in both)
    defined = {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.M)
    }

    assert len(guaranteed) > 30
    assert len(secured) > 8
    assert (guaranteed | secured) - defined == set()


def test_every_promise_names_a_test():
    promises = re.findall(r"^\* (?:.+\n)(?:  .+\n)*", TEXT, re.M)

    assert len(promises) > 20
    assert [promise for promise in promises if "`test_" not in promise] == []


def test_every_promise_names_a_quick_test():
    slow = {
        function.name
        for path in TESTS.rglob("test_*.py")
        for function in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(function, ast.FunctionDef)
        and SLOW in map(ast.unparse, function.decorator_list)
    }
    promises = re.findall(r"^\* (?:.+\n)(?:  .+\n)*", TEXT, re.M)

    assert [each for each in promises if slow.issuperset(re.findall(r"`(test_\w+)`", each))] == []
