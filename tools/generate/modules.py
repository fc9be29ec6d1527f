"""Write build/MODULES.md: the first sentence of every module, folder by folder.

python tools/generate/modules.py          (or `make reference`)

Wings have the order of the imports: the list FLOORS in tests/test_architecture.py.
"""

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "build" / "MODULES.md"
ORDER = ROOT / "tests" / "test_architecture.py"
SIMDB = ROOT / "simdb"
COLUMNS = 100
HEAD = """# Modules

Every module of simdb with the first sentence of its docstring, and every contract of the compiled
kernel.  Wings are listed from the lowest floor up; a wing imports only from floors below its own.
[ARCHITECTURE.md](../docs/ARCHITECTURE.md) has the map and the ideas.

Written by `tools/generate/modules.py` from the source.
"""
KERNEL = """
## The compiled kernel: `simdb_ext/`

Each header describes what one group of operations promises, or has operations that are compiled
once for each instruction set (`operations.c`).  `name_VARIANT.h` has code for one of these alone.
"""
# The endings of headers that hold one variant of an operation.
VARIANT = re.compile(r"_(scalar|neon|x86|avx\w+)$")


def main() -> None:
    """Write the file."""
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(listing(), encoding="utf-8")


def listing() -> str:
    """Make the whole text."""
    parts = [HEAD]
    for floor, wings in enumerate(listed("FLOORS"), 1):
        for wing in wings:
            parts += described(wing, floor)
    parts += ["\n## Public addresses\n"]
    for path in sorted([*SIMDB.glob("[!_]*.py"), *(SIMDB / "integrations").glob("[!_]*.py")]):
        parts.append(item(path.relative_to(SIMDB).as_posix(), docstring(path)))
    return "\n".join([*parts, *kernel()]) + "\n"


def listed(name: str) -> Any:
    """Read a list from the test of the architecture."""
    for node in ast.parse(ORDER.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise LookupError(f"{name} is not in {ORDER}")


def described(wing: str, floor: int) -> Iterator[str]:
    """Yield the lines of a wing, and of each folder inside."""
    for init in sorted((SIMDB / wing).rglob("__init__.py")):
        folder = init.parent.relative_to(ROOT).as_posix()
        yield (
            f"\n## Floor {floor}: `{folder}/`\n"
            if folder.count("/") == 1
            else f"\n### `{folder}/`\n"
        )
        yield textwrap.fill(first_sentence(docstring(init)), COLUMNS) + "\n"
        for path in sorted(init.parent.glob("[!_]*.py")):
            yield item(path.name, docstring(path))


def item(name: str, text: str) -> str:
    """Return one item of a list, with the first sentence of a text."""
    return textwrap.fill(
        f"* `{name}`  {first_sentence(text)}", COLUMNS, subsequent_indent="  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def docstring(path: Path) -> str:
    """Return the docstring of a module."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not text:
        raise LookupError(f"{path} has no docstring")
    return text


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, on one line."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`])", paragraph)[0]


def kernel() -> Iterator[str]:
    """Yield the lines of the contracts of the compiled kernel, folder by folder."""
    yield KERNEL
    headers = sorted(
        (path for path in (ROOT / "simdb_ext").rglob("*.h") if not VARIANT.search(path.stem)),
        key=lambda path: (path.parent, path.name),
    )
    folder = ROOT / "simdb_ext"
    for path in headers:
        if path.parent != folder:
            folder = path.parent
            yield f"\n### `{folder.relative_to(ROOT).as_posix()}/`\n"
        comment = re.match(r"/\*(.*?)\*/", path.read_text(encoding="utf-8"), re.DOTALL)
        if comment is None:
            raise LookupError(f"{path} does not begin with a comment")
        yield item(path.name, comment[1].strip())


if __name__ == "__main__":
    main()
