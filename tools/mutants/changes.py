"""Changes: finds all mutations of one line of Python or C.

A mutation changes one line.  Python has the operators of cosmic-ray, except for operators whose
mutants are mostly equivalent (`is` for `==`) or fail at import (a decorator removed).  C has
operators, constants and bounds: each is a token in code, found without parsing.
"""

import ast
import re
from functools import partial

try:
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
except ImportError:
    plugins = None

LEFT_OUT = {
    "NoOp", "RemoveDecorator", "VariableReplacer", "VariableInserter",
    "ReplaceComparisonOperator_Is_Eq", "ReplaceComparisonOperator_IsNot_NotEq",
    "ReplaceComparisonOperator_Eq_Is", "ReplaceComparisonOperator_NotEq_IsNot",
}  # fmt: skip
# Replacements of tokens of C; binary operators have a space on both sides in this code.
C_OPERATORS = {
    " + ": (" - ",), " - ": (" + ",), " * ": (" + ",), " / ": (" * ",), " % ": (" / ",),
    " < ": (" <= ", " > "), " <= ": (" < ", " > "), " > ": (" >= ", " < "),
    " >= ": (" > ", " < "), " == ": (" != ",), " != ": (" == ",), " && ": (" || ",),
    " || ": (" && ",), " << ": (" >> ",), " >> ": (" << ",), " & ": (" | ",), " | ": (" & ",),
    " ^ ": (" | ",), " += ": (" -= ",), " -= ": (" += ",), " |= ": (" &= ",), " &= ": (" |= ",),
    " ^= ": (" |= ",), "++": ("--",), "~": ("",), "!": ("",), "break;": (";",),
    "continue;": (";",),
}  # fmt: skip
C_TOKEN = re.compile(
    "|".join(map(re.escape, sorted(C_OPERATORS, key=len, reverse=True)))
    + r"|(?<![\w.])(?P<number>0x[0-9a-fA-F]+|\d+)(?P<suffix>[uUlL]*)(?![\w.])"
)
C_SILENT = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//.*|/\*.*?\*/', re.DOTALL)


def python_changes(text):
    """Return {line number: {family of operators: [function that returns the changed line]}}.

    The function returns None where the mutation is not one of that line alone.
    """
    if plugins is None:
        raise SystemExit("drawing mutants of Python needs cosmic-ray: pip install '.[mutants]'")
    silent, nodes, found = annotated_lines(text), [*ast_nodes(get_ast(text))], {}
    for name in plugins.operator_names():
        short = name.removeprefix("core/")
        if short in LEFT_OUT:
            continue
        operator = plugins.get_operator(name)()
        places = [place for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, ((line, _), _) in enumerate(places):
            if line not in silent:
                change = partial(changed_line, text, operator, occurrence, line)
                found.setdefault(line, {}).setdefault(short.split("_")[0], []).append(change)
    return found


def changed_line(text, operator, occurrence, line):
    """Return a line of Python with one mutation, or None if the mutation changes other lines."""
    try:
        before, after = text.split("\n"), mutate_code(text, operator, occurrence).split("\n")
    except AttributeError:
        return None  # cosmic-ray replaces the name of an exception, but none with a module
    others = range(len(before))
    is_one = len(before) == len(after) and all(
        (before[at] == after[at]) != (at == line - 1) for at in others
    )
    return after[line - 1] if is_one else None


def annotated_lines(text):
    """Return the numbers of the lines that hold annotations or names of types: nobody runs them."""
    silent = set()
    for node in ast.walk(ast.parse(text)):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant | ast.Tuple):
            parts += [node.value] * ("NDArray" in ast.dump(node.value))
        for part in filter(None, parts):
            silent.update(range(part.lineno, part.end_lineno + 1))
    return silent


def c_changes(text):
    """Return {line number: {token: [function that returns the changed line]}} of a file of C."""
    # Comments and strings become spaces of the same length, so that places stay.
    code = C_SILENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    found = {}
    pairs = zip(text.split("\n"), code.split("\n"), strict=True)
    for number, (line, bare) in enumerate(pairs, 1):
        if bare.lstrip().startswith(("#", "typedef", "struct", "static inline")):
            continue
        for token in C_TOKEN.finditer(bare):
            for instead in instead_of(token):
                change = partial(str.join, instead, (line[: token.start()], line[token.end() :]))
                family = "number" if token["number"] else token[0].strip()
                found.setdefault(number, {}).setdefault(family, []).append(change)
    return found


def instead_of(token):
    """Return what replaces a token of C: operators, or the number more by one and less by one."""
    if not token["number"]:
        return C_OPERATORS[token[0]]
    value = int(token["number"], 0)
    more, less = f"{value + 1}{token['suffix']}", f"{value - 1}{token['suffix']}"
    return (more, less) if value else (more,)
