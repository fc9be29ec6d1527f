"""API: describes public names by their signatures and docstrings, from the source."""

import ast
import importlib.util
from functools import lru_cache
from pathlib import Path
from types import ModuleType

REFERENCE = Path(__file__).resolve().parents[1] / "generate" / "reference.py"


@lru_cache(maxsize=1)
def reference() -> ModuleType:
    """Load tools/generate/reference.py, which reads the source."""
    specification = importlib.util.spec_from_file_location("simdb_reference", REFERENCE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def verb(name: str) -> str:
    """Describe a function `query`, a method `Database.query` or a class, as one section."""
    owner, _, member = name.rpartition(".")
    if not owner:
        return function(name)
    node = members(owner)[member]
    description = shown("\n".join(reference().signature(member, node)))
    return f"## {name}\n\n{description}\n"


def function(name: str) -> str:
    """Describe a public function, or the options of a public class without its members."""
    path = reference().public_places()[name]
    node = reference().definition(path, name)
    described = reference().describe(name, node, path)
    text = shown("\n".join(described).lstrip("\n"))
    return text.partition("\n### ")[0] if isinstance(node, ast.ClassDef) else text


def rest(described: set[str]) -> str:
    """Describe all public names, members and modules that are not described yet."""
    text = shown(reference().reference(described))
    return text.replace(
        "# Reference\n\nEvery public name", "# Classes and modules\n\nEvery other name", 1
    )


def shown(text: str) -> str:
    """Mark signatures as Python that is shown; blocks marked `python` are programs to run."""
    return text.replace("```python\n", "```py\n")


@lru_cache(maxsize=8)
def members(owner: str) -> dict[str, ast.FunctionDef]:
    """Return the public methods of a class, also methods that it shares with other classes."""
    module = reference()
    node = module.definition(module.public_places()[owner], owner)
    own = {each.name: each for each in module.public_functions(node)}
    shared = module.shared_functions(module.SHARED.get(owner, {}))
    return {**{each.name: each for each in shared}, **own}
