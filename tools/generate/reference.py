"""Write build/REFERENCE.md: every public name with its signature and docstring, from the source.

python tools/generate/reference.py          (or `make reference`)

The page "Classes and modules" of the site has all names that no other page describes.
"""

import ast
import json
import re
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "support"))

import vocabulary  # noqa: E402

TARGET = ROOT / "build" / "REFERENCE.md"
HEAD = """# Reference

Every public name of `simdb`, with its signature.  Made from the source by
`tools/generate/reference.py`.  The command line is in [CLI.md](CLI.md).
"""
# Names that most readers look for, before all others in alphabetical order.
FIRST = [
    "open", "Database", "Snapshot", "WriteTransaction", "Options", "Simhash", "Minhash",
    "TextSketch",
]  # fmt: skip
# Members that several classes share are described with these classes.
ONCE = {"core/matches": "ReadOnce"}
VERBS = {"database/reading": "Reading", "database/writing": "Writing"}
SHARED = {"Database": VERBS, "Pairs": ONCE, "ArrayPairs": ONCE}
# The classes whose verbs the site describes once, with one of them.
VERBS_OF = {"Database", "Snapshot", "WriteTransaction", "ShardedDatabase"}
# Classes whose options other classes have, too.
BASES = ["TextSketch"]
SHARED_VERBS = (
    "`Snapshot` and `ShardedDatabase` have the reading verbs, `query` to `note`, and"
    " `WriteTransaction` these and the writing verbs, `insert` to `expire`, too.\n"
)
# A public class is written without the type of its ids; a list of ids has it.
ID_TYPES = ("IdT", "IdT_co")
BUILT_IN = ("Iterable", "Iterator", "Sequence", "list")
# Modules that users import by name.
MODULES = [
    "simdb.core.choices", "simdb.compat.simhash", "simdb.compat.datasketch",
    "simdb.compat.minwise", "simdb.compat.importing", "simdb.plan.banding",
]  # fmt: skip
# Packages that users import by name; their modules define what they export.
PACKAGES = ["simdb.distributed", "simdb.spark"]
ADDRESSES = {"simdb.distributed": "simdb.spark.distributed"}

# The names of types of arrays, such as `I64`.
ARRAY = re.compile(r"\b([IUF])(8|16|32|64)\b")
NUMBERS = {"I": "int", "U": "uint", "F": "float"}
# A type with more texts than these is explained below the signature.
FEW_VALUES = 5
# Names that a reader sees as what they stand for.
ALIASES = {
    "AnySketch": "Simhash | Minhash | Bits", "FieldName": "str | tuple[str, ...]",
    "Keep": "str | Callable", "USUAL_SKETCH": "Simhash()",
}  # fmt: skip

Definition = ast.FunctionDef | ast.ClassDef | ast.AnnAssign


def main() -> None:
    """Write the file."""
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(reference(), encoding="utf-8")


def verbs() -> list[str]:
    """Return the lines of the table of verbs: which classes, commands and jobs have each."""
    commands = {verb: name for name, (verb, _) in vocabulary.COMMANDS.items()}
    tasks = {verb: name for name, (verb, _) in vocabulary.SPARK.items()}
    lines = [
        "## Verbs",
        "",
        "A verb has the same arguments in every class.  The last columns name the command, and the",
        "function of `simdb.spark`, that do the same.",
        "",
        "| verb | classes | command | Spark |",
        "|---|---|---|---|",
    ]
    for verb in vocabulary.VERBS:
        classes = ", ".join(noun for noun, given in vocabulary.NOUNS.items() if verb in given)
        beside = [f"`{name}`" if name else "" for name in (commands.get(verb), tasks.get(verb))]
        lines.append(f"| `{verb}` | {classes} | {' | '.join(beside)} |")
    return [*lines, ""]


def reference(without: Collection[str] = ()) -> str:
    """Make the whole text, `without` names and members that are described elsewhere."""
    places = public_places()
    rest = sorted(set(places) - set(FIRST), key=lambda name: (name.lower(), name))
    parts = [HEAD, *verbs()]
    for name in [*FIRST, *rest]:
        if name not in without:
            parts += describe(name, definition(places[name], name), places[name], without)
    for name in MODULES:
        parts += describe_module(name)
    for name in PACKAGES:
        parts += describe_package(name)
    return "\n".join(parts)


def public_places(package: str = "simdb") -> dict[str, Path]:
    """Find the file of each name that a package exports."""
    folder = ROOT / ADDRESSES.get(package, package).replace(".", "/")
    tree = ast.parse((folder / "__init__.pyi").read_text(encoding="utf-8"))
    return {
        alias.name: path
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("simdb.")
        if (path := ROOT / (str(node.module).replace(".", "/") + ".py")).is_file()
        for alias in node.names
    }


def definition(path: Path, name: str) -> Definition:
    """Find the function, class or type `name` of a file."""
    body = parsed(path).body
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return node
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            other = ast.unparse(node.value)  # of another package
            imports = (each for each in body if isinstance(each, ast.ImportFrom))
            [door] = (str(each.module) for each in imports if other in {a.name for a in each.names})
            return definition(public_places(door)[other], other)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            return node
    raise LookupError(f"{name} is not defined in {path}")


def parsed(path: Path) -> ast.Module:
    """Parse a module; a type that is loaded late is written like any other, without quotes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            quoted = getattr(node, field, None)
            if isinstance(quoted, ast.Constant) and isinstance(quoted.value, str):
                setattr(node, field, ast.parse(quoted.value, mode="eval").body)
    return WithoutIdTypes().visit(tree)


class WithoutIdTypes(ast.NodeTransformer):
    """Writes `Match` for `Match[IdT]`, and `Id` for `IdT`: the types are told once, with `open`."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Drop the type of the ids of a public class."""
        if ast.unparse(node.slice) in ID_TYPES and ast.unparse(node.value) not in BUILT_IN:
            return node.value
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Call every id an `Id`."""
        return ast.copy_location(ast.Name("Id"), node) if node.id in ID_TYPES else node


def describe(
    name: str, node: Definition, path: Path, without: Collection[str] = ()
) -> Iterator[str]:
    """Make heading, signature and docstring of one name and of its public members.

    A type has the docstring of its module.  `without`: members that are described elsewhere, also
    under the name of another class that has them.
    """
    yield f"\n## {name}\n"
    if isinstance(node, ast.AnnAssign):
        yield described(parsed(path)) + "\n"
        return
    if isinstance(node, ast.FunctionDef):
        yield from signature(f"simdb.{name}", node)
        return
    yield described(node) + "\n"
    bases = [each.id for each in node.bases if isinstance(each, ast.Name) and each.id in BASES]
    if bases:
        yield f"It has the options of {' and '.join(f'`{each}`' for each in bases)}, too.\n"
    fields = [field(each) for each in node.body if is_field(each)]
    if fields and "\nAttributes\n---" not in (ast.get_docstring(node) or ""):
        yield "```python\n" + "\n".join([*fields, *meanings(fields)]) + "\n```\n"
    members = public_functions(node)
    if name == "Database":
        yield SHARED_VERBS
    if name in SHARED:
        own = {each.name for each in members}
        shared = (each for each in shared_functions(SHARED[name]) if each.name not in own)
        members = [*shared, *members]
    elsewhere = {each.partition(".")[2] for each in without} if name in VERBS_OF else ()
    for member in members:
        if member.name in elsewhere:
            continue
        yield f"### {name}.{member.name}\n"
        yield from signature(member.name, member)


def is_field(node: ast.AST) -> bool:
    """Return whether a node is a field of a dataclass."""
    return isinstance(node, ast.AnnAssign) and "ClassVar" not in ast.unparse(node.annotation)


def field(node: ast.AST) -> str:
    """Write a field of a dataclass."""
    assert isinstance(node, ast.AnnAssign)
    return written(ast.unparse(node.target), node.annotation, node.value)


def describe_module(name: str) -> Iterator[str]:
    """Describe a module and its classes and public functions."""
    path = ROOT / (name.replace(".", "/") + ".py")
    tree = parsed(path)
    own = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    public = (node for node in own if isinstance(node, ast.ClassDef) or node.name[0] != "_")
    return describe_all(name, tree, ((node.name, node, path) for node in public))


def describe_package(name: str) -> Iterator[str]:
    """Describe a package and the names that it exports."""
    tree = parsed(ROOT / ADDRESSES.get(name, name).replace(".", "/") / "__init__.py")
    places = sorted(public_places(name).items(), key=lambda each: each[0].lower())
    return describe_all(name, tree, ((own, definition(path, own), path) for own, path in places))


def describe_all(
    owner: str, tree: ast.Module, names: Iterable[tuple[str, Definition, Path]]
) -> Iterator[str]:
    """Make heading and docstring of a module or package, and describe its names."""
    yield f"\n## {owner}\n"
    yield (ast.get_docstring(tree) or "") + "\n"
    for own, node, path in names:
        if isinstance(node, ast.FunctionDef):
            yield f"### {owner}.{own}\n"
            yield from signature(own, node)
        else:
            yield from describe(f"{owner}.{own}", node, path)


def shared_functions(classes: dict[str, str]) -> Iterator[ast.FunctionDef]:
    """Yield the public methods of classes, given with their modules."""
    for module, name in classes.items():
        shared = definition(ROOT / "simdb" / f"{module}.py", name)
        assert isinstance(shared, ast.ClassDef)
        yield from public_functions(shared)


def public_functions(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """Return the methods and properties without an underscore."""
    return [
        each
        for each in node.body
        if isinstance(each, ast.FunctionDef)
        and not each.name.startswith("_")
        and "overload" not in map(ast.unparse, each.decorator_list)
    ]


def signature(name: str, node: ast.FunctionDef) -> Iterator[str]:
    """Make the signature as code, and the docstring."""
    returns = f" -> {kind(node.returns)}" if node.returns else ""
    decorators = [ast.unparse(each) for each in node.decorator_list]
    if any(each.endswith("property") for each in decorators):
        yield f"```python\n{name}{returns.replace(' ->', ':', 1)}\n```\n"
    else:
        arguments = [each for each in split(node.args) if each != "self"]
        room = 96 - len(name + returns)
        lines = [f"{name}({wrapped(arguments, room)}){returns}", *meanings(arguments)]
        yield "```python\n" + "\n".join(lines) + "\n```\n"
    yield described(node) + "\n"


def described(node: ast.AST) -> str:
    """Return a docstring, its sections as Markdown: lists, and examples as Python that is shown."""
    text = ast.get_docstring(node) or ""
    head, *parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.M)
    blocks = [head.strip()]
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        if title == "Examples":
            body = f"```py\n{body.strip()}\n```"
        elif title != "Notes":
            body = "\n".join(map(_item, body.strip().splitlines()))
        blocks += [f"**{title}**", body.strip()]
    return "\n\n".join(blocks)


def _item(line: str) -> str:
    """Return a line of a section as one of a list: a name with its type, or text about it."""
    if not line or line.startswith(" "):
        # A formula is broken before its sign, which Markdown would take for the mark of an item.
        return line and "  " + re.sub(r"^([+-]) ", r"\\\1 ", line.strip())
    names, colon, kind = line.partition(" : ")
    return f"* `{names}`" + (f" ({kind})" if colon else "") + ":"


def split(arguments: ast.arguments) -> list[str]:
    """Return each parameter as a reader would write it."""
    usual = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(usual) - len(arguments.defaults)) + arguments.defaults
    parts = [
        written(each.arg, each.annotation, default)
        for each, default in zip(usual, defaults, strict=True)
    ]
    if arguments.posonlyargs:
        parts.insert(len(arguments.posonlyargs), "/")
    if arguments.vararg:
        parts.append("*" + written(arguments.vararg.arg, arguments.vararg.annotation, None))
    elif arguments.kwonlyargs:
        parts.append("*")
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    parts += [written(each.arg, each.annotation, default) for each, default in pairs]
    if arguments.kwarg:
        parts.append("**" + written(arguments.kwarg.arg, arguments.kwarg.annotation, None))
    return parts


def written(name: str, annotation: ast.expr | None, default: ast.expr | None) -> str:
    """Write a parameter or a field with its type and its default."""
    typed = f"{name}: {kind(annotation)}" if annotation else name
    if default is None:
        return typed
    return f"{typed}{' = ' if annotation else '='}{value(default)}"


def value(node: ast.expr) -> str:
    """Write a default: a text in double quotes, a constant and a field by their values."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "field":
        given = {each.arg: each.value for each in node.keywords}
        return value(given["default"]) if "default" in given else "..."
    if isinstance(node, ast.Name | ast.Attribute):
        name = ast.unparse(node).rpartition(".")[2]
        return constants().get(name) or ALIASES.get(name, name)
    return literal(node) or ast.unparse(node)


def literal(node: ast.AST | None) -> str | None:
    """Write a text or a number; None for any other expression."""
    if not isinstance(node, ast.Constant):
        return None
    return json.dumps(node.value) if isinstance(node.value, str) else ast.unparse(node)


def kind(node: ast.expr) -> str:
    """Write a type without its module; a name for a few texts becomes these texts."""
    text = re.sub(r"\b(?:(?:[a-z_]\w*\.)+(?=[A-Z])|np\.)", "", ast.unparse(node))
    text = ARRAY.sub(lambda own: f"NDArray[{NUMBERS[own[1]]}{own[2]}]", text)
    known = {**ALIASES, **choices(few=True)}
    return re.sub(r"\b[A-Z]\w*", lambda name: known.get(name[0], name[0]), text)


def meanings(parameters: Iterable[str]) -> list[str]:
    """Return a comment for each name in types that stands for many texts."""
    text = "\n".join(parameters)
    return [
        line
        for name, meaning in choices().items()
        if re.search(rf"\b{name}\b", text)
        for line in textwrap.wrap(
            f"{name}: {meaning}", 88, initial_indent="# ", subsequent_indent="#     "
        )
    ]


@lru_cache(maxsize=2)
def choices(*, few: bool = False) -> dict[str, str]:
    """Return the texts that a type of `simdb.core.choices` allows, such as `MethodName`.

    `few`: only types of so few texts that a signature can have them all.
    """
    found: dict[str, str] = {}
    tree = ast.parse((ROOT / "simdb" / "core" / "choices.py").read_text(encoding="utf-8"))
    for node in tree.body:
        is_type = isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"
        if is_type or isinstance(node, ast.Assign):
            name = ast.unparse(node.target if is_type else node.targets[0])
            text = re.sub(r"\b[A-Z]\w*Name\b", lambda own: found[own[0]], ast.unparse(node.value))
            texts = re.search(r"Literal\[(.*?)\]", text)
            if texts:
                each = ast.literal_eval(f"({texts[1]},)")
                if not few or len(each) <= FEW_VALUES:
                    found[name] = text.replace(texts[0], " | ".join(map(json.dumps, each)))
            elif " | " in text and '"' in text:
                found[name] = text
    return found


@lru_cache(maxsize=1)
def constants() -> dict[str, str]:
    """Return the value of each constant of simdb that is a text or a number.

    Of constants with one name that of `simdb.core` counts; without one, none of them.
    """
    found: dict[str, set[str]] = {}
    core = {}
    for path in (ROOT / "simdb").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[-1]
                is_many = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                many = zip(target.elts, node.value.elts, strict=True) if is_many else ()
                for own, its in many or [(target, node.value)]:
                    if text := literal(its):
                        found.setdefault(ast.unparse(own), set()).add(text)
                        if path.parent.name == "core":
                            core[ast.unparse(own)] = text
    return {**{name: texts.pop() for name, texts in found.items() if len(texts) == 1}, **core}


def wrapped(arguments: list[str], room: int) -> str:
    """Put parameters on one line if it has at most `room` characters, otherwise one on each."""
    line = ", ".join(arguments)
    if len(line) <= min(room, 80):
        return line
    return "\n    " + ",\n    ".join(arguments) + ",\n"


if __name__ == "__main__":
    main()
