"""Make the pages of the site from docs/site/, which includes parts of the other documents.

A page of docs/site/ is Markdown in which such a line stands for something else:

    {{ document: PATH }}        A document of the project, such as docs/FORMAT.md.

    {{ verb: Database.query }}  Signature and docstring; code after it is an example.

    {{ rest: reference }}       All names without a line `verb`: classes, errors, modules.

    {{ picture: bands }}        A drawing of tools/site/drawings.py.

    {{ commands: all }}         Every command with its options, from its own help.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import api
import commands
import drawings

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
DRAWN = ROOT / "build" / "figures"
PICTURE = re.compile(r"^Picture `(.+)`: (.+)\.$", re.MULTILINE)
VERB_WITH_CODE = re.compile(r"^(\{\{ verb: .+? \}\}\n\n)(?=```python)", re.MULTILINE)
DIRECTIVE = re.compile(r"^\{\{ (\w+): (.+?) \}\}$", re.MULTILINE)
FENCED = re.compile(r"^( *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
# A link to a file that is no page, as `linked` leaves it: only its text is shown.
DEAD = re.compile(r"\[([^\[\]]*)\]\(#\)")
# A document that is named in a sentence, and is not part of a link, a path or a piece of code.
NAMED = re.compile(
    r"(?<![\w/`\[])(?<!\]\()((?:docs/)?[A-Z]{3,}\.md|docs/site/[\w/-]+\.md)(?![\w`\]])"
)


def write_pages(folder: Path) -> int:
    """Write all pages, as Sphinx reads them, into `folder`; return their number."""
    pages = all_pages()
    for name, text in pages.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for picture in DRAWN.glob("*.svg"):
        (folder / "figures").mkdir(exist_ok=True)
        shutil.copy(picture, folder / "figures")
    shutil.copytree(
        ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__")
    )
    return len(pages)


@lru_cache(maxsize=1)
def all_pages() -> dict[str, str]:
    """Return the text of each page by its name, such as `how-to/images.md`."""
    sources = {
        str(path.relative_to(SITE)): path.read_text(encoding="utf-8")
        for path in sorted(SITE.rglob("*.md"))
    }
    places = document_places(sources)
    return {
        name: expand(name, linked(text, f"docs/site/{name}", name, places), places)
        for name, text in sources.items()
    }


def document_places(sources: dict[str, str]) -> dict[str, str]:
    """Return the page of each document, by the path of the document."""
    places = {
        argument: name
        for name, text in sources.items()
        for kind, argument in DIRECTIVE.findall(text)
        if kind == "document"
    }
    own = {f"docs/site/{name}": name for name in sources}
    commands_page = {"build/CLI.md": "reference/command-line.md"}
    return {**own, **places, **commands_page, "README.md": "index.md"}


def expand(name: str, text: str, places: dict[str, str]) -> str:
    """Replace the directives of a page, with links that lead to pages."""
    inserts: dict[str, Callable[[str], str]] = {
        "document": lambda path: pictured(linked(whole(path), path, name, places)),
        "verb": lambda verb: linked(api.verb(verb), "build/REFERENCE.md", name, places),
        "rest": lambda _: linked(api.rest(verbs()), "build/REFERENCE.md", name, places),
        "picture": lambda picture: drawings.PICTURES[picture](),
        "commands": lambda _: commands.described(),
    }
    text = VERB_WITH_CODE.sub(r"\1**Example**\n\n", text)
    return DIRECTIVE.sub(lambda found: inserts[found[1]](found[2]).strip("\n"), text)


def whole(path: str) -> str:
    """Read a document, whose own title becomes the title of the page."""
    return (ROOT / path).read_text(encoding="utf-8")


def pictured(text: str) -> str:
    """Show the pictures that `make figures` has drawn in the place of their names."""

    def shown(found: re.Match[str]) -> str:
        is_drawn = (DRAWN / found[1]).exists()
        return f"![{found[2]}](/figures/{found[1]})" if is_drawn else found[0]

    return PICTURE.sub(shown, text)


def verbs() -> set[str]:
    """Return the names that pages describe one by one, such as `Database.query`."""
    found = (DIRECTIVE.findall(path.read_text(encoding="utf-8")) for path in SITE.rglob("*.md"))
    return {argument for directives in found for kind, argument in directives if kind == "verb"}


def linked(text: str, origin: str, page: str, places: dict[str, str]) -> str:
    """Let the links of `text`, written in the document `origin`, lead to pages as seen from `page`.

    A link to a file that is no page becomes its text.
    """

    def follow(found: re.Match[str]) -> str:
        target, anchor = found[1], found[2] or ""
        if "://" in target:
            return found[0]
        path = os.path.normpath(os.path.join(os.path.dirname(origin), target))
        if path in places:
            return f"]({relative(places[path], page)}{anchor})"
        return "](#)"

    def name(found: re.Match[str]) -> str:
        path = found[1] if found[1] in places else f"docs/{found[1].removeprefix('docs/')}"
        if path not in places or places[path] == page:
            return found[0]
        name = path.removeprefix("docs/").removeprefix("site/")
        return f"[{name}]({relative(places[path], page)})"

    parts = FENCED.split(text)
    for at in range(0, len(parts), 2):
        links = DEAD.sub(r"\1", LINK.sub(follow, parts[at]))
        parts[at] = "".join(
            line if line.startswith(("    ", "{{ ")) else NAMED.sub(name, line)
            for line in links.splitlines(keepends=True)
        )
    return "".join(parts)


def relative(target: str, page: str) -> str:
    """Write the path of one page as seen from another."""
    return os.path.relpath(target, os.path.dirname(page) or ".")


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield language and content of each block of code; indented blocks have no language."""
    fence = re.compile(
        r"^( *)```([\w-]*)\n(.*?)^ *```$|((?:^    [^\n]*\n(?:\n(?=    ))?)+)", re.M | re.S
    )
    for found in fence.finditer(text):
        if found[4] is not None:
            before = text[: found.start()].rstrip(" ")
            if before.endswith("\n\n"):
                yield "", "".join(line[4:] + "\n" for line in found[4].splitlines())
        else:
            indent = len(found[1])
            lines = found[3].splitlines()
            yield found[2], "".join(line[indent:] + "\n" for line in lines)
