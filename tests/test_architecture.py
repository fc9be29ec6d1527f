"""The imports follow the map of docs/ARCHITECTURE.md; what documents name exists."""

import ast
import importlib.util
import re
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

from source_trees import FUNCTIONS, PACKAGE, ROOT, name_of, nodes_of, text_of

import simdb
from simdb.core.options import AUTO, METHODS, MINHASH_METHODS

# The wings of the package, floor by floor.  A wing imports only from floors below its own.
FLOORS = [
    ["core"],
    ["sketch", "plan", "storage"],
    ["database"],
    ["files"],
    ["jobs"],
    ["spark"],
    ["compat"],
    ["cli"],
]
# Public addresses of what wings hold.
ADDRESSES = ["distributed", "integrations"]
IMPORTERS = {
    "lmdb": ["storage"],
    "msgpack": ["storage"],
    "mmh3": ["sketch"],
    "xxhash": ["storage"],
    "snowballstemmer": ["sketch"],
    "stop_words": ["sketch"],
    "selectolax": ["sketch"],
    "simdb_ext": ["core"],
    "rich": ["cli"],
    "pyarrow": ["core"],
    "zstandard": ["files"],
    "fsspec": ["files"],
    "fastwarc": ["files"],
    "charset_normalizer": ["core"],
    "pyspark": ["spark"],
    "jinja2": ["jobs"],
    "matplotlib": [],
    "pandas": [],
    "polars": [],
    "datasets": [],
    "scrapy": ["compat"],
    "twisted": ["compat"],
    "itemadapter": ["compat"],
    "threatexchange": ["compat"],
    "mcp": ["compat"],
    "apsw": ["compat"],
    "duckdb": ["compat"],
    "pydantic": ["compat"],
}
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.name not in ("__init__.py", "__main__.py")
)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


@cache
def imported(path: Path) -> list[str]:
    """Return the names that a module imports; of a package that it names, the names it uses."""
    names = []
    packages = {}
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import in line {node.lineno}"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if own(name) and PACKAGE.joinpath(*own(name).split(".")).is_dir():
                    packages[alias.asname or alias.name] = name
                else:
                    names.append(name)
    for local, name in packages.items():
        names += [f"{name}.{each}" for each in attributes_of(path, local)] or [name]
    return names


def attributes_of(path: Path, local: str) -> set[str]:
    """Return the names that follow `local` and a dot, in code and in types that are quoted."""
    return set(re.findall(rf"(?<![\w.]){local}\.([A-Za-z]\w*)", text_of(path)))


@cache
def own(name: str) -> str:
    """Return the module of simdb that an imported name lies in; "" for other packages."""
    parts = name.split(".")
    for length in range(len(parts), 1, -1) if parts[0] == "simdb" else ():
        path = PACKAGE.joinpath(*parts[1:length])
        if path.with_suffix(".py").exists() or path.is_dir():
            return ".".join(parts[1:length])
    return ""


def wing_of(module: str) -> str:
    return module.partition(".")[0]


def floor_of(wing: str) -> int:
    return next(floor for floor, wings in enumerate(FLOORS) if wing in wings)


def test_every_module_is_in_a_wing_and_every_wing_has_a_door():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] != "_"}
    wings = [wing for wings in FLOORS for wing in wings]
    doors = {wing: import_module(f"simdb.{wing}") for wing in wings}

    assert folders == {*wings, "integrations"}
    assert {path.stem for path in PACKAGE.glob("[!_]*.py")} == {"distributed"}
    assert len(wings) <= 10
    assert [wing for wing, door in doors.items() if not (door.__all__ and door.__doc__)] == []
    assert [
        f"{wing}.{name}" for wing, door in doors.items() for name in door.__all__
        if wing != "core" and not hasattr(door, name)
    ] == []  # fmt: skip


def test_every_place_that_a_document_names_exists():
    roots = (ROOT, PACKAGE, ROOT / "simdb_ext")
    for document, least in (("ARCHITECTURE", 40), ("ALGORITHMS", 20)):
        text = (ROOT / "docs" / f"{document}.md").read_text(encoding="utf-8")
        named = set(re.findall(r"`((?:[a-z_]+/)+(?:\w+\.(?:pyi?|txt|[ch]))?)`", text))

        assert len(named) > least
        assert [each for each in named if not any((root / each).exists() for root in roots)] == []


def test_every_name_that_the_algorithms_name_is_in_its_file():
    text = (ROOT / "docs" / "ALGORITHMS.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w.]+)` in `((?:simdb|simdb_ext)/[\w./]*)`", text)

    missing = []
    for name, place in named:
        path = ROOT / place
        files = [*path.rglob("*.[chp]*")] if path.is_dir() else [path]
        words = {word for each in files for word in re.findall(r"\w+", text_of(each))}
        missing += [f"{name} in {place}"] * ({*name.split(".")} - words != set())

    assert len(named) > 15
    assert missing == []


def test_wings_are_entered_by_their_doors_and_from_above():
    wrong = [each for path in MODULES for each in wrong_imports(path)]

    assert wrong == []


def wrong_imports(path):
    """Yield a message for each import from above, and for each that goes past a door."""
    module = module_of(path)
    wing = wing_of(module)
    for name in imported(path):
        target = wing_of(own(name))
        if not target or target == wing or wing in ADDRESSES:
            continue
        if floor_of(target) >= floor_of(wing):
            yield f"{module} imports {name} from above"
        first = name.split(".")[2]
        if first not in import_module(f"simdb.{target}").__all__:
            yield f"{module} imports {name}, and the door of {target} has no {first}"


def test_modules_import_each_other_in_no_circle():
    graph = {module_of(path): set(filter(None, map(own, imported(path)))) for path in MODULES}

    TopologicalSorter(graph).prepare()


def test_each_library_is_imported_in_one_folder():
    wrong = [
        f"{module_of(path)} imports {library}"
        for path in MODULES
        for library in {name.partition(".")[0] for name in imported(path)} & set(IMPORTERS)
        if module_of(path).partition(".")[0] not in IMPORTERS[library]
    ]

    assert wrong == []


def test_no_import_stands_inside_a_function():
    inside = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        for function in nodes_of(path)
        if isinstance(function, FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]

    assert inside == []


# What differs between fingerprints and signatures, and between methods, is asked of an interface:
# `Kind` (database/state/view.py), `Way` (plan/problem.py) and `Method` (database/search/method.py).
KINDS = {
    "BandedPopulation", "Bands", "FingerprintKind", "MinHashSketcher", "Minhash", "Permutations",
    "Population", "SignatureKind", "Simhash", "Sketcher",
}  # fmt: skip
METHOD_NAMES = {*METHODS, *MINHASH_METHODS} - {AUTO}
CHOOSING = [
    path
    for path in MODULES
    if wing_of(module_of(path)) in ("database", "plan") and path.stem != "banding"
]


def test_the_engine_and_the_planner_ask_no_object_for_its_class():
    asked = [
        f"{name_of(path)}:{call.lineno}: {name.id}"
        for path in CHOOSING
        for call in nodes_of(path)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "isinstance"
        for name in ast.walk(call.args[1])
        if isinstance(name, ast.Name) and name.id in KINDS
    ]

    assert asked == []


def test_the_engine_and_the_planner_compare_no_names_of_methods():
    named = [
        f"{name_of(path)}:{node.lineno}: {node.value}"
        for path in CHOOSING
        for node in nodes_of(path)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value in METHOD_NAMES
    ]

    assert named == []


def generator(name):
    """Return a module of tools/generate/, which is no package."""
    path = ROOT / "tools" / "generate" / f"{name}.py"
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_reference_and_the_list_of_modules_leave_nothing_out():
    text, listing = generator("reference").reference(), generator("modules").listing()

    sections = re.findall(r"^## (\w+)$", text, re.M)
    described = re.findall(r"^### Database\.(\w+)\n\n```python\n\1\b", text, re.M)
    entries = re.findall(r"^\* `.*\.py`", listing, re.M)
    assert {*simdb.__all__} - {*sections} == {"__version__"}
    assert sorted(described) == [name for name in dir(simdb.Database) if name[0] != "_"]
    assert len(entries) == len([*(ROOT / "simdb").rglob("[!_]*.py")])
