"""Reached: records which tests reach which mutants, by marks before the mutated lines.

A tree gets a call of `at` before each statement that a mutant changes.  A mutant outside of all
functions, such as a constant, is reached by a call of any function of its module.

As a plugin of pytest (`-p reached`), this module writes lines of JSON into the file REACHED, also
from processes that a test starts.  The line [number, test] means that a mutant is reached; [test,
processor seconds, passed] is the end of a test.
"""

import ast
import json
import os
import time

FILE = os.environ.get("REACHED")
# Open from the beginning: a test may leave a process no file to open.
WRITTEN = os.open(FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT) if FILE else None
CALL = "__import__('reached').at({})"
seen = set()


def at(number):
    """Tell, once in a test and process, that a mutant is reached."""
    if number not in seen:
        seen.add(number)
        tell([number, os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]])


def tell(told):
    os.write(WRITTEN, json.dumps(told).encode() + b"\n")


def pytest_runtest_logstart(nodeid):
    seen.clear()
    failed.clear()
    begun[nodeid] = processor_seconds()


def pytest_runtest_logreport(report):
    if report.failed or report.skipped:
        failed.add(report.nodeid)


def pytest_runtest_logfinish(nodeid):
    tell([nodeid, round(processor_seconds() - begun[nodeid], 3), nodeid not in failed])


begun, failed = {}, set()


def processor_seconds():
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def marked(text, numbers):
    """Return a module with a call of `at` for each (line, number of a mutant)."""
    parsed, lines = ast.parse(text), text.split("\n")
    calls = {}  # {line before which a call goes: numbers}
    for line, number in numbers:
        statement = statement_at(parsed, line, lines)
        for place in [statement] if statement else entries(parsed):
            where = first_line(place), place.col_offset
            if not lines[where[0] - 1][: where[1]].strip():
                calls.setdefault(where, []).append(number)
    for (line, column), these in sorted(calls.items(), reverse=True):
        lines[line - 1 : line - 1] = [" " * column + CALL.format(number) for number in these]
    return "\n".join(lines)


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def statement_at(parsed, line, lines):
    """Return the smallest statement with a line, before which a call can stand, of a function."""
    found = [
        statement
        for function in ast.walk(parsed)
        if isinstance(function, FUNCTIONS)
        for outer in function.body
        for statement in ast.walk(outer)
        if isinstance(statement, ast.stmt)
        and first_line(statement) <= line <= statement.end_lineno
        and not lines[statement.lineno - 1].lstrip().startswith("elif ")
    ]
    return max(found, key=lambda each: (each.lineno, -each.end_lineno), default=None)


def first_line(statement):
    return min(each.lineno for each in [statement, *getattr(statement, "decorator_list", [])])


def entries(parsed):
    """Return the first statement of every function of a module."""
    for function in ast.walk(parsed):
        if isinstance(function, FUNCTIONS):
            has_docstring = ast.get_docstring(function) is not None
            yield function.body[1 if has_docstring and len(function.body) > 1 else 0]
